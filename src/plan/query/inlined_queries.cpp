#include "plan/query/inlined_queries.h"

#include "compat.h"
#include "plan/query/aggregates.h"
#include "plan/query/sub_selects.h"

namespace pg_gpu::plan::query {

// Queries that read one another several times become many: the statement mustn't grow without bound.
static constexpr int kMaxCopies = 32;

namespace {

struct Reads {
    const List *names;  // of WITH queries
    Index depth;        // below the level that these belong to
};

}  // namespace

static bool is_named(const List *names, const char *name) {
    ListCell *cell;
    foreach (cell, names)
        if (strcmp(static_cast<const char *>(lfirst(cell)), name) == 0)
            return true;
    return false;
}

// Does a query read one of the WITH queries, or one of a level above, of which nothing is known?
static bool reads_query(Node *node, void *context) {
    auto *reads = static_cast<Reads *>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, RangeTblEntry)) {
        const auto *entry = reinterpret_cast<const RangeTblEntry *>(node);
        return entry->rtekind == RTE_CTE &&
               (entry->ctelevelsup > reads->depth ||
                (entry->ctelevelsup == reads->depth && is_named(reads->names, entry->ctename)));
    }
    if (!IsA(node, Query))
        return walk_expression(node, reads_query, context);
    reads->depth++;
    const bool found =
        walk_query(reinterpret_cast<Query *>(node), reads_query, context, QTW_EXAMINE_RTES_BEFORE);
    reads->depth--;
    return found;
}

// May an aggregate have another value of the same rows in another order? Sums of floats do, in the last
// digit.
static bool depends_on_order(const Aggref *aggregate) {
    if (aggregate->aggfnoid >= FirstUnpinnedObjectId)
        return true;
    if (aggregate->aggfnoid == F_COUNT_ || aggregate->aggfnoid == F_COUNT_ANY ||
        AGGKIND_IS_ORDERED_SET(aggregate->aggkind) || OidIsValid(sort_operator_of(aggregate->aggfnoid)))
        return false;
    ListCell *cell;
    foreach (cell, aggregate->aggargtypes)
        if (lfirst_oid(cell) == FLOAT8OID || lfirst_oid(cell) == FLOAT4OID)
            return true;
    char category;
    bool is_preferred;
    get_type_category_preferred(aggregate->aggtype, &category, &is_preferred);
    // Arrays, strings, JSON and others have their elements in the order of the rows.
    return strchr("BDNTV", category) == nullptr;
}

// May a query have other rows each time, though nothing changes? Then it is computed once, for all who read
// it.
static bool is_undetermined(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, Aggref) && depends_on_order(reinterpret_cast<const Aggref *>(node)))
        return true;
    if (IsA(node, RangeTblEntry))
        return reinterpret_cast<const RangeTblEntry *>(node)->tablesample != nullptr;
    if (!IsA(node, Query))
        return walk_expression(node, is_undetermined, context);
    auto *query = reinterpret_cast<Query *>(node);
    return query->limitCount != nullptr || query->limitOffset != nullptr || query->hasDistinctOn ||
           query->hasWindowFuncs || walk_query(query, is_undetermined, context, QTW_EXAMINE_RTES_BEFORE);
}

// PostgreSQL's planner keeps those that it can't inline, whatever is wanted of them.
static bool may_be_inlined(const CommonTableExpr *with) {
    return with->ctematerialized == CTEMaterializeDefault && with->cterefcount > 1 && !with->cterecursive &&
           castNode(Query, with->ctequery)->commandType == CMD_SELECT &&
           !contain_volatile_functions(with->ctequery);
}

// Of the query's own level, those that read a table with a gpu_column index, perhaps by other WITH queries.
static bool inline_own_queries(const Query *query) {
    List *names = NIL;
    List *undetermined = NIL;
    int copies = 1;
    ListCell *cell;
    foreach (cell, query->cteList) {
        auto *with = lfirst_node(CommonTableExpr, cell);
        Reads reads = {undetermined, 0};
        if (is_undetermined(with->ctequery, nullptr) || reads_query(with->ctequery, &reads)) {
            undetermined = lappend(undetermined, with->ctename);
            continue;
        }
        reads = {names, 0};
        if (!has_column_index(castNode(Query, with->ctequery)) && !reads_query(with->ctequery, &reads))
            continue;
        names = lappend(names, with->ctename);
        if (!may_be_inlined(with) || copies * with->cterefcount > kMaxCopies)
            continue;
        copies *= with->cterefcount;
        with->ctematerialized = CTEMaterializeNever;
    }
    list_free(names);
    list_free(undetermined);
    return copies > 1;
}

static bool inline_in(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (!IsA(node, Query))
        return walk_expression(node, inline_in, context);
    auto *query = reinterpret_cast<Query *>(node);
    auto *is_any = static_cast<bool *>(context);
    *is_any = inline_own_queries(query) || *is_any;
    return walk_query(query, inline_in, context, 0);
}

bool inline_queries(Query *query) {
    bool is_any = false;
    inline_in(reinterpret_cast<Node *>(query), &is_any);
    return is_any;
}

}  // namespace pg_gpu::plan::query
