// This file has what storage must know of gpu_kary's runs: how a tail is sealed, how runs are merged, and
// where TIDs lie.
#include <algorithm>
#include <limits>

#include "kary/kary.h"
#include "keys/keys.h"
#include "progress.h"

namespace pg_gpu::kary {

static constexpr uint32 kRunKindBase = 0x6b720000;  // and the key's width
static constexpr uint32 kRunKindComposite = 0x100;

// Puts the partitions but the first behind the entries, which are in run order.
template <typename Key>
static uint32 write_sealed_partitions(const SortEntry<Key> *entries, uint32 count, uint64 *words) {
    uint32 partitions = 0;
    for (uint32 i = 0; i < count; i++) {
        if (entries[i].nulls == 0)
            continue;
        if (i == 0 || entries[i].nulls != entries[i - 1].nulls)
            words[partitions++] = uint64{entries[i].nulls} << kPartitionMaskShift;
        words[partitions - 1]++;
    }
    return partitions;
}

template <typename Key, bool Composite>
static void seal(const storage::RunKind *, const char *tail_tuples, uint32 bytes, uint32 count, Page page,
                 storage::RunEntry *entry) {
    SortEntry<Key> entries[kTailTuples<Key>];
    uint32 filled = 0;
    uint32 keyed = 0;
    for_each_tail_tuple<Key>(tail_tuples, bytes, Composite,
                             [&](Key key, NullMask nulls, const ItemPointerData &tid) {
                                 entries[filled++] = {key, ItemPointerGetBlockNumberNoCheck(&tid),
                                                      ItemPointerGetOffsetNumberNoCheck(&tid), nulls};
                                 keyed += nulls == 0 ? 1 : 0;
                             });
    std::sort(entries, entries + count, entry_less<Key>);

    auto *keys = reinterpret_cast<Key *>(storage::page_content(page));
    auto *tids = reinterpret_cast<ItemPointerData *>(storage::page_content(page) + count * sizeof(Key));
    for (uint32 i = 0; i < count; i++) {
        keys[i] = entries[i].key;
        ItemPointerSet(&tids[i], entries[i].block, entries[i].offset);
    }
    uint32 length = count * kEntryBytes<Key>;
    entry->access_method_data[0] = keyed;
    if (Composite && keyed < count) {
        const uint32 offset = partition_table_offset<Key>(*entry);
        auto *words = reinterpret_cast<uint64 *>(storage::page_content(page) + offset);
        const uint32 listed = write_sealed_partitions(entries, count, words);
        entry->access_method_data[1] = listed;
        entry->sections[kPartitionSection] = {0, 1};
        length = offset + listed * static_cast<uint32>(sizeof(uint64));
    }
    storage::set_content_length(page, length);
}

template <typename Key, bool Composite>
static uint32 merge_page_bound(Relation, const storage::RunKind *, const storage::RunEntry *inputs,
                               int count) {
    uint64 entries = 0;
    uint64 partitions = 0;
    for (int i = 0; i < count; i++) {
        entries += inputs[i].entries;
        partitions += 1 + listed_partitions(inputs[i]);
    }
    const auto leaves = static_cast<uint32>(Max((entries + kLeafCapacity<Key> - 1) / kLeafCapacity<Key>, 1));
    if (!Composite)
        return leaves + separator_levels_above<Key>(leaves).pages;
    // A page boundary is crossed by one partition at most. A partition that crosses none has no separators,
    // and one that crosses some begins pages of its own on each level, few of which have more than one level.
    partitions = Min(partitions, uint64{1} << (sizeof(NullMask) * 8));
    const auto crossing = static_cast<uint32>(Min(partitions - 1, uint64{leaves} - 1));
    return leaves + crossing + 2 * separator_levels_above<Key>(leaves + crossing).pages +
           partition_table_pages(partitions);
}

// An input of a merge has a copy of its current leaf page with the page's dead bits, and is read strictly
// forward.
template <typename Key>
struct MergeInput {
    const storage::RunEntry *run;
    Partition *partitions;
    int partition_count;
    int partition;  // the next to be merged
    uint64 next;    // ordinal of the next entry
    uint64 end;     // end of the partition being merged
    uint32 leaf;
    uint32 entries_on_leaf;
    bool has_leaf;
    Key key;  // key of the entry at `next`
    ItemPointerData tid;
    uint64 dead[(kLeafCapacity<Key> + 63) / 64];
    PGAlignedBlock image;
};

template <typename Key>
static void read_merge_leaf(Relation index, MergeInput<Key> *input, uint32 leaf) {
    const storage::RunEntry &run = *input->run;
    storage::pause_merge(index);
    const storage::RunPage page = read_leaf<Key>(index, run, leaf);
    if (page.page == nullptr)
        storage::report_foreign_page(index, run, run.sections[kLeafSection].first_page + leaf);
    input->leaf = leaf;
    input->has_leaf = true;
    input->entries_on_leaf = leaf_entries<Key>(run, leaf);
    add_progress(input->entries_on_leaf);
    memcpy(input->image.data, page.page, BLCKSZ);
    storage::release_run_page(page);
    if (run.dead > 0 && !storage::read_dead_bits(index, run, static_cast<uint64>(leaf) * kLeafCapacity<Key>,
                                                 input->entries_on_leaf, input->dead))
        storage::report_corruption(index, storage::run_block(run, run.sections[0].first_page),
                                   "The dead bitmap does not carry its run's stamp.");
}

// Moves to the first live entry at or after `next`; false at the end.
template <typename Key>
static bool settle(Relation index, MergeInput<Key> *input) {
    for (; input->next < input->end; input->next++) {
        const uint32 leaf = static_cast<uint32>(input->next / kLeafCapacity<Key>);
        const uint32 place = static_cast<uint32>(input->next % kLeafCapacity<Key>);
        if (!input->has_leaf || input->leaf != leaf)
            read_merge_leaf(index, input, leaf);
        if (input->run->dead > 0 && (input->dead[place / 64] >> (place % 64)) & 1)
            continue;
        input->key = leaf_keys<Key>(input->image.data)[place];
        input->tid = leaf_tids<Key>(input->image.data, input->entries_on_leaf)[place];
        return true;
    }
    return false;
}

template <typename Key>
static bool input_after(const MergeInput<Key> *a, const MergeInput<Key> *b) {
    if (a->key != b->key)
        return a->key > b->key;
    return ItemPointerCompare(const_cast<ItemPointer>(&a->tid), const_cast<ItemPointer>(&b->tid)) > 0;
}

// Merges the partitions that have this mask.
template <typename Key>
static void merge_partition(Relation index, MergeInput<Key> **inputs, int count, NullMask nulls,
                            RunBuilder<Key> *builder) {
    auto **heap = allocate<MergeInput<Key> *>(count);
    int live = 0;
    for (int i = 0; i < count; i++) {
        MergeInput<Key> *input = inputs[i];
        if (input->partition == input->partition_count || input->partitions[input->partition].nulls != nulls)
            continue;
        const Partition &partition = input->partitions[input->partition++];
        input->next = partition.first;
        input->end = partition.first + partition.entries;
        if (settle(index, input))
            heap[live++] = input;
    }
    std::make_heap(heap, heap + live, input_after<Key>);
    while (live > 0) {
        std::pop_heap(heap, heap + live, input_after<Key>);
        MergeInput<Key> *smallest = heap[live - 1];
        // While the same input stays the smallest, the heap is left alone.
        for (;;) {
            add_entry(builder, smallest->key, nulls, smallest->tid);
            smallest->next++;
            if (!settle(index, smallest)) {
                live--;
                break;
            }
            if (live > 1 && input_after(smallest, heap[0])) {
                std::push_heap(heap, heap + live, input_after<Key>);
                break;
            }
        }
    }
    pfree(heap);
}

// The lowest mask of which partitions are left to merge; false when there are none.
template <typename Key>
static bool next_mask(MergeInput<Key> **inputs, int count, NullMask *nulls) {
    bool found = false;
    for (int i = 0; i < count; i++) {
        const MergeInput<Key> *input = inputs[i];
        if (input->partition < input->partition_count &&
            (!found || input->partitions[input->partition].nulls < *nulls)) {
            *nulls = input->partitions[input->partition].nulls;
            found = true;
        }
    }
    return found;
}

template <typename Key>
static void merge(Relation index, const storage::RunEntry *runs, int count, storage::RunWriter *writer,
                  storage::RunEntry *entry) {
    const KeyFormat format = key_format(index);
    auto **inputs = allocate<MergeInput<Key> *>(count);
    for (int i = 0; i < count; i++) {
        inputs[i] = allocate<MergeInput<Key>>(1);
        inputs[i]->run = &runs[i];
        inputs[i]->has_leaf = false;
        inputs[i]->partition = 0;
        uint32 position;
        if (!read_partitions<Key>(index, format, runs[i], &inputs[i]->partitions, &inputs[i]->partition_count,
                                  &position))
            storage::report_foreign_page(index, runs[i], position);
    }
    auto *builder = allocate<RunBuilder<Key>>(1);
    begin_run_builder(builder, format, writer, entry);
    NullMask nulls = 0;
    while (next_mask(inputs, count, &nulls))
        merge_partition(index, inputs, count, nulls, builder);
    finish_run_builder(builder);
}

template <typename Key>
static uint32 read_tids(Relation index, const storage::RunEntry &run, uint32 position, Page page,
                        ItemPointerData *tids) {
    const uint32 count = leaf_entries<Key>(run, position - run.sections[kLeafSection].first_page);
    if (storage::content_length(page) < count * kEntryBytes<Key>)
        storage::report_corruption(index, storage::run_block(run, position),
                                   "A leaf page is shorter than its entries.");
    memcpy(tids, leaf_tids<Key>(page, count), count * sizeof(ItemPointerData));
    return count;
}

template <typename Key, bool Composite>
static bool is_valid(const storage::RunKind *, const storage::RunEntry &run) {
    const uint64 keyed = keyed_entries(run);
    const uint64 listed = listed_partitions(run);
    if (keyed > run.entries || run.sections[kLeafSection].pages != leaf_pages<Key>(run))
        return false;
    const uint32 separators = separator_levels<Key>(keyed_partition(run)).pages;
    if (!Composite || listed == 0)
        return (!Composite || keyed == run.entries) && run.sections[kSeparatorSection].pages == separators;
    return keyed < run.entries && listed <= run.entries - keyed &&
           listed <= std::numeric_limits<NullMask>::max() &&
           run.sections[kSeparatorSection].pages >= separators &&
           run.sections[kPartitionSection].pages == partition_table_pages(listed);
}

template <typename Key, bool Composite>
static const storage::RunKind *run_kind_for() {
    static const storage::RunKind kind = {
        .id = kRunKindBase | static_cast<uint32>(kKeyBits<Key>) | (Composite ? kRunKindComposite : 0),
        .name = "gpu_kary",
        .tail_tuple_bytes = static_cast<uint32>(sizeof(KaryTailTuple<Key>)),
        .tail_tuple_extra = Composite ? static_cast<uint32>(sizeof(TailNulls)) : 0,
        .merge_weight = 1,
        .tail_capacity = kTailTuples<Key> * static_cast<uint32>(sizeof(KaryTailTuple<Key>)),
        .seal = seal<Key, Composite>,
        .merge_page_bound = merge_page_bound<Key, Composite>,
        .merge = merge<Key>,
        .merged = client::forget_inputs,
        .is_valid = is_valid<Key, Composite>,
        .read_tids = read_tids<Key>,
        .built_with = nullptr,
    };
    return &kind;
}

template <typename Key>
const storage::RunKind *run_kind_of(bool composite) {
    return composite ? run_kind_for<Key, true>() : run_kind_for<Key, false>();
}

#define INSTANTIATE(Key) template const storage::RunKind *run_kind_of<Key>(bool);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)

const storage::RunKind *run_kind(Relation index) {
    const bool composite = IndexRelationGetNumberOfKeyAttributes(index) > 1;
    return with_key_type(key_width(index),
                         [composite](auto key) { return run_kind_of<decltype(key)>(composite); });
}

}  // namespace pg_gpu::kary
