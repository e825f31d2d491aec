// The files that answer for entries' rows share this (row_visibility.h).
#pragma once

#include "table/row_visibility.h"

namespace pg_gpu::table {

// An entry whose visibility is to be found out.
struct Entry {
    uint64 encoded_tid;  // heap block << 16 | offset
    uint64 number;       // the entry's number in the request

    BlockNumber block() const { return static_cast<BlockNumber>(encoded_tid >> 16); }
    uint32 group() const { return block() / kGroupBlocks; }
    OffsetNumber offset() const { return static_cast<OffsetNumber>(encoded_tid & 0xffff); }
};

inline uint64 bit_of(BlockNumber block) {
    return UINT64CONST(1) << (block % kGroupBlocks);
}

// ---- facts (row_visibility.cpp) ---------------------------------------------------------------------------

// Returns the full transaction id of an id that is in the table or a snapshot, and so is no older than two
// billion.
inline uint64 full_id(const RowVisibility &rows, TransactionId id) {
    return rows.next - static_cast<uint32>(static_cast<uint32>(rows.next) - id);
}

// Begins a request. A page that was found unchanged stays so for this snapshot, whoever changes it
// afterwards, but not once the transaction sees more of its own changes: then all pages are looked at anew.
void begin_request(RowVisibility *rows);

// Makes a group ready for this request: another request's wanted rows are forgotten, and in another round
// none of the old facts hold yet.
void enter_group(const RowVisibility &rows, FactsGroup *group);

// Returns whether facts decide about rows under this snapshot, if the page has not changed.
inline bool do_facts_suit(const RowVisibility &rows, bool by_moment, uint64 since) {
    return by_moment ? since <= rows.moment : since < rows.xmin;
}

inline bool do_facts_suit(const RowVisibility &rows, const FactsGroup &group, uint32 encoded_tid) {
    return do_facts_suit(rows, (group.by_moment >> encoded_tid & 1) != 0, group.since[encoded_tid]);
}

// Returns a group that is to be looked at, with what others have found out until this request; nullptr when
// nothing is known of its blocks.
FactsGroup *find_group_of_all(RowVisibility *rows, uint32 number);

// Returns the group; nullptr when no facts of it hold in this round.
FactsGroup *group_with_facts(const RowVisibility &rows, uint32 number);

// Looks at the pages of those blocks whose facts suit the snapshot, and reports to other sessions which have
// not changed.
void check_and_report(const RowVisibility &rows, FactsGroup *group, uint64 blocks);

// ---- pages (row_pages.cpp) --------------------------------------------------------------------------------

// Finds out about entries from their pages, each of which is pinned and locked once; sorts the entries. No
// page stays pinned.
void read_pages(RowVisibility *rows, Entry *entries, uint64 count, bool *visible);

// Finds out about entries one by one, for the table of another access method, or under another kind of
// snapshot.
void probe_rows(RowVisibility *rows, const ItemPointerData *tids, uint64 count, bool *visible);

}  // namespace pg_gpu::table
