// A session's knowledge of heap blocks, so that its requests are answered without its looking at rows: which
// of the blocks are all-visible, and which entries on others have a row that its snapshot sees.
#pragma once

#include <cstdint>

#include "gpu_engine/interface.h"

namespace gpu_engine {

// The knowledge of 64 consecutive blocks, in a bit for each. A block that is neither all-visible nor known is
// unknown: the session looks at the rows of entries there.
struct BlockGroup {
    std::uint64_t all_visible;
    std::uint64_t known;
    std::uint64_t first_slot;  // slot of the first known block; those of the others follow, in order
};
static_assert(sizeof(BlockGroup) == 24);

// Group g has blocks 64 * g to 64 * g + 63; blocks behind the last group are unknown, as are those whose slot
// is none. Slot s is words [s * row_words, (s + 1) * row_words) of `rows`: bit i % 64 of word i / 64 says
// whether the entry with offset number i + 1 has a visible row; entries behind the last word have none.
struct KnownBlocks {
    const BlockGroup *groups;
    std::uint64_t group_count;
    const std::uint64_t *rows;
    std::uint64_t slots;
    std::uint32_t row_words;

    static constexpr std::uint32_t max_row_words = 32;  // a heap page of 32 KiB has fewer line pointers
};

// The same facts where an engine's calls read them (Engine::keep_blocks). They are of use to that engine
// only.
class HeapBlocks : public Interface {};

}  // namespace gpu_engine
