// Merging sorted arrays without their dead entries, two at a time along the merge path (CUB's DeviceMerge;
// Odeh, Green, Mwassi, Shmueli, Birk: "Merge Path - Parallel Merging Made Simple", 2012).
#pragma once

#include <cub/device/device_merge.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/tabulate_output_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/cub_calls.cuh"
#include "device/kary/array.h"
#include "device/kary/dead.cuh"
#include "device/kary/entry.cuh"

namespace gpu_engine::device {

template <typename Key>
struct ReadEntry {
    const Key *keys;
    const Tid *tids;

    __host__ __device__ Entry<Key> operator()(std::int64_t i) const { return Entry<Key>{keys[i], tids[i]}; }
};

template <typename Key>
struct WriteEntry {
    Key *keys;
    Tid *tids;

    __host__ __device__ void operator()(std::int64_t i, const Entry<Key> &entry) const {
        keys[i] = entry.key;
        tids[i] = entry.tid;
    }
};

template <typename Key>
auto entry_iterator(const Key *keys, const Tid *tids) {
    return thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0),
                                           ReadEntry<Key>{keys, tids});
}

template <typename Key>
__global__ void live_pairs_kernel(const Key *keys, const Tid *tids, std::uint64_t count, DeadView dead,
                                  Key *live_keys, Tid *live_tids) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count && !is_dead(dead, i)) {
        const std::uint64_t place = i - dead_before(dead, i);
        live_keys[place] = keys[i];
        live_tids[place] = tids[i];
    }
}

template <typename Key>
Pairs<Key> live_pairs(const Call &call, const Key *keys, const Tid *tids, std::uint64_t count,
                      const DeadBitmap &dead) {
    constexpr int threads = 256;
    Pairs<Key> result = make_pairs<Key>(call, count - dead.dead);
    if (result.count > 0) {
        live_pairs_kernel<<<blocks_for(count, threads), threads, 0, call.stream()>>>(
            keys, tids, count, dead.view(), result.keys.data(), result.tids.data());
        check_launch("live_pairs_kernel");
    }
    return result;
}

// Entries of the first sequence come before equal ones of the second.
template <typename Key>
Pairs<Key> merge_pairs(const Call &call, const Key *keys_a, const Tid *tids_a, std::uint64_t count_a,
                       const Key *keys_b, const Tid *tids_b, std::uint64_t count_b) {
    Pairs<Key> result = make_pairs<Key>(call, count_a + count_b);
    const auto output =
        thrust::make_tabulate_output_iterator(WriteEntry<Key>{result.keys.data(), result.tids.data()});
    with_scratch_memory(call, "DeviceMerge::MergeKeys", [&](void *scratch, std::size_t &bytes) {
        return cub::DeviceMerge::MergeKeys(scratch, bytes, entry_iterator(keys_a, tids_a),
                                           static_cast<std::int64_t>(count_a), entry_iterator(keys_b, tids_b),
                                           static_cast<std::int64_t>(count_b), output, EntryLess<Key>(),
                                           call.stream());
    });
    return result;
}

template <typename Key>
Status DeviceKary<Key>::merge(Stream &stream, const KaryArray<Key> *const *runs, std::size_t run_count,
                              std::unique_ptr<KaryArray<Key>> *array) noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        // A sequence that waits for its merge. It is an array's own, or it is in `pairs`.
        struct Part {
            const Key *keys;
            const Tid *tids;
            std::uint64_t count;
            Pairs<Key> pairs;
        };
        const auto own_part = [](Pairs<Key> pairs) {
            Part part{pairs.keys.data(), pairs.tids.data(), pairs.count, {}};
            part.pairs = std::move(pairs);
            return part;
        };
        std::uint64_t total = 0;
        std::vector<const DeadBitmap *> dead;
        for (std::size_t i = 0; i < run_count; ++i) {
            const auto *run = dynamic_cast<const DeviceKaryArray<Key> *>(runs[i]);
            if (run == nullptr || &run->engine() != &engine_) {
                return make_status(StatusCode::invalid_argument, "a run to merge is another engine's");
            }
            dead.push_back(call.keep(run->dead()));
            total += run->entries() - (dead[i] ? dead[i]->dead : 0);
        }
        if (total > Kary<Key>::max_entries) {
            return make_status(StatusCode::invalid_argument, "more entries than an array can hold");
        }
        std::vector<Part> parts;
        for (std::size_t i = 0; i < run_count; ++i) {
            const auto &run = static_cast<const DeviceKaryArray<Key> &>(*runs[i]);
            if (dead[i]) {
                parts.push_back(own_part(live_pairs(call, run.keys(), run.tids(), run.entries(), *dead[i])));
            } else {
                parts.push_back(Part{run.keys(), run.tids(), run.entries(), {}});
            }
        }
        // The two shortest sequences are merged first (Huffman's order), so that entries are moved as seldom
        // as possible.
        const auto longer = [](const Part &a, const Part &b) { return a.count > b.count; };
        std::make_heap(parts.begin(), parts.end(), longer);
        while (parts.size() > 1) {
            std::pop_heap(parts.begin(), parts.end(), longer);
            const Part a = std::move(parts.back());
            parts.pop_back();
            std::pop_heap(parts.begin(), parts.end(), longer);
            const Part b = std::move(parts.back());
            parts.pop_back();
            parts.push_back(own_part(merge_pairs(call, a.keys, a.tids, a.count, b.keys, b.tids, b.count)));
            std::push_heap(parts.begin(), parts.end(), longer);
            call.wait();
        }
        Pairs<Key> merged;
        if (!parts.empty()) {
            merged = std::move(parts[0].pairs);
            if (merged.count != total || total == 0) {
                // There is one array without dead entries, which hasn't been copied yet.
                merged = make_pairs<Key>(call, total);
                call.copy(merged.keys.data(), parts[0].keys, total);
                call.copy(merged.tids.data(), parts[0].tids, total);
            }
        }
        *array = std::make_unique<DeviceKaryArray<Key>>(call, std::move(merged.keys), std::move(merged.tids),
                                                        total);
        return Status{};
    });
}

}  // namespace gpu_engine::device
