#include "plan/query/windowed_rows.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/engine_plan.h"
#include "plan/query/given_rows.h"
#include "plan/query/inputs.h"
#include "plan/query/members.h"
#include "plan/query/node.h"
#include "plan/query/path.h"
#include "plan/query/top.h"
#include "plan/query/wanted_rows.h"
#include "plan/query/window_frames.h"

namespace pg_gpu::plan::query {

// ---- what is asked ----------------------------------------------------------------------------------------

// Adds what a window is sorted by to the rows.
static bool read_window(PlannerInfo *root, const WindowClause *clause, GivenRows *given, Window *window,
                        Refusal *refusal) {
    *window = {};
    GivenRows sorted = {};
    sorted.row = given->row;
    if (!add_order(root, clause->partitionClause, &sorted, refusal))
        return false;
    window->partition_keys = count_items(sorted.order);
    if (!add_order(root, clause->orderClause, &sorted, refusal))
        return false;
    window->order = sorted.order;
    const bool has_key = count_items(sorted.order) == window->partition_keys + 1;
    Node *key = has_key && list_length(clause->orderClause) == 1
                    ? get_sortgroupclause_expr(linitial_node(SortGroupClause, clause->orderClause),
                                               root->processed_tlist)
                    : nullptr;
    if (!read_frame(clause, key, &sorted.row, window)) {
        refuse(refusal, "a window has a frame that the engine doesn't have");
        return false;
    }
    given->row = sorted.row;
    return true;
}

namespace {

// What a walk over the statement's target list finds.
struct Targets {
    const List *sorted_by;
    List *columns;
    List *functions;
    Refusal *refusal;
};

}  // namespace

// What is sorted by is a column of the rows as a whole, since PostgreSQL's windows have it so, too.
static bool collect_targets(Node *node, void *context) {
    auto *targets = static_cast<Targets *>(context);
    if (node == nullptr || list_member(targets->sorted_by, node))
        return false;
    switch (nodeTag(node)) {
        case T_WindowFunc:
            targets->functions = list_append_unique(targets->functions, node);
            return false;
        case T_Var:
            targets->columns = list_append_unique(targets->columns, node);
            return false;
        case T_PlaceHolderVar:
            refuse(targets->refusal, "an outer join's expression is wanted", node);
            return true;
        default:
            return walk_expression(node, collect_targets, context);
    }
}

// Adds the window with its functions, if it has any.
static void add_functions(const WindowClause *clause, Window window, const List *functions,
                          GivenRows *given) {
    ListCell *cell;
    foreach (cell, functions) {
        auto *function = lfirst_node(WindowFunc, cell);
        if (function->winref != clause->winref)
            continue;
        given->functions = lappend(given->functions, function);
        window.functions++;
    }
    if (window.functions > 0)
        given->windows = add_window(given->windows, window);
}

// ---- PostgreSQL's own windows -----------------------------------------------------------------------------

static Path *below_window(const Path *path) {
    switch (nodeTag(path)) {
        case T_WindowAggPath:
            return reinterpret_cast<const WindowAggPath *>(path)->subpath;
        case T_SortPath:
        case T_IncrementalSortPath:
            return reinterpret_cast<const SortPath *>(path)->subpath;
        case T_ProjectionPath:
            return reinterpret_cast<const ProjectionPath *>(path)->subpath;
        default:
            return nullptr;
    }
}

template <typename PathType>
static Path *copy_over(const Path *path, Path *below) {
    auto *copy = allocate<PathType>(1);
    *copy = *reinterpret_cast<const PathType *>(path);
    Path *own = reinterpret_cast<Path *>(copy);
    const Path *replaced = below_window(path);
    own->startup_cost += below->startup_cost - replaced->startup_cost;
    own->total_cost += below->total_cost - replaced->total_cost;
    return own;
}

// With PostgreSQL's own rows below in place of sorted ones of the engine's.
static Path *without_engine_below(PlannerInfo *root, Path *path) {
    if (below_window(path) == nullptr) {
        auto *rows = const_cast<Path *>(without_engine(path));
        return rows == path ? path
                            : reinterpret_cast<Path *>(
                                  create_projection_path(root, path->parent, rows, path->pathtarget));
    }
    Path *below = without_engine_below(root, below_window(path));
    if (below == below_window(path))
        return path;
    switch (nodeTag(path)) {
        case T_WindowAggPath: {
            Path *copy = copy_over<WindowAggPath>(path, below);
            reinterpret_cast<WindowAggPath *>(copy)->subpath = below;
            return copy;
        }
        case T_ProjectionPath:
            return reinterpret_cast<Path *>(
                create_projection_path(root, path->parent, below, path->pathtarget));
        case T_IncrementalSortPath: {
            Path *copy = copy_over<IncrementalSortPath>(path, below);
            reinterpret_cast<SortPath *>(copy)->subpath = below;
            return copy;
        }
        default: {
            Path *copy = copy_over<SortPath>(path, below);
            reinterpret_cast<SortPath *>(copy)->subpath = below;
            return copy;
        }
    }
}

// The cheapest one.
static const WindowAggPath *own_windows(PlannerInfo *root, const RelOptInfo *output) {
    Path *cheapest = nullptr;
    ListCell *cell;
    foreach (cell, output->pathlist) {
        auto *path = static_cast<Path *>(lfirst(cell));
        if (!IsA(path, WindowAggPath))
            continue;
        path = without_engine_below(root, path);
        if (cheapest == nullptr || path->total_cost < cheapest->total_cost)
            cheapest = path;
    }
    return reinterpret_cast<const WindowAggPath *>(cheapest);
}

// The same, of the rows and functions alone: what the statement computes of them is the node's to do.
static Path *give_rows(PlannerInfo *root, const WindowAggPath &own, const GivenRows &given) {
    auto *path = allocate<WindowAggPath>(1);
    *path = own;
    path->path.pathtarget = create_empty_pathtarget();
    ListCell *cell;
    foreach (cell, list_concat_copy(given.row, given.functions))
        add_column_to_pathtarget(path->path.pathtarget, static_cast<Expr *>(lfirst(cell)), 0);
    set_pathtarget_cost_width(root, path->path.pathtarget);
    return &path->path;
}

// What a subquery's rows are tested for by the statement around it, as `row_number() OVER … <= 3`.
static List *find_conditions(const WindowAggPath &own) {
    List *conditions = NIL;
    for (const Path *path = &own.path; path != nullptr; path = below_window(path))
        if (IsA(path, WindowAggPath))
            conditions = list_concat_unique(conditions,
                                            run_conditions(*reinterpret_cast<const WindowAggPath *>(path)));
    return conditions;
}

// How many rows a condition leaves: of each partition those whose numbers are small enough.
static double expect_rows(PlannerInfo *root, const RelOptInfo *input, const List *conditions) {
    constexpr double unknown_number = 10;
    double rows = input->rows;
    ListCell *cell;
    foreach (cell, conditions) {
        // What is known already isn't a comparison any more.
        if (!IsA(lfirst(cell), OpExpr))
            continue;
        const auto *condition = lfirst_node(OpExpr, cell);
        double most = unknown_number;
        const WindowFunc *function = nullptr;
        ListCell *side;
        foreach (side, condition->args) {
            const auto *node = static_cast<const Node *>(lfirst(side));
            if (IsA(node, WindowFunc))
                function = reinterpret_cast<const WindowFunc *>(node);
            else if (IsA(node, Const) && reinterpret_cast<const Const *>(node)->consttype == INT8OID &&
                     !reinterpret_cast<const Const *>(node)->constisnull)
                most = static_cast<double>(DatumGetInt64(reinterpret_cast<const Const *>(node)->constvalue));
        }
        if (function == nullptr)
            continue;
        const auto *clause =
            list_nth_node(WindowClause, root->parse->windowClause, static_cast<int>(function->winref) - 1);
        List *partition = get_sortgrouplist_exprs(clause->partitionClause, root->processed_tlist);
        const double partitions =
            partition == NIL ? 1 : estimate_num_groups(root, partition, input->rows, nullptr, nullptr);
        rows = Min(rows, partitions * Max(most, 1.0));
    }
    return rows;
}

// ---- paths ------------------------------------------------------------------------------------------------

// Is there a function that the rows don't have?
static bool has_other_function(Node *node, void *functions) {
    if (node == nullptr)
        return false;
    if (IsA(node, WindowFunc))
        return !list_member(static_cast<const List *>(functions), node);
    return walk_expression(node, has_other_function, functions);
}

static bool make_rows(PlannerInfo *root, GivenRows *given, Refusal *refusal) {
    given->target = root->upper_targets[UPPERREL_WINDOW];
    given->count = kAllSorted;
    const List *clauses = root->parse->windowClause;
    auto *windows = allocate<Window>(static_cast<size_t>(list_length(clauses)));
    for (int i = 0; i < list_length(clauses); i++)
        if (!read_window(root, list_nth_node(WindowClause, clauses, i), given, &windows[i], refusal))
            return false;
    Targets targets = {list_copy(given->row), NIL, NIL, refusal};
    if (collect_targets(reinterpret_cast<Node *>(given->target->exprs), &targets))
        return false;
    given->row = list_concat_unique(given->row, targets.columns);
    for (int i = 0; i < list_length(clauses); i++)
        add_functions(list_nth_node(WindowClause, clauses, i), windows[i], targets.functions, given);
    if (given->row == NIL)
        given->row =
            list_make1(makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(0), false, true));
    return given->functions != NIL;
}

// Sorts the rows by what the statement sorts by: columns, or functions of windows. False: by something else.
static bool sort_windowed_rows(PlannerInfo *root, GivenRows *given) {
    Refusal refusal = {};
    ListCell *cell;
    // Columns that are added now come before the functions.
    foreach (cell, root->parse->sortClause) {
        Node *key = get_sortgroupclause_expr(lfirst_node(SortGroupClause, cell), root->processed_tlist);
        if (!IsA(key, WindowFunc) &&
            (contain_window_function(key) || !add_order(root, list_make1(lfirst(cell)), given, &refusal)))
            return false;
    }
    given->order = NIL;
    foreach (cell, root->parse->sortClause) {
        const auto *clause = lfirst_node(SortGroupClause, cell);
        Node *key = get_sortgroupclause_expr(const_cast<SortGroupClause *>(clause), root->processed_tlist);
        const int function = number_in_row(given->functions, key);
        bool descends;
        if (!IsA(key, WindowFunc)) {
            if (!add_order(root, list_make1(lfirst(cell)), given, &refusal))
                return false;
            continue;
        }
        if (function < 0 || !is_own_order(clause->sortop, exprType(key), &descends))
            return false;
        given->order = add_order_item(given->order, list_length(given->row) + function, *clause, descends,
                                      exprCollation(key));
    }
    return true;
}

// Leaves those that LIMIT takes, where nothing takes rows away before. False: all may be wanted.
static bool limit_rows(PlannerInfo *root, const List *conditions, GivenRows *given) {
    const Query *query = root->parse;
    if (conditions != NIL || query->distinctClause != NIL || query->limitCount == nullptr ||
        read_limit(query, given) != nullptr)
        return false;
    given->row = list_copy(given->row);
    given->pathkeys = root->sort_pathkeys;
    return sort_windowed_rows(root, given) && (given->order != NIL || given->pathkeys == NIL);
}

// What PostgreSQL would run for these.
static Path *replace_limited(PlannerInfo *root, const WindowAggPath &own, const GivenRows &given) {
    Path *rows = give_rows(root, own, given);
    return pathkeys_contained_in(given.pathkeys, rows->pathkeys)
               ? rows
               : reinterpret_cast<Path *>(create_sort_path(root, rows->parent, rows, given.pathkeys,
                                                           static_cast<double>(given.count)));
}

const char *refuse_windows(PlannerInfo *root, const RelOptInfo *input) {
    constexpr double max_rows = 20 * static_cast<double>(kMaxFirstRows);
    const char *refused = refuse_rows(root, input);
    if (refused == nullptr && root->parse->hasTargetSRFs)
        refused = "a function returns a set";
    if (refused == nullptr && input->reloptkind == RELOPT_BASEREL &&
        planner_rt_fetch(input->relid, root)->tablesample != nullptr)
        refused = "a sample is read";
    return refused != nullptr || input->rows <= max_rows ? refused : "there are too many rows for a window";
}

const char *consider_windows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output) {
    const char *refused = refuse_windows(root, input);
    const WindowAggPath *own = own_windows(root, output);
    if (refused != nullptr || own == nullptr)
        return refused;
    GivenRows given = {};
    TableAggregate table = table_of_rows(root, input, output, given);
    Refusal refusal = {};
    if (!make_rows(root, &given, &refusal)) {
        decline_rows(table, refusal);
        return nullptr;
    }
    table.having = find_conditions(*own);
    if (has_other_function(reinterpret_cast<Node *>(table.having), given.functions))
        return "a condition is about another window";
    given.expected = expect_rows(root, input, table.having);
    given.replaced = give_rows(root, *own, given);
    if ((input->reloptkind == RELOPT_JOINREL || is_parent_table(root, input) || is_nested(root, input)) &&
        !begin_joined_query(&table))
        return nullptr;
    GivenRows limited = given;
    table.given = &limited;
    if (limit_rows(root, table.having, &limited)) {
        limited.replaced = replace_limited(root, *own, limited);
        if (consider_query(table))
            return nullptr;
    }
    table.given = &given;
    consider_query(table);
    return nullptr;
}

}  // namespace pg_gpu::plan::query
