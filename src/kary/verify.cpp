// gpu.verify: order, separators, and agreement with the table (as amcheck's heapallindexed does it, with a
// Bloom filter of the index's entries that the table's rows are then looked up in).
#include "kary/verify.h"

#include <algorithm>

#include "kary/condition.h"
#include "kary/radix_sort.h"
#include "kary/search.h"

namespace pg_gpu::kary {

// What the filter remembers of an entry.
struct Fingerprint {
    uint64 key;
    uint32 block;
    uint16 offset;
    uint16 is_null;
};
static_assert(sizeof(Fingerprint) == 16);

template <typename Key>
struct KeyVerification {
    Relation heap;
    Relation index;
    storage::ProblemReporter report;
    void *context;
    BlockNumber heap_blocks;
    bloom_filter *filter;  // nullptr without the heap check
    KeyFormat format;
    // TIDs of live entries, checked against the table's line pointers in heap order, a chunk at a time.
    ItemPointerData *tids;
    uint32 tid_count;
    uint32 tid_room;
};

template <typename Key>
static Fingerprint fingerprint(Key key, bool is_null, const ItemPointerData &tid) {
    return {is_null ? 0 : uint64{key}, ItemPointerGetBlockNumberNoCheck(&tid),
            ItemPointerGetOffsetNumberNoCheck(&tid), static_cast<uint16>(is_null)};
}

// Live entries must point to line pointers in use: VACUUM removes entries before it frees their line
// pointers.
template <typename Key>
static void check_line_pointers(KeyVerification<Key> *state) {
    std::sort(state->tids, state->tids + state->tid_count,
              [](const ItemPointerData &a, const ItemPointerData &b) {
                  return ItemPointerCompare(const_cast<ItemPointer>(&a), const_cast<ItemPointer>(&b)) < 0;
              });
    for (uint32 i = 0; i < state->tid_count;) {
        CHECK_FOR_INTERRUPTS();
        const BlockNumber block = ItemPointerGetBlockNumberNoCheck(&state->tids[i]);
        Buffer buffer = ReadBuffer(state->heap, block);
        LockBuffer(buffer, BUFFER_LOCK_SHARE);
        Page page = BufferGetPage(buffer);
        const OffsetNumber last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
        for (; i < state->tid_count && ItemPointerGetBlockNumberNoCheck(&state->tids[i]) == block; i++) {
            const OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(&state->tids[i]);
            if (offset > last || !ItemIdIsUsed(PageGetItemId(page, offset)))
                state->report(InvalidBlockNumber, &state->tids[i],
                              "An entry points to a row that is not there.", state->context);
        }
        UnlockReleaseBuffer(buffer);
    }
    state->tid_count = 0;
}

template <typename Key>
static void note_entry(KeyVerification<Key> *state, BlockNumber block, Key key, bool is_null,
                       const ItemPointerData &tid) {
    const OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(&tid);
    if (ItemPointerGetBlockNumberNoCheck(&tid) >= state->heap_blocks || offset == InvalidOffsetNumber ||
        offset > MaxHeapTuplesPerPage) {
        state->report(block, &tid, "An entry's TID lies outside the table.", state->context);
        return;
    }
    if (state->filter == nullptr)
        return;
    Fingerprint print = fingerprint(key, is_null, tid);
    bloom_add_element(state->filter, reinterpret_cast<unsigned char *>(&print), sizeof(print));
    if (state->tid_count == state->tid_room)
        check_line_pointers(state);
    state->tids[state->tid_count++] = tid;
}

template <typename Key>
struct LeafImage {
    Key keys[kLeafCapacity<Key>];
    ItemPointerData tids[kLeafCapacity<Key>];
};

// Walks a run's leaves in order; collects each leaf's last key for the separators.
template <typename Key>
static void verify_leaves(KeyVerification<Key> *state, const storage::RunEntry &run, Key *last_keys) {
    auto *image = allocate<LeafImage<Key>>(1);
    uint64 dead[(kLeafCapacity<Key> + 63) / 64] = {};
    Key previous_key = 0;
    ItemPointerData previous_tid;
    ItemPointerSetInvalid(&previous_tid);
    bool previous_null = false;
    bool first = true;

    for (uint32 leaf = 0; leaf < leaf_pages<Key>(run); leaf++) {
        CHECK_FOR_INTERRUPTS();
        const uint32 entries = leaf_entries<Key>(run, leaf);
        const uint32 keyed = leaf_keyed<Key>(run, leaf);
        Buffer buffer =
            storage::read_run_page(state->index, run, run.sections[kLeafSection].first_page + leaf, nullptr);
        if (buffer == InvalidBuffer)
            break;  // the structural check has reported it
        const BlockNumber block = BufferGetBlockNumber(buffer);
        Page page = BufferGetPage(buffer);
        const bool long_enough =
            storage::content_length(page) >= entries * (sizeof(Key) + sizeof(ItemPointerData));
        if (long_enough) {
            memcpy(image->keys, leaf_keys<Key>(page), entries * sizeof(Key));
            memcpy(image->tids, leaf_tids<Key>(page, entries), entries * sizeof(ItemPointerData));
        }
        UnlockReleaseBuffer(buffer);
        if (!long_enough) {
            state->report(block, nullptr, "A leaf page is shorter than its entries.", state->context);
            break;
        }
        if (!storage::read_dead_bits(state->index, run, static_cast<uint64>(leaf) * kLeafCapacity<Key>,
                                     entries, dead))
            break;
        for (uint32 i = 0; i < entries; i++) {
            const bool is_null = i >= keyed;
            const Key key = image->keys[i];
            bool ordered = first || is_null != previous_null;
            if (!ordered)
                ordered = key > previous_key ||
                          (key == previous_key && ItemPointerCompare(&image->tids[i], &previous_tid) > 0);
            if (!ordered || (is_null && key != 0))
                state->report(block, &image->tids[i], "Entries are out of order.", state->context);
            first = false;
            previous_null = is_null;
            previous_key = key;
            previous_tid = image->tids[i];
            if (!((dead[i / 64] >> (i % 64)) & 1))
                note_entry(state, block, key, is_null, image->tids[i]);
        }
        if (keyed > 0)
            last_keys[leaf] = image->keys[keyed - 1];
    }
    pfree(image);
}

template <typename Key>
static void verify_separators(KeyVerification<Key> *state, const storage::RunEntry &run, Key *last_keys) {
    const SeparatorLevels levels = separator_levels<Key>(keyed_entries(run));
    for (int level = 0; level < levels.count; level++) {
        uint32 pages = 0;
        for (uint32 done = 0; done < levels.keys[level]; pages++) {
            const uint32 here = Min(kSeparatorCapacity<Key>, levels.keys[level] - done);
            Buffer buffer = storage::read_run_page(
                state->index, run,
                run.sections[kSeparatorSection].first_page + levels.first_page[level] + pages, nullptr);
            if (buffer == InvalidBuffer)
                return;
            Page page = BufferGetPage(buffer);
            const bool same = storage::content_length(page) >= here * sizeof(Key) &&
                              memcmp(storage::page_content(page), last_keys + done, here * sizeof(Key)) == 0;
            if (!same)
                state->report(BufferGetBlockNumber(buffer), nullptr,
                              "Separators differ from the pages below.", state->context);
            UnlockReleaseBuffer(buffer);
            done += here;
            last_keys[pages] = last_keys[done - 1];
        }
    }
}

template <typename Key>
struct TailCopy {
    char *items;
    uint32 bytes;
};

template <typename Key>
static void copy_tail(const char *items, uint32 bytes, void *context) {
    auto *copy = static_cast<TailCopy<Key> *>(context);
    memcpy(copy->items, items, bytes);
    copy->bytes = bytes;
}

template <typename Key>
static void look_up_row(Relation, ItemPointer tid, Datum *values, bool *nulls, bool alive, void *context) {
    auto *state = static_cast<KeyVerification<Key> *>(context);
    if (!alive)
        return;
    const Key key = nulls[0] ? 0 : encode_datum<Key>(values[0], state->format);
    Fingerprint print = fingerprint(key, nulls[0], *tid);
    if (bloom_lacks_element(state->filter, reinterpret_cast<unsigned char *>(&print), sizeof(print)))
        state->report(InvalidBlockNumber, tid, "A row is missing from the index.", state->context);
}

// Rows visible to a snapshot taken before the index was read must all be in the filter.
template <typename Key>
static void verify_rows(KeyVerification<Key> *state, Snapshot snapshot) {
    TableScanDesc scan = table_beginscan_strat(state->heap, snapshot, 0, nullptr, true, true);
    IndexInfo *info = BuildIndexInfo(state->index);
    info->ii_Concurrent = true;  // an MVCC scan: only what the snapshot sees
    info->ii_Unique = false;
    info->ii_ExclusionOps = nullptr;

    // The index's expressions and predicate run as the table's owner, as they would in REINDEX: whoever
    // verifies may be a superuser, and the functions are the owner's.
    Oid user;
    int security_context;
    GetUserIdAndSecContext(&user, &security_context);
    SetUserIdAndSecContext(state->heap->rd_rel->relowner, security_context | SECURITY_RESTRICTED_OPERATION);
    const int nest_level = NewGUCNestLevel();
    table_index_build_scan(state->heap, state->index, info, true, false, look_up_row<Key>, state, scan);
    AtEOXact_GUC(false, nest_level);
    SetUserIdAndSecContext(user, security_context);
}

template <typename Key>
static void verify_keys_of(Relation heap, Relation index, bool check_heap, storage::ProblemReporter report,
                           void *context) {
    const storage::RunKind *kind = run_kind_of<Key>();
    KeyVerification<Key> state = {};
    state.heap = heap;
    state.index = index;
    state.report = report;
    state.context = context;
    state.format = key_format(index);
    state.tid_room = 65536;
    state.tids = allocate<ItemPointerData>(state.tid_room);

    Snapshot snapshot = RegisterSnapshot(GetActiveSnapshot());
    storage::View view = {};
    TailCopy<Key> tail = {allocate<char>(storage::kContentBytes), 0};
    storage::take_view(index, kind, snapshot, &view, copy_tail<Key>, &tail);
    // Read after the view: entries of the view are for rows that were there before.
    state.heap_blocks = RelationGetNumberOfBlocks(heap);
    uint64 total = tail.bytes / sizeof(KaryTailItem<Key>);
    for (int i = 0; i < view.run_count; i++)
        total += view.runs[i].entries;
    if (check_heap)
        state.filter = bloom_create(static_cast<int64>(total), maintenance_work_mem, view.vacuum_seq);

    for (int i = 0; i < view.run_count; i++) {
        auto *last_keys = allocate_zeroed<Key>(leaf_pages<Key>(view.runs[i]) + 1);
        verify_leaves(&state, view.runs[i], last_keys);
        verify_separators(&state, view.runs[i], last_keys);
        pfree(last_keys);
    }
    const auto *items = reinterpret_cast<const KaryTailItem<Key> *>(tail.items);
    for (uint32 i = 0; i < tail.bytes / sizeof(KaryTailItem<Key>); i++)
        note_entry(&state, storage::kTailBlock, items[i].key, (items[i].head.info & kNullFlag) != 0,
                   items[i].head.tid);
    if (check_heap) {
        check_line_pointers(&state);
        verify_rows(&state, snapshot);
        bloom_free(state.filter);
    }
    UnregisterSnapshot(snapshot);
}

void verify_keys(Relation heap, Relation index, bool check_heap, storage::ProblemReporter report,
                 void *context) {
    if (has_wide_keys(index))
        verify_keys_of<uint64>(heap, index, check_heap, report, context);
    else
        verify_keys_of<uint32>(heap, index, check_heap, report, context);
}

}  // namespace pg_gpu::kary
