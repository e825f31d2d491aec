// Values that expressions gave, numbered alike where they are equal, or ranked.
#pragma once

#include "column/format/value.h"
#include "memory.h"

namespace pg_gpu::plan {

// Distinct values by an equality that can be hashed, numbered as they come.
struct ValueTable {
    MemoryContext context;
    int16 length;
    bool by_value;
    Oid collation;
    bool has_hash;
    FmgrInfo hash;
    FmgrInfo equal;
    Datum *values;
    uint32 *hashes;
    uint32 count;
    uint32 room;
    uint32 *slots;  // number + 1; 0: free
    uint32 mask;
    bool has_variants;  // were there equal values that differ in their bytes?
};
inline constexpr uint32 kNoValue = UINT32_MAX;

// Can values of the type be hashed as this equality wants, by a function or by their bytes? There is a
// function for all arrays and one for all rows, but it raises an error where their elements' types have none.
bool is_hashable(Oid equality, Oid type);

// Do equal values always have the same bytes?
bool has_one_image(Oid type, Oid equality, Oid collation);

// Allocates in the current memory context.
ValueTable *begin_values(const column::ColumnType &type, Oid equality, Oid collation);

// The value's number; a new one is copied, and its bytes are taken from *memory. kNoValue: it had no room.
uint32 number_of_value(ValueTable *table, Datum value, size_t *memory);

// A value, and where its rank goes.
struct RankedValue {
    Datum value;
    Datum key;  // abbreviates it, where its type has that
    uint32 *rank;
};

struct RankedValues {
    MemoryContext context;
    int16 length;
    bool by_value;
    RankedValue *entries;
    uint64 entry_count;
    uint64 entry_room;
    Datum *values;  // by rank
    uint32 count;
};

RankedValues *begin_ranked(const column::ColumnType &type, MemoryContext context);
// Copies it; false when *memory has no room for that.
bool add_ranked(RankedValues *ranked, Datum value, uint32 *rank, size_t *memory);
// Sets all ranks. Equal values have the same one if they are to share it; else only values with the same
// bytes, so that each stands for itself.
void finish_ranked(RankedValues *ranked, Oid order, Oid collation, bool is_shared);

}  // namespace pg_gpu::plan
