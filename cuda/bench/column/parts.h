// The parts of the columns' benchmark.
#pragma once

namespace gpu_engine::bench {

struct Bench;

// Histograms of bytes, stage by stage, by the number of blocks, by image size with transfers and beside the
// processor, and of the pictures in the folder that the options name.
void measure_bytes(const Bench &bench);
void measure_block_counts(const Bench &bench);
void measure_image_sizes(const Bench &bench);
void measure_images(const Bench &bench);
// Histograms of numbers by the number of bins and by how the values lie, for each layout.
void measure_numbers_i32(const Bench &bench);
void measure_numbers_i64(const Bench &bench);
void measure_numbers_f32(const Bench &bench);
void measure_numbers_f64(const Bench &bench);
void measure_codes(const Bench &bench);
// Histograms of the rows that a bitmap selects.
void measure_selected(const Bench &bench);
// These measure dictionary merges by way, by how much both share, and by size with transfers.
void measure_merges_32(const Bench &bench);
void measure_merges_64(const Bench &bench);
void measure_merges_128(const Bench &bench);
void measure_merges_strings(const Bench &bench);
// These measure the merge of whole columns: of dictionaries, maps and codes, and by steps.
void measure_columns(const Bench &bench);
void measure_merge_steps(const Bench &bench);

}  // namespace gpu_engine::bench
