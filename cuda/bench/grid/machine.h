// A Machine is what the benchmark of grid files computes on, and takes times there.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/grid/points.h"
#include "bench/results.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/grid.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::bench {

inline void require(const Status &status) {
    if (!status.ok()) {
        throw Failure{status};
    }
}

// Memory where the engine reads and writes fastest.
class Storage {
  public:
    Storage() = default;
    Storage(const Storage &) = delete;
    Storage &operator=(const Storage &) = delete;
    virtual ~Storage() = default;
    virtual void *data() const = 0;
};

class Machine {
  public:
    Machine() = default;
    Machine(const Machine &) = delete;
    Machine &operator=(const Machine &) = delete;
    virtual ~Machine() = default;

    virtual Engine &engine() = 0;
    virtual Stream &stream() = 0;
    virtual void describe(Results *results) = 0;
    virtual std::unique_ptr<Storage> store(std::uint64_t bytes) = 0;
    virtual void write(void *to, const void *from, std::uint64_t bytes) = 0;
    virtual void read(void *to, const void *from, std::uint64_t bytes) = 0;
    // Returns how many bytes a second a copy reads and writes; 0 where that isn't measured.
    virtual double copied_bytes() = 0;
    // Returns the medians of the work alone of match_count and count, in milliseconds. On the device CUDA's
    // events measure it, without what a call costs the processor.
    virtual double match_ms(const GridFile &file, const GridPoints &points, std::uint64_t count,
                            std::uint32_t *counts, int repeats) = 0;
    virtual double count_ms(const GridFile &file, const GridBoxes &boxes, std::uint64_t count,
                            std::uint32_t *counts, int repeats) = 0;
    // Measures the same for two columns with the first level's scales elsewhere, and reading what must be
    // read at places that are known. Returns a name and a time for each.
    virtual std::vector<std::pair<const char *, double>> match_variants_ms(const GridFile &,
                                                                           const GridPoints &, std::uint64_t,
                                                                           std::uint32_t *, int) {
        return {};
    }
    // Measures the same for boxes, counted by other shapes of the kernel.
    virtual std::vector<std::pair<const char *, double>> count_variants_ms(const GridFile &,
                                                                           const GridBoxes &, std::uint64_t,
                                                                           std::uint32_t *, int) {
        return {};
    }
};

std::unique_ptr<Machine> open_host();
#ifdef PG_GPU_HAVE_CUDA
std::unique_ptr<Machine> open_device();
#endif

// Returns the time of a call as its caller sees it: the median in milliseconds, after one call that warms up.
template <typename Work>
double median_ms(int repeats, Work work) {
    work();
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        times.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

}  // namespace gpu_engine::bench
