// Benchmark of the host engine's histograms and dictionary merges.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "bench/equal_bins.h"
#include "studies/column/studies.h"
#include "gpu_engine/engine.h"

namespace {

using namespace gpu_engine;

struct Host {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<ColumnStudies> studies;

    Host() {
        if (!host::open_engine({}, &engine).ok() || !engine->open_stream(&stream).ok()) {
            std::abort();
        }
        studies = open_column_studies(*engine);
    }
};
Host &host_under_test() {
    static Host host;
    return host;
}

// The arguments are the number of bins, and 1 when all values are equal.
template <typename Value>
void histogram(benchmark::State &state) {
    constexpr double high = 1e9;
    const auto bins = static_cast<std::uint32_t>(state.range(0));
    std::vector<Value> values(10000000);
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> within(0, high);
    for (Value &value : values) {
        value = static_cast<Value>(state.range(1) == 1 ? high / 3 : within(random));
    }
    const std::vector<double> edges = bench::equal_bins(high, bins);
    const HistogramBins wanted{0, high, bins, edges.data()};
    std::vector<std::uint64_t> counts(wanted.slots());
    Host &host = host_under_test();
    for (auto _ : state) {
        if (!host.studies->histograms()
                 .count(*host.stream, values.data(), values.size(), wanted, counts.data())
                 .ok()) {
            state.SkipWithError("count failed");
        }
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}

void byte_histogram(benchmark::State &state) {
    std::vector<std::uint8_t> bytes(std::size_t(1) << 26);
    std::mt19937_64 random(1);
    for (std::uint8_t &byte : bytes) {
        byte = static_cast<std::uint8_t>(state.range(0) == 1 ? 77 : random());
    }
    std::vector<std::uint64_t> counts(256);
    Host &host = host_under_test();
    for (auto _ : state) {
        if (!host.studies->histograms()
                 .count_bytes(*host.stream, bytes.data(), bytes.size(), counts.data())
                 .ok()) {
            state.SkipWithError("count_bytes failed");
        }
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

// The arguments are powers of two of main's and delta's entries, and the way to merge them.
template <typename Entry>
void merge(benchmark::State &state) {
    const auto make = [](std::uint64_t count, std::uint64_t seed) {
        std::mt19937_64 random(seed);
        std::vector<Entry> entries(count);
        for (Entry &entry : entries) {
            if constexpr (sizeof(Entry) == 16) {
                entry = Entry{random(), random()};
            } else {
                entry = static_cast<Entry>(random());
            }
        }
        return entries;
    };
    const auto sort = [](std::vector<Entry> &entries) {
        std::sort(entries.begin(), entries.end());
        entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    };
    std::vector<Entry> main = make(std::uint64_t(1) << state.range(0), 1);
    std::vector<Entry> delta = make(std::uint64_t(1) << state.range(1), 2);
    for (std::size_t i = 0; i < delta.size(); i += 2) {
        delta[i] = main[i % main.size()];
    }
    sort(main);
    sort(delta);
    std::vector<Entry> entries(main.size() + delta.size());
    std::vector<std::uint32_t> main_map(main.size());
    std::vector<std::uint32_t> delta_map(delta.size());
    MergedDictionary<Entry> merged{entries.data(), main_map.data(), delta_map.data(), 0};
    Host &host = host_under_test();
    for (auto _ : state) {
        if (!host.studies->dictionaries()
                 .merge(*host.stream, {main.data(), main.size()}, {delta.data(), delta.size()},
                        static_cast<MergeWay>(state.range(2)), &merged)
                 .ok()) {
            state.SkipWithError("merge failed");
        }
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(main.size() + delta.size()));
}

void recode(benchmark::State &state) {
    const auto bits = static_cast<std::uint32_t>(state.range(0));
    constexpr std::uint64_t rows = 10000000;
    std::vector<std::uint32_t> words(packed_words(rows, bits));
    std::mt19937_64 random(1);
    for (std::uint32_t &word : words) {
        word = static_cast<std::uint32_t>(random());
    }
    std::vector<std::uint32_t> map(std::size_t(1) << bits);
    for (std::size_t code = 0; code < map.size(); ++code) {
        map[code] = static_cast<std::uint32_t>(code + code / 7);
    }
    std::vector<std::uint32_t> output(packed_words(rows, bits + 1));
    const MappedCodes main{{words.data(), rows, bits}, map.data(), map.size()};
    const MappedCodes nothing{{nullptr, 0, 0}, nullptr, 0};
    Host &host = host_under_test();
    for (auto _ : state) {
        if (!host.studies->dictionaries().recode(*host.stream, main, nothing, bits + 1, output.data()).ok()) {
            state.SkipWithError("recode failed");
        }
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rows));
}

const std::vector<std::vector<std::int64_t>> bins_and_skew = {{256, 4096, 65536}, {0, 1}};
const std::vector<std::vector<std::int64_t>> sizes_and_ways = {{16, 22}, {16, 20}, {0, 1, 2, 3}};
BENCHMARK(byte_histogram)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(histogram<std::int32_t>)->ArgsProduct(bins_and_skew)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(histogram<std::int64_t>)->ArgsProduct(bins_and_skew)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(histogram<float>)->ArgsProduct(bins_and_skew)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(histogram<double>)->ArgsProduct(bins_and_skew)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(merge<std::uint32_t>)->ArgsProduct(sizes_and_ways)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(merge<std::uint64_t>)->ArgsProduct(sizes_and_ways)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(merge<Key128>)->ArgsProduct(sizes_and_ways)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(recode)->Arg(8)->Arg(17)->Arg(23)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
