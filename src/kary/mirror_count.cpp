// Counting many ranges at once, with the server's help.
#include <algorithm>

#include "kary/entry_search.h"
#include "kary/mirror.h"
#include "kary/range_counts.h"
#include "kary/scan.h"
#include "table/table.h"
#include "request_kinds.h"

namespace pg_gpu::kary {

namespace {

// Entries that the session has read itself: of small runs and the tail.
template <typename Key>
struct LocalEntries {
    Key *keys;
    ItemPointerData *tids;
    uint64 count;
    uint64 room;
};

}  // namespace

template <typename Key>
static void forget_local_entries(void *context) {
    static_cast<LocalEntries<Key> *>(context)->count = 0;
}

template <typename Key>
static void add_local_entries(void *context, const Key *keys, ItemPointerData *tids, uint32 count) {
    auto *local = static_cast<LocalEntries<Key> *>(context);
    if (local->count + count > local->room) {
        local->room = (local->count + count) * 2;
        local->keys = reallocate(local->keys, local->room);
        local->tids = reallocate(local->tids, local->room);
    }
    memcpy(local->keys + local->count, keys, count * sizeof(Key));
    memcpy(local->tids + local->count, tids, count * sizeof(ItemPointerData));
    local->count += count;
}

static bool is_visible_to_all(const client::VisibleBlocks &visible, const ItemPointerData &tid) {
    constexpr uint32 kBlocksPerGroup = 64;
    const BlockNumber block = ItemPointerGetBlockNumberNoCheck(&tid);
    const uint32 group = block / kBlocksPerGroup;
    return visible.all || (group < visible.known.group_count &&
                           ((visible.known.groups[group].all_visible >> (block % kBlocksPerGroup)) & 1) != 0);
}

// Moves the keys of visible rows to the front, and returns their number. Blocks that were all-visible are
// trusted as they are by the server process: the entries are the view's, and vacuum_seq is compared
// afterwards.
template <typename Key>
static uint32 keep_visible(RowChecker *checker, const client::VisibleBlocks &visible,
                           LocalEntries<Key> *local) {
    uint64 trusted = 0;
    for (uint64 i = 0; i < local->count; i++)
        if (is_visible_to_all(visible, local->tids[i])) {
            std::swap(local->keys[i], local->keys[trusted]);
            std::swap(local->tids[i], local->tids[trusted]);
            trusted++;
        }
    const uint64 unresolved = local->count - trusted;
    auto *is_visible = allocate<bool>(unresolved + 1);
    check_rows(checker, storage::kTailBlock, local->tids + trusted, unresolved, is_visible);
    uint64 kept = trusted;
    for (uint64 i = 0; i < unresolved; i++)
        if (is_visible[i])
            local->keys[kept++] = local->keys[trusted + i];
    pfree(is_visible);
    return static_cast<uint32>(kept);
}

// Adds to each count how many of the keys lie in its range, so many times.
template <typename Key>
static void add_keys(Key *keys, uint32 count, const KeyRanges<Key> &ranges, int64 times, int64 *counts) {
    std::sort(keys, keys + count);
    for (uint32 i = 0; count > 0 && i < ranges.count; i++)
        if (ranges.low[i] <= ranges.high[i])
            counts[i] += times * (int64{upper_bound(keys, count, ranges.high[i])} -
                                  int64{lower_bound(keys, count, ranges.low[i])});
}

// Adds what the runs hold; false when the server doesn't answer.
template <typename Key>
static bool count_run_entries(RowChecker *checker, const client::RunSet &set, const client::Choice &choice,
                              const client::VisibleBlocks &visible, const KeyRanges<Key> &ranges,
                              int64 *counts) {
    ServerKey<Key> *low_copy;
    ServerKey<Key> *high_copy;
    const ServerKey<Key> *low = to_server(ranges.low, ranges.count, &low_copy);
    const ServerKey<Key> *high = to_server(ranges.high, ranges.count, &high_copy);
    bool answered = true;
    for (uint32 done = 0; answered && done < ranges.count;) {
        CHECK_FOR_INTERRUPTS();
        client::CountResult result;
        answered = count_kary(set, choice, low + done, high + done, ranges.count - done, visible, &result) &&
                   result.items > 0;
        if (answered) {
            add_server_counts(checker, set, result, counts + done);
            done += static_cast<uint32>(result.items);
        }
    }
    for (ServerKey<Key> *copy : {low_copy, high_copy})
        if (copy != nullptr)
            pfree(copy);
    return answered;
}

// Returns the entries that lie in or between the ranges.
template <typename Key>
static Condition<Key> condition_around(const KeyFormat &format, const KeyRanges<Key> &ranges) {
    Condition<Key> condition = {};
    condition.nothing = true;
    condition.not_nulls = format.all_null;
    condition.low = kHighestKey<Key>;
    for (uint32 i = 0; i < ranges.count; i++) {
        if (ranges.high[i] < ranges.low[i])
            continue;
        condition.nothing = false;
        condition.low = Min(condition.low, ranges.low[i]);
        condition.high = Max(condition.high, ranges.high[i]);
    }
    return condition;
}

// ---- all entries of a view, less those without a visible row
// -----------------------------------------------

namespace {

// A request about ranges, and who answers it.
template <typename Key>
struct CountRequest {
    Scan<Key> *scan;
    RowChecker *checker;
    const KeyRanges<Key> *ranges;
    LocalEntries<Key> *local;
    CopiedView view;     // the scan's
    bool may_count_all;  // all entries may be counted, and those without a visible row taken off
    bool uses_server;    // so far
    uint64 heap_fetches;
};

}  // namespace

template <typename Key>
static CountRequest<Key> *count_request_of(void *context) {
    return static_cast<CountRequest<Key> *>(context);
}

template <typename Key>
static void renew_copied_view(void *context) {
    CountRequest<Key> *count_request = count_request_of<Key>(context);
    renew_view(count_request->scan);
    count_request->view.view = count_request->scan->view;
}

template <typename Key>
static void subtract(void *context, const EntryRows &entries, int64 *counts) {
    auto *keys = allocate<Key>(entries.count + 1);
    uint32 count = 0;
    for (uint64 i = 0; i < entries.count; i++)
        if (entry_nulls(row_at(entries, i)) == 0)
            keys[count++] = entry_key<Key>(row_at(entries, i));
    add_keys(keys, count, *count_request_of<Key>(context)->ranges, -1, counts);
    pfree(keys);
}

// Takes the entries of the view off whose rows the snapshot doesn't see.
template <typename Key>
static Outcome take_off_in_view(CountRequest<Key> *count_request, int64 *counts) {
    const Scan<Key> *scan = count_request->scan;
    uint64 entries = 0;
    for (uint32 i = 0; i < count_request->ranges->count; i++)
        entries += static_cast<uint64>(counts[i]);
    EntryCounter counter =
        entry_counter_of<Key>(scan->descriptor->heapRelation, scan->descriptor->xs_snapshot,
                              count_request->view, CountedBy::Server, count_request->ranges->count);
    counter.context = count_request;
    counter.renew = renew_copied_view<Key>;
    counter.subtract = subtract<Key>;
    return take_off_invisible(counter, entries_on_pages(scan->remote.choice.path, entries), counts,
                              &count_request->heap_fetches);
}

// ---- the counts of a view ---------------------------------------------------------------------------------

static uint64 entries_of(const storage::View &view) {
    uint64 entries = 0;
    for (int i = 0; i < view.run_count; i++)
        entries += view.runs[i].entries;
    return entries;
}

// Counts in the scan's view. Unknown: the server process doesn't answer.
template <typename Key>
static Outcome count_in_view(CountRequest<Key> *count_request, int64 *counts) {
    Scan<Key> *scan = count_request->scan;
    RowChecker *checker = count_request->checker;
    LocalEntries<Key> *local = count_request->local;
    const bool counts_all = count_request->may_count_all &&
                            may_count_all(*checker, scan->remote.choice.path, entries_of(scan->view));
    client::VisibleBlocks visible = {};
    visible.all = counts_all;
    if (!counts_all)
        visible = read_visible_blocks(&checker->rows, checker->index, table::Scope::SomeRows);
    if (!count_run_entries(checker, remote_runs(scan), scan->remote.choice, visible, *count_request->ranges,
                           counts))
        return Outcome::Unknown;
    const EntrySink<Key> sink = {local, forget_local_entries<Key>, add_local_entries<Key>};
    if (!drain_cursors(scan, sink))
        return Outcome::Again;
    const uint32 local_count =
        counts_all ? static_cast<uint32>(local->count) : keep_visible(checker, visible, local);
    add_keys(local->keys, local_count, *count_request->ranges, 1, counts);
    count_request->heap_fetches = checker->rows.fetches;
    const Outcome outcome = counts_all ? take_off_in_view(count_request, counts) : Outcome::Counted;
    if (!counts_all || outcome != Outcome::Unknown)
        return outcome;
    note_counted_all(*checker, outcome);
    count_request->may_count_all = false;
    return Outcome::Again;
}

// Counts in a new view; false when that must be done again, unless the server process is not asked any more.
template <typename Key>
static bool count_in_new_view(CountRequest<Key> *count_request, int64 *counts) {
    Scan<Key> *scan = count_request->scan;
    memset(counts, 0, count_request->ranges->count * sizeof(int64));
    count_request->checker->rows.fetches = 0;
    count_request->local->count = 0;
    renew_copied_view<Key>(count_request);
    if (!enter_phase(scan, 0, true))
        return false;
    count_request->uses_server = scan->remote.run_count > 0;
    const Outcome outcome =
        count_request->uses_server ? count_in_view(count_request, counts) : Outcome::Unknown;
    count_request->uses_server = outcome != Outcome::Unknown || client::may_share_out_again();
    return outcome == Outcome::Counted &&
           storage::read_vacuum_seq(scan->descriptor->indexRelation, scan->kind) ==
               count_request->view.view.vacuum_seq;
}

template <typename Key>
bool count_ranges(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                  const KeyRanges<Key> &ranges, uint64 one_by_one, int64 *counts, uint64 *heap_fetches) {
    if (ranges.count == 0 || !may_use_server(ranges.count, 1))
        return false;
    client::Request request = {};
    request.kind = client::RequestKind::CountKary;
    request.items = ranges.count;
    request.results = one_by_one;
    Scan<Key> *scan = open_scan(heap, index, snapshot, condition_around(format, ranges));
    scan->request = &request;
    scan->may_travel = true;
    scan->phases[0] = is_composite(format) ? Phase::All : Phase::Keys;
    scan->phase_count = 1;
    constexpr uint64 kFirstRoom = 1024;
    LocalEntries<Key> local = {allocate<Key>(kFirstRoom), allocate<ItemPointerData>(kFirstRoom), 0,
                               kFirstRoom};
    RowChecker checker;
    begin_row_checker(&checker, heap, index, snapshot);
    CountRequest<Key> count_request = {};
    count_request.scan = scan;
    count_request.checker = &checker;
    count_request.ranges = &ranges;
    count_request.local = &local;
    count_request.view = {index, &scan->format, scan->kind, {}, {allocate<char>(storage::kContentBytes), 0}};
    scan->whole_tail = &count_request.view.tail;
    // Elsewhere pages have tried that before.
    count_request.may_count_all = is_path_forced();
    count_request.uses_server = true;
    bool valid = false;
    for (int tries = 0; count_request.uses_server && !valid && tries < kMaxServerTries; tries++) {
        CHECK_FOR_INTERRUPTS();
        valid = count_in_new_view(&count_request, counts);
    }
    *heap_fetches = count_request.heap_fetches;
    end_row_checker(&checker);
    pfree(count_request.view.tail.tail_tuples);
    pfree(local.keys);
    pfree(local.tids);
    close_scan(scan);
    if (valid) {
        pgstat_count_index_scan(index);
        client::note_request_done(index, client::RequestKind::CountKary);
    }
    return valid;
}

#define INSTANTIATE(Key)                                                                                \
    template bool count_ranges(Relation, Relation, const KeyFormat &, Snapshot, const KeyRanges<Key> &, \
                               uint64, int64 *, uint64 *);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
