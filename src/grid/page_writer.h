// Rows are packed into entry pages here.
#pragma once

#include "grid/format.h"

namespace pg_gpu::grid {

// These are rows on their way to a page, with the lowest and highest value of each array.
struct PackedRows {
    const Format *format;
    uint64 *rows;  // room for storage::kMaxTidsPerPage
    uint32 count;
    uint64 low[kMaxArrays];  // above `high` without a value
    uint64 high[kMaxArrays];
};

// Returns the bytes that `count` rows take between these bounds.
uint32 packed_bytes(const Format &format, uint32 count, const uint64 *low, const uint64 *high);

// Writes rows as a page's content, and returns its length.
uint32 pack_rows(const Format &format, const uint64 *rows, uint32 count, uint64 first, const uint64 *low,
                 const uint64 *high, char *content);

// Widens bounds by rows.
void widen_bounds(const Format &format, const uint64 *rows, uint32 count, uint64 *low, uint64 *high);
void reset_bounds(const Format &format, uint64 *low, uint64 *high);

// Writes a run's entry pages, each as full as it can be.
struct PageWriter {
    PackedRows pending;
    storage::RunWriter *writer;
    uint64 flushed;          // entries on pages already written
    uint32 pages;            // these
    uint64 low[kMaxArrays];  // least values of the whole run
    uint64 high[kMaxArrays];
};

void begin_pages(PageWriter *pages, const Format *format, storage::RunWriter *writer);
void add_rows(PageWriter *pages, const uint64 *rows, uint64 count);
void finish_pages(PageWriter *pages);

// Return the ordinal of the next row, and the page that it will lie on or the one before.
inline uint64 next_ordinal(const PageWriter &pages) {
    return pages.flushed + pages.pending.count;
}

}  // namespace pg_gpu::grid
