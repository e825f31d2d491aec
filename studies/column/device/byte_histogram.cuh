// Histograms of bytes: 256 slots, as images need them. The kernels are the stages of the literature
// (Podlozhnyuk, "Histogram calculation in CUDA", 2007, and later work): where the counters lie, and how many
// bytes a load brings.
#pragma once

#include <cstdint>

#include "studies/column/device/histogram.cuh"

namespace gpu_engine::device {

enum class BytePlace {
    global,   // one histogram in device memory
    block,    // one a block, in shared memory
    striped,  // 32 a block, one in each bank of shared memory
    thread,   // one a thread, of 8-bit counters in shared memory
};

inline constexpr int byte_slots = 256;

__host__ __device__ constexpr int byte_threads(BytePlace place) {
    return place == BytePlace::thread ? 192 : 512;
}
__host__ __device__ constexpr std::size_t byte_shared_bytes(BytePlace place) {
    switch (place) {
        case BytePlace::block:
            return byte_slots * 4;
        case BytePlace::striped:
            return byte_slots * 32 * 4;
        case BytePlace::thread:
            return static_cast<std::size_t>(byte_slots) * byte_threads(place);
        default:
            return 0;
    }
}

// Counts the four bytes of a word.
template <BytePlace Place>
class ByteCounter {
  public:
    __device__ ByteCounter(std::uint32_t *counters, std::uint64_t *counts)
        : counters_(counters), counts_(reinterpret_cast<unsigned long long *>(counts)) {}

    __device__ __forceinline__ void add_word(std::uint32_t word) {
        if constexpr (Place == BytePlace::striped) {
            // The byte times 128, which is 32 counters' bytes, is cut out of the word at once.
            add_at((word << 7) & 0x7f80U);
            add_at((word >> 1) & 0x7f80U);
            add_at((word >> 9) & 0x7f80U);
            add_at((word >> 17) & 0x7f80U);
        } else {
            add(word & 0xffU);
            add(word >> 8 & 0xffU);
            add(word >> 16 & 0xffU);
            add(word >> 24);
        }
    }
    __device__ __forceinline__ void add(std::uint32_t byte) {
        if constexpr (Place == BytePlace::global) {
            atomicAdd(counts_ + byte, 1ULL);
        } else if constexpr (Place == BytePlace::block) {
            atomicAdd(counters_ + byte, 1U);
        } else if constexpr (Place == BytePlace::striped) {
            add_at(byte << 7);
        } else {
            // Counter `byte` of this thread: byte % 4 of its word byte / 4; neighbours' words are neighbours.
            auto *own = reinterpret_cast<std::uint8_t *>(counters_ + (byte / 4) * blockDim.x + threadIdx.x) +
                        byte % 4;
            if (++*own == 0) {
                atomicAdd(counts_ + byte, 256ULL);
            }
        }
    }

  private:
    __device__ __forceinline__ void add_at(std::uint32_t offset) {
        atomicAdd(reinterpret_cast<std::uint32_t *>(reinterpret_cast<char *>(counters_) +
                                                    (offset | (threadIdx.x & 31U) * 4)),
                  1U);
    }

    std::uint32_t *counters_;
    unsigned long long *counts_;
};

// `LoadBytes` is 1, 4 or 16.
template <BytePlace Place, int LoadBytes>
__global__ void __launch_bounds__(byte_threads(Place))
    byte_histogram_kernel(const std::uint8_t *bytes, std::uint64_t count, std::uint32_t *sums,
                          std::uint64_t *counts) {
    extern __shared__ std::uint32_t counters[];
    clear_counters(counters, static_cast<std::uint32_t>(byte_shared_bytes(Place) / 4));
    ByteCounter<Place> counter(counters, counts);
    if constexpr (LoadBytes == 16) {
        // Bytes in the first and last words that aren't among `count` are distinguished by visit_values.
        const std::uint64_t misplaced = reinterpret_cast<std::uintptr_t>(bytes) & 15U;
        const std::uint64_t before = misplaced == 0 ? 0 : (16 - misplaced < count ? 16 - misplaced : count);
        const std::uint64_t words = (count - before) / 16 * 4;
        const std::uint64_t rest = before + words * 4;
        visit_values<4>(reinterpret_cast<const std::uint32_t *>(bytes + before), words,
                        [&](std::uint32_t word) { counter.add_word(word); });
        if (blockIdx.x == 0) {
            if (threadIdx.x < before) {
                counter.add(bytes[threadIdx.x]);
            }
            if (threadIdx.x < count - rest) {
                counter.add(bytes[rest + threadIdx.x]);
            }
        }
    } else {
        const std::uint64_t thread = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
        const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
        std::uint64_t begin = 0;
        if constexpr (LoadBytes == 4) {
            const std::uint64_t misplaced = reinterpret_cast<std::uintptr_t>(bytes) & 3U;
            const std::uint64_t before = misplaced == 0 ? 0 : (4 - misplaced < count ? 4 - misplaced : count);
            const std::uint64_t words = (count - before) / 4;
            const auto *whole = reinterpret_cast<const std::uint32_t *>(bytes + before);
            for (std::uint64_t i = thread; i < words; i += threads) {
                counter.add_word(whole[i]);
            }
            if (thread < before) {
                counter.add(bytes[thread]);
            }
            begin = before + words * 4;
        }
        for (std::uint64_t i = begin + thread; i < count; i += threads) {
            counter.add(bytes[i]);
        }
    }
    if constexpr (Place == BytePlace::block) {
        write_block_sums(counters, HistogramLayout{byte_slots, 0}, sums);
    } else if constexpr (Place == BytePlace::striped) {
        write_block_sums(counters, HistogramLayout{byte_slots, 5}, sums);
    } else if constexpr (Place == BytePlace::thread) {
        __syncthreads();
        for (int slot = static_cast<int>(threadIdx.x); slot < byte_slots;
             slot += static_cast<int>(blockDim.x)) {
            std::uint32_t sum = 0;
            for (unsigned k = 0; k < blockDim.x; ++k) {
                sum += reinterpret_cast<const std::uint8_t *>(counters + (slot / 4) * blockDim.x +
                                                              (k + threadIdx.x) % blockDim.x)[slot % 4];
            }
            sums[static_cast<std::uint64_t>(blockIdx.x) * byte_slots + slot] = sum;
        }
    }
}

// Adds to `counts`, which are on the device. With `blocks` 0 there are as many blocks as fit on the device at
// once. With `sums` the blocks' sums go there and aren't added up.
template <BytePlace Place, int LoadBytes>
std::uint64_t launch_byte_histogram(const Call &call, const std::uint8_t *bytes, std::uint64_t count,
                                    std::uint64_t *counts, std::uint64_t blocks = 0,
                                    std::uint32_t *sums = nullptr) {
    const auto kernel = byte_histogram_kernel<Place, LoadBytes>;
    constexpr int threads = byte_threads(Place);
    constexpr std::size_t shared = byte_shared_bytes(Place);
    const std::uint64_t resident = resident_blocks(call.engine(), kernel, threads, shared);
    const std::uint64_t bytes_a_block = static_cast<std::uint64_t>(threads) * LoadBytes * 4;
    blocks = std::clamp<std::uint64_t>((count + bytes_a_block - 1) / bytes_a_block, 1,
                                       blocks > 0 ? blocks : resident);
    Buffer<std::uint32_t> own;
    if (Place != BytePlace::global && sums == nullptr) {
        own = call.buffer<std::uint32_t>(blocks * byte_slots);
    }
    std::uint32_t *block_sums = sums != nullptr ? sums : own.data();
    kernel<<<static_cast<unsigned>(blocks), threads, shared, call.stream()>>>(bytes, count, block_sums,
                                                                              counts);
    check_launch("byte_histogram_kernel");
    if (Place != BytePlace::global && sums == nullptr) {
        add_block_sums(call, block_sums, blocks, byte_slots, false, counts);
    }
    return blocks;
}

}  // namespace gpu_engine::device
