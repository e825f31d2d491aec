// Opening views for the server: which runs it is asked about, on which path, and by which tests.
#include "column/scan/remote_rows.h"

#include "request_kinds.h"

namespace pg_gpu::column {

static int bound_columns(const Condition &condition) {
    uint64 bound = 0;
    for (int i = 0; i < condition.count; i++)
        bound |= UINT64CONST(1) << condition.keys[i].column;
    return __builtin_popcountll(bound);
}

// Requests of the same shape differ in constants only.
static uint32 shape_of(const Condition &condition, const RemoteRequest &remote_request) {
    uint32 shape =
        hash_combine(remote_request.shape, murmurhash32(static_cast<uint32>(remote_request.columns)));
    for (int i = 0; i < condition.count; i++) {
        const Key &key = condition.keys[i];
        shape = hash_combine(
            shape, murmurhash32(static_cast<uint32>(key.kind) << 16 | static_cast<uint32>(key.column)));
    }
    return shape;
}

client::Request request_of(const client::RunSet &set, const Condition &condition,
                           const RemoteRequest &remote_request) {
    client::Request request = {};
    request.index = RelationGetRelid(set.index);
    request.learns = true;
    request.shape = shape_of(condition, remote_request);
    request.kind = remote_request.kind;
    request.columns = Max(bound_columns(condition) + remote_request.columns, 1);
    request.results = remote_request.results;
    request.needs_processors = remote_request.needs_processors;
    request.items = static_cast<uint64>(Max(remote_request.plan_cost, 0.0));
    for (int i = 0; i < set.count; i++) {
        const bool is_requested = remote_request.shares_runs
                                      ? client::is_worth_mirroring(*set.format, set.runs[i])
                                      : set.format->mirrored_entries(set.runs[i]) > 0;
        request.runs += is_requested ? 1 : 0;
        request.entries += is_requested ? set.format->mirrored_entries(set.runs[i]) : 0;
    }
    return request;
}

// The session answers no query by itself: the server is asked even about nothing but small runs, or about no
// run at all.
static bool is_requested_in_any_case(const RemoteRequest &remote_request) {
    return remote_request.kind == client::RequestKind::RunQuery;
}

bool is_any_worth_mirroring(const client::RunSet &set) {
    for (int i = 0; i < set.count; i++)
        if (client::is_worth_mirroring(*set.format, set.runs[i]))
            return true;
    return false;
}

// Are runs to be left to the session?
static bool shares_runs(const client::RunSet &set, const RemoteRequest &remote_request) {
    return remote_request.shares_runs &&
           (!is_requested_in_any_case(remote_request) || is_any_worth_mirroring(set));
}

void divide_runs(RemoteRows *rows, const client::RunSet &all, const bool *is_local) {
    ColumnView *view = rows->view;
    auto *requested = allocate<storage::RunEntry>(static_cast<size_t>(all.count) + 1);
    rows->set = all;
    rows->set.runs = requested;
    rows->set.count = 0;
    rows->set_places = allocate<int>(static_cast<size_t>(view->run_count) + 1);
    for (int i = 0, run = 0; i < all.count; i++) {
        if (all.format->mirrored_entries(all.runs[i]) == 0)
            continue;
        rows->set_places[run] = rows->set.count;
        if (is_local[i])
            read_local_runs(view, run);
        else
            requested[rows->set.count++] = all.runs[i];
        run++;
    }
}

// Counting bits takes less time than to send a set of many codes.
static bool is_local_faster(ColumnView *view, const Condition &condition,
                            const RemoteRequest &remote_request) {
    return remote_request.kind == client::RequestKind::CountColumn && remote_request.columns == 0 &&
           are_rows_cached(view, condition);
}

client::RunSet runs_of_view(const ColumnView &view) {
    return {view.index,     run_kind(),          mirror_format(view.index),
            view.view.runs, view.view.run_count, view.view.vacuum_seq};
}

bool open_remote_view(Relation heap, Relation index, Snapshot snapshot, const Format *format,
                      const Condition &condition, const RemoteRequest &remote_request, RemoteRows *rows) {
    ColumnView *view = open_view(heap, index, snapshot, format, condition, nullptr, true);
    *rows = {};
    rows->view = view;
    rows->kind = remote_request.kind;
    const client::RunSet all = runs_of_view(*view);
    RemoteRequest requested = remote_request;
    requested.shares_runs = shares_runs(all, remote_request);
    const client::Request request = request_of(all, condition, requested);
    bool may_use_server = (request.runs > 0 || is_requested_in_any_case(remote_request)) && !is_stale(view);
    if (!may_use_server && request.runs == 0 && view->run_count > 0)
        client::note_unsuited(remote_request.kind, RelationGetRelid(index), client::kAllRunsAreSmall);
    if (may_use_server) {
        MemoryContext caller = MemoryContextSwitchTo(view->context);
        rows->choice = client::choose_path(request);
        auto *is_local = allocate_zeroed<bool>(static_cast<size_t>(all.count) + 1);
        const bool is_faster_local = is_local_faster(view, condition, remote_request);
        if (is_faster_local)
            client::note_unsuited(remote_request.kind, request.index, "the session keeps which rows match");
        may_use_server =
            rows->choice.path != client::Path::Paged && !is_faster_local &&
            (!requested.shares_runs || client::share_out(all, rows->choice, remote_request.kind, is_local));
        if (may_use_server)
            divide_runs(rows, all, is_local);
        MemoryContextSwitchTo(caller);
        may_use_server = may_use_server && !is_stale(view);
    }
    if (!may_use_server)
        close_view(view);
    return may_use_server;
}

bool begin_remote_rows(Relation heap, Relation index, Snapshot snapshot, const Format *format,
                       const Condition &condition, const RemoteRequest &remote_request, RemoteRows *rows) {
    return open_remote_view(heap, index, snapshot, format, condition, remote_request, rows) &&
           prepare_remote_rows(rows, condition);
}

bool prepare_remote_rows(RemoteRows *rows, const Condition &condition) {
    ColumnView *view = rows->view;
    MemoryContext caller = MemoryContextSwitchTo(view->context);
    table::begin_row_checker(&rows->checker, view->heap, view->index, view->snapshot);
    rows->visible =
        table::read_visible_blocks(&rows->checker.rows, rows->checker.index, table::Scope::AllRows);
    select_matching(view, condition, KeysToApply::Safe);
    bool done = select_visible(view);
    if (done) {
        select_matching(view, condition, KeysToApply::Unsafe);
        done =
            add_tests(rows, condition, KeysToApply::Safe) && add_tests(rows, condition, KeysToApply::Unsafe);
    }
    MemoryContextSwitchTo(caller);
    if (!done) {
        table::end_row_checker(&rows->checker);
        close_view(view);
    }
    return done;
}

bool end_remote_rows(RemoteRows *rows, bool is_answered, uint64 *heap_fetches) {
    ColumnView *view = rows->view;
    *heap_fetches = rows->checker.rows.fetches + view->heap_fetches;
    table::end_row_checker(&rows->checker);
    const bool valid =
        !is_stale(view) && storage::read_vacuum_seq(view->index, run_kind()) == view->view.vacuum_seq;
    if (valid && is_answered)
        count_skipped_runs(*view);
    close_view(view);
    return valid && is_answered;
}

}  // namespace pg_gpu::column
