// gpu.verify checks the order, the separators, and the agreement with the table.

#include "kary/condition.h"
#include "kary/kary.h"
#include "keys/keys.h"

namespace pg_gpu::kary {

// The part of an entry that the filter remembers.
struct Fingerprint {
    Key128 key;
    uint32 block;
    uint16 offset;
    NullMask nulls;
};
static_assert(sizeof(Fingerprint) == 24);

template <typename Key>
struct KeyVerification {
    Relation index;
    TableCheck *check;
    KeyFormat format;
    MemoryContext scratch;  // for encoding one row
};

template <typename Key>
static Fingerprint fingerprint(Key key, NullMask nulls, const ItemPointerData &tid) {
    return {Key128::from(bits_of(key)), ItemPointerGetBlockNumberNoCheck(&tid),
            ItemPointerGetOffsetNumberNoCheck(&tid), nulls};
}

template <typename Key>
static void note_entry(KeyVerification<Key> *state, BlockNumber block, Key key, NullMask nulls,
                       const ItemPointerData &tid) {
    const Fingerprint print = fingerprint(key, nulls, tid);
    table::note_entry(state->check, block, &print, sizeof(print), tid);
}

template <typename Key>
struct LeafImage {
    Key keys[kLeafCapacity<Key>];
    ItemPointerData tids[kLeafCapacity<Key>];
};

// Checks the share of one leaf page that is a partition's; *previous_key and *previous_tid are those of the
// partition's entry before, an invalid TID at its start.
template <typename Key>
static void verify_share(KeyVerification<Key> *state, BlockNumber block, const LeafImage<Key> &image,
                         const uint64 *dead, const Partition &partition, const Places &places,
                         Key *previous_key, ItemPointerData *previous_tid) {
    for (uint32 i = places.begin; i < places.end; i++) {
        const Key key = image.keys[i];
        const bool ordered = !ItemPointerIsValid(previous_tid) || key > *previous_key ||
                             (key == *previous_key &&
                              ItemPointerCompare(const_cast<ItemPointer>(&image.tids[i]), previous_tid) > 0);
        if (!ordered || !(without_nulls(state->format, partition.nulls, key) == key))
            report_problem(state->check, block, &image.tids[i], "Entries are out of order.");
        *previous_key = key;
        *previous_tid = image.tids[i];
        if (!((dead[i / 64] >> (i % 64)) & 1))
            note_entry(state, block, key, partition.nulls, image.tids[i]);
    }
}

// Walks a run's leaves in order; collects for the separators the last key of each share, partition by
// partition.
template <typename Key>
static void verify_leaves(KeyVerification<Key> *state, const storage::RunEntry &run,
                          const Partition *partitions, int partition_count, Key *last_keys) {
    auto *image = allocate<LeafImage<Key>>(1);
    uint64 dead[(kLeafCapacity<Key> + 63) / 64] = {};
    Key previous_key = key_from<Key>(0);
    ItemPointerData previous_tid;
    ItemPointerSetInvalid(&previous_tid);
    int partition = 0;

    for (uint32 leaf = 0; leaf < leaf_pages<Key>(run); leaf++) {
        CHECK_FOR_INTERRUPTS();
        const uint32 entries = leaf_entries<Key>(run, leaf);
        const uint32 position = run.sections[kLeafSection].first_page + leaf;
        const storage::RunPage held = storage::read_run_page(state->index, run, position, nullptr);
        if (held.page == nullptr)
            break;  // the structural check has reported it
        const BlockNumber block = storage::run_block(run, position);
        Page page = held.page;
        const bool long_enough = storage::content_length(page) >= entries * kEntryBytes<Key>;
        if (long_enough) {
            memcpy(image->keys, leaf_keys<Key>(page), entries * sizeof(Key));
            memcpy(image->tids, leaf_tids<Key>(page, entries), entries * sizeof(ItemPointerData));
        }
        storage::release_run_page(held);
        if (!long_enough) {
            report_problem(state->check, block, nullptr, "A leaf page is shorter than its entries.");
            break;
        }
        if (!storage::read_dead_bits(state->index, run, static_cast<uint64>(leaf) * kLeafCapacity<Key>,
                                     entries, dead))
            break;
        while (partition < partition_count && leaf_begin<Key>(partitions[partition]) <= leaf) {
            const Partition &current = partitions[partition];
            const Places places = places_on_leaf<Key>(current, leaf);
            verify_share(state, block, *image, dead, current, places, &previous_key, &previous_tid);
            if (!current.all_null)
                *last_keys++ = image->keys[places.end - 1];
            if (leaf_end<Key>(current) > leaf + 1)
                break;
            partition++;
            ItemPointerSetInvalid(&previous_tid);
        }
    }
    pfree(image);
}

template <typename Key>
static void verify_separators(KeyVerification<Key> *state, const storage::RunEntry &run,
                              const Partition &partition, Key *last_keys) {
    const SeparatorLevels levels = separator_levels<Key>(partition);
    const uint32 first_page = run.sections[kSeparatorSection].first_page + partition.first_separator;
    for (int level = 0; level < levels.count; level++) {
        uint32 pages = 0;
        for (uint32 done = 0; done < levels.keys[level]; pages++) {
            const uint32 here = Min(kSeparatorCapacity<Key>, levels.keys[level] - done);
            const uint32 position = first_page + levels.first_page[level] + pages;
            const storage::RunPage page = storage::read_run_page(state->index, run, position, nullptr);
            if (page.page == nullptr)
                return;
            const bool same =
                storage::content_length(page.page) >= here * sizeof(Key) &&
                memcmp(storage::page_content(page.page), last_keys + done, here * sizeof(Key)) == 0;
            if (!same)
                report_problem(state->check, storage::run_block(run, position), nullptr,
                               "Separators differ from the pages below.");
            storage::release_run_page(page);
            done += here;
            last_keys[pages] = last_keys[done - 1];
        }
    }
}

template <typename Key>
static void verify_run(void *context, const storage::RunEntry &run) {
    auto *state = static_cast<KeyVerification<Key> *>(context);
    Partition *partitions;
    int count;
    uint32 position;
    if (!read_partitions<Key>(state->index, state->format, run, &partitions, &count, &position))
        return;  // the structural check has reported it
    // A leaf page that partitions share has a last key for each.
    auto *last_keys = allocate_zeroed<Key>(leaf_pages<Key>(run) + static_cast<uint32>(count));
    verify_leaves(state, run, partitions, count, last_keys);
    Key *keys = last_keys;
    for (int i = 0; i < count; i++) {
        verify_separators(state, run, partitions[i], keys);
        if (!partitions[i].all_null)
            keys += leaf_end<Key>(partitions[i]) - leaf_begin<Key>(partitions[i]);
    }
    pfree(last_keys);
    pfree(partitions);
}

template <typename Key>
static size_t fingerprint_row(void *context, const Datum *values, const bool *nulls,
                              const ItemPointerData &tid, unsigned char *bytes) {
    auto *state = static_cast<KeyVerification<Key> *>(context);
    NullMask mask;
    const Key key = encode_scanned_row<Key>(state->format, state->scratch, values, nulls, &mask);
    const Fingerprint print = fingerprint(key, mask, tid);
    memcpy(bytes, &print, sizeof(print));
    return sizeof(print);
}

// ---- the steps --------------------------------------------------------------------------------------------

template <typename Key>
static void *begin_verification(TableCheck *check) {
    auto *state = allocate_zeroed<KeyVerification<Key>>(1);
    state->index = check->index;
    state->check = check;
    state->format = key_format(check->index);
    state->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpu.verify row", ALLOCSET_DEFAULT_SIZES);
    return state;
}

template <typename Key>
static void verify_tail(void *context, const storage::Items &tail) {
    auto *state = static_cast<KeyVerification<Key> *>(context);
    for_each_tail_tuple<Key>(tail.tail_tuples, tail.bytes, is_composite(state->format),
                             [state](Key key, NullMask nulls, const ItemPointerData &tid) {
                                 note_entry(state, storage::kTailBlock, key, nulls, tid);
                             });
}

template <typename Key>
static const VerifySteps *steps_of() {
    static constexpr VerifySteps steps = {
        .begin = begin_verification<Key>,
        .verify_tail = verify_tail<Key>,
        .verify_run = verify_run<Key>,
        .fingerprint_row = fingerprint_row<Key>,
    };
    return &steps;
}

const VerifySteps *verify_steps(Relation index) {
    return with_key_type(key_width(index), [](auto key) { return steps_of<decltype(key)>(); });
}

}  // namespace pg_gpu::kary
