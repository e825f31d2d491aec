#include "bench/column/merges.cuh"

namespace gpu_engine::bench {

void measure_merges_64(const Bench &bench) {
    measure_merges<std::uint64_t>(bench);
}

}  // namespace gpu_engine::bench
