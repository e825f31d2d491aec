#include "host/kary/array.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "gpu_engine/guard.h"
#include "host/kary/batch_search.h"
#include "host/engine.h"

namespace gpu_engine::host {
namespace {

// Elements between two cancellation points: some milliseconds of work at most.
constexpr std::uint64_t searches_a_piece = 1 << 12;
constexpr std::uint64_t tids_a_piece = 1 << 16;
constexpr std::uint64_t ranges_a_piece = 1 << 16;
// While a range's TIDs are copied, those of the range this many places ahead are fetched already.
constexpr std::uint64_t ranges_ahead = 48;

// Searches copy a batch's keys first: the caller's may change meanwhile, and a search through the levels
// relies on one key all the way.

}  // namespace

template <typename Key>
HostKaryArray<Key>::HostKaryArray(HostEngine &engine, const Workers &workers, Buffer<Key> keys,
                                  Buffer<Tid> tids, std::uint64_t entries)
    : HostStore<KaryArray<Key>>(engine, entries), keys_(std::move(keys)), tids_(std::move(tids)) {
    std::fill(keys_.data() + entries, keys_.data() + Levels<Key>::padded(entries), max_key<Key>());
    levels_ = Levels<Key>(engine.memory(), workers, keys_.data(), entries);
}

template <typename Key>
template <typename Visit>
void HostKaryArray<Key>::search_piece(const Key *keys, std::uint64_t first, std::uint64_t last,
                                      Visit visit) const {
    const auto entries = static_cast<std::uint32_t>(entries_);
    BatchSearch<Key> search(levels_, keys_.data(), entries_);
    Key wanted[Levels<Key>::batch];
    std::uint32_t ranks[Levels<Key>::batch];
    for (std::uint64_t i = first; i < last; i += Levels<Key>::batch) {
        const std::uint64_t searches = std::min(Levels<Key>::batch, last - i);
        std::copy_n(keys + i, searches, wanted);
        search.rank(wanted, searches, ranks);
        for (std::uint64_t j = 0; j < searches; ++j) {
            const Key key = wanted[j];
            std::uint32_t end = ranks[j];
            if (end < entries && keys_[end] == key) {
                ++end;
                if (end < entries && keys_[end] == key) {
                    end = key == max_key<Key>() ? entries : levels_.rank(next_key(key));
                }
            }
            visit(i + j, KaryRange{ranks[j], end});
        }
    }
}

template <typename Key>
void HostKaryArray<Key>::find_ranges(const Workers &workers, const Key *keys, std::uint64_t count,
                                     KaryRange *ranges) const {
    if (entries_ == 0) {
        std::fill_n(ranges, count, KaryRange{0, 0});
        return;
    }
    workers.for_pieces(count, searches_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        search_piece(keys, first, last, [&](std::uint64_t i, const KaryRange &range) { ranges[i] = range; });
    });
}

template <typename Key>
void HostKaryArray<Key>::find_bounds(const Key *low, const Key *high, std::uint64_t count,
                                     KaryRange *ranges) const {
    if (entries_ == 0) {
        std::fill_n(ranges, count, KaryRange{0, 0});
        return;
    }
    Key from[Levels<Key>::batch];
    Key to[Levels<Key>::batch];
    std::uint32_t begin[Levels<Key>::batch];
    std::uint32_t end[Levels<Key>::batch];
    for (std::uint64_t i = 0; i < count; i += Levels<Key>::batch) {
        const std::uint64_t searches = std::min(Levels<Key>::batch, count - i);
        std::copy_n(low + i, searches, from);
        std::copy_n(high + i, searches, to);
        levels_.rank([&](std::uint64_t j) { return from[j]; }, searches, begin);
        levels_.rank([&](std::uint64_t j) { return to[j] == max_key<Key>() ? to[j] : next_key(to[j]); },
                     searches, end);
        for (std::uint64_t j = 0; j < searches; ++j) {
            if (to[j] < from[j]) {
                end[j] = begin[j];
            } else if (to[j] == max_key<Key>()) {
                end[j] = static_cast<std::uint32_t>(entries_);
            }
            ranges[i + j] = {begin[j], end[j]};
        }
    }
}

template <typename Key>
void HostKaryArray<Key>::find_bounds(const Workers &workers, const Key *low, const Key *high,
                                     std::uint64_t count, KaryRange *ranges) const {
    workers.for_pieces(count, searches_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        find_bounds(low + first, high + first, last - first, ranges + first);
    });
}

template <typename Key>
Status HostKaryArray<Key>::count(Stream &stream, const Key *low, const Key *high, std::uint64_t count,
                                 std::uint32_t *counts) const noexcept {
    return guarded([&] {
        const std::shared_ptr<const DeadBitmap> dead_entries = dead();
        engine_.workers(stream).for_pieces(
            count, searches_a_piece, [&](std::uint64_t first, std::uint64_t last) {
                KaryRange ranges[Levels<Key>::batch];
                for (std::uint64_t i = first; i < last; i += Levels<Key>::batch) {
                    const std::uint64_t searches = std::min(Levels<Key>::batch, last - i);
                    find_bounds(low + i, high + i, searches, ranges);
                    for (std::uint64_t j = 0; j < searches; ++j) {
                        counts[i + j] = live_entries(ranges[j], dead_entries.get());
                    }
                }
            });
        return Status{};
    });
}

// They are counted within each piece first, and then the pieces' sums are added.
template <typename Key>
void HostKaryArray<Key>::sum_live_entries(const Workers &workers, const KaryRange *ranges,
                                          std::uint64_t count, const DeadBitmap *dead_entries,
                                          std::uint64_t *offsets, std::uint64_t *total) const {
    std::vector<std::uint64_t> places((count + ranges_a_piece - 1) / ranges_a_piece);
    workers.for_pieces(count, ranges_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = first; i < last; ++i) {
            offsets[i] = sum;
            sum += live_entries(ranges[i], dead_entries);
        }
        places[first / ranges_a_piece] = sum;
    });
    *total = std::reduce(places.begin(), places.end());
    std::exclusive_scan(places.begin(), places.end(), places.begin(), std::uint64_t(0));
    workers.for_pieces(count, ranges_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        const std::uint64_t place = places[first / ranges_a_piece];
        for (std::uint64_t i = first; place > 0 && i < last; ++i) {
            offsets[i] += place;
        }
    });
}

// The work is cut by output, so that all threads share one long range.
template <typename Key>
template <typename Write>
void HostKaryArray<Key>::for_each_live(const Workers &workers, const KaryRange *ranges, std::uint64_t count,
                                       const DeadBitmap *dead_entries, const std::uint64_t *begins,
                                       std::uint64_t total, Write write) const {
    workers.for_pieces(total, tids_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        std::uint64_t i = std::upper_bound(begins, begins + count, first) - begins - 1;
        for (std::uint64_t output = first; output < last; ++i) {
            const std::uint64_t end = std::min(last, begins[i + 1]);
            __builtin_prefetch(tids_.data() + ranges[std::min(i + ranges_ahead, count - 1)].first);
            std::uint64_t position = ranges[i].first + (output - begins[i]);
            if (dead_entries != nullptr && output < end) {
                position = dead_entries->live_from(ranges[i].first, output - begins[i], entries_);
            }
            for (; output < end; ++position) {
                if (dead_entries == nullptr || !dead_entries->is_dead(position)) {
                    write(output++, i, position);
                }
            }
        }
    });
}

template <typename Key>
Status HostKaryArray<Key>::gather_entries(const Workers &workers, const KaryRange *ranges,
                                          std::uint64_t count, std::uint64_t *offsets, Key *keys, Tid *tids,
                                          std::uint64_t capacity) const {
    const std::shared_ptr<const DeadBitmap> dead_entries = dead();
    // Entries are placed by these offsets, not by the caller's copy, which may change meanwhile.
    Buffer<std::uint64_t> own_offsets(engine_.memory(), count + 1);
    std::uint64_t total = 0;
    sum_live_entries(workers, ranges, count, dead_entries.get(), own_offsets.data(), &total);
    own_offsets[count] = offsets[count] = total;
    workers.for_pieces(count, ranges_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        std::memcpy(offsets + first, own_offsets.data() + first, (last - first) * sizeof(std::uint64_t));
    });
    if (total > capacity) {
        return make_status(StatusCode::insufficient_space, "more TIDs match than there is space for");
    }

    for_each_live(workers, ranges, count, dead_entries.get(), own_offsets.data(), total,
                  [&](std::uint64_t output, std::uint64_t, std::uint64_t position) {
                      if (keys != nullptr) {
                          keys[output] = keys_[position];
                      }
                      tids[output] = tids_[position];
                  });
    return {};
}

template <typename Key>
Status HostKaryArray<Key>::lookup(Stream &stream, const Key *keys, std::uint64_t count,
                                  std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) const noexcept {
    return guarded([&] {
        const Workers workers = engine_.workers(stream);
        Buffer<KaryRange> ranges(engine_.memory(), count);
        find_ranges(workers, keys, count, ranges.data());
        return gather_entries(workers, ranges.data(), count, offsets, nullptr, tids, capacity);
    });
}

// Most keys are not here where an index has many runs. Those that are are listed, each piece's from its first
// key's place on, and the lists then put together.
template <typename Key>
void HostKaryArray<Key>::match(Stream &stream, const Key *keys, std::uint64_t count,
                               const std::function<MatchPlaces(std::uint64_t number)> &places) const {
    const Workers workers = engine_.workers(stream);
    const std::shared_ptr<const DeadBitmap> dead_entries = dead();
    Buffer<KaryRange> ranges(engine_.memory(), count);
    Buffer<std::uint32_t> items(engine_.memory(), count);
    std::vector<std::uint64_t> listed((count + searches_a_piece - 1) / searches_a_piece);
    if (entries_ > 0) {
        workers.for_pieces(count, searches_a_piece, [&](std::uint64_t first, std::uint64_t last) {
            std::uint64_t at = first;
            search_piece(keys, first, last, [&](std::uint64_t i, const KaryRange &range) {
                if (live_entries(range, dead_entries.get()) > 0) {
                    ranges[at] = range;
                    items[at++] = static_cast<std::uint32_t>(i);
                }
            });
            listed[first / searches_a_piece] = at - first;
        });
    }
    std::uint64_t found = 0;
    for (std::uint64_t piece = 0; piece < listed.size(); ++piece) {
        const std::uint64_t from = piece * searches_a_piece;
        std::memmove(ranges.data() + found, ranges.data() + from, listed[piece] * sizeof(KaryRange));
        std::memmove(items.data() + found, items.data() + from, listed[piece] * sizeof(std::uint32_t));
        found += listed[piece];
    }
    Buffer<std::uint64_t> begins(engine_.memory(), found + 1);
    std::uint64_t total = 0;
    sum_live_entries(workers, ranges.data(), found, dead_entries.get(), begins.data(), &total);
    begins[found] = total;
    const MatchPlaces to = places(total);
    if (to.tids == nullptr && to.items == nullptr) {
        return;
    }
    for_each_live(workers, ranges.data(), found, dead_entries.get(), begins.data(), total,
                  [&](std::uint64_t output, std::uint64_t range, std::uint64_t position) {
                      if (to.tids != nullptr) {
                          to.tids[output] = tids_[position];
                      }
                      if (to.items != nullptr) {
                          to.items[output] = items[range];
                      }
                  });
}

template <typename Key>
Status HostKaryArray<Key>::range(Stream &stream, const Key *low, const Key *high, std::uint64_t count,
                                 std::uint64_t *offsets, Key *keys, Tid *tids,
                                 std::uint64_t capacity) const noexcept {
    return guarded([&] {
        const Workers workers = engine_.workers(stream);
        Buffer<KaryRange> ranges(engine_.memory(), count);
        find_bounds(workers, low, high, count, ranges.data());
        return gather_entries(workers, ranges.data(), count, offsets, keys, tids, capacity);
    });
}

template <typename Key>
Status HostKary<Key>::match(Stream &stream, const KaryArray<Key> *const *arrays, std::size_t array_count,
                            const Key *keys, std::uint64_t count,
                            const typename Kary<Key>::PlacesFor &places) noexcept {
    return guarded([&] {
        if (count > Kary<Key>::max_matched_keys) {
            return make_status(StatusCode::invalid_argument, "more keys than can be numbered");
        }
        for (std::size_t i = 0; i < array_count; ++i) {
            const auto *array = dynamic_cast<const HostKaryArray<Key> *>(arrays[i]);
            if (array == nullptr || &array->engine() != &engine_) {
                return make_status(StatusCode::invalid_argument, "an array is another engine's");
            }
            array->match(stream, keys, count, [&](std::uint64_t number) { return places(i, number); });
        }
        return Status{};
    });
}

template class HostKaryArray<std::uint32_t>;
template class HostKaryArray<std::uint64_t>;
template class HostKaryArray<Key128>;
template Status HostKary<std::uint32_t>::match(Stream &, const KaryArray<std::uint32_t> *const *, std::size_t,
                                               const std::uint32_t *, std::uint64_t,
                                               const Kary<std::uint32_t>::PlacesFor &) noexcept;
template Status HostKary<std::uint64_t>::match(Stream &, const KaryArray<std::uint64_t> *const *, std::size_t,
                                               const std::uint64_t *, std::uint64_t,
                                               const Kary<std::uint64_t>::PlacesFor &) noexcept;
template Status HostKary<Key128>::match(Stream &, const KaryArray<Key128> *const *, std::size_t,
                                        const Key128 *, std::uint64_t,
                                        const Kary<Key128>::PlacesFor &) noexcept;

}  // namespace gpu_engine::host
