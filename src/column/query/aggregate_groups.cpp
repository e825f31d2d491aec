#include "column/query/aggregate_groups.h"

#include "gpu_engine/aggregate_sums.h"
#include "gpu_engine/large_pages.h"

namespace pg_gpu::column {

using gpu_engine::AggregateProgram;

static constexpr uint64 kFirstRoom = 1024;

static uint32 key_bits(const AggregateProgram &program) {
    uint32 bits = 0;
    for (uint32 i = 0; i < program.key_count; i++)
        bits += program.key[i].bits;
    return bits;
}

static uint64 *make_initial(const AggregateProgram &program) {
    auto *words = allocate<uint64>(program.value_words + 1);
    gpu_engine::begin_group(program, words);
    return words;
}

static uint64 *allocate_large(uint64 words) {
    auto *table = allocate<uint64>(words + 1);
    gpu_engine::use_large_pages(table, words * sizeof(uint64));
    return table;
}

// Dense groups are made at once, all of them.
static void make_dense(AggregateGroups *groups, uint32 bits) {
    groups->is_dense = true;
    groups->count = UINT64CONST(1) << bits;
    groups->values = allocate_large(groups->count * groups->value_words);
    for (uint64 group = 0; group < groups->count; group++)
        memcpy(groups->values + group * groups->value_words, groups->initial,
               groups->value_words * sizeof(uint64));
}

// Most of a sparse table of groups would be empty lines of the cache. Dense groups are all there at once,
// which is what several passes are to avoid, and takes longer than to look for groups where rows are far
// fewer.
static bool may_be_dense(const AggregateProgram &program, size_t memory, uint64 rows, uint32 passes) {
    constexpr size_t small = 65536;
    constexpr size_t dense_share = 8;
    // Setting up a great many groups costs about as much as looking for as many, so most should have rows.
    constexpr uint32 many_bits = 22;
    const uint32 bits = key_bits(program);
    const uint64 max_a_row = bits > many_bits ? 2 : 8;
    if ((passes > 1 && program.key_words > 0) || bits > kMaxDenseBits)
        return false;
    const uint64 size = (uint64{program.value_words} * sizeof(uint64)) << bits;
    return size <= small || (size <= memory / dense_share && UINT64CONST(1) << bits <= rows * max_a_row);
}

AggregateGroups *begin_groups(const AggregateProgram &program, size_t memory, uint64 rows, uint32 passes,
                              uint32 pass) {
    auto *groups = allocate_zeroed<AggregateGroups>(1);
    groups->context = CurrentMemoryContext;
    groups->program = &program;
    groups->memory = memory;
    groups->key_words = program.key_words;
    groups->value_words = program.value_words;
    groups->initial = make_initial(program);
    if (may_be_dense(program, memory, rows, passes)) {
        make_dense(groups, key_bits(program));
        return groups;
    }
    groups->room = kFirstRoom;
    groups->keys = allocate<uint64>(groups->room * groups->key_words);
    groups->values = allocate<uint64>(groups->room * groups->value_words);
    groups->mask = kFirstRoom * 2 - 1;
    groups->slots = allocate_zeroed<uint32>(groups->mask + 1);
    groups->passes = passes;
    groups->pass = pass;
    if (passes > 1) {
        memset(groups->keys, 0, groups->key_words * sizeof(uint64));
        memcpy(groups->values, groups->initial, groups->value_words * sizeof(uint64));
        groups->count = 1;
    }
    return groups;
}

// ---- finding ----------------------------------------------------------------------------------------------

static inline uint64 mix(uint64 hash, uint64 word) {
    hash = (hash ^ word) * UINT64CONST(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static inline uint64 hash_of_group(const AggregateGroups *groups, uint64 group) {
    uint64 hash = 0;
    for (uint32 word = 0; word < groups->key_words; word++)
        hash = mix(hash, groups->keys[group * groups->key_words + word]);
    return hash;
}

static size_t bytes_with_room(const AggregateGroups *groups, uint64 room) {
    return room * (groups->key_words + groups->value_words) * sizeof(uint64) + 2 * room * sizeof(uint32);
}

// Large tables lie beyond the caches: their lines are asked for this many keys ahead.
static constexpr uint32 kAhead = 16;

// Where there are many groups already, more are likely to come, and each time all are to be found places.
static uint64 next_room(const AggregateGroups *groups) {
    constexpr uint64 many = 65536;
    const uint64 far = groups->room * 8;
    return groups->room >= many && bytes_with_room(groups, far) <= groups->memory / 2 && far <= UINT32_MAX / 2
               ? far
               : groups->room * 2;
}

static bool grow(AggregateGroups *groups) {
    const uint64 room = next_room(groups);
    if (bytes_with_room(groups, room) > groups->memory || room > UINT32_MAX / 2) {
        groups->is_full = true;
        return false;
    }
    CHECK_FOR_INTERRUPTS();
    groups->keys = reallocate(groups->keys, room * groups->key_words);
    groups->values = reallocate(groups->values, room * groups->value_words);
    gpu_engine::use_large_pages(groups->keys, room * groups->key_words * sizeof(uint64));
    gpu_engine::use_large_pages(groups->values, room * groups->value_words * sizeof(uint64));
    groups->room = room;
    MemoryContext caller = MemoryContextSwitchTo(groups->context);
    pfree(groups->slots);
    groups->mask = room * 2 - 1;
    groups->slots = allocate_zeroed<uint32>(groups->mask + 1);
    MemoryContextSwitchTo(caller);
    for (uint64 group = groups->passes > 1 ? 1 : 0; group < groups->count; group++) {
        if (group + kAhead < groups->count)
            __builtin_prefetch(&groups->slots[hash_of_group(groups, group + kAhead) & groups->mask], 1);
        uint64 slot = hash_of_group(groups, group) & groups->mask;
        while (groups->slots[slot] != 0)
            slot = (slot + 1) & groups->mask;
        groups->slots[slot] = static_cast<uint32>(group) + 1;
    }
    return true;
}

static inline bool has_key(const AggregateGroups *groups, uint64 group, const uint64 *const *keys, uint32 i) {
    for (uint32 word = 0; word < groups->key_words; word++)
        if (groups->keys[group * groups->key_words + word] != keys[word][i])
            return false;
    return true;
}

static void add_group(AggregateGroups *groups, uint64 slot, const uint64 *const *keys, uint32 i) {
    const uint64 group = groups->count++;
    for (uint32 word = 0; word < groups->key_words; word++)
        groups->keys[group * groups->key_words + word] = keys[word][i];
    memcpy(groups->values + group * groups->value_words, groups->initial,
           groups->value_words * sizeof(uint64));
    groups->slots[slot] = static_cast<uint32>(group) + 1;
}

static inline uint32 pass_of(const AggregateGroups *groups, uint64 hash) {
    return static_cast<uint32>(hash >> 40) % groups->passes;
}

static bool find_in_table(AggregateGroups *groups, const uint64 *const *keys, uint32 count, uint32 *numbers) {
    uint64 hashes[kAhead];
    const auto hash_of_key = [groups, keys](uint32 i) {
        uint64 hash = 0;
        for (uint32 word = 0; word < groups->key_words; word++)
            hash = mix(hash, keys[word][i]);
        return hash;
    };
    for (uint32 first = 0; first < count; first += kAhead) {
        const uint32 here = Min(kAhead, count - first);
        for (uint32 i = 0; i < here; i++) {
            hashes[i] = hash_of_key(first + i);
            __builtin_prefetch(&groups->slots[hashes[i] & groups->mask]);
        }
        for (uint32 i = 0; i < here; i++) {
            if (groups->passes > 1 && pass_of(groups, hashes[i]) != groups->pass) {
                numbers[first + i] = 0;
                continue;
            }
            if (groups->count == groups->room && !grow(groups))
                return false;
            uint64 slot = hashes[i] & groups->mask;
            while (groups->slots[slot] != 0 && !has_key(groups, groups->slots[slot] - 1, keys, first + i))
                slot = (slot + 1) & groups->mask;
            if (groups->slots[slot] == 0)
                add_group(groups, slot, keys, first + i);
            numbers[first + i] = groups->slots[slot] - 1;
            __builtin_prefetch(&groups->values[uint64{numbers[first + i]} * groups->value_words], 1);
        }
    }
    return true;
}

bool find_groups(AggregateGroups *groups, const uint64 *const *keys, uint32 count, uint32 *numbers) {
    if (!groups->is_dense)
        return find_in_table(groups, keys, count, numbers);
    if (groups->key_words == 0) {
        memset(numbers, 0, count * sizeof(uint32));
        return true;
    }
    for (uint32 i = 0; i < count; i++)
        numbers[i] = static_cast<uint32>(keys[0][i]);
    return true;
}

bool add_records(AggregateGroups *groups, const uint64 *records, uint64 count, uint32 stride) {
    uint64 words[gpu_engine::max_aggregate_keys];
    const uint64 *keys[gpu_engine::max_aggregate_keys];
    for (uint32 word = 0; word < groups->key_words; word++)
        keys[word] = &words[word];
    for (uint64 i = 0; i < count; i++, records += stride) {
        if (i % kFirstRoom == 0)
            CHECK_FOR_INTERRUPTS();
        memcpy(words, records, groups->key_words * sizeof(uint64));
        if (groups->is_dense && groups->key_words > 0 && words[0] >= groups->count)
            return false;
        uint32 number;
        if (!find_groups(groups, keys, 1, &number))
            return false;
        gpu_engine::merge_group(*groups->program, groups->values + uint64{number} * groups->value_words,
                                records + groups->key_words);
    }
    return true;
}

bool add_table(AggregateGroups *groups, const gpu_engine::GroupTable &table) {
    const uint32 stride = table.key_words + table.value_words;
    auto *record = allocate<uint64>(stride + 1);
    bool has_room = true;
    for (uint64 group = 0; group < table.groups && has_room; group++) {
        if (group % kFirstRoom == 0)
            CHECK_FOR_INTERRUPTS();
        for (uint32 word = 0; word < table.key_words; word++)
            record[word] = table.key(group, word);
        for (uint32 word = 0; word < table.value_words; word++)
            record[table.key_words + word] = table.value(group, word);
        has_room = add_records(groups, record, 1, stride);
    }
    pfree(record);
    return has_room;
}

// ---- the end ----------------------------------------------------------------------------------------------

// Dense groups get their keys, and those with rows move to the front.
static void leave_out_empty(AggregateGroups *groups) {
    MemoryContext caller = MemoryContextSwitchTo(groups->context);
    groups->keys = allocate_large(groups->count * groups->key_words);
    MemoryContextSwitchTo(caller);
    const uint32 rows_word = groups->program->accumulator[0].word;
    uint64 kept = 0;
    for (uint64 group = 0; group < groups->count; group++) {
        uint64 *values = groups->values + group * groups->value_words;
        if (groups->key_words > 0 && values[rows_word] == 0)
            continue;
        memmove(groups->values + kept * groups->value_words, values, groups->value_words * sizeof(uint64));
        for (uint32 word = 0; word < groups->key_words; word++)
            groups->keys[kept * groups->key_words + word] = word == 0 ? group : 0;
        kept++;
    }
    groups->count = kept;
}

gpu_engine::GroupTable finish_groups(AggregateGroups *groups) {
    if (groups->is_dense)
        leave_out_empty(groups);
    gpu_engine::GroupTable table = {};
    table.groups = groups->count;
    table.key_words = groups->key_words;
    table.value_words = groups->value_words;
    table.key_word_stride = 1;
    table.key_group_stride = groups->key_words;
    table.value_word_stride = 1;
    table.value_group_stride = groups->value_words;
    table.keys = groups->keys;
    table.values = groups->values;
    if (groups->passes > 1) {
        table.groups--;
        table.keys += groups->key_words;
        table.values += groups->value_words;
    }
    return table;
}

}  // namespace pg_gpu::column
