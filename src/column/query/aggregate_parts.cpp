#include "column/query/aggregate_parts.h"

#include "column/scan/cached_results.h"

namespace pg_gpu::column {

static const ColumnHeader &header_of(const AggregatePart &part, int column) {
    return part.reader->header.column[column];
}

// ---- parts ------------------------------------------------------------------------------------------------

// Loose rows that aren't selected are left out.
static void add_loose_part(ColumnView *view, AggregatePart *part) {
    Chunk *chunk =
        begin_chunk(view->index, *view->format, maintenance_work_mem * size_t{1024}, NumericForm::Strings);
    for (uint32 i = 0; i < view->loose_count; i++) {
        const LooseRow &row = view->loose[i];
        if (!row.selected)
            continue;
        add_row(chunk, table::encode_tid(row.tid));
        for (int column = 0; column < view->format->columns; column++) {
            const TupleValue &value = row.values[column];
            if (value.is_null)
                add_null(chunk, column);
            else if (view->format->types[column].is_integer)
                add_integer(chunk, column, value.integer);
            else
                add_string(chunk, column, value.bytes);
        }
    }
    const uint64 words = groups_of(chunk->rows);
    auto *selected = allocate<uint64>(words + 1);
    for (uint64 i = 0; i < words; i++)
        selected[i] = low_bits(static_cast<uint32>(Min(chunk->rows - i * kGroup, uint64{kGroup})));
    *part = {nullptr, chunk, chunk->rows, selected, chunk->places, nullptr, nullptr};
}

uint64 count_rows(const AggregateParts &parts) {
    uint64 rows = 0;
    for (int i = 0; i < parts.count; i++)
        rows += parts.part[i].rows;
    return rows;
}

AggregateParts make_parts(ColumnView *view) {
    AggregateParts parts = {view->format, allocate_zeroed<AggregatePart>(view->run_count + 1), 0};
    for (int run = 0; run < view->run_count; run++)
        parts.part[parts.count++] = {
            &view->runs[run], nullptr, view->runs[run].run.entries, view->selected[run], nullptr,
            nullptr,          nullptr};
    if (view->loose_count > 0)
        add_loose_part(view, &parts.part[parts.count++]);
    return parts;
}

static uint64 count_codes(const AggregatePart &part, int column, uint32 max_bits) {
    if (part.reader == nullptr) {
        const ChunkColumn &values = part.chunk->column[column];
        return values.raw ? 0 : uint64{distinct_values(values)} + 1;
    }
    if (const ValueList *list = list_of(part, column))
        return list->count + 1;
    const ColumnHeader &header = header_of(part, column);
    // Damaged codes and those of NULLs may be any number of so many bits.
    return is_dictionary(header) || (header.bits <= max_bits && !is_scaled(header))
               ? UINT64CONST(1) << header.bits
               : 0;
}

uint64 count_places(const AggregatePart &part, int column) {
    return count_codes(part, column, kMaxCodedBits);
}

uint64 count_joinable_places(const AggregatePart &part, int column) {
    return count_codes(part, column, kMaxJoinableBits);
}

bool is_listed(const AggregatePart &part, int column) {
    return part.reader == nullptr
               ? !part.chunk->column[column].raw
               : is_dictionary(header_of(part, column)) || list_of(part, column) != nullptr;
}

uint64 count_entries(const AggregatePart &part, int column) {
    const ValueList *list = list_of(part, column);
    return list == nullptr ? header_of(part, column).distinct : list->count;
}

void use_list(AggregatePart *part, int columns, int column, const ValueList *list) {
    if (part->lists == nullptr)
        part->lists = allocate_zeroed<const ValueList *>(static_cast<size_t>(columns));
    part->lists[column] = list;
}

void use_true_rows(AggregatePart *part, uint32 inputs, uint32 input, const uint64 *rows) {
    if (part->true_rows == nullptr)
        part->true_rows = allocate_zeroed<const uint64 *>(inputs);
    part->true_rows[input] = rows;
}

uint64 base_of_codes(const AggregatePart &part, int column) {
    return part.reader == nullptr ? 0 : header_of(part, column).base;
}

bool find_code_bounds(const AggregatePart &part, int column, uint64 *least, uint64 *greatest) {
    if (part.reader != nullptr) {
        const ColumnHeader &header = header_of(part, column);
        *least = header.base;
        *greatest = header.highest;
        return header.nulls < part.rows;
    }
    const ChunkColumn &values = part.chunk->column[column];
    bool any = false;
    for (uint64 row = 0; row < part.rows; row++) {
        if (is_selected(values.null_bits, row))
            continue;
        const uint64 value = values.raw ? values.values[row] : values.integers.keys[values.numbers[row]];
        *least = any ? Min(*least, value) : value;
        *greatest = any ? Max(*greatest, value) : value;
        any = true;
    }
    return any;
}

// ---- what a planner wants to know -------------------------------------------------------------------------

// What a list of the run's values would take, if they have no codes without.
static void add_list(const ColumnHeader &header, uint64 rows, ColumnSummary *summary) {
    if (is_dictionary(header))
        return;
    const size_t bytes = is_scaled(header) ? bytes_of_list(header, rows) : kNoList;
    summary->can_be_listed = summary->can_be_listed && bytes != kNoList;
    if (!summary->can_be_listed)
        return;
    summary->unlisted_rows += rows;
    summary->list_bytes += bytes;
}

IndexSummary summarise_columns(Relation index, const Format &format) {
    IndexSummary summary = {};
    for (int i = 0; i < format.columns; i++)
        summary.column[i].has_codes = summary.column[i].is_joinable = summary.column[i].can_be_listed = true;
    int count;
    const Buffer buffer = storage::lock_metapage(index, run_kind(), BUFFER_LOCK_SHARE);
    const storage::RunEntry *runs = storage::copy_directory(index, run_kind(), BufferGetPage(buffer), &count);
    UnlockReleaseBuffer(buffer);
    for (int run = 0; run < count; run++) {
        summary.rows += runs[run].entries;
        if (layout_of(runs[run]) != Layout::Columns)
            continue;
        summary.runs++;
        RunReader reader;
        open_header(&reader, index, runs[run], format);
        // A run that was merged meanwhile is left out of an estimate.
        for (int i = 0; i < format.columns && !reader.stale; i++) {
            const AggregatePart part = {&reader, nullptr, runs[run].entries, nullptr, nullptr,
                                        nullptr, nullptr};
            const ColumnHeader &header = reader.header.column[i];
            const uint64 places = count_places(part, i);
            summary.column[i].has_codes = summary.column[i].has_codes && places > 0;
            summary.column[i].places += is_dictionary(header) ? header.distinct : places;
            const uint64 joinable = count_joinable_places(part, i);
            summary.column[i].is_joinable = summary.column[i].is_joinable && joinable > 0;
            summary.column[i].joinable_places += is_dictionary(header) ? header.distinct : joinable;
            summary.column[i].words += header.codes.words + header.dictionary.words;
            add_list(header, runs[run].entries, &summary.column[i]);
        }
    }
    return summary;
}

// ---- codes of rows ----------------------------------------------------------------------------------------

void begin_part_codes(PartCodes *codes, const AggregatePart &part, int column) {
    *codes = {};
    codes->part = &part;
    codes->column = column;
    codes->first = kNoGroup;
    if (part.reader == nullptr) {
        const ChunkColumn &values = part.chunk->column[column];
        codes->is_wide = values.raw;
        codes->null_bits = values.nulls > 0 ? values.null_bits : nullptr;
        return;
    }
    const ColumnHeader &header = header_of(part, column);
    codes->list = list_of(part, column);
    codes->is_wide = header.bits > 32;
    codes->null_bits = read_null_bits(part.reader, column);
    if (codes->list != nullptr) {
        codes->is_wide = false;
        return;
    }
    // Of a stale run nothing may ever be read.
    if (codes->is_wide) {
        begin_codes(&codes->wide_cursor, part.reader, header.codes, header.bits, part.rows);
        memset(codes->wide_cursor.values, 0, kBatch * sizeof(uint64));
        codes->wide = codes->wide_cursor.values;
    } else {
        begin_codes(&codes->narrow_cursor, part.reader, header.codes, header.bits, part.rows);
        memset(codes->narrow_cursor.values, 0, kBatch * sizeof(uint32));
        codes->narrow = codes->narrow_cursor.values;
    }
}

void read_part_codes(PartCodes *codes, uint64 first) {
    if (codes->first == first && codes->rows == kAllRows)
        return;
    codes->first = first;
    codes->rows = kAllRows;
    const AggregatePart &part = *codes->part;
    if (part.reader == nullptr) {
        const ChunkColumn &values = part.chunk->column[codes->column];
        if (codes->is_wide)
            codes->wide = values.values + first * kGroup;
        else
            codes->narrow = values.numbers + first * kGroup;
    } else if (codes->list != nullptr) {
        codes->narrow = codes->list->numbers + first * kGroup;
    } else if (codes->is_wide) {
        codes->wide_cursor.group = first;
        next_groups(&codes->wide_cursor);
    } else {
        codes->narrow_cursor.group = first;
        next_groups(&codes->narrow_cursor);
    }
}

// All rows' codes are unpacked together, in so little time that only a few rows are better looked up one by
// one.
void read_codes_of_rows(PartCodes *codes, uint64 first, const uint16 *positions, uint32 count, uint64 rows) {
    constexpr uint32 few = kBatch / 4;
    if (codes->part->reader == nullptr || codes->list != nullptr || codes->is_wide || count > few) {
        read_part_codes(codes, first);
        return;
    }
    if (codes->first == first && (codes->rows == kAllRows || codes->rows == rows))
        return;
    codes->first = first;
    codes->rows = rows;
    codes->narrow_cursor.group = first;
    next_few_values(&codes->narrow_cursor, positions, count);
}

void mark_codes(const AggregatePart &part, int column, const uint64 *selected, uint8 *marks, bool *any_null) {
    PartCodes codes;
    begin_part_codes(&codes, part, column);
    const uint64 words = groups_of(part.rows);
    for (uint64 first = 0; first < words; first += kBatchGroups) {
        const auto groups = static_cast<uint32>(Min(words - first, uint64{kBatchGroups}));
        if (!is_any_set(selected + first, groups))
            continue;
        read_part_codes(&codes, first);
        for (uint32 i = 0; i < groups; i++) {
            uint64 bits = selected[first + i];
            if (codes.null_bits != nullptr) {
                *any_null = *any_null || (bits & codes.null_bits[first + i]) != 0;
                bits &= ~codes.null_bits[first + i];
            }
            for (; bits != 0; bits &= bits - 1)
                marks[codes.narrow[i * kGroup + static_cast<uint32>(__builtin_ctzll(bits))]] = 1;
        }
    }
}

void find_true_rows(const AggregatePart &part, int column, const uint64 *truth, bool of_null, uint64 *rows) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_column true rows", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    PartCodes codes;
    begin_part_codes(&codes, part, column);
    for (uint64 group = 0; group < groups_of(part.rows); group++) {
        if (group % kBatchGroups == 0)
            read_part_codes(&codes, group);
        rows[group] = bits_of_codes(codes.narrow + group % kBatchGroups * kGroup, truth);
        if (codes.null_bits != nullptr)
            rows[group] = (rows[group] & ~codes.null_bits[group]) | (of_null ? codes.null_bits[group] : 0);
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
}

// Calls visit(code) for all rows that aren't NULL in the column.
template <typename Visit>
static void visit_codes(const AggregatePart &part, int column, Visit visit) {
    PartCodes codes;
    begin_part_codes(&codes, part, column);
    for (uint64 row = 0; row < part.rows; row++) {
        if (row % kBatch == 0)
            read_part_codes(&codes, row / kGroup);
        if (codes.null_bits == nullptr || !is_selected(codes.null_bits, row))
            visit(codes.is_wide ? codes.wide[row % kBatch] : uint64{codes.narrow[row % kBatch]});
    }
}

bool find_code_bounds_within(const AggregatePart &part, const ColumnType &type, int column, uint64 lowest,
                             uint64 highest, uint64 *least, uint64 *greatest) {
    bool any = false;
    const auto note = [&](uint64 value) {
        if (value < lowest || value > highest)
            return;
        *least = any ? Min(*least, value) : value;
        *greatest = any ? Max(*greatest, value) : value;
        any = true;
    };
    if (is_listed(part, column))
        visit_entries(part, type, column, nullptr,
                      [&](uint64, Datum value) { note(encode_integer(type, value)); });
    else
        visit_codes(part, column, [&](uint64 code) { note(base_of_codes(part, column) + code); });
    return any;
}

namespace {

struct FiniteBounds {
    bool any;
    uint64 least;
    uint64 greatest;
};

}  // namespace

// Codes of all finite floats.
static FiniteBounds finite_codes(const ColumnType &type) {
    const uint64 infinity = type.width == sizeof(float)
                                ? encode_float4(std::numeric_limits<float>::infinity())
                                : encode_float8(std::numeric_limits<double>::infinity());
    return {true, lowest_code(type) + 1, infinity - 1};
}

static FiniteBounds look_for_bounds(const AggregatePart &part, const ColumnType &type, int column) {
    const FiniteBounds finite = finite_codes(type);
    FiniteBounds bounds = {};
    bounds.any = find_code_bounds_within(part, type, column, finite.least, finite.greatest, &bounds.least,
                                         &bounds.greatest);
    return bounds;
}

static FiniteBounds find_kept_bounds(const AggregatePart &part, const ColumnType &type, int column) {
    if (part.reader == nullptr)
        return look_for_bounds(part, type, column);
    const CacheKey key = {part.reader->index, part.reader->run.run_id, column, kCachedBounds, nullptr};
    if (const void *found = find_results(key))
        return *static_cast<const FiniteBounds *>(found);
    const uint64 changes = count_changes();
    const FiniteBounds bounds = look_for_bounds(part, type, column);
    MemoryContext context = part.reader->stale ? nullptr : begin_results(sizeof(bounds));
    if (context != nullptr) {
        auto *copy = static_cast<FiniteBounds *>(MemoryContextAlloc(context, sizeof(bounds)));
        *copy = bounds;
        add_results(key, context, copy, changes);
    }
    return bounds;
}

bool find_finite_bounds(const AggregatePart &part, const ColumnType &type, int column, uint64 *least,
                        uint64 *greatest) {
    if (!find_code_bounds(part, column, least, greatest))
        return false;
    const FiniteBounds finite = finite_codes(type);
    if (*least >= finite.least && *greatest <= finite.greatest)
        return true;
    const FiniteBounds bounds = find_kept_bounds(part, type, column);
    *least = bounds.least;
    *greatest = bounds.greatest;
    return bounds.any;
}

}  // namespace pg_gpu::column
