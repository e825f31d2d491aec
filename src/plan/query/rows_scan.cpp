// Executing a GpuSort or a GpuJoin. Its first child is the plan that PostgreSQL would have run: it checks
// privileges, and is executed only where the index can't answer after all. Joined tables' plans follow.
#include "plan/query/rows_scan.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/aggregate_output.h"
#include "plan/query/aggregate_explain.h"
#include "plan/custom_node.h"
#include "plan/advise/explain_why.h"
#include "plan/query/join_rows_path.h"
#include "plan/query/parameters.h"
#include "plan/query/rows_path.h"
#include "plan/query/sort_path.h"
#include "plan/query/subqueries.h"
#include "plan/usage.h"
#include "table/table.h"

namespace pg_gpu::plan {

struct RowsScanState {
    CustomScanState custom;
    AggregateQuery query;
    bool with_ties;
    bool is_ordered;    // the first rows are wanted; else all of a join
    ExprState *limit;   // nullptr: rows have no order
    ExprState *offset;  // nullptr: there is none
    Relation index;
    Relation heap;
    // Of a join: what its rows are put together from.
    const List *sources;  // as RowsPlanning has them
    JoinedTables *joins;
    TupleTableSlot *joined_row;
    TupleTableSlot *own_row;  // of the index's table
    bool are_joined_read;
    ExprContext *expressions;
    MemoryContext keep;  // of the answer
    MemoryContext work;
    AggregateOutput result;
    table::HeapProbe probe;
    bool is_probe_open;
    bool is_requested;
    Position position;
    bool has_child_run;   // since its last rescan
    const char *problem;  // why the child answers; nullptr: it doesn't
    uint64 heap_fetches;
    uint64 given;  // rows, since the last request
    client::Usage usage;
};

// ---- the request -----------------------------------------------------------------------------------------

// NULL and negative numbers are -1.
static int64 evaluate_count(ExprState *expression, ExprContext *context) {
    bool is_null;
    const Datum value = ExecEvalExprSwitchContext(expression, context, &is_null);
    return is_null ? -1 : Max(DatumGetInt64(value), int64{-1});
}

// How many rows Limit takes at most; -1 when it takes all, or more than the node gives. It raises errors by
// itself, before it asks for a row. Of rows without an order one more than the node gives, which tells that
// it can't.
static int64 count_wanted(const RowsScanState *state) {
    if (!state->is_ordered)
        return kMaxGivenRows + 1;
    const int64 limit = evaluate_count(state->limit, state->expressions);
    const int64 offset =
        state->offset == nullptr ? 0 : Max(evaluate_count(state->offset, state->expressions), int64{0});
    return limit < 0 || limit > kMaxGivenRows || offset > kMaxGivenRows - limit ? -1 : limit + offset;
}

// Gives back what isn't memory alone.
static void forget_result(RowsScanState *state) {
    if (state->is_probe_open)
        table::close_heap_probe(&state->probe);
    state->is_probe_open = false;
    state->result = {};
}

// Reads the tables that the index's is joined with. Returns nullptr, or why they can't be joined.
static const char *read_joined(RowsScanState *state, AggregateRequest *request) {
    if (state->query.joins == NIL)
        return nullptr;
    const List *plans = joined_plans(&state->custom, state->are_joined_read);
    state->are_joined_read = true;
    const char *problem;
    state->joins = read_joined_tables(state->query.joins, plans, RelationGetDescr(state->index),
                                      state->expressions, request->memory, &problem);
    if (problem != nullptr)
        return problem;
    request->joins = state->joins;
    request->memory -= state->joins->bytes;
    state->joined_row = make_row(state->index, state->joins);
    return nullptr;
}

static const char *find_result(RowsScanState *state, int64 wanted) {
    const Plan *plan = state->custom.ss.ps.plan;
    AggregateRequest request = {};
    AggregateMember table = {};
    table.heap = state->heap;
    table.index = state->index;
    request.member = &table;
    request.member_count = 1;
    request.snapshot = state->custom.ss.ps.state->es_snapshot;
    request.context = state->expressions;
    request.keep = state->keep;
    request.groups = Min(static_cast<double>(wanted), Max(plan->plan_rows, 1.0));
    request.rows = static_cast<uint64>(wanted);
    request.with_ties = state->with_ties;
    request.memory = get_hash_memory_limit();
    request.query = state->query;
    const char *problem = read_subqueries(&request.query, state->custom.ss.ps.state, &request.memory);
    if (problem == nullptr)
        problem = read_joined(state, &request);
    if (problem != nullptr)
        return problem;
    request.query.conditions = bind_parameters(request.query.conditions, state->expressions);
    request.query.keys = bind_parameters(request.query.keys, state->expressions);
    // What a scan of the table would lock under SERIALIZABLE, and the index's readers.
    PredicateLockRelation(table.index, request.snapshot);
    PredicateLockRelation(table.heap, request.snapshot);
    const client::Usage before = client::session_usage();
    problem = find_groups_of_request(request, &state->result, &state->heap_fetches);
    client::add_usage_since(before, &state->usage);
    if (problem == nullptr && !state->is_ordered && state->result.row_count > kMaxGivenRows)
        problem = "the join has more rows than are given";
    if (problem == nullptr) {
        table::open_heap_probe(&state->probe, table.heap, request.snapshot);
        state->is_probe_open = true;
    }
    return problem;
}

// The child gives its rows from the first one on.
static void rewind_child(RowsScanState *state) {
    auto *child = static_cast<PlanState *>(linitial(state->custom.custom_ps));
    // With a changed parameter the child begins anew by itself.
    if (state->has_child_run && child->chgParam == nullptr)
        ExecReScan(child);
    state->has_child_run = false;
}

// A sort that has finished looks at its bound when it is rescanned, so the bound comes first.
static void begin_child(RowsScanState *state, int64 wanted) {
    if (state->is_ordered)
        ExecSetTupleBound(state->with_ties ? -1 : wanted,
                          static_cast<PlanState *>(linitial(state->custom.custom_ps)));
    rewind_child(state);
}

static void submit(RowsScanState *state) {
    forget_result(state);
    MemoryContextReset(state->work);
    state->joins = nullptr;
    ResetExprContext(state->expressions);
    MemoryContext caller = MemoryContextSwitchTo(state->work);
    const int64 wanted = count_wanted(state);
    state->problem = nullptr;
    state->given = 0;
    if (wanted < 0)
        state->problem = "too many rows are wanted";
    else if (wanted > 0)
        state->problem = find_result(state, wanted);
    MemoryContextSwitchTo(caller);
    if (state->problem != nullptr)
        begin_child(state, wanted);
    state->is_requested = true;
    state->position = {};
}

// ---- execution --------------------------------------------------------------------------------------------

// The child's rows are the statement's, or, where they have no order, the node's own tuples.
static TupleTableSlot *give_childs_row(RowsScanState *state) {
    state->has_child_run = true;
    CustomScanState *node = &state->custom;
    TupleTableSlot *row = ExecProcNode(static_cast<PlanState *>(linitial(node->custom_ps)));
    TupleTableSlot *slot = state->is_ordered ? node->ss.ps.ps_ResultTupleSlot : node->ss.ss_ScanTupleSlot;
    ExecClearTuple(slot);
    if (TupIsNull(row))
        return nullptr;
    const auto columns = static_cast<size_t>(slot->tts_tupleDescriptor->natts);
    slot_getallattrs(row);
    memcpy(slot->tts_values, row->tts_values, columns * sizeof(Datum));
    memcpy(slot->tts_isnull, row->tts_isnull, columns * sizeof(bool));
    ExecStoreVirtualTuple(slot);
    return state->is_ordered ? slot : project(node);
}

// Puts the node's own tuple together from the row of the index's table and those that it is joined with.
static void join_row(RowsScanState *state) {
    TupleTableSlot *own = state->own_row;
    TupleTableSlot *joined = state->joined_row;
    TupleTableSlot *slot = state->custom.ss.ss_ScanTupleSlot;
    const int2vector *columns = &state->index->rd_index->indkey;
    for (int i = 0; i < columns->dim1; i++) {
        const int source = columns->values[i];
        joined->tts_isnull[i] = source <= 0 || own->tts_isnull[source - 1];
        joined->tts_values[i] = joined->tts_isnull[i] ? Datum{0} : own->tts_values[source - 1];
    }
    ResetExprContext(state->expressions);
    put_matches(state->joins, state->expressions, joined);
    ExecClearTuple(slot);
    for (int i = 0; i < list_length(state->sources); i++) {
        const int source = list_nth_int(state->sources, i);
        const TupleTableSlot *from = source > 0 ? own : joined;
        const int column = abs(source) - 1;
        slot->tts_values[i] = from->tts_values[column];
        slot->tts_isnull[i] = from->tts_isnull[column];
    }
    ExecStoreVirtualTuple(slot);
}

static void read_row(RowsScanState *state, uint64 place) {
    ItemPointerData tid;
    ItemPointerSet(&tid, static_cast<BlockNumber>(place >> 16), static_cast<OffsetNumber>(place & 0xffff));
    // The snapshot has seen it, so it is still there.
    TupleTableSlot *row = table::fetch_visible(&state->probe, tid);
    if (row == nullptr)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
                        errmsg("a row that was found by index \"%s\" is no longer there",
                               RelationGetRelationName(state->index))));
    ExecCopySlot(state->own_row, row);
    // No page stays pinned between two rows: an idle cursor would hold up VACUUM (FREEZE).
    ExecClearTuple(row);
    table_index_fetch_reset(state->probe.fetch);
    if (state->joins != nullptr)
        join_row(state);
}

static TupleTableSlot *execute_rows(CustomScanState *node) {
    auto *state = reinterpret_cast<RowsScanState *>(node);
    if (!state->is_requested)
        submit(state);
    CHECK_FOR_INTERRUPTS();
    ResetExprContext(node->ss.ps.ps_ExprContext);
    if (state->problem != nullptr)
        return give_childs_row(state);
    if (!move_on(&state->position, state->result.row_count, node->ss.ps.state->es_direction))
        return nullptr;
    read_row(state, state->result.rows[state->position.next - 1]);
    state->given++;
    return project(node);
}

static void begin_rows(CustomScanState *node, EState *estate, int flags) {
    auto *state = reinterpret_cast<RowsScanState *>(node);
    const auto *plan = castNode(CustomScan, node->ss.ps.plan);
    // The first one checks EXECUTE on all functions in the statement's expressions. The others are read once.
    begin_children(node, estate, flags, flags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK));
    const auto *numbers = static_cast<const List *>(lsecond(plan->custom_private));
    state->query = unpack_query(static_cast<List *>(linitial(plan->custom_private)));
    state->with_ties = list_nth_int(numbers, 0) != 0;
    state->is_ordered = list_nth_int(numbers, 1) != 0;
    state->sources = static_cast<const List *>(lthird(plan->custom_private));
    // The rows come in an order of the node's, and those of its child have no TIDs: WHERE CURRENT OF a cursor
    // is refused as it is over PostgreSQL's Sort.
    node->ss.ss_currentRelation = nullptr;
    if ((flags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
        return;
    const int keys = list_length(state->query.keys);
    const auto expression = [&](int i) {
        return ExecInitExpr(static_cast<Expr *>(list_nth(plan->custom_exprs, i)), &node->ss.ps);
    };
    if (state->is_ordered) {
        state->limit = expression(keys);
        state->offset = list_length(plan->custom_exprs) > keys + 1 ? expression(keys + 1) : nullptr;
    }
    state->index = index_open(linitial_oid(state->query.indexes), AccessShareLock);
    // The executor has locked it.
    state->heap = table_open(state->index->rd_index->indrelid, NoLock);
    state->own_row = state->query.joins == NIL
                         ? node->ss.ss_ScanTupleSlot
                         : ExecInitExtraTupleSlot(estate, RelationGetDescr(state->heap), &TTSOpsVirtual);
    state->expressions = CreateExprContext(estate);
    state->keep = AllocSetContextCreate(estate->es_query_cxt, "GpuSort rows", ALLOCSET_DEFAULT_SIZES);
    state->work = AllocSetContextCreate(estate->es_query_cxt, "GpuSort work", ALLOCSET_DEFAULT_SIZES);
}

static void end_rows(CustomScanState *node) {
    auto *state = reinterpret_cast<RowsScanState *>(node);
    forget_result(state);
    if (state->index != nullptr) {
        table_close(state->heap, NoLock);
        index_close(state->index, NoLock);
    }
    end_children(node);
}

static void rescan_rows(CustomScanState *node) {
    auto *state = reinterpret_cast<RowsScanState *>(node);
    if (node->ss.ps.chgParam != nullptr) {
        report_children_of_changed_parameters(node);
        note_changed_parameters(state->query, node->ss.ps.state, node->ss.ps.chgParam);
        state->is_requested = false;
    } else if (state->is_requested && state->problem != nullptr) {
        rewind_child(state);
    }
    state->position = {};
}

static void explain_keys(const CustomScanState *node, const AggregateQuery &query, List *ancestors,
                         ExplainState *explain) {
    const auto *plan = castNode(CustomScan, node->ss.ps.plan);
    List *keys = NIL;
    for (int i = 0; i < list_length(query.keys); i++) {
        auto *key = static_cast<Node *>(list_nth(plan->custom_exprs, i));
        const SortedBy sorted = {key, list_nth_oid(query.key_operators, i), exprCollation(key),
                                 list_nth_int(query.nulls_first, i) != 0};
        keys = lappend(keys, words_of_sort_key(sorted, node, ancestors, explain));
    }
    ExplainPropertyList("Sort Key", keys, explain);
}

static void explain_rows(CustomScanState *node, List *ancestors, ExplainState *explain) {
    const auto *state = reinterpret_cast<const RowsScanState *>(node);
    if (state->is_ordered)
        explain_keys(node, state->query, ancestors, explain);
    explain_indexes(state->query, explain);
    explain_joins(state->query, explain);
    const PlanState *reader = state->query.joins == NIL
                                  ? &node->ss.ps
                                  : lowest_of(static_cast<PlanState *>(linitial(node->custom_ps)));
    explain_expressions(state->query, node, reader->plan, ancestors, explain);
    explain_usage(&state->usage, &node->ss.ps, explain);
    if (!explain->analyze || !state->is_requested)
        return;
    if (state->problem != nullptr) {
        ExplainPropertyText("Fallback Reason", state->problem, explain);
        return;
    }
    if (state->joins != nullptr && state->joins->cached > 0)
        ExplainPropertyInteger("Cached Tables", nullptr, state->joins->cached, explain);
    ExplainPropertyUInteger("Heap Fetches", nullptr, state->heap_fetches + state->given, explain);
}

static constexpr CustomExecMethods sort_execution =
    execution_methods_of("GpuSort", begin_rows, execute_rows, end_rows, rescan_rows, explain_rows);
static constexpr CustomExecMethods join_execution =
    execution_methods_of("GpuJoin", begin_rows, execute_rows, end_rows, rescan_rows, explain_rows);

// ---- from path to plan to state ---------------------------------------------------------------------------

static const CustomScanMethods sort_methods = {
    .CustomName = "GpuSort",
    .CreateCustomScanState = create_state<RowsScanState, sort_execution>,
};
static const CustomScanMethods join_methods = {
    .CustomName = "GpuJoin",
    .CreateCustomScanState = create_state<RowsScanState, join_execution>,
};

// The node's own tuples are the table's, or a join's columns, from which the target list is computed.
static Plan *plan_rows(PlannerInfo *root, RelOptInfo *, CustomPath *path, List *target_list, List *,
                       List *child_plans) {
    note_chosen(root, path);
    const RowsPlanning planning = read_rows_planning(path->custom_private);
    CustomScan *scan =
        make_custom_scan(path, planning.is_ordered ? &sort_methods : &join_methods, target_list, child_plans);
    scan->flags = flags_of_plan(path, child_plans);
    scan->scan.scanrelid = planning.table;
    scan->custom_private =
        list_make3(planning.query, list_make2_int(planning.with_ties ? 1 : 0, planning.is_ordered ? 1 : 0),
                   planning.sources);
    scan->custom_exprs = static_cast<List *>(copyObjectImpl(planning.expressions));
    for (int i = 0; i < list_length(planning.row); i++)
        scan->custom_scan_tlist =
            lappend(scan->custom_scan_tlist,
                    makeTargetEntry(static_cast<Expr *>(copyObjectImpl(list_nth(planning.row, i))),
                                    static_cast<AttrNumber>(i + 1), nullptr, false));
    return &scan->scan.plan;
}

static constexpr CustomPathMethods sort_planning = path_methods_of("GpuSort", plan_rows);
static constexpr CustomPathMethods join_planning = path_methods_of("GpuJoin", plan_rows);

const CustomPathMethods *sort_path_methods() {
    return &sort_planning;
}
const CustomPathMethods *join_path_methods() {
    return &join_planning;
}

void register_rows_scans() {
    RegisterCustomScanMethods(&sort_methods);
    RegisterCustomScanMethods(&join_methods);
    install_sort_planner();
    install_join_planner();
}

}  // namespace pg_gpu::plan
