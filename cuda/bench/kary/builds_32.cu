#include "bench/kary/builds.cuh"

namespace gpu_engine::bench {

void measure_build_and_merge_32(const Bench &bench) {
    measure_build_and_merge<std::uint32_t>(bench);
}

}  // namespace gpu_engine::bench
