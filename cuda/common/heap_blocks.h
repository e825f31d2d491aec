// Looking entries up in what is known of heap blocks (gpu_engine/heap_blocks.h).
#pragma once

#include <cstdint>
#include <utility>

#include "common/bits.h"
#include "gpu_engine/entry.h"
#include "gpu_engine/guard.h"
#include "gpu_engine/heap_blocks.h"

namespace gpu_engine {

// `rows` is null where a block is all-visible or unknown.
struct BlockState {
    bool all_visible;
    const std::uint64_t *rows;
};

GPU_ENGINE_BOTH BlockState state_of(const KnownBlocks &known, std::uint32_t block) {
    if (block / 64 >= known.group_count) {
        return {false, nullptr};
    }
    const BlockGroup group = known.groups[block / 64];
    const std::uint64_t bit = std::uint64_t(1) << (block % 64);
    if ((group.all_visible & bit) != 0) {
        return {true, nullptr};
    }
    const std::uint64_t slot = group.first_slot + count_bits(group.known & (bit - 1));
    return (group.known & bit) != 0 && slot < known.slots
               ? BlockState{false, known.rows + slot * known.row_words}
               : BlockState{false, nullptr};
}

// Bits [first, first + 64) of a known block's rows.
GPU_ENGINE_BOTH std::uint64_t rows_from(const KnownBlocks &known, const std::uint64_t *rows,
                                        std::uint32_t first) {
    const std::uint32_t word = first / 64;
    const std::uint32_t shift = first % 64;
    std::uint64_t bits = word < known.row_words ? rows[word] >> shift : 0;
    if (shift > 0 && word + 1 < known.row_words) {
        bits |= rows[word + 1] << (64 - shift);
    }
    return bits;
}

// Throws Failure for blocks that can't be kept.
inline void check_known_blocks(const KnownBlocks &known) {
    if (known.row_words > KnownBlocks::max_row_words) {
        throw Failure{make_status(StatusCode::invalid_argument, "a heap block has fewer line pointers")};
    }
}

// The copy of what is known that an engine's requests read, in buffers of the engine.
template <template <typename> typename Buffer>
class KeptBlocks : public HeapBlocks {
  public:
    const KnownBlocks &known() const noexcept { return known_; }

  protected:
    KeptBlocks(Buffer<BlockGroup> groups, Buffer<std::uint64_t> rows, const KnownBlocks &known)
        : groups_(std::move(groups)), rows_(std::move(rows)), known_(known) {
        known_.groups = groups_.data();
        known_.rows = rows_.data();
    }

    Buffer<BlockGroup> groups_;
    Buffer<std::uint64_t> rows_;

  private:
    KnownBlocks known_;
};

// Throws Failure unless an engine whose class of blocks is `Own` keeps the blocks.
template <typename Own>
const KnownBlocks &known_by(const HeapBlocks &blocks) {
    const auto *own = dynamic_cast<const Own *>(&blocks);
    if (own == nullptr) {
        throw Failure{make_status(StatusCode::invalid_argument, "the heap blocks are another engine's")};
    }
    return own->known();
}

enum class Seen : std::uint8_t { no, yes, unknown };

GPU_ENGINE_BOTH Seen look_up(const KnownBlocks &known, const Tid &tid) {
    const BlockState state =
        state_of(known, static_cast<std::uint32_t>(tid.block_high) << 16 | tid.block_low);
    if (state.all_visible) {
        return Seen::yes;
    }
    if (state.rows == nullptr) {
        return Seen::unknown;
    }
    const std::uint32_t place = static_cast<std::uint32_t>(tid.offset) - 1;
    return place / 64 < known.row_words && (state.rows[place / 64] >> (place % 64) & 1) != 0 ? Seen::yes
                                                                                             : Seen::no;
}

}  // namespace gpu_engine
