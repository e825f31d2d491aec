#include "bench/column/common.cuh"

namespace gpu_engine::bench {
namespace {

__global__ void __launch_bounds__(512)
    read_kernel(const uint4 *data, std::uint64_t count, std::uint32_t *sum) {
    constexpr int together = 4;
    const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    std::uint32_t own = 0;
    for (; i + (together - 1) * threads < count; i += together * threads) {
        uint4 read[together];
#pragma unroll
        for (int k = 0; k < together; ++k) {
            read[k] = __ldcs(data + i + k * threads);
        }
#pragma unroll
        for (int k = 0; k < together; ++k) {
            own += read[k].x ^ read[k].y ^ read[k].z ^ read[k].w;
        }
    }
    // This is never so in practice, but the compiler can't know.
    if (own == 0x12345678) {
        *sum = own;
    }
}

__global__ void differing_words_kernel(const std::uint32_t *a, const std::uint32_t *b, std::uint64_t count,
                                       unsigned long long *differing) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count && a[i] != b[i]) {
        atomicAdd(differing, 1ULL);
    }
}

}  // namespace

double read_bandwidth(const Bench &bench, const device::Call &call, std::uint64_t bytes) {
    const device::Buffer<char> data = call.buffer<char>(bytes);
    const device::Buffer<std::uint32_t> sum = call.buffer<std::uint32_t>(1);
    call.fill(data.data(), 0, bytes);
    const auto blocks = static_cast<unsigned>(bench.engine.multiprocessors() * 4);
    const double ms = median_ms(bench, [&] {
        read_kernel<<<blocks, 512, 0, call.stream()>>>(reinterpret_cast<const uint4 *>(data.data()),
                                                       bytes / 16, sum.data());
        device::check_launch("read_kernel");
    });
    return static_cast<double>(bytes) / ms / 1e6;
}

double copy_bandwidth(const Bench &bench, const device::Call &call, std::uint64_t bytes) {
    const device::Buffer<char> from = call.buffer<char>(bytes / 2);
    const device::Buffer<char> to = call.buffer<char>(bytes / 2);
    call.fill(from.data(), 0, bytes / 2);
    const double ms =
        median_ms(bench, [&] { call.copy(to.data(), static_cast<const char *>(from.data()), bytes / 2); });
    return static_cast<double>(bytes) / ms / 1e6;
}

std::uint64_t differing_words(const device::Call &call, const void *a, const void *b, std::uint64_t bytes) {
    const std::uint64_t words = bytes / sizeof(std::uint32_t);
    const device::Buffer<unsigned long long> differing = call.buffer<unsigned long long>(1);
    call.fill(differing.data(), 0, sizeof(unsigned long long));
    if (words > 0) {
        differing_words_kernel<<<grid_for(words), 256, 0, call.stream()>>>(
            static_cast<const std::uint32_t *>(a), static_cast<const std::uint32_t *>(b), words,
            differing.data());
        device::check_launch("differing_words_kernel");
    }
    unsigned long long result = 0;
    call.copy(&result, static_cast<const unsigned long long *>(differing.data()), 1);
    call.wait();
    return result;
}

}  // namespace gpu_engine::bench
