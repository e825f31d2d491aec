// Entries equal to keys in several arrays at once. A request asks the dozens of runs of an index; one by one
// it would wait for the device several times a run, for longer than the searches take.
#pragma once

#include <algorithm>
#include <vector>

#include "device/cub_calls.cuh"
#include "device/kary/array.h"
#include "device/kary/array.cuh"

namespace gpu_engine::device {

// The number of ranges that are on the device at a time, with an offset each, or those of one array.
inline constexpr std::uint64_t max_matched_ranges = std::uint64_t(1) << 21;
inline constexpr std::uint64_t matched_range_bytes = sizeof(KaryRange) + sizeof(std::uint64_t);
// The numbers of entries go where a call's answers do.
inline constexpr std::size_t max_matched_arrays = DeviceStream::result_words - 1;

// Some of a call's arrays, of which the first one has this number.
template <typename Key>
class MatchedArrays {
  public:
    MatchedArrays(const Call &call, std::vector<const DeviceKaryArray<Key> *> arrays, std::size_t first,
                  std::uint64_t count)
        : call_(call), arrays_(std::move(arrays)), first_(first), count_(count) {
        for (const DeviceKaryArray<Key> *array : arrays_) {
            dead_.push_back(array->dead_view(call));
        }
        ranges_ = call.buffer<KaryRange>(arrays_.size() * count);
    }

    void find(const Input<Key> &input) {
        for (std::uint64_t first = 0; first < count_; first += piece_searches) {
            const std::uint64_t size = std::min(piece_searches, count_ - first);
            const Key *keys = input.piece(first, size);
            for (std::size_t i = 0; i < arrays_.size(); ++i) {
                KaryRange *ranges = ranges_of(i) + first;
                if (arrays_[i]->entries() == 0) {
                    call_.fill(ranges, 0, size * sizeof(KaryRange));
                } else {
                    find_piece(call_, arrays_[i]->tree(), keys, size, ranges);
                }
            }
            if (first + size < count_) {
                call_.wait();
            }
        }
    }

    void write(const typename Kary<Key>::PlacesFor &places) {
        const Buffer<std::uint64_t> offsets = call_.buffer<std::uint64_t>(arrays_.size() * count_ + 1);
        const std::vector<std::uint64_t> firsts = measure(offsets.data());
        for (std::size_t i = 0; i < arrays_.size(); ++i) {
            const Places its = {offsets.data() + i * count_, firsts[i], firsts[i + 1] - firsts[i]};
            const MatchPlaces to = places(first_ + i, its.total);
            if (to.tids != nullptr) {
                gather_elements(call_, ranges_of(i), count_, dead_[i], arrays_[i]->tids(), its, to.tids);
            }
            if (to.items != nullptr) {
                gather_ranges(call_, count_, its, to.items);
            }
        }
        call_.wait();
    }

  private:
    KaryRange *ranges_of(std::size_t array) const { return ranges_.data() + array * count_; }

    // Returns where each array's entries begin among those of all, and where the last one's end.
    std::vector<std::uint64_t> measure(std::uint64_t *offsets) const {
        for (std::size_t i = 0; i < arrays_.size(); ++i) {
            measure_sizes(call_, ranges_of(i), count_, dead_[i], offsets + i * count_);
        }
        exclusive_sums(call_, offsets, offsets, arrays_.size() * count_ + 1);
        auto *result = const_cast<std::uint64_t *>(call_.result());
        check(cudaMemcpy2DAsync(result, sizeof(std::uint64_t), offsets, count_ * sizeof(std::uint64_t),
                                sizeof(std::uint64_t), arrays_.size() + 1, cudaMemcpyDefault, call_.stream()),
              "cudaMemcpy2DAsync");
        call_.wait();
        return {call_.result(), call_.result() + arrays_.size() + 1};
    }

    const Call &call_;
    const std::vector<const DeviceKaryArray<Key> *> arrays_;
    const std::size_t first_;
    const std::uint64_t count_;
    std::vector<DeadView> dead_;
    Buffer<KaryRange> ranges_;
};

template <typename Key>
Status DeviceKary<Key>::match(Stream &stream, const KaryArray<Key> *const *arrays, std::size_t array_count,
                              const Key *keys, std::uint64_t count,
                              const typename Kary<Key>::PlacesFor &places) noexcept {
    return guarded([&] {
        if (count > Kary<Key>::max_matched_keys) {
            return make_status(StatusCode::invalid_argument, "more keys than can be numbered");
        }
        std::vector<const DeviceKaryArray<Key> *> own;
        for (std::size_t i = 0; i < array_count; ++i) {
            own.push_back(dynamic_cast<const DeviceKaryArray<Key> *>(arrays[i]));
            if (own.back() == nullptr || &own.back()->engine() != &engine_) {
                return make_status(StatusCode::invalid_argument, "an array is another engine's");
            }
        }
        const Call call(engine_, stream);
        if (count == 0) {
            for (std::size_t i = 0; i < array_count; ++i) {
                places(i, 0);
            }
            return Status{};
        }
        const Input<Key> input(call, keys, count, piece_searches);
        // At most a quarter of the free memory is taken, which matters when mirrors have almost all: other
        // calls come at the same time, and none should have a mirror evicted that has room if arrays are
        // matched one at a time.
        const std::uint64_t room = engine_.memory().free_bytes() / 4 / matched_range_bytes;
        const std::size_t at_once =
            std::clamp<std::size_t>(std::min(room, max_matched_ranges) / count, 1, max_matched_arrays);
        for (std::size_t first = 0; first < array_count; first += at_once) {
            const std::size_t last = std::min(first + at_once, array_count);
            MatchedArrays<Key> some(call,
                                    {own.begin() + static_cast<std::ptrdiff_t>(first),
                                     own.begin() + static_cast<std::ptrdiff_t>(last)},
                                    first, count);
            some.find(input);
            some.write(places);
        }
        return Status{};
    });
}

}  // namespace gpu_engine::device
