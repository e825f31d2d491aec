#include "column/query/row_tids.h"

#include "sort.h"

namespace pg_gpu::column {

uint64 first_row_number(const ColumnView *view, int run) {
    uint64 first = 0;
    for (int i = 0; i < run; i++)
        first += view->runs[i].run.entries;
    return first;
}

namespace {

struct WantedRow {
    uint64 number;
    uint64 place;  // among those that are wanted
};

}  // namespace

static void set_tid(const ColumnView *view, const RunReader &run, const ItemPointerData &tid,
                    ItemPointerData *to) {
    if (unlikely(!table::is_tid_within(tid, view->heap_blocks)))
        report_damage(&run, kTidSection, "An entry's TID lies outside the table.");
    *to = tid;
}

// Of rows of one run, in the order of their numbers, of which `first` is taken away.
static void read_tids_of_run(ColumnView *view, int run, uint64 first, const WantedRow *wanted, uint64 count,
                             ItemPointerData *tids) {
    RunReader *reader = &view->runs[run];
    OffsetNumber offsets[MaxHeapTuplesPerPage];
    TidCursor cursor;
    begin_tid_cursor(&cursor, reader);
    for (uint64 i = 0; i < count && find_span(&cursor, wanted[i].number - first);) {
        span_offsets(&cursor, offsets);
        for (; i < count && wanted[i].number - first < cursor.next_ordinal; i++) {
            ItemPointerData tid;
            ItemPointerSet(&tid, cursor.block, offsets[wanted[i].number - first - cursor.ordinal]);
            set_tid(view, *reader, tid, &tids[wanted[i].place]);
        }
    }
    pfree(cursor.content);
}

bool read_row_tids(ColumnView *view, const uint64 *numbers, uint64 count, ItemPointerData *tids) {
    auto *wanted = allocate<WantedRow>(count + 1);
    for (uint64 i = 0; i < count; i++)
        wanted[i] = {numbers[i], i};
    sort_interruptibly(wanted, wanted + count, [](const WantedRow &one, const WantedRow &other) {
        return one.number < other.number;
    });
    uint64 at = 0;
    uint64 first = 0;
    for (int run = 0; run < view->run_count; run++) {
        const uint64 behind = first + view->runs[run].run.entries;
        const uint64 begin = at;
        while (at < count && wanted[at].number < behind)
            at++;
        if (at > begin)
            read_tids_of_run(view, run, first, wanted + begin, at - begin, tids);
        first = behind;
    }
    bool are_rows = true;
    for (; at < count && are_rows; at++) {
        const uint64 loose = wanted[at].number - first;
        are_rows = loose < view->loose_count;
        if (are_rows)
            tids[wanted[at].place] = view->loose[loose].tid;
    }
    pfree(wanted);
    return are_rows && !is_stale(view);
}

}  // namespace pg_gpu::column
