#include "kary/remote_source.h"

#include <algorithm>

#include "kary/mirror.h"
#include "kary/scan.h"
#include "table/table.h"
#include "request_kinds.h"

namespace pg_gpu::kary {

// Items of a request: rows that are fetched one by one begin with few.
static constexpr uint32 kFirstStep = 4096;
static constexpr uint32 kLargestStep = 1U << 20;

// Matches that are held at most, whatever work_mem is.
static constexpr uint64 kMaxMatches = 1U << 23;

// Up to so many points offsets cost nothing, and a device answers in one launch.
static constexpr uint32 kFewPoints = 64;

// Matches that are given to a sink at a time.
static constexpr uint32 kDrainedAtOnce = 8192;

// ---- choosing ---------------------------------------------------------------------------------------------

template <typename Key>
static void add_run(Scan<Key> *scan, const storage::RunEntry &run) {
    RemoteSource<Key> *remote = &scan->remote;
    if (remote->run_count == remote->run_room) {
        const int room = remote->run_room * 2 + 8;
        MemoryContext caller = MemoryContextSwitchTo(scan->context);
        remote->runs =
            remote->runs == nullptr ? allocate<storage::RunEntry>(room) : reallocate(remote->runs, room);
        remote->saves = remote->saves == nullptr ? allocate<double>(room) : reallocate(remote->saves, room);
        MemoryContextSwitchTo(caller);
        remote->run_room = room;
    }
    remote->saves[remote->run_count] = 0;
    remote->runs[remote->run_count++] = run;
}

template <typename Key>
static client::RequestKind request_kind(const RemoteSource<Key> &remote) {
    return remote.exact ? client::RequestKind::LookupKary : client::RequestKind::RangeKary;
}

// Adds the view's runs without mirrors that a batch may yet ask. What pages take for each is known by now.
template <typename Key>
static void add_small_runs(Scan<Key> *scan, client::Request request) {
    RemoteSource<Key> *remote = &scan->remote;
    request.runs = 1;
    for (int i = 0; i < scan->view.run_count && remote->run_count < client::kMaxRuns; i++) {
        const storage::RunEntry &run = scan->view.runs[i];
        request.entries = keyed_entries(run);
        if (request.entries == 0 || client::is_worth_mirroring(*mirror_format<Key>(), run))
            continue;
        request.results = Min(request.items, request.entries);
        add_run(scan, run);
        remote->saves[remote->run_count - 1] = client::saved_by_server(request, remote->choice.path);
    }
}

// Leaves those runs to the pages that stay local; false when all do.
template <typename Key>
static bool leave_local(Scan<Key> *scan, client::RequestKind kind) {
    RemoteSource<Key> *remote = &scan->remote;
    bool is_local[client::kMaxRuns];
    if (!client::share_out(remote_runs(scan), remote->choice, kind, is_local))
        return false;
    int kept = 0;
    for (int i = 0; i < remote->run_count; i++)
        if (!is_local[i]) {
            remote->saves[kept] = remote->saves[i];
            remote->runs[kept++] = remote->runs[i];
        }
    remote->run_count = kept;
    return kept > 0;
}

template <typename Key>
void choose_remote_runs(Scan<Key> *scan, bool at_start) {
    RemoteSource<Key> *remote = &scan->remote;
    remote->run_count = 0;
    remote->count = remote->at = 0;
    if (likely(!scan->may_travel) || !wants(scan->condition, 0))
        return;
    const Condition<Key> &condition = scan->condition;
    client::Request request = scan->request != nullptr ? *scan->request : client::Request{};
    bool has_small = false;
    for (int i = 0; i < scan->view.run_count && remote->run_count < client::kMaxRuns; i++) {
        const storage::RunEntry &run = scan->view.runs[i];
        if (!client::is_worth_mirroring(*mirror_format<Key>(), run)) {
            has_small = has_small || keyed_entries(run) > 0;
            continue;
        }
        add_run(scan, run);
        request.entries += keyed_entries(run);
    }
    remote->nulls = 0;
    remote->ranges = ranges_in(scan->format, condition, 0);
    remote->exact = condition.has_points && remote->ranges.point_low == remote->ranges.point_high;
    remote->items = condition.has_points ? condition.point_count : 1;
    remote->begin = remote->end = at_start ? 0 : remote->items;
    remote->step = kFirstStep;
    request.index = RelationGetRelid(scan->descriptor->indexRelation);
    request.learns = true;
    request.key_bits = mirror_format<Key>()->key_bits;
    request.runs = remote->run_count;
    if (scan->request == nullptr) {
        request.kind = request_kind(*remote);
        request.items = remote->items;
        request.results = remote->exact ? Min(request.items, request.entries) : request.entries;
    }
    // Many points are a batch, for which a mirror of a small run may pay at once.
    const bool is_batch = scan->request == nullptr && remote->exact && remote->items > kFewPoints;
    if (remote->run_count == 0) {
        if (has_small)
            client::note_unsuited(request.kind, request.index, client::kAllRunsAreSmall);
        return;
    }
    remote->choice = client::choose_path(request);
    if (remote->choice.path != client::Path::Paged && is_batch && has_small)
        add_small_runs(scan, request);
    if (remote->choice.path != client::Path::Paged && !leave_local(scan, request.kind))
        remote->choice.path = remote->choice.attempt.path = client::Path::Paged;
    if (remote->choice.path == client::Path::Paged)
        remote->run_count = 0;
}

template <typename Key>
client::RunSet remote_runs(const Scan<Key> *scan) {
    return {scan->descriptor->indexRelation,
            scan->kind,
            mirror_format<Key>(),
            scan->remote.runs,
            scan->remote.run_count,
            scan->view.vacuum_seq,
            scan->remote.saves};
}

template <typename Key>
bool is_remote(const Scan<Key> *scan, const storage::RunEntry &run) {
    const RemoteSource<Key> &remote = scan->remote;
    return std::any_of(remote.runs, remote.runs + remote.run_count,
                       [&](const storage::RunEntry &requested) { return requested.run_id == run.run_id; });
}

// ---- requests ---------------------------------------------------------------------------------------------

// Has the scan do without the server process from now on, or, where some of the runs were lacking, without
// those. Returns false.
template <typename Key>
static bool give_up(Scan<Key> *scan) {
    scan->may_travel = client::may_share_out_again() && ++scan->remote.refusals < table::kMaxServerTries;
    scan->remote.choice.attempt.index = InvalidOid;
    return false;
}

// Calls look_up(keys) with the keys of the points.
template <typename Key, typename LookUp>
static bool with_keys_of_points(const RemoteSource<Key> &remote, const Key *points, uint32 count,
                                LookUp look_up) {
    if constexpr (std::is_same_v<Key, ServerKey<Key>>) {
        if (bits_of(remote.ranges.point_low) == 0)
            return look_up(points);
    }
    auto *keys = allocate<ServerKey<Key>>(count);
    for (uint32 i = 0; i < count; i++)
        keys[i] = to_server(join_keys(points[i], remote.ranges.point_low));
    const bool answered = look_up(keys);
    pfree(keys);
    return answered;
}

template <typename Key>
static bool look_up_points(const RemoteSource<Key> &remote, const client::RunSet &set, const Key *points,
                           uint32 count, client::EntriesResult *result) {
    return with_keys_of_points(remote, points, count, [&](const auto *keys) {
        return lookup_kary(set, remote.choice, keys, count, result);
    });
}

template <typename Key>
static bool look_up_ranges(const RemoteSource<Key> &remote, const client::RunSet &set, const Key *points,
                           uint32 count, client::EntriesResult *result) {
    auto *low = allocate<ServerKey<Key>>(uint64{count} * 2);
    ServerKey<Key> *high = low + count;
    for (uint32 i = 0; i < count; i++) {
        low[i] =
            to_server(points != nullptr ? join_keys(points[i], remote.ranges.point_low) : remote.ranges.low);
        high[i] = to_server(points != nullptr ? join_keys(points[i], remote.ranges.point_high)
                                              : remote.ranges.high);
    }
    const bool answered = range_kary(set, remote.choice, low, high, count, true, result);
    pfree(low);
    return answered;
}

// Calls request(set, points), which asks all runs for items from `begin` on; the first result->items are
// answered.
template <typename Key, typename Result, typename Request>
static bool submit_runs(Scan<Key> *scan, uint32 begin, Result *result, Request request) {
    CHECK_FOR_INTERRUPTS();
    const client::RunSet set = remote_runs(scan);
    const Key *points = scan->condition.has_points ? scan->condition.points + begin : nullptr;
    const client::Usage before = client::session_usage();
    instr_time began;
    INSTR_TIME_SET_CURRENT(began);
    const bool answered = request(set, points);
    client::add_usage_since(before, &scan->usage);
    scan->remote.microseconds += client::microseconds_since(began);
    return (answered && result->items > 0) || give_up(scan);
}

// Asks all runs for items [begin, end).
template <typename Key>
static bool submit(Scan<Key> *scan, uint32 begin, uint32 end, client::EntriesResult *result) {
    return submit_runs(scan, begin, result, [&](const client::RunSet &set, const Key *points) {
        return scan->remote.exact ? look_up_points(scan->remote, set, points, end - begin, result)
                                  : look_up_ranges(scan->remote, set, points, end - begin, result);
    });
}

template <typename Key>
static Key key_of_item(const Scan<Key> *scan, uint32 item) {
    return join_keys(scan->condition.points[item], scan->remote.ranges.point_low);
}

// Returns where a run's matches of an item begin, or the end of the last item's. The server process wrote it,
// so it is checked.
static uint64 offset_in(const client::RunResult &run, uint64 item) {
    return Min(run.offsets[item], run.entries);
}

template <typename Key>
static void make_room(Scan<Key> *scan, uint64 count) {
    RemoteSource<Key> *remote = &scan->remote;
    if (remote->room >= count)
        return;
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    if (remote->keys != nullptr) {
        pfree(remote->keys);
        pfree(remote->tids);
    }
    remote->keys = allocate<Key>(count);
    remote->tids = allocate<ItemPointerData>(count);
    remote->room = static_cast<uint32>(count);
    MemoryContextSwitchTo(caller);
}

// Appends an entry of a run to the batch, which has room for it.
template <typename Key>
static void take_entry(Scan<Key> *scan, int run, const Key &key, const ItemPointerData &tid) {
    RemoteSource<Key> *remote = &scan->remote;
    const uint32 at = remote->count++;
    remote->keys[at] = key;
    remote->tids[at] = tid;
    if (unlikely(!is_possible_tid(scan->descriptor->heapRelation, &scan->heap_blocks, remote->tids[at])))
        storage::report_corruption(scan->descriptor->indexRelation, storage::run_block(remote->runs[run], 0),
                                   "An entry's TID lies outside the table.");
}

template <typename Key>
static void drop_filtered(Scan<Key> *scan) {
    RemoteSource<Key> *remote = &scan->remote;
    if (scan->condition.filter_count == 0)
        return;
    uint32 kept = 0;
    for (uint32 i = 0; i < remote->count; i++) {
        if (!passes_filters(scan->condition, remote->keys[i]))
            continue;
        remote->keys[kept] = remote->keys[i];
        remote->tids[kept] = remote->tids[i];
        kept++;
    }
    remote->count = kept;
}

// ---- batches in index order -------------------------------------------------------------------------------

namespace {

// A run's part of an answer that is to be merged.
template <typename Key>
struct Part {
    int run;
    uint64 at;
    uint64 end;
    Key key;  // key of the entry at `at`
    ItemPointerData tid;
};

}  // namespace

static bool comes_before(const ItemPointerData &a, const ItemPointerData &b) {
    return ItemPointerCompare(const_cast<ItemPointer>(&a), const_cast<ItemPointer>(&b)) < 0;
}

// Keys are the items' own, so each item's matches follow those of the item before, and are sorted by TID.
template <typename Key>
static void merge_points(Scan<Key> *scan, const client::EntriesResult &result, uint32 first, uint32 from,
                         uint32 to, Part<Key> *parts) {
    RemoteSource<Key> *remote = &scan->remote;
    for (uint32 item = from; item < to; item++) {
        const Key key = key_of_item(scan, first + item);
        const uint32 begin = remote->count;
        int runs_with_matches = 0;
        for (int i = 0; i < remote->run_count; i++) {
            Part<Key> *part = &parts[i];
            const uint64 end = Min(offset_in(result.runs[i], item + 1), part->end);
            runs_with_matches += part->at < end ? 1 : 0;
            for (; part->at < end; part->at++)
                take_entry(scan, i, key, result.runs[i].tids[part->at]);
        }
        if (runs_with_matches > 1)
            std::sort(remote->tids + begin, remote->tids + remote->count, comes_before);
    }
}

template <typename Key>
static void read_part(const client::EntriesResult &result, Part<Key> *part) {
    part->key = from_server<Key>(result.runs[part->run].keys, part->at);
    part->tid = result.runs[part->run].tids[part->at];
}

// Ranges are disjoint and ascend, so each run's matches of all items are in order.
template <typename Key>
static void merge_ranges(Scan<Key> *scan, const client::EntriesResult &result, Part<Key> *parts) {
    const auto comes_later = [](const Part<Key> &a, const Part<Key> &b) {
        return b.key < a.key || (a.key == b.key && comes_before(b.tid, a.tid));
    };
    Part<Key> *end = std::remove_if(parts, parts + scan->remote.run_count,
                                    [](const Part<Key> &part) { return part.at == part.end; });
    std::for_each(parts, end, [&](Part<Key> &part) { read_part(result, &part); });
    std::make_heap(parts, end, comes_later);
    while (end > parts) {
        std::pop_heap(parts, end, comes_later);
        Part<Key> *part = end - 1;
        take_entry(scan, part->run, part->key, part->tid);
        if (++part->at == part->end) {
            end--;
            continue;
        }
        read_part(result, part);
        std::push_heap(parts, end, comes_later);
    }
}

// Returns how many matches fit work_mem.
template <typename Key>
static uint64 max_matches() {
    constexpr uint64 kBytes = sizeof(Key) + sizeof(ItemPointerData);
    return Min(uint64{static_cast<uint32>(work_mem)} * 1024 / kBytes, kMaxMatches);
}

template <typename Key>
static uint64 matches_of(const Scan<Key> *scan, const client::EntriesResult &result, uint32 from, uint32 to) {
    uint64 matches = 0;
    for (int i = 0; i < scan->remote.run_count; i++) {
        const uint64 begin = offset_in(result.runs[i], from);
        matches += Max(offset_in(result.runs[i], to), begin) - begin;
    }
    return matches;
}

// Makes the batch of items [from, to) of an answer that begins with item `first`.
template <typename Key>
static void take_items(Scan<Key> *scan, const client::EntriesResult &result, uint32 first, uint32 from,
                       uint32 to) {
    RemoteSource<Key> *remote = &scan->remote;
    Part<Key> parts[client::kMaxRuns];
    uint64 matches = 0;
    for (int i = 0; i < remote->run_count; i++) {
        const uint64 begin = offset_in(result.runs[i], from);
        parts[i] = {i, begin, Max(offset_in(result.runs[i], to), begin), {}, {}};
        matches += parts[i].end - begin;
    }
    make_room(scan, matches);
    remote->count = remote->at = 0;
    if (remote->exact)
        merge_points(scan, result, first, from, to, parts);
    else
        merge_ranges(scan, result, parts);
    remote->begin = first + from;
    remote->end = first + to;
}

// The end of the items that is kept where not all of them fit.
enum class Keep { First, Last };

// Makes the batch of items [begin, end), or of as many of them as are answered and fit. false: Restart.
template <typename Key>
static bool load_items(Scan<Key> *scan, uint32 begin, uint32 end, Keep keep) {
    RemoteSource<Key> *remote = &scan->remote;
    client::EntriesResult result;
    uint32 first = begin;
    for (;;) {
        if (!submit(scan, first, end, &result))
            return false;
        const auto answered = static_cast<uint32>(result.items);
        if (keep == Keep::First || answered == end - first)
            break;
        // The last ones are not among those that are answered.
        first = end - Max(answered / 2, 1);
    }
    uint32 from = 0;
    auto to = static_cast<uint32>(result.items);
    while (from < to && matches_of(scan, result, from, to) > max_matches<Key>()) {
        const uint32 half = (to - from) / 2;
        if (keep == Keep::First)
            to = from + half;
        else
            from = to - half;
    }
    if (from == to) {
        client::decline(request_kind(*remote), remote->choice, "the matches take more than work_mem");
        return give_up(scan);
    }
    instr_time began;
    INSTR_TIME_SET_CURRENT(began);
    take_items(scan, result, first, from, to);
    remote->microseconds += client::microseconds_since(began);
    remote->step = to - from < end - begin ? to - from : Min(remote->step * 8, kLargestStep);
    drop_filtered(scan);
    if (scan->skips_dead)
        drop_known_dead(scan, static_cast<Source<Key> *>(remote));
    return !scan->resolve || resolve_batch(scan, remote);
}

// ---- moving -----------------------------------------------------------------------------------------------

// Empties the batch, and puts the scan into the gap before item `item`.
template <typename Key>
static void stand_before(RemoteSource<Key> *remote, uint32 item) {
    remote->begin = remote->end = item;
    remote->count = remote->at = 0;
}

template <typename Key>
Step ensure_remote_forward(Scan<Key> *scan) {
    RemoteSource<Key> *remote = &scan->remote;
    while (remote->at == remote->count) {
        if (remote->end == remote->items) {
            stand_before(remote, remote->items);
            return Step::End;
        }
        if (!load_items(scan, remote->end, remote->end + Min(remote->step, remote->items - remote->end),
                        Keep::First))
            return Step::Restart;
        remote->at = 0;
    }
    return Step::Entry;
}

template <typename Key>
Step ensure_remote_backward(Scan<Key> *scan) {
    RemoteSource<Key> *remote = &scan->remote;
    while (remote->at == 0) {
        if (remote->begin == 0) {
            stand_before(remote, 0);
            return Step::End;
        }
        if (!load_items(scan, remote->begin - Min(remote->step, remote->begin), remote->begin, Keep::Last))
            return Step::Restart;
        remote->at = remote->count;
    }
    return Step::Entry;
}

// The first item that can have keys from `key` on.
template <typename Key>
static uint32 item_for_key(const Scan<Key> *scan, Key key) {
    const Condition<Key> &condition = scan->condition;
    if (!condition.has_points)
        return 0;
    return partition_point(condition.points, condition.point_count,
                           [&](Key point) { return join_keys(point, scan->remote.ranges.point_high) < key; });
}

template <typename Key>
bool seek_remote(Scan<Key> *scan, const Position<Key> &position, bool after) {
    RemoteSource<Key> *remote = &scan->remote;
    // The place may be before all items or behind them if other columns are NULL there than here.
    stand_before(remote, position.nulls == remote->nulls ? item_for_key(scan, position.key) : 0);
    while (remote->end < remote->items) {
        if (!load_items(scan, remote->end, remote->end + Min(remote->step, remote->items - remote->end),
                        Keep::First))
            return false;
        place_in_batch(scan, remote, position, after);
        if (remote->at < remote->count)
            return true;
    }
    stand_before(remote, remote->items);
    return true;
}

// ---- all matches ------------------------------------------------------------------------------------------

// Gives one run's part of an answer, which begins with item `first`, to the sink.
template <typename Key>
static void drain_run(Scan<Key> *scan, const client::EntriesResult &result, uint32 first, int run,
                      const EntrySink<Key> &sink) {
    RemoteSource<Key> *remote = &scan->remote;
    const client::RunResult &part = result.runs[run];
    uint32 item = 0;
    for (uint64 at = 0; at < part.entries;) {
        CHECK_FOR_INTERRUPTS();
        const uint64 end = Min(part.entries, at + kDrainedAtOnce);
        instr_time began;
        INSTR_TIME_SET_CURRENT(began);
        remote->count = 0;
        for (; at < end; at++) {
            if (remote->exact) {
                while (item + 1 < result.items && at >= part.offsets[item + 1])
                    item++;
                take_entry(scan, run, key_of_item(scan, first + item), part.tids[at]);
            } else {
                take_entry(scan, run, from_server<Key>(part.keys, at), part.tids[at]);
            }
        }
        drop_filtered(scan);
        remote->microseconds += client::microseconds_since(began);
        if (remote->count > 0)
            sink.add(sink.context, remote->keys, remote->tids, remote->count);
    }
}

// Returns the part of the matches of many points that the sink asks for.
template <typename Key>
static Matched wanted_form(const Scan<Key> *scan, const EntrySink<Key> &sink) {
    if (sink.add_points != nullptr || scan->condition.filter_count > 0)
        return Matched::Numbered;
    return scan->counts_only ? Matched::Number : Matched::Tids;
}

// Gives one run's matches of points from number `first` on to the sink. `points` has room for kDrainedAtOnce.
template <typename Key>
static void drain_matches(Scan<Key> *scan, const MatchesResult &result, uint32 first, int run,
                          const EntrySink<Key> &sink, uint32 *points) {
    RemoteSource<Key> *remote = &scan->remote;
    const MatchedEntries &part = result.runs[run];
    const bool has_filters = scan->condition.filter_count > 0;
    for (uint64 at = 0; at < part.count;) {
        CHECK_FOR_INTERRUPTS();
        const auto count = static_cast<uint32>(Min(part.count - at, uint64{kDrainedAtOnce}));
        if (part.tids == nullptr) {
            sink.add(sink.context, nullptr, nullptr, count);
            at += count;
            continue;
        }
        instr_time began;
        INSTR_TIME_SET_CURRENT(began);
        remote->count = 0;
        for (uint32 i = 0; i < count; i++) {
            // The number is the server process's word, as all that lies in the buffer.
            if (part.items != nullptr)
                points[i] = first + Min(part.items[at + i], static_cast<uint32>(result.items) - 1);
            take_entry(scan, run, has_filters ? key_of_item(scan, points[i]) : Key{}, part.tids[at + i]);
        }
        at += count;
        remote->microseconds += client::microseconds_since(began);
        if (has_filters) {
            drop_filtered(scan);
            if (remote->count > 0)
                sink.add(sink.context, remote->keys, remote->tids, remote->count);
        } else if (sink.add_points != nullptr) {
            sink.add_points(sink.context, points, remote->tids, remote->count);
        } else {
            sink.add(sink.context, nullptr, remote->tids, remote->count);
        }
    }
}

template <typename Key>
static bool drain_points(Scan<Key> *scan, const EntrySink<Key> &sink) {
    RemoteSource<Key> *remote = &scan->remote;
    const Matched form = wanted_form(scan, sink);
    auto *points = allocate<uint32>(kDrainedAtOnce);
    while (remote->end < remote->items) {
        MatchesResult result;
        const uint32 first = remote->end;
        const uint32 count = Min(kLargestStep, remote->items - first);
        if (!submit_runs(scan, first, &result, [&](const client::RunSet &set, const Key *requested) {
                return with_keys_of_points(*remote, requested, count, [&](const auto *keys) {
                    return match_kary(set, remote->choice, keys, count, form, &result);
                });
            }))
            return false;
        for (int run = 0; run < remote->run_count; run++)
            drain_matches(scan, result, first, run, sink, points);
        stand_before(remote, first + static_cast<uint32>(result.items));
    }
    pfree(points);
    return true;
}

template <typename Key>
bool drain_remote(Scan<Key> *scan, const EntrySink<Key> &sink) {
    RemoteSource<Key> *remote = &scan->remote;
    make_room(scan, kDrainedAtOnce);
    if (remote->exact && remote->items > kFewPoints)
        return drain_points(scan, sink);
    while (remote->end < remote->items) {
        client::EntriesResult result;
        const uint32 first = remote->end;
        if (!submit(scan, first, first + Min(kLargestStep, remote->items - first), &result))
            return false;
        for (int run = 0; run < remote->run_count; run++)
            drain_run(scan, result, first, run, sink);
        stand_before(remote, first + static_cast<uint32>(result.items));
    }
    return true;
}

#define INSTANTIATE(Key)                                                   \
    template void choose_remote_runs(Scan<Key> *, bool);                   \
    template client::RunSet remote_runs(const Scan<Key> *);                \
    template bool is_remote(const Scan<Key> *, const storage::RunEntry &); \
    template Step ensure_remote_forward(Scan<Key> *);                      \
    template Step ensure_remote_backward(Scan<Key> *);                     \
    template bool seek_remote(Scan<Key> *, const Position<Key> &, bool);   \
    template bool drain_remote(Scan<Key> *, const EntrySink<Key> &);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
