// Runs and tail are merged in index order, and the scan goes on in a new view when a page was recycled (rule
// Recycled pages).
#include <algorithm>

#include "kary/scan.h"

namespace pg_gpu::kary {

// Heap order, the standard library's way: the top is the entry that no other comes before, forward or
// backward.
template <typename Key>
struct HeapOrder {
    const KeyFormat *format;  // nullptr: all entries have the same columns NULL
    bool forward;

    bool operator()(const Source<Key> *a, const Source<Key> *b) const {
        return forward ? compare(a, a->at, b, b->at) > 0 : compare(a, a->at - 1, b, b->at - 1) < 0;
    }

  private:
    int compare(const Source<Key> *a, uint32 at_a, const Source<Key> *b, uint32 at_b) const {
        const Key &key_a = a->keys[at_a];
        const Key &key_b = b->keys[at_b];
        const int order = format != nullptr
                              ? compare_in_index_order(*format, a->nulls, key_a, b->nulls, key_b)
                              : (key_a < key_b ? -1 : key_a > key_b);
        return order != 0 ? order : ItemPointerCompare(&a->tids[at_a], &b->tids[at_b]);
    }
};

template <typename Key>
static HeapOrder<Key> heap_order(const Scan<Key> *scan, bool forward) {
    return {scan->mixed ? &scan->format : nullptr, forward};
}

template <typename Key>
static Step ensure(Scan<Key> *scan, Source<Key> *source, bool forward) {
    if (source == &scan->remote)
        return forward ? ensure_remote_forward(scan) : ensure_remote_backward(scan);
    auto *cursor = static_cast<Cursor<Key> *>(source);
    return forward ? ensure_forward(scan, cursor) : ensure_backward(scan, cursor);
}

// Returns false for Restart.
template <typename Key>
static bool add_to_heap(Scan<Key> *scan, Source<Key> *source, bool forward) {
    const Step step = ensure(scan, source, forward);
    if (step == Step::Entry)
        scan->heap[scan->heap_count++] = source;
    return step != Step::Restart;
}

template <typename Key>
static bool build_heap(Scan<Key> *scan, bool forward) {
    scan->heap_count = 0;
    if (scan->remote.run_count > 0 && !add_to_heap(scan, &scan->remote, forward))
        return false;
    for (int i = 0; i < scan->cursor_count; i++)
        if (!add_to_heap(scan, &scan->cursors[i], forward))
            return false;
    std::make_heap(scan->heap, scan->heap + scan->heap_count, heap_order(scan, forward));
    scan->heap_built = true;
    scan->current = nullptr;
    return true;
}

// Puts the source that gave the last entry back in its place, after it has moved on.
template <typename Key>
static bool settle_current(Scan<Key> *scan, bool forward) {
    const Step step = ensure(scan, scan->current, forward);
    scan->current = nullptr;
    if (step == Step::Restart)
        return false;
    if (step == Step::End)
        return true;
    scan->heap_count++;  // it waits behind the last
    std::push_heap(scan->heap, scan->heap + scan->heap_count, heap_order(scan, forward));
    return true;
}

// Moves on to the next entry of the current phase. When it returns Entry, scan->last is it.
template <typename Key>
static Step next_in_phase(Scan<Key> *scan, bool forward) {
    Source<Key> *current = scan->current;
    if (current != nullptr && scan->forward != forward) {
        // The scan turns round, so it steps back over the entry last returned.
        current->at = forward ? current->at + 1 : current->at - 1;
        scan->heap_built = false;
    }
    scan->forward = forward;
    if (!scan->heap_built) {
        if (!build_heap(scan, forward))
            return Step::Restart;
    } else if (current != nullptr) {
        if (scan->heap_count == 0) {
            // This is the only source left, so there is no heap to keep.
            const Step step = ensure(scan, current, forward);
            if (step != Step::Entry) {
                scan->current = nullptr;
                if (step == Step::Restart)
                    return step;
            } else {
                scan->heap[scan->heap_count++] = current;
            }
        } else if (!settle_current(scan, forward)) {
            return Step::Restart;
        }
    }
    if (scan->heap_count == 0) {
        scan->heap_built = false;
        scan->current = nullptr;
        return Step::End;
    }

    if (scan->heap_count > 1)
        std::pop_heap(scan->heap, scan->heap + scan->heap_count, heap_order(scan, forward));
    Source<Key> *top = scan->heap[--scan->heap_count];
    const uint32 at = forward ? top->at++ : --top->at;
    scan->current = top;
    scan->last.nulls = top->nulls;
    scan->last.key = top->keys[at];
    scan->last.tid = top->tids[at];
    return Step::Entry;
}

template <typename Key>
bool go_on_in_new_view(Scan<Key> *scan, bool forward) {
    renew_view(scan);
    if (!enter_phase(scan, scan->phase, forward))
        return false;
    if (!scan->last.valid || scan->last.phase != scan->phases[scan->phase])
        return true;
    if (scan->remote.run_count > 0 && !seek_remote(scan, scan->last, forward))
        return false;
    for (int i = 0; i < scan->cursor_count; i++)
        if (!seek_position(scan, &scan->cursors[i], scan->last, forward))
            return false;
    return true;
}

template <typename Key>
bool next_entry(Scan<Key> *scan, bool forward) {
    bool stale = false;
    if (!scan->started) {
        begin_phases(scan);
        if (scan->phase_count > 0)
            stale = !enter_phase(scan, forward ? 0 : scan->phase_count - 1, forward);
    }
    if (scan->phase_count == 0)
        return false;

    for (;;) {
        Step step = stale ? Step::Restart : next_in_phase(scan, forward);
        stale = false;
        while (step == Step::Restart) {
            CHECK_FOR_INTERRUPTS();
            if (go_on_in_new_view(scan, forward))
                step = next_in_phase(scan, forward);
        }
        if (step == Step::Entry) {
            scan->last.valid = true;
            scan->last.phase = scan->phases[scan->phase];
            storage::got_on(&scan->cached);
            return true;
        }
        const int phase = forward ? scan->phase + 1 : scan->phase - 1;
        if (phase < 0 || phase >= scan->phase_count) {
            storage::got_on(&scan->cached);
            // The scan stands at its end now, not on an entry: turning round in a new view starts from there.
            scan->last.valid = false;
            return false;
        }
        stale = !enter_phase(scan, phase, forward);
    }
}

#define INSTANTIATE(Key)                                \
    template bool go_on_in_new_view(Scan<Key> *, bool); \
    template bool next_entry(Scan<Key> *, bool);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
