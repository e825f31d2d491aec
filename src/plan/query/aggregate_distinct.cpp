#include "plan/query/aggregate_distinct.h"

#include "gpu_engine/aggregate_sums.h"
#include "plan/query/aggregate_numeric.h"

namespace pg_gpu::plan {

using gpu_engine::AggregateKey;
using gpu_engine::AggregateProgram;
using gpu_engine::GroupTable;
using gpu_engine::no_aggregate_step;

// ---- the program ------------------------------------------------------------------------------------------

static void append_key(AggregateProgram *program, uint16 step, bool may_be_null) {
    AggregateKey *key = &program->key[program->key_count++];
    *key = {};
    key->step = step;
    key->may_be_null = may_be_null;
}

bool make_pair_program(InputBuilder *builder, const CompiledAggregate &compiled,
                       const DistinctArgument &argument, AggregateProgram *program) {
    *program = compiled.program;
    // The first accumulator counts rows.
    program->accumulator_count = 1;
    program->value_words = 1;
    if (!add_filter(program, argument.filter)) {
        builder->problem = "the conditions have too many steps";
        return false;
    }
    append_key(program, argument.step, argument.null_step == no_aggregate_step);
    if (argument.null_step != no_aggregate_step)
        append_key(program, argument.null_step, false);
    if (!lay_out_keys(*builder, program)) {
        builder->problem = "values that are to be distinct leave no number for NULL";
        return false;
    }
    return true;
}

// ---- groups -----------------------------------------------------------------------------------------------

size_t bytes_of_distinct(const CompiledAggregate &compiled, uint64 groups) {
    const AggregateProgram &program = compiled.program;
    const uint64 words = program.key_words + program.value_words + compiled.distinct_count * kDistinctWords;
    // A table of slots is between two and four times as long as there are groups.
    return groups * (words * sizeof(uint64) + 4 * sizeof(uint32));
}

static uint64 hash_of_keys(const DistinctGroups &groups, const GroupTable &table, uint64 group) {
    uint64 hash = 0;
    for (uint32 word = 0; word < groups.table.key_words; word++) {
        hash = (hash ^ (table.key(group, word) & groups.key_mask[word])) * UINT64CONST(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

static bool has_keys_of(const DistinctGroups &groups, uint64 group, const GroupTable &pairs, uint64 pair) {
    for (uint32 word = 0; word < groups.table.key_words; word++)
        if (groups.table.key(group, word) != (pairs.key(pair, word) & groups.key_mask[word]))
            return false;
    return true;
}

static constexpr uint64 kRowsPerInterrupt = 65536;

static void fill_slots(DistinctGroups *groups) {
    uint64 room = 16;
    while (room < 2 * groups->table.groups)
        room *= 2;
    groups->mask = room - 1;
    groups->slots = allocate_zeroed<uint32>(room);
    for (uint64 group = 0; group < groups->table.groups; group++) {
        if (group % kRowsPerInterrupt == 0)
            CHECK_FOR_INTERRUPTS();
        uint64 slot = hash_of_keys(*groups, groups->table, group) & groups->mask;
        while (groups->slots[slot] != 0)
            slot = (slot + 1) & groups->mask;
        groups->slots[slot] = static_cast<uint32>(group) + 1;
    }
}

DistinctGroups begin_distinct(const CompiledAggregate &compiled, const GroupTable &groups) {
    DistinctGroups made = {};
    made.compiled = &compiled;
    const AggregateProgram &program = compiled.program;
    for (uint32 i = 0; i < program.key_count; i++)
        made.key_mask[program.key[i].word] |= column::low_bits(program.key[i].bits) << program.key[i].shift;
    const uint32 words = groups.value_words + compiled.distinct_count * kDistinctWords;
    made.words = allocate_zeroed<uint64>(groups.groups * words + 1);
    for (uint64 group = 0; group < groups.groups; group++)
        for (uint32 word = 0; word < groups.value_words; word++)
            made.words[group * words + word] = groups.value(group, word);
    made.table = groups;
    made.table.value_words = words;
    made.table.value_word_stride = 1;
    made.table.value_group_stride = words;
    made.table.values = made.words;
    if (program.key_count > 0)
        fill_slots(&made);
    return made;
}

// The place of the pair's group; the number of groups when it isn't among them.
static uint64 find_group(const DistinctGroups &groups, const GroupTable &pairs, uint64 pair) {
    if (groups.compiled->program.key_count == 0)
        return 0;
    uint64 slot = hash_of_keys(groups, pairs, pair) & groups.mask;
    while (groups.slots[slot] != 0) {
        const uint64 group = groups.slots[slot] - 1U;
        if (has_keys_of(groups, group, pairs, pair))
            return group;
        slot = (slot + 1) & groups.mask;
    }
    return groups.table.groups;
}

// ---- values -----------------------------------------------------------------------------------------------

// Numerics are scaled alike: the argument's common values become integers, if they aren't any.
bool make_distinct_numbers(InputBuilder *builder, const CompiledAggregate &compiled, uint32 argument,
                           DistinctNumbers *numbers) {
    const DistinctArgument &distinct = compiled.distinct[argument];
    *numbers = {};
    numbers->argument = argument;
    if (!distinct.is_numeric)
        return true;
    if (builder->has_variants[distinct.input]) {
        builder->problem = "equal numerics show different scales, one of which a sum of distinct values has";
        return false;
    }
    if (compiled.input[distinct.input].kind == SourceKind::Wide) {
        numbers->shown = static_cast<uint8>(builder->shown[distinct.input]);
        return true;
    }
    const CommonValues &common = builder->common[distinct.input];
    const size_t bytes = common.count * (2 * sizeof(uint64) + sizeof(uint8));
    if (bytes > builder->memory) {
        builder->problem = "work_mem has no room for a dictionary's values";
        return false;
    }
    builder->memory -= bytes;
    auto *wide = allocate<uint64>(2 * uint64{common.count} + 1);
    auto *scales = allocate<uint8>(common.count + 1);
    for (uint32 i = 0; i < common.count; i++) {
        if (i % kRowsPerInterrupt == 0)
            CHECK_FOR_INTERRUPTS();
        if (!read_wide(DatumGetNumeric(common.values[i]), &wide[2 * i], &scales[i])) {
            builder->problem = "a numeric isn't finite, or has too many digits";
            return false;
        }
    }
    WideNumbers all = {};
    add_wide_map(&all, wide, scales, common.count);
    if (!scale_wide(&all, common.count, &builder->scale[distinct.input])) {
        builder->problem = "sums of numerics may have too many digits";
        return false;
    }
    numbers->wide = wide;
    numbers->scales = scales;
    numbers->count = common.count;
    return true;
}

// Is the pair's value NULL? Its code is that of the argument's key, less one where that has room for NULL.
static bool read_argument(const DistinctArgument &argument, const AggregateProgram &program,
                          const GroupTable &pairs, uint64 pair, uint64 *code) {
    const auto code_of = [&](const AggregateKey &key) { return code_of_key(pairs, pair, key); };
    if (argument.null_step != no_aggregate_step) {
        *code = code_of(program.key[program.key_count - 2]);
        return code_of(program.key[program.key_count - 1]) == 1;
    }
    const AggregateKey &key = program.key[program.key_count - 1];
    *code = code_of(key);
    if (!key.may_be_null)
        return false;
    return (*code)-- == 0;
}

// Adds pairs of integers to the words of the only group. They may be as many as rows, and what they add up to
// stays in registers here.
static void add_pairs_of_one_group(const DistinctArgument &argument, const AggregateProgram &program,
                                   const AggregateKey &key, const GroupTable &pairs, uint64 *words) {
    uint64 count = 0;
    gpu_engine::UInt128 sum = 0;
    for (uint64 pair = 0; pair < pairs.groups; pair++) {
        if (pair % kRowsPerInterrupt == 0)
            CHECK_FOR_INTERRUPTS();
        uint64 code;
        if (read_argument(argument, program, pairs, pair, &code))
            continue;
        count++;
        sum += gpu_engine::wide_of_number(static_cast<int64>(code + static_cast<uint64>(key.least)));
    }
    words[kDistinctCount] += count;
    gpu_engine::add_wide(words + kDistinctSum, sum);
}

void add_pairs(DistinctGroups *groups, const DistinctNumbers &numbers, const AggregateProgram &program,
               const GroupTable &pairs) {
    const DistinctArgument &argument = groups->compiled->distinct[numbers.argument];
    const uint64 stride = groups->table.value_group_stride;
    uint64 *first = groups->words + groups->compiled->program.value_words + numbers.argument * kDistinctWords;
    const AggregateKey &key =
        program.key[program.key_count - (argument.null_step == no_aggregate_step ? 1 : 2)];
    if (groups->compiled->program.key_count == 0 && groups->table.groups == 1 && numbers.wide == nullptr) {
        add_pairs_of_one_group(argument, program, key, pairs, first);
        first[kDistinctScale] = numbers.shown;
        return;
    }
    for (uint64 pair = 0; pair < pairs.groups; pair++) {
        if (pair % kRowsPerInterrupt == 0)
            CHECK_FOR_INTERRUPTS();
        uint64 code;
        const uint64 group = find_group(*groups, pairs, pair);
        if (group == groups->table.groups || read_argument(argument, program, pairs, pair, &code))
            continue;
        uint64 *words = first + group * stride;
        words[kDistinctCount]++;
        if (numbers.wide == nullptr) {
            const auto number = static_cast<int64>(code + static_cast<uint64>(key.least));
            gpu_engine::add_wide(words + kDistinctSum, gpu_engine::wide_of_number(number));
            words[kDistinctScale] = numbers.shown;
        } else if (code < numbers.count) {
            gpu_engine::add_wide(words + kDistinctSum, gpu_engine::wide_of_words(numbers.wide[2 * code],
                                                                                 numbers.wide[2 * code + 1]));
            words[kDistinctScale] = Max(words[kDistinctScale], uint64{numbers.scales[code]});
        }
    }
}

void add_counted(DistinctGroups *groups, uint32 argument, uint64 values) {
    groups->words[groups->compiled->program.value_words + argument * kDistinctWords + kDistinctCount] +=
        values;
}

void clear_argument(DistinctGroups *groups, uint32 argument) {
    uint64 *first = groups->words + groups->compiled->program.value_words + argument * kDistinctWords;
    for (uint64 group = 0; group < groups->table.groups; group++)
        memset(first + group * groups->table.value_group_stride, 0, kDistinctWords * sizeof(uint64));
}

}  // namespace pg_gpu::plan
