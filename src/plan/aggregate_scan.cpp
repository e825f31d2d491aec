// Executing a GpuAggregate. Its child is the aggregate that PostgreSQL would have run: it opens the table and
// checks privileges, and is executed only where the index can't answer after all.
#include "plan/aggregate_scan.h"

#include "compat.h"
#include "memory.h"
#include "plan/aggregate_answer.h"
#include "plan/aggregate_key_rows.h"
#include "plan/aggregate_path.h"
#include "plan/aggregate_sets.h"
#include "plan/custom_node.h"
#include "plan/explain_why.h"
#include "plan/usage.h"

namespace pg_gpu::plan {

struct AggregateScanState {
    CustomScanState custom;
    AggregateQuery query;
    Relation index;
    ExprContext *expressions;
    MemoryContext keep;  // of the answer
    MemoryContext work;
    AggregateAnswer answer;
    KeyRows key_rows;
    TupleTableSlot *spilled_row;
    bool is_asked;
    uint64 next;          // group
    const char *problem;  // why the child answers; nullptr: it doesn't
    uint64 heap_fetches;
    client::Usage usage;
};

// ---- the question -----------------------------------------------------------------------------------------

namespace {

struct Binding {
    ExprContext *context;
};

}  // namespace

// Parameters have their values for the whole question.
static Node *bind_parameters(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (!IsA(node, Param))
        return mutate_expression(node, bind_parameters, context);
    const auto *parameter = reinterpret_cast<const Param *>(node);
    auto *binding = static_cast<Binding *>(context);
    int16 length;
    bool by_value;
    get_typlenbyval(parameter->paramtype, &length, &by_value);
    bool is_null;
    Datum value =
        ExecEvalExpr(ExecInitExpr(reinterpret_cast<Expr *>(node), nullptr), binding->context, &is_null);
    if (!is_null)
        value = datumCopy(value, by_value, length);
    return reinterpret_cast<Node *>(makeConst(parameter->paramtype, parameter->paramtypmod,
                                              parameter->paramcollid, length, value, is_null, by_value));
}

static List *bind_list(List *expressions, ExprContext *context) {
    Binding binding = {context};
    return reinterpret_cast<List *>(bind_parameters(reinterpret_cast<Node *>(expressions), &binding));
}

// The table is the child's.
static Relation table_of(PlanState *child) {
    while (outerPlanState(child) != nullptr)
        child = outerPlanState(child);
    return castNode(SeqScanState, child)->ss.ss_currentRelation;
}

// Gives back what isn't memory alone.
static void forget_answer(AggregateScanState *state) {
    end_key_rows(&state->key_rows);
    if (state->answer.spilled != nullptr)
        tuplestore_end(state->answer.spilled);
    state->answer = {};
}

static void ask(AggregateScanState *state) {
    EState *estate = state->custom.ss.ps.state;
    forget_answer(state);
    MemoryContextReset(state->work);
    ResetExprContext(state->expressions);
    MemoryContext caller = MemoryContextSwitchTo(state->work);
    AggregateQuestion question = {};
    question.heap = table_of(static_cast<PlanState *>(linitial(state->custom.custom_ps)));
    question.index = state->index;
    question.snapshot = estate->es_snapshot;
    question.context = state->expressions;
    question.keep = state->keep;
    question.row = state->custom.ss.ss_ScanTupleSlot->tts_tupleDescriptor;
    question.groups = state->custom.ss.ps.plan->plan_rows;
    if (state->query.keys != NIL)
        state->answer.spilled = tuplestore_begin_heap(true, false, work_mem);
    question.query = state->query;
    question.query.conditions = bind_list(state->query.conditions, state->expressions);
    question.query.keys = bind_list(state->query.keys, state->expressions);
    question.query.aggregates = bind_list(state->query.aggregates, state->expressions);
    // What a scan of the table would lock under SERIALIZABLE, and the index's readers.
    PredicateLockRelation(question.index, question.snapshot);
    PredicateLockRelation(question.heap, question.snapshot);
    const client::Usage before = client::session_usage();
    state->problem = answer_question(question, &state->answer, &state->heap_fetches);
    client::add_usage_since(before, &state->usage);
    if (state->problem == nullptr && state->answer.has_place && state->answer.passes == 1)
        begin_key_rows(&state->key_rows, question, state->answer);
    MemoryContextSwitchTo(caller);
    state->is_asked = true;
    state->next = 0;
}

// ---- execution --------------------------------------------------------------------------------------------

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

static bool take_group(AggregateScanState *state, TupleTableSlot *slot) {
    if (state->next == state->answer.groups.groups)
        return false;
    MemoryContext caller = MemoryContextSwitchTo(state->custom.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
    read_group(state->answer, state->next, slot->tts_values, slot->tts_isnull);
    if (state->answer.has_place)
        read_key_row(&state->key_rows, state->answer, state->next, slot->tts_values, slot->tts_isnull);
    state->next++;
    MemoryContextSwitchTo(caller);
    return true;
}

// The next group into the node's own tuple; false when there is none.
static bool next_group(AggregateScanState *state, TupleTableSlot *slot) {
    ExecClearTuple(slot);
    bool found;
    if (state->problem != nullptr) {
        found = take_row(ExecProcNode(static_cast<PlanState *>(linitial(state->custom.custom_ps))), slot);
    } else if (state->answer.passes > 1) {
        found = tuplestore_gettupleslot(state->answer.spilled, true, false, state->spilled_row) &&
                take_row(state->spilled_row, slot);
    } else {
        found = take_group(state, slot);
    }
    if (found)
        ExecStoreVirtualTuple(slot);
    return found;
}

static TupleTableSlot *execute_aggregate(CustomScanState *node) {
    auto *state = reinterpret_cast<AggregateScanState *>(node);
    if (!state->is_asked)
        ask(state);
    ExprContext *context = node->ss.ps.ps_ExprContext;
    TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        ResetExprContext(context);
        if (!next_group(state, slot))
            return nullptr;
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
    // It checks EXECUTE on the aggregates and on all functions in their expressions.
    node->custom_ps =
        list_make1(ExecInitNode(static_cast<Plan *>(linitial(plan->custom_plans)), estate, flags));
    state->query = unpack_query(plan->custom_private);
    if ((flags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
        return;
    state->index = index_open(state->query.index, AccessShareLock);
    state->expressions = CreateExprContext(estate);
    state->spilled_row =
        ExecInitExtraTupleSlot(estate, node->ss.ss_ScanTupleSlot->tts_tupleDescriptor, &TTSOpsMinimalTuple);
    state->keep = AllocSetContextCreate(estate->es_query_cxt, "GpuAggregate groups", ALLOCSET_DEFAULT_SIZES);
    state->work = AllocSetContextCreate(estate->es_query_cxt, "GpuAggregate work", ALLOCSET_DEFAULT_SIZES);
}

static void end_aggregate(CustomScanState *node) {
    auto *state = reinterpret_cast<AggregateScanState *>(node);
    forget_answer(state);
    if (state->index != nullptr)
        index_close(state->index, NoLock);
    ExecEndNode(static_cast<PlanState *>(linitial(node->custom_ps)));
}

static void rescan_aggregate(CustomScanState *node) {
    auto *state = reinterpret_cast<AggregateScanState *>(node);
    auto *child = static_cast<PlanState *>(linitial(node->custom_ps));
    const bool has_child_run = state->is_asked && state->problem != nullptr;
    if (node->ss.ps.chgParam != nullptr) {
        UpdateChangedParamSet(child, node->ss.ps.chgParam);
        state->is_asked = false;
    }
    // A parameter of HAVING alone isn't one of the child's.
    if (has_child_run && child->chgParam == nullptr)
        ExecReScan(child);
    if (state->is_asked && state->answer.spilled != nullptr)
        tuplestore_rescan(state->answer.spilled);
    state->next = 0;
}

static void explain_aggregate(CustomScanState *node, List *, ExplainState *explain) {
    const auto *state = reinterpret_cast<const AggregateScanState *>(node);
    ExplainPropertyText("Index", get_rel_name(state->query.index), explain);
    explain_usage(&state->usage, &node->ss.ps, explain);
    if (!explain->analyze || !state->is_asked)
        return;
    if (state->problem != nullptr) {
        ExplainPropertyText("Not Answered", state->problem, explain);
        return;
    }
    const bool is_spilled = state->answer.passes > 1;
    ExplainPropertyUInteger("Groups", nullptr, state->answer.found_groups, explain);
    if (is_spilled)
        ExplainPropertyUInteger("Passes", nullptr, state->answer.passes, explain);
    ExplainPropertyUInteger("Heap Fetches", nullptr, state->heap_fetches, explain);
}

static constexpr CustomExecMethods execution_methods = execution_methods_of(
    "GpuAggregate", begin_aggregate, execute_aggregate, end_aggregate, rescan_aggregate, explain_aggregate);

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
    scan->flags = path->flags;
    scan->scan.plan.targetlist = of_set(target_list, planning.row, planning.set);
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
    install_aggregate_planner();
}

}  // namespace pg_gpu::plan
