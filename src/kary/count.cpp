// Counting uses ranks where the whole table is all-visible, TIDs where it is not, and rows where keys don't
// tell values.
#include "kary/checked_rows.h"
#include "kary/condition.h"
#include "kary/mirror.h"
#include "kary/range_counts.h"
#include "keys/search.h"
#include "storage/sealed_tail.h"
#include "table/visible_count.h"

namespace pg_gpu::kary {

// ---- all-visible tables: no per-entry work ----------------------------------------------------------------

template <typename Key>
struct TailCount {
    const KeyFormat *format;
    const Condition<Key> *condition;
    uint64 matches;
};

template <typename Key>
static void count_tail(const char *items, uint32 bytes, void *context) {
    auto *count = static_cast<TailCount<Key> *>(context);
    count->matches = 0;
    for_each_tail_item<Key>(items, bytes, is_composite(*count->format),
                            [count](Key key, NullMask nulls, const ItemPointerData &) {
                                count->matches +=
                                    matches(*count->format, *count->condition, nulls, key) ? 1 : 0;
                            });
}

// Counts the dead entries among ordinals [first, end). Returns false when a page was recycled.
static bool count_dead(Relation index, const storage::RunEntry &run, uint64 first, uint64 end, uint64 *dead) {
    constexpr uint32 kStep = storage::kDeadBitsPerPage;
    auto *bits = allocate<uint64>(kStep / 64 + 1);
    bool sound = true;
    while (sound && first < end) {
        const uint32 here = static_cast<uint32>(Min(end - first, uint64{kStep}));
        sound = storage::read_dead_bits(index, run, first, here, bits);
        for (uint32 i = 0; sound && i < (here + 63) / 64; i++)
            *dead += static_cast<uint64>(__builtin_popcountll(bits[i]));
        first += here;
        CHECK_FOR_INTERRUPTS();
    }
    pfree(bits);
    return sound;
}

// Counts the live entries of one run that match. Returns false when a page was recycled.
template <typename Key>
static bool count_run(Relation index, const KeyFormat &format, const storage::RunEntry &run,
                      const Condition<Key> &condition, uint64 *count, uint32 *position) {
    Partition *partitions;
    int partition_count;
    bool sound = read_partitions<Key>(index, format, run, &partitions, &partition_count, position);
    for (int i = 0; sound && i < partition_count; i++) {
        const Partition &partition = partitions[i];
        if (!wants(condition, partition.nulls))
            continue;
        const Ranges<Key> ranges = ranges_in(format, condition, partition.nulls);
        uint64 first;
        uint64 end;
        sound = find_ordinal<Key>(index, run, partition, ranges.low, Bound::Lower, &first, position) &&
                find_ordinal<Key>(index, run, partition, ranges.high, Bound::Upper, &end, position);
        if (!sound || end <= first)
            continue;
        uint64 dead = 0;
        if (run.dead > 0) {
            *position = run.sections[storage::kDeadBitmapSection].first_page;
            sound = count_dead(index, run, first, end, &dead);
        }
        *count += end - first - dead;
    }
    pfree(partitions);
    return sound;
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

// Counts in one view; false when a page was recycled.
template <typename Key>
static bool count_in_view(Relation index, const storage::RunKind *kind, const KeyFormat &format,
                          Snapshot snapshot, const Condition<Key> &condition, storage::View *view,
                          uint64 *count) {
    TailCount<Key> tail = {&format, &condition, 0};
    storage::take_view(index, kind, snapshot, view, count_tail<Key>, &tail);
    *count = tail.matches;
    return count_in_runs(index, kind, format, condition, *view, count);
}

// By the rule "Trust", entries are read first, then the visibility map, then vacuum_seq again.
static bool may_trust(Relation heap, Relation index, const storage::RunKind *kind,
                      const storage::View &view) {
    return is_table_all_visible(heap) && storage::read_vacuum_seq(index, kind) == view.vacuum_seq;
}

// Counts in one view of an all-visible table; false when the table is not, or a VACUUM ended meanwhile.
template <typename Key>
static bool count_by_rank(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                          const Condition<Key> &condition, int64 *result) {
    const storage::RunKind *kind = run_kind_of<Key>(is_composite(format));
    storage::View view = {};
    storage::KeptRuns kept;
    storage::begin_kept(&kept);
    view.kept = &kept;
    uint64 count = 0;
    while (!count_in_view(index, kind, format, snapshot, condition, &view, &count))
        CHECK_FOR_INTERRUPTS();
    storage::end_kept(&kept);
    const bool sound = may_trust(heap, index, kind, view);
    if (view.runs != nullptr)
        pfree(view.runs);
    *result = static_cast<int64>(count);
    if (sound)
        pgstat_count_index_scan(index);
    return sound;
}

// The same for points and filters: entries are counted one by one, but nothing is looked up.
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
                           const Condition<Key> &condition, bool may_be_all_visible, uint64 *heap_fetches) {
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
    if (may_be_all_visible && (condition.has_points || condition.filter_count > 0
                                   ? count_one_by_one(heap, index, kind, snapshot, condition, &result)
                                   : count_by_rank(heap, index, format, snapshot, condition, &result)))
        return result;
    // What the ranks gave is a good guess at the entries to be looked at.
    if (count_on_server(heap, index, format, snapshot, condition, static_cast<uint64>(result), &result,
                        heap_fetches))
        return result;

    Counted<Key> counted = {heap, index, snapshot, &condition};
    result = count_by_tid(heap, index, kind, snapshot, collect_counted<Key>, &counted, heap_fetches);
    client::note_request_done(index, client::RequestKind::Count);
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

// All ranges in one request; false when one of them is more than a range of keys, or no server answers.
template <typename Key>
static bool count_batch_on_server(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                                  const RangeReader &reader, int64 *counts) {
    if (!may_ask_server(reader.count, kFewestRanges))
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

// Counts all ranges in one view of an all-visible table, so that the visibility map is read once for all of
// them; false when the table isn't, the view went stale, or one of them is more than a range.
template <typename Key>
static bool count_batch_by_rank(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                                const RangeReader &reader, int64 *counts) {
    const storage::RunKind *kind = run_kind_of<Key>(is_composite(format));
    storage::View view = {};
    storage::TailCopy tail = {allocate<char>(storage::kContentBytes), 0};
    storage::take_view(index, kind, snapshot, &view, storage::copy_tail, &tail);
    const bool counted = for_each_range(reader, [&](uint32 i, const ScanKeyData *keys, int key_count) {
        Condition<Key> condition;
        make_condition(format, keys, key_count, &condition);
        TailCount<Key> in_tail = {&format, &condition, 0};
        bool sound = true;
        if (!condition.nothing) {
            sound = !condition.recheck && !condition.has_points && condition.filter_count == 0;
            count_tail<Key>(tail.items, tail.bytes, &in_tail);
            sound = sound && count_in_runs(index, kind, format, condition, view, &in_tail.matches);
        }
        counts[i] = static_cast<int64>(in_tail.matches);
        return sound;
    });
    const bool sound = counted && may_trust(heap, index, kind, view);
    if (sound)
        pgstat_count_index_scan(index);
    if (view.runs != nullptr)
        pfree(view.runs);
    pfree(tail.items);
    return sound;
}

static int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys,
                            int key_count, bool may_be_all_visible, uint64 *heap_fetches) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_kary count", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    const KeyFormat format = key_format(index);
    ScanKeyData *detoasted = detoast_arrays(format, keys, key_count);
    const int64 count = with_key_type(format.width, [&](auto key) {
        Condition<decltype(key)> condition;
        make_condition(format, detoasted, key_count, &condition);
        return condition.recheck ? count_checked(heap, index, format, snapshot, condition, detoasted,
                                                 key_count, heap_fetches)
                                 : count_visible(heap, index, format, snapshot, condition, may_be_all_visible,
                                                 heap_fetches);
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
    const client::PagedRequest request = client::begin_paged(client::RequestKind::Count, reader.count);
    // A forced path is asked about each range.
    const bool all_visible = is_table_all_visible(heap);
    const bool is_counted =
        all_visible && !is_path_forced() && with_key_type(format.width, [&](auto key) {
            return count_batch_by_rank<decltype(key)>(heap, index, format, snapshot, reader, counts);
        });
    if (!is_counted)
        for_each_range(reader, [&](uint32 i, const ScanKeyData *keys, int key_count) {
            uint64 heap_fetches;
            counts[i] = count_matching(heap, index, snapshot, keys, key_count, all_visible, &heap_fetches);
            return true;
        });
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
    client::note_request_done(index, client::RequestKind::Count);
}

}  // namespace pg_gpu::kary
