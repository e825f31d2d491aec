#include "plan/query/inputs.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/failure.h"
#include "plan/query/node.h"
#include "plan/query/series.h"

namespace pg_gpu::plan::query {

// ---- for the planner --------------------------------------------------------------------------------------

// Where PostgreSQL's plan finds other tables empty it doesn't read these rows, so that errors about them stay
// hidden.
static bool may_entry_fail(const RangeTblEntry *entry) {
    switch (entry->rtekind) {
        case RTE_SUBQUERY:
            return may_query_fail(entry->subquery);
        case RTE_FUNCTION: {
            const auto *function = reinterpret_cast<const FuncExpr *>(
                linitial_node(RangeTblFunction, entry->functions)->funcexpr);
            if (list_length(entry->functions) != 1 || !IsA(function, FuncExpr))
                return true;
            return function->funcid == F_UNNEST_ANYARRAY ? may_fail(function->args)
                                                         : may_series_fail(function);
        }
        case RTE_VALUES:
            return may_fail(entry->values_lists);
        case RTE_CTE:
            // Of a recursion that doesn't end PostgreSQL's plan may read the first rows.
            return entry->self_reference;
        default:
            return false;
    }
}

// Conditions in FROM and WHERE.
static bool add_conditions(Node *node, void *conditions) {
    auto **list = static_cast<List **>(conditions);
    if (node == nullptr)
        return false;
    if (IsA(node, FromExpr))
        *list = lappend(*list, reinterpret_cast<const FromExpr *>(node)->quals);
    else if (IsA(node, JoinExpr))
        *list = lappend(*list, reinterpret_cast<const JoinExpr *>(node)->quals);
    else if (!IsA(node, List) && !IsA(node, RangeTblRef))
        return false;
    return walk_expression(node, add_conditions, conditions);
}

// Where a member's columns have other types they are cast.
static bool has_casts(const Query *query) {
    const auto *operation = castNode(SetOperationStmt, query->setOperations);
    ListCell *cell;
    foreach (cell, query->rtable) {
        const auto *entry = lfirst_node(RangeTblEntry, cell);
        if (entry->rtekind != RTE_SUBQUERY ||
            !tlist_same_datatypes(entry->subquery->targetList, operation->colTypes, true))
            return true;
    }
    return false;
}

// Core's pull_var_clause refuses columns of outer queries, which a lateral subquery has.
static bool add_aggregates(Node *node, void *aggregates) {
    if (node == nullptr)
        return false;
    if (!IsA(node, Aggref))
        return walk_expression(node, add_aggregates, aggregates);
    auto **list = static_cast<List **>(aggregates);
    *list = lappend(*list, node);
    return false;
}

bool may_query_fail(const Query *query) {
    check_stack_depth();
    if (query->cteList != NIL || query->hasSubLinks || (query->setOperations != nullptr && has_casts(query)))
        return true;
    List *conditions = NIL;
    add_conditions(reinterpret_cast<Node *>(query->jointree), &conditions);
    List *given = lappend(get_tlist_exprs(query->targetList, true), query->havingQual);
    // As the planner does, which then has fewer calls.
    for (List **list : {&conditions, &given})
        *list = reinterpret_cast<List *>(eval_const_expressions(nullptr, reinterpret_cast<Node *>(*list)));
    List *aggregates = NIL;
    add_aggregates(reinterpret_cast<Node *>(given), &aggregates);
    ListCell *cell;
    foreach (cell, aggregates) {
        const auto *aggregate = lfirst_node(Aggref, cell);
        if (aggregate->aggfnoid >= FirstUnpinnedObjectId ||
            may_fail(get_tlist_exprs(aggregate->args, true)) || may_fail(aggregate->aggfilter))
            return true;
    }
    if (may_fail(conditions) || may_fail_of_groups(given, aggregates))
        return true;
    foreach (cell, query->rtable)
        if (may_entry_fail(lfirst_node(RangeTblEntry, cell)))
            return true;
    return false;
}

// A WITH query that the table is read from; nullptr: it isn't known.
static const Query *find_with_query(PlannerInfo *root, const RangeTblEntry *entry) {
    for (Index i = 0; root != nullptr && i < entry->ctelevelsup; i++)
        root = root->parent_root;
    if (root == nullptr)
        return nullptr;
    ListCell *cell;
    foreach (cell, root->parse->cteList) {
        const auto *with = lfirst_node(CommonTableExpr, cell);
        if (strcmp(with->ctename, entry->ctename) == 0)
            return castNode(Query, with->ctequery);
    }
    return nullptr;
}

// PostgreSQL computes all rows of a subquery that it plans by itself, unless a limit above ends it early.
static bool is_read_whole(PlannerInfo *root, const RangeTblEntry *entry) {
    const Query *query = root->parse;
    return (entry->rtekind == RTE_SUBQUERY || entry->rtekind == RTE_CTE) && !entry->self_reference &&
           (query->limitCount == nullptr || query->sortClause != NIL || query->hasAggs ||
            query->groupClause != NIL);
}

static bool may_input_fail(PlannerInfo *root, const RelOptInfo *relation) {
    const RangeTblEntry *entry = planner_rt_fetch(relation->relid, root);
    if (may_fail(extract_actual_clauses(relation->baserestrictinfo, false)))
        return true;
    if (is_read_whole(root, entry))
        return false;
    if (entry->rtekind != RTE_CTE)
        return may_entry_fail(entry);
    const Query *query = find_with_query(root, entry);
    return query == nullptr || entry->self_reference || may_query_fail(query);
}

// They would be evaluated again where the replaced plan has to answer.
static bool is_volatile(PlannerInfo *root, const RelOptInfo *relation) {
    const RangeTblEntry *entry = planner_rt_fetch(relation->relid, root);
    if (contain_volatile_functions(reinterpret_cast<Node *>(relation->baserestrictinfo)))
        return true;
    return entry->rtekind == RTE_SUBQUERY &&
           contain_volatile_functions(reinterpret_cast<Node *>(entry->subquery));
}

static bool is_plain_column(const Node *expression) {
    return IsA(expression, Var) && reinterpret_cast<const Var *>(expression)->varattno > 0;
}

// PostgreSQL takes each condition on groups to drop two thirds of them. Those that people write mostly leave
// a few; where they don't, reading stops.
static double expected_rows(PlannerInfo *root, const RelOptInfo *relation) {
    constexpr double usual_part = 0.01;
    const RangeTblEntry *entry = planner_rt_fetch(relation->relid, root);
    const bool has_having = entry->rtekind == RTE_SUBQUERY && entry->subquery->havingQual != nullptr &&
                            entry->subquery->groupClause != NIL;
    return relation->rows * (has_having ? usual_part : 1);
}

static const Path *without_engine(const ProjectionPath *projection) {
    const Path *below = without_engine(projection->subpath);
    if (below == projection->subpath)
        return &projection->path;
    auto *copy = makeNode(ProjectionPath);
    *copy = *projection;
    copy->subpath = const_cast<Path *>(below);
    copy->path.startup_cost += below->startup_cost - projection->subpath->startup_cost;
    copy->path.total_cost += below->total_cost - projection->subpath->total_cost;
    copy->path.rows = below->rows;
    return &copy->path;
}

const Path *without_engine(const Path *path) {
    if (IsA(path, ProjectionPath))
        return without_engine(reinterpret_cast<const ProjectionPath *>(path));
    if (!IsA(path, CustomPath))
        return path;
    const auto *custom = reinterpret_cast<const CustomPath *>(path);
    return custom->methods == query_path_methods() ? static_cast<const Path *>(linitial(custom->custom_paths))
                                                   : path;
}

Path *gather_rows(PlannerInfo *root, const RelOptInfo *relation) {
    if (relation->partial_pathlist == NIL)
        return nullptr;
    auto *gathering = makeNode(RelOptInfo);
    *gathering = *relation;
    gathering->pathlist = NIL;
    generate_gather_paths(root, gathering, false);
    Path *cheapest = nullptr;
    ListCell *cell;
    foreach (cell, gathering->pathlist) {
        auto *path = static_cast<Path *>(lfirst(cell));
        path->parent = const_cast<RelOptInfo *>(relation);
        if (cheapest == nullptr || path->total_cost < cheapest->total_cost)
            cheapest = path;
    }
    return cheapest;
}

Path *cheapest_rows(const RelOptInfo *relation) {
    const Path *path = relation->cheapest_total_path;
    return path == nullptr || path->param_info != nullptr ? nullptr
                                                          : const_cast<Path *>(without_engine(path));
}

const char *refuse_input(PlannerInfo *root, RelOptInfo *relation) {
    if (relation->reloptkind != RELOPT_BASEREL)
        return "what is joined isn't a table";
    if (relation->lateral_relids != nullptr || relation->lateral_referencers != nullptr)
        return "a joined table depends on another table's rows";
    if (IS_DUMMY_REL(relation))
        return "no row of a joined table can pass the conditions";
    switch (relation->rtekind) {
        case RTE_RELATION:
        case RTE_FUNCTION:
        case RTE_VALUES:
        case RTE_CTE:
            break;
        case RTE_SUBQUERY:
            // Core moves the numbers of what is appended there each time that it makes a plan.
            if (relation->subroot == nullptr || relation->subroot->append_rel_list != NIL)
                return "a subquery's rows are of several tables";
            break;
        default:
            return "what is joined isn't a table";
    }
    if (expected_rows(root, relation) > kMaxExpectedRows)
        return "a joined table has no gpu_column index, and more rows than are read without one";
    if (is_volatile(root, relation))
        return "conditions of a joined table are volatile";
    if (may_input_fail(root, relation))
        return "rows of a joined table may raise errors";
    const Path *rows = cheapest_rows(relation);
    if (rows == nullptr)
        return "a joined table depends on another table's rows";
    ListCell *cell;
    foreach (cell, rows->pathtarget->exprs) {
        const auto *expression = static_cast<const Node *>(lfirst(cell));
        if (!is_plain_column(expression) || type_of_input(expression).length == -2)
            return "a joined table gives what isn't its own column";
    }
    return nullptr;
}

column::ColumnType type_of_input(const void *expression) {
    const auto *node = static_cast<const Node *>(expression);
    return column::describe_type(exprType(node), exprCollation(node));
}

// ---- for the executor -------------------------------------------------------------------------------------

namespace {

// What is read, while it grows.
struct Reading {
    InputRows *input;
    uint64 room;
    size_t bytes;  // of values that aren't integers
};

}  // namespace

// No session holds more of an input, whatever was expected.
static constexpr uint64 kMaxRows = 1000000;
static constexpr size_t kMaxBytes = size_t{64} << 20;

static void add_value(Reading *reading, Datum value, bool is_null, const column::ColumnType &type,
                      column::TupleValue *added) {
    *added = {};
    added->is_null = is_null;
    if (is_null)
        return;
    if (type.is_integer) {
        added->integer = column::encode_integer(type, value);
        return;
    }
    const column::Bytes bytes = column::bytes_of(type, value);
    auto *copy = allocate<char>(bytes.length + 1);
    memcpy(copy, bytes.data, bytes.length);
    added->bytes = {copy, bytes.length};
    reading->bytes += bytes.length;
}

static void add_row(Reading *reading, TupleTableSlot *row) {
    InputRows *input = reading->input;
    const auto columns = static_cast<uint64>(input->columns);
    if (input->count == reading->room) {
        reading->room *= 2;
        input->values = reallocate(input->values, reading->room * columns + 1);
    }
    slot_getallattrs(row);
    for (int i = 0; i < input->columns; i++)
        add_value(reading, row->tts_values[i], row->tts_isnull[i], input->types[i],
                  &input->values[input->count * columns + static_cast<uint64>(i)]);
    input->count++;
}

static TupleTableSlot *next_row(PlanState *plan) {
    CHECK_FOR_INTERRUPTS();
    // What the plan opens on its way lasts as long as the plan.
    MemoryContext caller = MemoryContextSwitchTo(plan->state->es_query_cxt);
    TupleTableSlot *row = ExecProcNode(plan);
    MemoryContextSwitchTo(caller);
    return row;
}

const char *read_input(PlanState *plan, InputRows *input) {
    constexpr uint64 first_rows = 256;
    *input = {};
    input->descriptor = ExecGetResultType(plan);
    input->columns = input->descriptor->natts;
    input->types = allocate<column::ColumnType>(static_cast<size_t>(input->columns) + 1);
    for (int i = 0; i < input->columns; i++) {
        const FormData_pg_attribute *column = TupleDescAttr(input->descriptor, i);
        input->types[i] = column::describe_type(column->atttypid, column->attcollation);
    }
    Reading reading = {input, first_rows, 0};
    input->values = allocate<column::TupleValue>(first_rows * static_cast<uint64>(input->columns) + 1);
    const ScanDirection direction = plan->state->es_direction;
    plan->state->es_direction = ForwardScanDirection;
    MemoryContext caller = MemoryContextSwitchTo(plan->state->es_query_cxt);
    ExecReScan(plan);
    MemoryContextSwitchTo(caller);
    bool has_room = true;
    for (TupleTableSlot *row = next_row(plan); has_room && !TupIsNull(row); row = next_row(plan)) {
        add_row(&reading, row);
        has_room = input->count < kMaxRows && reading.bytes < kMaxBytes;
    }
    plan->state->es_direction = direction;
    return has_room ? nullptr : "a joined table without a gpu_column index has more rows than are read";
}

}  // namespace pg_gpu::plan::query
