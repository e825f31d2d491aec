// Sorting and merging entries on the server.
#pragma once

#include "kary/request.h"
#include "kary/kary.h"
#include "keys/keys.h"

namespace pg_gpu::kary {

// Has the server sort entries without NULLs by (key, TID). Returns false, and leaves the entries as they
// were, when the server doesn't do so.
template <typename Key>
bool sort_on_server(SortEntry<Key> *entries, size_t count);

// This is the entry that was added last, if any was.
template <typename Key>
struct LastAdded {
    bool any;
    Key key;
    ItemPointerData tid;
};

// Adds the live entries of the runs' first partitions to the builder, in order. When the server fails on the
// way, only the entries up to `*last` have been added, and false is returned.
template <typename Key>
bool merge_on_server(Relation index, const storage::RunKind *kind, const storage::RunEntry *runs, int count,
                     RunBuilder<Key> *builder, LastAdded<Key> *last);

// Is called after a merge. What the server merged becomes the output's mirror, and the mirrors of large
// inputs are dropped.
void settle_merge_on_server(Relation index, const storage::RunEntry *inputs, int count,
                            const storage::RunEntry &output);

}  // namespace pg_gpu::kary
