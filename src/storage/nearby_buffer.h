// Reading pages that follow one another.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::storage {

// Remembers where a page of a relation was found last. Zeroed: nowhere yet.
struct NearbyBuffer {
    Buffer buffer;
    BlockNumber block;
    int misses;       // in a row; after some of them none is tried until one would have been right
    bool descending;  // buffers that a dropped relation gave back are handed out from the last one down
};

// Reads and pins a block of the main fork as ReadBufferExtended does; the caller locks it, and gives the pin
// back. Pages that were read or written one after the other mostly lie so in the buffers too; so the block is
// first looked for where that would have it, which costs none of the cache misses that the table of buffers
// does.
Buffer read_nearby(Relation relation, BlockNumber block, BufferAccessStrategy strategy, NearbyBuffer *nearby);

// Starts to bring lines of a page that will be read soon, if it lies there, into the processor's cache: its
// head, its end, and those with the bytes at these places.
void prefetch_nearby(Relation relation, BlockNumber block, const NearbyBuffer &nearby, uint32 place,
                     uint32 other_place);

}  // namespace pg_gpu::storage
