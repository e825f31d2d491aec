// Looks at the LSNs of heap pages, several at a time and mostly without a pin or a lock. Why that is enough:
// ../storage/README.md, "Looks without a lock".
#pragma once

#include "table/visibility.h"

namespace pg_gpu::table {

inline constexpr uint32 kMaxLooks = 32;

// A page, where it was last, and the LSN that it had.
struct PageLook {
    BlockNumber block;
    Buffer buffer;
    XLogRecPtr lsn;
};

// Looks at up to kMaxLooks pages. Returns a bit for each that has its LSN still; it has none where the page
// isn't in that buffer any more.
uint32 find_unchanged(Relation heap, const PageLook *looks, uint32 count);

// Has what is looked at brought into the processor's cache while other work is done.
void expect_look(Buffer buffer);

// Brings the heads of a buffer and of its page into the processor's cache, and goes on meanwhile. The buffer
// may be none, or another page's.
void bring_near(Buffer buffer);

}  // namespace pg_gpu::table
