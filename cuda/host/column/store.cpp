// Counting and matching rows, a batch of groups at a time.
#include "host/column/store.h"

#include <algorithm>
#include <atomic>

#include "gpu_engine/guard.h"
#include "gpu_engine/packing.h"
#include "host/column/counter.h"
#include "host/column/column.h"
#include "host/column/tests.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::host {
namespace {

using packing::group;

constexpr std::uint64_t groups_a_piece = 16 * batch_groups;

// Rows that are there and alive.
void select_live(const StoreParts &parts, const DeadBitmap *dead, std::uint64_t first, std::uint64_t groups,
                 std::uint64_t *selected) {
    const std::uint64_t rows = parts.layout.rows;
    for (std::uint64_t i = 0; i < groups; ++i) {
        const std::uint64_t rest = rows - (first + i) * group;
        selected[i] = rest < group ? (std::uint64_t(1) << rest) - 1 : UINT64_MAX;
        if (dead != nullptr) {
            selected[i] &= ~dead->words[first + i];
        }
    }
}

// Calls visit(stretch, first row, last row + 1) for the stretches of rows in [begin, end).
template <typename Visit>
void for_stretches(const StoreParts &parts, std::uint64_t begin, std::uint64_t end, Visit visit) {
    const Stretch *stretches = parts.stretches.data();
    const std::uint64_t count = parts.count.stretches;
    for (std::uint64_t i = find_stretch(stretches, count, begin); i < count && stretches[i].row < end; ++i) {
        const std::uint64_t next = i + 1 < count ? stretches[i + 1].row : parts.layout.rows;
        visit(stretches[i], std::max<std::uint64_t>(stretches[i].row, begin), std::min(next, end));
    }
}

void set_bits(std::uint64_t *words, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t word = begin / 64; word * 64 < end; ++word) {
        std::uint64_t bits = UINT64_MAX;
        if (word == begin / 64) {
            bits <<= begin % 64;
        }
        if (end < word * 64 + 64) {
            bits &= (std::uint64_t(1) << (end % 64)) - 1;
        }
        words[word] |= bits;
    }
}

// Which rows are on blocks that are trusted.
void select_trusted(const StoreParts &parts, const BlockMap &blocks, std::uint64_t first,
                    std::uint64_t groups, std::uint64_t *trusted) {
    std::fill_n(trusted, groups, 0);
    const std::uint64_t begin = first * group;
    const std::uint64_t end = std::min(begin + groups * group, parts.layout.rows);
    for_stretches(parts, begin, end, [&](const Stretch &stretch, std::uint64_t from, std::uint64_t to) {
        if (is_among(blocks, stretch.block)) {
            set_bits(trusted, from - begin, to - begin);
        }
    });
}

// Calls visit(row, tid) for selected rows.
template <typename Visit>
void for_selected(const StoreParts &parts, std::uint64_t first, std::uint64_t groups,
                  const std::uint64_t *selected, Visit visit) {
    const std::uint64_t begin = first * group;
    const std::uint64_t end = std::min(begin + groups * group, parts.layout.rows);
    for_stretches(parts, begin, end, [&](const Stretch &stretch, std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t row = from; row < to; ++row) {
            if ((selected[row / group - first] >> (row % group) & 1) != 0) {
                visit(row, tid_in_stretch(stretch, parts.bitmaps.data(), row));
            }
        }
    });
}

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

std::uint64_t HostColumnStore::bytes() const noexcept {
    const std::shared_ptr<const DeadBitmap> dead = dead_.get();
    return parts_.bytes() + (dead ? dead->bytes() : 0);
}

std::uint64_t HostColumnStore::dead_entries() const noexcept {
    const std::shared_ptr<const DeadBitmap> dead = dead_.get();
    return dead ? dead->dead : 0;
}

Status HostColumnStore::set_dead(Stream &stream, const std::uint64_t *bitmap,
                                 std::uint64_t version) noexcept {
    return guarded([&] {
        check_cancelled(stream);
        std::shared_ptr<const DeadBitmap> dead;
        if (bitmap != nullptr) {
            dead = std::make_shared<const DeadBitmap>(engine_.memory(), bitmap, parts_.layout.rows);
        }
        return dead_.replace(std::move(dead), version);
    });
}

Status HostColumnStore::count(Stream &stream, const ColumnTest *tests, std::uint32_t test_count,
                              const ColumnTarget &target, const BlockMap *blocks, std::uint64_t *counts,
                              DoubtfulRow *doubtful, std::uint64_t capacity,
                              std::uint64_t *found) const noexcept {
    return guarded([&] {
        const Workers workers = engine_.workers(stream);
        const RowTests row_tests(engine_, parts_, tests, test_count);
        Counter counter(engine_, workers, parts_, target);
        const std::shared_ptr<const DeadBitmap> dead = dead_.get();
        std::atomic<std::uint64_t> doubts{0};
        const std::uint64_t groups = row_tests.none_passes() ? 0 : packed_groups(parts_.layout.rows);
        const auto take_doubtful = [&](std::uint64_t begin, std::uint64_t batch, std::uint64_t *selected) {
            std::uint64_t trusted[batch_groups];
            std::uint64_t others[batch_groups];
            select_trusted(parts_, *blocks, begin, batch, trusted);
            for (std::uint64_t i = 0; i < batch; ++i) {
                others[i] = selected[i] & ~trusted[i];
                selected[i] &= trusted[i];
            }
            if (count_all(others, batch) == 0) {
                return;
            }
            for_selected(parts_, begin, batch, others, [&](std::uint64_t row, const Tid &tid) {
                if (!counter.wants(row)) {
                    return;
                }
                const std::uint64_t at = doubts.fetch_add(1, std::memory_order_relaxed);
                if (at < capacity) {
                    doubtful[at] = {counter.number(row), tid, 0};
                }
            });
        };
        workers.for_pieces(groups, groups_a_piece, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t begin = first; begin < last; begin += batch_groups) {
                const std::uint64_t batch = std::min(batch_groups, last - begin);
                std::uint64_t selected[batch_groups];
                select_live(parts_, dead.get(), begin, batch, selected);
                row_tests.apply(begin, batch, selected);
                if (blocks != nullptr) {
                    take_doubtful(begin, batch, selected);
                }
                counter.count(begin, batch, selected);
            }
        });
        counter.finish(counts);
        *found = doubts.load();
        return *found > capacity ? too_many() : Status{};
    });
}

Status HostColumnStore::match(Stream &stream, const ColumnTest *tests, std::uint32_t test_count, Tid *tids,
                              std::uint64_t capacity, std::uint64_t *found) const noexcept {
    return guarded([&] {
        const RowTests row_tests(engine_, parts_, tests, test_count);
        const std::shared_ptr<const DeadBitmap> dead = dead_.get();
        std::atomic<std::uint64_t> matches{0};
        const std::uint64_t groups = row_tests.none_passes() ? 0 : packed_groups(parts_.layout.rows);
        engine_.workers(stream).for_pieces(
            groups, groups_a_piece, [&](std::uint64_t first, std::uint64_t last) {
                for (std::uint64_t begin = first; begin < last; begin += batch_groups) {
                    const std::uint64_t batch = std::min(batch_groups, last - begin);
                    std::uint64_t selected[batch_groups];
                    select_live(parts_, dead.get(), begin, batch, selected);
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
