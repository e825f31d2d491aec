#include "column/scan/value_list.h"

#include "column/scan/cached_results.h"
#include "compat.h"
#include "keys/keys.h"
#include "memory.h"

#include <algorithm>

namespace pg_gpu::column {

namespace {

struct RowCode {
    uint64 code;
    uint32 row;
};

}  // namespace

// Ones among 32 bits. Processors count them sooner, but not all do.
static uint32 count_ones(uint32 bits) {
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    return ((bits + (bits >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

// ---- room -------------------------------------------------------------------------------------------------

// Codes near each other are numbered by a word for 32 of them: a bit each for those that are there, and above
// these bits how many are there before.
static constexpr uint32 kCodesPerWord = 32;

static uint64 range_of(const ColumnHeader &header) {
    return header.highest - header.base + 1;
}

static size_t memory_to_make() {
    return static_cast<size_t>(maintenance_work_mem) * 1024;
}

// Are there so few words that they are made and looked up sooner than codes are sorted?
static bool has_words(const ColumnHeader &header, uint64 rows) {
    constexpr uint64 words_per_row = 4;
    const uint64 range = range_of(header);
    return range != 0 && range / kCodesPerWord < words_per_row * rows &&
           range / kCodesPerWord < memory_to_make() / sizeof(uint64);
}

// Returns how many codes are sorted at once, which is work as in a build.
static uint64 max_sorted() {
    return memory_to_make() / (2 * sizeof(RowCode));
}

// Codes that are too many are sorted in pieces, of which each is a range of codes. A sample tells where they
// end, so that few are longer than twice what they should be.
static constexpr uint64 kMaxPieces = 64;
static constexpr uint64 kSample = 4096;

static uint64 count_pieces(uint64 rows) {
    return rows <= max_sorted() ? 1 : rows / (max_sorted() / 2) + 1;
}

size_t bytes_of_list(const ColumnHeader &header, uint64 rows) {
    return rows >= PG_UINT32_MAX || (!has_words(header, rows) && count_pieces(rows) > kMaxPieces)
               ? kNoList
               : groups_of(rows) * kGroup * sizeof(uint32);
}

// ---- making -----------------------------------------------------------------------------------------------

// Calls visit(row, code) for the codes of rows that aren't NULL.
template <typename Value, typename Visit>
static void visit_codes(RunReader *reader, int column, Visit visit) {
    const ColumnHeader &header = reader->header.column[column];
    const uint64 rows = reader->run.entries;
    uint64 *nulls = read_null_bits(reader, column);
    CodeCursor<Value> cursor;
    begin_codes(&cursor, reader, header.codes, header.bits, rows);
    for (uint64 first = 0; first < rows; first += kBatch) {
        if (next_groups(&cursor) == 0)
            break;
        const auto count = static_cast<uint32>(Min(rows - first, uint64{kBatch}));
        for (uint32 i = 0; i < count; i++) {
            const uint64 row = first + i;
            if (nulls == nullptr || (nulls[row / kGroup] >> (row % kGroup) & 1) == 0)
                visit(row, uint64{cursor.values[i]});
        }
    }
    end_codes(&cursor);
    if (nulls != nullptr)
        pfree(nulls);
}

template <typename Visit>
static void visit_row_codes(RunReader *reader, int column, Visit visit) {
    if (reader->header.column[column].bits > 32)
        visit_codes<uint64>(reader, column, visit);
    else
        visit_codes<uint32>(reader, column, visit);
}

static void number_by_words(RunReader *reader, int column, uint32 *numbers, ValueList *list) {
    const uint64 range = range_of(reader->header.column[column]);
    const uint64 words = range / kCodesPerWord + 1;
    auto *word = allocate_zeroed<uint64>(words);
    // Damaged codes may be above the range.
    visit_row_codes(reader, column, [&](uint64, uint64 code) {
        const uint64 place = Min(code, range - 1);
        word[place / kCodesPerWord] |= UINT64CONST(1) << (place % kCodesPerWord);
    });
    for (uint64 i = 0; i < words; i++) {
        const uint32 ones = count_ones(static_cast<uint32>(word[i]));
        word[i] |= list->count << 32;
        list->count += ones;
    }
    visit_row_codes(reader, column, [&](uint64 row, uint64 code) {
        const uint64 place = Min(code, range - 1);
        const uint64 found = word[place / kCodesPerWord];
        const auto below = static_cast<uint32>((UINT64CONST(1) << (place % kCodesPerWord)) - 1);
        numbers[row] = static_cast<uint32>(found >> 32) + count_ones(static_cast<uint32>(found) & below);
    });
}

namespace {

struct Pieces {
    uint64 last[2 * kMaxPieces + 1];  // the last code of each
    uint32 count;
};

}  // namespace

static void end_piece(Pieces *pieces, uint64 last) {
    if (pieces->count == 0 || pieces->last[pieces->count - 1] < last)
        pieces->last[pieces->count++] = last;
}

// A code that many rows have is a piece of its own, which needn't be sorted.
static Pieces divide_codes(RunReader *reader, int column) {
    Pieces pieces = {};
    const uint64 rows = reader->run.entries;
    const uint64 wanted = count_pieces(rows);
    auto *sample = allocate<uint64>(2 * kSample);
    uint64 taken = 0;
    if (wanted > 1) {
        const uint64 step = rows / kSample + 1;
        visit_row_codes(reader, column, [&](uint64 row, uint64 code) {
            if (taken < 2 * kSample && murmurhash32(static_cast<uint32>(row)) % step == 0)
                sample[taken++] = code;
        });
        std::sort(sample, sample + taken);
    }
    for (uint64 i = 1; i < wanted && taken > 0; i++) {
        const uint64 code = sample[i * taken / wanted];
        if (code > 0)
            end_piece(&pieces, code - 1);
        if (sample[(i + 1) * (taken - 1) / wanted] == code)
            end_piece(&pieces, code);
    }
    end_piece(&pieces, PG_UINT64_MAX);
    pfree(sample);
    return pieces;
}

// The sorted codes are numbered. False: more codes of a piece are there than the sample made believe.
static bool number_by_sorting(RunReader *reader, int column, uint32 *numbers, ValueList *list) {
    const Pieces pieces = divide_codes(reader, column);
    const uint64 room = Min(reader->run.entries, max_sorted());
    auto *entries = allocate<RowCode>(room + 1);
    auto *others = allocate<RowCode>(room + 1);
    uint64 first = 0;
    for (uint32 piece = 0; piece < pieces.count; piece++) {
        const uint64 last = pieces.last[piece];
        uint64 count = 0;
        visit_row_codes(reader, column, [&](uint64 row, uint64 code) {
            if (code < first || code > last)
                return;
            if (first == last)
                numbers[row] = static_cast<uint32>(list->count);
            else if (count < room)
                entries[count] = {code, static_cast<uint32>(row)};
            count++;
        });
        if (first == last) {
            list->count += count > 0 ? 1 : 0;
        } else if (count > room) {
            return false;
        } else {
            const RowCode *sorted = keys::radix_sort_by<uint64>(
                entries, others, count, [](const RowCode &entry) { return entry.code; },
                [] { CHECK_FOR_INTERRUPTS(); });
            for (uint64 i = 0; i < count; i++) {
                list->count += i == 0 || sorted[i].code != sorted[i - 1].code ? 1 : 0;
                numbers[sorted[i].row] = static_cast<uint32>(list->count - 1);
            }
        }
        first = last + 1;
    }
    return true;
}

// Makes a list; returns nullptr when there is no room.
static const ValueList *make_list(RunReader *reader, int column) {
    const uint64 rows = reader->run.entries;
    MemoryContext scratch =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_column list", ALLOCSET_DEFAULT_SIZES);
    auto *list = allocate_zeroed<ValueList>(1);
    auto *numbers = allocate_zeroed<uint32>(groups_of(rows) * kGroup + 1);
    list->numbers = numbers;
    MemoryContext caller = MemoryContextSwitchTo(scratch);
    bool is_made = true;
    if (has_words(reader->header.column[column], rows))
        number_by_words(reader, column, numbers, list);
    else
        is_made = number_by_sorting(reader, column, numbers, list);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(scratch);
    return is_made ? list : nullptr;
}

uint64 *codes_of_list(RunReader *reader, int column, const ValueList &list) {
    auto *codes = allocate_zeroed<uint64>(list.count + 1);
    visit_row_codes(reader, column, [&](uint64 row, uint64 code) { codes[list.numbers[row]] = code; });
    return codes;
}

const ValueList *list_values(RunReader *reader, int column, size_t *memory) {
    const CacheKey key = {reader->index, reader->run.run_id, column, kCachedLists, nullptr};
    if (const void *found = use_results(key))
        return static_cast<const ValueList *>(found);
    const size_t bytes = bytes_of_list(reader->header.column[column], reader->run.entries);
    if (bytes == kNoList)
        return nullptr;
    const uint64 changes = count_changes();
    MemoryContext context = begin_results(bytes);
    if (context == nullptr && bytes > *memory)
        return nullptr;
    MemoryContext caller = MemoryContextSwitchTo(context == nullptr ? CurrentMemoryContext : context);
    const ValueList *list = make_list(reader, column);
    MemoryContextSwitchTo(caller);
    if (list == nullptr)
        return nullptr;
    if (context != nullptr && !reader->stale && share_results(key, context, list, changes))
        return list;
    *memory -= Min(bytes, *memory);
    return list;
}

}  // namespace pg_gpu::column
