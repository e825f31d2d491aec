// Makes tables by the parameters of the optimizations, with 32-bit keys.
#include <string>
#include <utility>

#include "studies/paper/parts.h"
#include "studies/paper/workload.h"

namespace gpu_engine::bench::paper {
namespace {

// Calls `measure` with a workload of each of two sizes.
template <typename Measure>
void with_workloads(const Bench &bench, int halvings, Measure measure) {
    const std::uint64_t count = fewer_lookups(bench, halvings);
    for (const int size : two_sizes(bench)) {
        const device::Call call(bench.engine, bench.stream);
        Workload<std::uint32_t> workload(bench, call, std::uint64_t(1) << size, count);
        workload.set_lookups({count});
        measure(workload, keys_of(size));
    }
}

Variant structure_of(std::uint32_t fanout) {
    Variant variant;
    variant.structure = fanout == 2 ? Structure::binary : Structure::kary;
    variant.fanout = fanout;
    return variant;
}

}  // namespace

void measure_scheduling(const Bench &bench) {
    with_workloads(bench, 3, [](Workload<std::uint32_t> &workload, const std::string &keys) {
        for (const std::uint32_t fanout : {2, 17}) {
            Variant variant = structure_of(fanout);
            const std::string table =
                "threads a block, " + std::string(fanout == 2 ? "binary" : "17-ary") + ", " + keys;
            for (const int threads : {32, 64, 128, 256, 512, 1024}) {
                const std::string column = std::to_string(threads);
                workload.add_limit(table, column);
                variant.threads = threads;
                variant.static_blocks = 0;
                workload.measure(table, column, variant, "dynamic");
                for (const int blocks : {1, 2, 4}) {
                    // A multiprocessor holds 2048 threads.
                    if (blocks * threads <= 2048) {
                        variant.static_blocks = blocks;
                        workload.measure(table, column, variant,
                                         "static, " + std::to_string(blocks) + " a multiprocessor");
                    }
                }
            }
        }
    });
}

void measure_pinning(const Bench &bench) {
    with_workloads(bench, 2, [](Workload<std::uint32_t> &workload, const std::string &keys) {
        const auto line_of = [](const Variant &variant) {
            return "static " + std::to_string(variant.static_blocks) + " x " +
                   std::to_string(variant.threads);
        };
        const auto measure = [&](const std::string &table, Variant variant, int max_steps) {
            variant.pinning = Pinning::none;
            workload.measure(table, "none", variant, line_of(variant));
            variant.pinning = Pinning::steps;
            for (int steps = 1; steps <= max_steps; ++steps) {
                variant.steps = steps;
                workload.measure(table, std::to_string(steps), variant, line_of(variant));
            }
            variant.pinning = Pinning::full;
            workload.measure(table, "full", variant, line_of(variant));
        };
        for (const auto &[blocks, threads] : {std::pair{1, 256}, {1, 1024}, {2, 1024}}) {
            for (const std::uint32_t fanout : {2, 17}) {
                Variant variant = structure_of(fanout);
                variant.static_blocks = blocks;
                variant.threads = threads;
                // Only what fits into the shared memory that a block has is pinned.
                if (fanout == 2) {
                    measure("pinned steps, binary, " + keys, variant, blocks == 1 ? 15 : 14);
                } else {
                    measure("pinned levels, 17-ary, " + keys, variant, 3);
                }
            }
        }
    });
}

void measure_reordering(const Bench &bench) {
    with_workloads(bench, 2, [](Workload<std::uint32_t> &workload, const std::string &keys) {
        for (const Reordering reordering : {Reordering::lookups, Reordering::full}) {
            for (const int bits : {32, 16}) {
                Variant variant;
                variant.reordering = reordering;
                variant.sort_bits = bits;
                const std::string table = std::string(reordering == Reordering::full ? "full" : "lookup") +
                                          " reordering by " + std::to_string(bits) + " bits, " + keys;
                for (const int threads : {128, 256, 512, 1024}) {
                    for (const int items : {1, 2, 4, 8, 16}) {
                        variant.threads = threads;
                        variant.items = items;
                        workload.measure(table, std::to_string(items) + " a thread", variant,
                                         std::to_string(threads) + " threads");
                    }
                }
            }
        }
    });
}

void measure_fanouts(const Bench &bench) {
    with_workloads(bench, 2, [](Workload<std::uint32_t> &workload, const std::string &keys) {
        const std::string table = "fan-out, " + keys;
        for (const std::uint32_t fanout : {2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 24, 32, 33, 48, 64, 65}) {
            Variant variant;
            variant.structure = Structure::kary;
            variant.fanout = fanout;
            const std::string column = std::to_string(fanout);
            workload.measure(table, column, variant, "dynamic");
            variant.together = 2;
            workload.measure(table, column, variant, "dynamic, 2 searches together");
            variant.together = 1;
            variant.static_blocks = 2;
            variant.threads = 1024;
            workload.measure(table, column, variant, "static");
        }
        const std::string optimizations = "optimizations, " + keys;
        for (const std::uint32_t fanout : {2, 3, 5, 9, 17, 33, 65}) {
            const std::string column = fanout == 2 ? "binary" : std::to_string(fanout);
            const Variant naive = structure_of(fanout);
            workload.measure(optimizations, column, naive, "none");
            Variant fixed = naive;
            fixed.static_blocks = 1;
            fixed.threads = 1024;
            workload.measure(optimizations, column, fixed, "static");
            fixed.pinning = Pinning::steps;
            workload.measure(optimizations, column, fixed, "steps-pinning");
            fixed.pinning = Pinning::full;
            workload.measure(optimizations, column, fixed, "full-pinning");
            Variant reordered = naive;
            reordered.threads = usual_sort_threads;
            reordered.reordering = Reordering::lookups;
            workload.measure(optimizations, column, reordered, "lookup reordering");
            reordered.reordering = Reordering::full;
            workload.measure(optimizations, column, reordered, "full reordering");
            reordered.sort_bits = 16;
            workload.measure(optimizations, column, reordered, "full reordering by 16 bits");
            reordered.static_blocks = 1;
            reordered.pinning = Pinning::full;
            workload.measure(optimizations, column, reordered, "all, by 16 bits");
            reordered.sort_bits = 32;
            workload.measure(optimizations, column, reordered, "all");
        }
        workload.add_limit(table, "2");
        workload.add_limit(optimizations, "binary");
        workload.measure_library(optimizations, "binary");
    });
}

void measure_combinations(const Bench &bench) {
    with_workloads(bench, 2, [](Workload<std::uint32_t> &workload, const std::string &keys) {
        const std::string table = "combinations, " + keys;
        Variant variant;
        variant.static_blocks = 1;
        variant.threads = usual_sort_threads;
        variant.reordering = Reordering::full;
        for (const int items : {4, 8, 16}) {
            variant.items = items;
            for (const int bits : {16, 32}) {
                variant.sort_bits = bits;
                const std::string column =
                    std::to_string(items) + " a thread, " + std::to_string(bits) + " bits";
                variant.pinning = Pinning::none;
                workload.measure(table, column, variant, "nothing pinned");
                variant.pinning = Pinning::steps;
                for (const int steps : {6, 9, 12, 14}) {
                    variant.steps = steps;
                    workload.measure(table, column, variant, std::to_string(steps) + " steps pinned");
                }
                variant.pinning = Pinning::full;
                workload.measure(table, column, variant, "full-pinning");
            }
        }
    });
}

}  // namespace gpu_engine::bench::paper
