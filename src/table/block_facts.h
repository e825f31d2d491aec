// This session's knowledge of heap blocks that aren't all-visible: which of their entries have a row that
// everyone sees, as long as nobody changes the page. The rule, and why each race is safe:
// ../storage/README.md, "Block facts".
#pragma once

#include "table/visibility.h"

namespace pg_gpu::table {

inline constexpr uint32 kGroupBlocks = 64;
inline constexpr uint32 kMaxRowWords = (MaxHeapTuplesPerPage + 63) / 64;

// Blocks 64 * n to 64 * n + 63 of a table, and for each, by its place among them: the facts, and where its
// page was last. A mask has a bit a place. While the page's LSN is `lsn`, facts hold for MVCC snapshots whose
// xmin lies above `since`, or, of blocks in `by_moment`, whose moment (rounds.h) is not before `since`; their
// visible rows are rows_of(). Behind the structure lie the rows' words.
struct FactsGroup {
    uint64 key;            // the table's number << 32 | n; 0: free
    uint64 request;        // that used it last
    FactsGroup *next;      // in the request's list of groups with wanted blocks
    uint64 wanted;         // blocks that the request is to look at
    uint64 known;          // blocks with facts
    uint64 by_moment;      // those among them that hold from a moment on
    uint64 plain;          // those among the known ones without entries that have no visible row
    uint64 holds;          // in round `round`: those among the known ones whose page was found unchanged
    uint64 proven;         // blocks whose page was found unchanged since their facts were made last
    uint64 newest_id;      // `since` of the known blocks is at most this,
    uint64 newest_moment;  // or, of those in `by_moment`, this
    uint32 round;
    uint32 shared_way;      // where all sessions' facts have it (shared_facts.h),
    uint64 shared_version;  // what they were when this session learned them last,
    uint64 shared_checks;   // what was known of unchanged pages then,
    uint64 learned;         // and the request that it did that for
    uint64 same;            // blocks whose LSN was the same there,
    uint64 missed;          // and those of which something was not learned that may be news later
    Buffer buffer[kGroupBlocks];
    XLogRecPtr lsn[kGroupBlocks];  // invalid: the page was not read yet
    uint64 since[kGroupBlocks];    // full transaction id, or moment; 0: the facts rest on none
};

// How many words there are of a block's rows. Bit i % 64 of word i / 64 says whether the entry with offset
// number i + 1 has a visible row; entries behind the last word have none.
uint32 facts_row_words();
// A page has more line pointers: there are kMaxRowWords from now on, and everything known is forgotten.
void widen_facts_rows();

inline uint64 *rows_of(FactsGroup *group, uint32 place) {
    return reinterpret_cast<uint64 *>(group + 1) + size_t{place} * facts_row_words();
}

// The group has facts with this `since`.
inline void note_since(FactsGroup *group, bool by_moment, uint64 since) {
    uint64 *newest = by_moment ? &group->newest_moment : &group->newest_id;
    *newest = Max(*newest, since);
}

// May facts be made of this table's blocks, and used under this snapshot?
bool may_use_block_facts(Relation heap, Snapshot snapshot);

// A number for the table's file, by which its blocks are found. Never 0; a file that was not looked at for
// long gets a new one.
uint32 number_of_table(Relation heap);

// A number for the next request. Forgets what work_mem has no room for any more.
uint64 begin_facts_request();

// Group n of a table; nullptr: nothing is known of its blocks. Good until one is taken.
FactsGroup *find_group(uint32 table, uint32 number);

// Has what is known of some of its blocks come from memory, for who asks for many groups in a known order.
void prefetch_group(uint32 table, uint32 number, uint64 blocks);

// The same, or a free one, or in place of one that went unused for longest; nullptr when all that could make
// room are used by this request.
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
