#include "kary/checked_rows.h"

#include "kary/matches.h"

namespace pg_gpu::kary {

template <typename Key>
void begin_checked_rows(CheckedRows *checked, Relation heap, Relation index, Snapshot snapshot,
                        const KeyFormat &format, const Condition<Key> &condition, ScanKeyData *keys,
                        int key_count) {
    const bool has_guesses = !is_composite(format) && condition.elements != nullptr;
    checked->entries = {};
    checked->entries.matches =
        collect_matches(heap, index, snapshot, condition, has_guesses ? MatchKey::Element : MatchKey::None,
                        &checked->entries.count);
    checked->test = begin_row_test(index, format, keys, key_count, has_guesses);
    checked->slot = table_slot_create(heap, nullptr);
    checked->count = checked->at = 0;
    open_heap_rows(&checked->rows, heap, snapshot, &checked->entries);
}

void end_checked_rows(CheckedRows *checked) {
    ExecDropSingleTupleTableSlot(checked->slot);
    close_heap_rows(&checked->rows);
    end_row_test(checked->test);
    pfree(checked->entries.matches);
}

// Tests the next rows of one page. Returns false when there are none.
static bool test_next_rows(CheckedRows *checked) {
    checked->count = checked->at = 0;
    do {
        ItemPointerData row;
        const LookupMatch *match = next_row(&checked->rows, &row);
        if (match == nullptr)
            break;
        store_row(&checked->rows, checked->slot);
        add_row(checked->test, checked->slot, match->key);
        // The executor starts from the entry's place.
        ItemPointer entry = &checked->tids[checked->count++];
        ItemPointerSet(entry, match_block(*match), match_offset(*match));
    } while (checked->count < kRowsAtOnce && has_more_on_page(checked->rows));
    test_rows(checked->test, checked->passed);
    return checked->count > 0;
}

bool next_checked_entry(CheckedRows *checked, ItemPointerData *tid) {
    do {
        while (checked->at < checked->count) {
            const int at = checked->at++;
            if (checked->passed[at]) {
                *tid = checked->tids[at];
                return true;
            }
        }
    } while (test_next_rows(checked));
    return false;
}

static bool keep_next(CheckedScan *scan) {
    if (scan->count == scan->room) {
        scan->room = scan->room * 2 + 64;
        scan->tids = scan->tids == nullptr ? allocate<ItemPointerData>(scan->room)
                                           : reallocate(scan->tids, scan->room);
    }
    scan->complete = scan->complete || !next_checked_entry(&scan->rows, &scan->tids[scan->count]);
    scan->count += scan->complete ? 0 : 1;
    return !scan->complete;
}

bool step_checked_scan(CheckedScan *scan, bool forward, ItemPointerData *tid) {
    if (forward) {
        if (scan->at < scan->count)
            scan->at++;
        if (scan->at == scan->count && !keep_next(scan))
            return false;
    } else {
        scan->at--;
        if (scan->at < 0) {
            scan->at = -1;
            return false;
        }
    }
    *tid = scan->tids[scan->at];
    return true;
}

#define INSTANTIATE(Key)                                                                             \
    template void begin_checked_rows(CheckedRows *, Relation, Relation, Snapshot, const KeyFormat &, \
                                     const Condition<Key> &, ScanKeyData *, int);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
