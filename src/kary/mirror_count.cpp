// Counting many ranges at once, with the server's help.
#include <algorithm>

#include "kary/condition.h"
#include "kary/mirror.h"
#include "kary/range_counts.h"
#include "table/server_count.h"

namespace pg_gpu::kary {

namespace {

// The tail's entries without NULLs, as of the view.
template <typename Key>
struct TailCopy {
    bool composite;
    SortEntry<Key> *entries;
    uint32 count;
};

}  // namespace

template <typename Key>
static void copy_tail(const char *items, uint32 bytes, void *context) {
    auto *copy = static_cast<TailCopy<Key> *>(context);
    copy->count = 0;
    for_each_tail_item<Key>(
        items, bytes, copy->composite, [copy](Key key, NullMask nulls, const ItemPointerData &tid) {
            if (nulls == 0)
                copy->entries[copy->count++] = {key, ItemPointerGetBlockNumberNoCheck(&tid),
                                                ItemPointerGetOffsetNumberNoCheck(&tid), 0};
        });
}

// Adds what the tail holds for each range.
template <typename Key>
static void count_tail_entries(RowChecker *checker, const TailCopy<Key> &tail, const KeyRanges<Key> &ranges,
                               int64 *counts) {
    auto *visible = allocate<Key>(tail.count + 1);
    auto *tids = allocate<ItemPointerData>(tail.count + 1);
    auto *is_visible = allocate<bool>(tail.count + 1);
    for (uint32 i = 0; i < tail.count; i++)
        ItemPointerSet(&tids[i], tail.entries[i].block, tail.entries[i].offset);
    check_rows(checker, storage::kTailBlock, tids, tail.count, is_visible);
    uint32 visible_count = 0;
    for (uint32 i = 0; i < tail.count; i++)
        if (is_visible[i])
            visible[visible_count++] = tail.entries[i].key;
    pfree(is_visible);
    pfree(tids);
    std::sort(visible, visible + visible_count);
    for (uint32 i = 0; visible_count > 0 && i < ranges.count; i++)
        if (ranges.low[i] <= ranges.high[i])
            counts[i] += int64{upper_bound(visible, visible_count, ranges.high[i])} -
                         int64{lower_bound(visible, visible_count, ranges.low[i])};
    pfree(visible);
}

// Adds what the runs hold; false when the server doesn't answer.
template <typename Key>
static bool count_run_entries(RowChecker *checker, const client::RunSet &set, const client::Choice &choice,
                              const KeyRanges<Key> &ranges, int64 *counts) {
    const client::VisibleBlocks visible = read_visible_blocks(checker->rows.heap);
    ServerKey<Key> *low_copy;
    ServerKey<Key> *high_copy;
    const ServerKey<Key> *low = to_server(ranges.low, ranges.count, &low_copy);
    const ServerKey<Key> *high = to_server(ranges.high, ranges.count, &high_copy);
    bool answered = true;
    for (uint32 done = 0; answered && done < ranges.count;) {
        CHECK_FOR_INTERRUPTS();
        client::CountAnswer answer;
        answered =
            client::count(set, choice, low + done, high + done, ranges.count - done, visible, &answer) &&
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

template <typename Key>
static client::Choice choice_for(const storage::View &view, const KeyRanges<Key> &ranges, uint64 one_by_one) {
    client::Request request = {};
    request.kind = client::RequestKind::Count;
    request.key_bits = mirror_format<Key>()->key_bits;
    request.runs = view.run_count;
    request.items = ranges.count;
    for (int i = 0; i < view.run_count; i++)
        request.entries += keyed_entries(view.runs[i]);
    request.results = one_by_one;
    return client::choose_path(request);
}

template <typename Key>
bool count_ranges(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                  const KeyRanges<Key> &ranges, uint64 one_by_one, int64 *counts, uint64 *heap_fetches) {
    if (ranges.count == 0 || !may_ask_server(ranges.count, 1))
        return false;
    const storage::RunKind *kind = run_kind_of<Key>(is_composite(format));
    TailCopy<Key> tail = {is_composite(format), allocate<SortEntry<Key>>(kTailItems<Key>), 0};
    storage::View view = {};
    RowChecker checker;
    begin_row_checker(&checker, heap, index, snapshot);
    bool answered = true;
    bool sound = false;
    for (int tries = 0; answered && !sound && tries < kMaxServerTries; tries++) {
        CHECK_FOR_INTERRUPTS();
        memset(counts, 0, ranges.count * sizeof(int64));
        checker.rows.fetches = 0;
        storage::take_view(index, kind, snapshot, &view, copy_tail<Key>, &tail);
        const client::Choice choice = choice_for(view, ranges, one_by_one);
        const client::RunSet set = {index,     kind,           mirror_format<Key>(),
                                    view.runs, view.run_count, view.vacuum_seq};
        answered =
            choice.path != client::Path::Paged && count_run_entries(&checker, set, choice, ranges, counts);
        if (answered)
            count_tail_entries(&checker, tail, ranges, counts);
        sound = storage::read_vacuum_seq(index, kind) == view.vacuum_seq;
    }
    *heap_fetches = checker.rows.fetches;
    end_row_checker(&checker);
    if (view.runs != nullptr)
        pfree(view.runs);
    pfree(tail.entries);
    if (answered && sound)
        pgstat_count_index_scan(index);
    return answered && sound;
}

#define INSTANTIATE(Key)                                                                                \
    template bool count_ranges(Relation, Relation, const KeyFormat &, Snapshot, const KeyRanges<Key> &, \
                               uint64, int64 *, uint64 *);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
