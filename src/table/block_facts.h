// This session's knowledge of heap blocks that aren't all-visible: which of their entries have a row that
// everyone sees, as long as nobody changes the page. The rule, and why each race is safe:
// ../storage/README.md, "Block facts".
#pragma once

#include "table/visibility.h"

namespace pg_gpu::table {

inline constexpr uint32 kGroupBlocks = 64;
inline constexpr uint32 kMaxRowWords = (MaxHeapTuplesPerPage + 63) / 64;

// A group has the blocks 64 * n to 64 * n + 63 of a table. For each, by its place among them, it has facts,
// and where the block's page was last; a mask has a bit a place. While the page's LSN is `lsn`, facts hold
// for MVCC snapshots whose xmin lies above `since`, or, of blocks in `by_moment`, whose moment (rounds.h) is
// not before `since`; their visible rows are rows_of(). Behind the structure lie the rows' words.
struct FactsGroup {
    uint64 key;            // the table's number << 32 | n; 0: free
    uint64 request;        // number of the request that used it last
    FactsGroup *next;      // next in the request's list of groups with wanted blocks
    uint64 wanted;         // blocks that the request is to look at
    uint64 known;          // blocks with facts
    uint64 by_moment;      // known blocks whose facts hold from a moment on
    uint64 plain;          // known blocks that have no entries without a visible row
    uint64 holds;          // known blocks whose page was found unchanged in round `round`
    uint64 proven;         // blocks whose page was found unchanged since their facts were made last
    uint64 newest_id;      // the greatest `since` of the known blocks is at most this,
    uint64 newest_moment;  // or, of those in `by_moment`, this
    uint32 round;
    uint32 shared_way;      // place in the facts of all sessions (shared_facts.h),
    uint64 shared_version;  // their version when this session learned them last,
    uint64 shared_checks;   // those about unchanged pages then,
    uint64 learned;         // the request for which it learned them,
    uint64 same;            // the blocks whose LSN was the same there,
    uint64 missed;          // and those whose facts were of no use then, but may be later
    Buffer buffer[kGroupBlocks];
    XLogRecPtr lsn[kGroupBlocks];  // invalid: the page has not been read yet
    uint64 since[kGroupBlocks];    // full transaction id, or moment; 0: the facts rest on none
};

// Returns how many words of bits a block's rows take. Bit i % 64 of word i / 64 says whether the entry with
// offset number i + 1 has a visible row; entries behind the last word have none.
uint32 facts_row_words();
// Is called for a page with more line pointers than that: from now on a block has kMaxRowWords words, and
// everything known is forgotten.
void widen_facts_rows();

inline uint64 *rows_of(FactsGroup *group, uint32 place) {
    return reinterpret_cast<uint64 *>(group + 1) + size_t{place} * facts_row_words();
}

// Notes that the group has facts with this `since`.
inline void note_since(FactsGroup *group, bool by_moment, uint64 since) {
    uint64 *newest = by_moment ? &group->newest_moment : &group->newest_id;
    *newest = Max(*newest, since);
}

// Returns whether facts may be made of this table's blocks, and used under this snapshot.
bool may_use_block_facts(Relation heap, Snapshot snapshot);

// Returns a number for the table's file, by which its blocks are found. It is never 0; a file that was not
// looked at for long gets a new one.
uint32 number_of_table(Relation heap);

// Returns the number of the next request. Forgets what work_mem has no room for any more.
uint64 begin_facts_request();

// Returns group n of a table; nullptr when nothing is known of its blocks. The pointer is good until
// take_group is called.
FactsGroup *find_group(uint32 table, uint32 number);

// Has what is known of some of its blocks brought into the processor's cache. Whoever looks at many groups in
// a known order calls it ahead.
void prefetch_group(uint32 table, uint32 number, uint64 blocks);

// Returns the same group, or makes it from a free one, or in place of the one that went unused for longest;
// nullptr when all that could make room are used by this request.
FactsGroup *take_group(uint32 table, uint32 number, uint64 request);

// Forgets all blocks.
void forget_block_facts();

// The counts that gpu.stat shows: pages whose LSN was compared, and entries that facts decided about.
struct FactsUse {
    uint64 pages;
    uint64 entries;
};
FactsUse *facts_use();

}  // namespace pg_gpu::table
