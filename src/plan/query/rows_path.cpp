#include "plan/query/rows_path.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/aggregate_cost.h"
#include "plan/query/aggregate_listed.h"
#include "plan/query/aggregate_members.h"

namespace pg_gpu::plan {

List *pack_planning(const RowsPlanning &planning) {
    List *numbers = list_make3_int(planning.with_ties ? 1 : 0, planning.is_ordered ? 1 : 0,
                                   static_cast<int>(planning.table));
    return list_make5(planning.query, planning.expressions, numbers, planning.row, planning.sources);
}

RowsPlanning read_rows_planning(const List *packed) {
    const auto list = [packed](int i) { return static_cast<List *>(list_nth(packed, i)); };
    const List *numbers = list(2);
    return {list(0),
            list(1),
            list_nth_int(numbers, 0) != 0,
            list_nth_int(numbers, 1) != 0,
            static_cast<Index>(list_nth_int(numbers, 2)),
            list(3),
            list(4)};
}

bool has_system_columns(const PathTarget *target, Index table) {
    Bitmapset *columns = nullptr;
    pull_varattnos(reinterpret_cast<Node *>(target->exprs), table, &columns);
    const int first = bms_next_member(columns, -1);
    bms_free(columns);
    return first >= 0 && first + FirstLowInvalidHeapAttributeNumber < 0;
}

// ---- what is asked ----------------------------------------------------------------------------------------

// What the statement sorts by; expressions without columns don't tell rows apart.
static bool add_sort_keys(const GivenRows &rows, const IndexOptInfo *index, AggregateQuery *query,
                          List **keys, Refusal *refusal) {
    List *columns = rows.tree != nullptr ? rows.root->processed_tlist : columns_over(rows.root, index->rel);
    ListCell *cell;
    foreach (cell, rows.root->parse->sortClause) {
        auto *clause = lfirst_node(SortGroupClause, cell);
        Node *key = get_sortgroupclause_expr(clause, columns);
        if (!contain_var_clause(key) && !contain_volatile_functions(key))
            continue;
        Node *expression = over_index(key, index, rows.tree, refusal);
        if (expression == nullptr)
            return false;
        *keys = lappend(*keys, key);
        query->keys = lappend(query->keys, expression);
        query->key_operators = lappend_oid(query->key_operators, clause->sortop);
        query->nulls_first = lappend_int(query->nulls_first, clause->nulls_first ? 1 : 0);
    }
    return true;
}

// Rows without an order are asked for by a key that is the same for all, so that they come in the table's.
static void add_equal_key(AggregateQuery *query) {
    query->keys =
        list_make1(makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(0), false, true));
    query->key_operators = list_make1_oid(lookup_type_cache(INT4OID, TYPECACHE_LT_OPR)->lt_opr);
    query->nulls_first = list_make1_int(0);
}

static bool make_rows_query(const GivenRows &rows, const IndexOptInfo *index, AggregateQuery *query,
                            List **keys, Refusal *refusal) {
    *query = {};
    query->indexes = list_make1_oid(index->indexoid);
    query->has_barrier = rows.root->qual_security_level > 0;
    query->top.aggregate = -1;
    if (!rows.is_ordered)
        add_equal_key(query);
    else if (!add_sort_keys(rows, index, query, keys, refusal))
        return false;
    TableAggregate table = {};
    table.root = rows.root;
    table.input = rows.input;
    table.tree = rows.tree;
    return add_conditions(table, index, query, refusal) &&
           (rows.tree == nullptr || add_joined_tables(rows.root, *rows.tree, index, query, refusal));
}

// ---- a join's rows ----------------------------------------------------------------------------------------

// Finds where each column that the rows are computed from is. False: the node doesn't have one.
static bool find_sources(const GivenRows &rows, const IndexOptInfo *index, List *keys, RowsPlanning *planning,
                         Refusal *refusal) {
    ListCell *cell;
    List *all = list_make2(rows.target->exprs, keys);
    foreach (cell, pull_var_clause(reinterpret_cast<Node *>(all), PVC_INCLUDE_PLACEHOLDERS)) {
        auto *var = static_cast<Var *>(lfirst(cell));
        if (list_member(planning->row, var))
            continue;
        int source = 0;
        if (IsA(var, Var) && var->varattno > 0 && var->varlevelsup == 0) {
            const bool is_own = var->varno == static_cast<int>(rows.tree->table->relid);
            source = is_own ? var->varattno : -find_joined_column(*rows.tree, index->ncolumns, var);
        }
        if (source == 0) {
            refuse(refusal, "a column of the system, a whole row or an outer join's expression is wanted");
            return false;
        }
        planning->row = lappend(planning->row, var);
        planning->sources = lappend_int(planning->sources, source);
    }
    return true;
}

static PathTarget *target_of(PlannerInfo *root, const List *expressions) {
    PathTarget *target = create_empty_pathtarget();
    ListCell *cell;
    foreach (cell, expressions)
        add_column_to_pathtarget(target, static_cast<Expr *>(lfirst(cell)), 0);
    return set_pathtarget_cost_width(root, target);
}

// ---- paths ------------------------------------------------------------------------------------------------

// What PostgreSQL would run without the node, and without parallel workers. Where rows have no order it gives
// the node's own tuples.
static Path *make_replaced_path(const GivenRows &rows, const RowsPlanning &planning) {
    PlannerInfo *root = rows.root;
    Path *all = rows.tree != nullptr ? rows.tree->rows : create_seqscan_path(root, rows.input, nullptr, 0);
    if (!rows.is_ordered)
        return reinterpret_cast<Path *>(
            create_projection_path(root, rows.input, all, target_of(root, planning.row)));
    all = reinterpret_cast<Path *>(create_projection_path(root, rows.input, all, rows.scanned));
    Path *path = reinterpret_cast<Path *>(
        create_sort_path(root, rows.parent, all, root->sort_pathkeys, root->limit_tuples));
    return apply_projection_to_path(root, rows.parent, path, rows.target);
}

// Where LIMIT isn't known a tenth of the rows would be PostgreSQL's guess, which few statements mean.
static double wanted_rows(const GivenRows &rows) {
    constexpr double unknown_rows = 1000;
    const double limit = rows.root->limit_tuples;
    const double wanted = limit > 0 ? limit : unknown_rows;
    return clamp_row_est(rows.is_ordered ? Min(rows.input->rows, wanted) : rows.input->rows);
}

// Results that are ranked are sorted by their comparison.
static Cost order_cost(const CompiledAggregate &compiled, const AggregateQuery &query,
                       const column::IndexSummary &summary) {
    Cost cost = 0;
    for (uint32 i = 0; i < compiled.program.input_count; i++) {
        const InputSource &source = compiled.input[i];
        const double values = source.is_joined ? expected_matches(query.joins, source.expression)
                                               : static_cast<double>(summary.column[source.column].places);
        if (source.kind == SourceKind::Order)
            cost += 2 * (values + 2) * log2(values + 2) * cpu_operator_cost;
    }
    return cost;
}

static void cost_rows_path(const GivenRows &rows, const AggregateSource &source, const AggregateQuery &query,
                           const CompiledAggregate &compiled, CustomPath *custom) {
    const RelOptInfo *table = source.table;
    Path *path = &custom->path;
    cost_aggregate(rows.root, &source, 1, query, compiled, 1, 0, path);
    if (rows.tree != nullptr)
        add_join_cost(*rows.tree, path);
    path->rows = wanted_rows(rows);
    double random;
    double sequential;
    get_tablespace_page_costs(table->reltablespace, &random, &sequential);
    const double pages = index_pages_fetched(path->rows, table->pages, 0, rows.root);
    path->startup_cost += order_cost(compiled, query, source.summary) + path->pathtarget->cost.startup;
    // Each joined table's row is found by a hash.
    const Cost of_row = cpu_tuple_cost + list_length(query.joins) * cpu_operator_cost;
    path->total_cost =
        path->startup_cost + pages * random + path->rows * (of_row + path->pathtarget->cost.per_tuple);
}

static RowsPlanning make_planning(const GivenRows &rows, const AggregateQuery &query, List *keys) {
    const Query *statement = rows.root->parse;
    RowsPlanning planning = {};
    planning.query = pack_query(query);
    planning.is_ordered = rows.is_ordered;
    planning.table = rows.tree == nullptr ? rows.input->relid : 0;
    if (!rows.is_ordered)
        return planning;
    planning.expressions = lappend(list_copy(keys), statement->limitCount);
    if (statement->limitOffset != nullptr)
        planning.expressions = lappend(planning.expressions, statement->limitOffset);
    planning.with_ties = statement->limitOption == LIMIT_OPTION_WITH_TIES;
    return planning;
}

static void offer_path(const GivenRows &rows, const Candidate &candidate, const AggregateSource &source,
                       const AggregateQuery &query, const CompiledAggregate &compiled,
                       const RowsPlanning &planning) {
    auto *path = makeNode(CustomPath);
    path->path.pathtype = T_CustomScan;
    path->path.parent = rows.parent;
    path->path.pathtarget = rows.target;
    path->path.parallel_safe = false;
    path->path.pathkeys = rows.is_ordered ? rows.root->sort_pathkeys : NIL;
    // PostgreSQL's own sort goes backward, too, but its joins don't.
    path->flags = CUSTOMPATH_SUPPORT_PROJECTION | (rows.is_ordered ? CUSTOMPATH_SUPPORT_BACKWARD_SCAN : 0);
    path->custom_paths = list_make1(make_replaced_path(rows, planning));
    if (rows.tree != nullptr)
        path->custom_paths = list_concat(path->custom_paths, joined_paths(*rows.tree));
    path->custom_private = pack_planning(planning);
    path->methods = rows.is_ordered ? sort_path_methods() : join_path_methods();
    cost_rows_path(rows, source, query, compiled, path);
    note_offered(candidate, path);
    add_path(rows.output, &path->path);
}

static void add_path_of_index(const GivenRows &rows, const IndexOptInfo *index) {
    const CustomPathMethods *methods = rows.is_ordered ? sort_path_methods() : join_path_methods();
    const Candidate candidate = {methods->CustomName, rows.root, rows.input, rows.output, index->indexoid};
    if (index->indpred != NIL && !index->predOK) {
        note_declined(candidate, "the conditions don't imply those of the partial index");
        return;
    }
    AggregateQuery query;
    List *keys = NIL;
    Refusal refusal = {};
    RowsPlanning planning = {};
    bool can_be_requested = make_rows_query(rows, index, &query, &keys, &refusal);
    if (can_be_requested) {
        planning = make_planning(rows, query, keys);
        can_be_requested = rows.tree == nullptr || find_sources(rows, index, keys, &planning, &refusal);
    }
    if (!can_be_requested) {
        note_declined(candidate, refusal,
                      {index->rel->relid, planner_rt_fetch(index->rel->relid, rows.root)->relid});
        return;
    }
    const AggregateSource source = make_source(index->rel, index);
    const IndexColumns columns =
        describe_columns(source.format, index->opfamily, index->indexcollations, source.summary, query.joins);
    auto *compiled = allocate<CompiledAggregate>(1);
    const char *problem = compile_aggregate(query, columns, nullptr, compiled);
    if (problem == nullptr && !have_room_for_lists(*compiled, &source, 1))
        problem = kNoRoomForLists;
    if (problem != nullptr) {
        Node *refused = reinterpret_cast<Node *>(compiled->refused);
        // What is over joined rows can't be shown as if it were over the index.
        if (refused != nullptr && is_over_joined_table(query.joins, refused))
            refused = nullptr;
        note_declined(candidate, {problem, refused}, {1, index->indexoid});
    } else {
        offer_path(rows, candidate, source, query, *compiled, planning);
    }
    pfree(compiled);
}

void add_rows_paths(const GivenRows &rows) {
    const RelOptInfo *table = rows.tree == nullptr ? rows.input : rows.tree->table;
    ListCell *cell;
    foreach (cell, table->indexlist) {
        const auto *index = lfirst_node(IndexOptInfo, cell);
        if (is_column_index(index))
            add_path_of_index(rows, index);
    }
}

}  // namespace pg_gpu::plan
