// Makes tables by the number of entries.
#include <cstdio>

#include "studies/paper/parts.h"
#include "studies/paper/workload.h"

namespace gpu_engine::bench::paper {

std::vector<NamedVariant> compared_variants(std::size_t key_bytes) {
    Variant fixed;
    fixed.static_blocks = 1;
    fixed.threads = 1024;
    Variant steps = fixed;
    steps.pinning = Pinning::steps;
    Variant full = fixed;
    full.pinning = Pinning::full;
    Variant lookups;
    lookups.threads = usual_sort_threads;
    lookups.reordering = Reordering::lookups;
    Variant both = lookups;
    both.reordering = Reordering::full;
    Variant large_tiles = both;
    large_tiles.items = 16;
    large_tiles.sort_bits = 16;
    Variant all = both;
    all.static_blocks = 1;
    all.pinning = Pinning::full;
    Variant kary;
    kary.structure = Structure::kary;
    // This fan-out was the best of those measured.
    Variant nine = kary;
    nine.fanout = 9;
    nine.together = 2;
    Variant kary_all = all;
    kary_all.structure = Structure::kary;
    std::vector<NamedVariant> variants = {
        {"naive binary search", Variant{}},      {"binary, static", fixed},
        {"binary, steps-pinning", steps},        {"binary, full-pinning", full},
        {"binary, lookup reordering", lookups},  {"binary, full reordering", both},
        {"binary, all optimizations", all},      {"17-ary", kary},
        {"17-ary, all optimizations", kary_all}, {"9-ary, 2 searches together", nine},
    };
    if (key_bytes == 4) {
        variants.push_back({"binary, full reordering in tiles of 16384 by 16 bits", large_tiles});
    }
    return variants;
}

namespace {

template <typename Key>
void measure_sizes(const Bench &bench, const std::string &name, bool ordered, int halvings) {
    const std::string table = name + " " + std::to_string(sizeof(Key) * 8);
    const std::uint64_t count = fewer_lookups(bench, halvings);
    for (const int size : bench.options.sizes) {
        // Every second size is enough beside the paper's own table.
        if (halvings > 0 && size % 2 != 0) {
            continue;
        }
        const device::Call call(bench.engine, bench.stream);
        Workload<Key> workload(bench, call, std::uint64_t(1) << size, count);
        workload.set_lookups({count, ordered});
        workload.add_limit(table, power(size));
        for (const auto &[line, variant] : compared_variants(sizeof(Key))) {
            workload.measure(table, power(size), variant, line);
        }
        workload.measure_library(table, power(size));
        std::printf("%s, %s: measured\n", table.c_str(), power(size).c_str());
        std::fflush(stdout);
    }
}

}  // namespace

void measure_sizes_32(const Bench &bench) {
    measure_sizes<std::uint32_t>(bench, "lookups", false, 0);
}
void measure_sizes_64(const Bench &bench) {
    measure_sizes<std::uint64_t>(bench, "lookups", false, 1);
}
void measure_sizes_128(const Bench &bench) {
    measure_sizes<Key128>(bench, "lookups", false, 1);
}
void measure_ordered(const Bench &bench) {
    measure_sizes<std::uint32_t>(bench, "ordered lookups", true, 1);
}

}  // namespace gpu_engine::bench::paper
