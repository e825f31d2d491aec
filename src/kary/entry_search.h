// The index's part of finding the entries that counts have and whose rows the snapshot doesn't see
// (table/entry_counter.h).
#pragma once

#include "kary/kary.h"
#include "storage/storage.h"
#include "table/table.h"

namespace pg_gpu::kary {

// The words of an entry as one of EntryRows: TID, NULLs, and the key's lower and upper half.
inline constexpr uint64 kEntryWords = 4;

template <typename Key>
inline void put_entry(NullMask nulls, Key key, const ItemPointerData &tid, uint64 *row) {
    const Uint128 bits{bits_of(key)};
    row[0] = encode_tid(tid);
    row[1] = nulls;
    row[2] = static_cast<uint64>(bits);
    row[3] = static_cast<uint64>(bits >> 64);
}

inline NullMask entry_nulls(const uint64 *row) {
    return static_cast<NullMask>(row[1]);
}

template <typename Key>
inline Key entry_key(const uint64 *row) {
    return key_from<Key>(static_cast<Bits<Key>>(Uint128{row[3]} << 64 | row[2]));
}

// A view of an index, with a copy of its tail.
struct CopiedView {
    Relation index;
    const KeyFormat *format;
    const storage::RunKind *kind;
    storage::View view;
    storage::Items tail;
};

// Returns what the entry counter needs of the access method to count `count` requests in the view.
template <typename Key>
EntryCounter entry_counter_of(Relation heap, Snapshot snapshot, const CopiedView &view, CountedBy counted_by,
                              uint32 count);

}  // namespace pg_gpu::kary
