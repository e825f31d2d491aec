// A scan takes views and goes through phases, for each of which this file finds the sources of a view that
// hold what is wanted.
#include <algorithm>

#include "compat.h"
#include "kary/mirror.h"
#include "kary/scan.h"

namespace pg_gpu::kary {

// Copies the tail's matches while it is locked.
template <typename Key>
static void visit_tail(const char *tail_tuples, uint32 bytes, void *context) {
    auto *scan = static_cast<Scan<Key> *>(context);
    if (scan->whole_tail != nullptr)
        storage::copy_tail(tail_tuples, bytes, scan->whole_tail);
    if (bytes == 0)
        return;
    if (scan->tail == nullptr)
        scan->tail = allocate<SortEntry<Key>>(kTailTuples<Key>);
    uint32 count = 0;
    for_each_tail_tuple<Key>(tail_tuples, bytes, is_composite(scan->format),
                             [&](Key key, NullMask nulls, const ItemPointerData &tid) {
                                 if (unlikely(nulls > scan->format.all_null))
                                     storage::report_corruption(
                                         scan->descriptor->indexRelation, storage::kTailBlock,
                                         "A tuple of the tail has NULLs in columns that are not there.");
                                 if (matches(scan->format, scan->condition, nulls, key))
                                     scan->tail[count++] = {key, ItemPointerGetBlockNumberNoCheck(&tid),
                                                            ItemPointerGetOffsetNumberNoCheck(&tid), nulls};
                             });
    scan->tail_count = count;
}

template <typename Key>
void renew_view(Scan<Key> *scan) {
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    scan->tail_count = 0;
    storage::take_view(scan->descriptor->indexRelation, scan->kind, scan->descriptor->xs_snapshot,
                       &scan->view, visit_tail<Key>, scan);
    std::sort(scan->tail, scan->tail + scan->tail_count, entry_less<Key>);
    if (scan->resolve)
        renew_visibility(&scan->visibility);
    scan->view_number++;
    MemoryContextSwitchTo(caller);
}

// Adds a source to the phase, if the condition wants entries of its partition.
template <typename Key>
static void add_cursor(Scan<Key> *scan, const storage::RunEntry *run, const Partition &partition) {
    if (partition.entries == 0 || !wants(scan->condition, partition.nulls))
        return;
    if (scan->cursor_count == scan->cursor_room) {
        const int room = scan->cursor_room * 2 + 16;
        MemoryContext caller = MemoryContextSwitchTo(scan->context);
        auto *cursors = allocate_zeroed<Cursor<Key>>(room);
        if (scan->cursors != nullptr) {
            // The new cursors keep the batches' memory of the old ones.
            memcpy(cursors, scan->cursors, scan->cursor_room * sizeof(Cursor<Key>));
            pfree(scan->cursors);
        }
        scan->cursors = cursors;
        scan->cursor_room = room;
        MemoryContextSwitchTo(caller);
    }
    Cursor<Key> *cursor = &scan->cursors[scan->cursor_count++];
    cursor->run = run;
    cursor->partition = partition;
    cursor->nulls = partition.nulls;
    cursor->ranges = ranges_in(scan->format, scan->condition, partition.nulls);
    cursor->leaf_begin = run != nullptr ? leaf_begin<Key>(partition) : 0;
    cursor->leaf_end = run != nullptr ? leaf_end<Key>(partition) : 1;
    cursor->count = cursor->at = 0;
    cursor->next_point = 0;
    scan->mixed = scan->mixed || partition.nulls != scan->cursors[0].nulls ||
                  (scan->remote.run_count > 0 && partition.nulls != 0);
}

// Adds the entries of a run without NULLs.
template <typename Key>
static void add_keyed_cursor(Scan<Key> *scan, const storage::RunEntry *run) {
    if (!is_remote(scan, *run))
        add_cursor(scan, run, keyed_partition(*run));
}

// Adds all partitions of a run; returns false for Restart.
template <typename Key>
static bool add_run_cursors(Scan<Key> *scan, const storage::RunEntry *run) {
    // Entries with NULLs need no search if the condition lets no column be NULL.
    if (listed_partitions(*run) == 0 || scan->condition.not_nulls == scan->format.all_null) {
        add_keyed_cursor(scan, run);
        return true;
    }
    Partition *partitions;
    int count;
    uint32 position;
    const bool valid = read_partitions<Key>(scan->descriptor->indexRelation, scan->format, *run, &partitions,
                                            &count, &position);
    if (!valid)
        storage::confirm_recycled(scan->descriptor->indexRelation, scan->kind, scan->view, *run, position);
    for (int i = 0; valid && i < count; i++)
        if (partitions[i].nulls != 0 || !is_remote(scan, *run))
            add_cursor(scan, run, partitions[i]);
    pfree(partitions);
    return valid;
}

static bool is_in_phase(Phase phase, NullMask nulls) {
    return phase == Phase::All || (phase == Phase::Nulls) == (nulls != 0);
}

// Adds the tail's matches, sorted, which begin a partition with each change of NULLs.
template <typename Key>
static void add_tail_cursors(Scan<Key> *scan, Phase phase) {
    uint32 begin = 0;
    while (begin < scan->tail_count) {
        const NullMask nulls = scan->tail[begin].nulls;
        uint32 end = begin + 1;
        while (end < scan->tail_count && scan->tail[end].nulls == nulls)
            end++;
        if (is_in_phase(phase, nulls))
            add_cursor(scan, nullptr,
                       Partition{nulls, nulls == scan->format.all_null, 0, begin, end - begin});
        begin = end;
    }
}

template <typename Key>
static void make_heap_room(Scan<Key> *scan) {
    const int sources = scan->cursor_count + 1;
    if (scan->heap_room >= sources)
        return;
    if (scan->heap != nullptr)
        pfree(scan->heap);
    scan->heap_room = Max(sources, scan->heap_room * 2);
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    scan->heap = allocate<Source<Key> *>(scan->heap_room);
    MemoryContextSwitchTo(caller);
}

template <typename Key>
bool enter_phase(Scan<Key> *scan, int phase, bool at_start) {
    const Phase what = scan->phases[phase];
    scan->phase = phase;
    scan->current = nullptr;
    scan->heap_built = false;
    scan->heap_count = 0;
    scan->cursor_count = 0;
    scan->mixed = false;
    scan->remote.run_count = 0;
    if (what != Phase::Nulls)
        choose_remote_runs(scan, at_start);
    for (int i = 0; i < scan->view.run_count; i++) {
        const storage::RunEntry *run = &scan->view.runs[i];
        if (what == Phase::Keys)
            add_keyed_cursor(scan, run);
        else if (what == Phase::Nulls)
            add_cursor(scan, run, null_partition(*run));
        else if (!add_run_cursors(scan, run))
            return false;
    }
    add_tail_cursors(scan, what);
    make_heap_room(scan);
    for (int i = 0; i < scan->cursor_count; i++) {
        Cursor<Key> *cursor = &scan->cursors[i];
        cursor->leaf = at_start ? cursor->leaf_begin - 1 : cursor->leaf_end;
    }
    return true;
}

template <typename Key>
void begin_phases(Scan<Key> *scan) {
    scan->phase_count = 0;
    if (is_composite(scan->format)) {
        if (!scan->condition.nothing)
            scan->phases[scan->phase_count++] = Phase::All;
    } else {
        const bool nulls_first = scan->format.columns[0].nulls_first;
        const bool wants_nulls = wants(scan->condition, 1);
        if (wants_nulls && nulls_first)
            scan->phases[scan->phase_count++] = Phase::Nulls;
        if (wants(scan->condition, 0))
            scan->phases[scan->phase_count++] = Phase::Keys;
        if (wants_nulls && !nulls_first)
            scan->phases[scan->phase_count++] = Phase::Nulls;
    }

    count_index_search(scan->descriptor);
    scan->last.valid = false;
    scan->started = true;
    // The planner's look for a column's end wants one entry, and pages have it next to the ends of runs.
    scan->may_travel = !is_planners_look(scan->descriptor->xs_snapshot) && may_travel(scan->condition);
    scan->remote.choice = {};
    scan->remote.refusals = 0;
    scan->remote.microseconds = 0;
    scan->timed = is_worth_counting(scan->condition);
    INSTR_TIME_SET_ZERO(scan->search_time);
    INSTR_TIME_SET_CURRENT(scan->search_began);
    if (scan->phase_count > 0)
        renew_view(scan);
}

#define INSTANTIATE(Key)                               \
    template void renew_view(Scan<Key> *);             \
    template bool enter_phase(Scan<Key> *, int, bool); \
    template void begin_phases(Scan<Key> *);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
