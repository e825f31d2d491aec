#include "bench/column/numbers.cuh"

namespace gpu_engine::bench {

void measure_numbers_f64(const Bench &bench) {
    measure_numbers<double>(bench, "f64");
}

}  // namespace gpu_engine::bench
