// Requests about ranges of keys that give entries back.
#pragma once

#include <algorithm>

#include "device/kary/array.cuh"

namespace gpu_engine::device {

template <typename Key>
Buffer<KaryRange> DeviceKaryArray<Key>::bounds(const Call &call, const Key *low, const Key *high,
                                               std::uint64_t count) const {
    const Input<Key> low_input(call, low, count, piece_searches);
    const Input<Key> high_input(call, high, count, piece_searches);
    Buffer<KaryRange> ranges = call.buffer<KaryRange>(count);
    for (std::uint64_t first = 0; first < count; first += piece_searches) {
        const std::uint64_t size = std::min(piece_searches, count - first);
        if (entries_ == 0) {
            call.fill(ranges.data() + first, 0, size * sizeof(KaryRange));
        } else {
            bounds_piece(call, tree_, low_input.piece(first, size), high_input.piece(first, size), size,
                         ranges.data() + first);
        }
        call.wait();
    }
    return ranges;
}

template <typename Key>
Status DeviceKaryArray<Key>::give(const Call &call, const KaryRange *ranges, std::uint64_t count,
                                  const DeadView &dead, std::uint64_t *offsets, Key *keys, Tid *tids,
                                  std::uint64_t capacity) const {
    const Gathered gathered = measure_ranges(call, ranges, count, dead);
    call.copy(offsets, static_cast<const std::uint64_t *>(gathered.offsets.data()), count + 1);
    if (gathered.total > capacity) {
        call.wait();
        return make_status(StatusCode::insufficient_space, "more TIDs match than there is space for");
    }
    gather_elements(call, ranges, count, dead, tids_.data(), gathered.places(), tids);
    if (keys != nullptr) {
        gather_elements(call, ranges, count, dead, this->keys(), gathered.places(), keys);
    }
    call.wait();
    return {};
}

template <typename Key>
Status DeviceKaryArray<Key>::range(Stream &stream, const Key *low, const Key *high, std::uint64_t count,
                                   std::uint64_t *offsets, Key *keys, Tid *tids,
                                   std::uint64_t capacity) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        const DeadView view = this->dead_view(call);
        const Buffer<KaryRange> ranges = bounds(call, low, high, count);
        return give(call, ranges.data(), count, view, offsets, keys, tids, capacity);
    });
}

template <typename Key>
Status DeviceKaryArray<Key>::count_on(Stream &stream, const Key *low, const Key *high, std::uint64_t count,
                                      const HeapBlocks &blocks, std::uint64_t *counts, std::uint64_t *offsets,
                                      Tid *tids, std::uint64_t capacity) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        const Buffer<KaryRange> ranges = bounds(call, low, high, count);
        return count_ranges_on(call, ranges.data(), count, this->dead_view(call), tids_.data(),
                               known_of(blocks), counts, offsets, tids, capacity);
    });
}

}  // namespace gpu_engine::device
