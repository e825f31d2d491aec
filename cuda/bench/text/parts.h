// The parts of the benchmark of inverted lists.
#pragma once

namespace gpu_engine::bench {

struct Bench;

// Measures decompression by codec and list length, with and without the sums that make ordinals of gaps; and
// the bytes a posting.
void measure_decompression(const Bench &bench);
// Measures finding where the documents of one list lie in another, and their intersection, by levels of
// recursion.
void measure_intersections(const Bench &bench);
// Measures ranked queries alone and in batches, step by step, and the same queries on the host engine.
void measure_queries(const Bench &bench);

}  // namespace gpu_engine::bench
