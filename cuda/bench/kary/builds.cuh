// Builds and merges of one key width.
#pragma once

#include <cub/device/device_radix_sort.cuh>

#include <cstdio>

#include "bench/kary/measure.cuh"
#include "bench/kary/parts.h"
#include "device/kary/sort.cuh"
#include "gpu_engine/kary.h"

namespace gpu_engine::bench {

inline void require(const Status &status) {
    if (!status.ok()) {
        throw Failure{status};
    }
}

// CUB's sort of pairs whose values are `Value`, from one place to another.
template <typename Key, typename Value>
double measure_cub_sort(const Bench &bench, const device::Call &call, const Key *keys,
                        std::uint64_t entries) {
    const device::Buffer<Value> values = call.buffer<Value>(entries);
    const device::Buffer<Key> sorted_keys = call.buffer<Key>(entries);
    const device::Buffer<Value> sorted_values = call.buffer<Value>(entries);
    call.fill(values.data(), 0, entries * sizeof(Value));
    const auto sort = [&](void *scratch, std::size_t &bytes) {
        if constexpr (sizeof(Key) == 16) {
            return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, sorted_keys.data(), values.data(),
                                                   sorted_values.data(), entries, device::Key128Parts{}, 0,
                                                   128, call.stream());
        } else {
            return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, sorted_keys.data(), values.data(),
                                                   sorted_values.data(), entries, 0,
                                                   static_cast<int>(sizeof(Key) * 8), call.stream());
        }
    };
    std::size_t bytes = 0;
    device::check(sort(nullptr, bytes), "DeviceRadixSort::SortPairs");
    const device::Buffer<char> scratch = call.buffer<char>(bytes);
    return median_ms(bench,
                     [&] { device::check(sort(scratch.data(), bytes), "DeviceRadixSort::SortPairs"); });
}

// Makes groups of entries of the same key, in disorder and with TIDs in disorder; `count` is a power of two.
template <typename Key>
__global__ void make_groups_kernel(Key *keys, Tid *tids, std::uint64_t group, std::uint64_t count) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        const std::uint64_t row = i * 0x9e3779b97f4a7c15 & (count - 1);
        const std::uint64_t block = row / 200;
        keys[i] = random_key<Key>(scramble(i) % (count / group));
        tids[i] = Tid{static_cast<std::uint16_t>(block >> 16), static_cast<std::uint16_t>(block),
                      static_cast<std::uint16_t>(row % 200 + 1)};
    }
}

template <typename Key>
void measure_build(const Bench &bench, int size) {
    const std::uint64_t entries = std::uint64_t(1) << size;
    const std::string table = "build " + std::to_string(sizeof(Key) * 8);
    const double millions = static_cast<double>(entries) / 1e6;
    const device::Call call(bench.engine, bench.stream);
    const device::Buffer<Key> keys = call.buffer<Key>(entries);
    double reference_ms = 0;
    const auto add = [&](const char *line, double ms) {
        const double ratio = reference_ms > 0 ? reference_ms / ms : 0;
        bench.results.add({table, line, power(size), millions / ms * 1000, "M/s, share of CUB's", ratio, 0});
    };
    {
        const device::Buffer<Tid> tids = call.buffer<Tid>(entries);
        make_pairs_kernel<<<grid_for(entries), 256, 0, call.stream()>>>(keys.data(), tids.data(), 0, entries);
        device::check_launch("make_pairs_kernel");
        call.wait();
        reference_ms = measure_cub_sort<Key, std::uint64_t>(bench, call, keys.data(), entries);
        add("CUB radix sort of (key, u64)", reference_ms);
        add("CUB radix sort of (key, TID)", measure_cub_sort<Key, Tid>(bench, call, keys.data(), entries));
        add("CUB radix sort of (key, u32)",
            measure_cub_sort<Key, std::uint32_t>(bench, call, keys.data(), entries));
        add("build, TIDs ascending", median_ms(bench, [&] {
                std::unique_ptr<KaryArray<Key>> array;
                require(
                    kary<Key>(bench.engine).build(bench.stream, keys.data(), tids.data(), entries, &array));
            }));
        // Two TIDs change places, so that they no longer ascend.
        if (entries >= 2) {
            std::vector<Tid> first(2);
            call.copy(first.data(), static_cast<const Tid *>(tids.data()), 2);
            call.wait();
            std::swap(first[0], first[1]);
            call.copy(tids.data(), static_cast<const Tid *>(first.data()), 2);
            call.wait();
        }
        const auto build = [&] {
            std::unique_ptr<KaryArray<Key>> array;
            require(kary<Key>(bench.engine).build(bench.stream, keys.data(), tids.data(), entries, &array));
        };
        add("build, TIDs in disorder", median_ms(bench, build));
        for (const std::uint64_t group : {4, 1000}) {
            make_groups_kernel<<<grid_for(entries), 256, 0, call.stream()>>>(keys.data(), tids.data(), group,
                                                                             entries);
            device::check_launch("make_groups_kernel");
            call.wait();
            add(group == 4 ? "build, TIDs in disorder, 4 a key" : "build, TIDs in disorder, 1000 a key",
                median_ms(bench, build));
        }
    }
}

// Measures merges of `runs` arrays of the same size, which have 2^size entries together.
template <typename Key>
void measure_merge(const Bench &bench, int size, int runs, double small_share, double dead_share) {
    const std::uint64_t entries = std::uint64_t(1) << size;
    const device::Call call(bench.engine, bench.stream);
    std::vector<std::unique_ptr<KaryArray<Key>>> arrays;
    std::vector<const KaryArray<Key> *> pointers;
    std::uint64_t first = 0;
    for (int i = 0; i < runs; ++i) {
        std::uint64_t count = entries / static_cast<std::uint64_t>(runs);
        if (small_share > 0) {
            const auto small = static_cast<std::uint64_t>(small_share * static_cast<double>(entries));
            count = i == 0 ? entries - small * static_cast<std::uint64_t>(runs - 1) : small;
        }
        const device::Buffer<Key> keys = call.buffer<Key>(count);
        const device::Buffer<Tid> tids = call.buffer<Tid>(count);
        make_pairs_kernel<<<grid_for(count), 256, 0, call.stream()>>>(keys.data(), tids.data(), first, count);
        device::check_launch("make_pairs_kernel");
        std::unique_ptr<KaryArray<Key>> array;
        require(kary<Key>(bench.engine).build(bench.stream, keys.data(), tids.data(), count, &array));
        if (dead_share > 0) {
            std::vector<std::uint64_t> dead((count + 63) / 64);
            for (std::uint64_t word = 0; word < dead.size(); ++word) {
                for (std::uint64_t bit = 0; bit < 64; ++bit) {
                    const bool is_dead =
                        static_cast<double>(scramble(word * 64 + bit) % 1000) < dead_share * 1000;
                    dead[word] |= std::uint64_t(is_dead ? 1 : 0) << bit;
                }
            }
            require(array->set_dead(bench.stream, dead.data(), 1));
        }
        pointers.push_back(array.get());
        arrays.push_back(std::move(array));
        first += count;
    }
    const double ms = median_ms(bench, [&] {
        std::unique_ptr<KaryArray<Key>> merged;
        require(kary<Key>(bench.engine).merge(bench.stream, pointers.data(), pointers.size(), &merged));
    });
    char line[100];
    if (small_share > 0) {
        std::snprintf(line, sizeof(line), "one large run and %d of %g %%", runs - 1, small_share * 100);
    } else {
        std::snprintf(line, sizeof(line), "%d runs%s", runs, dead_share > 0 ? ", a fifth dead" : "");
    }
    // The limit: every entry is read once and written once, as fast as the device copies that many bytes.
    const device::Buffer<char> from = call.buffer<char>(entries * (sizeof(Key) + sizeof(Tid)));
    const device::Buffer<char> to = call.buffer<char>(from.size());
    const double limit_ms =
        median_ms(bench, [&] { call.copy(to.data(), static_cast<const char *>(from.data()), from.size()); });
    bench.results.add({"merge " + std::to_string(sizeof(Key) * 8), line, power(size),
                       static_cast<double>(entries) / ms / 1000, "M entries/s, share of a copy's",
                       limit_ms / ms, 0});
}

template <typename Key>
void measure_build_and_merge(const Bench &bench) {
    for (const int size : bench.options.sizes) {
        // 128-bit pairs, with all that a sort needs beside them, would need more memory than smaller cards
        // have.
        if (sizeof(Key) == 16 && size > 27) {
            continue;
        }
        measure_build<Key>(bench, size);
        measure_merge<Key>(bench, size, 2, 0, 0);
        measure_merge<Key>(bench, size, 16, 0, 0);
        measure_merge<Key>(bench, size, 2, 0.01, 0);
        if (size <= 26) {
            measure_merge<Key>(bench, size, 16, 0, 0.2);
        }
        std::printf("build and merge, %zu bits, %s: measured\n", sizeof(Key) * 8, power(size).c_str());
        std::fflush(stdout);
    }
}

}  // namespace gpu_engine::bench
