#include "bench/kary/builds.cuh"

namespace gpu_engine::bench {

void measure_build_and_merge_64(const Bench &bench) {
    measure_build_and_merge<std::uint64_t>(bench);
}

}  // namespace gpu_engine::bench
