// A scan's mark.
#include "kary/scan.h"

namespace pg_gpu::kary {

// Tells the sets of runs that the server process is asked about from each other, since ids are 64 random
// bits. 0: none.
template <typename Key>
static uint64 sum_of_remote_ids(const Scan<Key> *scan) {
    uint64 sum = 0;
    for (int i = 0; i < scan->remote.run_count; i++)
        sum += scan->remote.runs[i].run_id;
    return sum;
}

template <typename Key>
void forget_place(Scan<Key> *scan) {
    scan->started = false;
    scan->current = nullptr;
    scan->heap_built = false;
    scan->streaming = false;
}

template <typename Key>
void mark_place(Scan<Key> *scan) {
    if (scan->checked != nullptr) {
        scan->checked->marked = scan->checked->at;
        return;
    }
    scan->marked = scan->last;
    scan->marked_view = scan->view_number;
    scan->marked_phase = scan->phase;
    if (!scan->marked.valid)
        return;
    if (scan->marked_room < scan->cursor_room) {
        MemoryContext caller = MemoryContextSwitchTo(scan->context);
        scan->marked_leaves = scan->marked_leaves == nullptr
                                  ? allocate<int64>(scan->cursor_room)
                                  : reallocate(scan->marked_leaves, scan->cursor_room);
        scan->marked_room = scan->cursor_room;
        MemoryContextSwitchTo(caller);
    }
    scan->marked_cursors = scan->cursor_count;
    for (int i = 0; i < scan->cursor_count; i++)
        scan->marked_leaves[i] = scan->cursors[i].leaf;
    scan->marked_remote = sum_of_remote_ids(scan);
    scan->marked_begin = scan->remote.begin;
    scan->marked_end = scan->remote.end;
}

// Says whether the phase has the sources that it had in the same view when the mark was set: another choice
// may have been made between the server process and pages.
template <typename Key>
static bool has_marked_sources(const Scan<Key> *scan) {
    return scan->marked_remote == sum_of_remote_ids(scan) && scan->marked_cursors == scan->cursor_count;
}

// Puts the gap behind the marked entry. Returns false for Restart.
template <typename Key>
static bool restore_items(Scan<Key> *scan) {
    RemoteSource<Key> *remote = &scan->remote;
    if (remote->run_count == 0)
        return true;
    if (remote->begin != scan->marked_begin || remote->end != scan->marked_end)
        return seek_remote(scan, scan->marked, true);
    place_in_batch(scan, remote, scan->marked, true);
    return true;
}

// Reloads, in the view of the mark, the leaves that have moved on. Returns false for Restart.
template <typename Key>
static bool restore_leaves(Scan<Key> *scan) {
    for (int i = 0; i < scan->cursor_count; i++) {
        Cursor<Key> *cursor = &scan->cursors[i];
        const int64 leaf = scan->marked_leaves[i];
        if (cursor->leaf != leaf) {
            cursor->count = cursor->at = 0;
            if (leaf >= cursor->leaf_begin && leaf < cursor->leaf_end) {
                if (!load_leaf(scan, cursor, leaf))
                    return false;
            } else {
                cursor->leaf = leaf;
            }
        }
        place_in_batch(scan, cursor, scan->marked, true);
    }
    return true;
}

template <typename Key>
static bool stands_behind(const Source<Key> &source, const Position<Key> &position) {
    return source.at > 0 && source.nulls == position.nulls && source.keys[source.at - 1] == position.key &&
           ItemPointerEquals(&source.tids[source.at - 1], const_cast<ItemPointer>(&position.tid));
}

template <typename Key>
void restore_place(Scan<Key> *scan) {
    if (scan->checked != nullptr) {
        scan->checked->at = scan->checked->marked;
        return;
    }
    if (!scan->marked.valid) {
        forget_place(scan);
        return;
    }
    scan->last = scan->marked;
    bool restored = false;
    if (scan->marked_view == scan->view_number) {
        restored = (scan->phase == scan->marked_phase || enter_phase(scan, scan->marked_phase, true)) &&
                   has_marked_sources(scan) && restore_items(scan) && restore_leaves(scan);
    } else {
        scan->phase = scan->marked_phase;
    }
    while (!restored) {
        CHECK_FOR_INTERRUPTS();
        restored = go_on_in_new_view(scan, true);
    }
    storage::got_on(&scan->cached);

    // The gap is behind the marked entry; whoever holds it must step over it if the scan turns round.
    scan->heap_built = false;
    scan->streaming = false;
    scan->forward = true;
    scan->current = nullptr;
    if (scan->remote.run_count > 0 && stands_behind(scan->remote, scan->last))
        scan->current = &scan->remote;
    for (int i = 0; i < scan->cursor_count; i++)
        if (stands_behind(scan->cursors[i], scan->last))
            scan->current = &scan->cursors[i];
}

#define INSTANTIATE(Key)                     \
    template void forget_place(Scan<Key> *); \
    template void mark_place(Scan<Key> *);   \
    template void restore_place(Scan<Key> *);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
