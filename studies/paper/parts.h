// The parts of the benchmark, by the paper's figures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/kary/measure.cuh"
#include "studies/paper/variants/variant.h"

namespace gpu_engine::bench::paper {

// Lookup time by the number of entries: Figures 1a and 11.
void measure_sizes_32(const Bench &bench);
void measure_sizes_64(const Bench &bench);
void measure_sizes_128(const Bench &bench);
// Lookups in the order of their keys: Figure 1b.
void measure_ordered(const Bench &bench);
// Dynamic and static scheduling by the number of threads a block: Figure 4.
void measure_scheduling(const Bench &bench);
// Lookup time by the number of steps that are pinned: Figure 6.
void measure_pinning(const Bench &bench);
// Reordering by threads a block and by lookups a thread: Figure 8.
void measure_reordering(const Bench &bench);
// The optimizations by fan-out: Figure 10.
void measure_fanouts(const Bench &bench);
// Reordering by large tiles beside pinning of all extents.
void measure_combinations(const Bench &bench);
// The time to build, Figure 13, and the memory, Figure 12.
void measure_builds_32(const Bench &bench);
void measure_builds_64(const Bench &bench);
void measure_builds_128(const Bench &bench);
// These go beyond the paper's figures: keys that aren't there, keys looked up more often than others, small
// batches, and what it costs to add keys.
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

// The sizes of tables that aren't by size, as powers of two: one whose keys fit into L2, and one whose keys
// don't. They are smaller when the options name smaller ones only.
inline std::vector<int> two_sizes(const Bench &bench) {
    const int largest = *std::max_element(bench.options.sizes.begin(), bench.options.sizes.end());
    std::vector<int> sizes = {std::min(22, largest)};
    if (largest > 22) {
        sizes.push_back(std::min(26, largest));
    }
    return sizes;
}

// The number of lookups for tables of many lines, which is smaller than the one that the options name.
inline std::uint64_t fewer_lookups(const Bench &bench, int halvings) {
    return std::uint64_t(1) << std::max(bench.options.lookups - halvings, 0);
}

inline std::string keys_of(int size) {
    return power(size) + " keys";
}

}  // namespace gpu_engine::bench::paper
