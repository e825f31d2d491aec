// The functions that storage calls for gpu_column's runs: sealing a tail, merging, reading TIDs.
#include "column/scan/scan.h"
#include "column/column.h"
#include "column/build/dictionary_merge.h"

namespace pg_gpu::column {

// Keeps the tuples as they are: the first merge, of several tails together, makes columns of them.
static void seal(const storage::RunKind *, const char *tail_tuples, uint32 bytes, uint32, Page page,
                 storage::RunEntry *entry) {
    memcpy(storage::page_content(page), tail_tuples, bytes);
    storage::set_content_length(page, bytes);
    set_run_data(entry, Layout::Raw, 0, 0);
}

// ---- merging ----------------------------------------------------------------------------------------------

static void add_raw_run(Relation index, const Format &format, const storage::RunEntry &run, Chunk *chunk) {
    storage::Items tail_tuples;
    if (!read_raw_tuples(index, run, &tail_tuples))
        storage::report_foreign_page(index, run, 0);
    for_each_tail_tuple(index, format, storage::run_block(run, 0), tail_tuples,
                        [chunk](const storage::TailTuple *tail_tuple, const TupleValue *values) {
                            add_tail_tuple(chunk, tail_tuple, values);
                        });
    pfree(tail_tuples.tail_tuples);
    pfree(tail_tuples.dead);
}

static void merge(Relation index, const storage::RunEntry *runs, int count, storage::RunWriter *writer,
                  storage::RunEntry *entry) {
    const Format *format = make_format(index);
    Chunk *chunk =
        begin_chunk(index, *format, static_cast<size_t>(maintenance_work_mem) * 1024, wanted_form(index));
    auto *inputs = allocate_zeroed<Input>(count + 1);
    auto *readers = allocate<RunReader>(count);
    int input_count = 0;
    for (int i = 0; i < count; i++) {
        if (layout_of(runs[i]) == Layout::Raw) {
            add_raw_run(index, *format, runs[i], chunk);
            continue;
        }
        open_reader(&readers[i], index, runs[i], *format);
        if (readers[i].stale)
            storage::report_foreign_page(index, runs[i], readers[i].stale_position);
        inputs[input_count++].reader = &readers[i];
    }
    if (chunk->rows > 0) {
        sort_rows(chunk, 0);
        drop_dear_dictionaries(chunk);
        finish_chunk(chunk);
        inputs[input_count++].chunk = chunk;
    }
    PageSink sink;
    begin_index_sink(&sink, writer);
    write_run(index, *format, inputs, input_count, &sink, entry);
}

namespace {

// The most that a merged column can take.
struct ColumnBound {
    uint64 distinct;      // sum over the inputs
    uint64 string_bytes;  // bytes of strings in the form in which they are written
    uint64 whole_bytes;
    uint64 longest;
    uint64 lowest;
    uint64 highest;
    bool any;
    bool any_null;
    // The digits behind the point that numerics have in runs of integers, and in tuples.
    bool any_scaled;  // run
    bool has_scale;
    bool is_mixed;  // some can't be integers of one scale
    uint8 scale;
};

}  // namespace

static void widen(ColumnBound *bound, uint64 lowest, uint64 highest) {
    bound->lowest = bound->any ? Min(bound->lowest, lowest) : lowest;
    bound->highest = bound->any ? Max(bound->highest, highest) : highest;
    bound->any = true;
}

static void note_scaled(ColumnBound *bound, uint8 scale, uint64 lowest, uint64 highest) {
    bound->is_mixed = bound->is_mixed || (bound->has_scale && bound->scale != scale);
    bound->has_scale = true;
    bound->scale = scale;
    widen(bound, lowest, highest);
}

static void note_numeric(ColumnBound *bound, const ScaledNumeric *scaled) {
    if (scaled == nullptr)
        bound->is_mixed = true;
    else
        note_scaled(bound, scaled->scale, scaled->code, scaled->code);
}

static constexpr uint64 kMaxHeadBytes = 4;

static void add_strings(ColumnBound *bound, uint64 bytes, uint64 whole, uint64 longest, uint64 entries) {
    bound->string_bytes += bytes + kMaxHeadBytes * entries;
    bound->whole_bytes += whole + 2 * kMaxHeadBytes * entries;
    bound->longest = Max(bound->longest, longest + 2 * kMaxHeadBytes);
}

static void bound_raw_run(Relation index, const Format &format, const storage::RunEntry &run,
                          ColumnBound *bounds) {
    storage::Items tail_tuples;
    if (!read_raw_tuples(index, run, &tail_tuples))
        storage::report_foreign_page(index, run, 0);
    const bool may_scale = scales_numerics(index);
    for_each_tail_tuple(index, format, storage::run_block(run, 0), tail_tuples,
                        [&](const storage::TailTuple *, const TupleValue *values) {
                            for (int i = 0; i < format.columns; i++) {
                                bounds[i].any_null = bounds[i].any_null || values[i].is_null;
                                if (values[i].is_null)
                                    continue;
                                bounds[i].distinct++;
                                if (format.types[i].is_integer) {
                                    widen(&bounds[i], values[i].integer, values[i].integer);
                                    continue;
                                }
                                ScaledNumeric scaled;
                                if (may_scale && format.types[i].base_type == NUMERICOID)
                                    note_numeric(&bounds[i],
                                                 read_scaled(values[i].bytes, &scaled) ? &scaled : nullptr);
                                add_strings(&bounds[i], values[i].bytes.length, values[i].bytes.length,
                                            values[i].bytes.length, 1);
                            }
                        });
}

static void bound_run(Relation index, const Format &format, const storage::RunEntry &run,
                      ColumnBound *bounds) {
    RunReader reader;
    open_reader(&reader, index, run, format);
    if (reader.stale)
        storage::report_foreign_page(index, run, reader.stale_position);
    for (int i = 0; i < format.columns; i++) {
        const ColumnHeader &header = reader.header.column[i];
        bounds[i].any_null = bounds[i].any_null || header.nulls > 0;
        if (header.nulls == run.entries)
            continue;
        bounds[i].distinct += is_dictionary(header) ? header.distinct : run.entries;
        if (format.types[i].is_integer) {
            widen(&bounds[i], header.encoding == static_cast<uint8>(Encoding::Plain) ? 0 : header.base,
                  header.highest);
        } else if (is_scaled(header)) {
            bounds[i].any_scaled = true;
            note_scaled(&bounds[i], header.scale, header.base, header.highest);
            const uint64 longest = max_formatted_bytes(header.base, header.highest, header.scale);
            add_strings(&bounds[i], run.entries * longest, run.entries * longest, longest, run.entries);
        } else {
            add_strings(&bounds[i], header.dictionary_bytes, header.base, header.highest, header.distinct);
        }
    }
    if (reader.dead != nullptr)
        pfree(reader.dead);
}

// Looks whether numerics that are integers in one run can stay so beside another run's dictionary, whose
// entries are read for that: they take much less room than in a dictionary.
static void bound_dictionaries(Relation index, const Format &format, const storage::RunEntry &run,
                               ColumnBound *bounds) {
    RunReader reader;
    open_header(&reader, index, run, format);
    if (reader.stale)
        storage::report_foreign_page(index, run, reader.stale_position);
    for (int i = 0; i < format.columns; i++) {
        ColumnBound *bound = &bounds[i];
        if (bound->any_scaled && !bound->is_mixed && is_dictionary(reader.header.column[i]))
            read_scaled_entries(&reader, i, [bound](const ScaledNumeric *scaled, uint64) {
                note_numeric(bound, scaled);
                return !bound->is_mixed;
            });
    }
}

// Returns the most words that a column takes. With `may_scale` numerics may become integers, unless there are
// `listed` different ones at most.
static uint64 max_column_words(const ColumnType &type, const ColumnBound &bound, uint64 rows, bool may_scale,
                               uint64 listed) {
    const uint64 nulls = bound.any_null ? groups_of(rows) : 0;
    const uint64 distinct = Min(bound.distinct, rows);
    const uint64 code_words = groups_of(rows) * bits_for_entries(distinct);
    const uint32 range_bits = bound.any ? bits_for_range(bound.highest - bound.lowest) : 0;
    constexpr uint64 slack = 4;
    // A dictionary of more entries is chosen only if it takes less room than integers.
    if (may_scale && bound.any_scaled && !bound.is_mixed)
        return nulls + groups_of(rows) * Max(range_bits, kLeastScaledBits) +
               groups_of(Min(distinct, listed)) * bits_of_formatted(kMaxReadBytes) + slack;
    if (!type.is_integer) {
        // Between more neighbours strings share no less, but each block's first is written whole.
        const uint64 blocks = bound.distinct / kDictionaryBlock + 1;
        const uint64 bytes = bound.longest > bound.whole_bytes / blocks
                                 ? bound.whole_bytes
                                 : Min(bound.string_bytes + blocks * bound.longest, bound.whole_bytes);
        // Numerics become integers only if those take no more room than so many bytes an entry.
        const uint64 scaled_words = may_scale && type.base_type == NUMERICOID
                                        ? groups_of(distinct) * bits_of_formatted(kMaxReadBytes)
                                        : 0;
        return nulls + code_words + Max(bytes / sizeof(uint64) + blocks, scaled_words) + slack;
    }
    return nulls + groups_of(rows) * range_bits + slack;
}

// Returns the most pages that the inputs' columns can take, by their headers.
static uint32 merge_page_bound(Relation index, const storage::RunKind *, const storage::RunEntry *inputs,
                               int count) {
    const Format *format = make_format(index);
    ColumnBound bounds[kMaxColumns] = {};
    uint64 rows = 0;
    uint64 heap_blocks = 0;
    for (int i = 0; i < count; i++) {
        rows += inputs[i].entries;
        if (layout_of(inputs[i]) == Layout::Raw) {
            heap_blocks += inputs[i].entries;
            bound_raw_run(index, *format, inputs[i], bounds);
        } else {
            heap_blocks += heap_blocks_of(inputs[i]);
            bound_run(index, *format, inputs[i], bounds);
        }
    }
    const bool may_scale = scales_numerics(index);
    for (int i = 0; i < count && may_scale; i++)
        if (layout_of(inputs[i]) == Layout::Columns)
            bound_dictionaries(index, *format, inputs[i], bounds);
    // This is decided before anything is written, because what is deferred is looked at again by each VACUUM.
    uint64 dead = 0;
    for (int i = 0; i < count; i++)
        dead += inputs[i].dead;
    check_run_rows(index, rows - dead);
    const uint64 listed = max_listed_numerics(index, rows, kMaxListedNumerics);
    uint64 words = 0;
    for (int i = 0; i < format->columns; i++)
        words += max_column_words(format->types[i], bounds[i], rows, may_scale, listed);
    return max_tid_pages(rows, heap_blocks) + pages_of_words(words) + 1;
}

// ---- the rest ---------------------------------------------------------------------------------------------

static bool is_valid(const storage::RunKind *, const storage::RunEntry &run) {
    const storage::Section &tids = run.sections[kTidSection];
    if (layout_of(run) == Layout::Raw)
        return run.pages == 1 && tids.pages == 1 && run.entries <= kTailCapacity / kLeastTailTuple;
    return layout_of(run) == Layout::Columns && run.entries <= UINT32_MAX && tids.pages > 0 &&
           run.entries <= uint64{tids.pages} * kMaxTidsOnPage &&
           run.sections[kStreamSection].pages == pages_of_words(stream_words(run)) &&
           run.sections[kHeaderSection].pages == 1;
}

static uint32 read_tids(Relation index, const storage::RunEntry &run, uint32 position, Page page,
                        ItemPointerData *tids) {
    if (layout_of(run) == Layout::Columns) {
        const auto *content = reinterpret_cast<const uint64 *>(storage::page_content(page));
        const char *problem = find_tid_page_problem(
            content, Min(storage::content_length(page), storage::kContentBytes) / sizeof(uint64));
        if (problem != nullptr)
            storage::report_corruption(index, storage::run_block(run, position), problem);
        return read_page_tids(content, tids);
    }
    return storage::read_sealed_tids(index, run_kind(), run, page, kLeastTailTuple, tids);
}

const storage::RunKind *run_kind() {
    static const storage::RunKind kind = {
        .id = kRunKindId,
        .name = "gpu_column",
        .tail_tuple_bytes = 0,
        .tail_tuple_extra = 0,
        .merge_weight = 5,  // four columns of strings take 370 ns an entry, and four of numbers 40 ns
        .tail_capacity = kTailCapacity,
        .seal = seal,
        .merge_page_bound = merge_page_bound,
        .merge = merge,
        .merged = client::forget_inputs,
        .is_valid = is_valid,
        .read_tids = read_tids,
        .built_with = nullptr,
    };
    return &kind;
}

// ---- long rows --------------------------------------------------------------------------------------------

static void write_long_row(storage::RunWriter *writer, storage::RunEntry *entry, void *context) {
    auto *chunk = static_cast<Chunk *>(context);
    Format format;
    format.columns = chunk->columns;
    for (int i = 0; i < chunk->columns; i++)
        format.types[i] = chunk->column[i].type;
    const Input input = {chunk, nullptr};
    PageSink sink;
    begin_index_sink(&sink, writer);
    write_run(nullptr, format, &input, 1, &sink, entry);
}

void insert_long_row(Relation index, const Format &format, const Datum *values, const bool *nulls,
                     const ItemPointerData &tid) {
    Chunk *chunk = begin_chunk(index, format, 0, NumericForm::Strings);
    add_row(chunk, encode_tid(tid));
    add_values(chunk, values, nulls);
    uint64 words = 0;
    for (int i = 0; i < format.columns; i++)
        words += kGroup + chunk->column[i].strings.used / sizeof(uint64) + 8;
    finish_chunk(chunk);
    storage::insert_run(index, run_kind(), max_tid_pages(1, 1) + pages_of_words(words) + 2, write_long_row,
                        chunk);
    end_chunk(chunk);
}

}  // namespace pg_gpu::column
