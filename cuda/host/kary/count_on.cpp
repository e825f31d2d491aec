// Counting what is visible; entries on unknown heap blocks are given back instead.
#include <algorithm>
#include <atomic>

#include "gpu_engine/guard.h"
#include "host/engine.h"
#include "host/heap_blocks.h"
#include "host/kary/array.h"

namespace gpu_engine::host {
namespace {

// The ranges' positions are taken as one sequence, which is cut into pieces for the threads. So many pieces
// are counted together before their entries on unknown blocks are written; that bounds what must be
// remembered of them.
constexpr std::uint64_t positions_a_piece = 1 << 15;
constexpr std::uint64_t pieces_at_once = 1 << 12;

}  // namespace

template <typename Key>
Status HostKaryArray<Key>::count_on(Stream &stream, const Key *low, const Key *high, std::uint64_t count,
                                    const HeapBlocks &blocks, std::uint64_t *counts, std::uint64_t *offsets,
                                    Tid *tids, std::uint64_t capacity) const noexcept {
    return guarded([&] {
        const KnownBlocks &known = known_of(blocks);
        const Workers workers = engine_.workers(stream);
        const std::shared_ptr<const DeadBitmap> dead_entries = dead();
        Buffer<KaryRange> ranges(engine_.memory(), count);
        find_bounds(workers, low, high, count, ranges.data());
        // The arrays have the beginning of each range in the sequence, and what was found in it.
        Buffer<std::uint64_t> begins(engine_.memory(), count + 1);
        Buffer<std::uint64_t> on(engine_.memory(), count);
        Buffer<std::uint64_t> elsewhere(engine_.memory(), count);
        begins[0] = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            begins[i + 1] = begins[i] + (ranges[i].last - ranges[i].first);
            on[i] = 0;
            elsewhere[i] = 0;
        }
        // Calls visit(range, first position, last position) for the ranges' parts in [first, last).
        const auto for_parts = [&](std::uint64_t first, std::uint64_t last, auto visit) {
            std::uint64_t i =
                std::upper_bound(begins.data(), begins.data() + count + 1, first) - begins.data() - 1;
            for (std::uint64_t at = first; at < last; ++i) {
                const std::uint64_t end = std::min(last, begins[i + 1]);
                if (at < end) {
                    visit(i, ranges[i].first + (at - begins[i]), ranges[i].first + (end - begins[i]));
                }
                at = end;
            }
        };

        const std::uint64_t positions = begins[count];
        const std::uint64_t at_once = positions_a_piece * pieces_at_once;
        Buffer<std::uint64_t> found(engine_.memory(),
                                    std::min(positions / positions_a_piece + 1, pieces_at_once) + 1);
        std::uint64_t total = 0;
        for (std::uint64_t begin = 0; begin < positions; begin += at_once) {
            const std::uint64_t size = std::min(at_once, positions - begin);
            workers.for_pieces(size, positions_a_piece, [&](std::uint64_t first, std::uint64_t last) {
                std::uint64_t found_here = 0;
                for_parts(
                    begin + first, begin + last,
                    [&](std::uint64_t i, std::uint64_t position, std::uint64_t end) {
                        std::uint64_t on_here = 0;
                        std::uint64_t elsewhere_here = 0;
                        for (; position < end; ++position) {
                            if (!dead_entries || !dead_entries->is_dead(position)) {
                                const Seen seen = look_up(known, tids_[position]);
                                on_here += seen == Seen::yes ? 1 : 0;
                                elsewhere_here += seen == Seen::unknown ? 1 : 0;
                            }
                        }
                        std::atomic_ref(on[i]).fetch_add(on_here, std::memory_order_relaxed);
                        std::atomic_ref(elsewhere[i]).fetch_add(elsewhere_here, std::memory_order_relaxed);
                        found_here += elsewhere_here;
                    });
                found[first / positions_a_piece] = found_here;
            });
            // The numbers of what was found become places.
            const std::uint64_t pieces = (size + positions_a_piece - 1) / positions_a_piece;
            const std::uint64_t before = total;
            for (std::uint64_t piece = 0; piece < pieces; ++piece) {
                const std::uint64_t found_here = found[piece];
                found[piece] = total;
                total += found_here;
            }
            found[pieces] = total;
            if (total == before || total > capacity) {
                continue;
            }
            workers.for_pieces(size, positions_a_piece, [&](std::uint64_t first, std::uint64_t last) {
                const std::uint64_t piece = first / positions_a_piece;
                std::uint64_t output = found[piece];
                for_parts(begin + first, begin + last,
                          [&](std::uint64_t, std::uint64_t position, std::uint64_t end) {
                              for (; position < end; ++position) {
                                  if ((!dead_entries || !dead_entries->is_dead(position)) &&
                                      look_up(known, tids_[position]) == Seen::unknown) {
                                      tids[output++] = tids_[position];
                                  }
                              }
                          });
            });
        }
        std::copy_n(on.data(), count, counts);
        std::uint64_t offset = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            offsets[i] = offset;
            offset += elsewhere[i];
        }
        offsets[count] = offset;
        if (total > capacity) {
            return make_status(StatusCode::insufficient_space, "more TIDs match than there is space for");
        }
        return Status{};
    });
}

template Status HostKaryArray<std::uint32_t>::count_on(Stream &, const std::uint32_t *, const std::uint32_t *,
                                                       std::uint64_t, const HeapBlocks &, std::uint64_t *,
                                                       std::uint64_t *, Tid *, std::uint64_t) const noexcept;
template Status HostKaryArray<std::uint64_t>::count_on(Stream &, const std::uint64_t *, const std::uint64_t *,
                                                       std::uint64_t, const HeapBlocks &, std::uint64_t *,
                                                       std::uint64_t *, Tid *, std::uint64_t) const noexcept;
template Status HostKaryArray<Key128>::count_on(Stream &, const Key128 *, const Key128 *, std::uint64_t,
                                                const HeapBlocks &, std::uint64_t *, std::uint64_t *, Tid *,
                                                std::uint64_t) const noexcept;

}  // namespace gpu_engine::host
