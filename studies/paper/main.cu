// Benchmark of "All You Need Is Binary Search!" and what it leaves open.
#include "studies/paper/parts.h"
#include "bench/program.cuh"

int main(int argc, char **argv) {
    using namespace gpu_engine::bench;
    static const char usage[] =
        "usage: pg_gpu_kary_paper [--sizes 15,16,...,28] [--lookups 27] [--repeats 7]\n"
        "                         [--only PART[,PART...]] [--json FILE]\n"
        "Sizes and lookups are powers of two; tables that aren't by size take 22 and 26, or the largest\n"
        "given; those of 64- and 128-bit keys and of ordered lookups take the even sizes and half the\n"
        "lookups, the tables by parameters a quarter or an eighth. Parts: sizes-32, sizes-64, sizes-128,\n"
        "ordered, scheduling, pinning, reordering, fan-outs, combinations, builds-32, builds-64, "
        "builds-128,\n"
        "updates, batches, skew, hits; all when none is named.\n";
    const Part parts[] = {
        {"sizes-32", paper::measure_sizes_32},
        {"sizes-64", paper::measure_sizes_64},
        {"sizes-128", paper::measure_sizes_128},
        {"ordered", paper::measure_ordered},
        {"scheduling", paper::measure_scheduling},
        {"pinning", paper::measure_pinning},
        {"reordering", paper::measure_reordering},
        {"fan-outs", paper::measure_fanouts},
        {"combinations", paper::measure_combinations},
        {"builds-32", paper::measure_builds_32},
        {"builds-64", paper::measure_builds_64},
        {"builds-128", paper::measure_builds_128},
        {"updates", paper::measure_updates},
        {"batches", paper::measure_batches},
        {"skew", paper::measure_skew},
        {"hits", paper::measure_hits},
    };
    Options defaults;
    defaults.sizes = {15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28};
    return run_program(argc, argv, "All You Need Is Binary Search!, cuda engine", usage, defaults, parts);
}
