#include "plan/query/given_rows.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/engine_plan.h"
#include "plan/query/late_rows.h"
#include "plan/query/members.h"
#include "plan/query/node.h"
#include "plan/query/parameters.h"
#include "plan/query/path.h"
#include "plan/query/top.h"
#include "plan/query/unnest.h"
#include "plan/query/windows.h"
#include "plan/query/wanted_rows.h"
#include "settings.h"

namespace pg_gpu::plan::query {

TableAggregate table_of_rows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                             const GivenRows &given) {
    TableAggregate table = {};
    table.root = root;
    table.input = input;
    table.output = output;
    table.given = &given;
    return table;
}

void decline_rows(const TableAggregate &table, const Refusal &refusal) {
    note_declined({query_path_methods()->CustomName, table.root, table.input, table.output, InvalidOid},
                  refusal, {});
}

// ---- what is asked ----------------------------------------------------------------------------------------

bool add_columns(List *expressions, List **row, Refusal *refusal) {
    ListCell *cell;
    foreach (cell, pull_var_clause(reinterpret_cast<Node *>(expressions), PVC_INCLUDE_PLACEHOLDERS)) {
        auto *column = static_cast<Node *>(lfirst(cell));
        if (!IsA(column, Var)) {
            refuse(refusal, "an outer join's expression is wanted", column);
            return false;
        }
        *row = list_append_unique(*row, column);
    }
    return true;
}

bool add_order(PlannerInfo *root, const List *clauses, GivenRows *given, Refusal *refusal) {
    ListCell *cell;
    foreach (cell, clauses) {
        const auto *clause = lfirst_node(SortGroupClause, cell);
        Node *key = get_sortgroupclause_expr(const_cast<SortGroupClause *>(clause), root->processed_tlist);
        if (!contain_var_clause(key) && !contain_volatile_functions(key))
            continue;
        bool descends;
        if (!is_own_order(clause->sortop, exprType(key), &descends)) {
            refuse(refusal, "rows aren't sorted by an order of a type's", key);
            return false;
        }
        int number = number_in_row(given->row, key);
        if (number < 0) {
            number = list_length(given->row);
            given->row = lappend(given->row, key);
        }
        given->order = add_order_item(given->order, number, *clause, descends, exprCollation(key));
    }
    return true;
}

// A row has a column in any case.
static void add_any_column(List **row) {
    if (*row == NIL)
        *row = list_make1(makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(0), false, true));
}

// What is sorted by, or by which frames are found, comes first in a row.
static List *sorted_by(const GivenRows &given) {
    int count = 0;
    const auto need = [&](int number) { count = Max(count, number + 1); };
    const auto need_order = [&](const List *order) {
        for (int i = 0; i < count_items(order); i++)
            need(order_item(order, i).result);
    };
    need_order(given.order);
    for (int i = 0; i < list_length(given.windows); i++) {
        const Window window = window_of(given.windows, i);
        need_order(window.order);
        if (has_frame_by_values(window))
            need(Max(window.frame_key, Max(window.frame_from, window.frame_to)));
    }
    return list_copy_head(given.row, count);
}

// Numbers of windows' functions can be given beside rows of the table.
static bool are_functions_numbers(const List *functions) {
    ListCell *cell;
    foreach (cell, functions) {
        const auto *function = lfirst_node(WindowFunc, cell);
        if ((function->wintype != INT8OID && function->wintype != INT4OID &&
             function->wintype != FLOAT8OID) ||
            (function->winagg && function->winfnoid != F_COUNT_ && function->winfnoid != F_COUNT_ANY))
            return false;
    }
    return true;
}

static bool is_sorted_by_functions(const GivenRows &given) {
    for (int i = 0; i < count_items(given.order); i++)
        if (order_item(given.order, i).result >= list_length(given.row))
            return true;
    return false;
}

static bool may_be_late(const GivenRows &given) {
    return given.windows == NIL ? given.count != kAllSorted
                                : are_functions_numbers(given.functions) && !is_sorted_by_functions(given);
}

static bool make_given_query(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query,
                             bool *is_late, Refusal *refusal) {
    *query = {};
    *is_late = index != nullptr && may_be_late(*table.given) && lacks_columns(index, table.given->row);
    query->has_barrier = table.root->qual_security_level > 0;
    if (index != nullptr) {
        query->indexes = list_make1_oid(index->indexoid);
        if (!add_conditions(table, index, query, refusal))
            return false;
    }
    const auto over = [&](Node *expression) {
        return table.read != nullptr ? over_tables(expression, *table.read, table.scope, refusal)
                                     : over_index(expression, index, refusal);
    };
    ListCell *cell;
    foreach (cell, *is_late ? sorted_by(*table.given) : table.given->row) {
        Node *expression = over(static_cast<Node *>(lfirst(cell)));
        if (expression == nullptr || refusal->reason != nullptr)
            return false;
        query->keys = lappend(query->keys, expression);
    }
    if (*is_late)
        query->keys = lappend(query->keys, make_row_number());
    query->windows = table.given->windows;
    foreach (cell, table.given->functions) {
        auto *function = static_cast<WindowFunc *>(copyObjectImpl(lfirst_node(WindowFunc, cell)));
        ListCell *argument;
        foreach (argument, function->args)
            lfirst(argument) = over(static_cast<Node *>(lfirst(argument)));
        if (function->aggfilter != nullptr)
            function->aggfilter =
                reinterpret_cast<Expr *>(over(reinterpret_cast<Node *>(function->aggfilter)));
        if (refusal->reason != nullptr)
            return false;
        query->aggregates = lappend(query->aggregates, function);
    }
    return true;
}

bool make_any_query(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query, List **row,
                    bool *is_late, Refusal *refusal) {
    *is_late = false;
    if (table.given == nullptr)
        return make_query(table, index, query, row, refusal) && refusal->reason == nullptr;
    *row = list_concat_copy(table.given->row, table.given->functions);
    return make_given_query(table, index, query, is_late, refusal);
}

List *result_expressions(const TableAggregate &table, List *row, bool is_late) {
    if (!is_late)
        return row;
    List *results = lappend(sorted_by(*table.given), make_row_number());
    return list_concat(results, table.given->functions);
}

double expect_given(const TableAggregate &table) {
    // Where LIMIT isn't known a tenth of the rows would be PostgreSQL's guess, which few statements mean.
    constexpr double unknown_rows = 1000;
    const GivenRows &given = *table.given;
    double rows = table.input->rows;
    if (given.windows != NIL)
        rows = Min(rows, given.expected);
    if (given.count > 0)
        rows = Min(rows, static_cast<double>(given.count));
    else if (given.limits != NIL)
        rows = Min(rows, table.root->limit_tuples > 0 ? table.root->limit_tuples : unknown_rows);
    return clamp_row_est(rows);
}

Path *make_replaced_rows(const TableAggregate &table) {
    if (table.given->replaced != nullptr)
        return table.given->replaced;
    PlannerInfo *root = table.root;
    PathTarget *target = create_empty_pathtarget();
    ListCell *cell;
    foreach (cell, table.given->row)
        add_column_to_pathtarget(target, static_cast<Expr *>(lfirst(cell)), 0);
    target = set_pathtarget_cost_width(root, target);
    // The table's own paths compute the statement's target list by now, and no longer give what it reads.
    Path *rows = table.rows != nullptr ? table.rows : create_seqscan_path(root, table.input, nullptr, 0);
    rows = reinterpret_cast<Path *>(create_projection_path(root, table.input, rows, target));
    if (pathkeys_contained_in(table.given->pathkeys, rows->pathkeys))
        return rows;
    return reinterpret_cast<Path *>(create_sort_path(root, table.input, rows, table.given->pathkeys,
                                                     static_cast<double>(table.given->count)));
}

// ---- statements -------------------------------------------------------------------------------------------

// Rows that INSERT takes are rows like others.
const char *refuse_rows(PlannerInfo *root, const RelOptInfo *input) {
    // PostgreSQL's own sorts and joins can.
    if (may_scan_backward())
        return "rows of a cursor may be fetched backwards";
    const Query *query = root->parse;
    if ((query->commandType != CMD_SELECT && query->commandType != CMD_INSERT) || root->rowMarks != NIL)
        return "rows are locked or changed";
    if (input->lateral_relids != nullptr)
        return "the rows depend on another table's";
    return has_volatile_subquery(root) ? "a subquery is volatile" : nullptr;
}

template <typename PathType>
static Path *copy_path(const Path *path) {
    auto *copy = allocate<PathType>(1);
    memcpy(copy, path, sizeof(PathType));
    return reinterpret_cast<Path *>(copy);
}

// The planner frees paths that better ones replace, but for those below them. nullptr: it is of another kind.
static Path *copy_rows(const Path *path) {
    switch (nodeTag(path)) {
        case T_Path:
            return copy_path<Path>(path);
        case T_IndexPath:
            return copy_path<IndexPath>(path);
        case T_BitmapHeapPath:
            return copy_path<BitmapHeapPath>(path);
        case T_NestPath:
            return copy_path<NestPath>(path);
        case T_MergePath:
            return copy_path<MergePath>(path);
        case T_HashPath:
            return copy_path<HashPath>(path);
        default:
            return nullptr;
    }
}

// The same of a subquery's or a union's rows, of which a path that is sorted already is among those of the
// stage above, too.
static Path *copy_nested(const Path *path) {
    switch (nodeTag(path)) {
        case T_Path:
            return copy_path<Path>(path);
        case T_SubqueryScanPath:
            return copy_path<SubqueryScanPath>(path);
        case T_AppendPath:
            return copy_path<AppendPath>(path);
        case T_MergeAppendPath:
            return copy_path<MergeAppendPath>(path);
        case T_GatherPath:
            return copy_path<GatherPath>(path);
        case T_GatherMergePath:
            return copy_path<GatherMergePath>(path);
        case T_SortPath:
            return copy_path<SortPath>(path);
        case T_IncrementalSortPath:
            return copy_path<IncrementalSortPath>(path);
        default:
            return nullptr;
    }
}

static const Path *without_projection(const Path *path) {
    return IsA(path, ProjectionPath) ? reinterpret_cast<const ProjectionPath *>(path)->subpath : path;
}

static bool gives_columns(const Path *path, const List *row) {
    ListCell *cell;
    foreach (cell,
             pull_var_clause(reinterpret_cast<Node *>(const_cast<List *>(row)), PVC_INCLUDE_PLACEHOLDERS))
        if (!list_member(path->pathtarget->exprs, lfirst(cell)))
            return false;
    return true;
}

// The cheapest path of a subquery's or a union's rows before what the statement computes of them. Where
// workers compute that, the paths that gather their rows don't give the columns any more.
static Path *nested_rows(const RelOptInfo *input, const List *row) {
    const Path *cheapest = nullptr;
    ListCell *cell;
    foreach (cell, input->pathlist) {
        const Path *path = without_projection(static_cast<const Path *>(lfirst(cell)));
        if (path->param_info == nullptr && gives_columns(path, row) &&
            (cheapest == nullptr || path->total_cost < cheapest->total_cost))
            cheapest = path;
    }
    return cheapest == nullptr ? nullptr : copy_nested(cheapest);
}

// PostgreSQL's own cheapest path of the rows. One that the node has driven away stands by for that.
static Path *own_rows(const RelOptInfo *relation) {
    Path *cheapest = nullptr;
    ListCell *cell;
    foreach (cell, relation->pathlist) {
        const Path *path =
            without_projection(without_engine(without_projection(static_cast<const Path *>(lfirst(cell)))));
        Path *copy = path->param_info == nullptr ? copy_rows(path) : nullptr;
        if (copy != nullptr && (cheapest == nullptr || copy->total_cost < cheapest->total_cost))
            cheapest = copy;
    }
    return cheapest;
}

// ---- joins ------------------------------------------------------------------------------------------------

void consider_joined_rows(PlannerInfo *root, RelOptInfo *join) {
    GivenRows given = {};
    given.target = join->reltarget;
    TableAggregate table = table_of_rows(root, join, join, given);
    table.rows = own_rows(join);
    note_other_paths(root, join);
    Refusal refusal = {refuse_rows(root, join), nullptr};
    if (table.rows == nullptr || refusal.reason != nullptr ||
        !add_columns(join->reltarget->exprs, &given.row, &refusal)) {
        decline_rows(table, refusal);
        return;
    }
    add_any_column(&given.row);
    if (begin_joined_query(&table))
        consider_query(table);
}

// ---- rows that pass conditions ----------------------------------------------------------------------------

static bool are_passing_rows_few(PlannerInfo *root, const RelOptInfo *table) {
    constexpr double large_share = 1.0 / 8;
    return query_enabled() && table->baserestrictinfo != NIL && table->lateral_relids == nullptr &&
           table->rows <= Min(table->tuples * large_share, static_cast<double>(kMaxFirstRows)) &&
           has_any_index(root, table) && planner_rt_fetch(table->relid, root)->tablesample == nullptr;
}

static Path *cheaper(Path *one, Path *other) {
    return one == nullptr || (other != nullptr && other->total_cost < one->total_cost) ? other : one;
}

bool are_passing_rows(const TableAggregate &table) {
    return table.output == table.input && table.input->reloptkind == RELOPT_BASEREL &&
           table.given->order == NIL;
}

void consider_passing_rows(PlannerInfo *root, RelOptInfo *table) {
    if (!are_passing_rows_few(root, table) || refuse_rows(root, table) != nullptr)
        return;
    GivenRows given = {};
    given.target = table->reltarget;
    TableAggregate passing = table_of_rows(root, table, table, given);
    passing.rows = cheaper(own_rows(table), gather_rows(root, table));
    Refusal refusal = {};
    // Plans by a unique key cost less than any request.
    if (passing.rows == nullptr || passing.rows->total_cost <= cost_request() ||
        !add_columns(table->reltarget->exprs, &given.row, &refusal))
        return;
    add_any_column(&given.row);
    consider_query(passing);
}

// ---- sorted rows ------------------------------------------------------------------------------------------

// Windows and DISTINCT ON take all rows in an order.
static bool are_sorted_rows_wanted(PlannerInfo *root, const RelOptInfo *table) {
    const Query *query = root->parse;
    return query_enabled() && root->query_pathkeys != NIL &&
           (query->hasWindowFuncs || query->hasDistinctOn) && !query->hasAggs && query->groupClause == NIL &&
           query->groupingSets == NIL && bms_equal(root->all_baserels, table->relids) &&
           has_any_index(root, table) && planner_rt_fetch(table->relid, root)->tablesample == nullptr &&
           table->rows <= static_cast<double>(kMaxFirstRows);
}

// By which columns; NIL: it isn't known which window comes first.
static List *find_sorting(const Query *query) {
    if (query->hasWindowFuncs) {
        if (list_length(query->windowClause) != 1)
            return NIL;
        const auto *window = linitial_node(WindowClause, query->windowClause);
        return list_concat_copy(window->partitionClause, window->orderClause);
    }
    return list_length(query->sortClause) > list_length(query->distinctClause) ? query->sortClause
                                                                               : query->distinctClause;
}

// Adds the table's rows in the order that the statement wants, as `target` gives them, to the paths of
// `rows`.
static void add_sorted_rows(PlannerInfo *root, RelOptInfo *table, PathTarget *target, RelOptInfo *rows) {
    if (!are_sorted_rows_wanted(root, table) || refuse_rows(root, table) != nullptr)
        return;
    List *sorting = find_sorting(root->parse);
    GivenRows given = {};
    given.target = target;
    given.pathkeys = make_pathkeys_for_sortclauses(root, sorting, root->processed_tlist);
    given.count = kAllSorted;
    TableAggregate sorted = table_of_rows(root, table, rows, given);
    sorted.rows = is_parent_table(root, table) ? nullptr : own_rows(table);
    Refusal refusal = {};
    if (add_columns(target->exprs, &given.row, &refusal) &&
        pathkeys_contained_in(root->query_pathkeys, given.pathkeys) &&
        add_order(root, sorting, &given, &refusal) && given.order != NIL &&
        (!is_parent_table(root, table) || begin_joined_query(&sorted)))
        consider_query(sorted);
}

void consider_sorted_rows(PlannerInfo *root, RelOptInfo *table) {
    add_sorted_rows(root, table, table->reltarget, table);
}

template <typename PathType>
static Path *copy_over(const Path *path, Path *rows) {
    Path *copy = copy_path<PathType>(path);
    const Path *replaced = reinterpret_cast<const PathType *>(path)->subpath;
    if (!pathkeys_contained_in(replaced->pathkeys, rows->pathkeys))
        return nullptr;
    reinterpret_cast<PathType *>(copy)->subpath = rows;
    copy->startup_cost += rows->startup_cost - replaced->startup_cost;
    copy->total_cost += rows->total_cost - replaced->total_cost;
    copy->parallel_safe = false;
    return copy;
}

void consider_sorted_members(PlannerInfo *root, RelOptInfo *table, RelOptInfo *output) {
    auto *rows = makeNode(RelOptInfo);
    *rows = *table;
    rows->pathlist = NIL;
    add_sorted_rows(root, table, table->reltarget, rows);
    List *copies = NIL;
    ListCell *cell;
    foreach (cell, output->pathlist) {
        const auto *path = static_cast<const Path *>(lfirst(cell));
        ListCell *given;
        foreach (given, rows->pathlist) {
            auto *sorted = static_cast<Path *>(lfirst(given));
            Path *copy = IsA(path, WindowAggPath)     ? copy_over<WindowAggPath>(path, sorted)
                         : IsA(path, UpperUniquePath) ? copy_over<UpperUniquePath>(path, sorted)
                                                      : nullptr;
            if (copy != nullptr)
                copies = lappend(copies, copy);
        }
    }
    foreach (cell, copies)
        add_path(output, static_cast<Path *>(lfirst(cell)));
}

// ---- first rows -------------------------------------------------------------------------------------------

bool begin_given(TableAggregate *table) {
    RelOptInfo *input = table->input;
    const bool is_join = input->reloptkind == RELOPT_JOINREL;
    if (!is_join && !is_nested(table->root, input))
        return !is_parent_table(table->root, input) || begin_joined_query(table);
    table->rows = is_join ? own_rows(input) : nested_rows(input, table->given->row);
    return table->rows != nullptr && begin_joined_query(table);
}

static bool is_known(const Node *number) {
    return number == nullptr || IsA(number, Const);
}

// What tells how many rows are wanted; NIL: that is known, or all are.
static List *find_limits(const Query *query) {
    if (is_known(query->limitCount) && is_known(query->limitOffset))
        return NIL;
    List *limits = list_make1(query->limitCount);
    return query->limitOffset == nullptr ? limits : lappend(limits, query->limitOffset);
}

const char *read_limit(const Query *query, GivenRows *given) {
    given->count = wanted_rows(query);
    given->limits = find_limits(query);
    if (query->limitOption != LIMIT_OPTION_COUNT)
        return "rows that are equal to the last one are wanted, too";
    if (given->count == 0 && given->limits == NIL)
        return "LIMIT takes no rows, or too many";
    if (contain_volatile_functions(reinterpret_cast<Node *>(given->limits)) ||
        contain_subplans(reinterpret_cast<Node *>(given->limits)))
        return "LIMIT or OFFSET isn't the same each time";
    return nullptr;
}

static const char *refuse_first_rows(PlannerInfo *root, const RelOptInfo *input) {
    if (root->parse->hasTargetSRFs)
        return "a function returns a set";
    if (input->reloptkind == RELOPT_JOINREL)
        return nullptr;
    return planner_rt_fetch(input->relid, root)->tablesample != nullptr ? "a sample is read" : nullptr;
}

// Of a table alone, the engine may have nothing but what is sorted by, which then comes first (sorted_by).
static bool add_first_rows(PlannerInfo *root, const RelOptInfo *input, GivenRows *given, Refusal *refusal) {
    const auto add_sorted_by = [&] { return add_order(root, root->parse->sortClause, given, refusal); };
    const auto add_target = [&] { return add_columns(given->target->exprs, &given->row, refusal); };
    const bool is_table =
        input->reloptkind == RELOPT_BASEREL && !is_nested(root, input) && !is_parent_table(root, input);
    return is_table ? add_sorted_by() && add_target() : add_target() && add_sorted_by();
}

bool consider_first_rows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output) {
    GivenRows given = {};
    given.target = root->upper_targets[UPPERREL_ORDERED];
    given.pathkeys = root->sort_pathkeys;
    TableAggregate table = table_of_rows(root, input, output, given);
    const char *limit = read_limit(root->parse, &given);
    Refusal refusal = {refuse_rows(root, input), nullptr};
    if (refusal.reason == nullptr)
        refusal.reason = refuse_first_rows(root, input);
    if (refusal.reason == nullptr)
        refusal.reason = limit;
    if (refusal.reason != nullptr || !add_first_rows(root, input, &given, &refusal)) {
        decline_rows(table, refusal);
        return false;
    }
    if (given.order == NIL)
        return false;
    return begin_given(&table) && consider_query(table);
}

}  // namespace pg_gpu::plan::query
