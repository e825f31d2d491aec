#include "column/build/chunk.h"

#include <algorithm>

#include "column/column.h"
#include "column/build/run_builder.h"
#include "sort.h"

namespace pg_gpu::column {

static constexpr uint32 kFirstRoom = 64;
static constexpr uint64 kFirstRows = 256;
static constexpr uint64 kRowsPerInterrupt = 65536;
static constexpr uint32 kDistinctSample = 65536;

// ---- tables -----------------------------------------------------------------------------------------------

void begin_table(IntegerTable *table, Relation index) {
    table->index = index;
    table->count = 0;
    table->room = kFirstRoom;
    table->keys = allocate<uint64>(table->room);
    table->mask = kFirstRoom * 2 - 1;
    table->slots = allocate_zeroed<uint32>(size_t{table->mask} + 1);
}

void end_table(IntegerTable *table) {
    pfree(table->keys);
    pfree(table->slots);
    *table = {};
}

static void put_in_slot(uint32 *slots, uint32 mask, uint32 slot, uint32 number) {
    while (slots[slot] != 0)
        slot = (slot + 1) & mask;
    slots[slot] = number + 1;
}

static void grow_slots(Relation index, uint32 **slots, uint32 *mask) {
    if (*mask > UINT32_MAX / 4)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                        errmsg("a column of index \"%s\" has too many distinct values",
                               RelationGetRelationName(index)),
                        errhint("Partition the table, or lower maintenance_work_mem.")));
    *mask = *mask * 2 + 1;
    *slots = reallocate(*slots, size_t{*mask} + 1);
    memset(*slots, 0, (size_t{*mask} + 1) * sizeof(uint32));
}

uint32 add_to_table(IntegerTable *table, uint64 key) {
    if (table->count == table->room) {
        table->room *= 2;
        table->keys = reallocate(table->keys, table->room);
        grow_slots(table->index, &table->slots, &table->mask);
        for (uint32 i = 0; i < table->count; i++)
            put_in_slot(table->slots, table->mask, integer_slot(table->keys[i], table->mask), i);
    }
    table->keys[table->count] = key;
    put_in_slot(table->slots, table->mask, integer_slot(key, table->mask), table->count);
    return table->count++;
}

static void begin_strings_table(StringTable *table, Relation index) {
    *table = {};
    table->index = index;
    table->room = kFirstRoom;
    table->entries = allocate<StringEntry>(table->room);
    table->mask = kFirstRoom * 2 - 1;
    table->slots = allocate_zeroed<uint32>(size_t{table->mask} + 1);
    table->byte_room = 1024;
    table->bytes = allocate<char>(table->byte_room);
}

static uint32 number_of_string(StringTable *table, const Bytes &value) {
    const auto hash = static_cast<uint32>(DatumGetUInt64(hash_any_extended(
        reinterpret_cast<const unsigned char *>(value.data), static_cast<int>(value.length), 0)));
    for (uint32 slot = hash & table->mask; table->slots[slot] != 0; slot = (slot + 1) & table->mask) {
        const uint32 number = table->slots[slot] - 1;
        const StringEntry &entry = table->entries[number];
        if (entry.hash == hash && entry.length == value.length &&
            memcmp(table->bytes + entry.offset, value.data, value.length) == 0)
            return number;
    }
    if (table->count == table->room) {
        table->room *= 2;
        table->entries = reallocate(table->entries, table->room);
        grow_slots(table->index, &table->slots, &table->mask);
        for (uint32 i = 0; i < table->count; i++)
            put_in_slot(table->slots, table->mask, table->entries[i].hash & table->mask, i);
    }
    if (value.length > table->byte_room - table->used) {
        table->byte_room = (table->byte_room + value.length) * 2;
        table->bytes = reallocate(table->bytes, table->byte_room);
    }
    memcpy(table->bytes + table->used, value.data, value.length);
    table->entries[table->count] = {table->used, static_cast<uint32>(value.length), hash};
    table->used += value.length;
    put_in_slot(table->slots, table->mask, hash & table->mask, table->count);
    return table->count++;
}

// ---- rows -------------------------------------------------------------------------------------------------

NumericForm wanted_form(Relation index) {
    return scales_numerics(index) ? NumericForm::Integers : NumericForm::Strings;
}

Chunk *begin_chunk(Relation index, const Format &format, size_t memory, NumericForm numerics) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_column rows", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    auto *chunk = allocate_zeroed<Chunk>(1);
    chunk->index = index;
    chunk->context = context;
    chunk->columns = format.columns;
    chunk->column = allocate_zeroed<ChunkColumn>(format.columns);
    chunk->room = kFirstRows;
    chunk->places = allocate<uint64>(chunk->room);
    // A key and its slots take up to 24 bytes.
    const size_t most = memory / static_cast<size_t>(format.columns) / 32;
    chunk->max_distinct = static_cast<uint32>(Max(Min(most, size_t{1} << 28), size_t{1} << 16));
    chunk->sample = kDistinctSample;
    for (int i = 0; i < format.columns; i++) {
        ChunkColumn *column = &chunk->column[i];
        column->type = format.types[i];
        column->numbers = allocate<uint32>(chunk->room);
        column->null_bits = allocate_zeroed<uint64>(chunk->room / 64);
        column->is_scaled = numerics == NumericForm::Integers && column->type.base_type == NUMERICOID;
        if (has_integers(*column))
            begin_table(&column->integers, index);
        else
            begin_strings_table(&column->strings, index);
    }
    MemoryContextSwitchTo(caller);
    return chunk;
}

void end_chunk(Chunk *chunk) {
    MemoryContextDelete(chunk->context);
}

static void grow_rows(Chunk *chunk) {
    const uint64 room = chunk->room * 2;
    chunk->places = reallocate(chunk->places, room);
    for (int i = 0; i < chunk->columns; i++) {
        ChunkColumn *column = &chunk->column[i];
        if (column->raw)
            column->values = reallocate(column->values, room);
        else
            column->numbers = reallocate(column->numbers, room);
        column->null_bits = reallocate(column->null_bits, room / 64);
        memset(column->null_bits + chunk->room / 64, 0, chunk->room / 8);
    }
    chunk->room = room;
}

void add_row(Chunk *chunk, uint64 place) {
    if (chunk->rows == chunk->room)
        grow_rows(chunk);
    chunk->places[chunk->rows++] = place;
}

void add_null(Chunk *chunk, int number) {
    ChunkColumn *column = &chunk->column[number];
    const uint64 row = chunk->rows - 1;
    if (column->raw)
        column->values[row] = 0;
    else
        column->numbers[row] = 0;
    column->null_bits[row / 64] |= UINT64CONST(1) << (row % 64);
    column->nulls++;
}

// A dictionary of about as many values as rows doesn't pay, and a large one takes memory.
static bool is_too_diverse(const Chunk *chunk, const ChunkColumn *column) {
    const uint64 distinct = column->integers.count;
    return distinct > chunk->max_distinct || (distinct >= chunk->sample && distinct > chunk->rows / 8 * 7);
}

static void give_up_dictionary(Chunk *chunk, ChunkColumn *column) {
    column->values =
        static_cast<uint64 *>(MemoryContextAllocHuge(chunk->context, chunk->room * sizeof(uint64)));
    for (uint64 row = 0; row < chunk->rows; row++)
        column->values[row] = column->integers.keys[column->numbers[row]];
    column->raw = true;
    pfree(column->numbers);
    column->numbers = nullptr;
    end_table(&column->integers);
}

void add_integer(Chunk *chunk, int number, uint64 code) {
    ChunkColumn *column = &chunk->column[number];
    const uint64 row = chunk->rows - 1;
    if (column->raw) {
        column->values[row] = code;
        return;
    }
    const uint32 before = column->integers.count;
    column->numbers[row] = number_of(&column->integers, code);
    if (unlikely(column->integers.count != before && is_too_diverse(chunk, column)))
        give_up_dictionary(chunk, column);
}

static uint32 number_of_formatted(StringTable *table, uint64 code, uint8 scale) {
    FormattedNumeric formatted;
    format_scaled(code, scale, &formatted);
    return number_of_string(table, bytes_of_formatted(formatted));
}

static void format_keys(const IntegerTable &integers, uint8 scale, StringTable *strings) {
    for (uint32 i = 0; i < integers.count; i++) {
        if (i % kRowsPerInterrupt == 0)
            CHECK_FOR_INTERRUPTS();
        number_of_formatted(strings, integers.keys[i], scale);
    }
}

// Makes the strings of the first `rows` rows, which have their values. Numbers of values stay what they are.
static void make_strings(Chunk *chunk, ChunkColumn *column, uint64 rows) {
    MemoryContext caller = MemoryContextSwitchTo(chunk->context);
    begin_strings_table(&column->strings, chunk->index);
    if (column->raw) {
        column->numbers = allocate<uint32>(chunk->room);
        for (uint64 row = 0; row < rows; row++) {
            if (row % kRowsPerInterrupt == 0)
                CHECK_FOR_INTERRUPTS();
            const bool is_null = ((column->null_bits[row / 64] >> (row % 64)) & 1) != 0;
            column->numbers[row] =
                is_null ? 0 : number_of_formatted(&column->strings, column->values[row], column->scale);
        }
        pfree(column->values);
        column->values = nullptr;
        column->raw = false;
    } else {
        format_keys(column->integers, column->scale, &column->strings);
        end_table(&column->integers);
    }
    column->is_scaled = false;
    column->has_scale = false;
    column->scale = 0;
    MemoryContextSwitchTo(caller);
}

// Adds a numeric as an integer; false when it must be a string.
static bool add_scaled(Chunk *chunk, int number, const Bytes &bytes) {
    ChunkColumn *column = &chunk->column[number];
    ScaledNumeric scaled;
    if (!read_scaled(bytes, &scaled) || (column->has_scale && scaled.scale != column->scale))
        return false;
    column->has_scale = true;
    column->scale = scaled.scale;
    add_integer(chunk, number, scaled.code);
    return true;
}

void add_string(Chunk *chunk, int number, const Bytes &bytes) {
    ChunkColumn *column = &chunk->column[number];
    if (column->is_scaled) {
        if (add_scaled(chunk, number, bytes))
            return;
        make_strings(chunk, column, chunk->rows - 1);
    }
    column->numbers[chunk->rows - 1] = number_of_string(&column->strings, bytes);
}

static void add_datum(Chunk *chunk, int column, Datum value) {
    const ColumnType &type = chunk->column[column].type;
    if (type.is_integer) {
        add_integer(chunk, column, encode_integer(type, value));
        return;
    }
    const Bytes bytes = bytes_of(type, value);
    add_string(chunk, column, bytes);
}

void add_values(Chunk *chunk, const Datum *values, const bool *nulls) {
    for (int i = 0; i < chunk->columns; i++)
        if (nulls[i])
            add_null(chunk, i);
        else
            add_datum(chunk, i, values[i]);
}

size_t chunk_bytes_with(const Chunk *chunk, uint64 more_rows) {
    const uint64 room = chunk->rows + more_rows > chunk->room ? chunk->room * 2 : chunk->room;
    size_t total = room * sizeof(uint64);
    for (int i = 0; i < chunk->columns; i++) {
        const ChunkColumn &column = chunk->column[i];
        total += room * (column.raw ? sizeof(uint64) : sizeof(uint32)) + room / 8;
        // A dictionary has its values' sorted places beside them.
        if (!has_integers(column))
            total += column.strings.byte_room + column.strings.room * (sizeof(StringEntry) + sizeof(uint32)) +
                     (size_t{column.strings.mask} + 1) * sizeof(uint32);
        else if (!column.raw)
            total += table_bytes(column.integers) + column.integers.room * sizeof(uint32);
    }
    return total;
}

void sort_rows(Chunk *chunk, uint64 first) {
    const auto count = static_cast<uint32>(chunk->rows - first);
    const uint64 *places = chunk->places + first;
    if (std::is_sorted(places, places + count))
        return;
    auto *order = allocate<uint32>(count);
    auto *scratch = allocate<uint64>(count);
    for (uint32 i = 0; i < count; i++)
        order[i] = i;
    sort_interruptibly(order, order + count, [places](uint32 a, uint32 b) { return places[a] < places[b]; });
    const auto permute = [&](auto *array) {
        for (uint32 i = 0; i < count; i++)
            scratch[i] = array[first + order[i]];
        for (uint32 i = 0; i < count; i++)
            array[first + i] = static_cast<std::remove_reference_t<decltype(array[0])>>(scratch[i]);
    };
    permute(chunk->places);
    for (int i = 0; i < chunk->columns; i++) {
        ChunkColumn *column = &chunk->column[i];
        if (column->raw)
            permute(column->values);
        else
            permute(column->numbers);
        const auto is_null = [column](uint64 row) { return column->null_bits[row / 64] >> (row % 64) & 1; };
        for (uint32 j = 0; j < count; j++)
            scratch[j] = is_null(first + order[j]);
        for (uint32 j = 0; j < count; j++) {
            const uint64 bit = UINT64CONST(1) << ((first + j) % 64);
            uint64 *word = &column->null_bits[(first + j) / 64];
            *word = scratch[j] != 0 ? *word | bit : *word & ~bit;
        }
    }
    pfree(order);
    pfree(scratch);
}

namespace {

// A string's number, and its first bytes behind what all strings share, as an integer of the same order.
struct StringKey {
    uint64 start;
    uint32 number;
};

}  // namespace

static StringKey key_of_string(const StringTable &table, uint32 number, size_t shared) {
    const Bytes value = string_at(table, number);
    StringKey key = {0, number};
    const size_t bytes = Min(value.length - shared, sizeof(uint64));
    for (size_t i = 0; i < bytes; i++)
        key.start |= uint64{static_cast<uint8>(value.data[shared + i])} << (56 - 8 * i);
    return key;
}

// Returns with how many equal bytes all of the strings begin.
static size_t shared_by_all(const StringTable &table) {
    const Bytes first = string_at(table, 0);
    size_t shared = first.length;
    for (uint32 i = 1; i < table.count && shared > 0; i++) {
        const Bytes value = string_at(table, i);
        shared = Min(shared, value.length);
        if (memcmp(first.data, value.data, shared) == 0)
            continue;
        size_t same = 0;
        while (first.data[same] == value.data[same])
            same++;
        shared = same;
    }
    return shared;
}

// The number of strings that are sorted by keys, whose memory chunk_bytes_with doesn't count.
static constexpr uint32 kMaxStringKeys = 65536;

static void sort_few_strings(const StringTable &table, uint32 *sorted) {
    const size_t shared = shared_by_all(table);
    auto *keys = allocate<StringKey>(table.count);
    for (uint32 i = 0; i < table.count; i++)
        keys[i] = key_of_string(table, i, shared);
    sort_interruptibly(keys, keys + table.count, [&table](const StringKey &a, const StringKey &b) {
        return a.start != b.start ? a.start < b.start
                                  : compare_bytes(string_at(table, a.number), string_at(table, b.number)) < 0;
    });
    for (uint32 i = 0; i < table.count; i++)
        sorted[i] = keys[i].number;
    pfree(keys);
}

static void sort_strings(ChunkColumn *column) {
    const StringTable *table = &column->strings;
    column->sorted = allocate<uint32>(size_t{table->count} + 1);
    if (table->count > 0 && table->count <= kMaxStringKeys) {
        sort_few_strings(*table, column->sorted);
        return;
    }
    for (uint32 i = 0; i < table->count; i++)
        column->sorted[i] = i;
    sort_interruptibly(column->sorted, column->sorted + table->count, [table](uint32 a, uint32 b) {
        return compare_bytes(string_at(*table, a), string_at(*table, b)) < 0;
    });
}

static void sort_integers(ChunkColumn *column) {
    const uint32 count = column->integers.count;
    column->sorted = allocate<uint32>(size_t{count} + 1);
    for (uint32 i = 0; i < count; i++)
        column->sorted[i] = i;
    const uint64 *keys = column->integers.keys;
    sort_interruptibly(column->sorted, column->sorted + count,
                       [keys](uint32 a, uint32 b) { return keys[a] < keys[b]; });
}

// Returns whether integers of these rows alone take less room without a dictionary.
static bool is_dictionary_dear(const Chunk *chunk, const ChunkColumn *column) {
    const IntegerTable &integers = column->integers;
    if (integers.count == 0)
        return false;
    const auto [lowest, highest] = std::minmax_element(integers.keys, integers.keys + integers.count);
    const uint32 range_bits = bits_for_range(*highest - *lowest);
    return !is_dictionary_cheaper(chunk->rows, integers.count, range_bits, range_bits);
}

void drop_dear_dictionaries(Chunk *chunk) {
    for (int i = 0; i < chunk->columns; i++) {
        ChunkColumn *column = &chunk->column[i];
        if (column->raw || !column->type.is_integer || !is_dictionary_dear(chunk, column))
            continue;
        give_up_dictionary(chunk, column);
        column->is_diverse = true;
    }
}

void finish_chunk(Chunk *chunk) {
    MemoryContext caller = MemoryContextSwitchTo(chunk->context);
    for (int i = 0; i < chunk->columns; i++) {
        ChunkColumn *column = &chunk->column[i];
        // There are only NULLs.
        if (column->is_scaled && !column->has_scale)
            make_strings(chunk, column, chunk->rows);
        if (column->raw)
            continue;
        if (has_integers(*column))
            sort_integers(column);
        else
            sort_strings(column);
    }
    MemoryContextSwitchTo(caller);
}

void format_numerics(Chunk *chunk, int number) {
    ChunkColumn *column = &chunk->column[number];
    if (!column->is_scaled)
        return;
    make_strings(chunk, column, chunk->rows);
    MemoryContext caller = MemoryContextSwitchTo(chunk->context);
    sort_strings(column);
    MemoryContextSwitchTo(caller);
}

ChunkColumn *format_table(const IntegerTable &integers, uint8 scale) {
    auto *column = allocate_zeroed<ChunkColumn>(1);
    begin_strings_table(&column->strings, integers.index);
    format_keys(integers, scale, &column->strings);
    sort_strings(column);
    return column;
}

}  // namespace pg_gpu::column
