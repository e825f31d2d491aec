// Block facts in PostgreSQL's shared memory: what one session has found out about a heap block, others need
// not find out again. ../storage/README.md, "Block facts of all sessions", has the rule, and says why each
// race is safe.
#pragma once

#include "compat.h"
#include "table/block_facts.h"

namespace pg_gpu::table {

// The facts of a block whose page has this LSN (block_facts.h).
struct BlockFacts {
    XLogRecPtr lsn;
    uint64 since;
    bool by_moment;
    bool plain;
    uint64 rows[kMaxRowWords];
};

// A FactsFile names a table's file, the round of all sessions (rounds.h) and the second of a request for its
// facts.
struct FactsFile {
    PhysicalPlace place;
    uint64 round;
    uint32 second;
};

FactsFile facts_file(Relation heap, uint64 round);

// _PG_init calls it while preloading, which is the only time at which that much memory can be reserved.
// Without preloading each session keeps what it finds out.
void reserve_shared_facts();

// Adds to what the session knows of the group what others have found out since, but for blocks that hold in
// the group's round. Returns false where there is no room for all of a block's rows (widen_facts_rows).
// *unchanged becomes those of the known blocks whose pages others have found unchanged since this round
// began.
bool learn_shared_facts(const FactsFile &file, FactsGroup *group, uint64 *unchanged);

// Brings into the processor's cache what says whether there is anything to learn of a group.
void prefetch_changes(const FactsFile &file, uint32 number);

// Reports to the others that these blocks' pages were found unchanged by looks before which `looked_in` was
// the last round (last_shared_round).
void share_unchanged(const FactsFile &file, const FactsGroup &group, uint64 unchanged, uint64 looked_in);

// Returns whether others have found out anything of group n of this table.
bool has_shared_facts(const FactsFile &file, uint32 number);

// Finds the facts that other sessions know of a block; returns false when they aren't about a page with this
// LSN.
bool find_shared_facts(const FactsFile &file, BlockNumber block, XLogRecPtr lsn, BlockFacts *facts);

// Reports facts to the others. The page was in this buffer, and was read, under its lock, when `read_in` was
// the last round.
void share_facts(const FactsFile &file, BlockNumber block, Buffer buffer, const BlockFacts &facts,
                 uint64 read_in);

}  // namespace pg_gpu::table
