#include "column/build/run_builder.h"

#include "column/column.h"
#include "column/build/column_cursor.h"
#include "column/build/dictionary_merge.h"
#include "progress.h"
#include "test_hooks.h"

namespace pg_gpu::column {

namespace {

struct Builder {
    const Format *format;
    const Input *inputs;
    int count;
    RowOrder order;
    StreamWriter stream;
    RunHeader *header;
};

}  // namespace

// ---- steps ------------------------------------------------------------------------------------------------

static MergeStep merge_steps[2 * kMaxColumns + 1];
static int merge_step_count;

const MergeStep *last_merge_steps(int *count) {
    *count = merge_step_count;
    return merge_steps;
}

namespace {

struct StepTimer {
    const char *name;
    int column;
    instr_time start;
};

}  // namespace

static StepTimer begin_step(const char *name, int column) {
    StepTimer timer = {name, column, {}};
    INSTR_TIME_SET_CURRENT(timer.start);
    return timer;
}

static void end_step(const StepTimer &timer, uint64 entries, uint64 bytes,
                     client::Path path = client::Path::Paged) {
    instr_time elapsed;
    INSTR_TIME_SET_CURRENT(elapsed);
    INSTR_TIME_SUBTRACT(elapsed, timer.start);
    merge_steps[merge_step_count++] = {
        timer.name, timer.column, entries, bytes, INSTR_TIME_GET_MILLISEC(elapsed), path};
}

// ---- columns ----------------------------------------------------------------------------------------------

static void write_null_bits(Builder *builder, const InputColumn *columns, ColumnHeader *header) {
    bool any = false;
    for (int i = 0; i < builder->count; i++)
        any = any || columns[i].null_bits != nullptr;
    if (!any)
        return;
    const uint64 words = groups_of(builder->order.rows);
    auto *bits = allocate_zeroed<uint64>(words);
    uint64 row = 0;
    for (uint64 i = 0; i < builder->order.count; i++) {
        const Segment &segment = builder->order.segments[i];
        const uint64 *from = columns[segment.input].null_bits;
        if (from == nullptr) {
            row += segment.count;
            continue;
        }
        for (uint32 j = 0; j < segment.count; j++, row++) {
            const uint64 ordinal = uint64{segment.first} + j;
            const uint64 bit = from[ordinal / 64] >> (ordinal % 64) & 1;
            bits[row / 64] |= bit << (row % 64);
            header->nulls += bit;
        }
    }
    if (header->nulls > 0) {
        header->null_bits = {builder->stream.total, words};
        append_words(&builder->stream, bits, words);
    }
    pfree(bits);
}

// Writes every row's new code, in order.
static Area write_codes(Builder *builder, int number, InputColumn *columns, uint32 bits, uint64 base) {
    Packer packer;
    begin_packing(&packer, &builder->stream, bits);
    const StepTimer timer = begin_step("recode", number);
    if (bits == 0) {
        end_step(timer, builder->order.rows, 0);
        return finish_packing(&packer);
    }
    auto *feeds = allocate<ColumnCursor>(builder->count);
    for (int i = 0; i < builder->count; i++)
        begin_column_cursor(&feeds[i], builder->inputs[i], number);
    const uint64 mask = low_bits(bits);
    for (uint64 i = 0; i < builder->order.count; i++) {
        const Segment &segment = builder->order.segments[i];
        const InputColumn &column = columns[segment.input];
        ColumnCursor *column_cursor = &feeds[segment.input];
        for (uint32 done = 0; done < segment.count;) {
            const uint32 take =
                seek_column_cursor(column_cursor, uint64{segment.first} + done, segment.count - done);
            if (column_cursor->numbers != nullptr) {
                const uint32 *numbers = column_cursor->numbers + column_cursor->at;
                const uint64 *map = column.map;
                pack_values(&packer, take, [=](uint32 j) { return map[numbers[j]] & mask; });
            } else if (column.table != nullptr) {
                const uint64 *values = column_cursor->values + column_cursor->at;
                const uint64 base_of_column_cursor = column_cursor->base;
                pack_values(&packer, take, [&column, values, base_of_column_cursor, mask](uint32 j) {
                    const uint32 found = find_in_table(column.table, values[j] + base_of_column_cursor);
                    return found == kNoNumber ? 0 : column.map[found] & mask;
                });
            } else {
                const uint64 *values = column_cursor->values + column_cursor->at;
                const uint64 shift = column_cursor->base - base;
                pack_values(&packer, take, [=](uint32 j) { return (values[j] + shift) & mask; });
            }
            done += take;
            add_progress(take);
        }
    }
    for (int i = 0; i < builder->count; i++)
        end_column_cursor(&feeds[i]);
    pfree(feeds);
    const Area codes = finish_packing(&packer);
    end_step(timer, builder->order.rows, codes.words * sizeof(uint64));
    return codes;
}

static void write_integers(Builder *builder, int number, ColumnHeader *header) {
    const ColumnType &type = builder->format->types[number];
    const StepTimer timer = begin_step("merge dictionaries", number);
    auto *columns = allocate_zeroed<InputColumn>(builder->count);
    IntegerUnion merged = {};
    for (int i = 0; i < builder->count; i++)
        open_integers(&columns[i], builder->inputs[i], number);
    tabulate_raw(columns, builder->inputs, builder->count, number, builder->order.rows, 0, 0, &merged);
    const client::Path path = unite_integers(columns, builder->count, &merged);

    write_null_bits(builder, columns, header);
    const uint32 range_bits = merged.any ? bits_for_range(merged.highest - merged.lowest) : 0;
    header->base = merged.any ? merged.lowest : 0;
    header->highest = merged.any ? merged.highest : 0;
    // A column of nothing but NULLs is an empty dictionary.
    if (!merged.any || (merged.complete &&
                        is_dictionary_cheaper(builder->order.rows, merged.count, range_bits, range_bits))) {
        header->encoding = static_cast<uint8>(Encoding::Dictionary);
        header->distinct = merged.count;
        header->entry_bits = static_cast<uint8>(range_bits);
        header->bits = static_cast<uint8>(bits_for_entries(merged.count));
        Packer packer;
        begin_packing(&packer, &builder->stream, range_bits);
        for (uint64 i = 0; i < merged.count; i++)
            pack_value(&packer, merged.entries[i] - header->base);
        header->dictionary = finish_packing(&packer);
        end_step(timer, merged.count, header->dictionary.words * sizeof(uint64), path);
        header->codes = write_codes(builder, number, columns, header->bits, 0);
    } else {
        const bool plain = range_bits == type.width * 8U;
        header->encoding = static_cast<uint8>(plain ? Encoding::Plain : Encoding::Frame);
        header->bits = static_cast<uint8>(range_bits);
        if (plain)
            header->base = 0;
        for (int i = 0; i < builder->count; i++)
            map_to_values(&columns[i], merged, header->base);
        end_step(timer, merged.count, 0, path);
        header->codes = write_codes(builder, number, columns, header->bits, header->base);
    }
}

static void write_strings(Builder *builder, int number, ColumnHeader *header) {
    const StepTimer timer = begin_step("merge dictionaries", number);
    auto *columns = allocate_zeroed<InputColumn>(builder->count);
    for (int i = 0; i < builder->count; i++)
        open_strings(&columns[i], builder->inputs[i], number);
    header->encoding = static_cast<uint8>(Encoding::Dictionary);
    header->dictionary.first_word = builder->stream.total;
    StringUnion merged;
    unite_strings(columns, builder->inputs, builder->count, number, &builder->stream, &merged);
    header->dictionary.words = builder->stream.total - header->dictionary.first_word;
    header->dictionary_bytes = merged.bytes;
    header->base = merged.whole_bytes;
    header->highest = merged.longest;
    header->distinct = merged.count;
    header->bits = static_cast<uint8>(bits_for_entries(merged.count));
    header->blocks = {builder->stream.total, merged.block_count};
    append_words(&builder->stream, merged.blocks, merged.block_count);
    end_step(timer, merged.count, (header->dictionary.words + merged.block_count) * sizeof(uint64));
    write_null_bits(builder, columns, header);
    header->codes = write_codes(builder, number, columns, header->bits, 0);
}

// Finds the bounds of the inputs' integers, and how many of them differ at most.
static void find_bounds(const Builder &builder, const InputColumn *columns, uint64 *lowest, uint64 *highest,
                        uint64 *distinct) {
    *lowest = PG_UINT64_MAX;
    *highest = 0;
    *distinct = 0;
    for (int i = 0; i < builder.count; i++) {
        const InputColumn &column = columns[i];
        *distinct += column.raw ? input_rows(builder.inputs[i]) : column.count;
        if (!column.raw && column.count > 0) {
            *lowest = Min(*lowest, column.entries[0]);
            *highest = Max(*highest, column.entries[column.count - 1]);
        } else if (column.raw && column.any) {
            *lowest = Min(*lowest, column.lowest);
            *highest = Max(*highest, column.highest);
        }
    }
    *distinct = Min(*distinct, builder.order.rows);
}

// Up to so many different numerics have a dictionary: it is small, and any expression is evaluated by its
// codes. Tests set fewer.
static uint64 few_numerics() {
    const TestHooks *hooks = test_hooks();
    return hooks == nullptr ? kMaxListedNumerics : static_cast<uint64>(hooks->listed_numerics());
}

// Numerics as integers, where that pays. False: they need a dictionary, or it is better.
static bool write_scaled(Builder *builder, int number, ColumnHeader *header) {
    uint8 scale = 0;
    Relation index = index_of(builder->inputs[0]);
    const uint64 listed = max_listed_numerics(index, builder->order.rows, few_numerics());
    if (!scales_numerics(index) || builder->order.rows <= listed ||
        !find_common_scale(builder->inputs, builder->count, number, &scale))
        return false;
    const StepTimer timer = begin_step("merge dictionaries", number);
    auto *columns = allocate_zeroed<InputColumn>(builder->count);
    for (int i = 0; i < builder->count; i++)
        if (!open_scaled(&columns[i], builder->inputs[i], number, scale))
            return false;
    uint64 lowest;
    uint64 highest;
    uint64 distinct;
    find_bounds(*builder, columns, &lowest, &highest, &distinct);
    const uint32 entry_bits =
        lowest <= highest ? bits_of_formatted(max_formatted_bytes(lowest, highest, scale)) : 0;
    IntegerUnion merged = {};
    tabulate_raw(columns, builder->inputs, builder->count, number, builder->order.rows, entry_bits, listed,
                 &merged);
    const client::Path path = unite_integers(columns, builder->count, &merged);
    const uint32 range_bits = merged.any ? bits_for_range(merged.highest - merged.lowest) : 0;
    distinct = merged.complete ? merged.count : distinct;
    if (range_bits < kLeastScaledBits || distinct <= listed ||
        is_dictionary_cheaper(builder->order.rows, distinct, range_bits, entry_bits))
        return false;
    write_null_bits(builder, columns, header);
    header->encoding = static_cast<uint8>(Encoding::Scaled);
    header->scale = scale;
    header->bits = static_cast<uint8>(range_bits);
    header->base = merged.lowest;
    header->highest = merged.highest;
    for (int i = 0; i < builder->count; i++)
        map_to_values(&columns[i], merged, header->base);
    end_step(timer, merged.count, 0, path);
    header->codes = write_codes(builder, number, columns, header->bits, header->base);
    return true;
}

void check_run_rows(Relation index, uint64 rows) {
    if (rows > UINT32_MAX)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                        errmsg("a run of index \"%s\" would have more than %u rows",
                               RelationGetRelationName(index), UINT32_MAX),
                        errhint("Partition the table.")));
}

void write_run(Relation index, const Format &format, const Input *inputs, int count, PageSink *sink,
               storage::RunEntry *entry) {
    Builder builder = {};
    builder.format = &format;
    builder.inputs = inputs;
    builder.count = count;

    merge_step_count = 0;
    const StepTimer timer = begin_step("merge TIDs", -1);
    TidWriter tids;
    begin_tids(&tids, sink);
    merge_places(inputs, count, &tids, &builder.order);
    finish_tids(&tids);
    end_step(timer, tids.entries, uint64{sink->begun} * BLCKSZ);
    entry->entries = tids.entries;
    if (tids.entries == 0)
        return;
    check_run_rows(index, tids.entries);
    entry->sections[kTidSection] = {0, sink->begun};

    const uint32 first_stream_page = sink->begun;
    builder.header = allocate_zeroed<RunHeader>(1);
    builder.header->entries = tids.entries;
    builder.header->columns = static_cast<uint32>(format.columns);
    begin_phase("writing columns", tids.entries * static_cast<uint64>(format.columns));
    begin_stream(&builder.stream, sink);
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_column column", ALLOCSET_DEFAULT_SIZES);
    for (int i = 0; i < format.columns; i++) {
        MemoryContext caller = MemoryContextSwitchTo(context);
        if (format.types[i].is_integer)
            write_integers(&builder, i, &builder.header->column[i]);
        else if (format.types[i].base_type != NUMERICOID ||
                 !write_scaled(&builder, i, &builder.header->column[i]))
            write_strings(&builder, i, &builder.header->column[i]);
        MemoryContextSwitchTo(caller);
        MemoryContextReset(context);
    }
    finish_stream(&builder.stream);
    entry->sections[kStreamSection] = {first_stream_page, sink->begun - first_stream_page};

    Page page = next_page(sink);
    const size_t bytes =
        offsetof(RunHeader, column) + static_cast<size_t>(format.columns) * sizeof(ColumnHeader);
    memcpy(storage::page_content(page), builder.header, bytes);
    storage::set_content_length(page, static_cast<uint32>(bytes));
    entry->sections[kHeaderSection] = {sink->begun - 1, 1};
    set_run_data(entry, Layout::Columns, builder.stream.total, tids.heap_blocks);
    MemoryContextDelete(context);
    pfree(builder.header);
    pfree(builder.order.segments);
}

}  // namespace pg_gpu::column
