// The key of an index's columns: fixed-width codes, the first column's highest, and a mask of NULLs.
#pragma once

#include "kary/hash_key.h"
#include "keys/keys.h"
#include "kary/text_key.h"
#include "memory.h"

namespace pg_gpu::kary {

using namespace keys;

// A column is at least a byte wide, a key at most 16.
inline constexpr int kMaxColumns = 16;
inline constexpr int kMaxKeyBits = 128;

struct KeyFormat {
    int column_count;
    int width;  // width of the key type: 32, 64, 96 or 128 bits
    NullMask all_null;
    NullMask lossy;  // columns whose codes don't tell values apart
    KeyColumn columns[kMaxColumns];
};

// Returns the format of an index's keys, in the current memory context where columns are encoded by their
// hashes. Raises an error, with a HINT, when they take more than 128 bits.
KeyFormat key_format(Relation index);

// ERROR, with a HINT, when an operator class doesn't fit its column's type or collation, or is not sound. For
// CREATE INDEX: later only ALTER OPERATOR FAMILY can change what it finds, which amvalidate then tells.
void require_valid_columns(Relation index);

// Says how an operator class for the type encodes its columns: text by its first bytes where the family has
// operators that these answer, and by its hash where it has equality alone. So an index must be made anew
// (REINDEX) after ALTER OPERATOR FAMILY has given such operators to its family or taken them.
TypeCode column_code(Oid type, Oid family);

// Returns how many bits the columns of an index take together.
int key_bits(const Oid *types, const Oid *families, int column_count);

// Returns only the width of the index's keys.
int key_width(Relation index);

// Returns the width from the planner's description of an index.
int key_width(const Oid *types, const Oid *families, int column_count);

// Says whether an operator class of the index encodes its column lossily.
bool has_lossy_columns(Relation index);

// Returns the left type of the operators that compare a column with constants.
Oid left_type(Relation index, int column);

// Returns the `=` among these for constants of a type, which is the column's own or is coerced to the left
// type.
Oid equality_operator(Relation index, int column, Oid type);

inline bool is_composite(const KeyFormat &format) {
    return format.column_count > 1;
}

// Calls a function with a value of the key type that is `width` bits wide.
template <typename Function>
inline auto with_key_type(int width, Function function) {
    switch (width) {
        case 32:
            return function(uint32{0});
        case 64:
            return function(uint64{0});
        case 96:
            return function(Key96{});
        default:
            return function(Key128{});
    }
}

// Instantiates templates for all key types; INSTANTIATE is a macro that does so for one.
#define PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE) \
    INSTANTIATE(uint32)                       \
    INSTANTIATE(uint64)                       \
    INSTANTIATE(Key96)                        \
    INSTANTIATE(Key128)

// ---- values and codes -------------------------------------------------------------------------------------

// Returns the ascending code of a value of the column's own type.
template <typename Key>
inline Bits<Key> encode_value(const KeyColumn &column, Datum value) {
    if (unlikely(column.encoding == Encoding::Hash))
        return static_cast<Bits<Key>>(hash_value(*column.hash, value));
    if constexpr (sizeof(Key) == 16) {
        if (column.encoding == Encoding::Prefix)
            return text_key(column.type, value).bits();
    }
    return encode_exact<Key>(column, value);
}

// Returns a row's key and, in *nulls, which of its columns are NULL.
template <typename Key>
inline Key encode_row(const KeyFormat &format, const Datum *values, const bool *is_null, NullMask *nulls) {
    if (format.column_count == 1) {
        *nulls = is_null[0] ? 1 : 0;
        return key_from<Key>(
            is_null[0] ? 0 : orient(format.columns[0], encode_value<Key>(format.columns[0], values[0])));
    }
    Bits<Key> bits = 0;
    *nulls = 0;
    for (int i = 0; i < format.column_count; i++) {
        const KeyColumn &column = format.columns[i];
        if (is_null[i])
            *nulls |= static_cast<NullMask>(1U << i);
        else
            bits |= orient(column, encode_value<Key>(column, values[i])) << column.shift;
    }
    return key_from<Key>(bits);
}

// Does the same for a caller that encodes many rows: what lossy encodings leave in memory is freed.
template <typename Key>
inline Key encode_scanned_row(const KeyFormat &format, MemoryContext scratch, const Datum *values,
                              const bool *is_null, NullMask *nulls) {
    if (likely(format.lossy == 0))
        return encode_row<Key>(format, values, is_null, nulls);
    MemoryContext caller = MemoryContextSwitchTo(scratch);
    const Key key = encode_row<Key>(format, values, is_null, nulls);
    MemoryContextSwitchTo(caller);
    MemoryContextReset(scratch);
    return key;
}

// Returns a column's stored code.
template <typename Key>
inline Bits<Key> stored_code(const KeyColumn &column, Key key) {
    return static_cast<Bits<Key>>(bits_of(key) >> column.shift) & low_bits<Bits<Key>>(column.width);
}

// Writes a column's value, typlen bytes, as it lies in a tuple.
template <typename Key>
inline void store_value(const KeyColumn &column, Key key, char *place) {
    store_code<Key>(column, orient(column, stored_code(column, key)), place);
}

// ---- NULLs ------------------------------------------------------------------------------------------------

// Returns the key without the bits of NULL columns.
template <typename Key>
inline Key without_nulls(const KeyFormat &format, NullMask nulls, Key key) {
    if (likely(nulls == 0))
        return key;
    Bits<Key> bits = bits_of(key);
    for (int i = 0; i < format.column_count; i++)
        if ((nulls >> i) & 1)
            bits &= ~static_cast<Bits<Key>>(low_bits<Bits<Key>>(format.columns[i].width)
                                            << format.columns[i].shift);
    return key_from<Key>(bits);
}

// Returns the lowest bit that belongs to columns before the first one in which two masks differ; the key's
// width when there are none.
inline int first_difference(const KeyFormat &format, NullMask a, NullMask b, int *column) {
    *column = std::countr_zero(static_cast<unsigned>(a ^ b));
    return format.columns[*column].shift + format.columns[*column].width;
}

// Returns -1, 0 or 1 for two entries in index order, without regard to TIDs. They are compared column by
// column; where one is NULL and the other is not, that decides.
template <typename Key>
inline int compare_in_index_order(const KeyFormat &format, NullMask nulls_a, Key a, NullMask nulls_b, Key b) {
    if (likely(nulls_a == nulls_b))
        return a < b ? -1 : a > b;
    int column;
    const int shift = first_difference(format, nulls_a, nulls_b, &column);
    if (shift < kKeyBits<Key>) {
        const Bits<Key> prefix_a = bits_of(a) >> shift;
        const Bits<Key> prefix_b = bits_of(b) >> shift;
        if (prefix_a != prefix_b)
            return prefix_a < prefix_b ? -1 : 1;
    }
    const bool a_is_null = (nulls_a >> column) & 1;
    return a_is_null == format.columns[column].nulls_first ? -1 : 1;
}

}  // namespace pg_gpu::kary
