#include "plan/query/aggregate_output.h"

#include "column/query/aggregate_run.h"
#include "column/column.h"
#include "compat.h"
#include "gpu_engine/aggregate_steps.h"
#include "plan/query/aggregate_distinct.h"
#include "plan/query/aggregate_failure.h"
#include "plan/query/aggregate_key_rows.h"
#include "plan/query/aggregate_listed.h"
#include "plan/query/aggregate_server.h"
#include "plan/query/aggregate_top.h"
#include "plan/query/sort_output.h"
#include "subtransaction.h"
#include "request_kinds.h"

namespace pg_gpu::plan {

using column::AggregateParts;
using gpu_engine::AggregateKey;
using gpu_engine::AggregateOutcome;
using gpu_engine::AggregateProgram;
using gpu_engine::no_aggregate_step;

namespace {

// One try to answer.
struct Attempt {
    const AggregateRequest *request;
    CompiledAggregate *compiled;
    AggregateOutput *output;
    size_t memory;
    const char *problem;
};

}  // namespace

// ---- conditions -------------------------------------------------------------------------------------------

bool make_scan_key(ExprContext *context, const IndexColumns &columns, const IndexCondition &condition,
                   ScanKeyData *key) {
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
    if (!evaluate_without_columns(condition.argument, context, &argument))
        return false;
    key->sk_argument = argument.constvalue;
    key->sk_flags = (argument.constisnull ? SK_ISNULL : 0) | (condition.is_array ? SK_SEARCHARRAY : 0);
    return true;
}

static bool make_index_conditions(const AggregateRequest &request, const IndexColumns &columns,
                                  const CompiledAggregate &compiled) {
    const int count = list_length(compiled.index_conditions);
    auto *keys = allocate_zeroed<ScanKeyData>(static_cast<size_t>(count) + 1);
    for (int i = 0; i < count; i++) {
        IndexCondition condition;
        read_index_condition(static_cast<Node *>(list_nth(compiled.index_conditions, i)), columns,
                             &condition);
        if (!make_scan_key(request.context, columns, condition, &keys[i]))
            return false;
    }
    for (int i = 0; i < request.member_count; i++) {
        AggregateMember *member = &request.member[i];
        column::make_condition(member->index, *member->format, keys, count, &member->condition);
        member->condition.among = request.among;
    }
    return true;
}

static uint64 expected_groups(const AggregateRequest &request) {
    constexpr double most = 1e9;
    return static_cast<uint64>(Max(Min(request.groups, most), 1.0));
}

// ---- an attempt -------------------------------------------------------------------------------------------

static uint64 **selections(const AggregateParts &parts) {
    auto **selected = allocate<uint64 *>(parts.count + 1);
    for (int part = 0; part < parts.count; part++)
        selected[part] = const_cast<uint64 *>(parts.part[part].selected);
    return selected;
}

// Leaves the rows selected of which the condition is true.
static bool apply_filter(InputBuilder *builder, uint16 filter) {
    return make_inputs(builder, &filter, 1) &&
           column::select_by_step(*builder->parts, builder->compiled->program, filter, builder->inputs,
                                  selections(*builder->parts));
}

// May an expression over a column fail?
static bool has_unsafe_input(const CompiledAggregate &compiled) {
    for (uint32 i = 0; i < compiled.program.input_count; i++)
        if (compiled.input[i].may_fail)
            return true;
    return false;
}

static bool make_all_inputs(InputBuilder *builder) {
    const AggregateProgram &program = builder->compiled->program;
    for (uint32 i = 0; i < program.key_count; i++)
        if (!make_inputs(builder, &program.key[i].step, 1))
            return false;
    for (uint32 i = 0; i < program.accumulator_count; i++) {
        const gpu_engine::Accumulator &accumulator = program.accumulator[i];
        if ((accumulator.filter != no_aggregate_step && !make_inputs(builder, &accumulator.filter, 1)) ||
            (accumulator.step != no_aggregate_step && !make_inputs(builder, &accumulator.step, 1)))
            return false;
    }
    const CompiledAggregate &compiled = *builder->compiled;
    for (const KeyResult &key : compiled.key)
        if (key.is_numeric && !make_inputs(builder, &key.scale, 1))
            return false;
    for (uint32 i = 0; i < compiled.distinct_count; i++) {
        const DistinctArgument &distinct = compiled.distinct[i];
        if (!make_inputs(builder, &distinct.step, 1) ||
            (distinct.filter != no_aggregate_step && !make_inputs(builder, &distinct.filter, 1)))
            return false;
    }
    return program.filter == no_aggregate_step || make_inputs(builder, &program.filter, 1);
}

// What makes expressions fail must have passed WHERE before: those that can't fail are part of the program
// only if nothing else can.
static const char *prepare_rows(InputBuilder *builder, CompiledAggregate *compiled) {
    static const char *const overflow = "an expression overflows, or divides by zero";
    compiled->program.filter = no_aggregate_step;
    if (!has_unsafe_input(*compiled) && compiled->unsafe_filter == no_aggregate_step)
        compiled->program.filter = compiled->safe_filter;
    else if (compiled->safe_filter != no_aggregate_step && !apply_filter(builder, compiled->safe_filter))
        return builder->problem != nullptr ? builder->problem : overflow;
    if (compiled->unsafe_filter != no_aggregate_step && !apply_filter(builder, compiled->unsafe_filter))
        return builder->problem != nullptr ? builder->problem : overflow;
    return make_all_inputs(builder) ? nullptr : builder->problem;
}

// The program with what is known of the inputs now; in the answer's memory context.
static CompiledAggregate *copy_compiled(const AggregateRequest &request, const CompiledAggregate &compiled) {
    MemoryContext caller = MemoryContextSwitchTo(request.keep);
    auto *copy = allocate<CompiledAggregate>(1);
    *copy = compiled;
    const auto results = static_cast<size_t>(list_length(request.query.aggregates));
    copy->result = allocate<AggregateResult>(results + 1);
    memcpy(copy->result, compiled.result, results * sizeof(AggregateResult));
    MemoryContextSwitchTo(caller);
    return copy;
}

static void begin_result(const AggregateRequest &request, const InputBuilder &builder, bool has_place,
                         const CompiledAggregate *compiled, AggregateOutput *output) {
    const uint32 inputs = compiled->program.input_count;
    MemoryContext caller = MemoryContextSwitchTo(request.keep);
    auto *common = allocate<CommonValues>(inputs + 1);
    memcpy(common, builder.common, inputs * sizeof(CommonValues));
    auto *scale = allocate<uint8>(inputs + 1);
    memcpy(scale, builder.scale, inputs);
    auto *centre = allocate<uint64>(2 * size_t{inputs} + 1);
    memcpy(centre, builder.centre, 2 * inputs * sizeof(uint64));
    MemoryContextSwitchTo(caller);
    output->compiled = compiled;
    output->key_count = list_length(request.query.keys);
    output->aggregate_count = list_length(request.query.aggregates);
    output->common = common;
    output->scale = scale;
    output->centre = centre;
    output->has_place = has_place;
    output->passes = 1;
    if (output->spilled != nullptr)
        tuplestore_clear(output->spilled);
    output->found_groups = 0;
}

// The groups so far go to the file, and their memory is free again.
static void spill_groups(const AggregateRequest &request, AggregateOutput *output) {
    const auto columns = static_cast<size_t>(request.row->natts);
    auto *values = allocate<Datum>(columns + 1);
    auto *nulls = allocate<bool>(columns + 1);
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "GpuAggregate row", ALLOCSET_SMALL_SIZES);
    KeyRows key_rows = {};
    if (output->has_place)
        begin_key_rows(&key_rows, request, *output);
    for (uint64 group = 0; group < output->groups.groups; group++) {
        CHECK_FOR_INTERRUPTS();
        MemoryContext caller = MemoryContextSwitchTo(context);
        read_group(*output, group, values, nulls);
        if (output->has_place)
            read_key_row(&key_rows, *output, group, values, nulls);
        MemoryContextSwitchTo(caller);
        tuplestore_putvalues(output->spilled, request.row, values, nulls);
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
struct DistinctRequest {
    AggregateProgram program;
    DistinctNumbers numbers;
    bool is_only_counted;  // and never NULL
};

}  // namespace

// Would the number of its pairs do, in a statement without groups?
static bool is_only_counted(const InputBuilder &builder, const CompiledAggregate &compiled, int results,
                            uint32 argument) {
    for (int i = 0; i < results; i++)
        if (compiled.result[i].distinct == argument + 1 && compiled.result[i].kind != ResultKind::Count)
            return false;
    return compiled.program.key_count == 0 && is_never_null(builder, compiled.distinct[argument].step);
}

// Makes one for each argument, in the current memory context; nullptr when the maker has a problem with one.
static DistinctRequest *make_distinct_requests(InputBuilder *builder, const CompiledAggregate &compiled,
                                               int results) {
    auto *requests = allocate<DistinctRequest>(compiled.distinct_count + 1);
    for (uint32 i = 0; i < compiled.distinct_count; i++)
        if (!make_pair_program(builder, compiled, compiled.distinct[i], &requests[i].program) ||
            !make_distinct_numbers(builder, compiled, i, &requests[i].numbers))
            return nullptr;
    for (uint32 i = 0; i < compiled.distinct_count; i++)
        requests[i].is_only_counted = is_only_counted(*builder, compiled, results, i);
    return requests;
}

// The groups, what distinct values add up to, and pairs share the memory.
static size_t memory_of_groups(const InputBuilder &builder, const CompiledAggregate &compiled) {
    return compiled.distinct_count == 0 ? builder.memory : builder.memory / 4;
}
static size_t memory_of_pairs(const InputBuilder &builder) {
    return builder.memory / 2;
}

// The pairs come in so many passes, in each of which memory has room for all that there are.
static AggregateOutcome add_argument(const AggregateParts &parts, const InputBuilder &builder,
                                     const DistinctRequest &request, uint32 passes,
                                     DistinctGroups *distinct) {
    AggregateOutcome outcome = AggregateOutcome::answered;
    clear_argument(distinct, request.numbers.argument);
    for (uint32 pass = 0; pass < passes && outcome == AggregateOutcome::answered; pass++) {
        MemoryContext context =
            AllocSetContextCreate(CurrentMemoryContext, "GpuAggregate pairs", ALLOCSET_DEFAULT_SIZES);
        MemoryContext caller = MemoryContextSwitchTo(context);
        column::AggregateGroups *pairs = column::begin_groups(request.program, memory_of_pairs(builder),
                                                              column::count_rows(parts), passes, pass);
        outcome = column::aggregate_parts(parts, request.program, builder.inputs, pairs);
        if (outcome == AggregateOutcome::answered)
            add_pairs(distinct, request.numbers, request.program, column::finish_groups(pairs));
        MemoryContextSwitchTo(caller);
        MemoryContextDelete(context);
    }
    return outcome;
}

// Adds to the groups what distinct values add up to, in the current memory context.
static AggregateOutcome add_distinct(const AggregateParts &parts, const InputBuilder &builder,
                                     const CompiledAggregate &compiled, const DistinctRequest *requests,
                                     gpu_engine::GroupTable *groups) {
    if (compiled.distinct_count == 0)
        return AggregateOutcome::answered;
    if (bytes_of_distinct(compiled, groups->groups) > memory_of_groups(builder, compiled) &&
        compiled.program.key_count > 0)
        return AggregateOutcome::too_many_groups;
    DistinctGroups distinct = begin_distinct(compiled, *groups);
    for (uint32 i = 0; i < compiled.distinct_count; i++) {
        AggregateOutcome outcome = AggregateOutcome::too_many_groups;
        for (uint32 passes = 1; outcome == AggregateOutcome::too_many_groups && passes <= kMaxPasses;
             passes *= 4)
            outcome = add_argument(parts, builder, requests[i], passes, &distinct);
        if (outcome != AggregateOutcome::answered)
            return outcome;
    }
    *groups = distinct.table;
    return AggregateOutcome::answered;
}

// ---- passes -----------------------------------------------------------------------------------------------

// Takes the groups of a pass, or all of them, in the current memory context.
static void take_groups(const AggregateRequest &request, const CompiledAggregate &compiled,
                        const gpu_engine::GroupTable &groups, AggregateOutput *output) {
    output->found_groups += groups.groups;
    output->groups = groups;
    keep_top(order_of_groups(request.query, compiled), &output->groups);
}

// Adds rows up in so many passes. With several of them each takes the groups of some of the keys, all that
// memory has room for, and puts them into the file.
static AggregateOutcome run_passes(const AggregateRequest &request, const AggregateParts &parts,
                                   const InputBuilder &builder, const CompiledAggregate &compiled,
                                   const DistinctRequest *distinct, uint32 passes, AggregateOutput *output) {
    MemoryContext context =
        AllocSetContextCreate(request.keep, "GpuAggregate groups", ALLOCSET_DEFAULT_SIZES);
    AggregateOutcome outcome = AggregateOutcome::answered;
    output->passes = passes;
    for (uint32 pass = 0; pass < passes && outcome == AggregateOutcome::answered; pass++) {
        MemoryContextReset(context);
        MemoryContext caller = MemoryContextSwitchTo(context);
        column::AggregateGroups *groups = column::begin_groups(
            compiled.program, memory_of_groups(builder, compiled), column::count_rows(parts), passes, pass);
        MemoryContextSwitchTo(caller);
        outcome = column::aggregate_parts(parts, compiled.program, builder.inputs, groups);
        if (outcome != AggregateOutcome::answered)
            break;
        MemoryContextSwitchTo(context);
        gpu_engine::GroupTable table = column::finish_groups(groups);
        outcome = add_distinct(parts, builder, compiled, distinct, &table);
        if (outcome == AggregateOutcome::answered)
            take_groups(request, compiled, table, output);
        MemoryContextSwitchTo(caller);
        if (passes > 1 && outcome == AggregateOutcome::answered)
            spill_groups(request, output);
    }
    if (passes > 1 || outcome != AggregateOutcome::answered)
        MemoryContextDelete(context);
    return outcome;
}

// Where keys and accumulators lie, and what these add up, now that the inputs are known. Returns nullptr, or
// why not.
static const char *lay_out(const InputBuilder &builder, const AggregateRequest &request,
                           CompiledAggregate *compiled) {
    if (!choose_centres(builder, &compiled->program))
        return "numbers whose variance is asked for are too far apart";
    if (!lay_out_keys(builder, &compiled->program))
        return "a grouping column's values leave no number for NULL";
    lay_out_deviations(builder, list_length(request.query.aggregates), compiled);
    return lay_out_numerics(builder, list_length(request.query.aggregates), compiled);
}

// What an attempt fills in; nothing is left of one before.
static InputBuilder *begin_attempt(const Attempt &attempt, const AllRows &rows, const AggregateParts &parts,
                                   CompiledAggregate **compiled) {
    const AggregateRequest &request = *attempt.request;
    MemoryContextReset(request.keep);
    *compiled = copy_compiled(request, *attempt.compiled);
    InputBuilder *builder = begin_inputs(*compiled, parts, request.member[0].index, request.joins,
                                         request.context, request.keep, attempt.memory);
    builder->tables = tables_of_parts(rows, parts);
    builder->condition = &request.member[0].condition;
    return builder;
}

static const char *attempt(Attempt *attempt, AllRows *rows) {
    const AggregateRequest &request = *attempt->request;
    CompiledAggregate *compiled;
    const AggregateParts parts = make_all_parts(rows);
    InputBuilder *builder = begin_attempt(*attempt, *rows, parts, &compiled);
    builder->keeps_true_rows = true;
    if (!list_columns(builder))
        return builder->problem;
    const char *problem = prepare_rows(builder, compiled);
    if (problem != nullptr)
        return problem;
    if (wants_rows(request.query)) {
        problem = find_rows(request, *builder, compiled, attempt->output);
        return is_any_stale(*rows) ? nullptr : problem;
    }
    problem = lay_out(*builder, request, compiled);
    if (problem != nullptr)
        return problem;
    const bool has_place = has_variants(*builder);
    choose_exponents(*builder, &compiled->program);
    leave_out_accumulators(*builder, has_place, list_length(request.query.aggregates), compiled);
    const DistinctRequest *distinct =
        make_distinct_requests(builder, *compiled, list_length(request.query.aggregates));
    if (distinct == nullptr)
        return builder->problem;
    AggregateOutcome outcome = AggregateOutcome::too_many_groups;
    for (uint32 passes = 1; outcome == AggregateOutcome::too_many_groups && passes <= kMaxPasses;
         passes *= 4) {
        begin_result(request, *builder, has_place, compiled, attempt->output);
        outcome = run_passes(request, parts, *builder, *compiled, distinct, passes, attempt->output);
        // A run that was stale has shown anything.
        if (is_any_stale(*rows))
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

// There are at most as many pairs as rows, and as many of each group as the argument has values.
static uint64 expected_pairs(const AggregateRequest &request, uint64 entries,
                             const AggregateProgram &program) {
    const uint32 bits = program.key[program.key_count - 1].bits;
    const uint64 groups = program.key_count == 1 ? 1 : expected_groups(request);
    return bits >= 32 || groups > entries >> bits ? entries : groups << bits;
}

static bool add_distinct_on_server(const AggregateRequest &request, const AllRows &rows,
                                   const AggregateParts &parts, const InputBuilder &builder,
                                   const CompiledAggregate &compiled, const DistinctRequest *requests,
                                   gpu_engine::GroupTable *groups) {
    if (compiled.distinct_count == 0)
        return true;
    if (bytes_of_distinct(compiled, groups->groups) > memory_of_groups(builder, compiled) &&
        compiled.program.key_count > 0)
        return decline(rows, "work_mem has no room for the groups");
    DistinctGroups distinct = begin_distinct(compiled, *groups);
    for (uint32 i = 0; i < compiled.distinct_count; i++) {
        MemoryContext context =
            AllocSetContextCreate(CurrentMemoryContext, "GpuAggregate pairs", ALLOCSET_DEFAULT_SIZES);
        MemoryContext caller = MemoryContextSwitchTo(context);
        const AggregateProgram &program = requests[i].program;
        ServerRequest requested = {&rows,
                                   &parts,
                                   &program,
                                   builder.inputs,
                                   memory_of_pairs(builder),
                                   expected_pairs(request, count_entries(rows), program),
                                   {},
                                   nullptr};
        uint64 counted = column::kNotCounted;
        // Different tables' values may be the same.
        if (requests[i].is_only_counted && rows.count == 1) {
            requested.top.of_rows = gpu_engine::top_only_counts;
            requested.counted = &counted;
        }
        gpu_engine::GroupTable pairs;
        const bool answered = find_groups_on_server(requested, &pairs);
        if (answered && counted != column::kNotCounted)
            add_counted(&distinct, i, counted);
        else if (answered)
            add_pairs(&distinct, requests[i].numbers, program, pairs);
        MemoryContextSwitchTo(caller);
        MemoryContextDelete(context);
        if (!answered)
            return false;
    }
    *groups = distinct.table;
    return true;
}

// Is there one group, of which only distinct values are asked for?
static bool needs_no_rows(const CompiledAggregate &compiled, int results) {
    for (int i = 0; i < results; i++)
        if (compiled.result[i].distinct == 0)
            return false;
    return results > 0 && compiled.program.key_count == 0;
}

static bool make_empty_group(const CompiledAggregate &compiled, gpu_engine::GroupTable *groups) {
    *groups = {};
    groups->groups = 1;
    groups->value_words = compiled.program.value_words;
    groups->value_word_stride = 1;
    groups->value_group_stride = compiled.program.value_words;
    groups->values = allocate_zeroed<uint64>(compiled.program.value_words + 1);
    return true;
}

// Expressions that may fail are evaluated for more rows than SQL would: for those that index conditions
// leave, before other conditions are applied.
static bool attempt_on_server(Attempt *attempt, AllRows *rows) {
    const AggregateRequest &request = *attempt->request;
    CompiledAggregate *compiled;
    const AggregateParts parts = make_all_parts(rows);
    InputBuilder *builder = begin_attempt(*attempt, *rows, parts, &compiled);
    builder->on_server = find_parts_on_server(*rows, parts);
    builder->keeps_true_rows = uses_host(*rows) && !wants_rows(request.query);
    if (!join_filters(compiled))
        return decline(*rows, "the conditions have too many steps");
    if (!list_columns(builder))
        return decline(*rows, builder->problem);
    if (const char *reason = refuse_lists_for_server(*builder))
        return decline(*rows, reason);
    if (!make_all_inputs(builder))
        return decline(*rows, builder->problem);
    if (builder->keeps_true_rows && is_local_faster(*builder, *compiled))
        return decline(*rows, "the session keeps which rows match");
    if (wants_rows(request.query) && !give_codes_to_server(builder, *rows))
        return decline(*rows, builder->problem);
    if (wants_rows(request.query))
        return find_rows_on_server(request, rows->member[0].remote, *builder, compiled, attempt->output);
    const char *problem = lay_out(*builder, request, compiled);
    if (problem != nullptr)
        return decline(*rows, problem);
    const bool has_place = has_variants(*builder);
    choose_exponents(*builder, &compiled->program);
    leave_out_accumulators(*builder, has_place, list_length(request.query.aggregates), compiled);
    const int results = list_length(request.query.aggregates);
    const DistinctRequest *distinct = make_distinct_requests(builder, *compiled, results);
    if (distinct == nullptr || !give_codes_to_server(builder, *rows))
        return decline(*rows, builder->problem);
    begin_result(request, *builder, has_place, compiled, attempt->output);
    MemoryContext caller = MemoryContextSwitchTo(request.keep);
    gpu_engine::AggregateTop top = order_of_groups(request.query, *compiled);
    // The server doesn't know what distinct values add up to.
    if (top.word >= compiled->program.key_words + compiled->program.value_words)
        top = {};
    gpu_engine::GroupTable groups;
    const bool answered =
        (needs_no_rows(*compiled, results)
             ? make_empty_group(*compiled, &groups)
             : find_groups_on_server(
                   {rows, &parts, &compiled->program, builder->inputs, memory_of_groups(*builder, *compiled),
                    expected_groups(request), top, nullptr},
                   &groups)) &&
        add_distinct_on_server(request, *rows, parts, *builder, *compiled, distinct, &groups);
    if (answered)
        take_groups(request, *compiled, groups, attempt->output);
    MemoryContextSwitchTo(caller);
    return answered;
}

static uint32 add_to_shape(uint32 shape, std::initializer_list<uint32> numbers) {
    for (const uint32 number : numbers)
        shape = hash_combine(shape, murmurhash32(number));
    return shape;
}

// What is computed of a row, but for constants: statements that differ in these alone take about as long.
static uint32 shape_of(const CompiledAggregate &compiled) {
    const AggregateProgram &program = compiled.program;
    uint32 shape = add_to_shape(0, {compiled.safe_filter, compiled.unsafe_filter});
    for (uint32 i = 0; i < program.input_count; i++) {
        const InputSource &source = compiled.input[i];
        shape = add_to_shape(shape, {static_cast<uint32>(source.kind), static_cast<uint32>(source.column),
                                     static_cast<uint32>(source.is_joined)});
    }
    for (uint32 i = 0; i < program.step_count; i++) {
        const gpu_engine::AggregateStep &step = program.step[i];
        shape = add_to_shape(shape, {static_cast<uint32>(step.operation)});
        if (gpu_engine::takes_one(step.operation) || gpu_engine::takes_two(step.operation))
            shape = add_to_shape(shape, {step.left});
        if (gpu_engine::takes_two(step.operation))
            shape = add_to_shape(shape, {step.right});
    }
    for (uint32 i = 0; i < program.key_count; i++)
        shape = add_to_shape(shape, {program.key[i].step});
    for (uint32 i = 0; i < compiled.sort_key_count; i++)
        shape = add_to_shape(shape, {compiled.sort_key[i].step});
    for (uint32 i = 0; i < program.accumulator_count; i++) {
        const gpu_engine::Accumulator &accumulator = program.accumulator[i];
        shape = add_to_shape(shape,
                             {static_cast<uint32>(accumulator.kind), accumulator.step, accumulator.filter});
    }
    for (uint32 i = 0; i < compiled.distinct_count; i++)
        shape = add_to_shape(shape, {compiled.distinct[i].step, compiled.distinct[i].filter});
    return shape;
}

// What opens the members' views for an attempt.
static Opening opening_of(Attempt *state, bool (*work)(void *context, AllRows *rows)) {
    const AggregateRequest &request = *state->request;
    return {request.member,
            request.member_count,
            request.snapshot,
            {client::RequestKind::AggregateColumn, static_cast<int>(state->compiled->program.input_count),
             expected_groups(request), true, shape_of(*state->compiled)},
            work,
            state,
            0,
            request.blocks};
}

// The index of one of the members, which stands for all.
static Oid index_of(const Attempt &state) {
    return RelationGetRelid(state.request->member[0].index);
}

static bool is_answered_by_server(Attempt *state, uint64 *heap_fetches) {
    bool answered = false;
    const auto work = [&] {
        Opening opening = opening_of(state, [](void *context, AllRows *rows) {
            return attempt_on_server(static_cast<Attempt *>(context), rows);
        });
        answered = with_all_rows_on_server(&opening);
        *heap_fetches = opening.heap_fetches;
    };
    if (!has_unsafe_input(*state->compiled)) {
        work();
        return answered;
    }
    if (state->request->query.has_barrier || IsInParallelMode()) {
        client::note_unsuited(client::RequestKind::AggregateColumn, index_of(*state),
                              state->request->query.has_barrier
                                  ? "an expression may raise an error for rows that a security barrier hides"
                                  : "an expression may raise an error, and no subtransaction can be started");
        return false;
    }
    ErrorData *error = try_in_subtransaction(CurrentMemoryContext, work);
    if (error == nullptr)
        return answered;
    if (!is_about_values(error->sqlerrcode))
        ReThrowError(error);
    FreeErrorData(error);
    client::note_unsuited(client::RequestKind::AggregateColumn, index_of(*state),
                          "an expression raised an error");
    return false;
}

// ---- the whole --------------------------------------------------------------------------------------------

static void run_attempts(Attempt *state, uint64 *heap_fetches) {
    Opening opening = opening_of(state, [](void *context, AllRows *rows) {
        auto *attempted = static_cast<Attempt *>(context);
        attempted->problem = attempt(attempted, rows);
        return true;
    });
    with_all_rows(&opening);
    *heap_fetches = opening.heap_fetches;
}

// nullptr, or why the index can't answer.
static const char *find_groups_on_pages(Attempt *state, uint64 *heap_fetches) {
    if (!needs_guard(*state->compiled)) {
        run_attempts(state, heap_fetches);
        return state->problem;
    }
    // No subtransaction can be started there.
    if (IsInParallelMode())
        return "an expression may raise an error";
    ErrorData *error =
        try_in_subtransaction(CurrentMemoryContext, [&] { run_attempts(state, heap_fetches); });
    if (error == nullptr)
        return state->problem;
    if (!is_about_values(error->sqlerrcode))
        ReThrowError(error);
    FreeErrorData(error);
    return "an expression raised an error";
}

// Makes the members' formats. A column of the summary has codes if all members have them.
static void describe_members(const AggregateRequest &request, column::IndexSummary *summary) {
    for (int i = 0; i < request.member_count; i++) {
        AggregateMember *member = &request.member[i];
        member->format = column::make_format(member->index);
        const column::IndexSummary one = column::summarise_columns(member->index, *member->format);
        if (i == 0)
            *summary = one;
        else
            narrow_summary(summary, one, member->format->columns);
    }
}

const char *find_groups_of_request(const AggregateRequest &request, AggregateOutput *output,
                                   uint64 *heap_fetches) {
    *heap_fetches = 0;
    column::IndexSummary summary;
    describe_members(request, &summary);
    const AggregateMember &first = request.member[0];
    const IndexColumns columns = describe_columns(first.format, first.index->rd_opfamily,
                                                  first.index->rd_indcollation, summary, request.query.joins);
    auto *compiled = allocate<CompiledAggregate>(1);
    const char *problem = compile_aggregate(request.query, columns, request.context, compiled);
    if (problem != nullptr)
        return problem;
    if (compiled->has_place && request.member_count > 1)
        return "equal grouping columns may look different in other partitions or children";
    if (!make_index_conditions(request, columns, *compiled))
        return "an expression raised an error";
    for (int i = 0; i < request.member_count; i++)
        pgstat_count_index_scan(request.member[i].index);
    Attempt state = {&request, compiled, output, request.memory, nullptr};
    if (request.among != nullptr)
        client::note_unsuited(client::RequestKind::AggregateColumn, index_of(state),
                              "other indexes tell which rows are wanted");
    else if (column::is_all(request.blocks) && is_answered_by_server(&state, heap_fetches))
        return nullptr;
    const client::PagedRequest paged = client::begin_paged(client::RequestKind::AggregateColumn, 1);
    state.problem = find_groups_on_pages(&state, heap_fetches);
    client::end_paged(paged);
    for (int i = 0; i < request.member_count; i++)
        client::note_request_done(request.member[i].index, client::RequestKind::AggregateColumn);
    return state.problem;
}

}  // namespace pg_gpu::plan
