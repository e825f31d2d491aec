// Block facts in PostgreSQL's shared memory: what one session has found out of a heap block, others need not
// find out again. The rule, and why each race is safe: ../storage/README.md, "Block facts of all sessions".
#pragma once

#include "compat.h"
#include "table/block_facts.h"
#include "table/wal_follower.h"

namespace pg_gpu::table {

// What is known of a block whose page has this LSN (block_facts.h).
struct BlockFacts {
    XLogRecPtr lsn;
    uint64 since;
    bool by_moment;
    bool plain;
    uint64 rows[kMaxRowWords];
};

// Whose blocks are asked about, in which round of all sessions (rounds.h), and in which second; and whether
// WAL was followed for the question's snapshot.
struct FactsFile {
    PhysicalPlace place;
    uint64 round;
    uint32 second;
    bool is_followed;
};

FactsFile facts_file(Relation heap, uint64 round);

// From _PG_init while preloading, which is the only time to ask for that much. Elsewhere each session keeps
// what it finds out.
void reserve_shared_facts();

// Adds to what the session knows of the group what others have found out since, but for blocks that hold in
// the group's round. False where there is no room for all of a block's rows (widen_facts_rows).
// *unchanged: those of the known blocks whose pages others have found unchanged since this round began, or,
// where WAL was followed, that are current.
bool learn_shared_facts(const FactsFile &file, FactsGroup *group, uint64 *unchanged);

// Has come from memory what tells whether there is anything to learn of a group.
void bring_changes_near(const FactsFile &file, uint32 number);

// What facts must suit: the snapshot's xmin, and the moment at which it was taken.
struct FactsSuit {
    uint64 xmin;
    uint64 moment;
};

inline bool do_facts_suit(const FactsSuit &suit, bool by_moment, uint64 since) {
    return by_moment ? since <= suit.moment : since < suit.xmin;
}

// What all sessions' facts of a group were when somebody saw them.
struct SharedMark {
    uint64 version;
    uint64 looks;
    uint32 way;  // beyond the last one: they are taken for changed
};
inline constexpr SharedMark kNoMark = {0, 0, PG_UINT32_MAX};

// Blocks' words of rows (facts_row_words), one behind the other.
struct CopiedFacts {
    uint64 blocks;     // these
    uint64 newest_id;  // as a FactsGroup has them
    uint64 newest_moment;
    SharedMark mark;  // as long as it is that of the group, and WAL is followed in the same epoch, the copy
                      // holds of every snapshot that the newest ones suit, and there are no facts of others
};

// Copies, where WAL was followed, what is known of a group's blocks that are current and suit, for who has no
// room to learn it.
CopiedFacts copy_current_facts(const FactsFile &file, uint32 number, uint64 blocks, const FactsSuit &suit,
                               uint64 *copy);

// Which of the blocks that the session has learned of are current, where WAL was followed.
uint64 current_blocks(const FactsFile &file, const FactsGroup &group);

// For groups 0 to `count` - 1 of the table: has what all sessions know changed since these marks? The others
// are in use, where that is to be noted.
void find_changed(const FactsFile &file, bool notes_use, const SharedMark *marks, uint32 count,
                  bool *changed);

// The page that these facts are about was read under its lock after this reading of WAL had begun.
void share_current(const FactsFile &file, BlockNumber block, XLogRecPtr lsn, const WalReading &reading);

// Tells the others that these blocks' pages were found unchanged by looks before which `looked_in` was the
// last round (last_shared_round); and, unless its number is 0, that the looks were taken with the pages'
// locks after this reading of WAL had begun. Then the blocks are current.
void share_unchanged(const FactsFile &file, const FactsGroup &group, uint64 unchanged, uint64 looked_in,
                     const WalReading &reading);

// A record that ends here has changed the block: facts of its page as it was before aren't current.
void clear_current(const PhysicalPlace &place, BlockNumber block, XLogRecPtr end);

// Does the group have a place there, as far as the session has learned?
bool is_shared(const FactsGroup &group);

// Have others found out anything of group n of this table?
bool has_shared_facts(const FactsFile &file, uint32 number);

// What they know of a block; false when that isn't about a page with this LSN.
bool find_shared_facts(const FactsFile &file, BlockNumber block, XLogRecPtr lsn, BlockFacts *facts);

// Tells the others. The page was in this buffer, and was read, under its lock, when `read_in` was the last
// round and `reading` the last reading of WAL.
void share_facts(const FactsFile &file, BlockNumber block, Buffer buffer, const BlockFacts &facts,
                 uint64 read_in, const WalReading &reading);

}  // namespace pg_gpu::table
