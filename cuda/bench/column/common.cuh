// The parts of the columns' benchmark share this: limits, checks, the time of calls.
#pragma once

#include <chrono>
#include <vector>

#include "bench/column/parts.h"
#include "bench/kary/measure.cuh"

namespace gpu_engine::bench {

inline void require(const Status &status) {
    if (!status.ok()) {
        throw Failure{status};
    }
}
inline void require(bool holds, const char *what) {
    if (!holds) {
        throw Failure{make_status(StatusCode::internal, what)};
    }
}

// Returns the bandwidth of reading `bytes` of device memory, in GB/s.
double read_bandwidth(const Bench &bench, const device::Call &call, std::uint64_t bytes);
double copy_bandwidth(const Bench &bench, const device::Call &call, std::uint64_t bytes);

// Counts the words that differ.
std::uint64_t differing_words(const device::Call &call, const void *a, const void *b, std::uint64_t bytes);

// The benchmark with few repeats, for what is measured only to be compared with the library's choice.
class Briefly {
  public:
    explicit Briefly(const Bench &bench)
        : options_(with_few_repeats(bench.options)),
          bench_{bench.engine, bench.stream, options_, bench.results} {}
    const Bench &bench() const { return bench_; }

  private:
    static Options with_few_repeats(Options options) {
        options.repeats = std::min(options.repeats, 3);
        return options;
    }

    Options options_;
    Bench bench_;
};

// Returns the median of the repeats by the host's clock, after one run that warms up.
template <typename Work>
double median_call_ms(const Bench &bench, Work work) {
    work();
    std::vector<double> times;
    for (int i = 0; i < bench.options.repeats; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        times.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

// Memory of the host that the engine has pinned, or that it hasn't.
template <typename Element>
class HostArray {
  public:
    HostArray(device::DeviceEngine &engine, std::uint64_t size, bool pinned) : engine_(engine), data_(size) {
        if (pinned) {
            require(engine.pin(data_.data(), size * sizeof(Element)));
            pinned_ = true;
        }
    }
    HostArray(const HostArray &) = delete;
    HostArray &operator=(const HostArray &) = delete;
    ~HostArray() {
        if (pinned_) {
            engine_.unpin(data_.data());
        }
    }
    Element *data() { return data_.data(); }

  private:
    device::DeviceEngine &engine_;
    std::vector<Element> data_;
    bool pinned_ = false;
};

}  // namespace gpu_engine::bench
