// Reads of a heap page, while it is pinned and locked, how far it is settled what was done to its rows, and
// which entries lead to visible ones. The rule: ../storage/README.md, "Block facts".
#pragma once

#include "table/row_visibility.h"

namespace pg_gpu::table {

// The outcome of all transactions that did anything to a page's rows.
struct PageOutcome {
    bool decided;          // known for this snapshot, and later ones
    bool by_moment;        // set when one of the transactions doesn't precede the snapshot's xmin
    TransactionId newest;  // the newest of the transactions
};

// Finds out whether the outcome of all that was done to the page's rows is known to this snapshot and every
// later one. The page is pinned and locked.
PageOutcome outcome_of(const RowVisibility &rows, Page page);

// Returns whether the entry leads to a row that the snapshot sees. The page is pinned and locked.
bool is_entry_visible(const RowVisibility &rows, Buffer buffer, BlockNumber block, OffsetNumber offset);

// Returns whether an index entry can lead to this line pointer, and from there to a row.
inline bool may_lead_to_row(Page page, OffsetNumber offset) {
    const ItemId item = PageGetItemId(page, offset);
    return ItemIdIsRedirected(item) ||
           (ItemIdIsNormal(item) &&
            !HeapTupleHeaderIsHeapOnly(reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item))));
}

// Looks at all entries of a page whose rows are decided, and writes the words of their facts.
void make_facts(const RowVisibility &rows, Buffer buffer, BlockNumber block, uint64 *words);

inline void set_bit(uint64 *words, OffsetNumber offset) {
    words[(offset - 1) / 64] |= UINT64CONST(1) << ((offset - 1) % 64);
}

inline bool get_bit(const uint64 *words, OffsetNumber offset) {
    return (words[(offset - 1) / 64] >> ((offset - 1) % 64) & 1) != 0;
}

inline OffsetNumber last_offset(Page page) {
    return static_cast<OffsetNumber>(Min(PageGetMaxOffsetNumber(page), MaxHeapTuplesPerPage));
}

// Marks line pointers that entries can lead to but that have no visible row; returns false when there are
// none.
template <typename IsVisible>
bool mark_invisible(Page page, uint64 *invisible, IsVisible is_row_visible) {
    bool any = false;
    for (OffsetNumber offset = FirstOffsetNumber; offset <= last_offset(page); offset++) {
        if (!ItemIdIsDead(PageGetItemId(page, offset)) &&
            (!may_lead_to_row(page, offset) || is_row_visible(offset)))
            continue;
        set_bit(invisible, offset);
        any = true;
    }
    return any;
}

}  // namespace pg_gpu::table
