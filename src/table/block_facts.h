// What this session knows of heap blocks that aren't all-visible: which of their entries have a row that
// everyone sees, as long as nobody changes the page. The rule, and why each race is safe:
// ../storage/README.md, "Block facts".
#pragma once

#include "table/visibility.h"

namespace pg_gpu::table {

inline constexpr uint32 kRowWords = (MaxHeapTuplesPerPage + 63) / 64;

// Facts of one block. They hold for MVCC snapshots whose xmin lies above `newest`, while the page's LSN is
// `lsn`. Nothing in them points into this process, so that they can be handed to others.
struct BlockFacts {
    XLogRecPtr lsn;
    uint64 newest;  // full transaction id; 0: they rest on none; kNothingKnown: only the LSN is known
    uint64 rows[kRowWords];  // bit i: the entry with offset number i + 1 has a visible row
};

inline constexpr uint64 kNothingKnown = PG_UINT64_MAX;

// Facts and where this session keeps them.
struct KnownBlock {
    uint64 key;     // the table's number << 32 | block; 0: free
    uint32 round;   // in which the LSN was found to be the page's
    Buffer buffer;  // in which the page was then; it may have moved since
    BlockFacts facts;
};

// May facts be made of this table's blocks, and used under this snapshot?
bool may_use_block_facts(Relation heap, Snapshot snapshot);

// A number for the table's file, by which its blocks are found. Never 0; a file that was not looked at for
// long gets a new one.
uint32 number_of_table(Relation heap);

// A number that no reader has had before. Forgets what work_mem has no room for any more.
uint32 begin_round();

// What is known of a block; nullptr: nothing. Good until a place is taken.
KnownBlock *find_block(uint32 table, BlockNumber block);

// The block's place, or a free one, or that of a block that went unused for longest; nullptr when all that
// could make room were used in this round. The caller fills it in.
KnownBlock *take_place(uint32 table, BlockNumber block, uint32 round);

// For gpu.stat: pages whose LSN was compared, and entries that facts told about.
struct FactsUse {
    uint64 pages;
    uint64 entries;
};
FactsUse *facts_use();

}  // namespace pg_gpu::table
