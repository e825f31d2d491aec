// The parts of the device benchmark.
#pragma once

namespace gpu_engine::bench {

struct Bench;

void measure_lookups_32(const Bench &bench);
void measure_lookups_64(const Bench &bench);
void measure_lookups_128(const Bench &bench);
// Measures the engine's calls as a caller sees them: find, count and gather, and small batches from pinned
// memory.
void measure_calls(const Bench &bench);

}  // namespace gpu_engine::bench
