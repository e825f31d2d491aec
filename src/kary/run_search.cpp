// A key's place in a run is found down the separator levels, by one page on each level.
#include "kary/kary.h"
#include "keys/keys.h"

namespace pg_gpu::kary {

template <typename Key>
static uint32 bound_in(const Key *keys, uint32 count, Key key, Bound bound) {
    return bound == Bound::Lower ? lower_bound(keys, count, key) : upper_bound(keys, count, key);
}

template <typename Key>
storage::RunPage read_leaf(Relation index, const storage::RunEntry &run, uint32 leaf) {
    const uint32 position = run.sections[kLeafSection].first_page + leaf;
    const storage::RunPage page = storage::read_run_page(index, run, position, nullptr);
    if (page.page != nullptr &&
        storage::content_length(page.page) < leaf_entries<Key>(run, leaf) * kEntryBytes<Key>)
        storage::report_corruption(index, storage::run_block(run, position),
                                   "A leaf page is shorter than its entries.");
    return page;
}

[[noreturn]] static void report_partitions(Relation index, const storage::RunEntry &run) {
    storage::report_corruption(index, storage::run_block(run, run.sections[kPartitionSection].first_page),
                               "The partition table contradicts the run directory.");
}

// Copies the partition table's words; false when a page was recycled.
template <typename Key>
static bool read_partition_table(Relation index, const storage::RunEntry &run, uint64 *words,
                                 uint32 *position) {
    const storage::Section &section = run.sections[kPartitionSection];
    const bool shares_page = section.first_page == run.sections[kLeafSection].first_page;
    const uint32 offset = shares_page ? partition_table_offset<Key>(run) : 0;
    const auto listed = static_cast<uint32>(listed_partitions(run));
    for (uint32 page_number = 0; page_number < section.pages; page_number++) {
        *position = section.first_page + page_number;
        const storage::RunPage page = storage::read_run_page(index, run, *position, nullptr);
        if (page.page == nullptr)
            return false;
        const uint32 done = page_number * kPartitionsPerPage;
        const uint32 here = Min(kPartitionsPerPage, listed - done);
        if (storage::content_length(page.page) < offset + here * sizeof(uint64))
            report_partitions(index, run);
        memcpy(words + done, storage::page_content(page.page) + offset, here * sizeof(uint64));
        storage::release_run_page(page);
    }
    return true;
}

template <typename Key>
bool read_partitions(Relation index, const KeyFormat &format, const storage::RunEntry &run,
                     Partition **partitions, int *count, uint32 *position) {
    const auto listed = static_cast<uint32>(listed_partitions(run));
    auto *found = allocate<Partition>(listed + 2);
    *partitions = found;
    *count = 0;
    if (keyed_entries(run) > 0)
        found[(*count)++] = keyed_partition(run);
    if (!is_composite(format)) {
        if (run.entries > keyed_entries(run))
            found[(*count)++] = null_partition(run);
        return true;
    }
    if (listed == 0)
        return true;

    auto *words = allocate<uint64>(listed);
    const bool valid = read_partition_table<Key>(index, run, words, position);
    uint64 first = keyed_entries(run);
    uint32 separator = separator_levels<Key>(keyed_partition(run)).pages;
    NullMask last = 0;
    for (uint32 i = 0; valid && i < listed; i++) {
        const auto nulls = static_cast<NullMask>(words[i] >> kPartitionMaskShift);
        const uint64 entries = words[i] & low_bits<uint64>(kPartitionMaskShift);
        if (nulls <= last || nulls > format.all_null || entries == 0 || entries > run.entries - first)
            report_partitions(index, run);
        const Partition partition = {nulls, nulls == format.all_null, separator, first, entries};
        found[(*count)++] = partition;
        first += entries;
        separator += separator_levels<Key>(partition).pages;
        last = nulls;
    }
    if (valid && (first != run.entries || separator != run.sections[kSeparatorSection].pages))
        report_partitions(index, run);
    pfree(words);
    return valid;
}

template <typename Key>
bool find_leaf(Relation index, const storage::RunEntry &run, const Partition &partition, Key key, Bound bound,
               uint32 *leaf, uint32 *position) {
    const uint32 begin = leaf_begin<Key>(partition);
    if (unlikely(partition.all_null)) {
        const bool here = bound == Bound::Lower && bits_of(key) == 0;
        *leaf = here ? begin : leaf_end<Key>(partition);
        return true;
    }
    const SeparatorLevels levels = separator_levels<Key>(partition);
    if (levels.count == 0) {
        *leaf = begin;
        return true;
    }
    const uint32 first_page = run.sections[kSeparatorSection].first_page + partition.first_separator;
    uint32 child = 0;
    for (int level = levels.count - 1; level >= 0; level--) {
        const uint32 first_key = child * kSeparatorCapacity<Key>;
        const uint32 count = Min(kSeparatorCapacity<Key>, levels.keys[level] - first_key);
        *position = first_page + levels.first_page[level] + child;
        const storage::RunPage page = storage::read_run_page(index, run, *position, nullptr);
        if (page.page == nullptr)
            return false;
        if (storage::content_length(page.page) < count * sizeof(Key))
            storage::report_corruption(index, storage::run_block(run, *position),
                                       "A separator page is too short.");
        const uint32 found =
            bound_in(reinterpret_cast<const Key *>(storage::page_content(page.page)), count, key, bound);
        storage::release_run_page(page);
        // Above the topmost level's last key means above every key. Further down the same can only be damage:
        // a page's last key is what brought the search there.
        if (found == count) {
            if (level != levels.count - 1)
                storage::report_corruption(index, storage::run_block(run, *position),
                                           "A separator page contradicts the level above.");
            *leaf = begin + levels.keys[0];
            return true;
        }
        child = first_key + found;
    }
    *leaf = begin + child;
    return true;
}

template <typename Key>
bool find_ordinal(Relation index, const storage::RunEntry &run, const Partition &partition, Key key,
                  Bound bound, uint64 *ordinal, uint32 *position) {
    uint32 leaf = 0;
    *ordinal = partition.first + partition.entries;
    if (partition.entries == 0)
        return true;
    if (!find_leaf<Key>(index, run, partition, key, bound, &leaf, position))
        return false;
    if (leaf == leaf_end<Key>(partition))
        return true;
    if (partition.all_null) {
        *ordinal = partition.first;
        return true;
    }
    *position = run.sections[kLeafSection].first_page + leaf;
    const storage::RunPage page = read_leaf<Key>(index, run, leaf);
    if (page.page == nullptr)
        return false;
    const Places places = places_on_leaf<Key>(partition, leaf);
    const uint32 found =
        bound_in(leaf_keys<Key>(page.page) + places.begin, places.end - places.begin, key, bound);
    storage::release_run_page(page);
    *ordinal = static_cast<uint64>(leaf) * kLeafCapacity<Key> + places.begin + found;
    return true;
}

namespace {

// The place of an entry, found or not, relative to a partition's places on a leaf.
enum class Side { Before, Here, Between, Behind };

}  // namespace

template <typename Key>
static Side side_of(Page page, const storage::RunEntry &run, uint32 leaf, const Places &places, Key key,
                    const ItemPointerData &tid, uint32 *place) {
    const Key *keys = leaf_keys<Key>(page);
    const ItemPointerData *tids = leaf_tids<Key>(page, leaf_entries<Key>(run, leaf));
    const auto compare = [&](uint32 at) {
        ItemPointerData other = tids[at];
        ItemPointerData wanted = tid;
        return keys[at] < key ? -1 : key < keys[at] ? 1 : ItemPointerCompare(&other, &wanted);
    };
    uint32 low = places.begin;
    uint32 high = places.end;
    while (low < high) {
        const uint32 middle = low + (high - low) / 2;
        if (compare(middle) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *place = low;
    if (low == places.end)
        return Side::Behind;
    if (compare(low) == 0)
        return Side::Here;
    return low == places.begin ? Side::Before : Side::Between;
}

template <typename Key>
bool find_entry(Relation index, const storage::RunEntry &run, const Partition &partition, Key key,
                const ItemPointerData &tid, bool *found, uint64 *ordinal, uint32 *position) {
    *found = false;
    uint32 first = leaf_begin<Key>(partition);
    uint32 end = leaf_end<Key>(partition);
    // Entries with the same key lie in the order of their TIDs, on as many leaves as they take.
    if (!partition.all_null) {
        uint32 last;
        if (!find_leaf<Key>(index, run, partition, key, Bound::Lower, &first, position) ||
            !find_leaf<Key>(index, run, partition, key, Bound::Upper, &last, position))
            return false;
        end = Min(end, last + 1);
    }
    while (first < end) {
        const uint32 leaf = first + (end - first) / 2;
        *position = run.sections[kLeafSection].first_page + leaf;
        const storage::RunPage page = read_leaf<Key>(index, run, leaf);
        if (page.page == nullptr)
            return false;
        uint32 place;
        const Side side =
            side_of(page.page, run, leaf, places_on_leaf<Key>(partition, leaf), key, tid, &place);
        storage::release_run_page(page);
        if (side == Side::Here) {
            *found = true;
            *ordinal = static_cast<uint64>(leaf) * kLeafCapacity<Key> + place;
        }
        if (side == Side::Here || side == Side::Between)
            return true;
        if (side == Side::Before)
            end = leaf;
        else
            first = leaf + 1;
    }
    return true;
}

#define INSTANTIATE(Key)                                                                                     \
    template storage::RunPage read_leaf<Key>(Relation, const storage::RunEntry &, uint32);                   \
    template bool read_partitions<Key>(Relation, const KeyFormat &, const storage::RunEntry &, Partition **, \
                                       int *, uint32 *);                                                     \
    template bool find_leaf(Relation, const storage::RunEntry &, const Partition &, Key, Bound, uint32 *,    \
                            uint32 *);                                                                       \
    template bool find_ordinal(Relation, const storage::RunEntry &, const Partition &, Key, Bound, uint64 *, \
                               uint32 *);                                                                    \
    template bool find_entry(Relation, const storage::RunEntry &, const Partition &, Key,                    \
                             const ItemPointerData &, bool *, uint64 *, uint32 *);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)

}  // namespace pg_gpu::kary
