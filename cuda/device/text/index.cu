// Dead documents and document frequencies.
#include "device/text/index.h"

#include <algorithm>
#include <vector>

#include "device/kary/dead.cuh"
#include "device/text/decode.cuh"
#include "device/text/damage.h"
#include "device/warp.cuh"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {
namespace {

constexpr std::uint32_t lists_between_checks = 64;

// Takes a list's dead documents off its count. A warp takes a block of postings at a time.
template <postings::Codec Codec>
__global__ void __launch_bounds__(threads_a_block, 4)
    count_documents_kernel(TextView text, const ListView *lists, std::uint32_t number, std::uint32_t *count,
                           std::uint32_t *damaged) {
    __shared__ alignas(16) WarpScratch scratch[warps_a_block];
    const ListView list = lists[number];
    const std::uint32_t lane = threadIdx.x % 32;
    for (std::uint32_t i = blockIdx.x * warps_a_block + threadIdx.x / 32; i < list.blocks;
         i += gridDim.x * warps_a_block) {
        Block block;
        if (!decode_block<Codec>(text, list, i, lane, scratch[threadIdx.x / 32], &block)) {
            *damaged = 1;
            return;
        }
        std::uint32_t dead = 0;
#pragma unroll
        for (std::uint32_t j = 0; j < a_lane; ++j) {
            if (lane * a_lane + j < block.count && is_dead(text.dead, block.ordinals[j])) {
                ++dead;
            }
        }
        dead = sum_of_warp(dead);
        if (lane == 0 && dead > 0) {
            atomicSub(count, dead);
        }
    }
}

}  // namespace

ListView view_of(const TextShape &shape, const TextList &list) {
    require_ok(check_text_list(shape, list));
    ListView view = {list.offset,  list.bytes,    list.documents, text_blocks(list.documents),
                     list.ordinal, list.frequency};
    if (list.documents > 1) {
        const std::uint64_t heads =
            view.blocks > 1 ? std::uint64_t(view.blocks) * sizeof(postings::BlockHead) : 0;
        if (list.bytes < heads || (view.blocks == 1 && list.bytes < short_list_head)) {
            throw Failure{contradicted_by_list()};
        }
        view.data_bytes = list.bytes - heads;
    }
    return view;
}

TextView DeviceTextIndex::view(const Call &call) const {
    return {reinterpret_cast<const std::uint32_t *>(parts_.postings.data()),
            parts_.lengths.data(),
            parts_.short_lengths.data(),
            parts_.tids.data(),
            parts_.shape.documents,
            parts_.shape.codec,
            dead_view(call)};
}

std::uint64_t DeviceTextIndex::bytes() const noexcept {
    return parts_.postings.bytes() + parts_.lengths.bytes() + parts_.short_lengths.bytes() +
           parts_.tids.bytes() + dead_bytes();
}

Status DeviceTextIndex::count_documents(Stream &stream, const TextList *lists, std::uint32_t count,
                                        std::uint32_t *documents) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        std::vector<ListView> views;
        std::vector<std::uint32_t> counts;
        for (std::uint32_t i = 0; i < count; ++i) {
            const TextList list = lists[i];
            views.push_back(view_of(parts_.shape, list));
            counts.push_back(list.documents);
        }
        const TextView text = view(call);
        if (text.dead.words != nullptr && count > 0) {
            const Buffer<ListView> device_views = call.buffer<ListView>(count);
            const Buffer<std::uint32_t> device_counts = call.buffer<std::uint32_t>(count);
            const Damage damage(call);
            call.copy(device_views.data(), views.data(), count);
            call.copy(device_counts.data(), static_cast<const std::uint32_t *>(counts.data()), count);
            const auto most = static_cast<unsigned>(call.engine().multiprocessors()) * 8;
            for (std::uint32_t i = 0; i < count; ++i) {
                const unsigned wanted = (views[i].blocks + warps_a_block - 1) / warps_a_block;
                const unsigned grid = std::min(wanted, most);
                with_codec(parts_.shape.codec, [&](auto codec) {
                    const auto kernel = count_documents_kernel<codec>;
                    kernel<<<grid, threads_a_block, 0, call.stream()>>>(
                        text, device_views.data(), i, device_counts.data() + i, damage.flag());
                });
                check_launch("count_documents_kernel");
                // However many lists are asked about, whoever cancels doesn't wait for all of them.
                if (i % lists_between_checks == lists_between_checks - 1) {
                    call.wait();
                }
            }
            call.copy(counts.data(), static_cast<const std::uint32_t *>(device_counts.data()), count);
            damage.raise();
        }
        std::copy(counts.begin(), counts.end(), documents);
        return Status{};
    });
}

}  // namespace gpu_engine::device
