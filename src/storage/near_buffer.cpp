#include "storage/near_buffer.h"

#include "compat.h"

namespace pg_gpu::storage {

static constexpr int kMaxMisses = 4;

static Buffer guess_buffer(Relation relation, BlockNumber block, const NearBuffer &near) {
    if (near.buffer <= 0 || RelationUsesLocalBuffers(relation))
        return InvalidBuffer;
    const int64 distance = int64{block} - int64{near.block};
    const int64 guess = near.buffer + (near.descending ? -distance : distance);
    return guess > 0 && guess <= NBuffers ? static_cast<Buffer>(guess) : InvalidBuffer;
}

static const char *prefetch_page(Buffer guess) {
    const auto *page = static_cast<const char *>(BufferGetPage(guess));
    __builtin_prefetch(page);
    __builtin_prefetch(page + BLCKSZ - 1);
    return page;
}

void prefetch_near(Relation relation, BlockNumber block, const NearBuffer &near, uint32 place,
                   uint32 other_place) {
    const Buffer guess = guess_buffer(relation, block, near);
    if (guess == InvalidBuffer || near.misses == kMaxMisses)
        return;
    const char *page = prefetch_page(guess);
    __builtin_prefetch(page + place);
    __builtin_prefetch(page + other_place);
}

Buffer read_near(Relation relation, BlockNumber block, BufferAccessStrategy strategy, NearBuffer *near) {
    const Buffer guess = guess_buffer(relation, block, *near);
    if (guess != InvalidBuffer)
        prefetch_page(guess);
    Buffer buffer = InvalidBuffer;
    if (guess != InvalidBuffer && near->misses < kMaxMisses &&
        ReadRecentBuffer(physical_relation(relation), MAIN_FORKNUM, block, guess)) {
        pgstat_count_buffer_read(relation);
        pgstat_count_buffer_hit(relation);
        buffer = guess;
    } else {
        buffer = ReadBufferExtended(relation, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
    }
    if (guess != InvalidBuffer && buffer != guess && buffer - near->buffer == near->buffer - guess) {
        near->descending = !near->descending;
        near->misses = 0;
    } else if (guess != InvalidBuffer) {
        near->misses = buffer == guess ? 0 : Min(near->misses + 1, kMaxMisses);
    }
    near->buffer = buffer;
    near->block = block;
    return buffer;
}

}  // namespace pg_gpu::storage
