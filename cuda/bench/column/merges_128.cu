#include "bench/column/merges.cuh"

namespace gpu_engine::bench {

void measure_merges_128(const Bench &bench) {
    measure_merges<Key128>(bench);
}

}  // namespace gpu_engine::bench
