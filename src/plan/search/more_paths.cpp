// Three kinds of scans of gpu_text's indexes that PostgreSQL doesn't offer by itself:
//
// - A bitmap scan is charged with all conditions on each row, though rows that the bitmap tells one by one
//   aren't checked by those that it was made by. With `@@@` that is more than all the rest, so the best
//   bitmap scan is offered again without.
// - A condition that could tell something of rows that row security hides is checked after the policy, so it
//   is no index condition. But the index's entries can be looked up by `gpu.@@?`, which is true of every row:
//   what the rows then show is the policy first, and `@@@` after it.
// - `ORDER BY body <@> 'words', id` goes on where scores are equal. A scan by score has the rows nearly in
//   order, and an incremental sort does the rest. PostgreSQL offers it from 17 on.
#include "plan/search/more_paths.h"

#include "access_methods.h"
#include "compat.h"
#include "plan/bitmap_rows.h"
#include "plan/index_paths.h"
#include "text/gpu_text.h"

namespace pg_gpu::plan {

// ---- conditions behind policies ---------------------------------------------------------------------------

static bool waits_for_policy(const RestrictInfo *condition, const RelOptInfo *relation) {
    return condition->security_level > relation->baserestrict_min_security && !condition->leakproof;
}

// May evaluating the document tell of a row? PostgreSQL doesn't say that COALESCE tells no more than its
// arguments.
static bool tells_of_row(Node *document, void *context) {
    if (document != nullptr && (IsA(document, CoalesceExpr) || IsA(document, ArrayExpr)))
        return walk_expression(document, tells_of_row, context);
    return contain_leaked_vars(document);
}

// Returns `document gpu.@@? query` for a condition `document @@@ query` that the index could be read by;
// nullptr for others. A scan that checks its rows again, as a bitmap without room for single rows does,
// evaluates the document before the policy.
static RestrictInfo *make_harmless(const RestrictInfo *condition, const IndexOptInfo *index) {
    if (!IsA(condition->clause, OpExpr))
        return nullptr;
    const auto *clause = reinterpret_cast<const OpExpr *>(condition->clause);
    const Oid family = index->opfamily[0];
    if (get_op_opfamily_strategy(clause->opno, family) != text::kMatchStrategy)
        return nullptr;
    auto *document = static_cast<Expr *>(linitial(clause->args));
    auto *query = static_cast<Expr *>(lsecond(clause->args));
    const Oid operator_oid = get_opfamily_member(
        family, index->opcintype[0], exprType(reinterpret_cast<Node *>(query)), text::kMayMatchStrategy);
    if (!OidIsValid(operator_oid) || tells_of_row(reinterpret_cast<Node *>(document), nullptr))
        return nullptr;
    auto *harmless = makeNode(RestrictInfo);
    *harmless = *condition;
    harmless->clause =
        make_opclause(operator_oid, BOOLOID, false, document, query, InvalidOid, clause->inputcollid);
    set_opfuncid(reinterpret_cast<OpExpr *>(harmless->clause));
    harmless->leakproof = true;
    return harmless;
}

static List *harmless_conditions(const RelOptInfo *relation, const IndexOptInfo *index) {
    List *conditions = NIL;
    ListCell *cell;
    foreach (cell, index->indrestrictinfo) {
        const auto *condition = lfirst_node(RestrictInfo, cell);
        RestrictInfo *harmless =
            waits_for_policy(condition, relation) ? make_harmless(condition, index) : nullptr;
        if (harmless != nullptr)
            conditions = lappend(conditions, harmless);
    }
    return conditions;
}

// ---- bitmaps ----------------------------------------------------------------------------------------------

// Returns what it takes to evaluate `@@@` on a row where the bitmap was made by it.
static Cost cost_of_searches(PlannerInfo *root, const Path *bitmap) {
    Cost cost = 0;
    ListCell *cell;
    if (IsA(bitmap, BitmapAndPath)) {
        foreach (cell, reinterpret_cast<const BitmapAndPath *>(bitmap)->bitmapquals)
            cost += cost_of_searches(root, static_cast<const Path *>(lfirst(cell)));
        return cost;
    }
    if (!IsA(bitmap, IndexPath))
        return 0;
    const auto *path = reinterpret_cast<const IndexPath *>(bitmap);
    if (find_access_method(path->indexinfo) != &gpu_text)
        return 0;
    foreach (cell, path->indexclauses) {
        QualCost of_clause;
        cost_qual_eval_node(&of_clause, reinterpret_cast<Node *>(lfirst_node(IndexClause, cell)->rinfo),
                            root);
        cost += of_clause.per_tuple;
    }
    return cost;
}

static bool is_any(const IndexOptInfo *) {
    return true;
}

// Does a scan of an index read one row at most? There is nothing that a bitmap could have in a better order.
static bool reads_one_row(const RelOptInfo *relation) {
    ListCell *cell;
    foreach (cell, relation->pathlist) {
        const auto *path = static_cast<const IndexPath *>(lfirst(cell));
        if (IsA(path, IndexPath) && path->path.param_info == nullptr && path->indexclauses != NIL &&
            path->indexselectivity * relation->tuples <= 1)
            return true;
    }
    return false;
}

// Adds the table's best bitmap scan, at the cost of one whose rows aren't searched again.
static void add_bitmap(PlannerInfo *root, RelOptInfo *relation) {
    if (reads_one_row(relation))
        return;
    Path *bitmap = find_bitmap(root, relation, relation->baserestrictinfo, is_any);
    if (bitmap == nullptr)
        return;
    Path *tree = castNode(BitmapHeapPath, bitmap)->bitmapqual;
    Cost tree_cost;
    Selectivity selectivity;
    cost_bitmap_tree_node(tree, &tree_cost, &selectivity);
    const Cost spared = cost_of_searches(root, tree) * clamp_row_est(selectivity * relation->tuples);
    if (spared == 0)
        return;
    bitmap->parent = relation;
    bitmap->total_cost = Max(bitmap->total_cost - spared, bitmap->startup_cost);
    add_path(relation, bitmap);
}

// ---- paths ------------------------------------------------------------------------------------------------

static IndexOptInfo *with_conditions(const IndexOptInfo *index, List *conditions) {
    auto *copy = makeNode(IndexOptInfo);
    *copy = *index;
    copy->indrestrictinfo = list_concat_copy(index->indrestrictinfo, conditions);
    return copy;
}

static void add_paths(RelOptInfo *relation, List *paths) {
    ListCell *cell;
    foreach (cell, paths) {
        auto *path = static_cast<Path *>(lfirst(cell));
        if (path->param_info == nullptr) {
            path->parent = relation;
            add_path(relation, path);
        }
    }
}

static List *find_paths_by_score(PlannerInfo *root, const RelOptInfo *relation, List *indexes,
                                 List *conditions) {
    List *whole_order = root->query_pathkeys;
    root->query_pathkeys = list_make1(linitial(whole_order));
    List *paths = find_index_paths(root, relation, indexes, conditions);
    root->query_pathkeys = whole_order;
    return paths;
}

void add_more_paths(PlannerInfo *root, RelOptInfo *relation) {
    List *indexes = NIL;
    List *text_indexes = NIL;
    List *harmless = NIL;
    ListCell *cell;
    foreach (cell, relation->indexlist) {
        auto *index = lfirst_node(IndexOptInfo, cell);
        if (find_access_method(index) == &gpu_text && !index->hypothetical) {
            List *of_index = harmless_conditions(relation, index);
            index = with_conditions(index, of_index);
            text_indexes = lappend(text_indexes, index);
            harmless = list_concat(harmless, of_index);
        }
        indexes = lappend(indexes, index);
    }
    if (text_indexes == NIL)
        return;
    add_bitmap(root, relation);
    List *conditions = list_concat_copy(relation->baserestrictinfo, harmless);
    if (harmless != NIL)
        add_paths(relation, find_index_paths(root, relation, indexes, conditions));
    if (list_length(root->query_pathkeys) > 1 && enable_incremental_sort)
        add_paths(relation, find_paths_by_score(root, relation, text_indexes, conditions));
}

}  // namespace pg_gpu::plan
