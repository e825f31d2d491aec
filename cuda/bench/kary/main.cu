// Benchmark of the cuda engine's sorted arrays.
#include "bench/kary/parts.h"
#include "bench/program.cuh"

int main(int argc, char **argv) {
    using namespace gpu_engine::bench;
    static const char usage[] =
        "usage: pg_gpu_kary_device [--sizes 20,24,26,28] [--lookups 27] [--repeats 7]\n"
        "                          [--only PART[,PART...]] [--json FILE]\n"
        "Sizes and lookups are powers of two. Parts: lookups-32, lookups-64, lookups-128, calls; all when\n"
        "none is named. Each part prints its tables when it is done.\n";
    const Part parts[] = {
        {"lookups-32", measure_lookups_32},
        {"lookups-64", measure_lookups_64},
        {"lookups-128", measure_lookups_128},
        {"calls", measure_calls},
    };
    return run_program(argc, argv, "kary, cuda engine", usage, Options{}, parts);
}
