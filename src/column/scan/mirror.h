// The server answers for these runs: it keeps their columns as pages have them, and is asked which rows match
// and how many have which values. The session itself reads tails, raw runs and runs that stay local
// (client::share_out), and has the last word on rows that aren't on all-visible blocks.
//
// The server's answer holds for a run at a dead bitmap no older than the view. So the rules for rows read
// from pages hold for it too (rule "Trust"): visibility map, then vacuum_seq once more.
#pragma once

#include "column/scan/request.h"
#include "column/scan/filter.h"
#include "table/table.h"

namespace pg_gpu::column {

const client::MirrorFormat *mirror_format(Relation index);

// A session reads all pages of an index that is smaller in the time of a request.
inline constexpr BlockNumber kFewestPagesForServer = 64;
// PostgreSQL's own plan, which a query is compared with, takes a request's time for some thousand rows
// already.
inline constexpr BlockNumber kFewestPagesForQuery = 8;

// A view of which the server looks through the runs in `set`.
struct RemoteRows {
    ColumnView *view;
    client::RunSet set;
    client::Choice choice;
    int *set_places;  // by run of the view: its place in the set, if the server is asked about it (is_remote)
    client::VisibleBlocks visible;
    table::RowChecker checker;
    RowTest *tests;
    int test_count;
    int test_room;
    client::RequestKind kind;
};

// The request that with_rows_on_server is going to ask.
struct RemoteRequest {
    client::RequestKind kind;
    int columns;         // whose codes are read, those of conditions aside
    uint64 results = 0;  // of groups: how many are expected
    // May runs be left to the session? Then the work adds their selected rows to what the server says; else
    // the server is asked about all.
    bool shares_runs = false;
    uint32 shape = 0;               // a hash of what is computed of the rows
    double plan_cost = 0;           // of a query: PostgreSQL's estimate of what its own plan takes
    bool needs_processors = false;  // no device can do it
};

// Opens a view for the server; false when it is cheaper or necessary to do without. Selected loose rows are
// those that match and are visible.
bool begin_remote_rows(Relation heap, Relation index, Snapshot snapshot, const Format *format,
                       const Condition &condition, const RemoteRequest &remote_request, RemoteRows *rows);
// Ends the view. Has it been answered, and did everything hold until now (rule "Trust")?
bool end_remote_rows(RemoteRows *rows, bool is_answered, uint64 *heap_fetches);

// Visible rows that pass the tests, of the runs that the server is asked about; the others' are selected in
// the view.
bool count_remote_rows(RemoteRows *rows, uint64 *count);
// Visible rows by slot, NULLs in the last place: slots + 1 counts, to which it is added.
bool count_remote_bins(RemoteRows *rows, const gpu_engine::ColumnTarget &bins, uint64 *counts);
// Visible rows by code, for visit_values, find_distinct and count_selected.
bool count_remote_codes(RemoteRows *rows, int column);
// The least and the greatest value of visible rows; *any when there is one.
bool find_remote_bounds(RemoteRows *rows, int column, bool *any, uint64 *least, uint64 *greatest);

// May codes of the column be counted in all runs? If not, gpu.stat says so.
bool has_counted_codes(const RemoteRows &rows, int column);

// Adds a test for the time being: until the count is set back.
void add_range_test(RemoteRows *rows, int column, const CodeRange *ranges, uint32 count);

// A session tries so often while VACUUMs end; then the paged path answers.
template <typename Work>
bool with_rows_on_server(Relation heap, Relation index, Snapshot snapshot, const Format *format,
                         const Condition &condition, const RemoteRequest &remote_request, Work work,
                         uint64 *heap_fetches, BlockNumber fewest_pages = kFewestPagesForServer) {
    *heap_fetches = 0;
    if (condition.matches_nothing || !client::may_use_server(RelationGetNumberOfBlocks(index), fewest_pages))
        return false;
    for (int tries = 0; tries < table::kMaxServerTries; tries++) {
        CHECK_FOR_INTERRUPTS();
        auto *rows = allocate_zeroed<RemoteRows>(1);
        if (!begin_remote_rows(heap, index, snapshot, format, condition, remote_request, rows))
            return false;
        MemoryContext caller = MemoryContextSwitchTo(rows->view->context);
        const bool answered = work(rows);
        MemoryContextSwitchTo(caller);
        if (end_remote_rows(rows, answered, heap_fetches)) {
            client::note_request_done(index, remote_request.kind);
            return true;
        }
        if (!answered && !client::may_share_out_again())
            return false;
    }
    return false;
}

// ---- several tables ---------------------------------------------------------------------------------------

// A table of a request about several, which may be in it twice.
struct RemoteTable {
    Relation heap;
    Relation index;
    const Format *format;
    Condition condition;  // of its rows; one that matches nothing leaves none
    int columns;          // whose codes are read, those of the condition aside
};

// Views of all of them for one request, on one path.
struct RemoteTables {
    RemoteRows **rows;  // by table
    int count;
    Relation leading;  // the index whose requests the choice of the path learned from
};

// The request's `columns` don't matter. Where an index is small, or has no runs that are worth a mirror while
// others have some, the session has all of its rows itself. False when it is cheaper or necessary to do
// without the server.
bool begin_remote_tables(const RemoteTable *tables, int count, Snapshot snapshot,
                         const RemoteRequest &remote_request, RemoteTables *opened);
// As end_remote_rows, of all.
bool end_remote_tables(RemoteTables *opened, bool is_answered, uint64 *heap_fetches);

// As with_rows_on_server, of several tables' rows: work(rows by table), in the context of the first view.
template <typename Work>
bool with_tables_on_server(const RemoteTable *tables, int count, Snapshot snapshot,
                           const RemoteRequest &remote_request, Work work, uint64 *heap_fetches) {
    if (count == 1) {
        RemoteRequest about_one = remote_request;
        about_one.columns = tables[0].columns;
        return with_rows_on_server(
            tables[0].heap, tables[0].index, snapshot, tables[0].format, tables[0].condition, about_one,
            [&work](RemoteRows *rows) { return work(&rows); }, heap_fetches, kFewestPagesForQuery);
    }
    *heap_fetches = 0;
    for (int tries = 0; tries < table::kMaxServerTries; tries++) {
        CHECK_FOR_INTERRUPTS();
        RemoteTables opened;
        if (!begin_remote_tables(tables, count, snapshot, remote_request, &opened))
            return false;
        MemoryContext caller = MemoryContextSwitchTo(opened.rows[0]->view->context);
        const bool answered = work(opened.rows);
        MemoryContextSwitchTo(caller);
        if (end_remote_tables(&opened, answered, heap_fetches)) {
            client::note_request_done(opened.leading, remote_request.kind);
            return true;
        }
        if (!answered && !client::may_share_out_again())
            return false;
    }
    return false;
}

// ---- bitmap scans -----------------------------------------------------------------------------------------

// As with_rows_on_server, for a bitmap scan: TIDs of rows that match, whoever sees them. False when the paged
// path must answer.
bool match_on_server(Relation heap, Relation index, Snapshot snapshot, const Format *format,
                     const Condition &condition, TidSink sink, void *context);

}  // namespace pg_gpu::column
