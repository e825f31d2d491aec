// Counting many ranges at once, with the server's help.
#include <algorithm>

#include "kary/mirror.h"
#include "kary/range_counts.h"
#include "kary/scan.h"
#include "table/server_count.h"

namespace pg_gpu::kary {

namespace {

// Entries that the session has read itself: of small runs and the tail.
template <typename Key>
struct HomeEntries {
    Key *keys;
    ItemPointerData *tids;
    uint64 count;
    uint64 room;
};

}  // namespace

template <typename Key>
static void forget_home_entries(void *context) {
    static_cast<HomeEntries<Key> *>(context)->count = 0;
}

template <typename Key>
static void add_home_entries(void *context, const Key *keys, ItemPointerData *tids, uint32 count) {
    auto *home = static_cast<HomeEntries<Key> *>(context);
    if (home->count + count > home->room) {
        home->room = (home->count + count) * 2;
        home->keys = reallocate(home->keys, home->room);
        home->tids = reallocate(home->tids, home->room);
    }
    memcpy(home->keys + home->count, keys, count * sizeof(Key));
    memcpy(home->tids + home->count, tids, count * sizeof(ItemPointerData));
    home->count += count;
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
                           HomeEntries<Key> *home) {
    uint64 trusted = 0;
    for (uint64 i = 0; i < home->count; i++)
        if (is_visible_to_all(visible, home->tids[i])) {
            std::swap(home->keys[i], home->keys[trusted]);
            std::swap(home->tids[i], home->tids[trusted]);
            trusted++;
        }
    const uint64 doubtful = home->count - trusted;
    auto *is_visible = allocate<bool>(doubtful + 1);
    check_rows(checker, storage::kTailBlock, home->tids + trusted, doubtful, is_visible);
    uint64 kept = trusted;
    for (uint64 i = 0; i < doubtful; i++)
        if (is_visible[i])
            home->keys[kept++] = home->keys[trusted + i];
    pfree(is_visible);
    return static_cast<uint32>(kept);
}

// Adds what the session has read itself of each range.
template <typename Key>
static void count_home_entries(RowChecker *checker, const client::VisibleBlocks &visible,
                               HomeEntries<Key> *home, const KeyRanges<Key> &ranges, int64 *counts) {
    const uint32 count = keep_visible(checker, visible, home);
    std::sort(home->keys, home->keys + count);
    for (uint32 i = 0; count > 0 && i < ranges.count; i++)
        if (ranges.low[i] <= ranges.high[i])
            counts[i] += int64{upper_bound(home->keys, count, ranges.high[i])} -
                         int64{lower_bound(home->keys, count, ranges.low[i])};
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
        client::CountAnswer answer;
        answered =
            client::count_kary(set, choice, low + done, high + done, ranges.count - done, visible, &answer) &&
            answer.items > 0;
        if (answered) {
            add_server_counts(checker, set, answer, counts + done);
            done += static_cast<uint32>(answer.items);
        }
    }
    for (ServerKey<Key> *copy : {low_copy, high_copy})
        if (copy != nullptr)
            pfree(copy);
    return answered;
}

// The entries that lie in or between the ranges.
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

// Counts in a new view. false: the view went stale, or the server process is not asked or doesn't answer;
// then *asked is false.
template <typename Key>
static bool count_in_new_view(Scan<Key> *scan, RowChecker *checker, const KeyRanges<Key> &ranges,
                              HomeEntries<Key> *home, int64 *counts, bool *asked) {
    memset(counts, 0, ranges.count * sizeof(int64));
    checker->rows.fetches = 0;
    home->count = 0;
    renew_view(scan);
    if (!enter_phase(scan, 0, true))
        return false;
    *asked = scan->remote.run_count > 0;
    if (!*asked)
        return false;
    const client::VisibleBlocks visible = read_visible_blocks(&checker->rows, table::Scope::SomeRows);
    *asked = count_run_entries(checker, remote_runs(scan), scan->remote.choice, visible, ranges, counts);
    const EntrySink<Key> sink = {home, forget_home_entries<Key>, add_home_entries<Key>};
    if (!*asked || !drain_cursors(scan, sink))
        return false;
    count_home_entries(checker, visible, home, ranges, counts);
    return storage::read_vacuum_seq(scan->descriptor->indexRelation, scan->kind) == scan->view.vacuum_seq;
}

template <typename Key>
bool count_ranges(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                  const KeyRanges<Key> &ranges, uint64 one_by_one, int64 *counts, uint64 *heap_fetches) {
    if (ranges.count == 0 || !may_ask_server(ranges.count, 1))
        return false;
    client::Request question = {};
    question.kind = client::RequestKind::CountKary;
    question.items = ranges.count;
    question.results = one_by_one;
    Scan<Key> *scan = open_scan(heap, index, snapshot, condition_around(format, ranges));
    scan->question = &question;
    scan->may_travel = true;
    scan->phases[0] = is_composite(format) ? Phase::All : Phase::Keys;
    scan->phase_count = 1;
    constexpr uint64 kFirstRoom = 1024;
    HomeEntries<Key> home = {allocate<Key>(kFirstRoom), allocate<ItemPointerData>(kFirstRoom), 0, kFirstRoom};
    RowChecker checker;
    begin_row_checker(&checker, heap, index, snapshot);
    bool asked = true;
    bool sound = false;
    for (int tries = 0; asked && !sound && tries < kMaxServerTries; tries++) {
        CHECK_FOR_INTERRUPTS();
        sound = count_in_new_view(scan, &checker, ranges, &home, counts, &asked);
        asked = asked || client::may_share_out_again();
    }
    *heap_fetches = checker.rows.fetches;
    end_row_checker(&checker);
    pfree(home.keys);
    pfree(home.tids);
    close_scan(scan);
    if (sound) {
        pgstat_count_index_scan(index);
        client::note_request_done(index, client::RequestKind::CountKary);
    }
    return sound;
}

#define INSTANTIATE(Key)                                                                                \
    template bool count_ranges(Relation, Relation, const KeyFormat &, Snapshot, const KeyRanges<Key> &, \
                               uint64, int64 *, uint64 *);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
