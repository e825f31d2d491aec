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
// Builds, beside CUB's radix sort of the same pairs; and merges, beside the time that their bytes take.
void measure_build_and_merge_32(const Bench &bench);
void measure_build_and_merge_64(const Bench &bench);
void measure_build_and_merge_128(const Bench &bench);

}  // namespace gpu_engine::bench
