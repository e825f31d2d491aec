#include "table/entry_counter.h"

#include "table/invisible_entries.h"
#include "table/visible_count.h"

namespace pg_gpu::table {

// A view is given up for other reasons than a recycled page so often; after that entries are looked at one by
// one.
static constexpr int kTries = 3;

uint64 *add_row(EntryRows *rows) {
    if (rows->count == rows->room) {
        rows->room = Max(rows->room * 2, uint64{256});
        rows->rows = rows->rows == nullptr ? allocate<uint64>(rows->room * rows->words)
                                           : reallocate(rows->rows, rows->room * rows->words);
    }
    return row_at(*rows, rows->count++);
}

bool do_rows_identify_entries(Relation heap, Relation index) {
    for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++) {
        const AttrNumber column = index->rd_index->indkey.values[i];
        if (column <= 0 || TupleDescAttr(RelationGetDescr(heap), column - 1)->attlen <= 0)
            return false;
    }
    return true;
}

Outcome take_off_invisible(const EntryCounter &counter, uint64 budget, int64 *counts, uint64 *heap_fetches) {
    if (!may_find_invisible(counter.heap, counter.snapshot))
        return Outcome::Unknown;
    EntryRows invisible = {counter.row_words, 0, 0, nullptr};
    const Outcome outcome = find_invisible_entries(counter, budget, &invisible, heap_fetches);
    if (outcome == Outcome::Counted && *heap_fetches > 0)
        counter.subtract(counter.context, invisible, counts);
    return outcome;
}

// Takes rows that the snapshot doesn't see off the counts, if not the whole table is all-visible.
static Outcome take_off_on_pages(const EntryCounter &counter, int64 *counts, uint64 *heap_fetches) {
    if (!may_find_invisible(counter.heap, counter.snapshot))
        return Outcome::Unknown;
    uint64 entries = 0;
    for (uint32 i = 0; i < counter.count; i++)
        entries += static_cast<uint64>(counts[i]);
    EntryRows invisible = {counter.row_words, 0, 0, nullptr};
    Outcome outcome = find_invisible_entries(counter, entries, &invisible, heap_fetches);
    if (outcome != Outcome::Counted || *heap_fetches == 0)
        return outcome;
    // A VACUUM may have set dead bits after the entries were counted and before these were looked up.
    auto *again = allocate<int64>(counter.count);
    outcome = counter.count_entries(counter.context, again);
    if (outcome == Outcome::Counted && memcmp(counts, again, counter.count * sizeof(int64)) != 0)
        outcome = Outcome::Again;
    pfree(again);
    if (outcome == Outcome::Counted)
        counter.subtract(counter.context, invisible, counts);
    return outcome;
}

// The rule "Trust" has entries read first, then the visibility map, then vacuum_seq again.
static Outcome count_in_view(const EntryCounter &counter, int64 *counts, uint64 *heap_fetches) {
    Outcome outcome = Outcome::Counted;
    if (!is_table_all_visible(counter.heap))
        outcome = take_off_on_pages(counter, counts, heap_fetches);
    if (outcome == Outcome::Counted &&
        storage::read_vacuum_seq(counter.index, counter.kind) != counter.view->vacuum_seq)
        outcome = Outcome::Unknown;
    return outcome;
}

// Beside many changed blocks the number of the entries would be of no use.
static bool is_worth_counting(const EntryCounter &counter) {
    return counter.max_entries == nullptr || !is_heap_table(counter.heap) ||
           may_pay_to_find_invisible(counter.heap, counter.max_entries(counter.context));
}

bool count_visible_entries(const EntryCounter &counter, int64 *counts, uint64 *heap_fetches) {
    Outcome outcome = Outcome::Again;
    for (int tries = 0; outcome == Outcome::Again && tries < kTries;) {
        CHECK_FOR_INTERRUPTS();
        *heap_fetches = 0;
        counter.renew(counter.context);
        if (!is_worth_counting(counter))
            return false;
        outcome = counter.count_entries(counter.context, counts);
        if (outcome != Outcome::Counted)
            continue;
        outcome = count_in_view(counter, counts, heap_fetches);
        tries++;
    }
    if (outcome == Outcome::Counted)
        pgstat_count_index_scan(counter.index);
    return outcome == Outcome::Counted;
}

}  // namespace pg_gpu::table
