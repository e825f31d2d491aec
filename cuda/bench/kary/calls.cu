// The engine's calls as a caller sees them.
#include "bench/kary/parts.h"

#include <chrono>

#include "bench/kary/load_array.h"
#include "bench/kary/measure.cuh"
#include "gpu_engine/kary.h"

namespace gpu_engine::bench {
namespace {

void require(const Status &status) {
    if (!status.ok()) {
        throw Failure{status};
    }
}

// Pinned memory of the host.
template <typename Element>
class Pinned {
  public:
    explicit Pinned(std::uint64_t size) {
        device::check(cudaMallocHost(reinterpret_cast<void **>(&data_), size * sizeof(Element)),
                      "cudaMallocHost");
    }
    Pinned(const Pinned &) = delete;
    Pinned &operator=(const Pinned &) = delete;
    ~Pinned() { static_cast<void>(cudaFreeHost(data_)); }
    Element *data() const { return data_; }

  private:
    Element *data_ = nullptr;
};

// Returns the median of a call's time by the clock, in microseconds.
template <typename Work>
double median_us(int repeats, Work work) {
    std::vector<double> times;
    for (int i = 0; i <= repeats; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        const auto end = std::chrono::steady_clock::now();
        if (i > 0) {
            times.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
        }
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

template <typename Key>
void measure_width(const Bench &bench) {
    const std::string width = std::to_string(sizeof(Key) * 8);
    for (const int size : bench.options.sizes) {
        const std::uint64_t entries = std::uint64_t(1) << size;
        const device::Call call(bench.engine, bench.stream);
        std::unique_ptr<KaryArray<Key>> array;
        const SortedPairs<Key> sorted(call, entries);
        {
            std::vector<Key> keys(entries);
            std::vector<Tid> tids(entries);
            call.copy(keys.data(), static_cast<const Key *>(sorted.keys.data()), entries);
            call.copy(tids.data(), static_cast<const Tid *>(sorted.tids.data()), entries);
            call.wait();
            require(load_array(bench.engine, bench.stream, keys.data(), tids.data(), entries, &array));
        }
        // Here all arrays are on the device.
        const std::uint64_t count = std::uint64_t(1) << std::min(bench.options.lookups, 24);
        const device::Buffer<Key> lookups = call.buffer<Key>(count);
        make_lookups_kernel<<<grid_for(count), 256, 0, call.stream()>>>(sorted.keys.data(), entries,
                                                                        lookups.data(), count);
        device::check_launch("make_lookups_kernel");
        const device::Buffer<std::uint32_t> counts = call.buffer<std::uint32_t>(count);
        const device::Buffer<std::uint64_t> offsets = call.buffer<std::uint64_t>(count + 1);
        const device::Buffer<Tid> tids = call.buffer<Tid>(count);
        const std::string table = "calls " + width + ", 2^24 on the device";
        const auto add = [&](const char *line, double us) {
            bench.results.add({table, line, power(size), static_cast<double>(count) / us, "M/s", 0, 0});
        };
        add("count, one key each", median_us(bench.options.repeats, [&] {
                require(array->count(bench.stream, lookups.data(), lookups.data(), count, counts.data()));
            }));
        add("lookup", median_us(bench.options.repeats, [&] {
                require(
                    array->lookup(bench.stream, lookups.data(), count, offsets.data(), tids.data(), count));
            }));

        // Here they are in pinned memory, as the server uses it.
        const std::uint64_t most = 1 << 20;
        const Pinned<Key> pinned_lookups(most);
        const Pinned<std::uint32_t> pinned_counts(most);
        call.copy(pinned_lookups.data(), static_cast<const Key *>(lookups.data()), std::min(most, count));
        call.wait();
        for (const std::uint64_t batch : {1, 1000, 10000, 100000, 1000000}) {
            const double us = median_us(15, [&] {
                require(array->count(bench.stream, pinned_lookups.data(), pinned_lookups.data(), batch,
                                     pinned_counts.data()));
            });
            bench.results.add({"calls " + width + ", pinned memory",
                               "count, " + std::to_string(batch) + " keys", power(size), us, "us", 0, 0});
        }
        const Pinned<std::uint64_t> pinned_offsets(most + 1);
        const Pinned<Tid> pinned_tids(most);
        for (const std::uint64_t batch : {1, 100000, 1000000}) {
            const double us = median_us(15, [&] {
                require(array->lookup(bench.stream, pinned_lookups.data(), batch, pinned_offsets.data(),
                                      pinned_tids.data(), most));
            });
            bench.results.add({"calls " + width + ", pinned memory",
                               "lookup, " + std::to_string(batch) + " keys", power(size), us, "us", 0, 0});
        }
    }
}

}  // namespace

void measure_calls(const Bench &bench) {
    measure_width<std::uint32_t>(bench);
    measure_width<std::uint64_t>(bench);
    measure_width<Key128>(bench);
}

}  // namespace gpu_engine::bench
