// A scan's mark.
#include "kary/scan.h"

namespace pg_gpu::kary {

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
    for (int i = 0; i < scan->cursor_count; i++)
        scan->marked_leaves[i] = scan->cursors[i].leaf;
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
                   restore_leaves(scan);
    } else {
        scan->phase = scan->marked_phase;
    }
    storage::RestartGuard guard = {0, false};
    while (!restored) {
        storage::count_restart(scan->descriptor->indexRelation, &guard);
        restored = go_on_in_new_view(scan, true);
    }
    storage::unlock_after_restarts(scan->descriptor->indexRelation, &guard);

    // The gap is behind the marked entry; whoever holds it must step over it if the scan turns round.
    scan->heap_built = false;
    scan->streaming = false;
    scan->forward = true;
    scan->current = nullptr;
    for (int i = 0; i < scan->cursor_count; i++) {
        Cursor<Key> *cursor = &scan->cursors[i];
        if (cursor->at > 0 && cursor->partition.nulls == scan->last.nulls &&
            cursor->keys[cursor->at - 1] == scan->last.key &&
            ItemPointerEquals(&cursor->tids[cursor->at - 1], &scan->last.tid))
            scan->current = cursor;
    }
}

#define INSTANTIATE(Key)                     \
    template void forget_place(Scan<Key> *); \
    template void mark_place(Scan<Key> *);   \
    template void restore_place(Scan<Key> *);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
