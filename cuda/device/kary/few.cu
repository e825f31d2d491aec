// Lookups of a few keys by one block, in one launch.
//
// A few keys are no load for a device: what they wait for is launches, and reads that follow each other. So
// one kernel searches, measures and copies, in the caller's own memory where that is pinned, and the searches
// go without the tree, whose top would have to be brought into shared memory first: a warp reads 32 keys at a
// time, which leaves a 33rd of the array, so that five reads do for 30 million entries.
#include <cub/block/block_scan.cuh>

#include <algorithm>

#include "device/kary/array.h"
#include "device/kary/key.cuh"
#include "device/kary/live.cuh"

namespace gpu_engine::device {
namespace {

// More results than this are left to kernels of many blocks.
constexpr std::uint32_t max_few_results = 4096;
constexpr int few_threads = 1024;

// The position of the first of `entries` keys that isn't below `wanted`, or, with `Upper`, that is above it.
// All threads of a warp get it.
template <bool Upper, typename Key>
__device__ std::uint32_t warp_bound(const Key *keys, std::uint32_t entries, const Key &wanted) {
    constexpr std::uint32_t lanes = 32;
    const std::uint32_t lane = threadIdx.x % lanes;
    const auto lies_before = [&](std::uint64_t position) {
        return Upper ? !less(wanted, keys[position]) : less(keys[position], wanted);
    };
    std::uint64_t low = 0;
    std::uint64_t size = entries;
    while (size > lanes) {
        // Separator i is the one of 32 that divide the keys into 33 parts.
        const auto separator = [&](std::uint32_t i) { return low + (i + 1) * size / (lanes + 1); };
        const auto before =
            static_cast<std::uint32_t>(__popc(__ballot_sync(0xffffffffU, lies_before(separator(lane)))));
        const std::uint64_t end = before == lanes ? low + size : separator(before);
        low = before == 0 ? low : separator(before - 1) + 1;
        size = end - low;
    }
    return static_cast<std::uint32_t>(
        low + __popc(__ballot_sync(0xffffffffU, lane < size && lies_before(low + lane))));
}

// Writes offsets[0] to offsets[count], and the TIDs, if there are no more than `capacity`. *results becomes
// their number, or a number beyond `capacity`.
template <typename Key>
__global__ void __launch_bounds__(few_threads)
    few_lookups_kernel(const Key *keys, std::uint32_t entries, const Key *wanted, std::uint32_t count,
                       DeadView dead, const Tid *array_tids, std::uint64_t *offsets, Tid *tids,
                       std::uint32_t capacity, volatile std::uint64_t *results) {
    using Scan = cub::BlockScan<std::uint32_t, few_threads>;
    __shared__ Key wanted_keys[max_few_lookups];
    __shared__ KaryRange ranges[max_few_lookups];
    __shared__ std::uint32_t firsts[max_few_lookups + 1];
    __shared__ typename Scan::TempStorage scratch;
    const std::uint32_t thread = threadIdx.x;
    // The caller's memory may be the host's and may change, so each key is read once.
    if (thread < count) {
        wanted_keys[thread] = wanted[thread];
    }
    __syncthreads();
    for (std::uint32_t search = thread / 32; search < 2 * count; search += few_threads / 32) {
        KaryRange *range = &ranges[search / 2];
        if (search % 2 == 0) {
            range->first = warp_bound<false>(keys, entries, wanted_keys[search / 2]);
        } else {
            range->last = warp_bound<true>(keys, entries, wanted_keys[search / 2]);
        }
    }
    __syncthreads();
    const std::uint32_t live = thread < count ? live_within(ranges[thread], dead) : 0;
    // More results than these are left to others, so the sums below don't overflow.
    const bool too_many = __syncthreads_or(live > max_few_results ? 1 : 0) != 0;
    std::uint32_t first;
    std::uint32_t total;
    Scan(scratch).ExclusiveSum(too_many ? 0 : live, first, total);
    if (thread == 0) {
        *results = too_many ? UINT64_MAX : total;
    }
    if (too_many || total > capacity) {
        return;
    }
    if (thread <= count) {
        firsts[thread] = first;
        offsets[thread] = first;
    }
    __syncthreads();
    for (std::uint32_t place = thread; place < total; place += few_threads) {
        const std::uint32_t range = range_of(firsts, 0U, count - 1, place);
        tids[place] = array_tids[live_position(ranges[range], dead, place - firsts[range])];
    }
}

}  // namespace

template <typename Key>
bool look_up_few(const Call &call, const Key *array_keys, const Tid *array_tids, std::uint64_t entries,
                 const DeadView &dead, const Key *keys, std::uint64_t count, std::uint64_t *offsets,
                 Tid *tids, std::uint64_t capacity) {
    const std::uint64_t room = std::min<std::uint64_t>(capacity, max_few_results);
    const Input<Key> input(call, keys, count, count);
    const Output<std::uint64_t> offsets_output(call, offsets, count + 1, count + 1);
    const Output<Tid> tids_output(call, tids, room, room);
    volatile std::uint64_t *results = call.result();
    few_lookups_kernel<<<1, few_threads, 0, call.stream()>>>(
        array_keys, static_cast<std::uint32_t>(entries), input.piece(0, count),
        static_cast<std::uint32_t>(count), dead, array_tids, offsets_output.piece(0), tids_output.piece(0),
        static_cast<std::uint32_t>(room), results);
    check_launch("few_lookups_kernel");
    call.wait();
    if (*results > room) {
        return false;
    }
    offsets_output.flush(0, count + 1);
    tids_output.flush(0, *results);
    call.wait();
    return true;
}

#define INSTANTIATE(Key)                                                                               \
    template bool look_up_few(const Call &, const Key *, const Tid *, std::uint64_t, const DeadView &, \
                              const Key *, std::uint64_t, std::uint64_t *, Tid *, std::uint64_t);
INSTANTIATE(std::uint32_t)
INSTANTIATE(std::uint64_t)
INSTANTIATE(Key128)
#undef INSTANTIATE

}  // namespace gpu_engine::device
