// The entry points of a device's arrays. Batches are cut into pieces: what lies in the host's memory passes
// through copies of bounded size, and each piece ends with a cancellation point.
#pragma once

#include <algorithm>

#include "device/kary/array.h"

namespace gpu_engine::device {

// A piece has so many searches: about a millisecond of work.
inline constexpr std::uint64_t piece_searches = std::uint64_t(1) << 24;

template <typename Key>
DeviceKaryArray<Key>::DeviceKaryArray(const Call &call, Buffer<Key> keys, Buffer<Tid> tids,
                                      std::uint64_t entries)
    : DeviceStore<KaryArray<Key>>(call.engine(), entries), keys_(std::move(keys)), tids_(std::move(tids)) {
    if (entries > 0) {
        tree_ = build_array_tree(call, keys_.data(), entries, &tree_memory_);
    }
    call.wait();
    keys_.set_stream(engine_.release_stream());
    tids_.set_stream(engine_.release_stream());
    tree_memory_.set_stream(engine_.release_stream());
}

template <typename Key>
Status DeviceKaryArray<Key>::count(Stream &stream, const Key *low, const Key *high, std::uint64_t count,
                                   std::uint32_t *counts) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        const DeadView view = this->dead_view(call);
        const Input<Key> low_input(call, low, count, piece_searches);
        const Input<Key> high_input(call, high, count, piece_searches);
        const Output<std::uint32_t> output(call, counts, count, piece_searches);
        const Buffer<KaryRange> ranges = call.buffer<KaryRange>(std::min(count, piece_searches));
        for (std::uint64_t first = 0; first < count; first += piece_searches) {
            const std::uint64_t size = std::min(piece_searches, count - first);
            if (entries_ == 0) {
                call.fill(output.piece(first), 0, size * sizeof(std::uint32_t));
            } else {
                bounds_piece(call, tree_, low_input.piece(first, size), high_input.piece(first, size), size,
                             ranges.data());
                count_live(call, ranges.data(), size, view, output.piece(first));
            }
            output.flush(first, size);
            call.wait();
        }
        return Status{};
    });
}

template <typename Key>
Status DeviceKaryArray<Key>::lookup(Stream &stream, const Key *keys, std::uint64_t count,
                                    std::uint64_t *offsets, Tid *tids,
                                    std::uint64_t capacity) const noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        const DeadView view = this->dead_view(call);
        if (count > 0 && count <= max_few_lookups && entries_ > 0 &&
            look_up_few(call, this->keys(), this->tids(), entries_, view, keys, count, offsets, tids,
                        capacity)) {
            return Status{};
        }
        const Input<Key> input(call, keys, count, piece_searches);
        const Buffer<KaryRange> ranges = call.buffer<KaryRange>(count);
        for (std::uint64_t first = 0; first < count; first += piece_searches) {
            const std::uint64_t size = std::min(piece_searches, count - first);
            if (entries_ == 0) {
                call.fill(ranges.data() + first, 0, size * sizeof(KaryRange));
            } else {
                find_piece(call, tree_, input.piece(first, size), size, ranges.data() + first);
            }
            call.wait();
        }
        return give(call, ranges.data(), count, view, offsets, nullptr, tids, capacity);
    });
}

}  // namespace gpu_engine::device
