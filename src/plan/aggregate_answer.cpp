#include "plan/aggregate_answer.h"

#include "column/aggregate_run.h"
#include "column/column.h"
#include "compat.h"
#include "plan/aggregate_key_rows.h"
#include "plan/aggregate_top.h"
#include "subtransaction.h"

namespace pg_gpu::plan {

using column::AggregateParts;
using column::ColumnView;
using gpu_engine::AggregateKey;
using gpu_engine::AggregateOutcome;
using gpu_engine::AggregateProgram;
using gpu_engine::no_aggregate_step;

namespace {

// One try to answer.
struct Attempt {
    const AggregateQuestion *question;
    const column::Format *format;
    CompiledAggregate *compiled;
    AggregateAnswer *answer;
    size_t memory;
    const char *problem;
};

}  // namespace

// ---- conditions -------------------------------------------------------------------------------------------

static Datum evaluate_argument(Expr *argument, ExprContext *context, bool *is_null) {
    return ExecEvalExpr(ExecInitExpr(argument, nullptr), context, is_null);
}

static void make_scan_key(const AggregateQuestion &question, const IndexColumns &columns,
                          const IndexCondition &condition, ScanKeyData *key) {
    *key = {};
    key->sk_attno = static_cast<AttrNumber>(condition.column + 1);
    if (condition.argument == nullptr) {
        key->sk_flags = SK_ISNULL | (condition.is_null ? SK_SEARCHNULL : SK_SEARCHNOTNULL);
        return;
    }
    int strategy;
    Oid left;
    get_op_opfamily_properties(condition.operator_oid, columns.families[condition.column], false, &strategy,
                               &left, &key->sk_subtype);
    key->sk_strategy = static_cast<StrategyNumber>(strategy);
    key->sk_collation = condition.collation;
    fmgr_info(get_opcode(condition.operator_oid), &key->sk_func);
    bool is_null;
    key->sk_argument = evaluate_argument(condition.argument, question.context, &is_null);
    key->sk_flags = (is_null ? SK_ISNULL : 0) | (condition.is_array ? SK_SEARCHARRAY : 0);
}

static void make_index_condition(const AggregateQuestion &question, const IndexColumns &columns,
                                 const CompiledAggregate &compiled, column::Condition *made) {
    const int count = list_length(compiled.index_conditions);
    auto *keys = allocate_zeroed<ScanKeyData>(static_cast<size_t>(count) + 1);
    for (int i = 0; i < count; i++) {
        IndexCondition condition;
        read_index_condition(static_cast<Node *>(list_nth(compiled.index_conditions, i)), columns,
                             &condition);
        make_scan_key(question, columns, condition, &keys[i]);
    }
    column::make_condition(question.index, *columns.format, keys, count, made);
}

// ---- keys -------------------------------------------------------------------------------------------------

// Lays the keys out in words, each in as many bits as its numbers need.
static bool lay_out_keys(const InputMaker &maker, AggregateProgram *program) {
    uint32 word = 0;
    uint32 shift = 0;
    for (uint32 i = 0; i < program->key_count; i++) {
        AggregateKey *key = &program->key[i];
        const gpu_engine::AggregateStep &step = program->step[key->step];
        uint32 bits = 64;
        key->least = 0;
        if (step.operation == gpu_engine::AggregateOperation::is_null) {
            bits = 1;
        } else if (step.operation == gpu_engine::AggregateOperation::input) {
            const bool any = maker.least[step.left] <= maker.greatest[step.left];
            key->least = any ? maker.least[step.left] : 0;
            const uint64 range =
                any ? static_cast<uint64>(maker.greatest[step.left]) - static_cast<uint64>(key->least) : 0;
            if (range == PG_UINT64_MAX)
                return false;
            bits = column::bits_for_range(range + (key->may_be_null ? 1 : 0));
        }
        if (shift + bits > 64) {
            word++;
            shift = 0;
        }
        key->bits = static_cast<uint8>(bits);
        key->word = static_cast<uint8>(word);
        key->shift = static_cast<uint8>(shift);
        shift += bits;
    }
    program->key_words = program->key_count == 0 ? 0 : word + 1;
    return true;
}

// Do equal keys differ in their bytes?
static bool has_variants(const InputMaker &maker) {
    for (uint32 i = 0; i < maker.compiled->program.input_count; i++)
        if (maker.has_variants[i])
            return true;
    return false;
}

// Leaves out accumulators that aren't needed: of places where equal keys have the same bytes, and counts of
// what is never NULL, which are the group's rows. Then words' places change.
static void leave_out_accumulators(const InputMaker &maker, bool has_place, int results,
                                   CompiledAggregate *compiled) {
    AggregateProgram *program = &compiled->program;
    uint8 moved[UINT8_MAX + 1] = {};  // words' new places
    uint32 kept = 0;
    uint32 words = 0;
    for (uint32 i = 0; i < program->accumulator_count; i++) {
        gpu_engine::Accumulator accumulator = program->accumulator[i];
        const bool is_place = compiled->has_place && i == program->accumulator_count - 1;
        const bool counts_rows = i > 0 && accumulator.kind == gpu_engine::AccumulatorKind::count &&
                                 accumulator.filter == no_aggregate_step &&
                                 is_never_null(maker, accumulator.step);
        if ((is_place && !has_place) || counts_rows)
            continue;  // word 0 has the group's rows
        const uint32 width = gpu_engine::accumulator_words(accumulator.kind);
        for (uint32 word = 0; word < width; word++)
            moved[accumulator.word + word] = static_cast<uint8>(words + word);
        accumulator.word = static_cast<uint8>(words);
        words += width;
        program->accumulator[kept++] = accumulator;
    }
    program->accumulator_count = kept;
    program->value_words = words;
    compiled->place = moved[compiled->place];
    for (int i = 0; i < results; i++) {
        AggregateResult *result = &compiled->result[i];
        result->count = moved[result->count];
        result->value = moved[result->value];
        result->scale = moved[result->scale];
        result->squares = moved[result->squares];
    }
}

static uint64 expected_groups(const AggregateQuestion &question) {
    constexpr double most = 1e9;
    return static_cast<uint64>(Max(Min(question.groups, most), 1.0));
}

// ---- an attempt -------------------------------------------------------------------------------------------

static uint64 **selections(ColumnView *view, const AggregateParts &parts) {
    auto **selected = allocate<uint64 *>(parts.count + 1);
    for (int part = 0; part < parts.count; part++)
        selected[part] =
            part < view->run_count ? view->selected[part] : const_cast<uint64 *>(parts.part[part].selected);
    return selected;
}

// Leaves the rows selected of which the condition is true.
static bool apply_filter(InputMaker *maker, ColumnView *view, uint16 filter) {
    return make_inputs(maker, &filter, 1) &&
           column::select_by_step(*maker->parts, maker->compiled->program, filter, maker->inputs,
                                  selections(view, *maker->parts));
}

// May an expression over a column fail?
static bool may_fail(const CompiledAggregate &compiled) {
    for (uint32 i = 0; i < compiled.program.input_count; i++)
        if (compiled.input[i].may_fail)
            return true;
    return false;
}

static bool make_all_inputs(InputMaker *maker) {
    const AggregateProgram &program = maker->compiled->program;
    for (uint32 i = 0; i < program.key_count; i++)
        if (!make_inputs(maker, &program.key[i].step, 1))
            return false;
    for (uint32 i = 0; i < program.accumulator_count; i++) {
        const gpu_engine::Accumulator &accumulator = program.accumulator[i];
        if ((accumulator.filter != no_aggregate_step && !make_inputs(maker, &accumulator.filter, 1)) ||
            (accumulator.step != no_aggregate_step && !make_inputs(maker, &accumulator.step, 1)))
            return false;
    }
    return program.filter == no_aggregate_step || make_inputs(maker, &program.filter, 1);
}

// What makes expressions fail must have passed WHERE before: those that can't fail are part of the program
// only if nothing else can.
static const char *prepare_rows(InputMaker *maker, ColumnView *view, CompiledAggregate *compiled) {
    static const char *const overflow = "an expression overflows, or divides by zero";
    compiled->program.filter = no_aggregate_step;
    if (!may_fail(*compiled) && compiled->unsafe_filter == no_aggregate_step)
        compiled->program.filter = compiled->safe_filter;
    else if (compiled->safe_filter != no_aggregate_step && !apply_filter(maker, view, compiled->safe_filter))
        return maker->problem != nullptr ? maker->problem : overflow;
    if (compiled->unsafe_filter != no_aggregate_step && !apply_filter(maker, view, compiled->unsafe_filter))
        return maker->problem != nullptr ? maker->problem : overflow;
    return make_all_inputs(maker) ? nullptr : maker->problem;
}

// The program with what is known of the inputs now; in the answer's memory context.
static CompiledAggregate *copy_compiled(const AggregateQuestion &question,
                                        const CompiledAggregate &compiled) {
    MemoryContext caller = MemoryContextSwitchTo(question.keep);
    auto *copy = allocate<CompiledAggregate>(1);
    *copy = compiled;
    const auto results = static_cast<size_t>(list_length(question.query.aggregates));
    copy->result = allocate<AggregateResult>(results + 1);
    memcpy(copy->result, compiled.result, results * sizeof(AggregateResult));
    MemoryContextSwitchTo(caller);
    return copy;
}

static void begin_answer(const AggregateQuestion &question, const InputMaker &maker, bool has_place,
                         const CompiledAggregate *compiled, AggregateAnswer *answer) {
    const uint32 inputs = compiled->program.input_count;
    MemoryContext caller = MemoryContextSwitchTo(question.keep);
    auto *common = allocate<CommonValues>(inputs + 1);
    memcpy(common, maker.common, inputs * sizeof(CommonValues));
    auto *scale = allocate<uint8>(inputs + 1);
    memcpy(scale, maker.scale, inputs);
    MemoryContextSwitchTo(caller);
    answer->compiled = compiled;
    answer->key_count = list_length(question.query.keys);
    answer->aggregate_count = list_length(question.query.aggregates);
    answer->common = common;
    answer->scale = scale;
    answer->has_place = has_place;
    answer->passes = 1;
    if (answer->spilled != nullptr)
        tuplestore_clear(answer->spilled);
    answer->found_groups = 0;
}

// The groups so far go to the file, and their memory is free again.
static void spill_groups(const AggregateQuestion &question, AggregateAnswer *answer) {
    const auto columns = static_cast<size_t>(question.row->natts);
    auto *values = allocate<Datum>(columns + 1);
    auto *nulls = allocate<bool>(columns + 1);
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "GpuAggregate row", ALLOCSET_SMALL_SIZES);
    KeyRows key_rows = {};
    if (answer->has_place)
        begin_key_rows(&key_rows, question, *answer);
    for (uint64 group = 0; group < answer->groups.groups; group++) {
        CHECK_FOR_INTERRUPTS();
        MemoryContext caller = MemoryContextSwitchTo(context);
        read_group(*answer, group, values, nulls);
        if (answer->has_place)
            read_key_row(&key_rows, *answer, group, values, nulls);
        MemoryContextSwitchTo(caller);
        tuplestore_putvalues(answer->spilled, question.row, values, nulls);
        MemoryContextReset(context);
    }
    end_key_rows(&key_rows);
    MemoryContextDelete(context);
    pfree(values);
    pfree(nulls);
}

// In the current memory context: of a pass, or of all.
static void take_groups(const AggregateQuestion &question, const CompiledAggregate &compiled,
                        const gpu_engine::GroupTable &groups, AggregateAnswer *answer) {
    answer->found_groups += groups.groups;
    answer->groups = groups;
    keep_top(order_of_groups(question.query, compiled), &answer->groups);
}

// Adds rows up in so many passes. With several of them each takes the groups of some of the keys, all that
// memory has room for, and puts them into the file.
static AggregateOutcome run_passes(const AggregateQuestion &question, const AggregateParts &parts,
                                   const InputMaker &maker, const CompiledAggregate &compiled, uint32 passes,
                                   AggregateAnswer *answer) {
    MemoryContext context =
        AllocSetContextCreate(question.keep, "GpuAggregate groups", ALLOCSET_DEFAULT_SIZES);
    AggregateOutcome outcome = AggregateOutcome::answered;
    answer->passes = passes;
    for (uint32 pass = 0; pass < passes && outcome == AggregateOutcome::answered; pass++) {
        MemoryContextReset(context);
        MemoryContext caller = MemoryContextSwitchTo(context);
        column::AggregateGroups *groups = column::begin_groups(compiled.program, maker.memory, passes, pass);
        MemoryContextSwitchTo(caller);
        outcome = column::aggregate_parts(parts, compiled.program, maker.inputs, groups);
        if (outcome != AggregateOutcome::answered)
            break;
        MemoryContextSwitchTo(context);
        take_groups(question, compiled, column::finish_groups(groups), answer);
        MemoryContextSwitchTo(caller);
        if (passes > 1)
            spill_groups(question, answer);
    }
    if (passes > 1 || outcome != AggregateOutcome::answered)
        MemoryContextDelete(context);
    return outcome;
}

static const char *attempt(Attempt *attempt, ColumnView *view) {
    constexpr uint32 max_passes = 256;
    const AggregateQuestion &question = *attempt->question;
    MemoryContextReset(question.keep);
    CompiledAggregate *compiled = copy_compiled(question, *attempt->compiled);
    const AggregateParts parts = column::make_parts(view);
    InputMaker *maker =
        begin_inputs(*compiled, parts, question.index, question.context, question.keep, attempt->memory);
    const char *problem = prepare_rows(maker, view, compiled);
    if (problem != nullptr)
        return problem;
    if (!lay_out_keys(*maker, &compiled->program))
        return "a grouping column's values are too far apart";
    const bool has_place = has_variants(*maker);
    leave_out_accumulators(*maker, has_place, list_length(question.query.aggregates), compiled);
    AggregateOutcome outcome = AggregateOutcome::too_many_groups;
    for (uint32 passes = 1; outcome == AggregateOutcome::too_many_groups && passes <= max_passes;
         passes *= 4) {
        begin_answer(question, *maker, has_place, compiled, attempt->answer);
        outcome = run_passes(question, parts, *maker, *compiled, passes, attempt->answer);
        // A run that was stale has shown anything.
        if (column::is_stale(view))
            return nullptr;
    }
    if (outcome == AggregateOutcome::failed)
        return "an expression overflows, or divides by zero";
    return outcome == AggregateOutcome::too_many_groups ? "work_mem has no room for the groups" : nullptr;
}

// ---- the server's attempt ---------------------------------------------------------------------------------

// One filter of both: the server's rows are gone through once.
static bool join_filters(CompiledAggregate *compiled) {
    AggregateProgram *program = &compiled->program;
    if (compiled->safe_filter == no_aggregate_step || compiled->unsafe_filter == no_aggregate_step) {
        program->filter =
            compiled->safe_filter == no_aggregate_step ? compiled->unsafe_filter : compiled->safe_filter;
        return true;
    }
    if (program->step_count == gpu_engine::max_aggregate_steps)
        return false;
    program->filter = static_cast<uint16>(program->step_count++);
    program->step[program->filter] = {
        gpu_engine::AggregateOperation::logical_and, 0, compiled->safe_filter, compiled->unsafe_filter, 0, 0};
    return true;
}

// Expressions that may fail are evaluated for more rows than SQL would: for those that index conditions
// leave, before other conditions are applied.
static bool attempt_on_server(Attempt *attempt, column::RemoteRows *rows) {
    const AggregateQuestion &question = *attempt->question;
    MemoryContextReset(question.keep);
    CompiledAggregate *compiled = copy_compiled(question, *attempt->compiled);
    const AggregateParts parts = column::make_parts(rows->view);
    InputMaker *maker =
        begin_inputs(*compiled, parts, question.index, question.context, question.keep, attempt->memory);
    column::RemoteCodes codes = {rows, {}};
    maker->remote_codes = &codes;
    const char *problem = nullptr;
    if (!join_filters(compiled))
        problem = "the conditions have too many steps";
    else if (!make_all_inputs(maker))
        problem = maker->problem;
    else if (!lay_out_keys(*maker, &compiled->program))
        problem = "a grouping column's values are too far apart";
    if (problem != nullptr) {
        client::decline(client::RequestKind::Aggregate, rows->choice.path, problem);
        return false;
    }
    const bool has_place = has_variants(*maker);
    leave_out_accumulators(*maker, has_place, list_length(question.query.aggregates), compiled);
    begin_answer(question, *maker, has_place, compiled, attempt->answer);
    MemoryContext caller = MemoryContextSwitchTo(question.keep);
    gpu_engine::GroupTable groups;
    const bool answered = column::aggregate_on_server(rows, parts, compiled->program, maker->inputs,
                                                      maker->memory, expected_groups(question),
                                                      order_of_groups(question.query, *compiled), &groups);
    if (answered)
        take_groups(question, *compiled, groups, attempt->answer);
    MemoryContextSwitchTo(caller);
    return answered;
}

static bool is_answered_by_server(Attempt *attempt, const column::Condition &condition,
                                  uint64 *heap_fetches) {
    const AggregateQuestion &question = *attempt->question;
    const column::RemoteQuestion remote = {client::RequestKind::Aggregate,
                                           static_cast<int>(attempt->compiled->program.input_count),
                                           expected_groups(question), true};
    bool answered = false;
    const auto work = [&] {
        answered = column::with_rows_on_server(
            question.heap, question.index, question.snapshot, attempt->format, condition, remote,
            [attempt](column::RemoteRows *rows) { return attempt_on_server(attempt, rows); }, heap_fetches);
    };
    if (!may_fail(*attempt->compiled)) {
        work();
        return answered;
    }
    // Not for rows that a barrier hides, and not where no subtransaction can be started.
    if (question.query.has_barrier || IsInParallelMode())
        return false;
    ErrorData *error = try_in_subtransaction(CurrentMemoryContext, work);
    if (error == nullptr)
        return answered;
    if (!is_about_values(error->sqlerrcode))
        ReThrowError(error);
    FreeErrorData(error);
    return false;
}

// ---- the whole --------------------------------------------------------------------------------------------

// Does the order in which expressions are evaluated matter, since one that fails may be kept from it by
// another one?
static bool needs_guard(const CompiledAggregate &compiled) {
    return compiled.unsafe_conditions > 1 || compiled.has_unsafe_filter;
}

static void run_attempts(Attempt *state, const column::Condition &condition, uint64 *heap_fetches) {
    const AggregateQuestion &question = *state->question;
    *heap_fetches =
        column::with_rows(question.heap, question.index, question.snapshot, state->format, condition,
                          [state](ColumnView *view) { state->problem = attempt(state, view); });
}

// nullptr, or why the index can't answer.
static const char *answer_from_pages(Attempt *state, const column::Condition &condition,
                                     uint64 *heap_fetches) {
    if (!needs_guard(*state->compiled)) {
        run_attempts(state, condition, heap_fetches);
        return state->problem;
    }
    // No subtransaction can be started there.
    if (IsInParallelMode())
        return "an expression may raise an error";
    ErrorData *error =
        try_in_subtransaction(CurrentMemoryContext, [&] { run_attempts(state, condition, heap_fetches); });
    if (error == nullptr)
        return state->problem;
    if (!is_about_values(error->sqlerrcode))
        ReThrowError(error);
    FreeErrorData(error);
    return "an expression raised an error";
}

const char *answer_question(const AggregateQuestion &question, AggregateAnswer *answer,
                            uint64 *heap_fetches) {
    *heap_fetches = 0;
    const column::Format *format = column::make_format(question.index);
    bool has_codes[column::kMaxColumns];
    const column::IndexSummary summary = column::summarise_columns(question.index, *format);
    for (int i = 0; i < format->columns; i++)
        has_codes[i] = summary.column[i].has_codes;
    const IndexColumns columns = {format, question.index->rd_opfamily, question.index->rd_indcollation,
                                  has_codes};
    auto *compiled = allocate<CompiledAggregate>(1);
    const char *problem = compile_aggregate(question.query, columns, question.context, compiled);
    if (problem != nullptr)
        return problem;
    column::Condition condition;
    make_index_condition(question, columns, *compiled, &condition);
    Attempt state = {&question, format, compiled, answer, get_hash_memory_limit(), nullptr};
    if (is_answered_by_server(&state, condition, heap_fetches))
        return nullptr;
    const client::PagedRequest request = client::begin_paged(client::RequestKind::Aggregate, 1);
    state.problem = answer_from_pages(&state, condition, heap_fetches);
    client::end_paged(request);
    client::note_request_done(question.index, client::RequestKind::Aggregate);
    return state.problem;
}

}  // namespace pg_gpu::plan
