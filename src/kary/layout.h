// Layout of gpu_kary's run pages and tail tuples.
//
//   A run's entries are partitioned by which of their columns are NULL: no column first, then by the mask's
//   value. A partition is ordered by (key, TID), with zeros in place of NULL columns.
//
//   leaf page       keys[n], TIDs[n]: n = capacity on all but the last page. Partitions
//                   follow one another without a gap.
//   separator page  keys, for each partition by itself, in the partitions' order: level
//                   0 holds the partition's last key on each leaf page that it touches,
//                   level i + 1 the last key of each page of level i; the topmost level
//                   is one page. No child pointers: a key's index is its child's
//                   number. The partition of entries whose columns are all NULL has
//                   none.
//   partition page  only runs of several columns, with NULLs among them: a word a
//                   partition but the first, its mask and its number of entries. A run
//                   of one page has them behind its entries.
#pragma once

#include "kary/format.h"
#include "keys/keys.h"
#include "storage/storage.h"

namespace pg_gpu::kary {

inline constexpr int kLeafSection = storage::kEntrySection;
inline constexpr int kSeparatorSection = 2;
inline constexpr int kPartitionSection = 3;
inline constexpr int kMaxSeparatorLevels = 5;

template <typename Key>
inline constexpr uint32 kEntryBytes = sizeof(Key) + sizeof(ItemPointerData);
template <typename Key>
inline constexpr uint32 kLeafCapacity = storage::kContentBytes / kEntryBytes<Key>;
template <typename Key>
inline constexpr uint32 kSeparatorCapacity = storage::kContentBytes / sizeof(Key);

// ---- tail tuples
// -------------------------------------------------------------------------------------------

template <typename Key>
struct KaryTailTuple {
    storage::TailTuple head;
    Key key;
};
static_assert(sizeof(KaryTailTuple<uint32>) == 12);
static_assert(sizeof(KaryTailTuple<uint64>) == 16);
static_assert(sizeof(KaryTailTuple<Key96>) == 20);
static_assert(sizeof(KaryTailTuple<Key128>) == 24);

// storage::kTailTupleFlag marks a NULL in an index of one column. In one of several, items with NULLs have
// this behind their key, and so are longer.
struct TailNulls {
    NullMask nulls;
    uint16 reserved[3];
};
static_assert(sizeof(TailNulls) == 8);

inline constexpr uint16 kNullFlag = storage::kTailTupleFlag;

// A word of the partition table.
inline constexpr int kPartitionMaskShift = 48;
inline constexpr uint32 kPartitionsPerPage = storage::kContentBytes / sizeof(uint64);

// A full tail seals into one leaf page together with partition table and dead bitmap.
template <typename Key>
inline constexpr uint32 kTailTuples = storage::kContentBytes / sizeof(KaryTailTuple<Key>);

template <typename Key>
constexpr bool tail_seals_into_a_page() {
    // Both ends of a table and a bitmap are aligned, and the bitmap consists of whole words.
    constexpr uint32 kSlack = 3 * 8;
    constexpr uint32 kNullTuples = storage::kContentBytes / (sizeof(KaryTailTuple<Key>) + sizeof(TailNulls));
    return kTailTuples<Key> * kEntryBytes<Key> + kTailTuples<Key> / 8 + kSlack <= storage::kContentBytes &&
           kNullTuples * (kEntryBytes<Key> + sizeof(uint64)) + kNullTuples / 8 + kSlack <=
               storage::kContentBytes;
}
static_assert(tail_seals_into_a_page<uint32>());
static_assert(tail_seals_into_a_page<uint64>());
static_assert(tail_seals_into_a_page<Key96>());
static_assert(tail_seals_into_a_page<Key128>());

// Calls visit(key, nulls, tid) for each item of a tail, whose sizes have been checked.
template <typename Key, typename Visit>
inline void for_each_tail_tuple(const char *tail_tuples, uint32 bytes, bool composite, Visit visit) {
    for (uint32 at = 0; at < bytes;) {
        const auto *tail_tuple = reinterpret_cast<const KaryTailTuple<Key> *>(tail_tuples + at);
        NullMask nulls = (tail_tuple->head.info & kNullFlag) != 0 ? 1 : 0;
        at += sizeof(*tail_tuple);
        if (composite && storage::tail_tuple_size(&tail_tuple->head) > sizeof(*tail_tuple)) {
            nulls = reinterpret_cast<const TailNulls *>(tail_tuple + 1)->nulls;
            at += sizeof(TailNulls);
        }
        visit(tail_tuple->key, nulls, tail_tuple->head.tid);
    }
}

// ---- leaf pages -------------------------------------------------------------------------------------------

// A run's access_method_data has [0] the number of entries without a NULL, and [1] that of partitions besides
// theirs in the partition table.
inline uint64 keyed_entries(const storage::RunEntry &run) {
    return run.access_method_data[0];
}

inline uint64 listed_partitions(const storage::RunEntry &run) {
    return run.access_method_data[1];
}

template <typename Key>
inline uint32 leaf_pages(const storage::RunEntry &run) {
    return static_cast<uint32>((run.entries + kLeafCapacity<Key> - 1) / kLeafCapacity<Key>);
}

// Returns the number of entries on one leaf page.
template <typename Key>
inline uint32 leaf_entries(const storage::RunEntry &run, uint32 leaf) {
    const uint64 first = static_cast<uint64>(leaf) * kLeafCapacity<Key>;
    return first >= run.entries ? 0
                                : static_cast<uint32>(Min(run.entries - first, uint64(kLeafCapacity<Key>)));
}

template <typename Key>
inline const Key *leaf_keys(Page page) {
    return reinterpret_cast<const Key *>(storage::page_content(page));
}

template <typename Key>
inline const ItemPointerData *leaf_tids(Page page, uint32 entries) {
    return reinterpret_cast<const ItemPointerData *>(storage::page_content(page) + entries * sizeof(Key));
}

// ---- partitions -------------------------------------------------------------------------------------------

// A run's entries with the same columns NULL.
struct Partition {
    NullMask nulls;
    bool all_null;           // every key is 0; no separators
    uint32 first_separator;  // page, counted from the start of the section
    uint64 first;            // ordinal
    uint64 entries;
};

// Returns the partition without NULLs.
inline Partition keyed_partition(const storage::RunEntry &run) {
    return {0, false, 0, 0, keyed_entries(run)};
}

// An index of one column has its NULLs in this partition.
inline Partition null_partition(const storage::RunEntry &run) {
    return {1, true, 0, keyed_entries(run), run.entries - keyed_entries(run)};
}

// Leaf pages [leaf_begin, leaf_end) hold entries of the partition.
template <typename Key>
inline uint32 leaf_begin(const Partition &partition) {
    return static_cast<uint32>(partition.first / kLeafCapacity<Key>);
}

template <typename Key>
inline uint32 leaf_end(const Partition &partition) {
    return partition.entries == 0
               ? leaf_begin<Key>(partition)
               : static_cast<uint32>((partition.first + partition.entries - 1) / kLeafCapacity<Key> + 1);
}

// Places [begin, end) on one of these pages are the partition's.
struct Places {
    uint32 begin;
    uint32 end;
};

template <typename Key>
inline Places places_on_leaf(const Partition &partition, uint32 leaf) {
    const uint64 page_first = static_cast<uint64>(leaf) * kLeafCapacity<Key>;
    const uint64 end = Min(partition.first + partition.entries, page_first + kLeafCapacity<Key>);
    return {static_cast<uint32>(Max(partition.first, page_first) - page_first),
            static_cast<uint32>(end - page_first)};
}

// This says where the separator levels of a partition lie. It is computed from the number of its leaf pages.
struct SeparatorLevels {
    int count;
    uint32 keys[kMaxSeparatorLevels];
    uint32 first_page[kMaxSeparatorLevels];  // counted from the partition's first
    uint32 pages;                            // number of pages of all levels
};

template <typename Key>
inline SeparatorLevels separator_levels_above(uint32 leaves) {
    SeparatorLevels levels = {};
    uint32 children = leaves;
    while (children > 1) {
        levels.keys[levels.count] = children;
        levels.first_page[levels.count] = levels.pages;
        levels.count++;
        children = (children + kSeparatorCapacity<Key> - 1) / kSeparatorCapacity<Key>;
        levels.pages += children;
    }
    return levels;
}

template <typename Key>
inline SeparatorLevels separator_levels(const Partition &partition) {
    return separator_levels_above<Key>(
        partition.all_null ? 0 : leaf_end<Key>(partition) - leaf_begin<Key>(partition));
}

inline uint32 partition_table_pages(uint64 listed) {
    return static_cast<uint32>((listed + kPartitionsPerPage - 1) / kPartitionsPerPage);
}

// Returns the byte of a one-page run's content at which its partition table begins.
template <typename Key>
inline uint32 partition_table_offset(const storage::RunEntry &run) {
    return static_cast<uint32>(MAXALIGN(run.entries * kEntryBytes<Key>));
}

}  // namespace pg_gpu::kary
