#include "bench/kary/builds.cuh"

namespace gpu_engine::bench {

void measure_build_and_merge_128(const Bench &bench) {
    measure_build_and_merge<Key128>(bench);
}

}  // namespace gpu_engine::bench
