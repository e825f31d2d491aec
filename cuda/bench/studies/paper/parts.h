// The parts of the benchmark, by the paper's figures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/kary/measure.cuh"
#include "bench/studies/paper/variants/variant.h"

namespace gpu_engine::bench::paper {

// Lookup time by entries, Figures 1a and 11.
void measure_sizes_32(const Bench &bench);
void measure_sizes_64(const Bench &bench);
void measure_sizes_128(const Bench &bench);
// Lookups in the keys' order, 1b.
void measure_ordered(const Bench &bench);
// Dynamic and static scheduling by threads a block, 4.
void measure_scheduling(const Bench &bench);
// By steps pinned, 6.
void measure_pinning(const Bench &bench);
// By threads and lookups a thread, 8.
void measure_reordering(const Bench &bench);
// The optimizations by fan-out, 10.
void measure_fanouts(const Bench &bench);
// Reordering by large tiles beside pinning of all extents.
void measure_combinations(const Bench &bench);
// Time to build, 13, and memory, 12.
void measure_builds_32(const Bench &bench);
void measure_builds_64(const Bench &bench);
void measure_builds_128(const Bench &bench);
// Beyond the paper's figures: keys that aren't there, keys looked up more often than others, small batches,
// and what it costs to add keys.
void measure_hits(const Bench &bench);
void measure_skew(const Bench &bench);
void measure_batches(const Bench &bench);
void measure_updates(const Bench &bench);

// The variants that most tables compare, for keys of so many bytes.
struct NamedVariant {
    std::string name;
    Variant variant;
};
std::vector<NamedVariant> compared_variants(std::size_t key_bytes);

// Sizes of the tables that aren't by size, as powers of two: one whose keys L2 holds, one that it doesn't;
// less when the options name smaller ones only.
inline std::vector<int> two_sizes(const Bench &bench) {
    const int largest = *std::max_element(bench.options.sizes.begin(), bench.options.sizes.end());
    std::vector<int> sizes = {std::min(22, largest)};
    if (largest > 22) {
        sizes.push_back(std::min(26, largest));
    }
    return sizes;
}

// Less than the lookups that the options name, for tables of many lines.
inline std::uint64_t fewer_lookups(const Bench &bench, int halvings) {
    return std::uint64_t(1) << std::max(bench.options.lookups - halvings, 0);
}

inline std::string keys_of(int size) {
    return power(size) + " keys";
}

}  // namespace gpu_engine::bench::paper
