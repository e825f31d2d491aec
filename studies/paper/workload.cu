#include "studies/paper/workload.h"

#include <cstdio>

#include "device/kary/shapes.h"
#include "studies/paper/pairs.cuh"
#include "studies/paper/zipf.cuh"

namespace gpu_engine::bench::paper {
namespace {

// Chooses where lookups find their keys; `entries` is a power of two.
__global__ void places_kernel(std::uint32_t *places, std::uint64_t entries, std::uint64_t count) {
    const std::uint64_t j = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (j < count) {
        places[j] = lookup_place(j, entries);
    }
}

// The keys that are looked up often may lie anywhere.
__global__ void zipf_places_kernel(const Zipf zipf, std::uint32_t *places, std::uint64_t entries,
                                   std::uint64_t count) {
    const std::uint64_t j = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (j < count) {
        places[j] = static_cast<std::uint32_t>((zipf.draw(j) - 1) * 0x9e3779b97f4a7c15 & (entries - 1));
    }
}

// Keys behind the first `entries` of random_key's are keys that the array doesn't have.
template <typename Key>
__global__ void lookups_kernel(const Key *sorted, std::uint64_t entries, const std::uint32_t *places,
                               int hit_percent, Key *lookups, std::uint64_t count) {
    const std::uint64_t j = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (j < count) {
        const bool hit = scramble(j) % 100 < static_cast<std::uint64_t>(hit_percent);
        lookups[j] = hit ? sorted[places[j]] : random_key<Key>(entries + j);
    }
}

// Finds the blocks of `bytes` bytes in which the ranks lie.
__global__ void blocks_kernel(const std::uint32_t *ranks, std::uint64_t entries, std::uint64_t key_bytes,
                              std::uint64_t bytes, std::uint32_t *indexes, std::uint64_t count) {
    const std::uint64_t j = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (j < count) {
        const std::uint64_t rank = ranks[j] < entries ? ranks[j] : entries - 1;
        indexes[j] = static_cast<std::uint32_t>(rank * key_bytes / bytes);
    }
}

__global__ void differences_kernel(const std::uint32_t *ranks, const std::uint32_t *expected,
                                   std::uint64_t count, unsigned long long *differences) {
    const std::uint64_t j = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (j < count && ranks[j] != expected[j]) {
        atomicAdd(differences, 1ULL);
    }
}

}  // namespace

template <typename Key>
Workload<Key>::Workload(const Bench &bench, const device::Call &call, std::uint64_t entries,
                        std::uint64_t max_lookups)
    : bench_(bench), call_(call), entries_(entries) {
    {
        const device::Buffer<Key> keys = call.buffer<Key>(entries);
        const device::Buffer<Tid> tids = call.buffer<Tid>(entries);
        make_pairs_kernel<<<grid_for(entries), 256, 0, call.stream()>>>(keys.data(), tids.data(), 0, entries);
        device::check_launch("make_pairs_kernel");
        sorted_ = device::sort_pairs<Key>(call, keys.data(), tids.data(), entries).keys;
    }
    tree_ = device::build_array_tree(call, sorted_.data(), entries, &tree_memory_);
    call.copy(&last_key_, static_cast<const Key *>(sorted_.data() + entries - 1), 1);
    call.wait();
    lookups_ = call.buffer<Key>(max_lookups);
    ranks_ = call.buffer<std::uint32_t>(max_lookups);
    expected_ = call.buffer<std::uint32_t>(max_lookups);
}

template <typename Key>
void Workload<Key>::set_lookups(const LookupKind &kind) {
    kind_ = kind;
    const std::uint64_t count = kind.count;
    // The memory of the ranks serves for places and for indexes.
    if (kind.zipf_exponent > 0) {
        zipf_places_kernel<<<grid_for(count), 256, 0, call_.stream()>>>(Zipf(entries_, kind.zipf_exponent),
                                                                        ranks_.data(), entries_, count);
        device::check_launch("zipf_places_kernel");
    } else {
        places_kernel<<<grid_for(count), 256, 0, call_.stream()>>>(ranks_.data(), entries_, count);
        device::check_launch("places_kernel");
    }
    if (kind.ordered) {
        sort_places(call_, ranks_.data(), count);
    }
    lookups_kernel<<<grid_for(count), 256, 0, call_.stream()>>>(sorted_.data(), entries_, ranks_.data(),
                                                                kind.hit_percent, lookups_.data(), count);
    device::check_launch("lookups_kernel");
    reference_ranks(call_, static_cast<const Key *>(sorted_.data()), entries_,
                    static_cast<const Key *>(lookups_.data()), count, expected_.data());
    const device::Buffer<std::uint32_t> indexes = call_.template buffer<std::uint32_t>(count);
    limit_ = 0;
    for (const int bytes : {4, 32, 64}) {
        blocks_kernel<<<grid_for(count), 256, 0, call_.stream()>>>(expected_.data(), entries_, sizeof(Key),
                                                                   static_cast<std::uint64_t>(bytes),
                                                                   indexes.data(), count);
        device::check_launch("blocks_kernel");
        limit_ = std::max(
            limit_, gather_rate(bench_, call_, sorted_.data(), indexes.data(), ranks_.data(), count, bytes));
    }
}

template <typename Key>
void Workload<Key>::add_limit(const std::string &table, const std::string &column) {
    bench_.results.add({table, "limit (best gather of up to 64 B)", column, limit_, "M/s", 1, 0});
}

template <typename Key>
void Workload<Key>::record(const std::string &table, const std::string &column, const std::string &line,
                           const Timing &timing) {
    const std::uint64_t count = kind_.count;
    const device::Buffer<unsigned long long> differences = call_.template buffer<unsigned long long>(1);
    call_.fill(differences.data(), 0, differences.bytes());
    differences_kernel<<<grid_for(count), 256, 0, call_.stream()>>>(ranks_.data(), expected_.data(), count,
                                                                    differences.data());
    device::check_launch("differences_kernel");
    unsigned long long wrong = 0;
    call_.copy(&wrong, static_cast<const unsigned long long *>(differences.data()), 1);
    call_.wait();
    if (wrong > 0) {
        std::fprintf(stderr, "%s, %s, %s: %llu wrong ranks\n", table.c_str(), column.c_str(), line.c_str(),
                     wrong);
        throw Failure{make_status(StatusCode::internal, "wrong results")};
    }
    const double rate = static_cast<double>(count) / timing.ms / 1000;
    bench_.results.add(
        {table, line, column, rate, "M/s", rate / limit_,
         static_cast<double>(sizeof(Key)) + timing.extra_bytes / static_cast<double>(entries_)});
}

template <typename Key>
void Workload<Key>::measure(const std::string &table, const std::string &column, const Variant &variant,
                            const std::string &line) {
    Index<Key> index{sorted_.data(), entries_, last_key_, nullptr};
    if (variant.structure == Structure::kary) {
        Separators<Key> &separators = separators_[variant.fanout];
        if (separators.fanout == 0) {
            separators =
                build_separators(call_, static_cast<const Key *>(sorted_.data()), entries_, variant.fanout);
        }
        index.separators = &separators;
    }
    const Batch<Key> batch{lookups_.data(), kind_.count, ranks_.data()};
    if (!look_up(call_, index, variant, batch)) {
        std::fprintf(stderr, "%s\n", describe(variant).c_str());
        throw Failure{make_status(StatusCode::internal, "this variant isn't compiled")};
    }
    forget_ranks();
    Timing timing;
    timing.ms = median_ms(bench_, [&] { look_up(call_, index, variant, batch); });
    timing.extra_bytes =
        index.separators != nullptr ? static_cast<double>(index.separators->keys.bytes()) : 0;
    record(table, column, line, timing);
}

template <typename Key>
void Workload<Key>::measure(const std::string &table, const std::string &column, const Variant &variant) {
    measure(table, column, variant, describe(variant));
}

template <typename Key>
void Workload<Key>::measure_library(const std::string &table, const std::string &column) {
    forget_ranks();
    Timing timing;
    timing.ms = median_ms(bench_, [&] {
        device::with_shape<Key>(tree_.entries, [&]<typename Shape>(std::type_identity<Shape>) {
            device::launch_search<Shape>(tree_, RankOperation<Shape>{lookups_.data(), ranks_.data()},
                                         kind_.count, call_.engine(), call_.stream());
        });
    });
    timing.extra_bytes = static_cast<double>(tree_memory_.bytes());
    record(table, column, "the library's", timing);
}

template <typename Key>
void Workload<Key>::measure_tree(const std::string &table, const std::string &column, const std::string &line,
                                 Timing (*measure)(const Bench &, const LookupTask<Key> &)) {
    forget_ranks();
    const LookupTask<Key> task{call_, sorted_.data(), entries_, lookups_.data(), kind_.count, ranks_.data()};
    record(table, column, line, measure(bench_, task));
}

template class Workload<std::uint32_t>;
template class Workload<std::uint64_t>;
template class Workload<Key128>;

}  // namespace gpu_engine::bench::paper
