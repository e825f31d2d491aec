#include "bench/column/numbers.cuh"

namespace gpu_engine::bench {

void measure_numbers_i64(const Bench &bench) {
    measure_numbers<std::int64_t>(bench, "i64");
}

}  // namespace gpu_engine::bench
