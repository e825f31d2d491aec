// Lookups in the order of their keys: a block sorts a tile, so that neighbouring threads search neighbouring
// keys.
#pragma once

#include <cub/block/block_radix_sort.cuh>

#include <algorithm>
#include <cstdint>

#include "studies/paper/variants/launch.cuh"

namespace gpu_engine::bench::paper {

// The bits of a key to sort by; higher bits are 0 in all keys of the array.
struct SortBits {
    int begin;
    int end;
};

template <typename Key, int Threads, int Items>
using TileSort = cub::BlockRadixSort<Key, Threads, Items, std::uint32_t>;

template <typename Key, int Threads, int Items>
union TileMemory {
    typename TileSort<Key, Threads, Items>::TempStorage sort;
    std::uint32_t ranks[Threads * Items];
};

// The pinned keys lie behind this.
template <typename Key, int Threads, int Items>
inline constexpr std::size_t tile_bytes = (sizeof(TileMemory<Key, Threads, Items>) + 15) / 16 * 16;

template <typename Search, int Threads, int Items>
__global__ void __launch_bounds__(Threads)
    reordering_kernel(const __grid_constant__ Search search, const Batch<typename Search::Key> batch,
                      const SortBits bits, const bool reorder_ranks) {
    using Key = typename Search::Key;
    extern __shared__ uint4 shared_words[];
    auto &memory = *reinterpret_cast<TileMemory<Key, Threads, Items> *>(shared_words);
    auto *pinned = reinterpret_cast<Key *>(shared_words + tile_bytes<Key, Threads, Items> / sizeof(uint4));
    search.pin(pinned);
    constexpr std::uint64_t tile = std::uint64_t(Threads) * Items;
    for (std::uint64_t first = blockIdx.x * tile; first < batch.count; first += gridDim.x * tile) {
        Key keys[Items];
        std::uint32_t places[Items];
#pragma unroll
        for (int i = 0; i < Items; ++i) {
            places[i] = static_cast<std::uint32_t>(i * Threads) + threadIdx.x;
            keys[i] = first + places[i] < batch.count ? read_lookup(batch.lookups + first + places[i])
                                                      : device::highest_key<Key>();
        }
        TileSort<Key, Threads, Items> sort(memory.sort);
        if constexpr (sizeof(Key) == 16) {
            sort.SortBlockedToStriped(keys, places, device::Key128Parts{}, bits.begin, bits.end);
        } else {
            sort.SortBlockedToStriped(keys, places, bits.begin, bits.end);
        }
        __syncthreads();
        if (reorder_ranks) {
#pragma unroll
            for (int i = 0; i < Items; ++i) {
                memory.ranks[places[i]] = search.rank(pinned, keys[i], true);
            }
            __syncthreads();
#pragma unroll
            for (int i = 0; i < Items; ++i) {
                const std::uint32_t place = static_cast<std::uint32_t>(i * Threads) + threadIdx.x;
                if (first + place < batch.count) {
                    __stcs(batch.ranks + first + place, memory.ranks[place]);
                }
            }
            __syncthreads();
        } else {
#pragma unroll
            for (int i = 0; i < Items; ++i) {
                const std::uint32_t rank = search.rank(pinned, keys[i], true);
                if (first + places[i] < batch.count) {
                    batch.ranks[first + places[i]] = rank;
                }
            }
        }
    }
}

template <typename Search, int Threads, int Items>
bool launch_reordering(const device::Call &call, const Index<typename Search::Key> &index,
                       const Variant &variant, const Batch<typename Search::Key> &batch) {
    using Key = typename Search::Key;
    constexpr std::size_t taken = tile_bytes<Key, Threads, Items>;
    const Search search(index, variant, place_for_pinning(call, variant, taken));
    const auto kernel = reordering_kernel<Search, Threads, Items>;
    const std::size_t bytes = taken + search.pinned_bytes();
    set_shared(call, variant, kernel, bytes);
    constexpr std::uint64_t tile = std::uint64_t(Threads) * Items;
    SortBits bits{0, std::max(device::bit_width(index.last_key), 1)};
    bits.begin = std::max(0, bits.end - variant.sort_bits);
    kernel<<<blocks_of(call, variant, (batch.count + tile - 1) / tile), Threads, bytes, call.stream()>>>(
        search, batch, bits, variant.reordering == Reordering::full);
    device::check_launch("reordering_kernel");
    return true;
}

}  // namespace gpu_engine::bench::paper
