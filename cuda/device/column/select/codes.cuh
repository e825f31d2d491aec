// Reading selections and packed codes in kernels.
#pragma once

#include "common/column/layout.h"
#include "device/call.h"
#include "gpu_engine/both.h"

namespace gpu_engine::device {

// A kernel that goes over all rows has so many blocks that the device is busy.
inline constexpr int row_threads = 256;
inline constexpr int row_blocks_a_multiprocessor = 8;
inline unsigned row_blocks(const Call &call) {
    return static_cast<unsigned>(call.engine().multiprocessors() * row_blocks_a_multiprocessor);
}

struct CodesView {
    const std::uint64_t *words;
    std::uint32_t bits;

    __device__ std::uint64_t operator[](std::uint64_t row) const {
        if (bits > 32) {
            return packed_at(words, row, bits);
        }
        const std::uint64_t bit = row * bits;
        const auto *halves = reinterpret_cast<const std::uint32_t *>(words) + bit / 32;
        // The word behind may be one that follows the last code; it means nothing, but can be read.
        const std::uint32_t window = __funnelshift_r(halves[0], halves[1], static_cast<unsigned>(bit % 32));
        return bits == 32 ? window : window & ((1U << bits) - 1);
    }

    // Reads the codes of a lane's rows, `row` and the same row of the next words, where `wanted` has their
    // bits; others become 0. All reads are under way at once.
    template <typename Code>
    __device__ void read(std::uint64_t row, std::uint32_t wanted, Code *codes) const;
};

// A warp takes the bits of so many rows at a time: a lane has one row of each word.
inline constexpr std::uint32_t words_a_warp = 4;
inline constexpr std::uint32_t rows_a_warp = 32 * words_a_warp;

// Returns how many 64-bit words a selection of so many rows takes. The last warp has all of its words for
// itself.
constexpr std::uint64_t selection_words(std::uint64_t rows) {
    return (rows + rows_a_warp - 1) / rows_a_warp * (rows_a_warp / 64);
}

// Returns a lane's bits of the words.
__device__ inline std::uint32_t rows_of_lane(const std::uint32_t *words) {
    const std::uint32_t lane = threadIdx.x % 32;
    std::uint32_t rows = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < words_a_warp; ++i) {
        rows |= (words[i] >> lane & 1) << i;
    }
    return rows;
}

// Codes of rows that lie 32 apart begin at the same bit of a half, and as many halves apart as a code has
// bits. So the place is worked out once.
template <typename Code>
__device__ void CodesView::read(std::uint64_t row, std::uint32_t wanted, Code *codes) const {
    if (bits > 32) {
#pragma unroll
        for (std::uint32_t i = 0; i < words_a_warp; ++i) {
            codes[i] = (wanted >> i & 1) != 0 ? static_cast<Code>(packed_at(words, row + i * 32, bits)) : 0;
        }
        return;
    }
    const std::uint64_t bit = row * bits;
    const auto *halves = reinterpret_cast<const std::uint32_t *>(words) + bit / 32;
    const auto shift = static_cast<unsigned>(bit % 32);
    const std::uint32_t mask = bits == 32 ? UINT32_MAX : (1U << bits) - 1;
#pragma unroll
    for (std::uint32_t i = 0; i < words_a_warp; ++i) {
        codes[i] = 0;
        if ((wanted >> i & 1) != 0) {
            codes[i] = static_cast<Code>(__funnelshift_r(halves[0], halves[1], shift) & mask);
        }
        halves += bits;
    }
}

// A selection's words are read a lot at a time, which is what a warp takes, or several lots beside each other
// where each warp has enough of them.
inline constexpr std::uint32_t max_lots_a_read = 8;
GPU_ENGINE_BOTH constexpr std::uint32_t lots_a_read(std::uint64_t lots, std::uint64_t warps) {
    constexpr std::uint64_t enough = 4 * max_lots_a_read;
    return lots >= enough * warps ? max_lots_a_read : 1;
}
// Returns the most lots that one of so many warps takes.
constexpr std::uint64_t max_lots_a_warp(std::uint64_t lots, std::uint64_t warps) {
    const std::uint64_t together = lots_a_read(lots, warps);
    const std::uint64_t reads = (lots + together - 1) / together;
    return (reads + warps - 1) / warps * together;
}

// The words of a selection that fall to a warp. All lanes of it call the same functions together. No device
// has so many rows that lots need numbers of more than 32 bits.
class WarpWords {
  public:
    // Only every `step`th lot of words is taken.
    __device__ WarpWords(const std::uint64_t *selected, std::uint64_t words, std::uint32_t step)
        : selected_(reinterpret_cast<const std::uint32_t *>(selected)),
          lots_(static_cast<std::uint32_t>((words / (rows_a_warp / 64) + step - 1) / step)),
          step_(step),
          together_(lots_a_read(lots_, warps())),
          next_((blockIdx.x * blockDim.x + threadIdx.x) / 32 * together_) {}

    // Goes on to the next words that aren't empty; `first` becomes the first row. False behind the last.
    __device__ bool next(std::uint64_t *first, std::uint32_t *bits) {
        while (wanted_ == 0) {
            if (next_ >= lots_) {
                return false;
            }
            read();
        }
        const std::uint32_t lot = (__ffs(static_cast<int>(wanted_)) - 1) / words_a_warp;
        wanted_ &= ~(((1U << words_a_warp) - 1) << lot * words_a_warp);
#pragma unroll
        for (std::uint32_t i = 0; i < words_a_warp; ++i) {
            bits[i] = __shfl_sync(UINT32_MAX, word_, static_cast<int>(lot * words_a_warp + i));
        }
        // Those that were read lie as far behind as the next ones are ahead.
        *first = static_cast<std::uint64_t>(next_ - warps() * together_ + lot) * step_ * rows_a_warp;
        return true;
    }

  private:
    __device__ static std::uint32_t warps() {
        return gridDim.x * blockDim.x / 32;
    }
    // Has each lane read a word of one of the lots.
    __device__ void read() {
        const std::uint32_t lane = threadIdx.x % 32;
        const std::uint32_t lot = next_ + lane / words_a_warp;
        word_ = lane / words_a_warp < together_ && lot < lots_
                    ? selected_[static_cast<std::uint64_t>(lot) * step_ * words_a_warp + lane % words_a_warp]
                    : 0;
        wanted_ = __ballot_sync(UINT32_MAX, word_ != 0);
        next_ += warps() * together_;
    }

    const std::uint32_t *selected_;
    const std::uint32_t lots_;
    const std::uint32_t step_;
    const std::uint32_t together_;
    std::uint32_t next_;        // lot
    std::uint32_t word_ = 0;    // the lane's word of the lots that were read
    std::uint32_t wanted_ = 0;  // has a bit for each of their words that isn't empty, and hasn't been given
};
static_assert(words_a_warp * max_lots_a_read == 32);

// Calls visit(first row of the warp, its words) for all words that aren't empty, or for those of a sample.
// All lanes of a warp call it together.
template <typename Visit>
__device__ void for_words(const std::uint64_t *selected, std::uint64_t words, Visit visit,
                          std::uint32_t step = 1) {
    WarpWords own(selected, words, step);
    std::uint64_t first = 0;
    std::uint32_t bits[words_a_warp];
    while (own.next(&first, bits)) {
        visit(first, bits);
    }
}

}  // namespace gpu_engine::device
