/*
 * A module for the server that the opponent's SQL runs on: plain CREATE INDEX statements on one column of a
 * listed type make a gpu_kary index. What stays a btree: unique indexes and constraints, several columns,
 * expressions, INCLUDE, an opclass, a collation or storage parameters of the statement's own.
 *
 * One line in the server's log for each statement that succeeded.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

PG_MODULE_MAGIC;

void _PG_init(void);

static const char access_method[] = "gpu_kary";

static char *key_types;
static ProcessUtility_hook_type next_hook;

static bool is_key_type(Oid type) {
    char *names = pstrdup(key_types);
    List *list;
    ListCell *cell;

    if (!SplitIdentifierString(names, ',', &list))
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid list of types: %s", key_types)));
    foreach (cell, list) {
        Oid listed = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(lfirst(cell)),
                                     ObjectIdGetDatum(PG_CATALOG_NAMESPACE));

        if (!OidIsValid(listed))
            ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                            errmsg("type \"%s\" does not exist", (char *)lfirst(cell))));
        if (listed == type)
            return true;
    }
    return false;
}

/* Whether the statement makes a plain index that gpu_kary can be. */
static bool is_plain_index(IndexStmt *statement) {
    IndexElem *column;
    Oid table;
    AttrNumber number;

    if (strcmp(statement->accessMethod, DEFAULT_INDEX_TYPE) != 0 || statement->unique || statement->primary ||
        statement->isconstraint || statement->excludeOpNames != NIL ||
        statement->indexIncludingParams != NIL || statement->options != NIL ||
        list_length(statement->indexParams) != 1)
        return false;
    column = linitial_node(IndexElem, statement->indexParams);
    if (column->name == NULL || column->collation != NIL || column->opclass != NIL ||
        column->opclassopts != NIL)
        return false;
    table = RangeVarGetRelid(statement->relation, NoLock, true);
    if (table < FirstNormalObjectId)
        return false;
    number = get_attnum(table, column->name);
    /* A database made from template0 doesn't know the access method. */
    return number > 0 && OidIsValid(get_am_oid(access_method, true)) &&
           is_key_type(getBaseType(get_atttype(table, number)));
}

static void rewrite_index(PlannedStmt *planned, const char *query, bool read_only_tree,
                          ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *environment,
                          DestReceiver *destination, QueryCompletion *completion) {
    bool rewritten = false;

    if (IsA(planned->utilityStmt, IndexStmt) && !IsAbortedTransactionBlockState() &&
        is_plain_index((IndexStmt *)planned->utilityStmt)) {
        planned = copyObject(planned);
        ((IndexStmt *)planned->utilityStmt)->accessMethod = pstrdup(access_method);
        rewritten = true;
    }
    (next_hook ? next_hook : standard_ProcessUtility)(planned, query, read_only_tree, context, params,
                                                      environment, destination, completion);
    if (rewritten)
        ereport(LOG_SERVER_ONLY, (errmsg("index rewritten")));
}

void _PG_init(void) {
    DefineCustomStringVariable("opponent.key_types", "Types whose columns get gpu_kary indexes.", NULL,
                               &key_types, "", PGC_SIGHUP, 0, NULL, NULL, NULL);
    next_hook = ProcessUtility_hook;
    ProcessUtility_hook = rewrite_index;
}
