// Histograms on the processor: each thread counts for itself.
#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <array>
#include <vector>

#include "studies/column/common/bins.h"
#include "studies/column/common/codes.h"
#include "studies/column/host/studies.h"
#include "host/buffer.h"
#include "host/engine.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t values_a_piece = 1 << 18;
// Up to so many slots are counted in several copies by each thread, so that equal values don't wait for each
// other.
constexpr std::uint64_t copied_slots = 1 << 12;
constexpr std::uint64_t copies = 4;

// Calls count_piece(first, last, counters, stride) for pieces of [0, count): copy c of a thread's counters
// begins at counters[c * stride]; stride is 0 where there is one copy. Adds all up into `counts`.
template <typename CountPiece>
void count_in_threads(HostEngine &engine, const Workers &workers, std::uint64_t count, std::uint64_t slots,
                      std::uint64_t *counts, CountPiece count_piece) {
    const std::uint64_t stride = slots <= copied_slots ? slots : 0;
    const std::uint64_t places = stride == 0 ? slots : slots * copies;
    tbb::enumerable_thread_specific<Buffer<std::uint64_t>> counters([&] {
        Buffer<std::uint64_t> own(engine.memory(), places);
        std::fill_n(own.data(), places, 0);
        return own;
    });
    workers.for_pieces(count, values_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        count_piece(first, last, counters.local().data(), stride);
    });
    std::fill_n(counts, slots, 0);
    for (const Buffer<std::uint64_t> &own : counters) {
        for (std::uint64_t place = 0; place < places; ++place) {
            counts[place % slots] += own[place];
        }
    }
}

// Counts slot_of(i) for i from `first` to `last` - 1 in one thread.
template <typename SlotOf>
void count_slots(std::uint64_t first, std::uint64_t last, std::uint64_t *counters, std::uint64_t stride,
                 SlotOf slot_of) {
    std::uint64_t i = first;
    for (; i + copies <= last; i += copies) {
        for (std::uint64_t copy = 0; copy < copies; ++copy) {
            ++counters[copy * stride + slot_of(i + copy)];
        }
    }
    for (; i < last; ++i) {
        ++counters[slot_of(i)];
    }
}

template <typename Value>
Status count_values(HostEngine &engine, Stream &stream, const Value *values, std::uint64_t count,
                    const HistogramBins &bins, std::uint64_t *counts) {
    return guarded([&] {
        std::vector<double> edges;
        const BinMap map = make_bin_map(bins, &edges, std::is_integral_v<Value>);
        const Workers workers = engine.workers(stream);
        const auto count_by = [&](auto slot_of) {
            count_in_threads(
                engine, workers, count, std::uint64_t(map.bins) + 3, counts,
                [&](std::uint64_t first, std::uint64_t last, std::uint64_t *counters, std::uint64_t stride) {
                    count_slots(first, last, counters, stride, slot_of);
                });
        };
        if (std::is_integral_v<Value> && map.exact_integers) {
            count_by([&](std::uint64_t i) {
                return map.slot<false>(static_cast<double>(values[i]), edges.data());
            });
        } else {
            count_by([&](std::uint64_t i) {
                return map.slot<true>(static_cast<double>(values[i]), edges.data());
            });
        }
        return Status{};
    });
}

}  // namespace

Status HostHistograms::count(Stream &stream, const std::int32_t *values, std::uint64_t count,
                             const HistogramBins &bins, std::uint64_t *counts) noexcept {
    return count_values(engine_, stream, values, count, bins, counts);
}
Status HostHistograms::count(Stream &stream, const std::int64_t *values, std::uint64_t count,
                             const HistogramBins &bins, std::uint64_t *counts) noexcept {
    return count_values(engine_, stream, values, count, bins, counts);
}
Status HostHistograms::count(Stream &stream, const float *values, std::uint64_t count,
                             const HistogramBins &bins, std::uint64_t *counts) noexcept {
    return count_values(engine_, stream, values, count, bins, counts);
}
Status HostHistograms::count(Stream &stream, const double *values, std::uint64_t count,
                             const HistogramBins &bins, std::uint64_t *counts) noexcept {
    return count_values(engine_, stream, values, count, bins, counts);
}

Status HostHistograms::count_bytes(Stream &stream, const std::uint8_t *bytes, std::uint64_t count,
                                   std::uint64_t *counts) noexcept {
    return guarded([&] {
        count_in_threads(
            engine_, engine_.workers(stream), count, 256, counts,
            [&](std::uint64_t first, std::uint64_t last, std::uint64_t *counters, std::uint64_t stride) {
                count_slots(first, last, counters, stride, [&](std::uint64_t i) { return bytes[i]; });
            });
        return Status{};
    });
}

Status HostHistograms::count(Stream &stream, const std::uint8_t *values, std::uint64_t count,
                             const HistogramBins &bins, std::uint64_t *counts) noexcept {
    return guarded([&] {
        std::array<std::uint64_t, 256> byte_counts;
        const Status status = count_bytes(stream, values, count, byte_counts.data());
        if (!status.ok()) {
            return status;
        }
        const std::vector<std::uint64_t> sums = slots_of_bytes(bins, byte_counts.data());
        std::copy(sums.begin(), sums.end(), counts);
        return Status{};
    });
}

Status HostHistograms::count_codes(Stream &stream, const PackedCodes &codes,
                                   const std::uint32_t *slot_of_code, std::uint64_t entries,
                                   std::uint32_t slots, std::uint64_t *counts) noexcept {
    return guarded([&] {
        if (codes.bits > 32 || entries > UINT32_MAX || slots > HistogramBins::max_bins + 3) {
            return make_status(StatusCode::invalid_argument,
                               "codes of so many bits or slots can't be counted");
        }
        // The place behind the last slot counts the codes that have no slot.
        std::vector<std::uint64_t> sums(std::uint64_t(slots) + 1);
        count_in_threads(
            engine_, engine_.workers(stream), codes.count, sums.size(), sums.data(),
            [&](std::uint64_t first, std::uint64_t last, std::uint64_t *counters, std::uint64_t stride) {
                count_slots(first, last, counters, stride, [&](std::uint64_t i) {
                    const std::uint32_t code = code_at(codes.words, i, codes.bits);
                    const std::uint32_t slot = code < entries ? slot_of_code[code] : slots;
                    return std::min(slot, slots);
                });
            });
        if (sums[slots] != 0) {
            return make_status(StatusCode::invalid_argument,
                               "a code lies beyond its dictionary or the slots");
        }
        std::copy_n(sums.begin(), slots, counts);
        return Status{};
    });
}

}  // namespace gpu_engine::host
