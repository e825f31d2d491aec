#include "column/value_list.h"

#include "column/kept_results.h"
#include "compat.h"
#include "keys/radix_sort.h"
#include "memory.h"

namespace pg_gpu::column {

namespace {

struct RowCode {
    uint64 code;
    uint32 row;
};

}  // namespace

static uint64 range_of(const ColumnHeader &header) {
    return header.highest - header.base + 1;
}

static uint64 words_of(uint64 range) {
    return range / kCodesPerListWord + 1;
}

static size_t bytes_of_numbers(uint64 rows) {
    return groups_of(rows) * kGroup * (sizeof(uint64) + sizeof(uint32));
}

// Are words not more than the other kind of list?
static bool has_words(const ColumnHeader &header, uint64 rows) {
    const uint64 range = range_of(header);
    return range != 0 && words_of(range) <= bytes_of_numbers(rows) / sizeof(uint64);
}

size_t bytes_of_list(const ColumnHeader &header, uint64 rows) {
    if (has_words(header, rows))
        return words_of(range_of(header)) * sizeof(uint64);
    // Codes are sorted, which is work as in a build.
    return rows > maintenance_work_mem * size_t{1024} / (2 * sizeof(RowCode)) ? kNoList
                                                                              : bytes_of_numbers(rows);
}

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

static void make_words(RunReader *reader, int column, ValueList *list) {
    const uint64 words = words_of(list->range);
    auto *word = allocate_zeroed<uint64>(words);
    visit_row_codes(reader, column, [&](uint64, uint64 code) {
        const uint64 place = Min(code, list->range - 1);
        word[place / kCodesPerListWord] |= UINT64CONST(1) << (place % kCodesPerListWord);
    });
    for (uint64 i = 0; i < words; i++) {
        const uint32 ones = count_ones(static_cast<uint32>(word[i]));
        word[i] |= list->count << 32;
        list->count += ones;
    }
    list->words = word;
}

// The sorted codes are numbered.
static void make_numbers(RunReader *reader, int column, MemoryContext scratch, ValueList *list) {
    const uint64 rows = reader->run.entries;
    auto *numbers = allocate_zeroed<uint32>(groups_of(rows) * kGroup + 1);
    MemoryContext caller = MemoryContextSwitchTo(scratch);
    auto *entries = allocate<RowCode>(rows + 1);
    auto *others = allocate<RowCode>(rows + 1);
    uint64 count = 0;
    visit_row_codes(reader, column, [&](uint64 row, uint64 code) {
        entries[count++] = {code, static_cast<uint32>(row)};
    });
    const RowCode *sorted = keys::radix_sort_by<uint64>(
        entries, others, count, [](const RowCode &entry) { return entry.code; },
        [] { CHECK_FOR_INTERRUPTS(); });
    MemoryContextSwitchTo(caller);
    for (uint64 i = 0; i < count; i++) {
        list->count += i == 0 || sorted[i].code != sorted[i - 1].code ? 1 : 0;
        numbers[sorted[i].row] = static_cast<uint32>(list->count - 1);
    }
    auto *codes = allocate<uint64>(list->count + 1);
    for (uint64 i = 0; i < count; i++)
        codes[numbers[sorted[i].row]] = sorted[i].code;
    list->codes = codes;
    list->numbers = numbers;
}

static const ValueList *make_list(RunReader *reader, int column) {
    const ColumnHeader &header = reader->header.column[column];
    MemoryContext scratch =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_column list", ALLOCSET_DEFAULT_SIZES);
    auto *list = allocate_zeroed<ValueList>(1);
    list->range = range_of(header);
    if (has_words(header, reader->run.entries))
        make_words(reader, column, list);
    else
        make_numbers(reader, column, scratch, list);
    MemoryContextDelete(scratch);
    return list;
}

const ValueList *list_values(RunReader *reader, int column, size_t *memory) {
    const KeptKey key = {reader->index, reader->run.run_id, column, kKeptLists, nullptr};
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
    if (context != nullptr && !reader->stale && share_results(key, context, list, changes))
        return list;
    *memory -= Min(bytes, *memory);
    return list;
}

}  // namespace pg_gpu::column
