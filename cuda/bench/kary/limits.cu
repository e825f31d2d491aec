#include "bench/kary/lookup.cuh"

namespace gpu_engine::bench {
namespace {

__global__ void make_indexes_kernel(std::uint32_t *indexes, std::uint64_t blocks, std::uint64_t count) {
    const std::uint64_t j = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (j < count) {
        indexes[j] = lookup_place(j, blocks);
    }
}

__global__ void gather_4_kernel(const std::uint32_t *data, const std::uint32_t *indexes,
                                std::uint32_t *output, std::uint64_t count) {
    const std::uint64_t j = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (j < count) {
        __stcs(output + j, __ldg(data + __ldcs(indexes + j)));
    }
}

// Reads blocks of 16 bytes times `Lanes` as the tree's nodes are read.
template <int Lanes>
__global__ void gather_blocks_kernel(const uint4 *data, const std::uint32_t *indexes, std::uint32_t *output,
                                     std::uint64_t count) {
    const std::uint64_t j = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const std::uint32_t index = j < count ? __ldcs(indexes + j) : 0;
    uint4 blocks[Lanes];
    device::shared_load<Lanes>(
        data, index,
        [](const uint4 *address) { return device::load_leaf<device::CacheHints::leaves_pass_l1>(address); },
        blocks);
    const std::uint32_t sum = device::shared_count<Lanes, false>(
        blocks, 0U,
        [](const uint4 &words, std::uint32_t) { return (words.x ^ words.y ^ words.z ^ words.w) & 1U; });
    if (j < count) {
        __stcs(output + j, sum);
    }
}

}  // namespace

double gather_rate(const Bench &bench, const device::Call &call, const void *data,
                   const std::uint32_t *indexes, std::uint32_t *output, std::uint64_t count, int bytes) {
    const auto *words = static_cast<const uint4 *>(data);
    const double ms = median_ms(bench, [&] {
        switch (bytes) {
            case 4:
                gather_4_kernel<<<grid_for(count), 256, 0, call.stream()>>>(
                    static_cast<const std::uint32_t *>(data), indexes, output, count);
                break;
            case 32:
                gather_blocks_kernel<2>
                    <<<grid_for(count), 256, 0, call.stream()>>>(words, indexes, output, count);
                break;
            case 64:
                gather_blocks_kernel<4>
                    <<<grid_for(count), 256, 0, call.stream()>>>(words, indexes, output, count);
                break;
            case 128:
                gather_blocks_kernel<8>
                    <<<grid_for(count), 256, 0, call.stream()>>>(words, indexes, output, count);
                break;
            default:
                throw Failure{make_status(StatusCode::invalid_argument, "no such gather")};
        }
        device::check_launch("gather");
    });
    return static_cast<double>(count) / ms / 1000;
}

double gather_limit(const Bench &bench, const device::Call &call, const void *data, std::uint64_t data_bytes,
                    std::uint32_t *indexes, std::uint32_t *output, std::uint64_t count, int bytes) {
    make_indexes_kernel<<<grid_for(count), 256, 0, call.stream()>>>(
        indexes, data_bytes / static_cast<std::uint64_t>(bytes), count);
    device::check_launch("make_indexes_kernel");
    return gather_rate(bench, call, data, indexes, output, count, bytes);
}

}  // namespace gpu_engine::bench
