// Executing a GpuAggregate. Its child is the aggregate that PostgreSQL would have run: it opens the table and
// checks privileges, and is executed only where the index can't answer after all. Until then it is begun as
// for EXPLAIN, which leaves out the memory that it would group in.
#include "plan/query/aggregate_scan.h"

#include "column/scan/whole_table.h"
#include "compat.h"
#include "memory.h"
#include "plan/query/aggregate_output.h"
#include "plan/query/aggregate_explain.h"
#include "plan/query/aggregate_key_rows.h"
#include "plan/query/aggregate_maps.h"
#include "plan/query/aggregate_order.h"
#include "plan/query/aggregate_parallel.h"
#include "plan/query/aggregate_path.h"
#include "plan/query/aggregate_sets.h"
#include "plan/query/choice.h"
#include "plan/bitmap_rows.h"
#include "plan/custom_node.h"
#include "plan/advise/explain_why.h"
#include "plan/query/node.h"
#include "plan/query/parameters.h"
#include "plan/query/subqueries.h"
#include "plan/usage.h"

namespace pg_gpu::plan {

struct AggregateScanState {
    CustomScanState custom;
    AggregateQuery query;
    AggregateMember *member;  // the tables of which there may be rows
    int member_count;
    ExprContext *expressions;
    MemoryContext keep;  // of the answer
    MemoryContext work;
    AggregateOutput output;
    OrderedGroups ordered;
    KeyRows key_rows;
    TupleTableSlot *stored_row;
    bool is_requested;
    bool is_over;          // one of several grouping sets, whose groups have all been given
    bool are_joined_read;  // the joined tables' plans
    int cached_tables;     // joined ones, whose rows are an earlier statement's
    bool is_bitmap_read;   // since its scan was begun, or begun again
    uint64 candidates;     // its rows
    bool is_child_begun;   // so that it can be executed
    int flags;             // of execution
    uint64 found_groups;
    uint32 passes;
    Position position;    // among the groups
    const char *problem;  // why the child answers; nullptr: it doesn't
    uint64 heap_fetches;
    client::Usage usage;
    SharedAggregate *shared;    // with parallel workers; nullptr: this process reads all rows
    column::BlockRange blocks;  // that were asked for last
    RangeTotals totals;         // of all processes
};

// ---- the request -----------------------------------------------------------------------------------------

// The executor has locked the table.
static AggregateMember open_member(Oid index) {
    AggregateMember member = {};
    member.index = index_open(index, AccessShareLock);
    member.heap = table_open(member.index->rd_index->indrelid, NoLock);
    return member;
}

static Oid index_of_table(const List *indexes, Oid table) {
    ListCell *cell;
    foreach (cell, indexes)
        if (IndexGetRelation(lfirst_oid(cell), false) == table)
            return lfirst_oid(cell);
    elog(ERROR, "table %u has no index in the plan of a GpuAggregate", table);
}

// Of several tables those are out that the child's Append has excluded by the values of parameters.
static void open_members(AggregateScanState *state, PlanState *child) {
    const List *indexes = state->query.indexes;
    state->member = allocate_zeroed<AggregateMember>(static_cast<size_t>(list_length(indexes)));
    if (list_length(indexes) == 1) {
        state->member[state->member_count++] = open_member(linitial_oid(indexes));
        return;
    }
    const auto *append = castNode(AppendState, lowest_of(child));
    for (int i = 0; i < append->as_nplans; i++) {
        Relation table = castNode(SeqScanState, lowest_of(append->appendplans[i]))->ss.ss_currentRelation;
        state->member[state->member_count++] = open_member(index_of_table(indexes, RelationGetRelid(table)));
    }
}

// Sets the request's tables, in the current memory context, or what keeps them from being joined.
static void read_joined(AggregateScanState *state, AggregateRequest *request) {
    if (state->query.joins == NIL || state->problem != nullptr)
        return;
    const List *plans = joined_plans(&state->custom, state->are_joined_read);
    state->are_joined_read = true;
    request->joins = read_joined_tables(state->query.joins, plans, RelationGetDescr(state->member[0].index),
                                        state->expressions, request->memory, &state->problem);
    state->cached_tables = request->joins->cached;
    if (state->problem == nullptr)
        request->memory -= request->joins->bytes;
}

// Sets the rows that the request is about, in the current memory context, or why they aren't known.
static void read_candidates(AggregateScanState *state, AggregateRequest *request) {
    if (!state->query.has_bitmap || state->problem != nullptr)
        return;
    auto *scan = static_cast<PlanState *>(lsecond(state->custom.custom_ps));
    if (state->is_bitmap_read)
        ExecReScan(scan);
    state->is_bitmap_read = true;
    const table::RowSet *rows = read_bitmap(scan);
    state->candidates = rows->rows;
    if (!rows->is_exact)
        state->problem = "other indexes don't tell exactly which rows are wanted";
    else
        request->among = rows;
}

// Gives back what isn't memory alone.
static void forget_result(AggregateScanState *state) {
    end_key_rows(&state->key_rows);
    if (state->output.spilled != nullptr)
        tuplestore_end(state->output.spilled);
    if (state->ordered.rows != nullptr)
        tuplesort_end(state->ordered.rows);
    state->output = {};
    state->ordered = {};
}

// Puts in the values that parameters have now.
static void bind(const AggregateScanState *state, AggregateQuery *query) {
    if (state->problem != nullptr)
        return;
    for (List **expressions : {&query->conditions, &query->keys, &query->aggregates})
        *expressions = bind_parameters(*expressions, state->expressions);
}

// What a scan of the table would lock under SERIALIZABLE, and the index's readers.
static void lock_members(const AggregateScanState &state) {
    const Snapshot snapshot = state.custom.ss.ps.state->es_snapshot;
    for (int i = 0; i < state.member_count; i++) {
        PredicateLockRelation(state.member[i].index, snapshot);
        PredicateLockRelation(state.member[i].heap, snapshot);
    }
}

// ---- groups as rows ---------------------------------------------------------------------------------------

// The row's values in the node's own tuple; false when there is none.
static bool take_row(TupleTableSlot *row, TupleTableSlot *slot) {
    if (TupIsNull(row))
        return false;
    const auto columns = static_cast<size_t>(slot->tts_tupleDescriptor->natts);
    slot_getallattrs(row);
    memcpy(slot->tts_values, row->tts_values, columns * sizeof(Datum));
    memcpy(slot->tts_isnull, row->tts_isnull, columns * sizeof(bool));
    return true;
}

static void take_group(AggregateScanState *state, uint64 group, TupleTableSlot *slot) {
    MemoryContext caller = MemoryContextSwitchTo(state->custom.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
    read_group(state->output, group, slot->tts_values, slot->tts_isnull);
    if (state->output.has_place)
        read_key_row(&state->key_rows, state->output, group, slot->tts_values, slot->tts_isnull);
    MemoryContextSwitchTo(caller);
}

static bool take_spilled(AggregateScanState *state, TupleTableSlot *slot) {
    return tuplestore_gettupleslot(state->output.spilled, true, false, state->stored_row) &&
           take_row(state->stored_row, slot);
}

static void put_row(Tuplesortstate *rows, TupleTableSlot *slot) {
    CHECK_FOR_INTERRUPTS();
    ExecStoreVirtualTuple(slot);
    tuplesort_puttupleslot(rows, slot);
    ExecClearTuple(slot);
}

// Sorts the groups' rows as PostgreSQL would.
static void sort_rows(AggregateScanState *state) {
    TupleTableSlot *slot = state->custom.ss.ss_ScanTupleSlot;
    state->ordered.rows = begin_row_sort(state->query, slot->tts_tupleDescriptor);
    if (state->output.passes > 1) {
        while (take_spilled(state, slot))
            put_row(state->ordered.rows, slot);
        tuplestore_clear(state->output.spilled);
    } else {
        for (uint64 group = 0; group < state->output.groups.groups; group++) {
            ResetExprContext(state->custom.ss.ps.ps_ExprContext);
            take_group(state, group, slot);
            put_row(state->ordered.rows, slot);
        }
    }
    tuplesort_performsort(state->ordered.rows);
}

static void order_groups(AggregateScanState *state) {
    const bool is_ordered =
        state->output.passes == 1 &&
        order_by_codes(state->query, state->output, get_hash_memory_limit(), &state->ordered);
    if (!is_ordered)
        sort_rows(state);
}

static uint64 group_in_order(AggregateScanState *state, uint64 place) {
    return state->ordered.place == nullptr ? place
                                           : group_at(&state->ordered, place, state->output.groups.groups);
}

// ---- the request, asked ----------------------------------------------------------------------------------

static void submit(AggregateScanState *state) {
    check_stack_depth();
    EState *estate = state->custom.ss.ps.state;
    forget_result(state);
    MemoryContextReset(state->work);
    ResetExprContext(state->expressions);
    MemoryContext caller = MemoryContextSwitchTo(state->work);
    AggregateRequest request = {};
    request.member = state->member;
    request.member_count = state->member_count;
    request.snapshot = estate->es_snapshot;
    request.context = state->expressions;
    request.keep = state->keep;
    request.row = state->custom.ss.ss_ScanTupleSlot->tts_tupleDescriptor;
    request.groups = state->custom.ss.ps.plan->plan_rows;
    if (state->query.keys != NIL)
        state->output.spilled = tuplestore_begin_heap(true, false, work_mem);
    request.memory = get_hash_memory_limit();
    request.query = state->query;
    request.blocks = state->blocks;
    lock_members(*state);
    state->problem = state->member_count == 0 ? "no partition can have such rows"
                                              : read_subqueries(&request.query, estate, &request.memory);
    read_joined(state, &request);
    read_candidates(state, &request);
    bind(state, &request.query);
    const client::Usage before = client::session_usage();
    if (state->problem == nullptr)
        state->problem = find_groups_of_request(request, &state->output, &state->heap_fetches);
    client::add_usage_since(before, &state->usage);
    if (state->problem == nullptr && state->output.has_place && state->output.passes == 1)
        begin_key_rows(&state->key_rows, request, state->output);
    if (state->problem == nullptr && state->query.order != NIL)
        order_groups(state);
    MemoryContextSwitchTo(caller);
    state->found_groups = state->output.found_groups;
    state->passes = state->output.passes;
    state->is_requested = true;
    state->is_over = false;
    state->position = {};
}

// ---- sharing with workers ---------------------------------------------------------------------------------

static void report_totals(const AggregateScanState &state) {
    RangeTotals totals = {1, 0, state.found_groups, state.heap_fetches, state.passes, {}};
    if (state.problem != nullptr) {
        totals.refused = 1;
        strlcpy(totals.problem, state.problem, sizeof(totals.problem));
    }
    add_totals(state.shared, totals);
}

// Asks about all rows, or with workers about those of the next range. False: nothing is left to be asked.
static bool find_next_set(AggregateScanState *state) {
    if (state->shared == nullptr ? state->is_requested : !take_range(state->shared, &state->blocks))
        return false;
    submit(state);
    if (state->shared != nullptr) {
        report_totals(*state);
        // One that was begun is that of another range.
        state->is_child_begun = false;
    }
    return true;
}

static Size estimate_sharing(CustomScanState *, ParallelContext *) {
    return sizeof(SharedAggregate);
}

static void share_out(CustomScanState *node, ParallelContext *context, void *place) {
    auto *state = reinterpret_cast<AggregateScanState *>(node);
    state->shared = static_cast<SharedAggregate *>(place);
    begin_sharing(state->shared, state->member[0].heap, context->nworkers);
}

static void share_out_again(CustomScanState *node, ParallelContext *, void *place) {
    auto *state = reinterpret_cast<AggregateScanState *>(node);
    state->shared = static_cast<SharedAggregate *>(place);
    begin_sharing_again(state->shared);
}

static void take_part(CustomScanState *node, shm_toc *, void *place) {
    reinterpret_cast<AggregateScanState *>(node)->shared = static_cast<SharedAggregate *>(place);
}

// The shared memory goes.
static void leave_sharing(CustomScanState *node) {
    auto *state = reinterpret_cast<AggregateScanState *>(node);
    if (state->shared == nullptr)
        return;
    state->totals = read_totals(state->shared);
    state->shared = nullptr;
}

// ---- execution --------------------------------------------------------------------------------------------

static PlanState *executable_child(AggregateScanState *state) {
    ListCell *first = list_head(state->custom.custom_ps);
    if (!state->is_child_begun) {
        EState *estate = state->custom.ss.ps.state;
        MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);
        auto *plan =
            static_cast<Plan *>(linitial(castNode(CustomScan, state->custom.ss.ps.plan)->custom_plans));
        if (!column::is_all(state->blocks))
            plan = plan_over_blocks(plan, state->blocks);
        ExecEndNode(static_cast<PlanState *>(lfirst(first)));
        lfirst(first) = ExecInitNode(plan, estate, state->flags);
        state->is_child_begun = true;
        MemoryContextSwitchTo(caller);
    }
    return static_cast<PlanState *>(lfirst(first));
}

// The next group into the node's own tuple; false when there is none.
static bool next_group(AggregateScanState *state, TupleTableSlot *slot) {
    const ScanDirection direction = state->custom.ss.ps.state->es_direction;
    const uint64 groups = state->output.groups.groups;
    ExecClearTuple(slot);
    bool found = true;
    if (state->problem != nullptr)
        found = take_row(ExecProcNode(executable_child(state)), slot);
    else if (state->ordered.rows != nullptr)
        found = tuplesort_gettupleslot(state->ordered.rows, ScanDirectionIsForward(direction), false,
                                       state->stored_row, nullptr) &&
                take_row(state->stored_row, slot);
    else if (state->output.passes > 1)
        found = take_spilled(state, slot);
    else if (!move_on(&state->position, groups, direction))
        found = false;
    else
        take_group(state, group_in_order(state, state->position.next - 1), slot);
    if (found)
        ExecStoreVirtualTuple(slot);
    return found;
}

// The groups go, so that not those of all sets are there at the end. A rescan asks again.
static void finish_set(AggregateScanState *state) {
    if (!state->query.is_of_sets || state->problem != nullptr)
        return;
    forget_result(state);
    MemoryContextReset(state->keep);
    MemoryContextReset(state->work);
    state->is_over = true;
}

static TupleTableSlot *execute_aggregate(CustomScanState *node) {
    auto *state = reinterpret_cast<AggregateScanState *>(node);
    if ((!state->is_requested && !find_next_set(state)) || state->is_over)
        return nullptr;
    ExprContext *context = node->ss.ps.ps_ExprContext;
    TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        ResetExprContext(context);
        if (!next_group(state, slot)) {
            if (find_next_set(state))
                continue;
            finish_set(state);
            return nullptr;
        }
        context->ecxt_scantuple = slot;
        if (!ExecQual(node->ss.ps.qual, context)) {
            InstrCountFiltered1(node, 1);
            continue;
        }
        return node->ss.ps.ps_ProjInfo == nullptr ? slot : ExecProject(node->ss.ps.ps_ProjInfo);
    }
}

static void begin_aggregate(CustomScanState *node, EState *estate, int flags) {
    auto *state = reinterpret_cast<AggregateScanState *>(node);
    const auto *plan = castNode(CustomScan, node->ss.ps.plan);
    // The first one checks EXECUTE on the aggregates and on all functions in their expressions.
    ListCell *cell;
    foreach (cell, plan->custom_plans) {
        const int child_flags =
            cell == list_head(plan->custom_plans) ? flags | EXEC_FLAG_EXPLAIN_ONLY : flags;
        node->custom_ps =
            lappend(node->custom_ps, ExecInitNode(static_cast<Plan *>(lfirst(cell)), estate, child_flags));
    }
    state->flags = flags;
    state->query = unpack_query(plan->custom_private);
    state->blocks = column::kAllBlocks;
    if ((flags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
        return;
    open_members(state, static_cast<PlanState *>(linitial(node->custom_ps)));
    state->expressions = CreateExprContext(estate);
    state->stored_row =
        ExecInitExtraTupleSlot(estate, node->ss.ss_ScanTupleSlot->tts_tupleDescriptor, &TTSOpsMinimalTuple);
    state->keep = AllocSetContextCreate(estate->es_query_cxt, "GpuAggregate groups", ALLOCSET_DEFAULT_SIZES);
    state->work = AllocSetContextCreate(estate->es_query_cxt, "GpuAggregate work", ALLOCSET_DEFAULT_SIZES);
}

static void end_aggregate(CustomScanState *node) {
    auto *state = reinterpret_cast<AggregateScanState *>(node);
    forget_result(state);
    for (int i = 0; i < state->member_count; i++) {
        table_close(state->member[i].heap, NoLock);
        index_close(state->member[i].index, NoLock);
    }
    ListCell *cell;
    foreach (cell, node->custom_ps)
        ExecEndNode(static_cast<PlanState *>(lfirst(cell)));
}

static void rescan_aggregate(CustomScanState *node) {
    auto *state = reinterpret_cast<AggregateScanState *>(node);
    auto *child = static_cast<PlanState *>(linitial(node->custom_ps));
    const bool has_child_run = state->is_requested && state->problem != nullptr;
    if (node->ss.ps.chgParam != nullptr) {
        ListCell *cell;
        foreach (cell, node->custom_ps)
            UpdateChangedParamSet(static_cast<PlanState *>(lfirst(cell)), node->ss.ps.chgParam);
        note_changed_parameters(state->query, node->ss.ps.state, node->ss.ps.chgParam);
        state->is_requested = false;
    }
    // What was answered last may be a part of the rows.
    if (node->ss.ps.plan->parallel_aware) {
        state->blocks = column::kAllBlocks;
        state->is_requested = state->is_child_begun = false;
        return;
    }
    // A parameter of HAVING alone isn't one of the child's.
    if (has_child_run && child->chgParam == nullptr)
        ExecReScan(child);
    if (state->is_over)
        state->is_requested = false;
    if (state->is_requested && state->output.spilled != nullptr)
        tuplestore_rescan(state->output.spilled);
    if (state->is_requested && state->ordered.rows != nullptr)
        tuplesort_rescan(state->ordered.rows);
    state->position = {};
}

// Of all processes, those that answered for no range included.
static void explain_totals(const RangeTotals &totals, ExplainState *explain) {
    ExplainPropertyUInteger("Block Ranges", nullptr, totals.ranges, explain);
    if (totals.refused > 0) {
        ExplainPropertyUInteger("Block Range Fallbacks", nullptr, totals.refused, explain);
        ExplainPropertyText("Fallback Reason", totals.problem, explain);
    }
    ExplainPropertyUInteger("Groups", nullptr, totals.groups, explain);
    if (totals.passes > 1)
        ExplainPropertyUInteger("Passes", nullptr, totals.passes, explain);
    ExplainPropertyUInteger("Heap Fetches", nullptr, totals.heap_fetches, explain);
}

static void explain_order(const CustomScanState *node, const List *order, List *ancestors,
                          ExplainState *explain) {
    const List *row = castNode(CustomScan, node->ss.ps.plan)->custom_scan_tlist;
    List *keys = NIL;
    for (int i = 0; i < count_order_keys(order); i++) {
        const OrderKey key = order_key(order, i);
        auto *expression = reinterpret_cast<Node *>(list_nth_node(TargetEntry, row, key.key)->expr);
        keys = lappend(keys, words_of_sort_key({expression, key.operator_oid, key.collation, key.nulls_first},
                                               node, ancestors, explain));
    }
    if (keys != NIL)
        ExplainPropertyList("Sort Key", keys, explain);
}

static void explain_aggregate(CustomScanState *node, List *ancestors, ExplainState *explain) {
    const auto *state = reinterpret_cast<const AggregateScanState *>(node);
    explain_order(node, state->query.order, ancestors, explain);
    explain_indexes(state->query, explain);
    explain_joins(state->query, explain);
    explain_expressions(state->query, node,
                        lowest_of(static_cast<PlanState *>(linitial(node->custom_ps)))->plan, ancestors,
                        explain);
    explain_usage(&state->usage, &node->ss.ps, explain);
    if (explain->analyze && state->is_bitmap_read)
        ExplainPropertyUInteger("Candidates", nullptr, state->candidates, explain);
    if (explain->analyze && state->totals.ranges > 0)
        explain_totals(state->totals, explain);
    if (!explain->analyze || !state->is_requested || state->totals.ranges > 0)
        return;
    if (state->problem != nullptr) {
        ExplainPropertyText("Fallback Reason", state->problem, explain);
        return;
    }
    ExplainPropertyUInteger("Groups", nullptr, state->found_groups, explain);
    if (state->cached_tables > 0)
        ExplainPropertyInteger("Cached Tables", nullptr, state->cached_tables, explain);
    if (state->passes > 1)
        ExplainPropertyUInteger("Passes", nullptr, state->passes, explain);
    ExplainPropertyUInteger("Heap Fetches", nullptr, state->heap_fetches, explain);
}

static constexpr CustomExecMethods execution_methods =
    shared_methods_of(execution_methods_of("GpuAggregate", begin_aggregate, execute_aggregate, end_aggregate,
                                           rescan_aggregate, explain_aggregate),
                      estimate_sharing, share_out, share_out_again, take_part, leave_sharing);

// nullptr: the rows of another node, or rows that are more than groups.
static AggregateScanState *state_of_groups(PlanState *plan) {
    auto *state = reinterpret_cast<AggregateScanState *>(plan);
    if (!IsA(plan, CustomScanState) || state->custom.methods != &execution_methods || plan->qual != nullptr ||
        plan->ps_ProjInfo != nullptr || state->query.aggregates != NIL || state->query.is_of_sets)
        return nullptr;
    if (plan->chgParam != nullptr)
        ExecReScan(plan);
    return state;
}

const AggregateOutput *whole_result(PlanState *plan) {
    AggregateScanState *state = state_of_groups(plan);
    if (state == nullptr)
        return nullptr;
    if (plan->instrument != nullptr)
        InstrStartNode(plan->instrument);
    if (!state->is_requested)
        submit(state);
    const AggregateOutput &output = state->output;
    const bool is_whole = state->problem == nullptr && output.passes == 1 && !output.has_place;
    if (plan->instrument != nullptr)
        InstrStopNode(plan->instrument, 0);
    return is_whole ? &output : nullptr;
}

// ---- answers that are kept --------------------------------------------------------------------------------

static bool has_subquery(Node *node, void *context) {
    return node != nullptr && (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
                               walk_expression(node, has_subquery, context));
}

CacheableResult describe_result(PlanState *plan) {
    AggregateScanState *state = state_of_groups(plan);
    if (state == nullptr || state->problem != nullptr || state->member_count != 1 ||
        state->query.joins != NIL || state->query.has_bitmap)
        return {};
    AggregateQuery query = state->query;
    auto *requested = reinterpret_cast<Node *>(list_make2(query.conditions, query.keys));
    if (has_subquery(requested, nullptr))
        return {};
    bind(state, &query);
    if (!gives_cacheable_results(reinterpret_cast<Node *>(list_make2(query.conditions, query.keys))))
        return {};
    lock_members(*state);
    const AggregateMember &member = state->member[0];
    Const *table =
        column::describe_whole_table(member.heap, member.index, state->custom.ss.ps.state->es_snapshot);
    if (table == nullptr)
        return {};
    return {member.index, reinterpret_cast<Node *>(list_make2(pack_query(query), table))};
}

// ---- from path to plan to state ---------------------------------------------------------------------------

static const CustomScanMethods scan_methods = {
    .CustomName = "GpuAggregate",
    .CreateCustomScanState = create_state<AggregateScanState, execution_methods>,
};

// The node's own tuple holds keys and aggregates; its target list and HAVING are computed from them.
static Plan *plan_aggregate(PlannerInfo *root, RelOptInfo *, CustomPath *path, List *target_list, List *,
                            List *child_plans) {
    note_chosen(root, path);
    const AggregatePlanning planning = read_planning(path);
    auto *scan = makeNode(CustomScan);
    scan->flags = flags_of_plan(path, child_plans);
    scan->scan.plan.targetlist = of_set(below_grouping(root, target_list), planning.row, planning.set);
    scan->scan.plan.qual = of_set(planning.having, planning.row, planning.set);
    scan->scan.scanrelid = 0;
    scan->custom_plans = child_plans;
    scan->custom_private = planning.query;
    scan->methods = &scan_methods;
    for (int i = 0; i < list_length(planning.row); i++)
        scan->custom_scan_tlist =
            lappend(scan->custom_scan_tlist,
                    makeTargetEntry(static_cast<Expr *>(copyObjectImpl(list_nth(planning.row, i))),
                                    static_cast<AttrNumber>(i + 1), nullptr, false));
    return &scan->scan.plan;
}

static constexpr CustomPathMethods path_methods = path_methods_of("GpuAggregate", plan_aggregate);

const CustomPathMethods *aggregate_path_methods() {
    return &path_methods;
}

void register_aggregate_scan() {
    RegisterCustomScanMethods(&scan_methods);
    query::register_query_node();
    install_aggregate_planner();
}

}  // namespace pg_gpu::plan
