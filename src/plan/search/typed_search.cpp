// `column @@@ 'what was typed'` and `column <@> 'what was typed'`: the planner replaces what was typed by a
// gpu.bm25_query, where an index of gpu_text is on the column. It says by which text search configuration
// words are made, and what the index's statistics are, so that all plans of the statement give the same
// answer, and the index can be used.
#include "access_methods.h"
#include "compat.h"
#include "memory.h"
#include "text/gpu_text.h"

PG_GPU_FUNCTION(pg_gpu_typed_support);

namespace pg_gpu::plan {

namespace {

// An index that says how a document's words are made.
struct Found {
    Oid index;
    Oid family;
    Oid type;  // type that the operator class is for
    bool is_partial;
};

// The source of a document: an expression over one table.
struct Source {
    const RangeTblEntry *table;
    Node *expression;
};

}  // namespace

static Node *strip(Node *node) {
    for (;;) {
        if (IsA(node, RelabelType))
            node = reinterpret_cast<Node *>(castNode(RelabelType, node)->arg);
        else if (IsA(node, PlaceHolderVar))
            node = reinterpret_cast<Node *>(castNode(PlaceHolderVar, node)->phexpr);
        else
            return node;
    }
}

// Follows a column through sub-selects, which not every plan pulls up.
static bool find_source(PlannerInfo *root, Node *document, Source *source) {
    List *tables = root->parse->rtable;
    source->expression = strip(document);
    for (;;) {
        Relids relids = pull_varnos(nullptr, source->expression);
        int number = 0;
        if (!bms_get_singleton_member(relids, &number) || contain_vars_of_level(source->expression, 1))
            return false;
        source->table = rt_fetch(number, tables);
        if (source->table->rtekind == RTE_RELATION)
            return true;
        if (source->table->rtekind != RTE_SUBQUERY || !IsA(source->expression, Var) ||
            source->table->subquery->setOperations != nullptr)
            return false;
        const TargetEntry *entry = get_tle_by_resno(source->table->subquery->targetList,
                                                    castNode(Var, source->expression)->varattno);
        if (entry == nullptr)
            return false;
        tables = source->table->subquery->rtable;
        source->expression = strip(reinterpret_cast<Node *>(entry->expr));
    }
}

static bool is_indexed(Relation index, Node *expression, int number) {
    const AttrNumber column = index->rd_index->indkey.values[0];
    if (column != 0)
        return IsA(expression, Var) && castNode(Var, expression)->varattno == column;
    Node *indexed = static_cast<Node *>(copyObjectImpl(linitial(RelationGetIndexExpressions(index))));
    ChangeVarNodes(indexed, 1, number, 0);
    return equal(strip(indexed), expression);
}

// Takes the index if it is on the expression, and better than what has been found.
static void consider(Oid oid, Node *expression, int number, Found *found) {
    Relation index = index_open(oid, AccessShareLock);
    const bool is_partial = RelationGetIndexPredicate(index) != NIL;
    if (find_access_method(index) == &gpu_text && index->rd_index->indisvalid && index->rd_index->indislive &&
        index->rd_opcintype[0] != TSVECTOROID &&
        (!OidIsValid(found->index) || (found->is_partial && !is_partial)) &&
        is_indexed(index, expression, number))
        *found = {oid, index->rd_opfamily[0], index->rd_opcintype[0], is_partial};
    index_close(index, NoLock);
}

// The list is in order of OIDs, so the oldest index is found, and one without a predicate before others.
static Found find_index(const Source &source) {
    Found found = {};
    int number = 0;
    bms_get_singleton_member(pull_varnos(nullptr, source.expression), &number);
    Relation table = table_open(source.table->relid, NoLock);
    List *indexes = RelationGetIndexList(table);
    ListCell *cell;
    foreach (cell, indexes)
        consider(lfirst_oid(cell), source.expression, number, &found);
    list_free(indexes);
    table_close(table, NoLock);
    return found;
}

// Says it once a session and table: nobody wants to read it with each statement.
static void say_what_would_help(const Source &source) {
    static Oid said_of = InvalidOid;
    if (said_of == source.table->relid || !IsA(source.expression, Var) ||
        source.table->relkind == RELKIND_VIEW)
        return;
    said_of = source.table->relid;
    char *table = DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(said_of)));
    char *column = get_attname(said_of, castNode(Var, source.expression)->varattno, true);
    if (column != nullptr)
        ereport(
            NOTICE,
            (errmsg("column \"%s\" of table %s has no index of gpu_text", column, table),
             errdetail("Each row is searched, with default_text_search_config and without weights of words."),
             errhint("CREATE INDEX ON %s USING gpu_text (%s) WITH (configuration = '%s') helps.", table,
                     quote_identifier(column), GetConfigOption("default_text_search_config", false, false))));
}

// A user who ranks must be able to read the column, and all rows of the table, because the ranking reveals
// the statistics.
static bool may_read_statistics(const RangeTblEntry *table, Node *expression) {
    const Oid user = GetUserId();
    if (check_enable_rls(table->relid, InvalidOid, true) != RLS_NONE)
        return false;
    if (pg_class_aclcheck(table->relid, user, ACL_SELECT) == ACLCHECK_OK)
        return true;
    return IsA(expression, Var) && pg_attribute_aclcheck(table->relid, castNode(Var, expression)->varattno,
                                                         user, ACL_SELECT) == ACLCHECK_OK;
}

static Oid query_function(const char *name, Oid typed) {
    const Oid arguments[] = {REGCLASSOID, typed};
    List *qualified = list_make2(makeString(pstrdup("gpu")), makeString(pstrdup(name)));
    return LookupFuncName(qualified, lengthof(arguments), arguments, true);
}

// Makes a call of gpu.ranking_query(index, typed), or of gpu.matching_query.
static Expr *make_query(const Found &found, Node *typed, bool ranked, Oid *type) {
    const Oid typed_type = exprType(typed);
    const Oid function = query_function(ranked ? "ranking_query" : "matching_query", typed_type);
    if (!OidIsValid(function))
        return nullptr;
    *type = get_func_rettype(function);
    auto *index =
        makeConst(REGCLASSOID, -1, InvalidOid, sizeof(Oid), ObjectIdGetDatum(found.index), false, true);
    return reinterpret_cast<Expr *>(makeFuncExpr(function, *type, list_make2(index, copyObjectImpl(typed)),
                                                 InvalidOid, exprCollation(typed), COERCE_EXPLICIT_CALL));
}

static Node *simplify(const SupportRequestSimplify *request) {
    if (request->root == nullptr || list_length(request->fcall->args) != 2)
        return nullptr;
    auto *document = static_cast<Node *>(linitial(request->fcall->args));
    auto *typed = static_cast<Node *>(lsecond(request->fcall->args));
    Source source;
    if (!find_source(request->root, document, &source))
        return nullptr;
    const bool ranked = request->fcall->funcresulttype == FLOAT4OID;
    const Found found = find_index(source);
    if (!OidIsValid(found.index)) {
        say_what_would_help(source);
        return nullptr;
    }
    if (ranked && !may_read_statistics(source.table, source.expression))
        return nullptr;
    Oid query_type = InvalidOid;
    Expr *query = make_query(found, typed, ranked, &query_type);
    if (query == nullptr)
        return nullptr;
    const StrategyNumber strategy = ranked ? text::kDistanceStrategy : text::kMatchStrategy;
    const Oid operator_oid = get_opfamily_member(found.family, found.type, query_type, strategy);
    if (!OidIsValid(operator_oid))
        return nullptr;
    Expr *result = make_opclause(operator_oid, request->fcall->funcresulttype, false,
                                 static_cast<Expr *>(copyObjectImpl(document)), query, InvalidOid,
                                 exprCollation(document));
    set_opfuncid(castNode(OpExpr, result));
    return reinterpret_cast<Node *>(result);
}

}  // namespace pg_gpu::plan

using namespace pg_gpu;

Datum pg_gpu_typed_support(PG_FUNCTION_ARGS) {
    auto *request = static_cast<Node *>(static_cast<void *>(PG_GETARG_POINTER(0)));
    if (!IsA(request, SupportRequestSimplify))
        PG_RETURN_POINTER(nullptr);
    PG_RETURN_POINTER(plan::simplify(castNode(SupportRequestSimplify, request)));
}
