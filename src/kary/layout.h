// Layout of gpu_kary's run pages and tail items.
//
//   leaf page       keys[n], TIDs[n]: n = capacity on all but the last page. Keyed entries come first,
//   ordered by
//                   (key, TID); entries with a NULL key follow, ordered by TID, with key 0.
//   separator page  keys: level 0 holds the last key of each leaf page with keyed entries, level i + 1 the
//   last
//                   key of each page of level i; the topmost level is one page. No child pointers: a key's
//                   index is its child's number.
#pragma once

#include "kary/key.h"
#include "storage/storage.h"

namespace pg_gpu::kary {

inline constexpr int kLeafSection = storage::kEntrySection;
inline constexpr int kSeparatorSection = 2;
inline constexpr int kMaxSeparatorLevels = 5;

template <typename Key>
inline constexpr uint32 kLeafCapacity = storage::kContentBytes / (sizeof(Key) + sizeof(ItemPointerData));
template <typename Key>
inline constexpr uint32 kSeparatorCapacity = storage::kContentBytes / sizeof(Key);

template <typename Key>
struct KaryTailItem {
    storage::TailItem head;
    Key key;
};
static_assert(sizeof(KaryTailItem<uint32>) == 12);
static_assert(sizeof(KaryTailItem<uint64>) == 16);

// storage::kTailItemFlag marks a NULL key.
inline constexpr uint16 kNullFlag = storage::kTailItemFlag;

// A full tail seals into one leaf page together with its dead bitmap.
template <typename Key>
inline constexpr uint32 kTailItems = storage::kContentBytes / sizeof(KaryTailItem<Key>);
static_assert(kTailItems<uint32> * 10 + 8 + kTailItems<uint32> / 8 + 8 <= storage::kContentBytes);
static_assert(kTailItems<uint64> * 14 + 8 + kTailItems<uint64> / 8 + 8 <= storage::kContentBytes);

// access_method_data[0] of a run: entries with a key.
inline uint64 keyed_entries(const storage::RunEntry &run) {
    return run.access_method_data[0];
}

template <typename Key>
inline uint32 leaf_pages(const storage::RunEntry &run) {
    return static_cast<uint32>((run.entries + kLeafCapacity<Key> - 1) / kLeafCapacity<Key>);
}

// Entries on one leaf page.
template <typename Key>
inline uint32 leaf_entries(const storage::RunEntry &run, uint32 leaf) {
    const uint64 first = static_cast<uint64>(leaf) * kLeafCapacity<Key>;
    return first >= run.entries ? 0
                                : static_cast<uint32>(Min(run.entries - first, uint64(kLeafCapacity<Key>)));
}

// Of these, the ones with a key.
template <typename Key>
inline uint32 leaf_keyed(const storage::RunEntry &run, uint32 leaf) {
    const uint64 first = static_cast<uint64>(leaf) * kLeafCapacity<Key>;
    const uint64 keyed = keyed_entries(run);
    return first >= keyed ? 0 : static_cast<uint32>(Min(keyed - first, uint64(kLeafCapacity<Key>)));
}

template <typename Key>
inline const Key *leaf_keys(Page page) {
    return reinterpret_cast<const Key *>(storage::page_content(page));
}

template <typename Key>
inline const ItemPointerData *leaf_tids(Page page, uint32 entries) {
    return reinterpret_cast<const ItemPointerData *>(storage::page_content(page) + entries * sizeof(Key));
}

// Where the separator levels of a run lie, derived from the number of keyed entries.
struct SeparatorLevels {
    int count;
    uint32 keys[kMaxSeparatorLevels];
    uint32 first_page[kMaxSeparatorLevels];  // counted from the start of the section
    uint32 pages;                            // of all levels
};

template <typename Key>
inline SeparatorLevels separator_levels(uint64 keyed) {
    SeparatorLevels levels = {};
    uint64 children = (keyed + kLeafCapacity<Key> - 1) / kLeafCapacity<Key>;
    while (children > 1) {
        levels.keys[levels.count] = static_cast<uint32>(children);
        levels.first_page[levels.count] = levels.pages;
        levels.count++;
        children = (children + kSeparatorCapacity<Key> - 1) / kSeparatorCapacity<Key>;
        levels.pages += static_cast<uint32>(children);
    }
    return levels;
}

}  // namespace pg_gpu::kary
