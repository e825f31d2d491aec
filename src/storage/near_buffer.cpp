#include "storage/near_buffer.h"

#include "compat.h"

namespace pg_gpu::storage {

static constexpr int kMostMisses = 4;

static Buffer guess_buffer(Relation relation, BlockNumber block, const NearBuffer &near) {
    if (near.buffer <= 0 || RelationUsesLocalBuffers(relation))
        return InvalidBuffer;
    const int64 guess = int64{near.buffer} + int64{block} - int64{near.block};
    return guess > 0 && guess <= NBuffers ? static_cast<Buffer>(guess) : InvalidBuffer;
}

Buffer read_near(Relation relation, BlockNumber block, BufferAccessStrategy strategy, NearBuffer *near) {
    const Buffer guess = guess_buffer(relation, block, *near);
    Buffer buffer = InvalidBuffer;
    if (guess != InvalidBuffer && near->misses < kMostMisses &&
        ReadRecentBuffer(physical_relation(relation), MAIN_FORKNUM, block, guess)) {
        pgstat_count_buffer_read(relation);
        pgstat_count_buffer_hit(relation);
        buffer = guess;
    } else {
        buffer = ReadBufferExtended(relation, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
    }
    if (guess != InvalidBuffer)
        near->misses = buffer == guess ? 0 : Min(near->misses + 1, kMostMisses);
    near->buffer = buffer;
    near->block = block;
    return buffer;
}

}  // namespace pg_gpu::storage
