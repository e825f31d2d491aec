// The kernels of histograms. A block counts in shared memory, in as many copies of the histogram as fit:
// lanes of a warp take different copies, and copies of one slot lie in different banks. With 32 copies no two
// lanes ever meet. Each block then writes its sums, and a second kernel adds up those of all blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "studies/column/common/bins.h"
#include "device/call.h"

namespace gpu_engine::device {

inline constexpr int histogram_threads = 512;
// Counters are 32-bit; a launch takes fewer values than they can count.
inline constexpr std::uint64_t histogram_piece = std::uint64_t(1) << 30;

// How a histogram is laid out in a block's shared memory: slot s of copy c is counter s << shift | c.
struct HistogramLayout {
    std::uint32_t slots;
    std::uint32_t shift;  // logarithm of the number of copies, 0 to 5

    __host__ __device__ std::uint32_t copies() const { return 1U << shift; }
    std::size_t bytes() const { return static_cast<std::size_t>(slots) * copies() * sizeof(std::uint32_t); }
};

// Where a thread counts slots in its block's shared memory.
class BlockCounter {
  public:
    __device__ BlockCounter(std::uint32_t *counters, HistogramLayout layout)
        : own_(counters + (threadIdx.x & (layout.copies() - 1))), shift_(layout.shift) {}

    __device__ __forceinline__ void add(std::uint32_t slot) { atomicAdd(own_ + (slot << shift_), 1U); }

  private:
    std::uint32_t *own_;
    std::uint32_t shift_;
};

// Calls visit(value) for the block's share of the values, which are read 16 bytes a load, `Loads` loads at a
// time.
template <int Loads, typename Value, typename Visit>
__device__ __forceinline__ void visit_values(const Value *values, std::uint64_t count, Visit visit) {
    constexpr int per_load = 16 / static_cast<int>(sizeof(Value));
    const std::uint64_t thread = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    // The values up to the first whole 16 bytes, and those behind the last, are read one by one.
    const auto misplaced = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(values) & 15U);
    std::uint64_t before = misplaced == 0 ? 0 : (16 - misplaced) / sizeof(Value);
    before = before < count ? before : count;
    const std::uint64_t loads = (count - before) / per_load;
    const auto *whole = reinterpret_cast<const uint4 *>(values + before);
    std::uint64_t i = thread;
    const auto visit_load = [&](const uint4 &load) {
        alignas(16) Value part[per_load];
        *reinterpret_cast<uint4 *>(part) = load;
#pragma unroll
        for (int k = 0; k < per_load; ++k) {
            visit(part[k]);
        }
    };
    for (; i + (Loads - 1) * threads < loads; i += Loads * threads) {
        uint4 read[Loads];
#pragma unroll
        for (int k = 0; k < Loads; ++k) {
            read[k] = __ldcs(whole + i + k * threads);
        }
#pragma unroll
        for (int k = 0; k < Loads; ++k) {
            visit_load(read[k]);
        }
    }
    for (; i < loads; i += threads) {
        visit_load(__ldcs(whole + i));
    }
    const std::uint64_t rest = before + loads * per_load;
    if (thread < before) {
        visit(values[thread]);
    }
    if (thread < count - rest) {
        visit(values[rest + thread]);
    }
}

// Says which slot a value belongs to.
template <bool Checked>
struct SlotOfValue {
    BinMap map;
    const double *edges;

    template <typename Value>
    __device__ __forceinline__ std::uint32_t operator()(Value value) const {
        return map.slot<Checked>(static_cast<double>(value), edges);
    }
};

__device__ inline void clear_counters(std::uint32_t *counters, std::uint32_t count) {
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
        counters[i] = 0;
    }
    __syncthreads();
}

// Writes the block's sums over its copies to sums[block][slot].
__device__ inline void write_block_sums(const std::uint32_t *counters, HistogramLayout layout,
                                        std::uint32_t *sums) {
    __syncthreads();
    std::uint32_t *own = sums + static_cast<std::uint64_t>(blockIdx.x) * layout.slots;
    for (std::uint32_t slot = threadIdx.x; slot < layout.slots; slot += blockDim.x) {
        std::uint32_t sum = 0;
        // Neighbours begin at different copies, hence in different banks.
        for (std::uint32_t k = 0; k < layout.copies(); ++k) {
            sum += counters[slot << layout.shift | ((k + threadIdx.x) & (layout.copies() - 1))];
        }
        own[slot] = sum;
    }
}

template <typename Value, typename SlotOf>
__global__ void __launch_bounds__(histogram_threads, 2)
    block_histogram_kernel(const Value *values, std::uint64_t count, SlotOf slot_of, HistogramLayout layout,
                           std::uint32_t *sums) {
    extern __shared__ std::uint32_t counters[];
    clear_counters(counters, layout.slots << layout.shift);
    BlockCounter counter(counters, layout);
    visit_values<4>(values, count, [&](Value value) { counter.add(slot_of(value)); });
    write_block_sums(counters, layout, sums);
}

// All blocks count in one histogram in device memory.
template <typename Value, typename SlotOf>
__global__ void __launch_bounds__(histogram_threads, 2)
    global_histogram_kernel(const Value *values, std::uint64_t count, SlotOf slot_of, std::uint64_t *counts) {
    visit_values<4>(values, count, [&](Value value) {
        atomicAdd(reinterpret_cast<unsigned long long *>(counts) + slot_of(value), 1ULL);
    });
}

// ---- Many bins: 16-bit counters, two a word ---------------------------------------------------------------

inline constexpr int packed_threads = 1024;
inline constexpr int packed_loads = 4;

// A counter that reaches 2^15 hands that many over to the counts in device memory. What may be added between
// two barriers fits above 2^15, so none overflows.
__device__ __forceinline__ void add_packed(std::uint32_t *counters, std::uint32_t slot, std::uint32_t run,
                                           std::uint64_t *counts) {
    constexpr std::uint32_t half = 1U << 15;
    const std::uint32_t shift = (slot & 1U) * 16;
    const std::uint32_t before = atomicAdd(counters + slot / 2, run << shift) >> shift & 0xffffU;
    if (before < half && before + run >= half) {
        atomicSub(counters + slot / 2, half << shift);
        atomicAdd(reinterpret_cast<unsigned long long *>(counts) + slot,
                  static_cast<unsigned long long>(half));
    }
}

// A block's values between two barriers: packed_threads * packed_loads loads of 16 bytes. A load brings at
// most 16 values, so at most 2^14 are added to a counter.
template <typename Value, typename SlotOf>
__global__ void __launch_bounds__(packed_threads, 1)
    packed_histogram_kernel(const Value *values, std::uint64_t count, SlotOf slot_of, std::uint32_t slots,
                            std::uint32_t *sums, std::uint64_t *counts) {
    constexpr int per_load = 16 / static_cast<int>(sizeof(Value));
    constexpr std::uint64_t per_tile = static_cast<std::uint64_t>(packed_threads) * packed_loads * per_load;
    static_assert(per_tile <= 1U << 15);
    extern __shared__ std::uint32_t counters[];
    const std::uint32_t words = (slots + 1) / 2;
    clear_counters(counters, words);
    const std::uint64_t tiles = (count + per_tile - 1) / per_tile;
    const bool aligned = (reinterpret_cast<std::uintptr_t>(values) & 15U) == 0;
    uint4 next[packed_loads];
    const auto read_tile = [&](std::uint64_t tile) {
        const auto *loads = reinterpret_cast<const uint4 *>(values) + tile * (packed_threads * packed_loads);
#pragma unroll
        for (int k = 0; k < packed_loads; ++k) {
            next[k] = __ldcs(loads + k * packed_threads + threadIdx.x);
        }
    };
    const auto is_whole = [&](std::uint64_t tile) { return aligned && (tile + 1) * per_tile <= count; };
    std::uint64_t tile = blockIdx.x;
    if (tile < tiles && is_whole(tile)) {
        read_tile(tile);
    }
    for (; tile < tiles; tile += gridDim.x) {
        std::uint32_t slot = 0;
        std::uint32_t run = 0;
        const auto add = [&](Value value) {
            const std::uint32_t own = slot_of(value);
            if (own != slot) {
                if (run != 0) {
                    add_packed(counters, slot, run, counts);
                }
                slot = own;
                run = 0;
            }
            ++run;
        };
        if (is_whole(tile)) {
            alignas(16) Value part[packed_loads * per_load];
#pragma unroll
            for (int k = 0; k < packed_loads; ++k) {
                *reinterpret_cast<uint4 *>(part + k * per_load) = next[k];
            }
            if (tile + gridDim.x < tiles && is_whole(tile + gridDim.x)) {
                read_tile(tile + gridDim.x);
            }
#pragma unroll
            for (int k = 0; k < packed_loads * per_load; ++k) {
                add(part[k]);
            }
        } else {
            for (std::uint64_t i = tile * per_tile + threadIdx.x; i < (tile + 1) * per_tile && i < count;
                 i += packed_threads) {
                add(values[i]);
            }
        }
        if (run != 0) {
            add_packed(counters, slot, run, counts);
        }
        __syncthreads();
    }
    std::uint32_t *own = sums + static_cast<std::uint64_t>(blockIdx.x) * words;
    for (std::uint32_t word = threadIdx.x; word < words; word += packed_threads) {
        own[word] = counters[word];
    }
}

// ---- Sums over the blocks ---------------------------------------------------------------------------------

// Adds the sums of all blocks to `counts`. Where they are packed a word has two sums of 16 bits.
void add_block_sums(const Call &call, const std::uint32_t *sums, std::uint64_t blocks, std::uint32_t slots,
                    bool packed, std::uint64_t *counts);

// ---- Launches ---------------------------------------------------------------------------------------------

enum class HistogramPlace { global, block, packed };
struct HistogramPlan {
    HistogramPlace place;
    HistogramLayout layout;
    std::uint64_t blocks;  // 0: as many as fit on the device at once
};

// The plan that the library takes.
HistogramPlan histogram_plan(const DeviceEngine &engine, std::uint32_t slots);

template <typename Kernel>
std::uint64_t resident_blocks(const DeviceEngine &engine, Kernel kernel, int threads, std::size_t bytes) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(engine.shared_bytes())),
          "cudaFuncSetAttribute");
    int resident = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    return static_cast<std::uint64_t>(std::max(resident, 1)) *
           static_cast<std::uint64_t>(engine.multiprocessors());
}

// Adds the values' slots to `counts`. All arrays are on the device.
template <typename Value, typename SlotOf>
void launch_histogram(const Call &call, const Value *values, std::uint64_t count, const SlotOf &slot_of,
                      const HistogramPlan &plan, std::uint64_t *counts) {
    const auto launch = [&](auto kernel, int threads, std::size_t bytes, std::uint64_t values_a_thread,
                            auto run) {
        std::uint64_t blocks =
            plan.blocks > 0 ? plan.blocks : resident_blocks(call.engine(), kernel, threads, bytes);
        const std::uint64_t values_a_block = static_cast<std::uint64_t>(threads) * values_a_thread;
        blocks = std::clamp<std::uint64_t>((count + values_a_block - 1) / values_a_block, 1, blocks);
        if (plan.blocks > 0) {
            check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(call.engine().shared_bytes())),
                  "cudaFuncSetAttribute");
        }
        run(kernel, static_cast<unsigned>(blocks), threads, bytes);
    };
    constexpr std::uint64_t values_a_thread = 64 / sizeof(Value);
    if (plan.place == HistogramPlace::global) {
        launch(global_histogram_kernel<Value, SlotOf>, histogram_threads, 0, values_a_thread,
               [&](auto kernel, unsigned blocks, int threads, std::size_t bytes) {
                   kernel<<<blocks, threads, bytes, call.stream()>>>(values, count, slot_of, counts);
                   check_launch("global_histogram_kernel");
               });
    } else if (plan.place == HistogramPlace::packed) {
        if constexpr (sizeof(Value) >= 4) {
            const std::uint32_t words = (plan.layout.slots + 1) / 2;
            launch(packed_histogram_kernel<Value, SlotOf>, packed_threads, words * sizeof(std::uint32_t),
                   values_a_thread, [&](auto kernel, unsigned blocks, int threads, std::size_t bytes) {
                       const Buffer<std::uint32_t> sums =
                           call.buffer<std::uint32_t>(std::uint64_t(blocks) * words);
                       kernel<<<blocks, threads, bytes, call.stream()>>>(
                           values, count, slot_of, plan.layout.slots, sums.data(), counts);
                       check_launch("packed_histogram_kernel");
                       add_block_sums(call, sums.data(), blocks, plan.layout.slots, true, counts);
                   });
        }
    } else {
        const auto run = [&](auto kernel, unsigned blocks, int threads, std::size_t bytes) {
            const Buffer<std::uint32_t> sums =
                call.buffer<std::uint32_t>(std::uint64_t(blocks) * plan.layout.slots);
            kernel<<<blocks, threads, bytes, call.stream()>>>(values, count, slot_of, plan.layout,
                                                              sums.data());
            check_launch("block_histogram_kernel");
            add_block_sums(call, sums.data(), blocks, plan.layout.slots, false, counts);
        };
        launch(block_histogram_kernel<Value, SlotOf>, histogram_threads, plan.layout.bytes(), values_a_thread,
               run);
    }
}

// The caller's edges, on the device.
struct DeviceBins {
    BinMap map;
    Buffer<double> edges;
};
DeviceBins make_device_bins(const Call &call, const HistogramBins &bins, bool for_integers);

// Does what the entry points do. `counts` is the caller's.
template <typename Value>
Status count_values(DeviceEngine &engine, Stream &stream, const Value *values, std::uint64_t count,
                    const HistogramBins &bins, std::uint64_t *counts, const HistogramPlan *plan = nullptr) {
    return guarded([&] {
        const Call call(engine, stream);
        const DeviceBins own = make_device_bins(call, bins, std::is_integral_v<Value>);
        const std::uint32_t slots = bins.slots();
        const Buffer<std::uint64_t> sums = call.buffer<std::uint64_t>(slots);
        call.fill(sums.data(), 0, slots * sizeof(std::uint64_t));
        const HistogramPlan chosen = plan != nullptr ? *plan : histogram_plan(engine, slots);
        const Input<Value> input(call, values, count, histogram_piece);
        for (std::uint64_t first = 0; first < count; first += histogram_piece) {
            const std::uint64_t piece = std::min(histogram_piece, count - first);
            const Value *part = input.piece(first, piece);
            if (std::is_integral_v<Value> && own.map.exact_integers) {
                launch_histogram(call, part, piece, SlotOfValue<false>{own.map, own.edges.data()}, chosen,
                                 sums.data());
            } else {
                launch_histogram(call, part, piece, SlotOfValue<true>{own.map, own.edges.data()}, chosen,
                                 sums.data());
            }
            call.wait();
        }
        call.copy(counts, static_cast<const std::uint64_t *>(sums.data()), slots);
        call.wait();
        return Status{};
    });
}

}  // namespace gpu_engine::device
