#include "kary/entry_search.h"

#include <algorithm>

namespace pg_gpu::kary {

// The cost of searching a run for a key, in entries looked at one by one.
static constexpr uint64 kCostOfSearch = 64;

namespace {

template <typename Key>
struct Entry {
    NullMask nulls;
    Key key;
    ItemPointerData tid;
};

// Entries that are searched for, each once, and which of them were found.
template <typename Key>
struct Search {
    const CopiedView *view;
    CountedBy counted_by;
    Entry<Key> *entries;  // sorted
    uint64 count;
    bool *listed;
};

}  // namespace

template <typename Key>
static bool comes_before(const Entry<Key> &a, const Entry<Key> &b) {
    if (a.nulls != b.nulls)
        return a.nulls < b.nulls;
    if (!(a.key == b.key))
        return a.key < b.key;
    return encode_tid(a.tid) < encode_tid(b.tid);
}

template <typename Key>
static bool is_same(const Entry<Key> &a, const Entry<Key> &b) {
    return a.nulls == b.nulls && a.key == b.key && encode_tid(a.tid) == encode_tid(b.tid);
}

template <typename Key>
static void read_entries(const EntryRows &rows, Search<Key> *search) {
    search->entries = allocate<Entry<Key>>(rows.count + 1);
    for (uint64 i = 0; i < rows.count; i++) {
        const uint64 *row = row_at(rows, i);
        Entry<Key> *entry = &search->entries[i];
        *entry = {entry_nulls(row), entry_key<Key>(row), {}};
        ItemPointerSet(&entry->tid, static_cast<BlockNumber>(row[0] >> 16),
                       static_cast<OffsetNumber>(row[0] & 0xffff));
    }
    std::sort(search->entries, search->entries + rows.count, comes_before<Key>);
    search->count = static_cast<uint64>(
        std::unique(search->entries, search->entries + rows.count, is_same<Key>) - search->entries);
    search->listed = allocate_zeroed<bool>(search->count + 1);
}

template <typename Key>
static void find_in_tail(Search<Key> *search) {
    const Entry<Key> *end = search->entries + search->count;
    const CopiedView &view = *search->view;
    for_each_tail_tuple<Key>(view.tail.tail_tuples, view.tail.bytes, is_composite(*view.format),
                             [&](Key key, NullMask nulls, const ItemPointerData &tid) {
                                 const Entry<Key> entry = {nulls, key, tid};
                                 const auto *found = std::lower_bound<const Entry<Key> *>(
                                     search->entries, end, entry, comes_before<Key>);
                                 if (found != end && is_same(*found, entry))
                                     search->listed[found - search->entries] = true;
                             });
}

// Is the entry dead? Ranks look at the dead bitmap of runs that have dead entries alone.
static bool read_dead_bit(Relation index, const storage::RunEntry &run, uint64 ordinal, CountedBy counted_by,
                          bool *dead, uint32 *position) {
    uint64 bits = 0;
    if (run.dead > 0 || counted_by == CountedBy::Server) {
        *position = run.sections[storage::kDeadBitmapSection].first_page;
        if (!storage::read_dead_bits(index, run, ordinal, 1, &bits))
            return false;
    }
    *dead = (bits & 1) != 0;
    return true;
}

template <typename Key>
static Outcome find_in_run(Search<Key> *search, const storage::RunEntry &run, uint32 *position) {
    Relation index = search->view->index;
    Partition *partitions;
    int partition_count;
    bool valid =
        read_partitions<Key>(index, *search->view->format, run, &partitions, &partition_count, position);
    bool may_be_counted = false;
    uint64 at = 0;
    // Both are in the order of their NULLs.
    for (int i = 0; valid && i < partition_count; i++) {
        const Partition &partition = partitions[i];
        for (; at < search->count && search->entries[at].nulls < partition.nulls; at++) {}
        for (; valid && at < search->count && search->entries[at].nulls == partition.nulls; at++) {
            CHECK_FOR_INTERRUPTS();
            const Entry<Key> &entry = search->entries[at];
            bool found;
            bool dead = false;
            uint64 ordinal;
            valid =
                find_entry<Key>(index, run, partition, entry.key, entry.tid, &found, &ordinal, position) &&
                (!found || read_dead_bit(index, run, ordinal, search->counted_by, &dead, position));
            search->listed[at] = search->listed[at] || (valid && found && !dead);
            may_be_counted = may_be_counted || (dead && search->counted_by == CountedBy::Server);
        }
    }
    pfree(partitions);
    return !valid ? Outcome::Again : may_be_counted ? Outcome::Unknown : Outcome::Counted;
}

static const CopiedView &view_of(const void *source) {
    return *static_cast<const CopiedView *>(source);
}

// Leaves those of the entries that were counted in the view, by NULLs and key.
template <typename Key>
static Outcome keep_listed(const void *source, CountedBy counted_by, EntryRows *entries, uint64) {
    const CopiedView &view = view_of(source);
    Search<Key> search = {&view, counted_by, nullptr, 0, nullptr};
    read_entries(*entries, &search);
    find_in_tail(&search);
    Outcome outcome = Outcome::Counted;
    for (int i = 0; outcome == Outcome::Counted && i < view.view.run_count; i++) {
        uint32 position = 0;
        outcome = find_in_run(&search, view.view.runs[i], &position);
        if (outcome == Outcome::Again)
            storage::confirm_recycled(view.index, view.kind, view.view, view.view.runs[i], position);
    }
    entries->count = 0;
    for (uint64 i = 0; i < search.count; i++) {
        const Entry<Key> &entry = search.entries[i];
        if (search.listed[i])
            put_entry(entry.nulls, entry.key, entry.tid, add_row(entries));
    }
    pfree(search.entries);
    pfree(search.listed);
    return outcome;
}

// ---- entries of wanted line pointers ----------------------------------------------------------------------

static NullMask nulls_of(const Partition *partitions, int count, uint64 ordinal) {
    int i = 0;
    while (i + 1 < count && partitions[i + 1].first <= ordinal)
        i++;
    return partitions[i].nulls;
}

// Looks at a leaf's TIDs.
template <typename Key>
static bool look_at_leaf(const CopiedView &view, const storage::RunEntry &run, uint32 leaf,
                         const Partition *partitions, int partition_count, WantedPointers *wanted,
                         uint32 *position) {
    *position = run.sections[kLeafSection].first_page + leaf;
    const storage::RunPage page = read_leaf<Key>(view.index, run, leaf);
    if (page.page == nullptr)
        return false;
    const uint32 entries = leaf_entries<Key>(run, leaf);
    const ItemPointerData *all = leaf_tids<Key>(page.page, entries);
    for (uint32 i = 0; i < entries; i++)
        if (unlikely(is_wanted(*wanted, all[i])))
            put_entry(nulls_of(partitions, partition_count, uint64{leaf} * kLeafCapacity<Key> + i),
                      leaf_keys<Key>(page.page)[i], all[i], note_wanted(wanted, all[i]));
    storage::release_run_page(page);
    return true;
}

template <typename Key>
static bool look_at_run(const CopiedView &view, const storage::RunEntry &run, WantedPointers *wanted,
                        uint32 *position) {
    Partition *partitions;
    int partition_count;
    bool valid = read_partitions<Key>(view.index, *view.format, run, &partitions, &partition_count, position);
    for (uint32 leaf = 0; valid && leaf < leaf_pages<Key>(run); leaf++) {
        CHECK_FOR_INTERRUPTS();
        valid = look_at_leaf<Key>(view, run, leaf, partitions, partition_count, wanted, position);
    }
    pfree(partitions);
    return valid;
}

template <typename Key>
static bool look_for(const void *source, WantedPointers *wanted) {
    const CopiedView &view = view_of(source);
    for_each_tail_tuple<Key>(view.tail.tail_tuples, view.tail.bytes, is_composite(*view.format),
                             [&](Key key, NullMask nulls, const ItemPointerData &tid) {
                                 if (is_wanted(*wanted, tid))
                                     put_entry(nulls, key, tid, note_wanted(wanted, tid));
                             });
    for (int i = 0; i < view.view.run_count; i++) {
        uint32 position = 0;
        if (!look_at_run<Key>(view, view.view.runs[i], wanted, &position)) {
            storage::confirm_recycled(view.index, view.kind, view.view, view.view.runs[i], position);
            return false;
        }
    }
    return true;
}

// ---- all of them together ---------------------------------------------------------------------------------

template <typename Key>
static void encode_entry(const void *source, const Datum *values, const bool *is_null,
                         const ItemPointerData &tid, uint64 *row) {
    NullMask nulls;
    const Key key = encode_row<Key>(*view_of(source).format, values, is_null, &nulls);
    put_entry(nulls, key, tid, row);
}

template <typename Key>
EntryCounter entry_counter_of(Relation heap, Snapshot snapshot, const CopiedView &view, CountedBy counted_by,
                              uint32 count) {
    EntryCounter counter = {};
    counter.heap = heap;
    counter.index = view.index;
    counter.kind = view.kind;
    counter.snapshot = snapshot;
    counter.count = count;
    counter.view = &view.view;
    counter.row_words = kEntryWords;
    counter.rows_identify_entries = view.format->lossy == 0 && do_rows_identify_entries(heap, view.index);
    counter.search_cost = kCostOfSearch;
    counter.source = &view;
    counter.counted_by = counted_by;
    counter.encode = encode_entry<Key>;
    counter.keep_listed = keep_listed<Key>;
    counter.look_for = look_for<Key>;
    return counter;
}

#define INSTANTIATE(Key) \
    template EntryCounter entry_counter_of<Key>(Relation, Snapshot, const CopiedView &, CountedBy, uint32);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
