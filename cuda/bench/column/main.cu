// Benchmark of the cuda engine's columns: histograms and dictionary merges.
#include "bench/column/parts.h"
#include "bench/program.cuh"

#include "gpu_engine/boundary.h"

int main(int argc, char **argv) {
    using namespace gpu_engine::bench;
    static const char usage[] =
        "usage: pg_gpu_column_device [--sizes 28] [--repeats 7] [--only PART[,PART...]] [--json FILE]\n"
        "Sizes are powers of two of bytes that a histogram reads. Parts: bytes, block-counts, images,\n"
        "numbers-i32, numbers-i64, numbers-f32, numbers-f64, codes, merges-32, merges-64, merges-128,\n"
        "merges-strings, columns; all when none is named. Progress goes first, tables last.\n";
    const Part parts[] = {
        {"bytes", measure_bytes},
        {"block-counts", measure_block_counts},
        {"images", measure_images},
        {"numbers-i32", measure_numbers_i32},
        {"numbers-i64", measure_numbers_i64},
        {"numbers-f32", measure_numbers_f32},
        {"numbers-f64", measure_numbers_f64},
        {"codes", measure_codes},
        {"merges-32", measure_merges_32},
        {"merges-64", measure_merges_64},
        {"merges-128", measure_merges_128},
        {"merges-strings", measure_merges_strings},
        {"columns", measure_columns},
    };
    Options defaults;
    defaults.sizes = {30};
    return run_program(argc, argv, "columns, cuda engine", usage, defaults, parts);
}
