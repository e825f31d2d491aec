// Blocks that aren't all-visible are read, the keys of their invisible rows are looked up in the index. Keys
// of dead line pointers are told by dead_entries.h, or by a look at all of the index's TIDs.
#include "kary/invisible_entries.h"

#include <algorithm>

#include "compat.h"
#include "kary/dead_entries.h"
#include "settings.h"
#include "table/row_visibility.h"

namespace pg_gpu::kary {

namespace {

// What takes as long as to look at one entry of a count (about 12 ns), or at so many.
constexpr uint64 kCostOfLook = 4;     // at a page's LSN
constexpr uint64 kCostOfPage = 300;   // at all rows of a page
constexpr uint64 kCostOfSearch = 64;  // for a key in a run
// TIDs of the whole index that are compared meanwhile.
constexpr uint64 kTidsPerEntry = 8;

template <typename Key>
struct Finder {
    Relation heap;
    Relation index;
    const KeyFormat *format;
    const storage::RunKind *kind;
    Snapshot snapshot;
    const storage::View *view;
    const storage::TailCopy *tail;
    uint64 budget;

    BlockNumber *blocks;  // that must be read
    uint64 block_count;
    uint64 block_room;
    InvisibleEntry<Key> *candidates;
    uint64 count;
    uint64 room;
    uint64 *unknown;  // places of dead line pointers that nothing is known of
    uint64 unknown_count;
    uint64 unknown_room;
};

template <typename Value>
void append(Value **values, uint64 *count, uint64 *room, const Value &value) {
    if (*count == *room) {
        *room = Max(*room * 2, uint64{256});
        *values = *values == nullptr ? allocate<Value>(*room) : reallocate(*values, *room);
    }
    (*values)[(*count)++] = value;
}

}  // namespace

bool may_find_invisible(Relation heap, Snapshot snapshot) {
    return block_facts_enabled() && is_heap_table(heap) && snapshot->snapshot_type == SNAPSHOT_MVCC &&
           // Each row read must be locked, or looked at for conflicts.
           !IsolationIsSerializable() &&
           // Rows that this snapshot sees may be gone.
           !do_snapshots_expire();
}

// ---- which blocks -----------------------------------------------------------------------------------------

// Lists the blocks that aren't all-visible and of which facts don't tell that all their entries are of
// visible rows; false when there are too many.
template <typename Key>
static bool list_blocks(Finder<Key> *finder, RowVisibility *rows) {
    VisibilityMap map;
    open_visibility(&map, finder->heap);
    const BlockNumber blocks = RelationGetNumberOfBlocks(finder->heap);
    uint64 looks = 0;
    bool pays = true;
    for (uint32 group = 0; pays && uint64{group} * table::kGroupBlocks < blocks; group++) {
        const BlockNumber first = group * table::kGroupBlocks;
        uint64 hidden = ~all_visible_in_group(&map, group);
        if (blocks - first < table::kGroupBlocks)
            hidden &= low_bits<uint64>(static_cast<int>(blocks - first));
        if (hidden == 0)
            continue;
        hidden &= ~find_plain_blocks(rows, group, hidden, &looks);
        for (uint64 left = hidden; left != 0; left &= left - 1)
            append(&finder->blocks, &finder->block_count, &finder->block_room,
                   first + static_cast<BlockNumber>(__builtin_ctzll(left)));
        pays = looks * kCostOfLook + finder->block_count * kCostOfPage <= finder->budget;
    }
    close_visibility(&map);
    return pays;
}

// ---- what entries there can be ----------------------------------------------------------------------------

// Can a row that nobody sees any more tell its key? What TOAST has of it may be gone, and an expression may
// fail.
static bool tell_rows_their_keys(Relation heap, Relation index, const KeyFormat &format) {
    if (format.lossy != 0)
        return false;
    for (int i = 0; i < format.column_count; i++) {
        const AttrNumber column = index->rd_index->indkey.values[i];
        if (column <= 0 || TupleDescAttr(RelationGetDescr(heap), column - 1)->attlen <= 0)
            return false;
    }
    return true;
}

template <typename Key>
static void add_candidate(Finder<Key> *finder, NullMask nulls, Key key, const ItemPointerData &tid) {
    append(&finder->candidates, &finder->count, &finder->room, InvisibleEntry<Key>{nulls, key, tid});
}

template <typename Key>
static void add_tuple(Finder<Key> *finder, HeapTupleHeader header, uint32 length,
                      const ItemPointerData &tid) {
    HeapTupleData tuple = {};
    tuple.t_len = length;
    tuple.t_data = header;
    tuple.t_tableOid = RelationGetRelid(finder->heap);
    tuple.t_self = tid;
    Datum values[kMaxColumns];
    bool is_null[kMaxColumns];
    for (int i = 0; i < finder->format->column_count; i++)
        values[i] = heap_getattr(&tuple, finder->index->rd_index->indkey.values[i],
                                 RelationGetDescr(finder->heap), &is_null[i]);
    NullMask nulls;
    const Key key = encode_row<Key>(*finder->format, values, is_null, &nulls);
    add_candidate(finder, nulls, key, tid);
}

// The rows that an entry of this line pointer can have been made of: all that its chain leads to. Those that
// others have taken the place of since do no harm, because no entry with their keys leads here.
template <typename Key>
static void add_chain(Finder<Key> *finder, Page page, BlockNumber block, OffsetNumber root) {
    ItemPointerData tid;
    ItemPointerSet(&tid, block, root);
    const OffsetNumber last = PageGetMaxOffsetNumber(page);
    OffsetNumber offset = root;
    for (int steps = 0; offset >= FirstOffsetNumber && offset <= last && steps <= last; steps++) {
        const ItemId item = PageGetItemId(page, offset);
        if (ItemIdIsRedirected(item)) {
            offset = static_cast<OffsetNumber>(ItemIdGetRedirect(item));
            continue;
        }
        if (!ItemIdIsNormal(item))
            break;
        auto *header = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
        if (offset != root && !HeapTupleHeaderIsHeapOnly(header))
            break;
        add_tuple(finder, header, ItemIdGetLength(item), tid);
        if (ItemPointerGetBlockNumberNoCheck(&header->t_ctid) != block ||
            ItemPointerGetOffsetNumberNoCheck(&header->t_ctid) == offset)
            break;
        offset = ItemPointerGetOffsetNumberNoCheck(&header->t_ctid);
    }
}

template <typename Key>
static void add_dead_pointer(Finder<Key> *finder, const DeadEntries &known, BlockNumber block,
                             OffsetNumber offset) {
    ItemPointerData tid;
    ItemPointerSet(&tid, block, offset);
    const uint64 place = place_of_tid(tid);
    const DeadEntry *entry = find_dead_entry(known, place);
    if (entry == nullptr)
        append(&finder->unknown, &finder->unknown_count, &finder->unknown_room, place);
    for (; entry != nullptr && entry < known.entries + known.count && entry->place == place; entry++)
        if (!entry->absent)
            add_candidate(finder, entry->nulls, key_from<Key>(static_cast<Bits<Key>>(entry->key.bits())),
                          tid);
}

// Would it take too long to look for the candidates in the runs?
template <typename Key>
static bool are_too_many(const Finder<Key> &finder) {
    const uint64 sources = static_cast<uint64>(finder.view->run_count) + 1;
    return (finder.count + finder.unknown_count) * sources * kCostOfSearch > finder.budget;
}

// Reads the blocks; false when a row can't tell its key, or there are too many.
template <typename Key>
static bool read_blocks(Finder<Key> *finder, RowVisibility *rows) {
    const bool rows_tell = tell_rows_their_keys(finder->heap, finder->index, *finder->format);
    auto *copy = allocate<PGAlignedBlock>(1);
    bool told = true;
    for (uint64 i = 0; told && !are_too_many(*finder) && i < finder->block_count; i++) {
        uint64 invisible[table::kMaxRowWords];
        if (!find_invisible(rows, finder->blocks[i], copy->data, invisible))
            continue;
        // Looked for each time, because reading a page may take in messages.
        const DeadEntries &known = *known_dead_entries(finder->index, finder->view->vacuum_seq);
        for (uint32 word = 0; word < table::kMaxRowWords; word++)
            for (uint64 left = invisible[word]; told && left != 0; left &= left - 1) {
                const auto offset = static_cast<OffsetNumber>(
                    word * 64 + static_cast<uint32>(__builtin_ctzll(left)) + FirstOffsetNumber);
                if (ItemIdIsDead(PageGetItemId(copy->data, offset)))
                    add_dead_pointer(finder, known, finder->blocks[i], offset);
                else if (rows_tell)
                    add_chain(finder, copy->data, finder->blocks[i], offset);
                else
                    told = false;
            }
    }
    pfree(copy);
    return told && !are_too_many(*finder);
}

// ---- which of them there are ------------------------------------------------------------------------------

template <typename Key>
static bool comes_before(const InvisibleEntry<Key> &a, const InvisibleEntry<Key> &b) {
    if (a.nulls != b.nulls)
        return a.nulls < b.nulls;
    if (!(a.key == b.key))
        return a.key < b.key;
    return place_of_tid(a.tid) < place_of_tid(b.tid);
}

template <typename Key>
static bool is_same(const InvisibleEntry<Key> &a, const InvisibleEntry<Key> &b) {
    return a.nulls == b.nulls && a.key == b.key && place_of_tid(a.tid) == place_of_tid(b.tid);
}

template <typename Key>
static void sort_candidates(Finder<Key> *finder) {
    std::sort(finder->candidates, finder->candidates + finder->count, comes_before<Key>);
    finder->count = static_cast<uint64>(
        std::unique(finder->candidates, finder->candidates + finder->count, is_same<Key>) -
        finder->candidates);
}

template <typename Key>
static void find_in_tail(const Finder<Key> &finder, bool *listed) {
    const InvisibleEntry<Key> *end = finder.candidates + finder.count;
    for_each_tail_item<Key>(finder.tail->items, finder.tail->bytes, is_composite(*finder.format),
                            [&](Key key, NullMask nulls, const ItemPointerData &tid) {
                                const InvisibleEntry<Key> entry = {nulls, key, tid};
                                const auto *found = std::lower_bound<const InvisibleEntry<Key> *>(
                                    finder.candidates, end, entry, comes_before<Key>);
                                if (found != end && is_same(*found, entry))
                                    listed[found - finder.candidates] = true;
                            });
}

// As ranks count it: they look at the dead bitmap of runs that have dead entries.
static bool is_counted(Relation index, const storage::RunEntry &run, uint64 ordinal, bool *counted,
                       uint32 *position) {
    uint64 dead = 0;
    if (run.dead > 0) {
        *position = run.sections[storage::kDeadBitmapSection].first_page;
        if (!storage::read_dead_bits(index, run, ordinal, 1, &dead))
            return false;
    }
    *counted = (dead & 1) == 0;
    return true;
}

template <typename Key>
static bool find_in_run(const Finder<Key> &finder, const storage::RunEntry &run, bool *listed,
                        uint32 *position) {
    Partition *partitions;
    int partition_count;
    bool sound =
        read_partitions<Key>(finder.index, *finder.format, run, &partitions, &partition_count, position);
    uint64 at = 0;
    // Both are in the order of their NULLs.
    for (int i = 0; sound && i < partition_count; i++) {
        const Partition &partition = partitions[i];
        for (; at < finder.count && finder.candidates[at].nulls < partition.nulls; at++) {}
        for (; sound && at < finder.count && finder.candidates[at].nulls == partition.nulls; at++) {
            CHECK_FOR_INTERRUPTS();
            const InvisibleEntry<Key> &entry = finder.candidates[at];
            bool found;
            bool counted = false;
            uint64 ordinal;
            sound = find_entry<Key>(finder.index, run, partition, entry.key, entry.tid, &found, &ordinal,
                                    position) &&
                    (!found || is_counted(finder.index, run, ordinal, &counted, position));
            listed[at] = listed[at] || (sound && found && counted);
        }
    }
    pfree(partitions);
    return sound;
}

// Keeps the candidates that the view has entries of; false when a page was recycled.
template <typename Key>
static bool keep_listed(Finder<Key> *finder) {
    auto *listed = allocate_zeroed<bool>(finder->count + 1);
    find_in_tail(*finder, listed);
    bool sound = true;
    for (int i = 0; sound && i < finder->view->run_count; i++) {
        uint32 position = 0;
        sound = find_in_run(*finder, finder->view->runs[i], listed, &position);
        if (!sound)
            storage::confirm_recycled(finder->index, finder->kind, *finder->view, finder->view->runs[i],
                                      position);
    }
    uint64 kept = 0;
    for (uint64 i = 0; i < finder->count; i++)
        if (listed[i])
            finder->candidates[kept++] = finder->candidates[i];
    finder->count = kept;
    pfree(listed);
    return sound;
}

// ---- learning the keys of dead line pointers --------------------------------------------------------------

namespace {

// Line pointers that are looked for, and what was found.
struct Wanted {
    const uint64 *places;  // sorted
    uint64 count;
    uint64 *blocks;  // a bit for each block of the table that has one
    BlockNumber block_count;
    DeadEntry *found;
    uint64 found_count;
    uint64 found_room;
};

}  // namespace

static bool is_wanted(const Wanted &wanted, const ItemPointerData &tid) {
    const BlockNumber block = ItemPointerGetBlockNumberNoCheck(&tid);
    return block < wanted.block_count && (wanted.blocks[block / 64] >> (block % 64) & 1) != 0 &&
           std::binary_search(wanted.places, wanted.places + wanted.count, place_of_tid(tid));
}

template <typename Key>
static void note_found(Wanted *wanted, const ItemPointerData &tid, NullMask nulls, Key key) {
    append(&wanted->found, &wanted->found_count, &wanted->found_room,
           DeadEntry{place_of_tid(tid), Key128::from(bits_of(key)), nulls, false});
}

static NullMask nulls_of(const Partition *partitions, int count, uint64 ordinal) {
    int i = 0;
    while (i + 1 < count && partitions[i + 1].first <= ordinal)
        i++;
    return partitions[i].nulls;
}

// Looks at a leaf's TIDs; those that were found among them are the batch.
template <typename Key>
static bool look_at_leaf(const Finder<Key> &finder, const storage::RunEntry &run, uint32 leaf,
                         const Partition *partitions, int partition_count, Wanted *wanted, uint32 *position) {
    uint16 places[kLeafCapacity<Key>];
    Key keys[kLeafCapacity<Key>];
    ItemPointerData tids[kLeafCapacity<Key>];
    uint32 count = 0;
    *position = run.sections[kLeafSection].first_page + leaf;
    const storage::RunPage page = read_leaf<Key>(finder.index, run, leaf);
    if (page.page == nullptr)
        return false;
    const uint32 entries = leaf_entries<Key>(run, leaf);
    const ItemPointerData *all = leaf_tids<Key>(page.page, entries);
    for (uint32 i = 0; i < entries; i++)
        if (unlikely(is_wanted(*wanted, all[i]))) {
            places[count] = static_cast<uint16>(i);
            keys[count] = leaf_keys<Key>(page.page)[i];
            tids[count++] = all[i];
        }
    storage::release_run_page(page);
    for (uint32 i = 0; i < count; i++) {
        const uint64 ordinal = static_cast<uint64>(leaf) * kLeafCapacity<Key> + places[i];
        bool counted;
        if (!is_counted(finder.index, run, ordinal, &counted, position))
            return false;
        if (counted)
            note_found(wanted, tids[i], nulls_of(partitions, partition_count, ordinal), keys[i]);
    }
    return true;
}

template <typename Key>
static bool look_at_run(const Finder<Key> &finder, const storage::RunEntry &run, Wanted *wanted,
                        uint32 *position) {
    Partition *partitions;
    int partition_count;
    bool sound =
        read_partitions<Key>(finder.index, *finder.format, run, &partitions, &partition_count, position);
    for (uint32 leaf = 0; sound && leaf < leaf_pages<Key>(run); leaf++) {
        CHECK_FOR_INTERRUPTS();
        sound = look_at_leaf(finder, run, leaf, partitions, partition_count, wanted, position);
    }
    pfree(partitions);
    return sound;
}

// Looks at all entries of a new view; false when a page was recycled.
template <typename Key>
static bool look_at_view(const Finder<Key> &finder, const storage::View &view, const storage::TailCopy &tail,
                         Wanted *wanted) {
    wanted->found_count = 0;
    for_each_tail_item<Key>(tail.items, tail.bytes, is_composite(*finder.format),
                            [&](Key key, NullMask nulls, const ItemPointerData &tid) {
                                if (is_wanted(*wanted, tid))
                                    note_found(wanted, tid, nulls, key);
                            });
    for (int i = 0; i < view.run_count; i++) {
        uint32 position = 0;
        if (!look_at_run(finder, view.runs[i], wanted, &position)) {
            storage::confirm_recycled(finder.index, finder.kind, view, view.runs[i], position);
            return false;
        }
    }
    return true;
}

static void mark_blocks(Wanted *wanted) {
    wanted->block_count = static_cast<BlockNumber>(wanted->places[wanted->count - 1] >> 16) + 1;
    wanted->blocks = allocate_zeroed<uint64>(wanted->block_count / 64 + 1);
    for (uint64 i = 0; i < wanted->count; i++) {
        const auto block = static_cast<BlockNumber>(wanted->places[i] >> 16);
        wanted->blocks[block / 64] |= UINT64CONST(1) << (block % 64);
    }
}

// Those without an entry.
static void add_absent(Wanted *wanted) {
    std::sort(wanted->found, wanted->found + wanted->found_count,
              [](const DeadEntry &a, const DeadEntry &b) { return a.place < b.place; });
    const uint64 found = wanted->found_count;
    uint64 at = 0;
    for (uint64 i = 0; i < wanted->count; i++) {
        for (; at < found && wanted->found[at].place < wanted->places[i]; at++) {}
        if (at == found || wanted->found[at].place != wanted->places[i])
            append(&wanted->found, &wanted->found_count, &wanted->found_room,
                   DeadEntry{wanted->places[i], {}, 0, true});
    }
}

// Looks for the entries of the unknown line pointers in a view that is younger than the look at their pages,
// so that what it doesn't have will never be. It tells nothing if a VACUUM has ended since the finder's view.
template <typename Key>
static void learn(Finder<Key> *finder) {
    std::sort(finder->unknown, finder->unknown + finder->unknown_count);
    Wanted wanted = {finder->unknown, finder->unknown_count, nullptr, 0, nullptr, 0, 0};
    mark_blocks(&wanted);
    storage::View view = {};
    storage::KeptRuns kept;
    storage::begin_kept(&kept);
    view.kept = &kept;
    storage::TailCopy tail = {allocate<char>(storage::kContentBytes), 0};
    bool complete = false;
    bool same_seq = true;
    while (same_seq && !complete) {
        CHECK_FOR_INTERRUPTS();
        storage::take_view(finder->index, finder->kind, finder->snapshot, &view, storage::copy_tail, &tail);
        same_seq = view.vacuum_seq == finder->view->vacuum_seq;
        complete = same_seq && look_at_view(*finder, view, tail, &wanted);
    }
    storage::end_kept(&kept);
    if (complete) {
        add_absent(&wanted);
        DeadEntries *known = known_dead_entries(finder->index, view.vacuum_seq);
        known->debt = 0;
        add_dead_entries(known, wanted.found, wanted.found_count);
    }
}

// Learns once the counts that went without knowledge have cost as much as it takes.
template <typename Key>
static Search look_for_unknown(Finder<Key> *finder) {
    uint64 entries = 0;
    for (int i = 0; i < finder->view->run_count; i++)
        entries += finder->view->runs[i].entries;
    DeadEntries *known = known_dead_entries(finder->index, finder->view->vacuum_seq);
    known->debt += finder->budget;
    if (known->debt * kTidsPerEntry < entries || known->count + finder->unknown_count > kMaxDeadEntries)
        return Search::GivenUp;
    learn(finder);
    return Search::Again;
}

// ---- the search -------------------------------------------------------------------------------------------

template <typename Key>
static Search find_entries(Finder<Key> *finder, RowVisibility *rows, uint64 *candidates) {
    if (!list_blocks(finder, rows) || !read_blocks(finder, rows))
        return Search::GivenUp;
    if (finder->unknown_count > 0)
        return look_for_unknown(finder);
    sort_candidates(finder);
    *candidates = finder->count;
    return keep_listed(finder) ? Search::Found : Search::Again;
}

template <typename Key>
Search find_invisible_entries(Relation heap, Relation index, const KeyFormat &format, Snapshot snapshot,
                              const storage::View &view, const storage::TailCopy &tail, uint64 budget,
                              InvisibleEntries<Key> *invisible) {
    Finder<Key> finder = {};
    finder.heap = heap;
    finder.index = index;
    finder.format = &format;
    finder.kind = run_kind_of<Key>(is_composite(format));
    finder.snapshot = snapshot;
    finder.view = &view;
    finder.tail = &tail;
    finder.budget = budget;
    RowVisibility rows;
    open_row_visibility(&rows, heap, snapshot);
    *invisible = {};
    const Search search = find_entries(&finder, &rows, &invisible->candidates);
    close_row_visibility(&rows);
    invisible->entries = finder.candidates;
    invisible->count = finder.count;
    return search;
}

#define INSTANTIATE(Key)                                                                             \
    template Search find_invisible_entries(Relation, Relation, const KeyFormat &, Snapshot,          \
                                           const storage::View &, const storage::TailCopy &, uint64, \
                                           InvisibleEntries<Key> *);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
