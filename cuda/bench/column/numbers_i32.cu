#include "bench/column/numbers.cuh"

namespace gpu_engine::bench {

void measure_numbers_i32(const Bench &bench) {
    measure_numbers<std::int32_t>(bench, "i32");
}

}  // namespace gpu_engine::bench
