#include "bench/column/merges.cuh"

namespace gpu_engine::bench {

void measure_merges_32(const Bench &bench) {
    measure_merges<std::uint32_t>(bench);
}

}  // namespace gpu_engine::bench
