// Sorting and merging entries on the server.
#pragma once

#include "client/client.h"
#include "kary/kary.h"
#include "keys/radix_sort.h"

namespace pg_gpu::kary {

// Sorts entries without NULLs by (key, TID). false, and the entries as they were, when the server doesn't.
template <typename Key>
bool sort_on_server(SortEntry<Key> *entries, size_t count);

// Adds the live entries of the runs' first partitions to the builder, in order. When the server fails on the
// way fewer are added, `*added` of them; false then.
template <typename Key>
bool merge_on_server(Relation index, const storage::RunKind *kind, const storage::RunEntry *runs, int count,
                     RunBuilder<Key> *builder, uint64 *added);

// After a merge: what the server merged becomes the output's mirror, and those of large inputs leave.
void settle_merge_on_server(Relation index, const storage::RunEntry *inputs, int count,
                            const storage::RunEntry &output);

}  // namespace pg_gpu::kary
