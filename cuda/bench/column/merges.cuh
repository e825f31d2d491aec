// Dictionary merges of one entry width.
#pragma once

#include "studies/column/studies.h"
#include "bench/column/common.cuh"
#include "device/column/merge/fused_merge.cuh"

namespace gpu_engine::bench {

struct MergeSizes {
    std::uint64_t main;
    std::uint64_t delta;
    int shared_percent;
};

// Makes the entry of a place. Places in order have entries in order, with gaps of random length.
template <typename Entry>
__device__ Entry entry_at(std::uint64_t place) {
    const std::uint64_t number = place * 16 + (scramble(place + 1) & 15);
    if constexpr (sizeof(Entry) == 16) {
        return Key128{number >> 8, number << 40 | (scramble(number) & 0xffffffffff)};
    } else if constexpr (sizeof(Entry) == 8) {
        return number << 20 | (scramble(number) & 0xfffff);
    } else {
        return static_cast<Entry>(number);
    }
}

// Main takes the even places.
template <typename Entry>
__global__ void make_main_kernel(Entry *entries, std::uint64_t count) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        entries[i] = entry_at<Entry>(2 * i);
    }
}

// Makes delta's entries, of which `shared_percent` take even places, which main has too, and the others odd
// ones.
template <typename Entry>
__global__ void make_delta_kernel(Entry *entries, std::uint64_t count, std::uint64_t main_count,
                                  int shared_percent) {
    const std::uint64_t j = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (j < count) {
        const bool shared = static_cast<int>(scramble(j + 77) % 100) < shared_percent;
        entries[j] = entry_at<Entry>(j * main_count / count * 2 + (shared ? 0 : 1));
    }
}

template <typename Entry>
class MergeProblem {
  public:
    MergeProblem(const device::Call &call, const MergeSizes &sizes)
        : sizes_(sizes),
          main_(call.buffer<Entry>(sizes.main)),
          delta_(call.buffer<Entry>(sizes.delta)),
          merged_(call.buffer<Entry>(sizes.main + sizes.delta)),
          main_map_(call.buffer<std::uint32_t>(sizes.main)),
          delta_map_(call.buffer<std::uint32_t>(sizes.delta)) {
        make_main_kernel<<<grid_for(sizes.main), 256, 0, call.stream()>>>(main_.data(), sizes.main);
        device::check_launch("make_main_kernel");
        make_delta_kernel<<<grid_for(sizes.delta), 256, 0, call.stream()>>>(delta_.data(), sizes.delta,
                                                                            sizes.main, sizes.shared_percent);
        device::check_launch("make_delta_kernel");
        call.wait();
    }
    Dictionary<Entry> main() const { return {main_.data(), sizes_.main}; }
    Dictionary<Entry> delta() const { return {delta_.data(), sizes_.delta}; }
    MergedDictionary<Entry> merged() const {
        return {merged_.data(), main_map_.data(), delta_map_.data(), 0};
    }
    const MergeSizes &sizes() const { return sizes_; }
    // Returns the bytes of reading both dictionaries and of writing the union and both maps.
    double bytes(std::uint64_t merged_count) const {
        return static_cast<double>(sizes_.main + sizes_.delta) * (sizeof(Entry) + sizeof(std::uint32_t)) +
               static_cast<double>(merged_count) * sizeof(Entry);
    }

  private:
    MergeSizes sizes_;
    device::Buffer<Entry> main_;
    device::Buffer<Entry> delta_;
    device::Buffer<Entry> merged_;
    device::Buffer<std::uint32_t> main_map_;
    device::Buffer<std::uint32_t> delta_map_;
};

inline const struct {
    MergeWay way;
    const char *name;
} merge_ways[] = {{MergeWay::merge_unique_map, "merge, unique, map"},
                  {MergeWay::sort_unique_map, "concatenate, sort, unique, map"},
                  {MergeWay::slices, "slices"},
                  {MergeWay::fused, "fused"}};

// Solves the same problem in all ways; the results must agree.
template <typename Entry>
void measure_ways(const Bench &bench, const device::Call &call, const MergeSizes &sizes,
                  const std::string &table, const std::string &column, double bandwidth) {
    const MergeProblem<Entry> problem(call, sizes);
    const MergeProblem<Entry> reference(call, sizes);
    MergedDictionary<Entry> right = reference.merged();
    require(
        open_column_studies(bench.engine)
            ->dictionaries()
            .merge(bench.stream, reference.main(), reference.delta(), MergeWay::merge_unique_map, &right));
    const double limit_ms = problem.bytes(right.count) / bandwidth / 1e6;
    for (const auto &[way, name] : merge_ways) {
        MergedDictionary<Entry> merged = problem.merged();
        call.fill(merged.entries, 0, right.count * sizeof(Entry));
        const double ms = median_ms(bench, [&] {
            require(open_column_studies(bench.engine)
                        ->dictionaries()
                        .merge(bench.stream, problem.main(), problem.delta(), way, &merged));
        });
        require(merged.count == right.count &&
                    differing_words(call, merged.entries, right.entries, right.count * sizeof(Entry)) == 0 &&
                    differing_words(call, merged.main_map, right.main_map, sizes.main * 4) == 0 &&
                    differing_words(call, merged.delta_map, right.delta_map, sizes.delta * 4) == 0,
                "two ways to merge the same dictionaries differ");
        bench.results.add({table, name, column, ms, "ms, share of the bytes", limit_ms / ms,
                           problem.bytes(right.count) / static_cast<double>(sizes.main + sizes.delta)});
    }
    bench.results.add({table, "limit: the bytes, as fast as a copy", column, limit_ms, "ms", 1, 0});
}

// Shapes by their numbers, for tables of those that are tried: threads a block, entries a thread, blocks a
// multiprocessor.
template <int Threads, int Items, int Blocks>
struct TriedShape {
    static constexpr int threads = Threads;
    static constexpr int blocks = Blocks;
    static constexpr int items = Items;
};

// Measures the fused way by its shapes.
template <typename Entry>
void measure_shapes(const Bench &bench, const device::Call &call, const MergeSizes &sizes, double bandwidth) {
    const MergeProblem<Entry> problem(call, sizes);
    const device::Buffer<std::uint64_t> count = call.buffer<std::uint64_t>(1);
    const MergedDictionary<Entry> merged = problem.merged();
    const auto measure = [&]<typename Shape>(Shape) {
        const double ms = median_ms(bench, [&] {
            device::launch_fused_merge<Shape>(
                call,
                device::NumberMerge<Entry>{problem.main().entries, problem.delta().entries, merged.entries},
                sizes.main, sizes.delta, merged.main_map, merged.delta_map, count.data());
        });
        std::uint64_t merged_count = 0;
        call.copy(&merged_count, static_cast<const std::uint64_t *>(count.data()), 1);
        call.wait();
        bench.results.add(
            {"fused dictionary merge by shape, kernels, " + std::to_string(sizeof(Entry) * 8) + " bits",
             std::to_string(Shape::threads) + " threads, " + std::to_string(Shape::blocks) + " blocks",
             std::to_string(Shape::items) + " a thread", ms, "ms, share of the bytes",
             problem.bytes(merged_count) / bandwidth / 1e6 / ms, 0});
    };
    if constexpr (sizeof(Entry) == 4) {
        measure(TriedShape<128, 16, 12>{});
        measure(TriedShape<128, 24, 10>{});
        measure(TriedShape<256, 8, 8>{});
        measure(TriedShape<256, 12, 8>{});
        measure(TriedShape<256, 16, 6>{});
        measure(TriedShape<256, 20, 5>{});
        measure(TriedShape<256, 22, 5>{});
        measure(TriedShape<384, 12, 5>{});
        measure(TriedShape<512, 8, 4>{});
        measure(TriedShape<512, 10, 4>{});
    } else if constexpr (sizeof(Entry) == 8) {
        measure(TriedShape<128, 12, 12>{});
        measure(TriedShape<128, 16, 10>{});
        measure(TriedShape<256, 8, 8>{});
        measure(TriedShape<256, 10, 6>{});
        measure(TriedShape<256, 12, 5>{});
        measure(TriedShape<256, 12, 6>{});
        measure(TriedShape<256, 14, 5>{});
        measure(TriedShape<384, 8, 5>{});
        measure(TriedShape<512, 6, 4>{});
    } else {
        measure(TriedShape<128, 8, 12>{});
        measure(TriedShape<128, 12, 8>{});
        measure(TriedShape<256, 5, 6>{});
        measure(TriedShape<256, 7, 4>{});
        measure(TriedShape<256, 7, 6>{});
        measure(TriedShape<256, 8, 5>{});
    }
}

// Measures merges from and to the host's memory, pinned or not: throughput by dictionary size (the study's
// figure 4).
template <typename Entry>
void measure_transfers(const Bench &bench, const MergeSizes &sizes, const std::string &column) {
    const device::Call call(bench.engine, bench.stream);
    const MergeProblem<Entry> problem(call, sizes);
    const std::uint64_t total = sizes.main + sizes.delta;
    for (const bool pinned : {false, true}) {
        HostArray<Entry> main(bench.engine, sizes.main, pinned);
        HostArray<Entry> delta(bench.engine, sizes.delta, pinned);
        HostArray<Entry> entries(bench.engine, total, pinned);
        HostArray<std::uint32_t> main_map(bench.engine, sizes.main, pinned);
        HostArray<std::uint32_t> delta_map(bench.engine, sizes.delta, pinned);
        call.copy(main.data(), problem.main().entries, sizes.main);
        call.copy(delta.data(), problem.delta().entries, sizes.delta);
        call.wait();
        for (const auto &[way, name] : merge_ways) {
            MergedDictionary<Entry> merged{entries.data(), main_map.data(), delta_map.data(), 0};
            const double ms = median_call_ms(bench, [&] {
                require(open_column_studies(bench.engine)
                            ->dictionaries()
                            .merge(bench.stream, Dictionary<Entry>{main.data(), sizes.main},
                                   Dictionary<Entry>{delta.data(), sizes.delta}, way, &merged));
            });
            bench.results.add(
                {"dictionary merge with transfers, " + std::to_string(sizeof(Entry) * 8) + " bits",
                 std::string(name) + (pinned ? ", pinned" : ", pageable"), column,
                 static_cast<double>(total) / ms / 1000, "M entries/s", 0, 0});
        }
    }
}

template <typename Entry>
__global__ void make_values_kernel(Entry *values, std::uint64_t count, std::uint64_t kinds) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        values[i] = random_key<Entry>(scramble(i + 1) % kinds);
    }
}

// Measures the removal of duplicates, which makes a dictionary of values, with and without codes.
template <typename Entry>
void measure_build_dictionary(const Bench &bench, int size) {
    const std::uint64_t count = std::uint64_t(1) << size;
    const device::Call call(bench.engine, bench.stream);
    const double bandwidth = copy_bandwidth(bench, call, count * sizeof(Entry) * 2);
    const device::Buffer<Entry> values = call.buffer<Entry>(count);
    const device::Buffer<Entry> entries = call.buffer<Entry>(count);
    const device::Buffer<std::uint32_t> codes = call.buffer<std::uint32_t>(count);
    for (const int percent : {1, 10, 100}) {
        make_values_kernel<<<grid_for(count), 256, 0, call.stream()>>>(
            values.data(), count, count * static_cast<std::uint64_t>(percent) / 100);
        device::check_launch("make_values_kernel");
        for (const bool with_codes : {false, true}) {
            std::uint64_t distinct = 0;
            const double ms = median_ms(bench, [&] {
                require(open_column_studies(bench.engine)
                            ->dictionaries()
                            .build(bench.stream, values.data(), count, entries.data(),
                                   with_codes ? codes.data() : nullptr, &distinct));
            });
            const double bytes = static_cast<double>(count) * (sizeof(Entry) + (with_codes ? 4 : 0)) +
                                 static_cast<double>(distinct) * sizeof(Entry);
            bench.results.add(
                {"duplicate removal, " + power(size) + " values",
                 std::to_string(sizeof(Entry) * 8) + (with_codes ? " bits, with codes" : " bits"),
                 std::to_string(percent) + " % unique", static_cast<double>(count) / ms / 1000,
                 "M values/s, share of the bytes", bytes / bandwidth / 1e6 / ms, 0});
        }
    }
}

template <typename Entry>
void measure_merges(const Bench &bench) {
    const std::string bits = std::to_string(sizeof(Entry) * 8) + " bits";
    {
        const device::Call call(bench.engine, bench.stream);
        const double bandwidth = copy_bandwidth(bench, call, std::uint64_t(1) << 30);
        const std::uint64_t main = std::uint64_t(1) << (sizeof(Entry) == 16 ? 25 : 26);
        for (const int shared : {0, 50, 100}) {
            measure_ways<Entry>(bench, call, MergeSizes{main, main / 4, shared},
                                "dictionary merge, " + bits + ", a quarter in delta",
                                std::to_string(shared) + " % shared", bandwidth);
        }
        measure_shapes<Entry>(bench, call, MergeSizes{main, main / 4, 50}, bandwidth);
        for (const int size : {16, 20, 23, 26}) {
            const std::uint64_t large = std::uint64_t(1) << (sizeof(Entry) == 16 && size == 26 ? 25 : size);
            measure_ways<Entry>(bench, call, MergeSizes{large, large / 16, 50},
                                "dictionary merge, " + bits + ", a sixteenth in delta", power(size),
                                bandwidth);
            measure_ways<Entry>(bench, call, MergeSizes{large / 2, large / 2, 50},
                                "dictionary merge, " + bits + ", halves", power(size), bandwidth);
        }
    }
    for (const int size : {16, 20, 24}) {
        const std::uint64_t main = std::uint64_t(1) << size;
        measure_transfers<Entry>(bench, MergeSizes{main, main / 4, 50}, power(size));
    }
    measure_build_dictionary<Entry>(bench, 26);
}

}  // namespace gpu_engine::bench
