// CUB's device-wide calls with memory of the engine's.
#pragma once

#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

#include <algorithm>
#include <cstdint>

#include "device/call.h"

namespace gpu_engine::device {

// Calls run(scratch, bytes) with null scratch to learn its size, then with scratch.
template <typename Run>
void with_scratch_memory(const Call &call, const char *name, Run run) {
    std::size_t bytes = 0;
    check(run(nullptr, bytes), name);
    // CUB takes a null pointer for the request about the size.
    const Buffer<char> scratch = call.buffer<char>(std::max<std::size_t>(bytes, 1));
    check(run(static_cast<void *>(scratch.data()), bytes), name);
}

// Makes sums[i] the sum of the numbers before the i-th, for `count` of them; the two may be the same array.
template <typename Number, typename Sum>
void exclusive_sums(const Call &call, const Number *numbers, Sum *sums, std::uint64_t count) {
    with_scratch_memory(call, "DeviceScan::ExclusiveScan", [&](void *scratch, std::size_t &bytes) {
        return cub::DeviceScan::ExclusiveScan(scratch, bytes, numbers, sums, cuda::std::plus<>(), Sum(0),
                                              count, call.stream());
    });
}

template <typename Element>
Element read_element(const Call &call, const Element *element) {
    Element result{};
    call.read(&result, element, 1);
    return result;
}

}  // namespace gpu_engine::device
