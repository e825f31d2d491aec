#include "bench/column/numbers.cuh"

namespace gpu_engine::bench {

void measure_numbers_f32(const Bench &bench) {
    measure_numbers<float>(bench, "f32");
}

}  // namespace gpu_engine::bench
