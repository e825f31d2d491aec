// Executing a GpuQuery. Its child is the aggregate that PostgreSQL would have run: it opens the table and
// checks privileges, and is executed only where the engine gives no answer.
#include "plan/query/node.h"

#include "compat.h"
#include "plan/query/aggregate_output.h"
#include "plan/query/aggregate_sets.h"
#include "plan/query/aggregate_explain.h"
#include "plan/custom_node.h"
#include "plan/query/parameters.h"
#include "plan/query/aggregates.h"
#include "plan/query/columns.h"
#include "plan/query/entries.h"
#include "plan/query/path.h"
#include "plan/query/shape.h"
#include "plan/query/tables.h"
#include "plan/query/top.h"
#include "plan/query/subqueries.h"
#include "plan/usage.h"
#include "subtransaction.h"
#include "request_kinds.h"

namespace pg_gpu::plan::query {

struct QueryState {
    CustomScanState custom;
    AggregateQuery query;
    bool maps_may_fail;
    List *order;
    int64 count;
    Relation heap;
    Relation index;
    ExprContext *expressions;
    MemoryContext work;   // of a request
    MemoryContext keep;   // of the answer
    ResourceOwner owner;  // of the answer
    // The request as it is asked.
    AggregateQuery bound;
    List *conditions;  // that aren't tested by codes
    Bitmapset *columns;
    // The answer.
    CompiledQuery compiled;
    RecordLayout layout;
    column::QueryResult result;
    const uint64 *records;
    uint64 left;
    bool is_requested;
    bool is_child_begun;
    int flags;
    const char *problem;  // why the child answers; nullptr: it doesn't
    uint64 heap_fetches;
    client::Usage usage;
};

List *pack_planning(const Planning &planning) {
    return list_make5(
        planning.query, planning.row, planning.having,
        list_make2(makeBoolean(planning.maps_may_fail), makeInteger(static_cast<int>(planning.count))),
        list_make2(planning.order, planning.set));
}

Planning unpack_planning(List *packed) {
    const auto list = [packed](int i) { return static_cast<List *>(list_nth(packed, i)); };
    return {list(0),
            list(1),
            list(2),
            boolVal(linitial(list(3))),
            static_cast<List *>(linitial(list(4))),
            intVal(lsecond(list(3))),
            static_cast<List *>(lsecond(list(4)))};
}

// ---- the request -----------------------------------------------------------------------------------------

static engine::Node make_scan(const Program &program) {
    engine::Node scan = {};
    scan.kind = engine::NodeKind::scan;
    scan.types = {0, program.source_count};
    scan.filter = no_step;
    return scan;
}

static engine::Node make_aggregate(const QueryState &state) {
    const CompiledQuery &compiled = state.compiled;
    engine::Node groups = {};
    groups.kind = engine::NodeKind::aggregate;
    groups.input = 0;
    groups.steps = {0, compiled.program->step_count};
    groups.filter = compiled.filter;
    groups.outputs = {0, compiled.key_count};
    groups.accumulators = {0, compiled.accumulator_count};
    groups.expected_rows = static_cast<uint64>(Max(Min(state.custom.ss.ps.plan->plan_rows, 1e9), 1.0));
    return groups;
}

static engine::Node make_sort(const QueryState &state, uint32 keys) {
    engine::Node sort = {};
    sort.kind = engine::NodeKind::sort;
    sort.input = 1;
    sort.filter = no_step;
    sort.sort_keys = {0, keys};
    sort.limit = static_cast<uint64>(state.count);
    sort.expected_rows = sort.limit;
    return sort;
}

static engine::Query make_engine_query(const QueryState &state) {
    const CompiledQuery &compiled = state.compiled;
    const Program &program = *compiled.program;
    auto *nodes = allocate<engine::Node>(3);
    nodes[0] = make_scan(program);
    nodes[1] = make_aggregate(state);
    engine::SortKey *keys;
    const uint32 key_count = make_sort_keys(compiled, state.order, &keys);
    nodes[2] = make_sort(state, key_count);
    auto *types = allocate<ValueType>(size_t{program.source_count} + 1);
    for (uint32 i = 0; i < program.source_count; i++)
        types[i] = program.sources[i].type;
    engine::Query query = {};
    query.nodes = nodes;
    query.node_count = key_count == 0 ? 2 : 3;
    query.sort_keys = keys;
    query.sort_key_count = key_count;
    query.types = types;
    query.type_count = program.source_count;
    query.steps = program.steps;
    query.step_count = program.step_count;
    query.constants = program.constants;
    query.constant_count = program.constant_count;
    query.outputs = compiled.keys;
    query.output_count = compiled.key_count;
    query.accumulators = compiled.accumulators;
    query.accumulator_count = compiled.accumulator_count;
    query.zones = program.zones;
    query.zone_count = program.zone_count;
    query.max_rows = PG_UINT64_MAX;
    return query;
}

static const char *words_of_outcome(engine::QueryOutcome outcome) {
    switch (outcome) {
        case engine::QueryOutcome::failed:
            return "an expression has no result for some row";
        case engine::QueryOutcome::too_many_rows:
            return "there are too many groups";
        case engine::QueryOutcome::unresolved:
            return "rows whose visibility isn't known came again and again";
        default:
            return nullptr;
    }
}

static bool has_variants(const CompiledQuery &compiled) {
    for (uint32 i = 0; i < compiled.result_count; i++) {
        const Result &result = compiled.results[i];
        const Value &value = result.argument;
        const ValueTable *values =
            result.kind == ResultKind::Value && value.kind == Kind::Group && value.numbering != no_numbering
                ? compiled.program->numberings[value.numbering].values
                : nullptr;
        if (values != nullptr && values->has_variants)
            return true;
    }
    return false;
}

// What is wrong with a value may be wrong with one that row security hides.
static const char *words_of_problem(const QueryState &state, const char *problem) {
    return problem != nullptr && state.query.has_barrier ? "the engine gives no answer" : problem;
}

// Lets gpu.stat tell why the server isn't asked after all.
static const char *decline(const QueryState &state, const column::RemoteRows &rows, const char *problem) {
    client::decline(rows.kind, rows.choice, words_of_problem(state, problem));
    return problem;
}

// Asks the state's compiled query, or one that it needs the answer of.
static const char *ask(QueryState *state, const ViewColumns &columns, uint64 max_rows) {
    column::QueryRequest request = {};
    column::QueryTable table = {columns.rows, nullptr, {}};
    const engine::RunColumn **by_run;
    const char *problem =
        make_scan_columns(columns, state->compiled.program, state->expressions, &by_run, &table.own_rows);
    if (problem == nullptr && has_variants(state->compiled))
        problem = "equal grouping columns may look different";
    if (problem != nullptr)
        return decline(*state, *columns.rows, problem);
    request.query = make_engine_query(*state);
    request.query.max_rows = max_rows;
    table.columns = by_run;
    request.tables = &table;
    request.table_count = 1;
    request.expected_rows = request.query.nodes[1].expected_rows;
    request.result_context = state->keep;
    request.result_owner = state->owner;
    if (column::run_query(request, &state->result))
        return read_code_values(columns, state->compiled, state->layout, &state->result)
                   ? nullptr
                   : "a run was merged meanwhile";
    const char *outcome = words_of_outcome(state->result.outcome);
    return outcome == nullptr ? "the server process gave no answer" : outcome;
}

namespace {

struct Asking {
    const QueryState *state;
    const ViewColumns *columns;
};

}  // namespace

static const char *ask_for_table(void *context, CompiledQuery *compiled, const RecordLayout &layout,
                                 column::QueryResult *result) {
    const auto *asking = static_cast<const Asking *>(context);
    QueryState inner = *asking->state;
    inner.keep = CurrentMemoryContext;
    inner.order = NIL;
    inner.compiled = *compiled;
    inner.layout = layout;
    inner.result = {};
    const char *problem = ask(&inner, *asking->columns, kMaxCombinations);
    *result = inner.result;
    return problem;
}

static const char *submit_about_rows(QueryState *state, column::RemoteRows *rows) {
    const ViewColumns columns = read_view_columns(rows, state->columns);
    Compiler compiler = {};
    compiler.columns = columns.facts;
    compiler.context = state->expressions;
    compiler.has_barrier = state->bound.has_barrier;
    compiler.guard = no_step;
    compiler.has_tables = true;
    MemoryContext view = MemoryContextSwitchTo(state->keep);
    compiler.program = begin_program();
    const bool is_compiled = compile_query(
        &compiler,
        {state->conditions, state->bound.keys, state->bound.key_operators, state->bound.aggregates},
        &state->compiled);
    if (is_compiled) {
        order_keys(compiler, columns, state->compiled, state->order);
        state->layout = lay_out_record(state->compiled);
    }
    MemoryContextSwitchTo(view);
    if (!is_compiled)
        return decline(*state, *rows, compiler.refusal.reason);
    Asking asking = {state, &columns};
    const char *problem =
        evaluate_tables({&compiler, state->conditions, ask_for_table, &asking}, state->compiled.program);
    return problem != nullptr ? problem : ask(state, columns, PG_UINT64_MAX);
}

// What PostgreSQL would have run.
static Plan *child_plan(const QueryState *state) {
    return static_cast<Plan *>(linitial(castNode(CustomScan, state->custom.ss.ps.plan)->custom_plans));
}

static void forget_result(QueryState *state) {
    if (state->result.records != nullptr)
        column::free_records(state->result.records);
    state->result = {};
    state->left = 0;
}

static const char *find_groups_on_server(QueryState *state, const column::Format &format,
                                         const column::Condition &condition) {
    const column::RemoteRequest request = {client::RequestKind::RunQuery,
                                           bms_num_members(state->columns),
                                           static_cast<uint64>(state->custom.ss.ps.plan->plan_rows),
                                           true,
                                           shape_of_query(state->bound),
                                           child_plan(state)->total_cost};
    const char *problem = "the server process wasn't asked";
    const auto work = [&](column::RemoteRows *rows) {
        // An earlier attempt may have been answered and found stale.
        forget_result(state);
        MemoryContextReset(state->keep);
        problem = submit_about_rows(state, rows);
        return problem == nullptr;
    };
    const bool is_answered =
        column::with_rows_on_server(state->heap, state->index, state->custom.ss.ps.state->es_snapshot,
                                    &format, condition, request, work, &state->heap_fetches);
    if (is_answered)
        return nullptr;
    return problem == nullptr ? "VACUUM changed the index meanwhile" : problem;
}

static const char *submit_with_guard(QueryState *state, const column::Format &format,
                                     const column::Condition &condition) {
    if (!state->maps_may_fail)
        return find_groups_on_server(state, format, condition);
    if (IsInParallelMode())
        return "an expression may raise an error, and no subtransaction can be started";
    const char *problem = nullptr;
    ErrorData *error = try_in_subtransaction(
        CurrentMemoryContext, [&] { problem = find_groups_on_server(state, format, condition); });
    if (error == nullptr)
        return problem;
    if (!is_about_values(error->sqlerrcode))
        ReThrowError(error);
    FreeErrorData(error);
    return "an expression raised an error";
}

// Divides the conditions, and makes scan keys of those that codes are tested for.
static bool make_conditions(QueryState *state, const column::Format &format, column::Condition *condition) {
    const IndexColumns columns =
        describe_columns(&format, state->index->rd_opfamily, state->index->rd_indcollation, {}, NIL);
    List *by_code = NIL;
    state->conditions = NIL;
    divide_conditions(state->bound.conditions, columns, &by_code, &state->conditions);
    const int count = list_length(by_code);
    auto *keys = allocate_zeroed<ScanKeyData>(static_cast<size_t>(count) + 1);
    for (int i = 0; i < count; i++) {
        IndexCondition read;
        read_index_condition(static_cast<Node *>(list_nth(by_code, i)), columns, &read);
        if (!make_scan_key(state->expressions, columns, read, &keys[i]))
            return false;
    }
    column::make_condition(state->index, format, keys, count, condition);
    return true;
}

// Of each column that steps read: attribute numbers from 0 on.
static void find_columns(QueryState *state) {
    Bitmapset *attributes = nullptr;
    for (List *list : {state->conditions, state->bound.keys, state->bound.aggregates})
        pull_varattnos(reinterpret_cast<Node *>(list), 1, &attributes);
    state->columns = nullptr;
    for (int i = bms_next_member(attributes, -1); i >= 0; i = bms_next_member(attributes, i)) {
        const int column = i + FirstLowInvalidHeapAttributeNumber - 1;
        if (column >= 0)
            state->columns = bms_add_member(state->columns, column);
    }
}

static const char *result(QueryState *state) {
    const column::Format *format = column::make_format(state->index);
    column::Condition condition = {};
    if (!make_conditions(state, *format, &condition))
        return "an expression raised an error";
    find_columns(state);
    pgstat_count_index_scan(state->index);
    const char *problem = submit_with_guard(state, *format, condition);
    return problem != nullptr ? problem : find_unknown_result(state->compiled, state->layout, &state->result);
}

static void submit(QueryState *state) {
    check_stack_depth();
    EState *estate = state->custom.ss.ps.state;
    forget_result(state);
    MemoryContextReset(state->work);
    MemoryContextReset(state->keep);
    ResetExprContext(state->expressions);
    MemoryContext caller = MemoryContextSwitchTo(state->work);
    PredicateLockRelation(state->index, estate->es_snapshot);
    PredicateLockRelation(state->heap, estate->es_snapshot);
    state->owner = CurrentResourceOwner;
    state->bound = state->query;
    size_t memory = get_hash_memory_limit();
    state->problem = read_subqueries(&state->bound, estate, &memory);
    if (state->problem == nullptr) {
        for (List **list : {&state->bound.conditions, &state->bound.keys, &state->bound.aggregates})
            *list = bind_parameters(*list, state->expressions);
        const client::Usage before = client::session_usage();
        state->problem = words_of_problem(*state, result(state));
        client::add_usage_since(before, &state->usage);
    }
    MemoryContextSwitchTo(caller);
    if (state->problem != nullptr)
        forget_result(state);
    state->is_requested = true;
}

// ---- execution --------------------------------------------------------------------------------------------

static PlanState *executable_child(QueryState *state) {
    ListCell *first = list_head(state->custom.custom_ps);
    if (!state->is_child_begun) {
        EState *estate = state->custom.ss.ps.state;
        MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);
        Plan *plan = child_plan(state);
        ExecEndNode(static_cast<PlanState *>(lfirst(first)));
        lfirst(first) = ExecInitNode(plan, estate, state->flags);
        state->is_child_begun = true;
        MemoryContextSwitchTo(caller);
    }
    return static_cast<PlanState *>(lfirst(first));
}

static bool take_child_row(QueryState *state, TupleTableSlot *slot) {
    TupleTableSlot *row = ExecProcNode(executable_child(state));
    // With its first row an aggregate has done its work: so long the statement took without the engine, which
    // the choice of a path learns from.
    client::note_request_done(state->index, client::RequestKind::RunQuery);
    if (TupIsNull(row))
        return false;
    const auto columns = static_cast<size_t>(slot->tts_tupleDescriptor->natts);
    slot_getallattrs(row);
    memcpy(slot->tts_values, row->tts_values, columns * sizeof(Datum));
    memcpy(slot->tts_isnull, row->tts_isnull, columns * sizeof(bool));
    return true;
}

static bool take_record(QueryState *state, TupleTableSlot *slot) {
    if (state->left == 0)
        state->left = column::next_records(state->result.records, &state->records);
    if (state->left == 0)
        return false;
    MemoryContext caller = MemoryContextSwitchTo(state->custom.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
    for (uint32 i = 0; i < state->compiled.result_count; i++)
        read_result(state->compiled, state->layout, state->compiled.results[i], state->records,
                    &slot->tts_values[i], &slot->tts_isnull[i]);
    MemoryContextSwitchTo(caller);
    state->records += state->result.record_words;
    state->left--;
    return true;
}

static TupleTableSlot *execute_query(CustomScanState *node) {
    auto *state = reinterpret_cast<QueryState *>(node);
    if (!state->is_requested)
        submit(state);
    ExprContext *context = node->ss.ps.ps_ExprContext;
    TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        ResetExprContext(context);
        ExecClearTuple(slot);
        if (!(state->problem != nullptr ? take_child_row(state, slot) : take_record(state, slot)))
            return nullptr;
        ExecStoreVirtualTuple(slot);
        context->ecxt_scantuple = slot;
        if (!ExecQual(node->ss.ps.qual, context)) {
            InstrCountFiltered1(node, 1);
            continue;
        }
        return node->ss.ps.ps_ProjInfo == nullptr ? slot : ExecProject(node->ss.ps.ps_ProjInfo);
    }
}

// ---- begin and end ----------------------------------------------------------------------------------------

static void begin_query(CustomScanState *node, EState *estate, int flags) {
    auto *state = reinterpret_cast<QueryState *>(node);
    const auto *plan = castNode(CustomScan, node->ss.ps.plan);
    // It checks EXECUTE on the aggregates and on all functions in their expressions.
    node->custom_ps = list_make1(ExecInitNode(static_cast<Plan *>(linitial(plan->custom_plans)), estate,
                                              flags | EXEC_FLAG_EXPLAIN_ONLY));
    const Planning planning = unpack_planning(plan->custom_private);
    state->flags = flags;
    state->query = unpack_query(planning.query);
    state->maps_may_fail = planning.maps_may_fail;
    state->order = planning.order;
    state->count = planning.count;
    if ((flags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
        return;
    state->index = index_open(linitial_oid(state->query.indexes), AccessShareLock);
    // The executor has locked the table.
    state->heap = table_open(state->index->rd_index->indrelid, NoLock);
    state->expressions = CreateExprContext(estate);
    state->keep = AllocSetContextCreate(estate->es_query_cxt, "GpuQuery answer", ALLOCSET_DEFAULT_SIZES);
    state->work = AllocSetContextCreate(estate->es_query_cxt, "GpuQuery work", ALLOCSET_DEFAULT_SIZES);
}

static void end_query(CustomScanState *node) {
    auto *state = reinterpret_cast<QueryState *>(node);
    forget_result(state);
    if (state->index != nullptr) {
        table_close(state->heap, NoLock);
        index_close(state->index, NoLock);
    }
    ExecEndNode(static_cast<PlanState *>(linitial(node->custom_ps)));
}

static void rescan_query(CustomScanState *node) {
    auto *state = reinterpret_cast<QueryState *>(node);
    auto *child = static_cast<PlanState *>(linitial(node->custom_ps));
    const bool has_child_run = state->is_requested && state->problem != nullptr;
    if (node->ss.ps.chgParam != nullptr) {
        UpdateChangedParamSet(child, node->ss.ps.chgParam);
        note_changed_parameters(state->query, node->ss.ps.state, node->ss.ps.chgParam);
        state->is_requested = false;
    }
    // A parameter of HAVING alone isn't one of the child's.
    if (has_child_run && child->chgParam == nullptr)
        ExecReScan(child);
    if (state->is_requested && state->problem == nullptr)
        column::rewind_records(state->result.records);
    state->left = 0;
}

static void explain_query(CustomScanState *node, List *, ExplainState *explain) {
    const auto *state = reinterpret_cast<const QueryState *>(node);
    explain_indexes(state->query, explain);
    explain_usage(&state->usage, &node->ss.ps, explain);
    if (!explain->analyze || !state->is_requested)
        return;
    if (state->problem != nullptr) {
        ExplainPropertyText("Fallback Reason", state->problem, explain);
        return;
    }
    ExplainPropertyUInteger("Groups", nullptr, state->result.rows, explain);
    if (explain->verbose) {
        ExplainPropertyUInteger("Columns Read", nullptr, state->compiled.program->source_count, explain);
        ExplainPropertyUInteger("Steps", nullptr, state->compiled.program->step_count, explain);
    }
    ExplainPropertyUInteger("Heap Fetches", nullptr, state->heap_fetches, explain);
}

static constexpr CustomExecMethods execution_methods =
    execution_methods_of("GpuQuery", begin_query, execute_query, end_query, rescan_query, explain_query);

static const CustomScanMethods scan_methods = {
    .CustomName = "GpuQuery",
    .CreateCustomScanState = create_state<QueryState, execution_methods>,
};

// The node's own tuple holds keys and aggregates; its target list and HAVING are computed from them.
static Plan *plan_query(PlannerInfo *root, RelOptInfo *, CustomPath *path, List *target_list, List *,
                        List *child_plans) {
    note_chosen(root, path);
    const Planning planning = unpack_planning(path->custom_private);
    auto *scan = makeNode(CustomScan);
    scan->flags = flags_of_plan(path, child_plans);
    scan->scan.plan.targetlist = of_set(below_grouping(root, target_list), planning.row, planning.set);
    scan->scan.plan.qual = of_set(planning.having, planning.row, planning.set);
    scan->scan.scanrelid = 0;
    scan->custom_plans = child_plans;
    scan->custom_private = pack_planning(
        {planning.query, NIL, NIL, planning.maps_may_fail, planning.order, planning.count, NIL});
    scan->methods = &scan_methods;
    for (int i = 0; i < list_length(planning.row); i++)
        scan->custom_scan_tlist =
            lappend(scan->custom_scan_tlist,
                    makeTargetEntry(static_cast<Expr *>(copyObjectImpl(list_nth(planning.row, i))),
                                    static_cast<AttrNumber>(i + 1), nullptr, false));
    return &scan->scan.plan;
}

static constexpr CustomPathMethods path_methods = path_methods_of("GpuQuery", plan_query);

const CustomPathMethods *query_path_methods() {
    return &path_methods;
}

void register_query_node() {
    RegisterCustomScanMethods(&scan_methods);
}

}  // namespace pg_gpu::plan::query
