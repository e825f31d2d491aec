#include "column/build/dictionary_merge.h"

#include <algorithm>

#include "column/scan/scan.h"
#include "sort.h"
#include "request_kinds.h"

namespace pg_gpu::column {

// ---- inputs -----------------------------------------------------------------------------------------------

static bool is_null_at(const InputColumn &column, uint64 row) {
    return column.null_bits != nullptr && ((column.null_bits[row / 64] >> (row % 64)) & 1) != 0;
}

// Calls visit(numbers or values in hand, their first row, how many) for all of a column's codes.
template <typename Visit>
static void for_all_codes(const Input &input, int number, Visit visit) {
    ColumnCursor column_cursor;
    begin_column_cursor(&column_cursor, input, number);
    const uint64 rows = input_rows(input);
    for (uint64 row = 0; row < rows;) {
        const uint32 take =
            seek_column_cursor(&column_cursor, row, static_cast<uint32>(Min(rows - row, uint64{UINT32_MAX})));
        if (!visit(column_cursor, row, take))
            break;
        row += take;
    }
    end_column_cursor(&column_cursor);
}

// Dead rows' values go out of the dictionary with them.
static void mark_used(InputColumn *column, const Input &input, int number) {
    column->used = allocate_zeroed<bool>(column->map_count);
    for_all_codes(input, number, [&](const ColumnCursor &column_cursor, uint64 row, uint32 take) {
        for (uint32 i = 0; i < take; i++)
            if (!is_dropped(input, row + i) && !is_null_at(*column, row + i))
                column->used[column_cursor.numbers[column_cursor.at + i]] = true;
        return true;
    });
}

// Opens the part that integers and strings have in common: NULLs, and which codes live rows have.
static void open_column(InputColumn *column, const Input &input, int number) {
    *column = {};
    if (input.chunk != nullptr) {
        const ChunkColumn &from = input.chunk->column[number];
        column->null_bits = from.nulls > 0 ? from.null_bits : nullptr;
        column->raw = from.raw;
        column->map_count = from.raw ? 0 : uint64{distinct_values(from)} + 1;
    } else {
        const ColumnHeader &header = input.reader->header.column[number];
        column->null_bits = read_null_bits(input.reader, number);
        column->raw = !is_dictionary(header);
        column->map_count = column->raw ? 0 : UINT64CONST(1) << header.bits;
    }
    if (column->raw)
        return;
    column->map = allocate_zeroed<uint64>(column->map_count);
    if (input.reader != nullptr && input.reader->dead != nullptr)
        mark_used(column, input, number);
}

void open_integers(InputColumn *column, const Input &input, int number) {
    open_column(column, input, number);
    if (input.chunk != nullptr) {
        const ChunkColumn &from = input.chunk->column[number];
        if (column->raw) {
            for (uint64 row = 0; row < input.chunk->rows; row++) {
                if (is_null_at(*column, row))
                    continue;
                const uint64 value = from.values[row];
                column->lowest = column->any ? Min(column->lowest, value) : value;
                column->highest = column->any ? Max(column->highest, value) : value;
                column->any = true;
            }
            return;
        }
        column->count = from.integers.count;
        auto *entries = allocate<uint64>(column->count + 1);
        for (uint64 i = 0; i < column->count; i++)
            entries[i] = from.integers.keys[from.sorted[i]];
        column->entries = entries;
        column->numbers = from.sorted;
        return;
    }
    const ColumnHeader &header = input.reader->header.column[number];
    if (column->raw) {
        // Rows that died may have left the bounds wider than need be; a dictionary's are exact.
        column->any = true;
        column->highest = header.highest;
        column->lowest = header.encoding == static_cast<uint8>(Encoding::Plain) ? 0 : header.base;
        return;
    }
    column->count = header.distinct;
    column->entries = read_integer_dictionary(input.reader, number);
}

// ---- numerics ---------------------------------------------------------------------------------------------

static bool find_scale(const Input &input, int number, bool *any, uint8 *scale) {
    *any = false;
    if (input.chunk != nullptr) {
        const ChunkColumn &from = input.chunk->column[number];
        *any = from.is_scaled;
        *scale = from.scale;
        return from.is_scaled || from.strings.count == 0;
    }
    const ColumnHeader &header = input.reader->header.column[number];
    if (is_scaled(header)) {
        *any = true;
        *scale = header.scale;
        return true;
    }
    bool has_others = false;
    read_scaled_entries(input.reader, number, [&](const ScaledNumeric *first, uint64) {
        *any = first != nullptr;
        has_others = first == nullptr;
        if (*any)
            *scale = first->scale;
        return false;
    });
    return !has_others;
}

bool find_common_scale(const Input *inputs, int count, int number, uint8 *scale) {
    bool any = false;
    for (int i = 0; i < count; i++) {
        bool has_scale;
        uint8 own;
        if (!find_scale(inputs[i], number, &has_scale, &own) || (has_scale && any && own != *scale))
            return false;
        *scale = has_scale ? own : *scale;
        any = any || has_scale;
    }
    return any;
}

namespace {

struct ScaledEntry {
    uint64 code;
    uint32 number;
};

}  // namespace

// The order of a dictionary's bytes isn't that of numbers.
static bool open_scaled_dictionary(InputColumn *column, const Input &input, int number, uint8 scale) {
    auto *scaled = allocate<ScaledEntry>(input.reader->header.column[number].distinct + 1);
    const bool is_whole =
        read_scaled_entries(input.reader, number, [&](const ScaledNumeric *entry, uint64 place) {
            if (column->used != nullptr && !column->used[place])
                return true;
            if (entry == nullptr || entry->scale != scale)
                return false;
            scaled[column->count++] = {entry->code, static_cast<uint32>(place)};
            return true;
        });
    sort_interruptibly(scaled, scaled + column->count,
                       [](const ScaledEntry &a, const ScaledEntry &b) { return a.code < b.code; });
    auto *entries = allocate<uint64>(column->count + 1);
    auto *numbers = allocate<uint32>(column->count + 1);
    for (uint64 i = 0; i < column->count; i++) {
        entries[i] = scaled[i].code;
        numbers[i] = scaled[i].number;
    }
    pfree(scaled);
    column->entries = entries;
    column->numbers = numbers;
    return is_whole;
}

bool open_scaled(InputColumn *column, const Input &input, int number, uint8 scale) {
    if (input.chunk != nullptr || is_scaled(input.reader->header.column[number])) {
        open_integers(column, input, number);
        return true;
    }
    open_column(column, input, number);
    return open_scaled_dictionary(column, input, number, scale);
}

// ---- integers ---------------------------------------------------------------------------------------------

// If most of the first rows differ, the others are taken to differ as well.
static constexpr uint64 kSampleRows = 65536;

// A small merge is over before a thousand of them are wasted.
static constexpr uint64 kValuesBetweenChecks = 256;

// Adds an input's values; false when they are too many, as goes_on() tells now and then.
template <typename GoesOn>
static bool tabulate(IntegerTable *table, const InputColumn &column, const Input &input, int number,
                     uint64 *seen, GoesOn goes_on) {
    bool within = true;
    for_all_codes(input, number, [&](const ColumnCursor &column_cursor, uint64 row, uint32 take) {
        for (uint32 i = 0; i < take; i++) {
            if (is_dropped(input, row + i) || is_null_at(column, row + i))
                continue;
            number_of(table, column_cursor.values[column_cursor.at + i] + column_cursor.base);
            if (++*seen % kValuesBetweenChecks != 0)
                continue;
            CHECK_FOR_INTERRUPTS();
            within = goes_on();
            if (!within)
                return false;
        }
        return true;
    });
    return within && goes_on();
}

// Returns the most distinct values, up to `limit`, of which a dictionary would be cheaper.
static uint64 max_that_pay(uint64 rows, uint32 range_bits, uint32 entry_bits, uint64 limit) {
    uint64 most = 0;
    for (uint64 above = limit; most < above;) {
        const uint64 middle = above - (above - most) / 2;
        if (is_dictionary_cheaper(rows, middle, range_bits, entry_bits))
            most = middle;
        else
            above = middle - 1;
    }
    return most;
}

namespace {

// An input without a dictionary: where its integers lie, and how many different ones there are at least.
struct RawRange {
    uint64 lowest;
    uint64 highest;
    uint64 distinct;
};

}  // namespace

// Runs of so few rows have no dictionary because it would have taken more room, and for no other reason.
static constexpr uint64 kMaxExactRows = 16384;

static uint64 least_distinct(const InputColumn &column, const Input &input, int number) {
    if (input.chunk != nullptr) {
        const ChunkColumn &from = input.chunk->column[number];
        if (!from.is_diverse)
            return 0;
        const uint32 bits = bits_for_range(column.highest - column.lowest);
        return max_that_pay(input.chunk->rows, bits, bits, input.chunk->rows) + 1;
    }
    const storage::RunEntry &run = input.reader->run;
    if (run.entries > kMaxExactRows)
        return 0;
    const uint32 bits = input.reader->header.column[number].bits;
    const uint64 distinct = max_that_pay(run.entries, bits, bits, run.entries) + 1;
    return distinct > run.dead ? distinct - run.dead : 0;
}

// Returns how many different integers inputs without a dictionary have at least: inputs whose ranges don't
// meet have none in common. Runs that follow one another often have such ranges, of times and of numbers that
// are counted up.
static uint64 least_distinct_of_all(const InputColumn *columns, const Input *inputs, int count, int number) {
    auto *ranges = allocate<RawRange>(count);
    int found = 0;
    for (int i = 0; i < count; i++)
        if (columns[i].raw && columns[i].any)
            ranges[found++] = {columns[i].lowest, columns[i].highest,
                               least_distinct(columns[i], inputs[i], number)};
    std::sort(ranges, ranges + found,
              [](const RawRange &a, const RawRange &b) { return a.lowest < b.lowest; });
    uint64 sum = 0;
    uint64 most = 0;
    uint64 highest = 0;
    for (int i = 0; i < found; i++) {
        if (i > 0 && ranges[i].lowest > highest) {
            sum += most;
            most = 0;
        }
        most = Max(most, ranges[i].distinct);
        highest = Max(highest, ranges[i].highest);
    }
    pfree(ranges);
    return sum + most;
}

void tabulate_raw(InputColumn *columns, const Input *inputs, int count, int number, uint64 rows,
                  uint32 entry_bits, uint64 listed, IntegerUnion *merged) {
    merged->complete = true;
    bool any_raw = false;
    uint64 lowest = PG_UINT64_MAX;
    uint64 highest = 0;
    for (int i = 0; i < count; i++) {
        any_raw = any_raw || columns[i].raw;
        if (columns[i].raw && columns[i].any) {
            lowest = Min(lowest, columns[i].lowest);
            highest = Max(highest, columns[i].highest);
        }
    }
    if (!any_raw)
        return;
    const uint32 range_bits = highest >= lowest ? bits_for_range(highest - lowest) : 0;
    // The most that could pay, and that memory allows.
    const uint64 room = static_cast<uint64>(maintenance_work_mem) * 1024 / 48;
    const uint64 paying =
        max_that_pay(rows, range_bits, entry_bits != 0 ? entry_bits : range_bits, Min(room, rows));
    if (listed == 0 && least_distinct_of_all(columns, inputs, count, number) > paying) {
        merged->complete = false;
        return;
    }
    const uint64 most = Max(paying, Min(listed, room));
    auto *table = allocate<IntegerTable>(1);
    begin_table(table, index_of(inputs[0]));
    uint64 seen = 0;
    const auto may_pay = [&] {
        return table->count <= most &&
               (seen < kSampleRows || table->count <= listed || table->count <= seen / 8 * 7);
    };
    for (int i = 0; i < count && merged->complete; i++)
        if (columns[i].raw)
            merged->complete = tabulate(table, columns[i], inputs[i], number, &seen, may_pay);
    if (!merged->complete) {
        end_table(table);
        return;
    }
    InputColumn *made = &merged->table;
    merged->has_table = true;
    made->count = table->count;
    auto *sorted = allocate<uint32>(made->count + 1);
    auto *entries = allocate<uint64>(made->count + 1);
    for (uint32 i = 0; i < made->count; i++)
        sorted[i] = i;
    sort_interruptibly(sorted, sorted + made->count,
                       [table](uint32 a, uint32 b) { return table->keys[a] < table->keys[b]; });
    for (uint64 i = 0; i < made->count; i++)
        entries[i] = table->keys[sorted[i]];
    made->entries = entries;
    made->numbers = sorted;
    made->map_count = made->count + 1;
    made->map = allocate_zeroed<uint64>(made->map_count);
    for (int i = 0; i < count; i++) {
        if (!columns[i].raw)
            continue;
        columns[i].table = table;
        columns[i].map = made->map;
        columns[i].map_count = made->map_count;
    }
}

namespace {

struct EntryCursor {
    InputColumn *column;
    uint64 at;
    uint64 value;
};

}  // namespace

static uint64 number_at(const InputColumn &column, uint64 at) {
    return column.numbers != nullptr ? column.numbers[at] : at;
}

static bool settle_entry(EntryCursor *cursor) {
    const InputColumn &column = *cursor->column;
    while (cursor->at < column.count && column.used != nullptr && !column.used[number_at(column, cursor->at)])
        cursor->at++;
    if (cursor->at == column.count)
        return false;
    cursor->value = column.entries[cursor->at];
    return true;
}

static void unite_here(InputColumn *columns, int count, IntegerUnion *merged) {
    auto *cursors = allocate<EntryCursor>(count + 1);
    int live = 0;
    uint64 total = 0;
    const auto add = [&](InputColumn *column) {
        total += column->count;
        cursors[live] = {column, 0, 0};
        if (settle_entry(&cursors[live]))
            live++;
    };
    for (int i = 0; i < count; i++)
        if (!columns[i].raw)
            add(&columns[i]);
    if (merged->has_table)
        add(&merged->table);
    merged->entries = allocate<uint64>(total + 1);
    while (live > 0) {
        uint64 least = cursors[0].value;
        for (int i = 1; i < live; i++)
            least = Min(least, cursors[i].value);
        const uint64 code = merged->count++;
        merged->entries[code] = least;
        if (code % 65536 == 0)
            CHECK_FOR_INTERRUPTS();
        for (int i = 0; i < live;) {
            if (cursors[i].value == least) {
                const InputColumn &column = *cursors[i].column;
                column.map[number_at(column, cursors[i].at)] = code;
                cursors[i].at++;
                if (!settle_entry(&cursors[i])) {
                    cursors[i] = cursors[--live];
                    continue;
                }
            }
            i++;
        }
    }
    pfree(cursors);
}

namespace {

// An input's entries that live rows have, and their places in the union so far.
struct UsedEntries {
    InputColumn *column;
    uint64 *values;
    uint64 *numbers;
    uint32 *places;
    uint64 count;
};

}  // namespace

static UsedEntries used_entries(InputColumn *column) {
    UsedEntries used = {column, allocate<uint64>(column->count + 1), allocate<uint64>(column->count + 1),
                        nullptr, 0};
    for (uint64 i = 0; i < column->count; i++) {
        const uint64 number = number_at(*column, i);
        if (column->used != nullptr && !column->used[number])
            continue;
        used.values[used.count] = column->entries[i];
        used.numbers[used.count++] = number;
    }
    used.places = allocate<uint32>(used.count + 1);
    for (uint64 i = 0; i < used.count; i++)
        used.places[i] = static_cast<uint32>(i);
    return used;
}

// Unites two at a time: the union so far and the next input.
static bool unite_used(const client::Choice &choice, UsedEntries *used, int count, IntegerUnion *merged) {
    uint64 total = used[0].count;
    auto *entries = allocate<uint64>(total + 1);
    memcpy(entries, used[0].values, total * sizeof(uint64));
    for (int i = 1; i < count; i++) {
        const uint64 *joined;
        const uint32 *main_map;
        const uint32 *delta_map;
        uint64 joined_count;
        if (!merge_column_dictionaries(choice, entries, total, used[i].values, used[i].count, &joined,
                                       &joined_count, &main_map, &delta_map))
            return false;
        for (int j = 0; j < i; j++)
            for (uint64 k = 0; k < used[j].count; k++)
                used[j].places[k] = main_map[used[j].places[k]];
        memcpy(used[i].places, delta_map, used[i].count * sizeof(uint32));
        entries = reallocate(entries, joined_count + 1);
        memcpy(entries, joined, joined_count * sizeof(uint64));
        total = joined_count;
    }
    for (int i = 0; i < count; i++)
        for (uint64 k = 0; k < used[i].count; k++)
            used[i].column->map[used[i].numbers[k]] = used[i].places[k];
    merged->entries = entries;
    merged->count = total;
    return true;
}

// A round trip takes longer than merging fewer entries than this.
static constexpr uint64 kFewestEntries = 1024;

static client::Path unite_on_server(InputColumn *columns, int count, IntegerUnion *merged) {
    auto *used = allocate<UsedEntries>(static_cast<size_t>(count) + 1);
    int inputs = 0;
    client::Request request = {};
    request.kind = client::RequestKind::MergeColumnDictionaries;
    for (int i = 0; i <= count; i++) {
        InputColumn *column = i < count ? &columns[i] : &merged->table;
        if (i < count ? column->raw : !merged->has_table)
            continue;
        request.items += column->count;
        used[inputs++].column = column;
    }
    if (inputs < 2 || request.items < kFewestEntries || request.items > PG_INT32_MAX ||
        !client::may_use_server(request.items, kFewestEntries))
        return client::Path::Paged;
    const client::Choice choice = client::choose_path(request);
    if (choice.path == client::Path::Paged)
        return client::Path::Paged;
    for (int i = 0; i < inputs; i++)
        used[i] = used_entries(used[i].column);
    return unite_used(choice, used, inputs, merged) ? choice.path : client::Path::Paged;
}

client::Path unite_integers(InputColumn *columns, int count, IntegerUnion *merged) {
    const client::Path path = unite_on_server(columns, count, merged);
    if (path == client::Path::Paged)
        unite_here(columns, count, merged);
    if (merged->count > 0) {
        merged->any = true;
        merged->lowest = merged->entries[0];
        merged->highest = merged->entries[merged->count - 1];
    }
    // A column without a dictionary counts by its bounds.
    for (int i = 0; i < count && !merged->complete; i++) {
        if (!columns[i].raw || !columns[i].any)
            continue;
        merged->lowest = merged->any ? Min(merged->lowest, columns[i].lowest) : columns[i].lowest;
        merged->highest = merged->any ? Max(merged->highest, columns[i].highest) : columns[i].highest;
        merged->any = true;
    }
    return path;
}

void map_to_values(InputColumn *column, const IntegerUnion &merged, uint64 base) {
    if (column->raw) {
        // Written as they are.
        column->table = nullptr;
        return;
    }
    for (uint64 i = 0; i < column->count; i++) {
        uint64 *place = &column->map[number_at(*column, i)];
        if (merged.count > 0)
            *place = merged.entries[*place] - base;
    }
}

// ---- strings ----------------------------------------------------------------------------------------------

void open_strings(InputColumn *column, const Input &input, int number) {
    if (input.chunk != nullptr)
        format_numerics(input.chunk, number);
    open_column(column, input, number);
    if (!column->raw)
        return;
    column->table = allocate<IntegerTable>(1);
    begin_table(column->table, input.reader->index);
    uint64 seen = 0;
    tabulate(column->table, *column, input, number, &seen, [] { return true; });
    column->formatted = format_table(*column->table, input.reader->header.column[number].scale);
    column->map_count = uint64{column->table->count} + 1;
    column->map = allocate_zeroed<uint64>(column->map_count);
}

}  // namespace pg_gpu::column
