// Decides which index entries may be trusted without the heap (rules "Trust" and "Index-only scans").
#pragma once

#include "postgres_headers.h"

#include "memory.h"

namespace pg_gpu::table {

// A VisibilityMap reads the visibility map for one view: bits may be looked at any time after the view was
// taken, for entries of that view only. Regions looked at often are copied once.
struct VisibilityMap {
    Relation heap;
    Buffer buffer;
    char **copies;  // by map page; nullptr until copied
    uint32 copy_room;
    uint32 lookups;
};

// Returns whether the table's pages are PostgreSQL's own, whose line pointers are TIDs. Extensions' tables
// have others.
inline bool is_heap_table(Relation table) {
    return table->rd_tableam == GetHeapamTableAmRoutine();
}

// Returns a number above the blocks in the TIDs of the table's rows. Only PostgreSQL's own access method
// names rows by the table's pages; others give any block number.
inline BlockNumber blocks_of_rows(Relation table) {
    return is_heap_table(table) ? RelationGetNumberOfBlocks(table) : InvalidBlockNumber;
}

void open_visibility(VisibilityMap *map, Relation heap);
// Forgets the copies, because the next looks belong to a new view.
void renew_visibility(VisibilityMap *map);
void close_visibility(VisibilityMap *map);

// The layout of a map page, as visibilitymap.c has it: two bits a heap block.
inline constexpr uint32 kMapBytes = BLCKSZ - MAXALIGN(SizeOfPageHeaderData);
inline constexpr uint32 kBlocksPerMapPage = kMapBytes * 4;

// Reads a block's bit from the map itself, if that part of it has not been copied yet.
bool is_all_visible_uncopied(VisibilityMap *map, BlockNumber block);

inline bool is_all_visible(VisibilityMap *map, BlockNumber block) {
    const uint32 map_page = block / kBlocksPerMapPage;
    if (unlikely(map_page >= map->copy_room || map->copies[map_page] == nullptr))
        return is_all_visible_uncopied(map, block);
    const uint32 at = block % kBlocksPerMapPage;
    return ((map->copies[map_page][at / 4] >> ((at % 4) * 2)) & VISIBILITYMAP_ALL_VISIBLE) != 0;
}

// Returns whether all blocks before this one are all-visible. The map isn't copied, since a look at a page of
// it takes less.
bool are_all_visible_before(Relation heap, BlockNumber end);

// Returns the bits of blocks 64 * number to 64 * number + 63.
uint64 all_visible_in_group(VisibilityMap *map, uint32 number);

// Returns a TID as a number, in the same order: heap block << 16 | offset.
inline uint64 encode_tid(const ItemPointerData &tid) {
    return uint64{ItemPointerGetBlockNumberNoCheck(&tid)} << 16 | ItemPointerGetOffsetNumberNoCheck(&tid);
}

// Returns whether a row of a table can have this TID. `heap_blocks` are its blocks_of_rows.
inline bool is_tid_within(const ItemPointerData &tid, BlockNumber heap_blocks) {
    const auto offset = static_cast<OffsetNumber>(ItemPointerGetOffsetNumberNoCheck(&tid) - 1);
    return offset < MaxHeapTuplesPerPage && ItemPointerGetBlockNumberNoCheck(&tid) < heap_blocks;
}

// Returns whether this can be a row's TID. `*heap_blocks` are the table's blocks_of_rows as last looked at;
// it cannot shrink meanwhile, which would take an exclusive lock.
inline bool is_possible_tid(Relation heap, BlockNumber *heap_blocks, const ItemPointerData &tid) {
    if (likely(is_tid_within(tid, *heap_blocks)))
        return true;
    *heap_blocks = blocks_of_rows(heap);
    return is_tid_within(tid, *heap_blocks);
}

// A HeapProbe looks rows up in the heap with a snapshot, and keeps the last page pinned until it is closed.
struct HeapProbe {
    IndexFetchTableData *fetch;
    TupleTableSlot *slot;
    Snapshot snapshot;
};

void open_heap_probe(HeapProbe *probe, Relation heap, Snapshot snapshot);
void close_heap_probe(HeapProbe *probe);
// Returns the row that an entry leads to and the snapshot sees; nullptr when there is none. The caller clears
// the slot.
TupleTableSlot *fetch_visible(HeapProbe *probe, const ItemPointerData &tid);
// Returns whether an entry leads to a visible row. *row, unless `row` is nullptr, becomes the TID of the row
// itself, which in a HOT chain is not the entry's.
bool is_visible(HeapProbe *probe, const ItemPointerData &tid, ItemPointerData *row = nullptr);

}  // namespace pg_gpu::table
