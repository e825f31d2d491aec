#include "plan/aggregate_answer.h"

#include "column/aggregate_run.h"
#include "column/column.h"
#include "compat.h"
#include "plan/aggregate_distinct.h"
#include "plan/aggregate_failure.h"
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

// False: what a column is compared with raised an error.
static bool make_scan_key(const AggregateQuestion &question, const IndexColumns &columns,
                          const IndexCondition &condition, ScanKeyData *key) {
    *key = {};
    key->sk_attno = static_cast<AttrNumber>(condition.column + 1);
    if (condition.argument == nullptr) {
        key->sk_flags = SK_ISNULL | (condition.is_null ? SK_SEARCHNULL : SK_SEARCHNOTNULL);
        return true;
    }
    int strategy;
    Oid left;
    get_op_opfamily_properties(condition.operator_oid, columns.families[condition.column], false, &strategy,
                               &left, &key->sk_subtype);
    key->sk_strategy = static_cast<StrategyNumber>(strategy);
    key->sk_collation = condition.collation;
    fmgr_info(get_opcode(condition.operator_oid), &key->sk_func);
    Const argument;
    if (!evaluate_without_columns(condition.argument, question.context, &argument))
        return false;
    key->sk_argument = argument.constvalue;
    key->sk_flags = (argument.constisnull ? SK_ISNULL : 0) | (condition.is_array ? SK_SEARCHARRAY : 0);
    return true;
}

static bool make_index_condition(const AggregateQuestion &question, const IndexColumns &columns,
                                 const CompiledAggregate &compiled, column::Condition *made) {
    const int count = list_length(compiled.index_conditions);
    auto *keys = allocate_zeroed<ScanKeyData>(static_cast<size_t>(count) + 1);
    for (int i = 0; i < count; i++) {
        IndexCondition condition;
        read_index_condition(static_cast<Node *>(list_nth(compiled.index_conditions, i)), columns,
                             &condition);
        if (!make_scan_key(question, columns, condition, &keys[i]))
            return false;
    }
    column::make_condition(question.index, *columns.format, keys, count, made);
    return true;
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
static bool has_unsafe_input(const CompiledAggregate &compiled) {
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
    const CompiledAggregate &compiled = *maker->compiled;
    for (uint32 i = 0; i < compiled.distinct_count; i++) {
        const DistinctArgument &distinct = compiled.distinct[i];
        if (!make_inputs(maker, &distinct.step, 1) ||
            (distinct.filter != no_aggregate_step && !make_inputs(maker, &distinct.filter, 1)))
            return false;
    }
    return program.filter == no_aggregate_step || make_inputs(maker, &program.filter, 1);
}

// What makes expressions fail must have passed WHERE before: those that can't fail are part of the program
// only if nothing else can.
static const char *prepare_rows(InputMaker *maker, ColumnView *view, CompiledAggregate *compiled) {
    static const char *const overflow = "an expression overflows, or divides by zero";
    compiled->program.filter = no_aggregate_step;
    if (!has_unsafe_input(*compiled) && compiled->unsafe_filter == no_aggregate_step)
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

// ---- distinct values --------------------------------------------------------------------------------------

static constexpr uint32 kMaxPasses = 256;

namespace {

// What an argument of aggregates of distinct values is added up with.
struct DistinctQuestion {
    AggregateProgram program;
    DistinctNumbers numbers;
};

}  // namespace

// By argument, in the current memory context; nullptr when the maker has a problem with one.
static DistinctQuestion *make_distinct_questions(InputMaker *maker, const CompiledAggregate &compiled) {
    auto *questions = allocate<DistinctQuestion>(compiled.distinct_count + 1);
    for (uint32 i = 0; i < compiled.distinct_count; i++)
        if (!make_pair_program(maker, compiled, compiled.distinct[i], &questions[i].program) ||
            !make_distinct_numbers(maker, compiled, i, &questions[i].numbers))
            return nullptr;
    return questions;
}

// The groups, what distinct values add up to, and pairs share the memory.
static size_t memory_of_groups(const InputMaker &maker, const CompiledAggregate &compiled) {
    return compiled.distinct_count == 0 ? maker.memory : maker.memory / 4;
}
static size_t memory_of_pairs(const InputMaker &maker) {
    return maker.memory / 2;
}

// The pairs come in so many passes, in each of which memory has room for all that there are.
static AggregateOutcome add_argument(const AggregateParts &parts, const InputMaker &maker,
                                     const DistinctQuestion &question, uint32 passes,
                                     DistinctGroups *distinct) {
    AggregateOutcome outcome = AggregateOutcome::answered;
    clear_argument(distinct, question.numbers.argument);
    for (uint32 pass = 0; pass < passes && outcome == AggregateOutcome::answered; pass++) {
        MemoryContext context =
            AllocSetContextCreate(CurrentMemoryContext, "GpuAggregate pairs", ALLOCSET_DEFAULT_SIZES);
        MemoryContext caller = MemoryContextSwitchTo(context);
        column::AggregateGroups *pairs =
            column::begin_groups(question.program, memory_of_pairs(maker), passes, pass);
        outcome = column::aggregate_parts(parts, question.program, maker.inputs, pairs);
        if (outcome == AggregateOutcome::answered)
            add_pairs(distinct, question.numbers, question.program, column::finish_groups(pairs));
        MemoryContextSwitchTo(caller);
        MemoryContextDelete(context);
    }
    return outcome;
}

// Adds to the groups what distinct values add up to, in the current memory context.
static AggregateOutcome add_distinct(const AggregateParts &parts, const InputMaker &maker,
                                     const CompiledAggregate &compiled, const DistinctQuestion *questions,
                                     gpu_engine::GroupTable *groups) {
    if (compiled.distinct_count == 0)
        return AggregateOutcome::answered;
    if (bytes_of_distinct(compiled, groups->groups) > memory_of_groups(maker, compiled) &&
        compiled.program.key_count > 0)
        return AggregateOutcome::too_many_groups;
    DistinctGroups distinct = begin_distinct(compiled, *groups);
    for (uint32 i = 0; i < compiled.distinct_count; i++) {
        AggregateOutcome outcome = AggregateOutcome::too_many_groups;
        for (uint32 passes = 1; outcome == AggregateOutcome::too_many_groups && passes <= kMaxPasses;
             passes *= 4)
            outcome = add_argument(parts, maker, questions[i], passes, &distinct);
        if (outcome != AggregateOutcome::answered)
            return outcome;
    }
    *groups = distinct.table;
    return AggregateOutcome::answered;
}

// ---- passes -----------------------------------------------------------------------------------------------

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
                                   const InputMaker &maker, const CompiledAggregate &compiled,
                                   const DistinctQuestion *distinct, uint32 passes, AggregateAnswer *answer) {
    MemoryContext context =
        AllocSetContextCreate(question.keep, "GpuAggregate groups", ALLOCSET_DEFAULT_SIZES);
    AggregateOutcome outcome = AggregateOutcome::answered;
    answer->passes = passes;
    for (uint32 pass = 0; pass < passes && outcome == AggregateOutcome::answered; pass++) {
        MemoryContextReset(context);
        MemoryContext caller = MemoryContextSwitchTo(context);
        column::AggregateGroups *groups =
            column::begin_groups(compiled.program, memory_of_groups(maker, compiled), passes, pass);
        MemoryContextSwitchTo(caller);
        outcome = column::aggregate_parts(parts, compiled.program, maker.inputs, groups);
        if (outcome != AggregateOutcome::answered)
            break;
        MemoryContextSwitchTo(context);
        gpu_engine::GroupTable table = column::finish_groups(groups);
        outcome = add_distinct(parts, maker, compiled, distinct, &table);
        if (outcome == AggregateOutcome::answered)
            take_groups(question, compiled, table, answer);
        MemoryContextSwitchTo(caller);
        if (passes > 1 && outcome == AggregateOutcome::answered)
            spill_groups(question, answer);
    }
    if (passes > 1 || outcome != AggregateOutcome::answered)
        MemoryContextDelete(context);
    return outcome;
}

static const char *attempt(Attempt *attempt, ColumnView *view) {
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
    choose_exponents(*maker, &compiled->program);
    leave_out_accumulators(*maker, has_place, list_length(question.query.aggregates), compiled);
    const DistinctQuestion *distinct = make_distinct_questions(maker, *compiled);
    if (distinct == nullptr)
        return maker->problem;
    AggregateOutcome outcome = AggregateOutcome::too_many_groups;
    for (uint32 passes = 1; outcome == AggregateOutcome::too_many_groups && passes <= kMaxPasses;
         passes *= 4) {
        begin_answer(question, *maker, has_place, compiled, attempt->answer);
        outcome = run_passes(question, parts, *maker, *compiled, distinct, passes, attempt->answer);
        // A run that was stale has shown anything.
        if (column::is_stale(view))
            return nullptr;
    }
    if (outcome == AggregateOutcome::failed)
        return "an expression overflows or divides by zero, or a sum of floats isn't exact";
    return outcome == AggregateOutcome::too_many_groups ? "work_mem has no room for the groups" : nullptr;
}

// ---- the server's attempt ---------------------------------------------------------------------------------

// One filter of both: the server's rows are gone through once.
static bool join_filters(CompiledAggregate *compiled) {
    return add_filter(&compiled->program, compiled->safe_filter) &&
           add_filter(&compiled->program, compiled->unsafe_filter);
}

// At most as many as there are rows, and as many of each group as the argument has values.
static uint64 expected_pairs(const AggregateQuestion &question, const column::RemoteRows &rows,
                             const AggregateProgram &program) {
    uint64 entries = 1;
    for (int run = 0; run < rows.set.count; run++)
        entries += rows.set.runs[run].entries;
    const uint32 bits = program.key[program.key_count - 1].bits;
    const uint64 groups = program.key_count == 1 ? 1 : expected_groups(question);
    return bits >= 32 || groups > entries >> bits ? entries : groups << bits;
}

static bool add_distinct_on_server(const AggregateQuestion &question, column::RemoteRows *rows,
                                   const AggregateParts &parts, const InputMaker &maker,
                                   const CompiledAggregate &compiled, const DistinctQuestion *questions,
                                   gpu_engine::GroupTable *groups) {
    if (compiled.distinct_count == 0)
        return true;
    if (bytes_of_distinct(compiled, groups->groups) > memory_of_groups(maker, compiled) &&
        compiled.program.key_count > 0) {
        client::decline(client::RequestKind::Aggregate, rows->choice.path,
                        "work_mem has no room for the groups");
        return false;
    }
    DistinctGroups distinct = begin_distinct(compiled, *groups);
    for (uint32 i = 0; i < compiled.distinct_count; i++) {
        MemoryContext context =
            AllocSetContextCreate(CurrentMemoryContext, "GpuAggregate pairs", ALLOCSET_DEFAULT_SIZES);
        MemoryContext caller = MemoryContextSwitchTo(context);
        const AggregateProgram &program = questions[i].program;
        gpu_engine::GroupTable pairs;
        const bool answered = column::aggregate_on_server(
            rows, parts, program, maker.inputs, memory_of_pairs(maker),
            expected_pairs(question, *rows, program), gpu_engine::AggregateTop{}, &pairs);
        if (answered)
            add_pairs(&distinct, questions[i].numbers, program, pairs);
        MemoryContextSwitchTo(caller);
        MemoryContextDelete(context);
        if (!answered)
            return false;
    }
    *groups = distinct.table;
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
    choose_exponents(*maker, &compiled->program);
    leave_out_accumulators(*maker, has_place, list_length(question.query.aggregates), compiled);
    const DistinctQuestion *distinct = make_distinct_questions(maker, *compiled);
    if (distinct == nullptr) {
        client::decline(client::RequestKind::Aggregate, rows->choice.path, maker->problem);
        return false;
    }
    begin_answer(question, *maker, has_place, compiled, attempt->answer);
    MemoryContext caller = MemoryContextSwitchTo(question.keep);
    gpu_engine::AggregateTop top = order_of_groups(question.query, *compiled);
    // The server doesn't know what distinct values add up to.
    if (top.word >= compiled->program.key_words + compiled->program.value_words)
        top = {};
    gpu_engine::GroupTable groups;
    const bool answered = column::aggregate_on_server(rows, parts, compiled->program, maker->inputs,
                                                      memory_of_groups(*maker, *compiled),
                                                      expected_groups(question), top, &groups) &&
                          add_distinct_on_server(question, rows, parts, *maker, *compiled, distinct, &groups);
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
    if (!has_unsafe_input(*attempt->compiled)) {
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
    return compiled.unsafe_conditions > 1 || compiled.has_unsafe_branch;
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
    if (!make_index_condition(question, columns, *compiled, &condition))
        return "an expression raised an error";
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
