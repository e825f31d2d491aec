// The resources that kernels may ask of a multiprocessor in their launch bounds.
#pragma once

namespace gpu_engine::device {

// Returns `wanted` blocks of so many threads, or as many as a multiprocessor of the device that is compiled
// for has threads for ("Technical Specifications per Compute Capability" in the CUDA C++ Programming Guide).
constexpr int resident_blocks(int wanted, int threads) {
#if !defined(__CUDA_ARCH__)
    constexpr int resident_threads = 2048;
#elif __CUDA_ARCH__ < 800
    constexpr int resident_threads = 1024;
#elif __CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100)
    constexpr int resident_threads = 2048;
#else
    constexpr int resident_threads = 1536;
#endif
    return wanted * threads <= resident_threads ? wanted : resident_threads / threads;
}

}  // namespace gpu_engine::device
