#include "column/scan/view.h"

#include "cost/usage.h"
#include "storage/storage.h"
#include "table/table.h"

namespace pg_gpu::column {

// ---- opening ----------------------------------------------------------------------------------------------

static void add_loose_rows(ColumnView *view, BlockNumber block, const storage::Items &tail_tuples) {
    const auto columns = static_cast<size_t>(view->format->columns);
    for_each_tail_tuple(view->index, *view->format, block, tail_tuples,
                        [&](const storage::TailTuple *tail_tuple, const TupleValue *values) {
                            if (!table::is_tid_within(tail_tuple->tid, view->heap_blocks))
                                storage::report_corruption(view->index, block,
                                                           "An entry's TID lies outside the table.");
                            if (view->loose_count == view->loose_room) {
                                view->loose_room *= 2;
                                view->loose = reallocate(view->loose, view->loose_room);
                            }
                            auto *copy = allocate<TupleValue>(columns);
                            memcpy(copy, values, columns * sizeof(TupleValue));
                            view->loose[view->loose_count++] = {tail_tuple->tid, true, copy};
                        });
}

static void open_raw(ColumnView *view, const storage::RunEntry &run) {
    storage::Items tail_tuples;
    if (read_raw_tuples(view->index, run, &tail_tuples))
        add_loose_rows(view, storage::run_block(run, 0), tail_tuples);
    else
        view->recycled = &run;
}

// Returns false when the run is left out.
static bool open_columns(ColumnView *view, const storage::RunEntry &run, const Condition &condition,
                         bool remote) {
    const int number = view->run_count;
    open_header(&view->runs[number], view->index, run, *view->format);
    if (!view->runs[number].stale && is_excluded(view->runs[number].header, condition)) {
        view->skipped_runs++;
        return false;
    }
    view->run_count++;
    view->selected[number] = nullptr;
    if (!remote)
        read_local_runs(view, number);
    return true;
}

// Opens the view's runs, and leaves those in its list that aren't left out.
static void open_runs(ColumnView *view, const Condition &condition, bool remote) {
    const storage::RunEntry *listed = view->view.runs;
    auto *cached = allocate<storage::RunEntry>(static_cast<size_t>(view->view.run_count) + 1);
    int count = 0;
    for (int i = 0; i < view->view.run_count; i++) {
        if (layout_of(listed[i]) == Layout::Raw)
            open_raw(view, listed[i]);
        else if (!open_columns(view, listed[i], condition, remote))
            continue;
        cached[count++] = listed[i];
    }
    view->view.runs = cached;
    view->view.run_count = count;
}

void read_local_runs(ColumnView *view, int run_number) {
    RunReader *reader = &view->runs[run_number];
    const storage::RunEntry &run = reader->run;
    read_dead(reader);
    const uint64 words = groups_of(run.entries);
    auto *selected = allocate<uint64>(words);
    view->selected[run_number] = selected;
    for (uint64 i = 0; i < words; i++)
        selected[i] = reader->dead == nullptr ? PG_UINT64_MAX : ~reader->dead[i];
    if (run.entries % 64 != 0)
        selected[words - 1] &= low_bits(run.entries % 64);
}

ColumnView *open_view(Relation heap, Relation index, Snapshot snapshot, const Format *format,
                      const Condition &condition, storage::CachedRuns *cached, bool remote) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_column view", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    auto *view = allocate_zeroed<ColumnView>(1);
    view->context = context;
    view->heap = heap;
    view->index = index;
    view->snapshot = snapshot;
    view->format = format;
    view->view.cached = cached;
    storage::Items tail = {allocate<char>(storage::kContentBytes), 0};
    storage::take_view(index, run_kind(), snapshot, &view->view, storage::copy_tail, &tail);
    view->heap_blocks = table::blocks_of_rows(heap);
    view->loose_room = 64;
    view->loose = allocate<LooseRow>(view->loose_room);
    view->runs = allocate<RunReader>(view->view.run_count + 1);
    view->selected = allocate<uint64 *>(view->view.run_count + 1);
    add_loose_rows(view, storage::kTailBlock, tail);
    open_runs(view, condition, remote);
    MemoryContextSwitchTo(caller);
    return view;
}

void count_skipped_runs(const ColumnView &view) {
    client::count_skipped_runs(view.skipped_runs);
}

void close_view(ColumnView *view) {
    MemoryContextDelete(view->context);
}

const storage::RunEntry *recycled_run(const ColumnView *view, uint32 *position) {
    *position = 0;
    if (view->recycled != nullptr)
        return view->recycled;
    for (int i = 0; i < view->run_count; i++) {
        if (view->runs[i].stale) {
            *position = view->runs[i].stale_position;
            return &view->runs[i].run;
        }
    }
    return nullptr;
}

uint64 count_selected(const ColumnView *view) {
    uint64 count = 0;
    for (int i = 0; view->counted != nullptr && i < view->run_count; i++) {
        count += view->counted[i].nulls;
        for (uint64 code = 0; code < view->counted[i].codes; code++)
            count += view->counted[i].by_code[code];
    }
    for (int i = 0; i < view->run_count; i++)
        for (uint64 word = 0; !is_remote(view, i) && word < groups_of(view->runs[i].run.entries); word++)
            count += static_cast<uint64>(__builtin_popcountll(view->selected[i][word]));
    for (uint32 i = 0; i < view->loose_count; i++)
        count += view->loose[i].selected ? 1 : 0;
    return count;
}

void give_selected(ColumnView *view, int run, TidSink sink, void *context) {
    const uint64 *selected = view->selected[run];
    TidCursor cursor;
    begin_tid_cursor(&cursor, &view->runs[run]);
    OffsetNumber offsets[MaxHeapTuplesPerPage];
    ItemPointerData tids[MaxHeapTuplesPerPage];
    while (next_span(&cursor)) {
        if (!any_selected(selected, cursor.ordinal, cursor.count))
            continue;
        check_span(&cursor, view->heap_blocks);
        span_offsets(&cursor, offsets);
        uint64 count = 0;
        for (uint32 i = 0; i < cursor.count; i++) {
            ItemPointerSet(&tids[count], cursor.block, offsets[i]);
            count += is_selected(selected, cursor.ordinal + i) ? 1 : 0;
        }
        sink(context, tids, count);
    }
}

// ---- rows by their blocks ---------------------------------------------------------------------------------

namespace {

// Rows of one block of the table: a bit for each offset, from the first one on.
struct BlockRows {
    const uint64 *bits;
    uint32 words;
};

}  // namespace

// Returns the bits [first, first + count), at most 64; those behind their end are 0.
static uint64 bits_from(const BlockRows &rows, uint32 first, uint32 count) {
    const uint32 word = first / 64;
    const uint32 shift = first % 64;
    uint64 bits = word < rows.words ? rows.bits[word] >> shift : 0;
    if (shift > 0 && word + 1 < rows.words)
        bits |= rows.bits[word + 1] << (64 - shift);
    return bits & low_bits(count);
}

// Those bits of `bits` that stand where `places` has one, moved together.
static uint64 gather_bits(uint64 bits, uint64 places) {
    uint64 gathered = 0;
    for (uint32 i = 0; places != 0; i++, places &= places - 1)
        gathered |= (bits >> __builtin_ctzll(places) & 1) << i;
    return gathered;
}

// Takes those of `count` rows away, at most 64, that have no bit in `kept`.
static void keep_rows(uint64 *selected, uint64 first, uint32 count, uint64 cached) {
    const uint64 others = ~cached & low_bits(count);
    selected[first / 64] &= ~(others << (first % 64));
    if (first % 64 + count > 64)
        selected[first / 64 + 1] &= ~(others >> (64 - first % 64));
}

// Takes rows of the current span away that aren't among its block's rows.
static void keep_rows_of_block(const TidCursor &cursor, const BlockRows &rows, uint64 *selected) {
    if (cursor.bitmap == nullptr) {
        for (uint32 i = 0; i < cursor.count; i += 64) {
            const uint32 count = Min(cursor.count - i, 64U);
            keep_rows(selected, cursor.ordinal + i, count, bits_from(rows, cursor.first - 1U + i, count));
        }
        return;
    }
    uint64 ordinal = cursor.ordinal;
    for (uint32 word = 0; word < cursor.first; word++) {
        const uint64 places = cursor.bitmap[word];
        const auto count = static_cast<uint32>(__builtin_popcountll(places));
        if (count > 0)
            keep_rows(selected, ordinal, count, gather_bits(bits_from(rows, word * 64, 64), places));
        ordinal += count;
    }
}

// ---- visibility -------------------------------------------------------------------------------------------

namespace {

struct UnresolvedRows {
    UnresolvedRow *rows;
    ItemPointerData *tids;  // the rows'
    uint64 count;
    uint64 room;
};

}  // namespace

static void add_unresolved(UnresolvedRows *unresolved_rows, const ItemPointerData &tid, uint32 run,
                           uint64 ordinal) {
    if (unresolved_rows->count == unresolved_rows->room) {
        const bool is_first = unresolved_rows->room == 0;
        unresolved_rows->room = Max(unresolved_rows->room * 2, uint64{1024});
        unresolved_rows->rows = is_first ? allocate<UnresolvedRow>(unresolved_rows->room)
                                         : reallocate(unresolved_rows->rows, unresolved_rows->room);
        unresolved_rows->tids = is_first ? allocate<ItemPointerData>(unresolved_rows->room)
                                         : reallocate(unresolved_rows->tids, unresolved_rows->room);
    }
    unresolved_rows->tids[unresolved_rows->count] = tid;
    unresolved_rows->rows[unresolved_rows->count++] = {run, static_cast<uint32>(ordinal)};
}

// Calls visit(cursor) for the spans of selected rows on blocks that aren't all-visible.
template <typename Visit>
static void for_hidden_spans(ColumnView *view, int run, table::VisibilityMap *map, Visit visit) {
    TidCursor cursor;
    begin_tid_cursor(&cursor, &view->runs[run]);
    const uint64 *selected = view->selected[run];
    while (next_span(&cursor))
        if (any_selected(selected, cursor.ordinal, cursor.count) && !table::is_all_visible(map, cursor.block))
            visit(&cursor);
}

static void add_unresolved_span(const TidCursor &cursor, uint32 run, uint64 *selected,
                                UnresolvedRows *unresolved_rows) {
    OffsetNumber offsets[MaxHeapTuplesPerPage];
    span_offsets(&cursor, offsets);
    for (uint32 i = 0; i < cursor.count; i++) {
        const uint64 ordinal = cursor.ordinal + i;
        if (!is_selected(selected, ordinal))
            continue;
        selected[ordinal / 64] &= ~(UINT64CONST(1) << (ordinal % 64));
        ItemPointerData tid;
        ItemPointerSet(&tid, cursor.block, offsets[i]);
        add_unresolved(unresolved_rows, tid, run, ordinal);
    }
}

// Takes away those that are known to be invisible, and adds to the doubts those that nothing is known of.
static void add_unresolved_of_run(ColumnView *view, int run, table::VisibilityMap *map,
                                  const table::RowVisibility &rows, UnresolvedRows *unresolved_rows) {
    uint64 *selected = view->selected[run];
    for_hidden_spans(view, run, map, [&](const TidCursor *cursor) {
        const uint64 *facts = table::find_facts(&rows, cursor->block);
        if (facts == nullptr) {
            add_unresolved_span(*cursor, static_cast<uint32>(run), selected, unresolved_rows);
            return;
        }
        keep_rows_of_block(*cursor, {facts, table::facts_row_words()}, selected);
        table::facts_use()->entries += cursor->count;
    });
}

static void select_visible_unresolved(ColumnView *view, table::RowVisibility *rows,
                                      const UnresolvedRows &unresolved_rows) {
    auto *visible = allocate_zeroed<bool>(unresolved_rows.count);
    table::find_visible(rows, unresolved_rows.tids, unresolved_rows.count, visible);
    view->heap_fetches = rows->fetches;
    for (uint64 i = 0; i < unresolved_rows.count; i++) {
        const UnresolvedRow &row = unresolved_rows.rows[i];
        if (!visible[i])
            continue;
        if (row.run == static_cast<uint32>(view->run_count))
            view->loose[row.ordinal].selected = true;
        else
            view->selected[row.run][row.ordinal / 64] |= UINT64CONST(1) << (row.ordinal % 64);
    }
    pfree(visible);
    pfree(unresolved_rows.rows);
    pfree(unresolved_rows.tids);
}

static bool has_own_rows(const ColumnView *view) {
    bool any = view->loose_count > 0;
    for (int i = 0; i < view->run_count; i++)
        any = any || !is_remote(view, i);
    return any;
}

bool select_visible(ColumnView *view) {
    UnresolvedRows unresolved_rows = {};
    // TIDs needn't be looked at if the whole table is all-visible.
    const bool look = has_own_rows(view) && !table::is_table_all_visible(view->heap);
    table::VisibilityMap map;
    table::open_visibility(&map, view->heap);
    table::RowVisibility rows;
    table::open_row_visibility(&rows, view->heap, view->snapshot);
    for (int i = 0; look && i < view->run_count; i++)
        if (!is_remote(view, i))
            for_hidden_spans(view, i, &map,
                             [&rows](const TidCursor *cursor) { table::want_block(&rows, cursor->block); });
    table::look_at_wanted_blocks(&rows);
    for (int i = 0; look && i < view->run_count; i++)
        if (!is_remote(view, i))
            add_unresolved_of_run(view, i, &map, rows, &unresolved_rows);
    for (uint32 i = 0; look && i < view->loose_count; i++) {
        LooseRow *row = &view->loose[i];
        if (!row->selected || table::is_all_visible(&map, ItemPointerGetBlockNumberNoCheck(&row->tid)))
            continue;
        row->selected = false;
        add_unresolved(&unresolved_rows, row->tid, static_cast<uint32>(view->run_count), i);
    }
    table::close_visibility(&map);
    const bool valid = storage::read_vacuum_seq(view->index, run_kind()) == view->view.vacuum_seq;
    if (valid && unresolved_rows.count > 0)
        select_visible_unresolved(view, &rows, unresolved_rows);
    table::close_row_visibility(&rows);
    return valid;
}

}  // namespace pg_gpu::column
