// The experiments of "In-Memory Grid Files on Graphics Processors", and what a database asks besides.
#pragma once

#include <string>
#include <vector>

#include "bench/grid/machine.h"

namespace gpu_engine::bench {

struct Options {
    std::string engine = "cuda";
    int entries = 24;    // power of two: the most entries of a file
    int lookups = 20;    // power of two: exact matches a batch
    int boxes = 100000;  // a batch
    int repeats = 7;
    std::string scan;  // file of float32 x, y, z
    std::vector<std::string> only;
    std::string json;

    bool runs(const std::string &part) const {
        return only.empty() || std::find(only.begin(), only.end(), part) != only.end();
    }
};

struct Bench {
    Machine &machine;
    const Options &options;
    Results &results;
};

// Measures exact matches by number of entries, by columns, and by skew.
void measure_sizes(const Bench &bench);
void measure_columns(const Bench &bench);
void measure_skew(const Bench &bench);
// Measures the sphere and the scan, with and without hierarchy.
void measure_surfaces(const Bench &bench);
// Measures boxes of 0.1 to 1 % a side, counted and returned, and one box at a time.
void measure_boxes(const Bench &bench);
void measure_single_boxes(const Bench &bench);
// Measures the time to build a file, and its memory.
void measure_builds(const Bench &bench);

}  // namespace gpu_engine::bench
