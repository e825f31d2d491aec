/*
 * A module for the server that the opponent's SQL runs on: each table that CREATE TABLE, CREATE TABLE AS and
 * SELECT INTO make gets a gpu_column index over all of its columns that one can hold. A partition has its
 * parent's.
 *
 * One line in the server's log for each index, and one for each statement whose plan has a node of pg_gpu's.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

PG_MODULE_MAGIC;

void _PG_init(void);

static const char access_method[] = "gpu_column";

static ProcessUtility_hook_type next_utility;
static ExecutorStart_hook_type next_start;

/* Has gpu_column a class for the type, and the type an order or a hash of its own, by which values are told
 * apart? */
static bool can_be_indexed(Oid type, Oid method) {
    return OidIsValid(GetDefaultOpClass(type, method)) &&
           (OidIsValid(GetDefaultOpClass(type, BTREE_AM_OID)) ||
            OidIsValid(GetDefaultOpClass(type, HASH_AM_OID)));
}

/* The table's columns that can be indexed, as a list for CREATE INDEX; NULL when there is none. */
static char *list_columns(Relation table, Oid method) {
    StringInfoData columns;
    int count = 0;

    initStringInfo(&columns);
    for (int i = 0; i < RelationGetNumberOfAttributes(table); i++) {
        Form_pg_attribute column = TupleDescAttr(RelationGetDescr(table), i);

        if (column->attisdropped || count == INDEX_MAX_KEYS || !can_be_indexed(column->atttypid, method))
            continue;
        appendStringInfo(&columns, "%s%s", count++ > 0 ? ", " : "",
                         quote_identifier(NameStr(column->attname)));
    }
    return count > 0 ? columns.data : NULL;
}

static void add_index(RangeVar *name) {
    Oid oid = RangeVarGetRelid(name, NoLock, true);
    Oid method = get_am_oid(access_method, true);
    Relation table;
    char *columns = NULL;
    StringInfoData command;

    /* A database made from template0 doesn't know the access method. */
    if (oid < FirstNormalObjectId || !OidIsValid(method))
        return;
    table = table_open(oid, AccessShareLock);
    if ((table->rd_rel->relkind == RELKIND_RELATION || table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE) &&
        !table->rd_rel->relispartition)
        columns = list_columns(table, method);
    /* CREATE TABLE IF NOT EXISTS may have found the table there. */
    if (OidIsValid(get_relname_relid(psprintf("opponent_%u", oid), RelationGetNamespace(table))))
        columns = NULL;
    initStringInfo(&command);
    if (columns != NULL)
        appendStringInfo(&command, "CREATE INDEX opponent_%u ON %s USING %s (%s)", oid,
                         quote_qualified_identifier(get_namespace_name(RelationGetNamespace(table)),
                                                    RelationGetRelationName(table)),
                         access_method, columns);
    table_close(table, NoLock);
    if (columns == NULL)
        return;
    SPI_connect();
    SPI_execute(command.data, false, 0);
    SPI_finish();
    ereport(LOG_SERVER_ONLY, (errmsg("index rewritten")));
}

static RangeVar *made_table(Node *statement) {
    if (IsA(statement, CreateStmt))
        return ((CreateStmt *)statement)->relation;
    if (IsA(statement, CreateTableAsStmt) && ((CreateTableAsStmt *)statement)->objtype == OBJECT_TABLE)
        return ((CreateTableAsStmt *)statement)->into->rel;
    return NULL;
}

static void make_table(PlannedStmt *planned, const char *query, bool read_only_tree,
                       ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *environment,
                       DestReceiver *destination, QueryCompletion *completion) {
    RangeVar *table = IsAbortedTransactionBlockState() ? NULL : copyObject(made_table(planned->utilityStmt));

    (next_utility ? next_utility : standard_ProcessUtility)(planned, query, read_only_tree, context, params,
                                                            environment, destination, completion);
    if (table != NULL) {
        CommandCounterIncrement();
        add_index(table);
    }
}

static bool has_node(PlanState *state, void *context) {
    if (IsA(state, CustomScanState) &&
        strncmp(((CustomScanState *)state)->methods->CustomName, "Gpu", 3) == 0)
        return true;
    return planstate_tree_walker(state, has_node, context);
}

static void start_execution(QueryDesc *description, int flags) {
    (next_start ? next_start : standard_ExecutorStart)(description, flags);
    if ((flags & EXEC_FLAG_EXPLAIN_ONLY) == 0 && has_node(description->planstate, NULL))
        ereport(LOG_SERVER_ONLY, (errmsg("node used")));
}

void _PG_init(void) {
    next_utility = ProcessUtility_hook;
    ProcessUtility_hook = make_table;
    next_start = ExecutorStart_hook;
    ExecutorStart_hook = start_execution;
}
