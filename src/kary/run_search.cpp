// Finding a key's place in a run: down the separator levels, one page a level.
#include "kary/kary.h"
#include "kary/search.h"

namespace pg_gpu::kary {

template <typename Key>
static uint32 bound_in(const Key *keys, uint32 count, Key key, Bound bound) {
    return bound == Bound::Lower ? lower_bound(keys, count, key) : upper_bound(keys, count, key);
}

template <typename Key>
Buffer read_leaf(Relation index, const storage::RunEntry &run, uint32 leaf) {
    const uint32 position = run.sections[kLeafSection].first_page + leaf;
    Buffer buffer = storage::read_run_page(index, run, position, nullptr);
    if (buffer != InvalidBuffer && storage::content_length(BufferGetPage(buffer)) <
                                       leaf_entries<Key>(run, leaf) * (sizeof(Key) + sizeof(ItemPointerData)))
        storage::report_corruption(index, BufferGetBlockNumber(buffer),
                                   "A leaf page is shorter than its entries.");
    return buffer;
}

template <typename Key>
bool find_leaf(Relation index, const storage::RunEntry &run, Key key, Bound bound, uint32 *leaf,
               uint32 *position) {
    const uint64 keyed = keyed_entries(run);
    const SeparatorLevels levels = separator_levels<Key>(keyed);
    if (levels.count == 0) {
        *leaf = 0;
        return true;
    }
    uint32 child = 0;
    for (int level = levels.count - 1; level >= 0; level--) {
        const uint32 first_key = child * kSeparatorCapacity<Key>;
        const uint32 count = Min(kSeparatorCapacity<Key>, levels.keys[level] - first_key);
        *position = run.sections[kSeparatorSection].first_page + levels.first_page[level] + child;
        Buffer buffer = storage::read_run_page(index, run, *position, nullptr);
        if (buffer == InvalidBuffer)
            return false;
        Page page = BufferGetPage(buffer);
        if (storage::content_length(page) < count * sizeof(Key))
            storage::report_corruption(index, BufferGetBlockNumber(buffer), "A separator page is too short.");
        const uint32 found =
            bound_in(reinterpret_cast<const Key *>(storage::page_content(page)), count, key, bound);
        UnlockReleaseBuffer(buffer);
        // Above the topmost level's last key means above every key. Further down the same can only be damage:
        // a page's last key is what brought the search there.
        if (found == count) {
            if (level != levels.count - 1)
                storage::report_corruption(index, storage::run_block(run, *position),
                                           "A separator page contradicts the level above.");
            *leaf = levels.keys[0];
            return true;
        }
        child = first_key + found;
    }
    *leaf = child;
    return true;
}

template <typename Key>
bool find_ordinal(Relation index, const storage::RunEntry &run, Key key, Bound bound, uint64 *ordinal,
                  uint32 *position) {
    const uint64 keyed = keyed_entries(run);
    uint32 leaf = 0;
    *ordinal = 0;
    if (keyed == 0)
        return true;
    if (!find_leaf<Key>(index, run, key, bound, &leaf, position))
        return false;
    const uint32 count = leaf_keyed<Key>(run, leaf);
    if (count == 0) {
        *ordinal = keyed;
        return true;
    }
    *position = run.sections[kLeafSection].first_page + leaf;
    Buffer buffer = read_leaf<Key>(index, run, leaf);
    if (buffer == InvalidBuffer)
        return false;
    const uint32 found = bound_in(leaf_keys<Key>(BufferGetPage(buffer)), count, key, bound);
    UnlockReleaseBuffer(buffer);
    *ordinal = static_cast<uint64>(leaf) * kLeafCapacity<Key> + found;
    return true;
}

template Buffer read_leaf<uint32>(Relation, const storage::RunEntry &, uint32);
template Buffer read_leaf<uint64>(Relation, const storage::RunEntry &, uint32);
template bool find_leaf(Relation, const storage::RunEntry &, uint32, Bound, uint32 *, uint32 *);
template bool find_leaf(Relation, const storage::RunEntry &, uint64, Bound, uint32 *, uint32 *);
template bool find_ordinal(Relation, const storage::RunEntry &, uint32, Bound, uint64 *, uint32 *);
template bool find_ordinal(Relation, const storage::RunEntry &, uint64, Bound, uint64 *, uint32 *);

}  // namespace pg_gpu::kary
