// A benchmark program of the cuda engine: its options, the parts it runs, its results.
#pragma once

#include <span>

#include "bench/kary/measure.cuh"

namespace gpu_engine::bench {

struct Part {
    const char *name;
    void (*measure)(const Bench &);
};

// Is the main() of a program: runs the parts that `--only` names, or all of them. `defaults` are the options
// where none are given.
int run_program(int argc, char **argv, const char *benchmark, const char *usage, const Options &defaults,
                std::span<const Part> parts);

}  // namespace gpu_engine::bench
