// Counting the visible rows of many ranges at once.
#pragma once

#include "kary/kary.h"

namespace pg_gpu::kary {

// Range i is from low[i] to high[i], both included, and empty where low[i] is above high[i]. Entries with
// NULLs are in no range.
template <typename Key>
struct KeyRanges {
    const Key *low;
    const Key *high;
    uint32 count;
};

// Has the server count the visible rows of each range, if that pays where the paged path must look at
// `one_by_one` entries. *heap_fetches entries were looked up in the heap. Returns false when the server
// doesn't answer; the counts then hold nothing of use.
template <typename Key>
bool count_ranges(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                  const KeyRanges<Key> &ranges, uint64 one_by_one, int64 *counts, uint64 *heap_fetches);

}  // namespace pg_gpu::kary
