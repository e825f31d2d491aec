#include "column/query/aggregate_packed.h"

#include <algorithm>

#include "column/query/aggregate_filters.h"
#include "column/format/packing.h"
#include "gpu_engine/packed_sums.h"

namespace pg_gpu::column {

using gpu_engine::Accumulator;
using gpu_engine::AccumulatorKind;
using gpu_engine::AggregateInput;
using gpu_engine::AggregateInputKind;
using gpu_engine::AggregateOperation;
using gpu_engine::AggregateProgram;
using gpu_engine::no_aggregate_step;
using gpu_engine::UInt128;

namespace {

// A column whose codes are read, a batch of rows at a time.
struct PackedColumn {
    int column;
    uint32 bits;
    bool is_wide;
    const uint64 *null_bits;  // a bit a row; nullptr without NULLs
    CodeCursor<uint32> narrow;
    CodeCursor<uint64> wide;
    uint64 first;         // group that words are there from; kNoGroup: there are none
    uint32 *narrow_room;  // kBatch: codes of rows that count
    uint64 *wide_room;
};

// Rows that some accumulators take.
struct RowSet {
    uint16 filter;
    KnownFilter known;
    const PackedColumn *not_null;  // rows whose value is NULL aren't among them; nullptr: they are
    bool is_listed;                // are its rows' places needed?
    uint64 *rows;                  // kBatchGroups: a bit a row of the batch
    uint32 in_batch;
    bool is_whole;   // all of the batch's rows
    uint16 *places;  // where they are in the batch, unless it is
    uint64 count;    // without keys
    uint32 *counts;  // with keys: by slot
    uint32 *slots;   // kBatch: of the batch's rows
};

// An accumulator that is added up here.
struct Packed {
    const Accumulator *accumulator;
    RowSet *set;
    PackedColumn *column;  // of its argument; nullptr: rows are counted
    uint64 offset;         // numbers are so much more than codes
    uint64 sum[2];         // without keys: of codes, the lower word first
    uint64 bound;          // or the least or greatest code
    uint64 *by_slot;       // with keys
};

struct PackedRun {
    const AggregatePart *part;
    const AggregateProgram *program;
    const AggregateInput *inputs;
    PackedColumn *columns;
    uint32 column_count;
    RowSet *sets;
    uint32 set_count;
    Packed *packed;
    uint32 packed_count;
    // The column that groups depend on; nullptr without keys. Its codes are slots, and NULL has the last one.
    PackedColumn *key;
    uint64 slots;
    // How far the copies of what is added up by slot lie apart; 0: there is one.
    uint64 apart;
};

}  // namespace

// ---- what can be taken ------------------------------------------------------------------------------------

static PackedColumn *use_column(PackedRun *run, uint32 column) {
    for (uint32 i = 0; i < run->column_count; i++)
        if (run->columns[i].column == static_cast<int>(column))
            return &run->columns[i];
    const ColumnHeader &header = run->part->reader->header.column[column];
    PackedColumn *added = &run->columns[run->column_count++];
    *added = {};
    added->column = static_cast<int>(column);
    added->bits = header.bits;
    added->is_wide = header.bits > 32;
    added->null_bits = read_null_bits(run->part->reader, added->column);
    added->first = kNoGroup;
    return added;
}

static const AggregateInput *input_of(const PackedRun &run, uint16 step) {
    return run.program->step[step].operation == AggregateOperation::input
               ? &run.inputs[run.program->step[step].left]
               : nullptr;
}

static bool has_packed_codes(const PackedRun &run, uint32 column) {
    return list_of(*run.part, static_cast<int>(column)) == nullptr;
}

static bool has_nulls(const PackedRun &run, uint32 column) {
    return run.part->reader->header.column[column].null_bits.words > 0;
}

// Are a column's numbers its codes and something more, whatever code a damaged page may have?
static bool is_sum_of_codes(const PackedRun &run, const AggregateInput &input) {
    const uint32 bits = run.part->reader->header.column[input.column].bits;
    return gpu_engine::are_codes_with_offset(input, bits) && has_packed_codes(run, input.column) &&
           (run.program->key_count == 0 || bits <= 32) &&
           (input.column_null_is_null || !has_nulls(run, input.column));
}

static bool can_take(const PackedRun &run, const Accumulator &accumulator) {
    if (read_filter(*run.program, *run.part, accumulator.filter).other_count > 0)
        return false;
    if (accumulator.step == no_aggregate_step)
        return true;
    const AggregateInput *input = input_of(run, accumulator.step);
    if (input == nullptr)
        return false;
    switch (accumulator.kind) {
        case AccumulatorKind::count:
            return input->nulls == nullptr;
        case AccumulatorKind::sum:
        case AccumulatorKind::least:
        case AccumulatorKind::greatest:
            return is_sum_of_codes(run, *input);
        default:
            return false;
    }
}

// Do all keys depend on one column with few codes, and are there many more rows than these?
static bool can_take_keys(const PackedRun &run) {
    constexpr uint64 rows_per_slot = 4;
    const AggregateProgram &program = *run.program;
    for (uint32 i = 0; i < program.key_count; i++) {
        const AggregateInput *input = input_of(run, program.key[i].step);
        if (input == nullptr || input->column != input_of(run, program.key[0].step)->column)
            return false;
        const uint32 bits = run.part->reader->header.column[input->column].bits;
        if (bits > kMaxCodedBits || run.part->rows >> bits < rows_per_slot ||
            !has_packed_codes(run, input->column))
            return false;
    }
    const Accumulator &first = program.accumulator[0];
    return program.accumulator_count > 0 && first.kind == AccumulatorKind::count &&
           first.step == no_aggregate_step && first.filter == no_aggregate_step;
}

static RowSet *use_set(PackedRun *run, uint16 filter, const PackedColumn *not_null) {
    for (uint32 i = 0; i < run->set_count; i++)
        if (run->sets[i].filter == filter && run->sets[i].not_null == not_null)
            return &run->sets[i];
    RowSet *added = &run->sets[run->set_count++];
    *added = {};
    added->filter = filter;
    added->known = read_filter(*run->program, *run->part, filter);
    added->not_null = not_null;
    added->is_listed = run->key != nullptr;
    added->rows = allocate<uint64>(kBatchGroups);
    added->places = allocate<uint16>(kBatch + kMorePlaces);
    return added;
}

static void take(PackedRun *run, const Accumulator &accumulator) {
    Packed *packed = &run->packed[run->packed_count++];
    *packed = {};
    packed->accumulator = &accumulator;
    const AggregateInput *input =
        accumulator.step == no_aggregate_step ? nullptr : input_of(*run, accumulator.step);
    const bool skips_nulls = input != nullptr && input->column_null_is_null && has_nulls(*run, input->column);
    PackedColumn *column = input == nullptr || (accumulator.kind == AccumulatorKind::count && !skips_nulls)
                               ? nullptr
                               : use_column(run, input->column);
    packed->set = use_set(run, accumulator.filter, skips_nulls ? column : nullptr);
    packed->bound = gpu_engine::no_codes(accumulator.kind);
    if (accumulator.kind == AccumulatorKind::count)
        return;
    packed->set->is_listed = true;
    packed->column = column;
    packed->offset = input->offset;
}

// ---- room -------------------------------------------------------------------------------------------------

static uint64 *make_by_slot(const PackedRun &run, AccumulatorKind kind) {
    const uint64 places = run.slots + (gpu_engine::slot_copies - 1) * run.apart;
    auto *by_slot = allocate<uint64>(places);
    std::fill_n(by_slot, places, gpu_engine::no_codes(kind));
    return by_slot;
}

// False: it would take too much of the groups' memory.
static bool make_slots(PackedRun *run, size_t memory) {
    constexpr uint64 few = 1024;
    constexpr size_t part_of_memory = 4;
    run->slots = (UINT64CONST(1) << run->key->bits) + 1;
    run->apart = run->slots <= few ? run->slots : 0;
    const uint64 places = run->slots + (gpu_engine::slot_copies - 1) * run->apart;
    if (places * (run->set_count + run->packed_count) * sizeof(uint64) > memory / part_of_memory)
        return false;
    for (uint32 i = 0; i < run->set_count; i++) {
        run->sets[i].counts = allocate_zeroed<uint32>(places);
        run->sets[i].slots = allocate<uint32>(kBatch);
    }
    for (uint32 i = 0; i < run->packed_count; i++)
        if (run->packed[i].column != nullptr)
            run->packed[i].by_slot = make_by_slot(*run, run->packed[i].accumulator->kind);
    return true;
}

static void begin_column(const PackedRun &run, PackedColumn *column) {
    RunReader *reader = run.part->reader;
    const Area &area = reader->header.column[column->column].codes;
    if (column->is_wide) {
        begin_codes(&column->wide, reader, area, column->bits, run.part->rows);
        column->wide_room = allocate<uint64>(kBatch);
    } else {
        begin_codes(&column->narrow, reader, area, column->bits, run.part->rows);
        column->narrow_room = allocate<uint32>(kBatch);
    }
}

// False: nothing can be added up here.
static bool begin(PackedRun *run, const AggregatePart &part, const AggregateProgram &program,
                  const AggregateInput *inputs, size_t memory, bool *is_added) {
    *run = {};
    run->part = &part;
    run->program = &program;
    run->inputs = inputs;
    const uint32 count = program.accumulator_count;
    if (program.key_count > 0 && !can_take_keys(*run))
        return false;
    for (uint32 i = 0; i < count; i++) {
        is_added[i] = can_take(*run, program.accumulator[i]);
        if (!is_added[i] && program.key_count > 0) {
            memset(is_added, 0, count * sizeof(bool));
            return false;
        }
    }
    run->columns = allocate<PackedColumn>(size_t{count} + 1);
    run->sets = allocate<RowSet>(size_t{count} + 1);
    run->packed = allocate<Packed>(size_t{count} + 1);
    if (program.key_count > 0)
        run->key = use_column(run, input_of(*run, program.key[0].step)->column);
    for (uint32 i = 0; i < count; i++)
        if (is_added[i])
            take(run, program.accumulator[i]);
    if (run->key != nullptr && !make_slots(run, memory)) {
        memset(is_added, 0, count * sizeof(bool));
        return false;
    }
    for (uint32 i = 0; i < run->column_count; i++)
        begin_column(*run, &run->columns[i]);
    return run->packed_count > 0;
}

// ---- codes of rows ----------------------------------------------------------------------------------------

// The codes of the batch's rows of a set, in their order. All are unpacked together in so little time that
// only a few are better unpacked one by one.
template <typename Value>
static void gather(const CodeCursor<Value> &cursor, const RowSet &set, uint32 groups, Value *found) {
    constexpr uint32 rows_per_few = 4;
    if (set.is_whole) {
        unpack(cursor.bits, cursor.words, groups, found);
        return;
    }
    if (set.in_batch < groups * (kGroup / rows_per_few)) {
        unpack_some(cursor.bits, cursor.words, set.places, set.in_batch, found);
        return;
    }
    unpack(cursor.bits, cursor.words, groups, cursor.values);
    for (uint32 i = 0; i < set.in_batch; i++)
        found[i] = cursor.values[set.places[i]];
}

// Reads a batch's words unless they are there. False when stale.
template <typename Value>
static bool read_batch(PackedColumn *column, CodeCursor<Value> *cursor, uint64 first) {
    if (column->first == first)
        return true;
    cursor->group = first;
    column->first = first;
    return next_packed_groups(cursor) > 0;
}

// ---- adding up --------------------------------------------------------------------------------------------

static void find_slots(const PackedRun &run, RowSet *set, uint64 first, uint32 groups) {
    gather(run.key->narrow, *set, groups, set->slots);
    const uint64 *nulls = run.key->null_bits;
    for (uint32 i = 0; nulls != nullptr && i < set->in_batch; i++)
        if (gpu_engine::bit_at(nulls + first, set->is_whole ? i : set->places[i]))
            set->slots[i] = static_cast<uint32>(run.slots - 1);
}

static void count_set(const PackedRun &run, RowSet *set) {
    set->count += set->in_batch;
    if (run.key == nullptr)
        return;
    gpu_engine::count_slots(set->slots, set->in_batch, run.apart, set->counts);
}

// Several sums or bounds at a time, none of which waits for another.
template <AccumulatorKind kind, typename Number, typename Value>
static Number join_all_codes(Number first, const Value *codes, uint32 count) {
    Number joined[gpu_engine::slot_copies] = {first, first, first, first};
    if constexpr (kind == AccumulatorKind::sum)
        joined[1] = joined[2] = joined[3] = 0;
    gpu_engine::for_copies(count, 1, [&joined, codes](size_t i, size_t copy) {
        joined[copy] = gpu_engine::join_codes<kind>(joined[copy], Number{codes[i]});
    });
    return gpu_engine::join_codes<kind>(gpu_engine::join_codes<kind>(joined[0], joined[1]),
                                        gpu_engine::join_codes<kind>(joined[2], joined[3]));
}

template <AccumulatorKind kind, typename Value>
static void add_codes(const PackedRun &run, Packed *packed, const Value *codes) {
    const uint32 count = packed->set->in_batch;
    if constexpr (std::is_same_v<Value, uint32>)
        if (run.key != nullptr) {
            gpu_engine::add_codes_by_slot<kind>(packed->set->slots, codes, count, run.apart, packed->by_slot);
            return;
        }
    if constexpr (kind != AccumulatorKind::sum)
        packed->bound = join_all_codes<kind>(packed->bound, codes, count);
    else if constexpr (std::is_same_v<Value, uint32>)
        gpu_engine::add_wide(packed->sum, join_all_codes<kind>(uint64{0}, codes, count));
    else
        gpu_engine::add_wide(packed->sum, join_all_codes<kind>(UInt128{0}, codes, count));
}

template <typename Value>
static bool add_batch(const PackedRun &run, Packed *packed, CodeCursor<Value> *cursor, Value *codes,
                      uint64 first, uint32 groups) {
    if (!read_batch(packed->column, cursor, first))
        return false;
    gather(*cursor, *packed->set, groups, codes);
    gpu_engine::with_kind_of_codes(packed->accumulator->kind,
                                   [&](auto kind) { add_codes<decltype(kind)::value>(run, packed, codes); });
    return true;
}

static void select_set(const PackedRun &run, RowSet *set, uint64 first, uint32 groups) {
    memcpy(set->rows, run.part->selected + first, groups * sizeof(uint64));
    apply_known(set->known, first, groups, set->rows);
    for (uint32 group = 0; set->not_null != nullptr && group < groups; group++)
        set->rows[group] &= ~set->not_null->null_bits[first + group];
    set->in_batch = count_bits(set->rows, groups);
    set->is_whole = set->in_batch == groups * kGroup;
    if (set->is_listed && !set->is_whole)
        (void)list_bits(set->rows, groups, set->places);
}

// False when stale.
static bool add_rows(PackedRun *run, uint64 first, uint32 groups) {
    for (uint32 i = 0; i < run->set_count; i++) {
        RowSet *set = &run->sets[i];
        select_set(*run, set, first, groups);
        if (set->in_batch > 0 && run->key != nullptr) {
            if (!read_batch(run->key, &run->key->narrow, first))
                return false;
            find_slots(*run, set, first, groups);
        }
        count_set(*run, set);
    }
    for (uint32 i = 0; i < run->packed_count; i++) {
        Packed *packed = &run->packed[i];
        PackedColumn *column = packed->column;
        if (column == nullptr || packed->set->in_batch == 0)
            continue;
        if (!(column->is_wide ? add_batch(*run, packed, &column->wide, column->wide_room, first, groups)
                              : add_batch(*run, packed, &column->narrow, column->narrow_room, first, groups)))
            return false;
    }
    return true;
}

// ---- groups -----------------------------------------------------------------------------------------------

static void join_copies(PackedRun *run) {
    for (uint32 i = 0; i < run->set_count; i++)
        gpu_engine::join_copies<AccumulatorKind::sum>(run->slots, run->apart, run->sets[i].counts);
    for (uint32 i = 0; i < run->packed_count; i++)
        if (run->packed[i].by_slot != nullptr)
            gpu_engine::with_kind_of_codes(run->packed[i].accumulator->kind, [run, i](auto kind) {
                gpu_engine::join_copies<decltype(kind)::value>(run->slots, run->apart,
                                                               run->packed[i].by_slot);
            });
}

namespace {

// Slots that are added to their groups together, and what these are found with.
struct SlotBatch {
    uint32 *slots;
    uint32 count;
    int64 *values;
    uint8 *nulls;
    uint64 **keys;
    uint32 *numbers;
};

}  // namespace

static SlotBatch begin_slots(const AggregateProgram &program) {
    SlotBatch batch = {allocate<uint32>(kBatch),
                       0,
                       allocate<int64>(kBatch),
                       allocate<uint8>(kBatch),
                       allocate<uint64 *>(program.key_words + 1),
                       allocate<uint32>(kBatch)};
    for (uint32 word = 0; word < program.key_words; word++)
        batch.keys[word] = allocate<uint64>(kBatch);
    return batch;
}

static bool add_slots(const PackedRun &run, const SlotBatch &batch, bool is_null, AggregateGroups *groups) {
    static constexpr uint64 all_null = 1;
    static constexpr uint32 code_of_null = 0;
    const AggregateProgram &program = *run.program;
    if (batch.count == 0)
        return true;
    for (uint32 word = 0; word < program.key_words; word++)
        memset(batch.keys[word], 0, batch.count * sizeof(uint64));
    for (uint32 i = 0; i < program.key_count; i++) {
        const gpu_engine::AggregateKey &key = program.key[i];
        const gpu_engine::StepValues values = gpu_engine::load_input_tile(
            *input_of(run, key.step), is_null ? &code_of_null : batch.slots, is_null ? &all_null : nullptr,
            nullptr, batch.count, batch.values, batch.nulls);
        gpu_engine::add_key_tile(key, values, batch.count, batch.keys[key.word]);
    }
    if (!find_groups(groups, batch.keys, batch.count, batch.numbers))
        return false;
    for (uint32 i = 0; i < run.packed_count; i++) {
        const Packed &packed = run.packed[i];
        for (uint32 j = 0; j < batch.count; j++) {
            const uint32 slot = batch.slots[j];
            gpu_engine::add_codes_to_group(*packed.accumulator, packed.set->counts[slot],
                                           packed.by_slot == nullptr ? 0 : packed.by_slot[slot],
                                           packed.offset,
                                           groups->values + uint64{batch.numbers[j]} * groups->value_words);
        }
    }
    return true;
}

static bool finish_slots(PackedRun *run, AggregateGroups *groups) {
    join_copies(run);
    const uint32 *counts = run->packed[0].set->counts;
    const uint64 codes = run->slots - 1;
    SlotBatch batch = begin_slots(*run->program);
    for (uint64 slot = 0; slot < codes; slot++) {
        if (counts[slot] > 0)
            batch.slots[batch.count++] = static_cast<uint32>(slot);
        if (batch.count < kBatch && slot + 1 < codes)
            continue;
        if (!add_slots(*run, batch, false, groups))
            return false;
        batch.count = 0;
    }
    batch.slots[0] = static_cast<uint32>(codes);
    batch.count = counts[codes] > 0 ? 1 : 0;
    return add_slots(*run, batch, true, groups);
}

bool add_packed(const AggregatePart &part, const AggregateProgram &program, const AggregateInput *inputs,
                AggregateGroups *groups, bool *is_added) {
    PackedRun run;
    memset(is_added, 0, program.accumulator_count * sizeof(bool));
    if (part.reader == nullptr || !begin(&run, part, program, inputs, groups->memory, is_added))
        return true;
    const uint64 words = groups_of(part.rows);
    for (uint64 first = 0; first < words; first += kBatchGroups) {
        const auto here = static_cast<uint32>(Min(words - first, uint64{kBatchGroups}));
        CHECK_FOR_INTERRUPTS();
        if (is_any_set(part.selected + first, here) && !add_rows(&run, first, here))
            return true;
    }
    if (run.key != nullptr)
        return finish_slots(&run, groups);
    for (uint32 i = 0; i < run.packed_count; i++) {
        const Packed &packed = run.packed[i];
        gpu_engine::add_codes_to_group(*packed.accumulator, packed.set->count,
                                       packed.accumulator->kind == AccumulatorKind::sum
                                           ? gpu_engine::wide_of_words(packed.sum[0], packed.sum[1])
                                           : UInt128{packed.bound},
                                       packed.offset, groups->values);
    }
    return true;
}

}  // namespace pg_gpu::column
