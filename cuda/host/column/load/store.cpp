// Counting and matching rows, a batch of groups at a time.
#include "host/column/load/store.h"

#include <algorithm>
#include <atomic>

#include "gpu_engine/guard.h"
#include "gpu_engine/packing.h"
#include "host/column/select/counter.h"
#include "host/column/column.h"
#include "host/column/select/rows.h"
#include "host/column/select/tests.h"
#include "host/heap_blocks.h"

namespace gpu_engine::host {
namespace {

using packing::group;

constexpr std::uint64_t groups_a_piece = 16 * batch_groups;

std::uint64_t count_all(const std::uint64_t *words, std::uint64_t count) {
    std::uint64_t bits = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        bits += count_bits(words[i]);
    }
    return bits;
}

Status too_many() {
    return make_status(StatusCode::insufficient_space, "more rows match than there is space for");
}

}  // namespace

Status HostColumnStore::count(Stream &stream, const ColumnTest *tests, std::uint32_t test_count,
                              const ColumnTarget &target, const HeapBlocks *blocks, std::uint64_t *counts,
                              UnresolvedRow *unresolved, std::uint64_t capacity,
                              std::uint64_t *found) const noexcept {
    return guarded([&] {
        const Workers workers = engine_.workers(stream);
        const KnownBlocks *known = blocks != nullptr ? &known_of(*blocks) : nullptr;
        const RowTests row_tests(engine_, parts_, tests, test_count);
        Counter counter(engine_, workers, parts_, target);
        const std::shared_ptr<const DeadBitmap> dead_rows = dead();
        std::atomic<std::uint64_t> unresolved_rows{0};
        const std::uint64_t groups = row_tests.none_passes() ? 0 : packed_groups(parts_.layout.rows);
        const auto take_unresolved = [&](std::uint64_t begin, std::uint64_t batch, std::uint64_t *selected) {
            std::uint64_t others[batch_groups];
            if (!split_unresolved(parts_, *known, begin, batch, selected, others)) {
                return;
            }
            for_selected(parts_, begin, batch, others, [&](std::uint64_t row, const Tid &tid) {
                if (!counter.wants(row)) {
                    return;
                }
                const std::uint64_t at = unresolved_rows.fetch_add(1, std::memory_order_relaxed);
                if (at < capacity) {
                    unresolved[at] = {counter.number(row), tid, 0};
                }
            });
        };
        workers.for_pieces(groups, groups_a_piece, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t begin = first; begin < last; begin += batch_groups) {
                const std::uint64_t batch = std::min(batch_groups, last - begin);
                std::uint64_t selected[batch_groups];
                select_live(parts_, dead_rows.get(), begin, batch, selected);
                row_tests.apply(begin, batch, selected);
                if (known != nullptr) {
                    take_unresolved(begin, batch, selected);
                }
                counter.count(begin, batch, selected);
            }
        });
        counter.finish(counts);
        *found = unresolved_rows.load();
        return *found > capacity ? too_many() : Status{};
    });
}

Status HostColumnStore::match(Stream &stream, const ColumnTest *tests, std::uint32_t test_count, Tid *tids,
                              std::uint64_t capacity, std::uint64_t *found) const noexcept {
    return guarded([&] {
        const RowTests row_tests(engine_, parts_, tests, test_count);
        const std::shared_ptr<const DeadBitmap> dead_rows = dead();
        std::atomic<std::uint64_t> matches{0};
        const std::uint64_t groups = row_tests.none_passes() ? 0 : packed_groups(parts_.layout.rows);
        engine_.workers(stream).for_pieces(
            groups, groups_a_piece, [&](std::uint64_t first, std::uint64_t last) {
                for (std::uint64_t begin = first; begin < last; begin += batch_groups) {
                    const std::uint64_t batch = std::min(batch_groups, last - begin);
                    std::uint64_t selected[batch_groups];
                    select_live(parts_, dead_rows.get(), begin, batch, selected);
                    row_tests.apply(begin, batch, selected);
                    const std::uint64_t here = count_all(selected, batch);
                    std::uint64_t at = matches.fetch_add(here, std::memory_order_relaxed);
                    if (here == 0 || at + here > capacity) {
                        continue;
                    }
                    for_selected(parts_, begin, batch, selected,
                                 [&](std::uint64_t, const Tid &tid) { tids[at++] = tid; });
                }
            });
        *found = matches.load();
        return *found > capacity ? too_many() : Status{};
    });
}

}  // namespace gpu_engine::host
