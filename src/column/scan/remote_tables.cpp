// Views of several tables for one request.
#include "column/scan/remote_rows.h"

#include "request_kinds.h"

namespace pg_gpu::column {

static RemoteRequest about(const RemoteTable &table, const RemoteRequest &remote_request, bool shares_runs) {
    RemoteRequest request = remote_request;
    request.columns = table.columns;
    request.shares_runs = shares_runs;
    return request;
}

static bool may_be_requested(const RemoteTable &table) {
    return !table.condition.matches_nothing;
}

// Is the table alone worth a request? Smaller ones are asked beside it.
static bool is_worth_a_request(const RemoteTable &table) {
    return may_be_requested(table) &&
           client::may_use_server(RelationGetNumberOfBlocks(table.index), kFewestPagesForQuery);
}

// The cost model's view of a request about all tables, which it is to learn of as one about the table with
// the most entries.
static client::Request request_of_all(const RemoteTable *tables, const RemoteTables &opened,
                                      const RemoteRequest &remote_request, bool shares_runs, int *leading) {
    client::Request all = {};
    uint32 shape = 0;
    double codes = 0;
    uint64 most = 0;
    *leading = 0;
    for (int i = 0; i < opened.count; i++) {
        const RemoteRequest requested = about(tables[i], remote_request, shares_runs);
        client::Request one = request_of(runs_of_view(*opened.rows[i]->view), tables[i].condition, requested);
        if (!may_be_requested(tables[i])) {
            one.runs = 0;
            one.entries = 0;
        }
        shape = hash_combine(shape, hash_combine(one.shape, murmurhash32(one.index)));
        codes += static_cast<double>(one.entries) * one.columns;
        if (i == 0 || one.entries > most) {
            most = one.entries;
            *leading = i;
        }
        one.runs += all.runs;
        one.entries += all.entries;
        all = one;
    }
    all.index = RelationGetRelid(tables[*leading].index);
    all.shape = shape;
    all.columns = all.entries == 0 ? 1 : static_cast<int>(ceil(codes / static_cast<double>(all.entries)));
    return all;
}

// Has each view's runs read here or put into its set; false when pages are to answer.
static bool divide_tables(const RemoteTable *tables, RemoteTables *opened,
                          const RemoteRequest &remote_request, const client::Choice &choice,
                          bool shares_runs) {
    int requested = 0;
    for (int i = 0; i < opened->count; i++) {
        RemoteRows *rows = opened->rows[i];
        const client::RunSet all = runs_of_view(*rows->view);
        MemoryContext caller = MemoryContextSwitchTo(rows->view->context);
        rows->choice = choice;
        auto *is_local = allocate<bool>(static_cast<size_t>(all.count) + 1);
        const bool is_requested = may_be_requested(tables[i]);
        std::fill_n(is_local, all.count, !is_requested);
        const bool done =
            !is_requested || !shares_runs || client::share_out(all, choice, remote_request.kind, is_local);
        if (done)
            divide_runs(rows, all, is_local);
        MemoryContextSwitchTo(caller);
        if (!done || is_stale(rows->view))
            return false;
        requested += rows->set.count;
    }
    if (requested > client::kMaxRuns)
        client::decline(remote_request.kind, choice, "the tables have too many runs together");
    return requested <= client::kMaxRuns;
}

static void close_views(const RemoteTables &opened) {
    for (int i = 0; i < opened.count; i++)
        close_view(opened.rows[i]->view);
}

static bool open_remote_tables(const RemoteTable *tables, int count, Snapshot snapshot,
                               const RemoteRequest &remote_request, RemoteTables *opened) {
    *opened = {allocate<RemoteRows *>(static_cast<size_t>(count)), count, nullptr};
    bool is_any_worth = false;
    bool is_any_stale = false;
    for (int i = 0; i < count; i++) {
        opened->rows[i] = allocate_zeroed<RemoteRows>(1);
        opened->rows[i]->kind = remote_request.kind;
        ColumnView *view = open_view(tables[i].heap, tables[i].index, snapshot, tables[i].format,
                                     tables[i].condition, nullptr, true);
        opened->rows[i]->view = view;
        is_any_stale = is_any_stale || is_stale(view);
        is_any_worth =
            is_any_worth || (may_be_requested(tables[i]) && is_any_worth_mirroring(runs_of_view(*view)));
    }
    const bool shares_runs = remote_request.shares_runs && is_any_worth;
    int leading = 0;
    client::Choice choice = {};
    if (!is_any_stale)
        choice = client::choose_path(request_of_all(tables, *opened, remote_request, shares_runs, &leading));
    opened->leading = tables[leading].index;
    const bool done = !is_any_stale && choice.path != client::Path::Paged &&
                      divide_tables(tables, opened, remote_request, choice, shares_runs);
    if (!done)
        close_views(*opened);
    return done;
}

bool begin_remote_tables(const RemoteTable *tables, int count, Snapshot snapshot,
                         const RemoteRequest &remote_request, RemoteTables *opened) {
    bool is_any_requested = false;
    for (int i = 0; i < count; i++)
        is_any_requested = is_any_requested || is_worth_a_request(tables[i]);
    if (!is_any_requested || !open_remote_tables(tables, count, snapshot, remote_request, opened))
        return false;
    for (int i = 0; i < count; i++) {
        if (prepare_remote_rows(opened->rows[i], tables[i].condition))
            continue;
        // It has closed its own view.
        for (int other = count - 1; other > i; other--)
            close_view(opened->rows[other]->view);
        for (int other = i - 1; other >= 0; other--) {
            uint64 heap_fetches;
            end_remote_rows(opened->rows[other], false, &heap_fetches);
        }
        return false;
    }
    return true;
}

bool end_remote_tables(RemoteTables *opened, bool is_answered, uint64 *heap_fetches) {
    bool valid = is_answered;
    *heap_fetches = 0;
    for (int i = opened->count - 1; i >= 0; i--) {
        uint64 fetches;
        valid = end_remote_rows(opened->rows[i], valid, &fetches) && valid;
        *heap_fetches += fetches;
    }
    return valid;
}

}  // namespace pg_gpu::column
