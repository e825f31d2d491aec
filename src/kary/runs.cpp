// What storage must know of gpu_kary's runs: sealing a tail, merging, reading TIDs.
#include <algorithm>

#include "kary/kary.h"
#include "kary/radix_sort.h"

namespace pg_gpu::kary {

static constexpr uint32 kRunKind32 = 0x6b720020;
static constexpr uint32 kRunKind64 = 0x6b720040;

template <typename Key>
static void seal(const char *items, uint32, uint32 count, Page page, storage::RunEntry *entry) {
    SortEntry<Key> entries[kTailItems<Key>];
    const auto *tail = reinterpret_cast<const KaryTailItem<Key> *>(items);
    // NULLs go behind the keyed entries.
    uint32 keyed = 0;
    uint32 end = count;
    for (uint32 i = 0; i < count; i++) {
        const bool is_null = (tail[i].head.info & kNullFlag) != 0;
        const ItemPointerData tid = tail[i].head.tid;
        entries[is_null ? --end : keyed++] = {tail[i].key, ItemPointerGetBlockNumberNoCheck(&tid),
                                              ItemPointerGetOffsetNumberNoCheck(&tid), 0};
    }
    std::sort(entries, entries + keyed, entry_less<Key>);
    std::sort(entries + keyed, entries + count, entry_less<Key>);

    auto *keys = reinterpret_cast<Key *>(storage::page_content(page));
    auto *tids = reinterpret_cast<ItemPointerData *>(storage::page_content(page) + count * sizeof(Key));
    for (uint32 i = 0; i < count; i++) {
        keys[i] = entries[i].key;
        ItemPointerSet(&tids[i], entries[i].block, entries[i].offset);
    }
    storage::set_content_length(page, count * (sizeof(Key) + sizeof(ItemPointerData)));
    entry->access_method_data[0] = keyed;
}

template <typename Key>
static uint32 merge_page_bound(const storage::RunEntry *inputs, int count) {
    uint64 entries = 0;
    for (int i = 0; i < count; i++)
        entries += inputs[i].entries;
    const uint64 leaves = (entries + kLeafCapacity<Key> - 1) / kLeafCapacity<Key>;
    return static_cast<uint32>(Max(leaves, 1)) + separator_levels<Key>(entries).pages;
}

// One input of a merge: a copy of its current leaf page with the page's dead bits, read strictly forward.
template <typename Key>
struct MergeInput {
    const storage::RunEntry *run;
    uint64 next;  // ordinal of the next entry
    uint64 end;   // of the part being merged: keyed entries, or NULLs
    uint32 leaf;
    uint32 entries_on_leaf;
    bool has_leaf;
    Key key;  // of the entry at `next`
    ItemPointerData tid;
    uint64 dead[(kLeafCapacity<Key> + 63) / 64];
    PGAlignedBlock image;
};

template <typename Key>
static void read_merge_leaf(Relation index, MergeInput<Key> *input, uint32 leaf) {
    const storage::RunEntry &run = *input->run;
    storage::pause_merge(index);
    Buffer buffer = read_leaf<Key>(index, run, leaf);
    if (buffer == InvalidBuffer)
        storage::report_corruption(index,
                                   storage::run_block(run, run.sections[kLeafSection].first_page + leaf),
                                   "The page does not carry its run's stamp.");
    input->leaf = leaf;
    input->has_leaf = true;
    input->entries_on_leaf = leaf_entries<Key>(run, leaf);
    memcpy(input->image.data, BufferGetPage(buffer), BLCKSZ);
    UnlockReleaseBuffer(buffer);
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

template <typename Key>
static void merge_part(Relation index, MergeInput<Key> **inputs, int count, bool nulls,
                       RunBuilder<Key> *builder) {
    auto **heap = allocate<MergeInput<Key> *>(count);
    int live = 0;
    for (int i = 0; i < count; i++) {
        inputs[i]->next = nulls ? keyed_entries(*inputs[i]->run) : 0;
        inputs[i]->end = nulls ? inputs[i]->run->entries : keyed_entries(*inputs[i]->run);
        if (settle(index, inputs[i]))
            heap[live++] = inputs[i];
    }
    std::make_heap(heap, heap + live, input_after<Key>);
    while (live > 0) {
        std::pop_heap(heap, heap + live, input_after<Key>);
        MergeInput<Key> *smallest = heap[live - 1];
        // As long as the same input stays smallest, the heap is left alone.
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

template <typename Key>
static void merge(Relation index, const storage::RunEntry *runs, int count, storage::RunWriter *writer,
                  storage::RunEntry *entry) {
    auto **inputs = allocate<MergeInput<Key> *>(count);
    for (int i = 0; i < count; i++) {
        inputs[i] = allocate<MergeInput<Key>>(1);
        inputs[i]->run = &runs[i];
        inputs[i]->has_leaf = false;
    }
    auto *builder = allocate<RunBuilder<Key>>(1);
    begin_run_builder(builder, writer, entry);
    merge_part(index, inputs, count, false, builder);
    merge_part(index, inputs, count, true, builder);
    finish_run_builder(builder);
}

template <typename Key>
static uint32 read_tids(Relation index, const storage::RunEntry &run, uint32 position, Page page,
                        ItemPointerData *tids) {
    const uint32 count = leaf_entries<Key>(run, position - run.sections[kLeafSection].first_page);
    if (storage::content_length(page) < count * (sizeof(Key) + sizeof(ItemPointerData)))
        storage::report_corruption(index, storage::run_block(run, position),
                                   "A leaf page is shorter than its entries.");
    memcpy(tids, leaf_tids<Key>(page, count), count * sizeof(ItemPointerData));
    return count;
}

template <typename Key>
static bool is_sound(const storage::RunEntry &run) {
    return keyed_entries(run) <= run.entries && run.sections[kLeafSection].pages == leaf_pages<Key>(run) &&
           run.sections[kSeparatorSection].pages == separator_levels<Key>(keyed_entries(run)).pages;
}

template <typename Key>
const storage::RunKind *run_kind_of() {
    static const storage::RunKind kind = {
        sizeof(Key) == 4 ? kRunKind32 : kRunKind64,
        "gpu_kary",
        static_cast<uint32>(sizeof(KaryTailItem<Key>)),
        kTailItems<Key> * static_cast<uint32>(sizeof(KaryTailItem<Key>)),
        seal<Key>,
        merge_page_bound<Key>,
        merge<Key>,
        is_sound<Key>,
        read_tids<Key>,
    };
    return &kind;
}

template const storage::RunKind *run_kind_of<uint32>();
template const storage::RunKind *run_kind_of<uint64>();

bool has_wide_keys(Relation index) {
    return index->rd_opcintype[0] == INT8OID;
}

const storage::RunKind *run_kind(Relation index) {
    return has_wide_keys(index) ? run_kind_of<uint64>() : run_kind_of<uint32>();
}

KeyFormat key_format(Relation index) {
    KeyFormat format;
    format.type = index->rd_opcintype[0];
    format.descending = (index->rd_indoption[0] & INDOPTION_DESC) != 0;
    format.nulls_first = (index->rd_indoption[0] & INDOPTION_NULLS_FIRST) != 0;
    return format;
}

}  // namespace pg_gpu::kary
