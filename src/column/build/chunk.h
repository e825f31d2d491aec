// Rows collected in memory: what a build has seen, or what sealed tails hold.
#pragma once

#include "column/format/format.h"

namespace pg_gpu::column {

// Distinct integers, numbered as they come.
struct IntegerTable {
    Relation index;  // the index that the values are of
    uint64 *keys;
    uint32 count;
    uint32 room;
    uint32 *slots;  // number + 1; 0: free
    uint32 mask;
};

inline constexpr uint32 kNoNumber = UINT32_MAX;

void begin_table(IntegerTable *table, Relation index);
void end_table(IntegerTable *table);
uint32 add_to_table(IntegerTable *table, uint64 key);

inline uint32 integer_slot(uint64 key, uint32 mask) {
    return static_cast<uint32>(key * UINT64CONST(0x9e3779b97f4a7c15) >> 32) & mask;
}

// Returns the number of an integer; kNoNumber when it isn't there.
inline uint32 find_in_table(const IntegerTable *table, uint64 key) {
    for (uint32 slot = integer_slot(key, table->mask); table->slots[slot] != 0;
         slot = (slot + 1) & table->mask)
        if (table->keys[table->slots[slot] - 1] == key)
            return table->slots[slot] - 1;
    return kNoNumber;
}

inline uint32 number_of(IntegerTable *table, uint64 key) {
    const uint32 number = find_in_table(table, key);
    return likely(number != kNoNumber) ? number : add_to_table(table, key);
}

inline size_t table_bytes(const IntegerTable &table) {
    return table.room * sizeof(uint64) + (size_t{table.mask} + 1) * sizeof(uint32);
}

// Distinct strings, numbered as they come.
struct StringEntry {
    uint64 offset;  // in the bytes
    uint32 length;
    uint32 hash;
};

struct StringTable {
    Relation index;
    StringEntry *entries;
    uint32 count;
    uint32 room;
    uint32 *slots;
    uint32 mask;
    char *bytes;
    size_t used;
    size_t byte_room;
};

// Numerics are gathered as integers for as long as all show as many digits behind the point
// (scaled_numeric.h), unless strings are wanted.
enum class NumericForm : uint8 { Strings, Integers };

struct ChunkColumn {
    ColumnType type;
    bool is_scaled;  // numerics are integers so far
    bool has_scale;  // there is one
    uint8 scale;
    // A row's place in one of the arrays has the value's number, or, of integers that are too many, the
    // value.
    uint32 *numbers;
    uint64 *values;
    bool raw;
    uint64 *null_bits;
    uint64 nulls;
    IntegerTable integers;
    StringTable strings;
    uint32 *sorted;   // after finish_chunk: numbers in the order of their values
    bool is_diverse;  // a dictionary of these rows alone would take more room (drop_dear_dictionaries)
};

struct Chunk {
    Relation index;
    MemoryContext context;
    int columns;
    ChunkColumn *column;
    uint64 rows;
    uint64 room;
    uint64 *places;  // heap block << 16 | offset number
    uint32 max_distinct;
    uint32 sample;  // so many different integers tell whether almost all differ
};

inline uint64 encode_tid(const ItemPointerData &tid) {
    return uint64{ItemPointerGetBlockNumberNoCheck(&tid)} << 16 | ItemPointerGetOffsetNumberNoCheck(&tid);
}

// The form that runs of the index may have.
NumericForm wanted_form(Relation index);

// Dictionaries of integers are given up when they would take more than `memory` bytes.
Chunk *begin_chunk(Relation index, const Format &format, size_t memory, NumericForm numerics);
void end_chunk(Chunk *chunk);

// add_row begins a row; after it come, column by column, its values or NULLs, none left out.
void add_row(Chunk *chunk, uint64 place);
void add_null(Chunk *chunk, int column);
void add_integer(Chunk *chunk, int column, uint64 code);
void add_string(Chunk *chunk, int column, const Bytes &bytes);
// Adds all values of the new row. A value that is detoasted is palloc'd.
void add_values(Chunk *chunk, const Datum *values, const bool *nulls);

// Returns the bytes that the chunk will take with so many more rows, their distinct strings aside.
size_t chunk_bytes_with(const Chunk *chunk, uint64 more_rows);

// Puts rows from `first` on into the order of their places.
void sort_rows(Chunk *chunk, uint64 first);

// May be called after the last row, before finish_chunk: integers of which a dictionary would take more room
// become values by row, which needn't be sorted. For those who write a run.
void drop_dear_dictionaries(Chunk *chunk);

// Is called after the last row.
void finish_chunk(Chunk *chunk);

inline bool has_integers(const ChunkColumn &column) {
    return column.type.is_integer || column.is_scaled;
}

// Makes strings of a finished chunk's numerics.
void format_numerics(Chunk *chunk, int column);

// Returns a table of these numerics as strings, which have the same numbers, in the current memory context.
ChunkColumn *format_table(const IntegerTable &integers, uint8 scale);

inline uint32 distinct_values(const ChunkColumn &column) {
    return has_integers(column) ? column.integers.count : column.strings.count;
}

inline Bytes string_at(const StringTable &table, uint32 number) {
    return {table.bytes + table.entries[number].offset, table.entries[number].length};
}

}  // namespace pg_gpu::column
