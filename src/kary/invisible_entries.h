// The index entries that ranks count and whose rows the snapshot doesn't see. README.md, "Counts beside
// changed blocks", says why these are all.
#pragma once

#include "kary/kary.h"
#include "storage/sealed_tail.h"

namespace pg_gpu::kary {

template <typename Key>
struct InvisibleEntry {
    NullMask nulls;
    Key key;
    ItemPointerData tid;
};

template <typename Key>
struct InvisibleEntries {
    InvisibleEntry<Key> *entries;  // by NULLs and key
    uint64 count;
    uint64 candidates;  // that the index was searched for
};

enum class Search {
    Found,
    GivenUp,  // it would take longer than to look at the entries one by one, or a key can't be told
    Again,    // in a new view: a page was recycled, or the session has learned what it needs
};

// May the entries of this table be told under this snapshot?
bool may_find_invisible(Relation heap, Snapshot snapshot);

// Finds those of a view, whose tail was copied. `budget` is how many entries would be looked at one by one
// otherwise; the search takes no longer than that, but now and then as long as a look at all of the index's.
template <typename Key>
Search find_invisible_entries(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                              const storage::View &view, const storage::TailCopy &tail, uint64 budget,
                              InvisibleEntries<Key> *invisible);

}  // namespace pg_gpu::kary
