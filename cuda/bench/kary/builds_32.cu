#include "bench/kary/builds.cuh"

#include "gpu_engine/boundary.h"

namespace gpu_engine::bench {

void measure_build_and_merge_32(const Bench &bench) {
    measure_build_and_merge<std::uint32_t>(bench);
}

}  // namespace gpu_engine::bench
