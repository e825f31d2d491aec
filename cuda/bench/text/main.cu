// Benchmark of the cuda engine's inverted lists.
#include "bench/program.cuh"
#include "bench/text/parts.h"

int main(int argc, char **argv) {
    using namespace gpu_engine::bench;
    static const char usage[] =
        "usage: pg_gpu_text_device [--repeats 7] [--only PART[,PART...]] [--json FILE]\n"
        "Parts: decompression, intersections, queries; all when none is named. Each part prints its tables\n"
        "when it is done.\n";
    const Part parts[] = {
        {"decompression", measure_decompression},
        {"intersections", measure_intersections},
        {"queries", measure_queries},
    };
    return run_program(argc, argv, "inverted lists, cuda engine", usage, {}, parts);
}
