// Benchmark of the cuda engine's columns: histograms and dictionary merges.
#include "bench/column/parts.h"
#include "bench/program.cuh"

int main(int argc, char **argv) {
    using namespace gpu_engine::bench;
    static const char usage[] =
        "usage: pg_gpu_column_device [--sizes 30] [--repeats 7] [--only PART[,PART...]] [--json FILE]\n"
        "                            [--images FOLDER]\n"
        "Sizes are powers of two of bytes that a histogram reads; the folder has pictures, 8 bits a sample, "
        "as\n"
        "PGM and PPM. Parts: bytes, numbers-i32, numbers-f32, merges-32, codes, columns, merge-steps,\n"
        "selected, merges-64, merges-128, merges-strings, numbers-i64, numbers-f64, block-counts,\n"
        "image-sizes, images; all when none is named. Each part prints its tables when it is done.\n";
    const Part parts[] = {
        {"bytes", measure_bytes},
        {"numbers-i32", measure_numbers_i32},
        {"numbers-f32", measure_numbers_f32},
        {"merges-32", measure_merges_32},
        {"codes", measure_codes},
        {"columns", measure_columns},
        {"merge-steps", measure_merge_steps},
        {"selected", measure_selected},
        {"merges-64", measure_merges_64},
        {"merges-128", measure_merges_128},
        {"merges-strings", measure_merges_strings},
        {"numbers-i64", measure_numbers_i64},
        {"numbers-f64", measure_numbers_f64},
        {"block-counts", measure_block_counts},
        {"image-sizes", measure_image_sizes},
        {"images", measure_images},
    };
    Options defaults;
    defaults.sizes = {30};
    return run_program(argc, argv, "columns, cuda engine", usage, defaults, parts);
}
