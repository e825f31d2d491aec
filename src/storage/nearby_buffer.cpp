#include "storage/nearby_buffer.h"

#include "compat.h"

namespace pg_gpu::storage {

static constexpr int kMaxMisses = 4;

static Buffer guess_buffer(Relation relation, BlockNumber block, const NearbyBuffer &nearby) {
    if (nearby.buffer <= 0 || RelationUsesLocalBuffers(relation))
        return InvalidBuffer;
    const int64 distance = int64{block} - int64{nearby.block};
    const int64 guess = nearby.buffer + (nearby.descending ? -distance : distance);
    return guess > 0 && guess <= NBuffers ? static_cast<Buffer>(guess) : InvalidBuffer;
}

static const char *prefetch_page(Buffer guess) {
    const auto *page = static_cast<const char *>(BufferGetPage(guess));
    __builtin_prefetch(page);
    __builtin_prefetch(page + BLCKSZ - 1);
    return page;
}

void prefetch_nearby(Relation relation, BlockNumber block, const NearbyBuffer &nearby, uint32 place,
                     uint32 other_place) {
    const Buffer guess = guess_buffer(relation, block, nearby);
    if (guess == InvalidBuffer || nearby.misses == kMaxMisses)
        return;
    const char *page = prefetch_page(guess);
    __builtin_prefetch(page + place);
    __builtin_prefetch(page + other_place);
}

Buffer read_nearby(Relation relation, BlockNumber block, BufferAccessStrategy strategy,
                   NearbyBuffer *nearby) {
    const Buffer guess = guess_buffer(relation, block, *nearby);
    if (guess != InvalidBuffer)
        prefetch_page(guess);
    Buffer buffer = InvalidBuffer;
    if (guess != InvalidBuffer && nearby->misses < kMaxMisses &&
        ReadRecentBuffer(physical_relation(relation), MAIN_FORKNUM, block, guess)) {
        pgstat_count_buffer_read(relation);
        pgstat_count_buffer_hit(relation);
        buffer = guess;
    } else {
        buffer = ReadBufferExtended(relation, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
    }
    if (guess != InvalidBuffer && buffer != guess && buffer - nearby->buffer == nearby->buffer - guess) {
        nearby->descending = !nearby->descending;
        nearby->misses = 0;
    } else if (guess != InvalidBuffer) {
        nearby->misses = buffer == guess ? 0 : Min(nearby->misses + 1, kMaxMisses);
    }
    nearby->buffer = buffer;
    nearby->block = block;
    return buffer;
}

}  // namespace pg_gpu::storage
