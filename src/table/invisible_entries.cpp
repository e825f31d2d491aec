// Blocks that aren't all-visible are read, and the index is searched for entries of their invisible rows.
// dead_entries.h, or a look at all of the index's TIDs, tells the values of entries of dead line pointers.
#include "table/invisible_entries.h"

#include <algorithm>

#include "compat.h"
#include "settings.h"
#include "table/dead_entries.h"
#include "table/row_visibility.h"

namespace pg_gpu::table {

namespace {

// Costs in looks at one entry of a count, which take about 12 ns.
constexpr uint64 kCostOfCheck = 4;   // at a page's LSN
constexpr uint64 kCostOfPage = 300;  // at all rows of a page
// TIDs of the whole index that are compared meanwhile.
constexpr uint64 kTidsPerEntry = 8;

struct Finder {
    const EntryCounter *counter;
    uint64 vacuum_seq;  // the view's
    uint64 budget;
    BlockNumber *blocks;  // blocks that must be read
    uint64 block_count;
    uint64 block_room;
    EntryRows candidates;
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
           // A serializable transaction must lock each row it reads, or look at it for conflicts.
           !IsolationIsSerializable() &&
           // Rows that this snapshot sees may be gone.
           !do_snapshots_expire();
}

// ---- which blocks -----------------------------------------------------------------------------------------

bool may_pay_to_find_invisible(Relation heap, uint64 budget) {
    const BlockNumber blocks = RelationGetNumberOfBlocks(heap);
    if (blocks * kCostOfCheck <= budget)
        return true;
    BlockNumber all_visible;
    visibilitymap_count(heap, &all_visible, nullptr);
    return blocks <= all_visible || (blocks - all_visible) * kCostOfCheck <= budget;
}

// Lists the blocks that aren't all-visible and of which facts don't tell that all their entries are of
// visible rows; false when there are too many.
static bool list_blocks(Finder *finder, RowVisibility *rows) {
    if (!may_pay_to_find_invisible(finder->counter->heap, finder->budget))
        return false;
    VisibilityMap map;
    open_visibility(&map, finder->counter->heap);
    const BlockNumber blocks = RelationGetNumberOfBlocks(finder->counter->heap);
    uint64 checks = 0;
    bool pays = true;
    for (uint32 group = 0; pays && uint64{group} * kGroupBlocks < blocks; group++) {
        const BlockNumber first = group * kGroupBlocks;
        uint64 hidden = ~all_visible_in_group(&map, group);
        if (blocks - first < kGroupBlocks)
            hidden &= (UINT64CONST(1) << (blocks - first)) - 1;
        if (hidden == 0)
            continue;
        hidden &= ~find_plain_blocks(rows, group, hidden, &checks);
        for (uint64 left = hidden; left != 0; left &= left - 1)
            append(&finder->blocks, &finder->block_count, &finder->block_room,
                   first + static_cast<BlockNumber>(__builtin_ctzll(left)));
        pays = checks * kCostOfCheck + finder->block_count * kCostOfPage <= finder->budget;
    }
    close_visibility(&map);
    return pays;
}

// ---- what entries there can be ----------------------------------------------------------------------------

static void add_tuple(Finder *finder, HeapTupleHeader header, uint32 length, const ItemPointerData &tid) {
    const EntryCounter &counter = *finder->counter;
    HeapTupleData tuple = {};
    tuple.t_len = length;
    tuple.t_data = header;
    tuple.t_tableOid = RelationGetRelid(counter.heap);
    tuple.t_self = tid;
    Datum values[INDEX_MAX_KEYS];
    bool is_null[INDEX_MAX_KEYS];
    for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(counter.index); i++)
        values[i] = heap_getattr(&tuple, counter.index->rd_index->indkey.values[i],
                                 RelationGetDescr(counter.heap), &is_null[i]);
    counter.encode(counter.source, values, is_null, tid, add_row(&finder->candidates));
}

// The rows that an entry of this line pointer can have been made of: all that its chain leads to. Those that
// others have taken the place of since do no harm, because no entry of what they have leads here.
static void add_chain(Finder *finder, Page page, BlockNumber block, OffsetNumber root) {
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

static void add_dead_pointer(Finder *finder, const DeadEntries &known, BlockNumber block,
                             OffsetNumber offset) {
    const uint64 words = finder->counter->row_words;
    ItemPointerData tid;
    ItemPointerSet(&tid, block, offset);
    const uint64 encoded_tid = encode_tid(tid);
    const DeadEntry *entry = find_dead_entry(known, encoded_tid);
    if (entry == nullptr)
        append(&finder->unknown, &finder->unknown_count, &finder->unknown_room, encoded_tid);
    for (; entry != nullptr && entry < known.entries + known.count && entry->encoded_tid == encoded_tid;
         entry++)
        if (entry->row != DeadEntry::kNoRow)
            memcpy(add_row(&finder->candidates), known.rows + entry->row * words, words * sizeof(uint64));
}

// Returns whether it would take too long to look for the candidates in the runs.
static bool are_too_many(const Finder &finder) {
    const EntryCounter &counter = *finder.counter;
    const uint64 sources = static_cast<uint64>(counter.view->run_count) + 1;
    const uint64 cost = sources * counter.search_cost + counter.count * counter.subtract_cost;
    return (finder.candidates.count + finder.unknown_count) * cost > finder.budget;
}

// Reads the blocks; false when a row can't tell what its entry has, or there are too many.
static bool read_blocks(Finder *finder, RowVisibility *rows) {
    auto *copy = allocate<PGAlignedBlock>(1);
    bool reported = true;
    for (uint64 i = 0; reported && !are_too_many(*finder) && i < finder->block_count; i++) {
        uint64 invisible[kMaxRowWords];
        if (!find_invisible(rows, finder->blocks[i], copy->data, invisible))
            continue;
        // Looked for each time, because reading a page may take in messages.
        const DeadEntries &known = *known_dead_entries(finder->counter->index, finder->vacuum_seq);
        for (uint32 word = 0; word < kMaxRowWords; word++)
            for (uint64 left = invisible[word]; reported && left != 0; left &= left - 1) {
                const auto offset = static_cast<OffsetNumber>(
                    word * 64 + static_cast<uint32>(__builtin_ctzll(left)) + FirstOffsetNumber);
                if (ItemIdIsDead(PageGetItemId(copy->data, offset)))
                    add_dead_pointer(finder, known, finder->blocks[i], offset);
                else if (finder->counter->rows_identify_entries)
                    add_chain(finder, copy->data, finder->blocks[i], offset);
                else
                    reported = false;
            }
    }
    pfree(copy);
    return reported && !are_too_many(*finder);
}

// ---- learning what entries of dead line pointers have -----------------------------------------------------

bool is_wanted_in_block(const WantedPointers &wanted, const ItemPointerData &tid) {
    return std::binary_search(wanted.places, wanted.places + wanted.count, encode_tid(tid));
}

uint64 *note_wanted(WantedPointers *wanted, const ItemPointerData &tid) {
    const uint64 room = wanted->found.room;
    uint64 *row = add_row(&wanted->found);
    if (wanted->found.room != room)
        wanted->found_places = wanted->found_places == nullptr
                                   ? allocate<uint64>(wanted->found.room)
                                   : reallocate(wanted->found_places, wanted->found.room);
    wanted->found_places[wanted->found.count - 1] = encode_tid(tid);
    return row;
}

static void mark_blocks(WantedPointers *wanted) {
    wanted->block_count = static_cast<BlockNumber>(wanted->places[wanted->count - 1] >> 16) + 1;
    wanted->blocks = allocate_zeroed<uint64>(wanted->block_count / 64 + 1);
    for (uint64 i = 0; i < wanted->count; i++) {
        const auto block = static_cast<BlockNumber>(wanted->places[i] >> 16);
        wanted->blocks[block / 64] |= UINT64CONST(1) << (block % 64);
    }
}

// Remembers the entries that were found, and which line pointers have none.
static void remember(const WantedPointers &wanted, DeadEntries *known) {
    const uint64 found = wanted.found.count;
    auto *entries = allocate<DeadEntry>(found + wanted.count);
    for (uint64 i = 0; i < found; i++)
        entries[i] = {wanted.found_places[i], i};
    std::sort(entries, entries + found,
              [](const DeadEntry &a, const DeadEntry &b) { return a.encoded_tid < b.encoded_tid; });
    uint64 count = found;
    uint64 at = 0;
    for (uint64 i = 0; i < wanted.count; i++) {
        for (; at < found && entries[at].encoded_tid < wanted.places[i]; at++) {}
        if (at == found || entries[at].encoded_tid != wanted.places[i])
            entries[count++] = {wanted.places[i], DeadEntry::kNoRow};
    }
    known->debt = 0;
    add_dead_entries(known, entries, count, wanted.found.rows, found, wanted.found.words);
    pfree(entries);
}

// Looks for the entries of the unknown line pointers in a view that is younger than the look at their pages,
// so that what it doesn't have will never be. It tells nothing if a VACUUM has ended since the finder's view.
static void learn(Finder *finder) {
    const EntryCounter &counter = *finder->counter;
    std::sort(finder->unknown, finder->unknown + finder->unknown_count);
    WantedPointers wanted = {};
    wanted.places = finder->unknown;
    wanted.count = finder->unknown_count;
    wanted.found.words = counter.row_words;
    mark_blocks(&wanted);
    bool complete = false;
    bool same_seq = true;
    while (same_seq && !complete) {
        CHECK_FOR_INTERRUPTS();
        counter.renew(counter.context);
        same_seq = counter.view->vacuum_seq == finder->vacuum_seq;
        wanted.found.count = 0;
        complete = same_seq && counter.look_for(counter.source, &wanted);
    }
    if (complete)
        remember(wanted, known_dead_entries(counter.index, finder->vacuum_seq));
}

// Learns once the counts that went without knowledge have cost as much as it takes.
static Outcome look_for_unknown(Finder *finder) {
    const storage::View &view = *finder->counter->view;
    uint64 entries = 0;
    for (int i = 0; i < view.run_count; i++)
        entries += view.runs[i].entries;
    DeadEntries *known = known_dead_entries(finder->counter->index, finder->vacuum_seq);
    known->debt += finder->budget;
    if (known->debt * kTidsPerEntry < entries || known->count + finder->unknown_count > kMaxDeadEntries)
        return Outcome::Unknown;
    learn(finder);
    return Outcome::Again;
}

// ---- the search -------------------------------------------------------------------------------------------

static Outcome find_entries(Finder *finder, RowVisibility *rows, uint64 *candidates) {
    if (!list_blocks(finder, rows) || !read_blocks(finder, rows))
        return Outcome::Unknown;
    if (finder->unknown_count > 0)
        return look_for_unknown(finder);
    *candidates = finder->candidates.count;
    if (*candidates == 0)
        return Outcome::Counted;
    return finder->counter->keep_listed(finder->counter->source, finder->counter->counted_by,
                                        &finder->candidates, finder->budget);
}

Outcome find_invisible_entries(const EntryCounter &counter, uint64 budget, EntryRows *invisible,
                               uint64 *candidates) {
    Finder finder = {};
    finder.counter = &counter;
    finder.vacuum_seq = counter.view->vacuum_seq;
    finder.budget = budget;
    finder.candidates.words = counter.row_words;
    RowVisibility rows;
    open_row_visibility(&rows, counter.heap, counter.snapshot);
    *candidates = 0;
    const Outcome outcome = find_entries(&finder, &rows, candidates);
    close_row_visibility(&rows);
    *invisible = finder.candidates;
    return outcome;
}

}  // namespace pg_gpu::table
