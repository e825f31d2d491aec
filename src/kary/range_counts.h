// Counting the visible rows of many ranges at once.
#pragma once

#include "kary/kary.h"

namespace pg_gpu::kary {

// From low[i] to high[i], both included; nothing where low[i] is above high[i]. Entries with NULLs are in
// none.
template <typename Key>
struct KeyRanges {
    const Key *low;
    const Key *high;
    uint32 count;
};

// Visible rows of each range, counted by the server, if that pays when the paged path must look at
// `one_by_one` entries; *heap_fetches of their entries were looked up in the heap. false when it doesn't
// answer; then counts hold nothing.
template <typename Key>
bool count_ranges(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                  const KeyRanges<Key> &ranges, uint64 one_by_one, int64 *counts, uint64 *heap_fetches);

}  // namespace pg_gpu::kary
