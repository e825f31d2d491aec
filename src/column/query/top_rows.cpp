#include "column/query/top_rows.h"

#include "column/query/aggregate_remote.h"
#include "column/query/aggregate_steps.h"
#include "request_kinds.h"

namespace pg_gpu::column {

using gpu_engine::AggregateInput;
using gpu_engine::AggregateKey;
using gpu_engine::AggregateOutcome;
using gpu_engine::AggregateProgram;
using gpu_engine::AggregateTop;
using gpu_engine::FirstKeyBound;
using gpu_engine::TopRows;

// ---- rows that are kept -----------------------------------------------------------------------------------

KeptRows begin_cached_rows(const AggregateProgram &program, const AggregateTop &top, size_t memory) {
    return {gpu_engine::begin_top_rows(program, top), memory};
}

// Makes room for so many more rows; false when there is no memory for them.
static bool make_room(KeptRows *kept, uint64 more) {
    TopRows *rows = &kept->rows;
    if (rows->has_room(more))
        return true;
    gpu_engine::leave_top_rows(rows);
    if (rows->has_room(Max(more, rows->count)))
        return true;
    const uint64 capacity = gpu_engine::larger_capacity(*rows, more);
    const size_t row_bytes = rows->words() * sizeof(uint64) + sizeof(uint32);
    if (capacity > PG_UINT32_MAX || capacity * row_bytes > kept->memory)
        return false;
    if (rows->capacity == 0) {
        rows->records = allocate<uint64>(capacity * rows->words());
        rows->order = allocate<uint32>(capacity);
    } else {
        rows->records = reallocate(rows->records, capacity * rows->words());
        rows->order = reallocate(rows->order, capacity);
    }
    rows->capacity = capacity;
    return true;
}

static bool add_records(KeptRows *kept, const uint64 *records, uint64 count, uint32 stride) {
    if (!make_room(kept, count))
        return false;
    for (uint64 i = 0; i < count; i++)
        gpu_engine::add_top_row(&kept->rows, records + i * stride,
                                records[i * stride + kept->rows.key_words]);
    return true;
}

// ---- parts ------------------------------------------------------------------------------------------------

namespace {

struct Run {
    const AggregateProgram *program;
    const AggregateTop *top;
    uint64 *keys;  // kBatch for each word
};

}  // namespace

// Leaves the chosen rows that may be among the first by their first key; false when there is none.
static bool choose_by_first_key(const Run &run, StepBatch *batch, const TopRows &rows) {
    if (!rows.has_bound || (run.top->of_rows & gpu_engine::top_by_first_key) == 0)
        return true;
    const AggregateKey &key = run.program->key[0];
    const FirstKeyBound bound = gpu_engine::first_key_bound(key, rows.bound[0]);
    if (!bound.is_set)
        return true;
    const gpu_engine::StepValues &values = compute_step(batch, key.step);
    return leave_rows(batch,
                      [&](auto take) { gpu_engine::for_rows_within(bound, values, batch->count, take); });
}

// Adds the chosen rows; false when memory has no room for them.
static bool add_batch(const Run &run, StepBatch *batch, KeptRows *kept) {
    const AggregateProgram &program = *run.program;
    for (uint32 word = 0; word < program.key_words; word++)
        memset(run.keys + word * kBatch, 0, batch->count * sizeof(uint64));
    for (uint32 i = 0; i < program.key_count; i++)
        gpu_engine::add_order_tile(program.key[i], compute_step(batch, program.key[i].step), batch->count,
                                   run.keys + program.key[i].word * kBatch);
    const gpu_engine::StepValues *places = nullptr;
    for (uint32 i = 0; i < batch->count; i++) {
        uint64 key[gpu_engine::max_aggregate_keys];
        for (uint32 word = 0; word < program.key_words; word++)
            key[word] = run.keys[word * kBatch + i];
        if (!gpu_engine::is_within_bound(kept->rows, key))
            continue;
        if (!make_room(kept, 1))
            return false;
        if (places == nullptr)
            places = &compute_step(batch, program.accumulator[0].step);
        gpu_engine::add_top_row(&kept->rows, key, static_cast<uint64>(places->values[i]));
    }
    return true;
}

// Adds one batch of every so many.
static AggregateOutcome add_part(const AggregateParts &parts, int part, const AggregateProgram &program,
                                 const AggregateInput *inputs, const AggregateTop &top, uint64 every,
                                 KeptRows *kept) {
    MemoryContext rows_context = CurrentMemoryContext;
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_column rows", ALLOCSET_DEFAULT_SIZES);
    MemoryContextSwitchTo(context);
    const Run run = {&program, &top, allocate<uint64>(size_t{program.key_words} * kBatch)};
    StepBatch batch;
    begin_steps(&batch, program, parts.part[part], parts.format->columns, inputs);
    const bool has_room = for_batches(&batch, parts.part[part], every, [&](uint64, uint32) {
        if ((program.filter != gpu_engine::no_aggregate_step && !choose_passing(&batch, program.filter)) ||
            !choose_by_first_key(run, &batch, kept->rows))
            return !batch.has_failed;
        MemoryContextSwitchTo(rows_context);
        const bool added = add_batch(run, &batch, kept);
        MemoryContextSwitchTo(context);
        return added && !batch.has_failed;
    });
    const bool has_failed = batch.has_failed;
    MemoryContextSwitchTo(rows_context);
    MemoryContextDelete(context);
    return has_failed  ? AggregateOutcome::failed
           : !has_room ? AggregateOutcome::too_many_groups
                       : AggregateOutcome::answered;
}

// Rows that lie in the order that is asked for, the last one first, would all be among the first when they
// come. The first rows of some of the batches are a bound that keeps most of them out. `kept` has no rows.
static AggregateOutcome find_bound(const AggregateParts &parts, const AggregateProgram &program,
                                   const AggregateInput *const *inputs, const AggregateTop &top,
                                   KeptRows *kept) {
    constexpr uint64 batches_a_sample = 32;
    AggregateOutcome outcome = AggregateOutcome::answered;
    for (int part = 0; part < parts.count && outcome == AggregateOutcome::answered; part++)
        if (groups_of(parts.part[part].rows) > batches_a_sample * kBatchGroups)
            outcome = add_part(parts, part, program, inputs[part], top, batches_a_sample, kept);
    gpu_engine::leave_top_rows(&kept->rows);
    // The sample's rows come again.
    kept->rows.count = 0;
    kept->rows.bound_is_enough = false;
    return outcome;
}

AggregateOutcome add_top_rows(const AggregateParts &parts, const AggregateProgram &program,
                              const AggregateInput *const *inputs, const AggregateTop &top, KeptRows *kept) {
    AggregateOutcome outcome = find_bound(parts, program, inputs, top, kept);
    for (int part = 0; part < parts.count && outcome == AggregateOutcome::answered; part++)
        outcome = add_part(parts, part, program, inputs[part], top, 1, kept);
    gpu_engine::leave_top_rows(&kept->rows);
    return outcome;
}

// ---- the server -------------------------------------------------------------------------------------------

bool find_top_rows_on_server(RemoteRows *rows, const AggregateParts &parts, const AggregateProgram &program,
                             const AggregateInput *const *inputs, const AggregateTop &top, uint64 expected,
                             KeptRows *kept) {
    const OwnParts own = find_own_parts(*rows, parts, inputs);
    FoundRecords found = {};
    if (own.any && add_top_rows(own.parts, program, own.inputs, top, kept) != AggregateOutcome::answered) {
        client::decline(client::RequestKind::AggregateColumn, rows->choice,
                        "rows elsewhere could not be compared");
        return false;
    }
    if (!submit_records(rows, program, inputs, kept->memory / 4, expected, top, &found))
        return false;
    const uint64 visible = keep_visible(rows, found);
    if (!add_records(kept, found.group_records, found.groups, found.words) ||
        !add_records(kept, found.unresolved_records, visible, found.words + 1)) {
        client::decline(client::RequestKind::AggregateColumn, rows->choice,
                        "work_mem has no room for the rows");
        return false;
    }
    gpu_engine::leave_top_rows(&kept->rows);
    return true;
}

}  // namespace pg_gpu::column
