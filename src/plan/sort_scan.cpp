// Executing a GpuSort. Its child is the sort that PostgreSQL would have run: it checks privileges, and is
// executed only where the index can't answer after all.
#include "plan/sort_scan.h"

#include "compat.h"
#include "memory.h"
#include "plan/aggregate_answer.h"
#include "plan/aggregate_explain.h"
#include "plan/custom_node.h"
#include "plan/explain_why.h"
#include "plan/parameters.h"
#include "plan/subqueries.h"
#include "plan/sort_path.h"
#include "plan/usage.h"
#include "table/visibility.h"

namespace pg_gpu::plan {

struct SortScanState {
    CustomScanState custom;
    AggregateQuery query;
    bool with_ties;
    ExprState *limit;
    ExprState *offset;  // nullptr: there is none
    Relation index;
    ExprContext *expressions;
    MemoryContext keep;  // of the answer
    MemoryContext work;
    AggregateAnswer answer;
    table::HeapProbe probe;
    bool is_probe_open;
    bool is_asked;
    uint64 next;          // row: those before it have been given
    bool is_at_end;       // and then that there are no more
    bool has_child_run;   // since its last rescan
    const char *problem;  // why the child answers; nullptr: it doesn't
    uint64 heap_fetches;
    uint64 given;  // rows, since the last question
    client::Usage usage;
};

// ---- the question -----------------------------------------------------------------------------------------

// NULL and negative numbers are -1.
static int64 evaluate_count(ExprState *expression, ExprContext *context) {
    bool is_null;
    const Datum value = ExecEvalExprSwitchContext(expression, context, &is_null);
    return is_null ? -1 : Max(DatumGetInt64(value), int64{-1});
}

// How many rows Limit takes at most; -1 when it takes all, or more than the node gives. It raises errors by
// itself, before it asks for a row.
static int64 count_wanted(const SortScanState *state) {
    const int64 limit = evaluate_count(state->limit, state->expressions);
    const int64 offset =
        state->offset == nullptr ? 0 : Max(evaluate_count(state->offset, state->expressions), int64{0});
    return limit < 0 || limit > kMaxSortedRows || offset > kMaxSortedRows - limit ? -1 : limit + offset;
}

// Gives back what isn't memory alone.
static void forget_answer(SortScanState *state) {
    if (state->is_probe_open)
        table::close_heap_probe(&state->probe);
    state->is_probe_open = false;
    state->answer = {};
}

static const char *find_answer(SortScanState *state, int64 wanted) {
    AggregateQuestion question = {};
    AggregateMember table = {};
    table.heap = state->custom.ss.ss_currentRelation;
    table.index = state->index;
    question.member = &table;
    question.member_count = 1;
    question.snapshot = state->custom.ss.ps.state->es_snapshot;
    question.context = state->expressions;
    question.keep = state->keep;
    question.groups = static_cast<double>(wanted);
    question.rows = static_cast<uint64>(wanted);
    question.with_ties = state->with_ties;
    question.memory = get_hash_memory_limit();
    question.query = state->query;
    const char *problem = read_subqueries(&question.query, state->custom.ss.ps.state, &question.memory);
    if (problem != nullptr)
        return problem;
    question.query.conditions = bind_parameters(question.query.conditions, state->expressions);
    question.query.keys = bind_parameters(question.query.keys, state->expressions);
    // What a scan of the table would lock under SERIALIZABLE, and the index's readers.
    PredicateLockRelation(table.index, question.snapshot);
    PredicateLockRelation(table.heap, question.snapshot);
    const client::Usage before = client::session_usage();
    problem = answer_question(question, &state->answer, &state->heap_fetches);
    client::add_usage_since(before, &state->usage);
    if (problem == nullptr) {
        table::open_heap_probe(&state->probe, table.heap, question.snapshot);
        state->is_probe_open = true;
    }
    return problem;
}

// The child gives its rows from the first one on.
static void rewind_child(SortScanState *state) {
    auto *child = static_cast<PlanState *>(linitial(state->custom.custom_ps));
    // With a changed parameter the child begins anew by itself.
    if (state->has_child_run && child->chgParam == nullptr)
        ExecReScan(child);
    state->has_child_run = false;
}

// A sort that has finished looks at its bound when it is rescanned, so the bound comes first.
static void begin_child(SortScanState *state, int64 wanted) {
    ExecSetTupleBound(state->with_ties ? -1 : wanted,
                      static_cast<PlanState *>(linitial(state->custom.custom_ps)));
    rewind_child(state);
}

static void ask(SortScanState *state) {
    forget_answer(state);
    MemoryContextReset(state->work);
    ResetExprContext(state->expressions);
    MemoryContext caller = MemoryContextSwitchTo(state->work);
    const int64 wanted = count_wanted(state);
    state->problem = nullptr;
    state->given = 0;
    if (wanted < 0)
        state->problem = "too many rows are wanted";
    else if (wanted > 0)
        state->problem = find_answer(state, wanted);
    MemoryContextSwitchTo(caller);
    if (state->problem != nullptr)
        begin_child(state, wanted);
    state->is_asked = true;
    state->next = 0;
    state->is_at_end = false;
}

// ---- execution --------------------------------------------------------------------------------------------

// The child's rows are the statement's.
static TupleTableSlot *give_childs_row(SortScanState *state) {
    state->has_child_run = true;
    TupleTableSlot *row = ExecProcNode(static_cast<PlanState *>(linitial(state->custom.custom_ps)));
    TupleTableSlot *slot = state->custom.ss.ps.ps_ResultTupleSlot;
    ExecClearTuple(slot);
    if (TupIsNull(row))
        return nullptr;
    const auto columns = static_cast<size_t>(slot->tts_tupleDescriptor->natts);
    slot_getallattrs(row);
    memcpy(slot->tts_values, row->tts_values, columns * sizeof(Datum));
    memcpy(slot->tts_isnull, row->tts_isnull, columns * sizeof(bool));
    return ExecStoreVirtualTuple(slot);
}

static void read_row(SortScanState *state, uint64 place) {
    ItemPointerData tid;
    ItemPointerSet(&tid, static_cast<BlockNumber>(place >> 16), static_cast<OffsetNumber>(place & 0xffff));
    // The snapshot has seen it, so it is still there.
    TupleTableSlot *row = table::fetch_visible(&state->probe, tid);
    if (row == nullptr)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
                        errmsg("a row that was found by index \"%s\" is no longer there",
                               RelationGetRelationName(state->index))));
    ExecCopySlot(state->custom.ss.ss_ScanTupleSlot, row);
    // No page stays pinned between two rows: an idle cursor would hold up VACUUM (FREEZE).
    ExecClearTuple(row);
    table_index_fetch_reset(state->probe.fetch);
}

// Moves on to the row to be given in a cursor's direction, which is the one before `next` then. False: there
// is none. Back from the end the last row comes again.
static bool move_on(SortScanState *state, bool forward) {
    if (forward) {
        state->is_at_end = state->next == state->answer.row_count;
        state->next += state->is_at_end ? 0 : 1;
        return !state->is_at_end;
    }
    if (!state->is_at_end && state->next > 0)
        state->next--;
    state->is_at_end = false;
    return state->next > 0;
}

static TupleTableSlot *execute_sort(CustomScanState *node) {
    auto *state = reinterpret_cast<SortScanState *>(node);
    if (!state->is_asked)
        ask(state);
    CHECK_FOR_INTERRUPTS();
    if (state->problem != nullptr)
        return give_childs_row(state);
    if (!move_on(state, ScanDirectionIsForward(node->ss.ps.state->es_direction)))
        return nullptr;
    ExprContext *context = node->ss.ps.ps_ExprContext;
    ResetExprContext(context);
    read_row(state, state->answer.rows[state->next - 1]);
    state->given++;
    context->ecxt_scantuple = node->ss.ss_ScanTupleSlot;
    return node->ss.ps.ps_ProjInfo == nullptr ? node->ss.ss_ScanTupleSlot
                                              : ExecProject(node->ss.ps.ps_ProjInfo);
}

static void begin_sort(CustomScanState *node, EState *estate, int flags) {
    auto *state = reinterpret_cast<SortScanState *>(node);
    const auto *plan = castNode(CustomScan, node->ss.ps.plan);
    // It checks EXECUTE on all functions in the statement's expressions.
    node->custom_ps =
        list_make1(ExecInitNode(static_cast<Plan *>(linitial(plan->custom_plans)), estate, flags));
    state->query = unpack_query(static_cast<List *>(linitial(plan->custom_private)));
    state->with_ties = boolVal(lsecond(plan->custom_private));
    if ((flags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
        return;
    const int keys = list_length(state->query.keys);
    const auto expression = [&](int i) {
        return ExecInitExpr(static_cast<Expr *>(list_nth(plan->custom_exprs, i)), &node->ss.ps);
    };
    state->limit = expression(keys);
    state->offset = list_length(plan->custom_exprs) > keys + 1 ? expression(keys + 1) : nullptr;
    state->index = index_open(linitial_oid(state->query.indexes), AccessShareLock);
    state->expressions = CreateExprContext(estate);
    state->keep = AllocSetContextCreate(estate->es_query_cxt, "GpuSort rows", ALLOCSET_DEFAULT_SIZES);
    state->work = AllocSetContextCreate(estate->es_query_cxt, "GpuSort work", ALLOCSET_DEFAULT_SIZES);
}

static void end_sort(CustomScanState *node) {
    auto *state = reinterpret_cast<SortScanState *>(node);
    forget_answer(state);
    if (state->index != nullptr)
        index_close(state->index, NoLock);
    ExecEndNode(static_cast<PlanState *>(linitial(node->custom_ps)));
}

static void rescan_sort(CustomScanState *node) {
    auto *state = reinterpret_cast<SortScanState *>(node);
    if (node->ss.ps.chgParam != nullptr) {
        UpdateChangedParamSet(static_cast<PlanState *>(linitial(node->custom_ps)), node->ss.ps.chgParam);
        note_changed_parameters(state->query, node->ss.ps.state, node->ss.ps.chgParam);
        state->is_asked = false;
    } else if (state->is_asked && state->problem != nullptr) {
        rewind_child(state);
    }
    state->next = 0;
    state->is_at_end = false;
}

// As PostgreSQL's Sort shows its keys.
static void explain_keys(const CustomScanState *node, const AggregateQuery &query, List *ancestors,
                         ExplainState *explain) {
    const auto *plan = castNode(CustomScan, node->ss.ps.plan);
    List *context =
        set_deparse_context_plan(explain->deparse_cxt, const_cast<Plan *>(&plan->scan.plan), ancestors);
    const bool prefixes = list_length(explain->rtable) > 1 || explain->verbose;
    List *keys = NIL;
    for (int i = 0; i < list_length(query.keys); i++) {
        auto *key = static_cast<Node *>(list_nth(plan->custom_exprs, i));
        Oid family;
        Oid operand;
        bool descends;
        find_ordering(list_nth_oid(query.key_operators, i), &family, &operand, &descends);
        const bool nulls_first = list_nth_int(query.nulls_first, i) != 0;
        const char *nulls = nulls_first == descends ? "" : nulls_first ? " NULLS FIRST" : " NULLS LAST";
        keys = lappend(keys, psprintf("%s%s%s", deparse_expression(key, context, prefixes, true),
                                      descends ? " DESC" : "", nulls));
    }
    ExplainPropertyList("Sort Key", keys, explain);
}

static void explain_sort(CustomScanState *node, List *ancestors, ExplainState *explain) {
    const auto *state = reinterpret_cast<const SortScanState *>(node);
    explain_keys(node, state->query, ancestors, explain);
    explain_indexes(state->query, explain);
    explain_expressions(state->query, node, node->ss.ps.plan, ancestors, explain);
    explain_usage(&state->usage, &node->ss.ps, explain);
    if (!explain->analyze || !state->is_asked)
        return;
    if (state->problem != nullptr)
        ExplainPropertyText("Not Answered", state->problem, explain);
    else
        ExplainPropertyUInteger("Heap Fetches", nullptr, state->heap_fetches + state->given, explain);
}

static constexpr CustomExecMethods execution_methods =
    execution_methods_of("GpuSort", begin_sort, execute_sort, end_sort, rescan_sort, explain_sort);

// ---- from path to plan to state ---------------------------------------------------------------------------

static const CustomScanMethods scan_methods = {
    .CustomName = "GpuSort",
    .CreateCustomScanState = create_state<SortScanState, execution_methods>,
};

// The node's tuples are computed from the table's.
static Plan *plan_sort(PlannerInfo *root, RelOptInfo *, CustomPath *path, List *target_list, List *,
                       List *child_plans) {
    note_chosen(root, path);
    const SortPlanning planning = read_sort_planning(path->custom_private);
    auto *scan = makeNode(CustomScan);
    scan->flags = path->flags;
    scan->scan.plan.targetlist = target_list;
    scan->scan.scanrelid = planning.table;
    scan->custom_plans = child_plans;
    scan->custom_private = list_make2(planning.query, makeBoolean(planning.with_ties));
    scan->custom_exprs = static_cast<List *>(copyObjectImpl(planning.expressions));
    scan->methods = &scan_methods;
    return &scan->scan.plan;
}

static constexpr CustomPathMethods path_methods = path_methods_of("GpuSort", plan_sort);

const CustomPathMethods *sort_path_methods() {
    return &path_methods;
}

void register_sort_scan() {
    RegisterCustomScanMethods(&scan_methods);
    install_sort_planner();
}

}  // namespace pg_gpu::plan
