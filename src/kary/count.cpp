// Counting uses ranks, from which entries without a visible row are taken off, as long as these are few; TIDs
// where they aren't, and rows where keys don't tell values.
#include "kary/checked_rows.h"
#include "kary/condition.h"
#include "kary/entry_search.h"
#include "kary/mirror.h"
#include "kary/range_counts.h"
#include "keys/keys.h"
#include "storage/storage.h"
#include "table/table.h"
#include "request_kinds.h"

namespace pg_gpu::kary {

// ---- entries of a view, by their ranks --------------------------------------------------------------------

template <typename Key>
struct TailCount {
    const KeyFormat *format;
    const Condition<Key> *condition;
    uint64 matches;
};

template <typename Key>
static void count_tail(const char *tail_tuples, uint32 bytes, void *context) {
    auto *count = static_cast<TailCount<Key> *>(context);
    count->matches = 0;
    for_each_tail_tuple<Key>(tail_tuples, bytes, is_composite(*count->format),
                             [count](Key key, NullMask nulls, const ItemPointerData &) {
                                 count->matches +=
                                     matches(*count->format, *count->condition, nulls, key) ? 1 : 0;
                             });
}

// Counts the live entries of one run that match. Returns false when a page was recycled.
template <typename Key>
static bool count_run(Relation index, const KeyFormat &format, const storage::RunEntry &run,
                      const Condition<Key> &condition, uint64 *count, uint32 *position) {
    Partition *partitions;
    int partition_count;
    bool valid = read_partitions<Key>(index, format, run, &partitions, &partition_count, position);
    for (int i = 0; valid && i < partition_count; i++) {
        const Partition &partition = partitions[i];
        if (!wants(condition, partition.nulls))
            continue;
        const Ranges<Key> ranges = ranges_in(format, condition, partition.nulls);
        uint64 first;
        uint64 end;
        valid = find_ordinal<Key>(index, run, partition, ranges.low, Bound::Lower, &first, position) &&
                find_ordinal<Key>(index, run, partition, ranges.high, Bound::Upper, &end, position);
        if (!valid || end <= first)
            continue;
        uint64 dead = 0;
        if (run.dead > 0) {
            *position = run.sections[storage::kDeadBitmapSection].first_page;
            valid = storage::count_dead(index, run, first, end, &dead);
        }
        *count += end - first - dead;
    }
    pfree(partitions);
    return valid;
}

// Adds what the runs of a view hold; false when a page was recycled.
template <typename Key>
static bool count_in_runs(Relation index, const storage::RunKind *kind, const KeyFormat &format,
                          const Condition<Key> &condition, const storage::View &view, uint64 *count) {
    for (int i = 0; i < view.run_count; i++) {
        uint32 position = 0;
        if (!count_run(index, format, view.runs[i], condition, count, &position)) {
            storage::confirm_recycled(index, kind, view, view.runs[i], position);
            return false;
        }
    }
    return true;
}

// ---- counting by ranks ------------------------------------------------------------------------------------

namespace {

// A count request has one condition, or many ranges, and a view.
template <typename Key>
struct CountRequest {
    Snapshot snapshot;
    const Condition<Key> *condition;  // or nullptr
    const RangeReader *ranges;        // or nullptr
    CopiedView view;
};

}  // namespace

// Calls visit(i, condition) for one range after another until a call returns false.
template <typename Key, typename Visit>
static bool for_each_condition(const CountRequest<Key> &count_request, Visit visit) {
    if (count_request.condition != nullptr)
        return visit(uint32{0}, *count_request.condition);
    return for_each_range(*count_request.ranges, [&](uint32 i, const ScanKeyData *keys, int key_count) {
        Condition<Key> condition;
        make_condition(*count_request.view.format, keys, key_count, &condition);
        return visit(i, condition);
    });
}

template <typename Key>
static const CountRequest<Key> &count_request_of(void *context) {
    return *static_cast<const CountRequest<Key> *>(context);
}

template <typename Key>
static void renew_view(void *context) {
    auto *count_request = static_cast<CountRequest<Key> *>(context);
    CopiedView *view = &count_request->view;
    storage::take_view(view->index, view->kind, count_request->snapshot, &view->view, storage::copy_tail,
                       &view->tail);
}

// Counts the entries of the view.
template <typename Key>
static Outcome count_entries_in_view(void *context, int64 *counts) {
    const CountRequest<Key> &count_request = count_request_of<Key>(context);
    const CopiedView &view = count_request.view;
    Outcome outcome = Outcome::Counted;
    for_each_condition(count_request, [&](uint32 i, const Condition<Key> &condition) {
        TailCount<Key> matches = {view.format, &condition, 0};
        if (condition.recheck || condition.has_points || condition.filter_count > 0) {
            outcome = condition.nothing ? outcome : Outcome::Unknown;
        } else if (!condition.nothing) {
            count_tail<Key>(view.tail.tail_tuples, view.tail.bytes, &matches);
            if (!count_in_runs(view.index, view.kind, *view.format, condition, view.view, &matches.matches))
                outcome = Outcome::Again;
        }
        counts[i] = static_cast<int64>(matches.matches);
        return outcome == Outcome::Counted;
    });
    return outcome;
}

// The entries are in the order of their NULLs and keys.
template <typename Key>
static void subtract(void *context, const EntryRows &entries, int64 *counts) {
    const CountRequest<Key> &count_request = count_request_of<Key>(context);
    auto *keys = allocate<Key>(entries.count + 1);
    for (uint64 i = 0; i < entries.count; i++)
        keys[i] = entry_key<Key>(row_at(entries, i));
    for_each_condition(count_request, [&](uint32 i, const Condition<Key> &condition) {
        for (uint64 first = 0, end; first < entries.count; first = end) {
            const NullMask nulls = entry_nulls(row_at(entries, first));
            for (end = first + 1; end < entries.count && entry_nulls(row_at(entries, end)) == nulls; end++) {}
            if (!wants(condition, nulls))
                continue;
            const Ranges<Key> ranges = ranges_in(*count_request.view.format, condition, nulls);
            const auto here = static_cast<uint32>(end - first);
            if (ranges.low <= ranges.high)
                counts[i] -= int64{upper_bound(keys + first, here, ranges.high)} -
                             int64{lower_bound(keys + first, here, ranges.low)};
        }
        return true;
    });
    pfree(keys);
}

// Counts one condition or all ranges in one view; false when ranks can't tell, and a single count is that of
// the entries then.
template <typename Key>
static bool count_by_rank(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                          const Condition<Key> *condition, const RangeReader *ranges, int64 *counts,
                          uint64 *heap_fetches) {
    const storage::RunKind *kind = run_kind_of<Key>(is_composite(format));
    CountRequest<Key> count_request = {snapshot, condition, ranges, {index, &format, kind, {}, {}}};
    CopiedView *view = &count_request.view;
    view->tail.tail_tuples = allocate<char>(storage::kContentBytes);
    storage::CachedRuns cached;
    storage::begin_cached(&cached);
    view->view.cached = &cached;
    EntryCounter counter =
        entry_counter_of<Key>(heap, snapshot, *view, CountedBy::Pages, ranges != nullptr ? ranges->count : 1);
    counter.context = &count_request;
    counter.renew = renew_view<Key>;
    counter.count_entries = count_entries_in_view<Key>;
    counter.subtract = subtract<Key>;
    const bool counted = count_visible_entries(counter, counts, heap_fetches);
    storage::end_cached(&cached);
    if (view->view.runs != nullptr)
        pfree(view->view.runs);
    pfree(view->tail.tail_tuples);
    return counted;
}

// Does the same for points and filters: entries are counted one by one, but nothing is looked up.
template <typename Key>
static bool count_one_by_one(Relation heap, Relation index, const storage::RunKind *kind, Snapshot snapshot,
                             const Condition<Key> &condition, int64 *result) {
    if (!is_table_all_visible(heap))
        return false;
    const uint64 before = storage::read_vacuum_seq(index, kind);
    *result = static_cast<int64>(count_entries(heap, index, snapshot, condition));
    return is_table_all_visible(heap) && storage::read_vacuum_seq(index, kind) == before;
}

// ---- on the server ----------------------------------------------------------------------------------------

// Says whether the condition is one range of keys of entries without NULLs.
template <typename Key>
static bool is_plain_range(const KeyFormat &format, const Condition<Key> &condition) {
    return !condition.nothing && !condition.recheck && !condition.has_points && condition.filter_count == 0 &&
           condition.not_nulls == format.all_null;
}

template <typename Key>
static bool count_on_server(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                            const Condition<Key> &condition, uint64 one_by_one, int64 *result,
                            uint64 *heap_fetches) {
    if (!is_plain_range(format, condition))
        return false;
    const Ranges<Key> ranges = ranges_in(format, condition, 0);
    return count_ranges(heap, index, format, snapshot, KeyRanges<Key>{&ranges.low, &ranges.high, 1},
                        one_by_one, result, heap_fetches);
}

// ---- the general case -------------------------------------------------------------------------------------

namespace {

template <typename Key>
struct Counted {
    Relation heap;
    Relation index;
    Snapshot snapshot;
    const Condition<Key> *condition;
};

}  // namespace

template <typename Key>
static void add_to_count(void *context, const Key *, ItemPointerData *tids, uint32 count) {
    add_entries(static_cast<VisibleCount *>(context), tids, count);
}

template <typename Key>
static void collect_counted(void *context, VisibleCount *count) {
    const auto *counted = static_cast<const Counted<Key> *>(context);
    collect_entries(counted->heap, counted->index, counted->snapshot, *counted->condition,
                    EntrySink<Key>{count, [](void *sink) { reset_count(static_cast<VisibleCount *>(sink)); },
                                   add_to_count<Key>});
}

template <typename Key>
static int64 count_visible(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                           const Condition<Key> &condition, bool by_rank, uint64 *heap_fetches) {
    int64 result = 0;
    *heap_fetches = 0;
    if (condition.nothing)
        return 0;
    const storage::RunKind *kind = run_kind_of<Key>(is_composite(format));
    // A forced path is taken even where ranks would do.
    if (is_path_forced() &&
        count_on_server(heap, index, format, snapshot, condition, 0, &result, heap_fetches))
        return result;
    *heap_fetches = 0;
    if (by_rank &&
        (condition.has_points || condition.filter_count > 0
             ? count_one_by_one(heap, index, kind, snapshot, condition, &result)
             : count_by_rank<Key>(heap, index, format, snapshot, &condition, nullptr, &result, heap_fetches)))
        return result;
    *heap_fetches = 0;
    // The count by ranks is a good guess at the number of entries to be looked at.
    if (count_on_server(heap, index, format, snapshot, condition, static_cast<uint64>(result), &result,
                        heap_fetches))
        return result;

    Counted<Key> counted = {heap, index, snapshot, &condition};
    result = count_by_tid(heap, index, kind, snapshot, collect_counted<Key>, &counted, heap_fetches);
    client::note_request_done(index, client::RequestKind::CountKary);
    return result;
}

// Counts by keys that don't tell the values, so every row is looked at.
template <typename Key>
static int64 count_checked(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                           const Condition<Key> &condition, ScanKeyData *keys, int key_count,
                           uint64 *heap_fetches) {
    auto *checked = allocate<CheckedRows>(1);
    begin_checked_rows(checked, heap, index, snapshot, format, condition, keys, key_count);
    int64 count = 0;
    ItemPointerData tid;
    while (next_checked_entry(checked, &tid))
        count++;
    *heap_fetches = checked->entries.count;
    end_checked_rows(checked);
    return count;
}

// Fewer ranges are counted one by one without asking what a request would cost.
static constexpr uint64 kFewestRanges = 64;

// Counts all ranges in one request; returns false when one of them is more than a range of keys, or no server
// answers.
template <typename Key>
static bool count_batch_on_server(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                                  const RangeReader &reader, int64 *counts) {
    if (!may_use_server(reader.count, kFewestRanges))
        return false;
    auto *low = allocate<Key>(uint64{reader.count} * 2);
    Key *high = low + reader.count;
    const bool plain = for_each_range(reader, [&](uint32 i, const ScanKeyData *keys, int key_count) {
        Condition<Key> condition;
        make_condition(format, keys, key_count, &condition);
        const Ranges<Key> ranges = ranges_in(format, condition, 0);
        low[i] = condition.nothing ? kHighestKey<Key> : ranges.low;
        high[i] = condition.nothing ? key_from<Key>(0) : ranges.high;
        return condition.nothing || is_plain_range(format, condition);
    });
    uint64 heap_fetches;
    const bool answered =
        plain && count_ranges(heap, index, format, snapshot, KeyRanges<Key>{low, high, reader.count}, 0,
                              counts, &heap_fetches);
    pfree(low);
    return answered;
}

static int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys,
                            int key_count, bool by_rank, uint64 *heap_fetches) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_kary count", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    const KeyFormat format = key_format(index);
    ScanKeyData *detoasted = detoast_arrays(format, keys, key_count);
    const int64 count = with_key_type(format.width, [&](auto key) {
        Condition<decltype(key)> condition;
        make_condition(format, detoasted, key_count, &condition);
        return condition.recheck
                   ? count_checked(heap, index, format, snapshot, condition, detoasted, key_count,
                                   heap_fetches)
                   : count_visible(heap, index, format, snapshot, condition, by_rank, heap_fetches);
    });
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return count;
}

int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys, int key_count,
                     uint64 *heap_fetches) {
    return count_matching(heap, index, snapshot, keys, key_count, true, heap_fetches);
}

static void count_batch_on_pages(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                                 const RangeReader &reader, int64 *counts) {
    const client::PagedRequest request = client::begin_paged(client::RequestKind::CountKary, reader.count);
    uint64 heap_fetches;
    // A forced path is asked about each range.
    const bool is_counted =
        !is_path_forced() && reader.count > 0 && with_key_type(format.width, [&](auto key) {
            return count_by_rank<decltype(key)>(heap, index, format, snapshot, nullptr, &reader, counts,
                                                &heap_fetches);
        });
    if (!is_counted) {
        // The map tells once whether it is worth asking for each range.
        const bool by_rank = is_table_all_visible(heap);
        for_each_range(reader, [&](uint32 i, const ScanKeyData *keys, int key_count) {
            counts[i] = count_matching(heap, index, snapshot, keys, key_count, by_rank, &heap_fetches);
            return true;
        });
    }
    client::end_paged(request);
}

void count_batch(Relation heap, Relation index, Snapshot snapshot, const RangeReader &reader, int64 *counts) {
    const KeyFormat format = key_format(index);
    const bool answered = with_key_type(format.width, [&](auto key) {
        return count_batch_on_server<decltype(key)>(heap, index, format, snapshot, reader, counts);
    });
    if (answered)
        return;
    count_batch_on_pages(heap, index, format, snapshot, reader, counts);
    client::note_request_done(index, client::RequestKind::CountKary);
}

}  // namespace pg_gpu::kary
