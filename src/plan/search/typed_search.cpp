// `column @@@ 'what was typed'` and `column <@> 'what was typed'`: the planner replaces what was typed by a
// gpu.bm25_query, where an index of gpu_text is on the column. It says by which text search configuration
// words are made, and what the index's statistics are, so that all plans of the statement give the same
// answer, and the index can be used. Who may not read all rows of the table has the configuration alone.
#include "expressions.h"
#include "functions/index_access.h"
#include "plan/search/document_source.h"
#include "text/gpu_text.h"

PG_GPU_FUNCTION(pg_gpu_typed_support);

namespace pg_gpu::plan {

// A column of a table that has no index. Other documents are seen when the operator is called.
static void say_what_would_help(List *sources) {
    if (list_length(sources) != 1)
        return;
    const auto *source = static_cast<const Source *>(linitial(sources));
    if (!IsA(source->expression, Var) || source->table->relkind == RELKIND_VIEW)
        return;
    const char *column = get_attname(source->table->relid, castNode(Var, source->expression)->varattno, true);
    if (column == nullptr || !text::is_first_unindexed_search(true))
        return;
    char *table = DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(source->table->relid)));
    ereport(NOTICE,
            (errmsg("column \"%s\" of table %s has no index of gpu_text", column, table),
             errdetail("Each row is searched, with default_text_search_config and without weights of words."),
             errhint("CREATE INDEX ON %s USING gpu_text (%s) WITH (configuration = '%s') helps.", table,
                     quote_identifier(column), GetConfigOption("default_text_search_config", false, false))));
}

// May the user read all that the statistics for ranking are of? Without them all words weigh the same.
static bool may_read_statistics(Oid index) {
    const functions::OpenIndex open = {table_open(IndexGetRelation(index, false), NoLock),
                                       index_open(index, NoLock)};
    const bool may = functions::may_read(open);
    functions::close_index(open);
    return may;
}

static Oid query_function(const char *name, Oid typed) {
    const Oid arguments[] = {REGCLASSOID, typed};
    List *qualified = list_make2(makeString(pstrdup("gpu")), makeString(pstrdup(name)));
    return LookupFuncName(qualified, lengthof(arguments), arguments, true);
}

// Makes a call of gpu.ranking_query(index, typed), or of gpu.matching_query.
static Expr *make_query(const DocumentIndex &found, Node *typed, bool ranked, Oid *type) {
    const Oid typed_type = exprType(typed);
    const Oid function = query_function(ranked ? "ranking_query" : "matching_query", typed_type);
    if (!OidIsValid(function))
        return nullptr;
    *type = get_func_rettype(function);
    auto *index =
        makeConst(REGCLASSOID, -1, InvalidOid, sizeof(Oid), ObjectIdGetDatum(found.oid), false, true);
    return reinterpret_cast<Expr *>(makeFuncExpr(function, *type, list_make2(index, copyObjectImpl(typed)),
                                                 InvalidOid, exprCollation(typed), COERCE_EXPLICIT_CALL));
}

static Node *simplify(const SupportRequestSimplify *request) {
    if (request->root == nullptr || list_length(request->fcall->args) != 2)
        return nullptr;
    auto *document = static_cast<Node *>(linitial(request->fcall->args));
    auto *typed = static_cast<Node *>(lsecond(request->fcall->args));
    if (exprType(typed) != TEXTOID && exprType(typed) != TSQUERYOID)
        return nullptr;
    List *sources = find_sources(request->root, document);
    DocumentIndex found;
    if (!find_document_index(sources, &found)) {
        say_what_would_help(sources);
        return nullptr;
    }
    const bool ranked = request->fcall->funcresulttype == FLOAT4OID;
    // A plan that is kept is made anew for another user, whose privileges may be others.
    if (ranked)
        request->root->glob->dependsOnRole = true;
    Oid query_type = InvalidOid;
    Expr *query = make_query(found, typed, ranked && may_read_statistics(found.oid), &query_type);
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

// Making words of a document costs by its length.
static Node *estimate_cost(SupportRequestCost *request) {
    Oid function;
    List *arguments;
    if (request->node == nullptr || !read_call(request->node, &function, &arguments) ||
        list_length(arguments) != 2)
        return nullptr;
    const double operators =
        text::operators_per_document(request->root, static_cast<Node *>(linitial(arguments)));
    if (operators == 0)
        return nullptr;
    request->startup = 0;
    request->per_tuple = operators * cpu_operator_cost;
    return reinterpret_cast<Node *>(request);
}

}  // namespace pg_gpu::plan

using namespace pg_gpu;

Datum pg_gpu_typed_support(PG_FUNCTION_ARGS) {
    auto *request = static_cast<Node *>(static_cast<void *>(PG_GETARG_POINTER(0)));
    if (IsA(request, SupportRequestSimplify))
        PG_RETURN_POINTER(plan::simplify(castNode(SupportRequestSimplify, request)));
    if (IsA(request, SupportRequestCost))
        PG_RETURN_POINTER(plan::estimate_cost(castNode(SupportRequestCost, request)));
    PG_RETURN_POINTER(nullptr);
}
