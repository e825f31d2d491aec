// Lookups: every variant on every size, as a share of the gather limit that is measured beside it.
#include "bench/kary/parts.h"

#include <cstdio>

#include "bench/kary/load_array.h"
#include "bench/kary/lookup.cuh"
#include "gpu_engine/kary.h"

namespace gpu_engine::bench {
namespace {

constexpr std::uint64_t host_checked = 1 << 16;

__global__ void check_ranks_kernel(const std::uint32_t *ranks, std::uint64_t n, std::uint64_t count,
                                   unsigned long long *wrong) {
    const std::uint64_t j = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (j < count && ranks[j] != lookup_place(j, n)) {
        atomicAdd(wrong, 1ULL);
    }
}

// Counts the ranks that aren't those of the keys that make_lookups_kernel took.
std::uint64_t wrong_ranks(const device::Call &call, const std::uint32_t *ranks, std::uint64_t n,
                          std::uint64_t count) {
    const device::Buffer<unsigned long long> wrong = call.buffer<unsigned long long>(1);
    call.fill(wrong.data(), 0, sizeof(unsigned long long));
    check_ranks_kernel<<<grid_for(count), 256, 0, call.stream()>>>(ranks, n, count, wrong.data());
    device::check_launch("check_ranks_kernel");
    unsigned long long result = 0;
    call.copy(&result, static_cast<const unsigned long long *>(wrong.data()), 1);
    call.wait();
    return result;
}

// Counts the lookups whose rank differs from what the host engine counts, among the first of them.
template <typename Key>
std::uint64_t wrong_on_host(KaryArray<Key> &array, Stream &stream, const LookupTask<Key> &task) {
    const std::uint64_t count = std::min(task.count, host_checked);
    std::vector<Key> lookups(count);
    std::vector<std::uint32_t> ranks(count);
    std::vector<std::uint32_t> expected(count);
    task.call.copy(lookups.data(), task.lookups, count);
    task.call.copy(ranks.data(), static_cast<const std::uint32_t *>(task.ranks), count);
    task.call.wait();
    // The entries before a key are those up to it without its own.
    const std::vector<Key> lowest(count);
    std::vector<std::uint32_t> own(count);
    Status status = array.count(stream, lowest.data(), lookups.data(), count, expected.data());
    if (status.ok()) {
        status = array.count(stream, lookups.data(), lookups.data(), count, own.data());
    }
    if (!status.ok()) {
        throw Failure{status};
    }
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        wrong += ranks[i] == expected[i] - own[i] ? 0 : 1;
    }
    return wrong;
}

template <typename Key>
void measure_width(const Bench &bench, const std::vector<LookupVariant<Key>> &variants) {
    const std::string table = "lookup " + std::to_string(sizeof(Key) * 8);
    const std::uint64_t count = std::uint64_t(1) << bench.options.lookups;
    const double millions = static_cast<double>(count) / 1e6;
    std::unique_ptr<Engine> host;
    std::unique_ptr<Stream> host_stream;
    if (!host::open_engine({}, &host).ok() || !host->open_stream(&host_stream).ok()) {
        throw Failure{make_status(StatusCode::internal, "the host engine can't be opened")};
    }
    for (const int size : bench.options.sizes) {
        const std::uint64_t entries = std::uint64_t(1) << size;
        const device::Call call(bench.engine, bench.stream);
        std::unique_ptr<KaryArray<Key>> host_array;
        SortedPairs<Key> sorted(call, entries);
        // The check on the host takes memory and time, so only smaller sizes are checked.
        if (size <= 24) {
            std::vector<Key> keys(entries);
            std::vector<Tid> tids(entries);
            call.copy(keys.data(), static_cast<const Key *>(sorted.keys.data()), entries);
            call.copy(tids.data(), static_cast<const Tid *>(sorted.tids.data()), entries);
            call.wait();
            const Status status =
                load_array(*host, *host_stream, keys.data(), tids.data(), entries, &host_array);
            if (!status.ok()) {
                throw Failure{status};
            }
        }
        sorted.tids = {};
        const double engine_bytes =
            static_cast<double>(kary<Key>(bench.engine).array_bytes(entries)) / static_cast<double>(entries) -
            sizeof(Key) - sizeof(Tid);
        const device::Buffer<Key> lookups = call.buffer<Key>(count);
        const device::Buffer<std::uint32_t> ranks = call.buffer<std::uint32_t>(count);

        double limit = 0;
        for (const int bytes : {4, 32, 64, 128}) {
            // The memory of the lookups serves for the indexes.
            const double rate =
                gather_limit(bench, call, sorted.keys.data(), entries * sizeof(Key),
                             reinterpret_cast<std::uint32_t *>(lookups.data()), ranks.data(), count, bytes);
            bench.results.add(
                {table, "gather of " + std::to_string(bytes) + " B", power(size), rate, "M/s", 0, 0});
            if (bytes <= 64) {
                limit = std::max(limit, rate);
            }
        }
        bench.results.add({table, "limit (best gather of up to 64 B)", power(size), limit, "M/s", 1, 0});

        make_lookups_kernel<<<grid_for(count), 256, 0, call.stream()>>>(sorted.keys.data(), entries,
                                                                        lookups.data(), count);
        device::check_launch("make_lookups_kernel");
        const LookupTask<Key> task{call, sorted.keys.data(), entries, lookups.data(), count, ranks.data()};
        for (const LookupVariant<Key> &variant : variants) {
            call.fill(ranks.data(), 0xff, count * sizeof(std::uint32_t));
            const Timing timing = variant.measure(bench, task);
            if (timing.ms == 0) {
                continue;
            }
            std::uint64_t wrong = wrong_ranks(call, ranks.data(), entries, count);
            if (host_array != nullptr) {
                wrong += wrong_on_host(*host_array, *host_stream, task);
            }
            const double rate = millions / timing.ms * 1000;
            std::printf("%s, %s, %s: %.0f M/s, %.0f %%\n", table.c_str(), power(size).c_str(),
                        variant.name.c_str(), rate, rate / limit * 100);
            std::fflush(stdout);
            if (wrong > 0) {
                std::printf("WRONG: %llu of the ranks\n", static_cast<unsigned long long>(wrong));
                throw Failure{make_status(StatusCode::internal, "wrong results")};
            }
            bench.results.add({table, variant.name, power(size), rate, "M/s", rate / limit,
                               sizeof(Key) + timing.extra_bytes / static_cast<double>(entries)});
        }
        std::printf("%s, %s: the engine's arrays have %.3f bytes an entry beside the key\n", table.c_str(),
                    power(size).c_str(), engine_bytes);
    }
}

template <typename Key>
std::vector<LookupVariant<Key>> with_baselines(std::vector<LookupVariant<Key>> trees) {
    for (const LookupVariant<Key> &baseline : baselines<Key>()) {
        trees.push_back(baseline);
    }
    return trees;
}

}  // namespace

void measure_lookups_32(const Bench &bench) {
    measure_width(bench, with_baselines(tree_variants_32()));
}
void measure_lookups_64(const Bench &bench) {
    measure_width(bench, with_baselines(tree_variants_64()));
}
void measure_lookups_128(const Bench &bench) {
    measure_width(bench, with_baselines(tree_variants_128()));
}

}  // namespace gpu_engine::bench
