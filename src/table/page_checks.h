// Looks at the LSNs of heap pages, several at a time and mostly without a pin or a lock. Why that is enough:
// ../storage/README.md, "Looks without a lock".
#pragma once

#include "table/visibility.h"

namespace pg_gpu::table {

inline constexpr uint32 kMaxPageChecks = 32;

// A page, where it was last, and the LSN that it had.
struct PageCheck {
    BlockNumber block;
    Buffer buffer;
    XLogRecPtr lsn;
};

// Looks at up to kMaxPageChecks pages. Returns a bit for each that still has its LSN; the bit is clear where
// the page isn't in that buffer any more.
uint32 find_unchanged(Relation heap, const PageCheck *checks, uint32 count);

// Has the heads that find_unchanged looks at brought into the processor's cache while other work is done.
void prefetch_page_check(Buffer buffer);

// Brings the heads of a buffer and of its page into the processor's cache, and goes on meanwhile. The buffer
// may be none, or another page's.
void prefetch_buffer(Buffer buffer);

}  // namespace pg_gpu::table
