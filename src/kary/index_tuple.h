// The tuples that index-only scans return, made from keys.
#pragma once

#include "kary/format.h"
#include "keys/keys.h"

namespace pg_gpu::kary {

struct IndexOnlyTuple : IndexTupleTemplate {
    bool is_plain;   // one integer column as wide as the key, which is its value with some bits flipped
    uint64 flipped;  // these
};

// Makes the tuple anew for entries with these columns NULL, in the current memory context.
void make_index_tuple(const KeyFormat &format, TupleDesc descriptor, NullMask nulls, IndexOnlyTuple *made);

// Writes an entry's values into a tuple made for its NULLs.
template <typename Key>
inline void put_key(const KeyFormat &format, IndexOnlyTuple *made, Key key) {
    char *bytes = reinterpret_cast<char *>(made->tuple);
    if constexpr (sizeof(Key) <= sizeof(uint64)) {
        if (likely(made->is_plain)) {
            const Key value = key ^ static_cast<Key>(made->flipped);
            memcpy(bytes + made->offsets[0], &value, sizeof(value));
            return;
        }
    }
    for (int i = 0; i < format.column_count; i++)
        if (!((made->absent >> i) & 1))
            store_value(format.columns[i], key, bytes + made->offsets[i]);
}

}  // namespace pg_gpu::kary
