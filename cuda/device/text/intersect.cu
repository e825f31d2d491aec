#include "device/text/intersect.h"

#include <cub/device/device_select.cuh>

#include <algorithm>
#include <vector>

#include "device/cub_calls.cuh"
#include "device/kary/dead.cuh"
#include "device/text/decode.cuh"
#include "device/text/decode_list.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {
namespace {

// Finds the blocks of one level of ordinals: of numbers `step` - 1, 2 `step` - 1, ..., but not of those that
// the level before found, which are every `coarse`-th (0: there was none).
__global__ void find_level_kernel(TextView text, ListView list, const std::uint32_t *ordinals,
                                  std::uint32_t count, std::uint32_t step, std::uint32_t coarse,
                                  std::uint32_t *blocks) {
    const std::uint64_t i = (std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x) * step + (step - 1);
    if (i >= count || (coarse > 0 && (i + 1) % coarse == 0)) {
        return;
    }
    std::uint32_t low = 0;
    std::uint32_t high = list.blocks - 1;
    if (coarse > 0) {
        const std::uint64_t right = (i / coarse + 1) * coarse - 1;
        if (right >= coarse) {
            low = blocks[right - coarse];
        }
        if (right < count) {
            high = blocks[right];
        }
    }
    // Behind the last head there is nothing: the last block is looked into for what is higher.
    blocks[i] = low < high ? find_block(text, list, ordinals[i], low, high) : high;
}

// A warp takes 32 ordinals, and one block after the other in which they can lie.
template <postings::Codec Codec>
__global__ void __launch_bounds__(threads_a_block, 4)
    match_kernel(TextView text, ListView list, const std::uint32_t *ordinals, std::uint32_t count,
                 const std::uint32_t *blocks, std::uint8_t *flags, std::uint32_t *damaged) {
    __shared__ alignas(16) WarpScratch scratch[warps_a_block];
    __shared__ alignas(16) WarpScratch decoded[warps_a_block];
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint64_t first = (std::uint64_t(blockIdx.x) * warps_a_block + warp) * 32;
    if (first >= count) {
        return;
    }
    const std::uint64_t i = first + lane;
    const std::uint32_t wanted = i < count ? ordinals[i] : 0;
    const std::uint32_t mine = i < count ? blocks[i] : 0;
    bool found = false;
    std::uint32_t waiting = __ballot_sync(all_lanes, i < count);
    while (waiting != 0) {
        const std::uint32_t number = __shfl_sync(all_lanes, mine, __ffs(static_cast<int>(waiting)) - 1);
        Block block;
        if (!decode_block<Codec>(text, list, number, lane, scratch[warp], &block)) {
            *damaged = 1;
            return;
        }
#pragma unroll
        for (std::uint32_t j = 0; j < a_lane; ++j) {
            const std::uint32_t at = lane * a_lane + j;
            decoded[warp][at] = at < block.count ? block.ordinals[j] : UINT32_MAX;
        }
        __syncwarp();
        if (mine == number && i < count) {
            std::uint32_t at = 0;
#pragma unroll
            for (std::uint32_t step = a_block / 2; step > 0; step /= 2) {
                at += decoded[warp][at + step - 1] < wanted ? step : 0;
            }
            found = decoded[warp][at] == wanted;
        }
        waiting &= ~__ballot_sync(all_lanes, mine == number);
        __syncwarp();
    }
    if (i < count) {
        flags[i] = found ? 1 : 0;
    }
}

__global__ void flag_live_kernel(const std::uint32_t *ordinals, std::uint32_t count, DeadView dead,
                                 std::uint8_t *flags) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        flags[i] = is_dead(dead, ordinals[i]) ? 0 : 1;
    }
}

__global__ void gather_tids_kernel(const std::uint32_t *ordinals, std::uint32_t count, const Tid *tids,
                                   Tid *out) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        out[i] = tids[ordinals[i]];
    }
}

void select_flagged(const Call &call, const std::uint32_t *ordinals, std::uint32_t count,
                    const std::uint8_t *flags, std::uint32_t *kept_ordinals, std::uint32_t *kept) {
    with_scratch_memory(call, "DeviceSelect::Flagged", [&](void *scratch, std::size_t &bytes) {
        return cub::DeviceSelect::Flagged(scratch, bytes, ordinals, flags, kept_ordinals, kept, count,
                                          call.stream());
    });
}

}  // namespace

void find_blocks(const Call &call, const TextView &text, const ListView &list, const std::uint32_t *ordinals,
                 std::uint32_t count, std::uint32_t levels, std::uint32_t *blocks) {
    // Steps between ordinals of the levels, the last 1, each level's as many times finer.
    constexpr std::uint32_t finer = 32;
    std::uint32_t coarse = 0;
    for (std::uint32_t level = 0; level < levels; ++level) {
        std::uint32_t step = 1;
        for (std::uint32_t i = level + 1; i < levels; ++i) {
            step *= finer;
        }
        const std::uint32_t here = count / step;
        if (here > 0) {
            find_level_kernel<<<blocks_for(here), threads_a_block, 0, call.stream()>>>(
                text, list, ordinals, count, step, coarse, blocks);
            check_launch("find_level_kernel");
        }
        coarse = here > 0 ? step : 0;
    }
}

void keep_common(const Call &call, const TextView &text, const ListView &list, const std::uint32_t *ordinals,
                 std::uint32_t count, std::uint32_t levels, std::uint32_t *blocks, std::uint8_t *flags,
                 std::uint32_t *common, std::uint32_t *kept, std::uint32_t *damaged) {
    find_blocks(call, text, list, ordinals, count, levels, blocks);
    with_codec(text.codec, [&](auto codec) {
        const auto kernel = match_kernel<codec>;
        kernel<<<blocks_for(count), threads_a_block, 0, call.stream()>>>(text, list, ordinals, count, blocks,
                                                                         flags, damaged);
    });
    check_launch("match_kernel");
    select_flagged(call, ordinals, count, flags, common, kept);
}

Status DeviceTextIndex::intersect(Stream &stream, const TextList *lists, std::uint32_t count, Tid *tids,
                                  std::uint64_t capacity, std::uint64_t *found) const noexcept {
    return guarded([&] {
        if (count == 0 || count > max_text_terms) {
            return make_status(StatusCode::invalid_argument, "an intersection takes 1 to 1024 lists");
        }
        const Call call(engine_, stream);
        std::vector<ListView> views;
        for (std::uint32_t i = 0; i < count; ++i) {
            const TextList list = lists[i];
            views.push_back(view_of(parts_.shape, list));
        }
        std::sort(views.begin(), views.end(),
                  [](const ListView &a, const ListView &b) { return a.documents < b.documents; });
        const TextView text = view(call);
        const Damage damage(call);
        std::uint32_t members = views[0].documents;
        Buffer<std::uint32_t> ordinals = call.buffer<std::uint32_t>(members);
        Buffer<std::uint32_t> common = call.buffer<std::uint32_t>(members);
        const Buffer<std::uint32_t> blocks = call.buffer<std::uint32_t>(members);
        const Buffer<std::uint8_t> flags = call.buffer<std::uint8_t>(members);
        const Buffer<std::uint32_t> kept = call.buffer<std::uint32_t>(1);
        const auto read_cached = [&] {
            call.copy(&members, static_cast<const std::uint32_t *>(kept.data()), 1);
            damage.raise();
            std::swap(ordinals, common);
        };
        decode_list(call, text, views[0], ordinals.data(), damage.flag());
        damage.raise();
        if (text.dead.words != nullptr) {
            flag_live_kernel<<<blocks_for(members), threads_a_block, 0, call.stream()>>>(
                ordinals.data(), members, text.dead, flags.data());
            check_launch("flag_live_kernel");
            select_flagged(call, ordinals.data(), members, flags.data(), common.data(), kept.data());
            read_cached();
        }
        constexpr std::uint32_t levels = 2;
        for (std::uint32_t i = 1; i < count && members > 0; ++i) {
            keep_common(call, text, views[i], ordinals.data(), members, levels, blocks.data(), flags.data(),
                        common.data(), kept.data(), damage.flag());
            read_cached();
        }
        *found = members;
        if (members > capacity) {
            return make_status(StatusCode::insufficient_space, "more documents than there is room for");
        }
        if (members > 0) {
            const Buffer<Tid> out = call.buffer<Tid>(members);
            gather_tids_kernel<<<blocks_for(members), threads_a_block, 0, call.stream()>>>(
                ordinals.data(), members, text.tids, out.data());
            check_launch("gather_tids_kernel");
            call.copy(tids, static_cast<const Tid *>(out.data()), members);
            call.wait();
        }
        return Status{};
    });
}

}  // namespace gpu_engine::device
