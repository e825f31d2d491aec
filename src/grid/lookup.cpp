// gpu.lookup finds the entries of many keys at once.
#include <algorithm>

#include "grid/grid.h"
#include "grid/mirror.h"
#include "keys/keys.h"
#include "table/table.h"
#include "request_kinds.h"

namespace pg_gpu::grid {

// Fewer keys are looked up in the pages without asking what a request would cost.
static constexpr uint32 kFewestKeys = 512;

namespace {

struct Matches {
    LookupMatch *matches;
    uint64 count;
    uint64 room;
};

// The keys that can match: the i-th of them is number result.positions[i] of the caller's.
struct Search {
    ViewReader *reader;
    const LookupKeys *keys;
    LookupResult result;
    uint32 count;
    Matches found;
};

}  // namespace

static void add_match(Search *search, uint32 key, const ItemPointerData &tid) {
    Matches *found = &search->found;
    if (unlikely(found->count == found->room)) {
        found->room *= 2;
        found->matches = reallocate(found->matches, found->room);
    }
    found->matches[found->count++] = {encode_tid(tid), key};
}

// Reads the condition that rows with the caller's key `position` meet. Returns false when no row can.
static bool read_condition(const Search &search, uint32 position, Condition *condition) {
    const Format &format = *search.reader->format;
    Datum values[kMaxColumns];
    Oid types[kMaxColumns];
    if (!search.keys->read(search.keys->context, position, values, types))
        return false;
    ScanKeyData keys[kMaxColumns];
    for (int i = 0; i < format.column_count; i++) {
        keys[i] = {};
        keys[i].sk_attno = static_cast<AttrNumber>(i + 1);
        keys[i].sk_strategy = format.columns[i].is_point ? kSamePoint : BTEqualStrategyNumber;
        keys[i].sk_subtype = types[i];
        keys[i].sk_argument = values[i];
    }
    make_condition(format, keys, format.column_count, condition);
    return !condition->nothing;
}

// Finds the keys that can match; with `points` also as points, false when some are more than that.
static bool read_keys(Search *search, BoxList *points) {
    MemoryContext key_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_grid key", ALLOCSET_SMALL_SIZES);
    bool plain = points != nullptr;
    for (uint32 i = 0; i < search->keys->count; i++) {
        CHECK_FOR_INTERRUPTS();
        MemoryContext caller = MemoryContextSwitchTo(key_context);
        Condition condition;
        const bool can_match = read_condition(*search, i, &condition);
        if (can_match) {
            search->result.first_position[search->count] = search->count;
            search->result.positions[search->count++] = i;
            plain = plain && add_box(points, condition);
        }
        MemoryContextSwitchTo(caller);
        MemoryContextReset(key_context);
    }
    search->result.first_position[search->count] = search->count;
    MemoryContextDelete(key_context);
    return plain;
}

// ---- on the server ---------------------------------------------------------------------------------------

// This is a row of the tail that may equal a point.
struct TailRow {
    uint64 code;  // the first lane's code
    const uint64 *row;
};

// Returns the tail's rows without NULLs, sorted by their first lane.
static TailRow *sort_tail(const ViewReader &reader, uint32 *count) {
    const auto words = static_cast<size_t>(reader.format->row_words);
    auto *rows = allocate<TailRow>(uint64{reader.tail_count} + 1);
    *count = 0;
    for (uint32 i = 0; i < reader.tail_count; i++) {
        const uint64 *row = reader.tail + i * words;
        if (place_nulls(row[0]) == 0)
            rows[(*count)++] = {row[1], row};
    }
    std::sort(rows, rows + *count, [](const TailRow &a, const TailRow &b) { return a.code < b.code; });
    return rows;
}

static void match_tail(Search *search, const BoxList &points) {
    uint32 count;
    TailRow *rows = sort_tail(*search->reader, &count);
    for (uint32 i = 0; count > 0 && i < points.count; i++) {
        const uint64 code = lowest_code(points, i, 0);
        const TailRow *at = std::lower_bound(
            rows, rows + count, code, [](const TailRow &row, uint64 wanted) { return row.code < wanted; });
        for (; at < rows + count && at->code == code; at++)
            if (is_in_box(points, i, at->row))
                add_match(search, i, place_tid(at->row[0]));
    }
    pfree(rows);
}

// ---- from pages ------------------------------------------------------------------------------------------

// Finds one key's matches in runs of a view. Returns false when a page was recycled.
static bool match_condition(Search *search, const storage::RunEntry *runs, int run_count, RunScan *scans,
                            Batch *batch, const Condition &condition, uint32 key) {
    ViewReader *reader = search->reader;
    for (int run = 0; run < run_count; run++) {
        reset_run_scan(&scans[run]);
        for (;;) {
            const Step step = next_batch(&scans[run], condition, batch);
            if (step == Step::End)
                break;
            if (step == Step::Recycled) {
                confirm_recycled(*reader, runs[run], recycled_position(scans[run]));
                return false;
            }
            check_tids(reader, *batch);
            for (uint32 i = 0; i < batch->count; i++)
                add_match(search, key, batch->tids[i]);
        }
    }
    return true;
}

static void match_condition_in_tail(Search *search, const Condition &condition, uint32 key) {
    const ViewReader &reader = *search->reader;
    const auto words = static_cast<size_t>(reader.format->row_words);
    for (uint32 i = 0; i < reader.tail_count; i++)
        if (matches(*reader.format, condition, reader.tail + i * words))
            add_match(search, key, place_tid(reader.tail[i * words]));
}

enum class Tail : bool { LeftOut, Searched };

static bool match_in_runs(Search *search, const storage::RunEntry *runs, int run_count, Tail tail) {
    if (run_count == 0 && tail == Tail::LeftOut)
        return true;
    ViewReader *reader = search->reader;
    MemoryContext key_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_grid key", ALLOCSET_SMALL_SIZES);
    auto *batch = allocate<Batch>(1);
    batch->rows = nullptr;
    RunScan *scans = begin_run_scans(*reader, runs, run_count);
    bool valid = true;
    for (uint32 i = 0; valid && i < search->count; i++) {
        CHECK_FOR_INTERRUPTS();
        MemoryContext caller = MemoryContextSwitchTo(key_context);
        Condition condition;
        const bool can_match = read_condition(*search, search->result.positions[i], &condition);
        MemoryContextSwitchTo(caller);
        if (can_match && tail == Tail::Searched)
            match_condition_in_tail(search, condition, i);
        valid = !can_match || match_condition(search, runs, run_count, scans, batch, condition, i);
        MemoryContextReset(key_context);
    }
    end_run_scans(scans, run_count);
    pfree(batch);
    MemoryContextDelete(key_context);
    return valid;
}

static bool match_in_view(Search *search) {
    ViewReader *reader = search->reader;
    renew_view(reader);
    search->found.count = 0;
    return match_in_runs(search, reader->view.runs, reader->view.run_count, Tail::Searched);
}

static void match_in_pages(Search *search) {
    const client::PagedRequest request = client::begin_paged(client::RequestKind::MatchGrid, search->count);
    while (!match_in_view(search))
        CHECK_FOR_INTERRUPTS();
    client::end_paged(request);
}

// ---- by both ---------------------------------------------------------------------------------------------

// A local run is read as if it lay in the tail where that takes less than to search it for each key.
static constexpr uint64 kEntriesPerKey = 32;

// Finds what the set's runs hold. Returns false when the server process doesn't answer.
static bool match_remote_runs(Search *search, const client::RunSet &set, const client::Choice &choice,
                              const BoxList &points) {
    auto *handle_result = allocate<client::EntriesResult>(1);
    bool answered = true;
    for (uint32 done = 0; answered && done < points.count;) {
        CHECK_FOR_INTERRUPTS();
        answered = match_grid(set, choice, points.low, points.count, done, handle_result) &&
                   handle_result->items > 0;
        for (int run = 0; answered && run < set.count; run++) {
            const client::RunResult &found = handle_result->runs[run];
            for (uint32 i = 0; i < handle_result->items; i++)
                for (uint64 at = found.offsets[i]; at < Min(found.offsets[i + 1], found.entries); at++) {
                    // The server process may change its answer after the look at it.
                    const ItemPointerData tid = found.tids[at];
                    check_tid(search->reader, tid);
                    add_match(search, done + i, tid);
                }
        }
        done += answered ? static_cast<uint32>(handle_result->items) : 0;
    }
    pfree(handle_result);
    return answered;
}

static bool match_on_server(Search *search, const BoxList &points) {
    ViewReader *reader = search->reader;
    const client::MirrorFormat *format = mirror_format(reader->index);
    for (int tries = 0; tries < table::kMaxServerTries; tries++) {
        CHECK_FOR_INTERRUPTS();
        renew_view(reader);
        search->found.count = 0;
        const bool *is_local;
        const client::Choice choice = choose_path(*reader, format, client::RequestKind::MatchGrid,
                                                  points.count, {points.count, points.count}, &is_local);
        if (choice.path == client::Path::Paged)
            return false;
        LocalRuns local;
        if (!read_local_runs(reader, is_local, kEntriesPerKey * points.count, &local))
            continue;
        if (!match_remote_runs(search, run_set(*reader, format), choice, points)) {
            if (!client::may_share_out_again())
                return false;
            continue;
        }
        if (!match_in_runs(search, local.runs, local.count, Tail::LeftOut))
            continue;
        match_tail(search, points);
        return true;
    }
    return false;
}

LookupResult look_up(Relation heap, Relation index, Snapshot snapshot, const LookupKeys &keys) {
    const Format *format = format_of(index);
    Condition everything;
    make_condition(*format, nullptr, 0, &everything);
    auto *reader = allocate<ViewReader>(1);
    begin_view_reader(reader, heap, index, format, snapshot, &everything);
    Search search = {};
    search.reader = reader;
    search.keys = &keys;
    search.result.first_position = allocate<uint32>(uint64{keys.count} + 1);
    search.result.positions = allocate<uint32>(uint64{keys.count} + 1);
    search.found.room = uint64{keys.count} + 1024;
    search.found.matches = allocate<LookupMatch>(search.found.room);

    BoxList points;
    const bool may_travel =
        client::may_use_server(keys.count, kFewestKeys) && begin_boxes(&points, format, keys.count);
    const bool plain = read_keys(&search, may_travel ? &points : nullptr);
    if (search.count > 0 && !(plain && match_on_server(&search, points)))
        match_in_pages(&search);
    client::note_request_done(index, client::RequestKind::MatchGrid);
    if (may_travel)
        free_boxes(points);
    end_view_reader(reader);
    pgstat_count_index_scan(index);

    Matches *found = &search.found;
    auto *scratch = allocate<LookupMatch>(found->count + 1);
    search.result.matches = radix_sort_by<uint64>(
        found->matches, scratch, found->count, [](const LookupMatch &match) { return match.encoded_tid; },
        [] { CHECK_FOR_INTERRUPTS(); });
    pfree(search.result.matches == scratch ? found->matches : scratch);
    search.result.count = found->count;
    return search.result;
}

}  // namespace pg_gpu::grid
