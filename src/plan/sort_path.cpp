// Planning a GpuSort: `SELECT … FROM one table WHERE … ORDER BY … LIMIT …`. The node stands below
// PostgreSQL's Limit, which counts the rows, and gives at least those that Limit takes. Of partitions and
// inheritance children each has a node of its own, whose rows PostgreSQL's MergeAppend puts together.
#include "plan/sort_path.h"

#include "compat.h"
#include "memory.h"
#include "plan/aggregate_cost.h"
#include "plan/aggregate_members.h"
#include "plan/aggregate_path.h"
#include "plan/parameters.h"
#include "settings.h"

namespace pg_gpu::plan {

static create_upper_paths_hook_type previous_hook = nullptr;

// ---- which queries ----------------------------------------------------------------------------------------

// Why the statement isn't one for the node.
static const char *refuse_statement(PlannerInfo *root, RelOptInfo *input) {
    const Query *query = root->parse;
    if (query->hasTargetSRFs)
        return "a function returns a set";
    if (query->commandType != CMD_SELECT || root->rowMarks != NIL)
        return "rows are locked or changed";
    if (IS_JOIN_REL(input))
        return "tables are joined";
    const RangeTblEntry *table = planner_rt_fetch(input->relid, root);
    if (table->tablesample != nullptr)
        return "a sample is read";
    if (input->lateral_relids != nullptr)
        return "what is sorted depends on another table's rows";
    if (!table->inh && !has_column_index(input))
        return "the table has no gpu_column index";
    if (!sort_enabled())
        return "pg_gpu.enable_sort is off";
    if (IS_DUMMY_REL(input))
        return "no row can pass the conditions";
    for (Node *limit : {query->limitCount, query->limitOffset})
        if (contain_volatile_functions(limit) || contain_subplans(limit))
            return "LIMIT or OFFSET isn't the same each time";
    if (has_volatile_subquery(root))
        return "a subquery is volatile";
    return nullptr;
}

// Columns of the system aren't in the rows that the node gives.
static bool has_system_columns(const PathTarget *target, Index table) {
    Bitmapset *columns = nullptr;
    pull_varattnos(reinterpret_cast<Node *>(target->exprs), table, &columns);
    const int first = bms_next_member(columns, -1);
    bms_free(columns);
    return first >= 0 && first + FirstLowInvalidHeapAttributeNumber < 0;
}

// ---- what is asked ----------------------------------------------------------------------------------------

// What the statement sorts by; expressions without columns don't tell rows apart.
static bool add_sort_keys(PlannerInfo *root, const IndexOptInfo *index, AggregateQuery *query, List **keys,
                          Refusal *refusal) {
    List *columns = columns_over(root, index->rel);
    ListCell *cell;
    foreach (cell, root->parse->sortClause) {
        auto *clause = lfirst_node(SortGroupClause, cell);
        Node *key = get_sortgroupclause_expr(clause, columns);
        if (!contain_var_clause(key) && !contain_volatile_functions(key))
            continue;
        Node *expression = over_index(key, index, nullptr, refusal);
        if (expression == nullptr)
            return false;
        *keys = lappend(*keys, key);
        query->keys = lappend(query->keys, expression);
        query->key_operators = lappend_oid(query->key_operators, clause->sortop);
        query->nulls_first = lappend_int(query->nulls_first, clause->nulls_first ? 1 : 0);
    }
    return true;
}

static SortPlanning make_planning(const PlannerInfo *root, const AggregateQuery &query, List *keys,
                                  Index table) {
    List *expressions = lappend(keys, root->parse->limitCount);
    if (root->parse->limitOffset != nullptr)
        expressions = lappend(expressions, root->parse->limitOffset);
    return {pack_query(query), expressions, root->parse->limitOption == LIMIT_OPTION_WITH_TIES, table};
}

// ---- paths ------------------------------------------------------------------------------------------------

// What a node's rows are, and where its path belongs.
struct SortedRows {
    RelOptInfo *output;   // of which there are paths
    RelOptInfo *parent;   // of the path
    PathTarget *scanned;  // what PostgreSQL's sort takes from a scan of the table
    PathTarget *target;
};

// What PostgreSQL would run without the node, and without parallel workers.
static Path *make_replaced_path(PlannerInfo *root, RelOptInfo *input, const SortedRows &sorted) {
    Path *scan = create_seqscan_path(root, input, nullptr, 0);
    Path *rows = reinterpret_cast<Path *>(create_projection_path(root, input, scan, sorted.scanned));
    Path *path = reinterpret_cast<Path *>(
        create_sort_path(root, sorted.parent, rows, root->sort_pathkeys, root->limit_tuples));
    return apply_projection_to_path(root, sorted.parent, path, sorted.target);
}

// Where LIMIT isn't known a tenth of the rows would be PostgreSQL's guess, which few statements mean.
static double wanted_rows(const PlannerInfo *root, const RelOptInfo *input) {
    constexpr double unknown_rows = 1000;
    return clamp_row_est(Min(input->rows, root->limit_tuples > 0 ? root->limit_tuples : unknown_rows));
}

// Results that are ranked are sorted by their comparison.
static Cost order_cost(const CompiledAggregate &compiled, const column::IndexSummary &summary) {
    Cost cost = 0;
    for (uint32 i = 0; i < compiled.program.input_count; i++) {
        const double places = static_cast<double>(summary.column[compiled.input[i].column].places) + 2;
        if (compiled.input[i].kind == SourceKind::Order)
            cost += 2 * places * log2(places) * cpu_operator_cost;
    }
    return cost;
}

static void cost_sort_path(PlannerInfo *root, const AggregateSource &source, const AggregateQuery &query,
                           const CompiledAggregate &compiled, CustomPath *custom) {
    const RelOptInfo *input = source.table;
    Path *path = &custom->path;
    cost_aggregate(root, &source, 1, query, compiled, 1, path);
    path->rows = wanted_rows(root, input);
    double random;
    double sequential;
    get_tablespace_page_costs(input->reltablespace, &random, &sequential);
    const double pages = index_pages_fetched(path->rows, input->pages, 0, root);
    path->startup_cost += order_cost(compiled, source.summary) + path->pathtarget->cost.startup;
    path->total_cost = path->startup_cost + pages * random +
                       path->rows * (cpu_tuple_cost + path->pathtarget->cost.per_tuple);
}

static void add_path_of_index(PlannerInfo *root, RelOptInfo *input, const SortedRows &sorted,
                              const IndexOptInfo *index) {
    const Candidate candidate = {sort_path_methods()->CustomName, root, input, sorted.output,
                                 index->indexoid};
    if (index->indpred != NIL && !index->predOK) {
        note_declined(candidate, "the conditions don't imply those of the partial index");
        return;
    }
    AggregateQuery query = {};
    query.indexes = list_make1_oid(index->indexoid);
    query.has_barrier = root->qual_security_level > 0;
    query.top.aggregate = -1;
    List *keys = NIL;
    Refusal refusal = {};
    TableAggregate table = {};
    table.root = root;
    table.input = input;
    if (!add_sort_keys(root, index, &query, &keys, &refusal) ||
        !add_conditions(table, index, &query, &refusal)) {
        note_declined(candidate, refusal, {input->relid, planner_rt_fetch(input->relid, root)->relid});
        return;
    }
    const AggregateSource source = make_source(input, index);
    const IndexColumns columns =
        describe_columns(source.format, index->opfamily, index->indexcollations, source.summary, NIL);
    auto *compiled = allocate<CompiledAggregate>(1);
    const char *problem = compile_aggregate(query, columns, nullptr, compiled);
    if (problem != nullptr) {
        note_declined(candidate, {problem, reinterpret_cast<Node *>(compiled->refused)},
                      {1, index->indexoid});
        return;
    }
    auto *path = makeNode(CustomPath);
    path->path.pathtype = T_CustomScan;
    path->path.parent = sorted.parent;
    path->path.pathtarget = sorted.target;
    path->path.parallel_safe = false;
    path->path.pathkeys = root->sort_pathkeys;
    path->flags = CUSTOMPATH_SUPPORT_PROJECTION | CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
    path->custom_paths = list_make1(make_replaced_path(root, input, sorted));
    path->custom_private = pack_planning(make_planning(root, query, keys, input->relid));
    path->methods = sort_path_methods();
    cost_sort_path(root, source, query, *compiled, path);
    note_offered(candidate, path);
    add_path(sorted.output, &path->path);
}

static void add_paths_of_indexes(PlannerInfo *root, RelOptInfo *input, const SortedRows &sorted) {
    ListCell *cell;
    foreach (cell, input->indexlist) {
        const auto *index = lfirst_node(IndexOptInfo, cell);
        if (is_column_index(index))
            add_path_of_index(root, input, sorted, index);
    }
}

// ---- partitions and children ------------------------------------------------------------------------------

static bool is_by_index(const Path *path) {
    return IsA(path, CustomPath) &&
           reinterpret_cast<const CustomPath *>(path)->methods == sort_path_methods();
}

// The cheapest path for a member's first rows, which give what the statement sorts of the whole table. One
// that isn't by an index gives all rows, and MergeAppend sorts them.
static Path *make_member_path(PlannerInfo *root, const RelOptInfo *table, RelOptInfo *member) {
    PathTarget *target = translate_target(root, table->reltarget, table->relid, member->relid);
    RelOptInfo *rows = make_groups(member, target);
    Path *all =
        reinterpret_cast<Path *>(create_projection_path(root, member, member->cheapest_total_path, target));
    add_path(rows, reinterpret_cast<Path *>(
                       create_sort_path(root, member, all, root->sort_pathkeys, root->limit_tuples)));
    note_other_paths(root, rows);
    if (!has_system_columns(target, member->relid))
        add_paths_of_indexes(root, member, {rows, member, target, target});
    set_cheapest(rows);
    return is_by_index(rows->cheapest_total_path) ? rows->cheapest_total_path : all;
}

// Adds a path that merges the members' rows, if one of them has a node.
static void add_path_of_members(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                                PathTarget *target) {
    List *paths = NIL;
    bool any_index = false;
    ListCell *cell;
    foreach (cell, live_members(root, input->relid)) {
        Path *path = make_member_path(root, input, static_cast<RelOptInfo *>(lfirst(cell)));
        any_index = any_index || is_by_index(path);
        paths = lappend(paths, path);
    }
    if (!any_index)
        return;
    Path *merged =
        reinterpret_cast<Path *>(create_merge_append_path(root, input, paths, root->sort_pathkeys, nullptr));
    add_path(output, apply_projection_to_path(root, output, merged, target));
}

// ---- the hook ---------------------------------------------------------------------------------------------

static void consider_sort_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
                                RelOptInfo *output, void *extra) {
    if (previous_hook != nullptr)
        previous_hook(root, stage, input, output, extra);
    if (stage != UPPERREL_ORDERED || output->pathlist == NIL || root->parse->limitCount == nullptr ||
        root->sort_pathkeys == NIL)
        return;
    // What sorts groups or windows isn't a table's business, and all rows are better sorted by PostgreSQL.
    if (!IS_JOIN_REL(input) && (input->reloptkind != RELOPT_BASEREL || input->rtekind != RTE_RELATION))
        return;
    note_other_paths(root, output);
    PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
    const char *refused = refuse_statement(root, input);
    const bool has_members = refused == nullptr && planner_rt_fetch(input->relid, root)->inh;
    if (has_members && !is_any_indexed(live_members(root, input->relid)))
        refused = "no partition or child has a gpu_column index";
    if (refused == nullptr && has_system_columns(target, input->relid))
        refused = "a column of the system is wanted";
    if (refused != nullptr)
        note_declined({sort_path_methods()->CustomName, root, input, output, InvalidOid}, refused);
    else if (has_members)
        add_path_of_members(root, input, output, target);
    else
        add_paths_of_indexes(root, input, {output, output, input->reltarget, target});
}

void install_sort_planner() {
    previous_hook = create_upper_paths_hook;
    create_upper_paths_hook = consider_sort_paths;
}

}  // namespace pg_gpu::plan
