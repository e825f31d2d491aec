// Benchmark of the host engine's sorted arrays.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "bench/kary/load_array.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/kary.h"

namespace {

using namespace gpu_engine;

template <typename Key>
Key random_key(std::mt19937_64 &random) {
    if constexpr (sizeof(Key) == 16) {
        return Key{random(), random()};
    } else {
        return static_cast<Key>(random());
    }
}

Engine &host_engine() {
    static std::unique_ptr<Engine> engine = [] {
        std::unique_ptr<Engine> opened;
        if (!host::open_engine({}, &opened).ok()) {
            std::abort();
        }
        return opened;
    }();
    return *engine;
}

template <typename Key>
struct Data {
    std::vector<Key> keys;
    std::vector<Tid> tids;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<KaryArray<Key>> array;

    explicit Data(std::uint64_t entries) : keys(entries), tids(entries) {
        std::mt19937_64 random(entries);
        for (Key &key : keys) {
            key = random_key<Key>(random);
        }
        std::sort(keys.begin(), keys.end());
        for (std::uint64_t i = 0; i < entries; ++i) {
            tids[i] = Tid{0, static_cast<std::uint16_t>(i >> 8), static_cast<std::uint16_t>(i % 256 + 1)};
        }
        if (!host_engine().open_stream(&stream).ok() ||
            !bench::load_array(host_engine(), *stream, keys.data(), tids.data(), entries, &array).ok()) {
            std::abort();
        }
    }
};

// Data of only one size is kept at a time.
template <typename Key>
Data<Key> &data_of(std::uint64_t entries) {
    static std::unique_ptr<Data<Key>> data;
    if (data == nullptr || data->keys.size() != entries) {
        data.reset();
        data = std::make_unique<Data<Key>>(entries);
    }
    return *data;
}

template <typename Key>
void count(benchmark::State &state) {
    Data<Key> &data = data_of<Key>(std::uint64_t(1) << state.range(0));
    std::mt19937_64 random(1);
    std::vector<Key> lookups(state.range(1));
    for (Key &key : lookups) {
        key = data.keys[random() % data.keys.size()];
    }
    std::vector<std::uint32_t> counts(lookups.size());
    for (auto _ : state) {
        if (!data.array->count(*data.stream, lookups.data(), lookups.data(), lookups.size(), counts.data())
                 .ok()) {
            state.SkipWithError("count failed");
        }
    }
    state.SetItemsProcessed(state.iterations() * state.range(1));
    state.counters["bytes an entry"] = static_cast<double>(data.array->bytes()) / data.keys.size();
}

// Count is compared with this: one search of the standard library after the other.
template <typename Key>
void lower_bound(benchmark::State &state) {
    Data<Key> &data = data_of<Key>(std::uint64_t(1) << state.range(0));
    std::mt19937_64 random(1);
    std::vector<Key> lookups(state.range(1));
    for (Key &key : lookups) {
        key = data.keys[random() % data.keys.size()];
    }
    std::vector<std::uint32_t> ranks(lookups.size());
    for (auto _ : state) {
        for (std::size_t i = 0; i < lookups.size(); ++i) {
            ranks[i] = static_cast<std::uint32_t>(
                std::lower_bound(data.keys.begin(), data.keys.end(), lookups[i]) - data.keys.begin());
        }
        benchmark::DoNotOptimize(ranks.data());
    }
    state.SetItemsProcessed(state.iterations() * state.range(1));
}

// Asks as index scans do: for keys in order, and their entries' TIDs.
template <typename Key>
void lookup_ascending(benchmark::State &state) {
    Data<Key> &data = data_of<Key>(std::uint64_t(1) << state.range(0));
    std::mt19937_64 random(1);
    std::vector<Key> lookups(state.range(1));
    for (Key &key : lookups) {
        key = data.keys[random() % data.keys.size()];
    }
    std::sort(lookups.begin(), lookups.end());
    std::vector<std::uint64_t> offsets(lookups.size() + 1);
    std::vector<Tid> tids(lookups.size() * 2);
    for (auto _ : state) {
        if (!data.array
                 ->lookup(*data.stream, lookups.data(), lookups.size(), offsets.data(), tids.data(),
                          tids.size())
                 .ok()) {
            state.SkipWithError("lookup failed");
        }
    }
    state.SetItemsProcessed(state.iterations() * state.range(1));
}

#define PG_GPU_KARY_BENCHMARKS(Key)                                                              \
    BENCHMARK_TEMPLATE(count, Key)->ArgsProduct({{16, 20, 24}, {1000, 1000000}})->UseRealTime(); \
    BENCHMARK_TEMPLATE(lower_bound, Key)->ArgsProduct({{16, 20, 24}, {1000000}})->UseRealTime(); \
    BENCHMARK_TEMPLATE(lookup_ascending, Key)->ArgsProduct({{20, 24}, {10000, 1000000}})->UseRealTime()

PG_GPU_KARY_BENCHMARKS(std::uint32_t);
PG_GPU_KARY_BENCHMARKS(std::uint64_t);
PG_GPU_KARY_BENCHMARKS(Key128);

}  // namespace

BENCHMARK_MAIN();
