#include "host/grid/build.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>

#include "gpu_engine/guard.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t entries_a_piece = 1 << 15;
constexpr std::uint64_t cells_a_piece = 1 << 12;

// A column as it was given.
struct Given {
    const void *keys;
    const std::uint8_t *nulls;
    std::uint32_t column;
    bool wide;

    bool is_null(std::uint64_t i) const noexcept { return nulls != nullptr && (nulls[i] >> column & 1) != 0; }
    std::uint64_t key(std::uint64_t i) const noexcept {
        return wide ? static_cast<const std::uint64_t *>(keys)[i]
                    : static_cast<const std::uint32_t *>(keys)[i];
    }
};

struct Extent {
    std::uint64_t lowest = UINT64_MAX;
    std::uint64_t highest = 0;
    bool has_null = false;
};

Extent extent_of(const Workers &workers, const Given &given, std::uint64_t count) {
    Extent result;
    std::mutex mutex;
    workers.for_pieces(count, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        Extent own;
        for (std::uint64_t i = first; i < last; ++i) {
            if (given.is_null(i)) {
                own.has_null = true;
                continue;
            }
            const std::uint64_t key = given.key(i);
            own.lowest = std::min(own.lowest, key);
            own.highest = std::max(own.highest, key);
        }
        const std::lock_guard lock(mutex);
        result.lowest = std::min(result.lowest, own.lowest);
        result.highest = std::max(result.highest, own.highest);
        result.has_null = result.has_null || own.has_null;
    });
    return result;
}

// Returns the smallest key above `lowest`; there must be one.
std::uint64_t next_above(const Workers &workers, const Given &given, std::uint64_t count,
                         std::uint64_t lowest) {
    std::uint64_t result = UINT64_MAX;
    std::mutex mutex;
    workers.for_pieces(count, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        std::uint64_t own = UINT64_MAX;
        for (std::uint64_t i = first; i < last; ++i) {
            const std::uint64_t key = given.key(i);
            if (key > lowest && !given.is_null(i)) {
                own = std::min(own, key);
            }
        }
        const std::lock_guard lock(mutex);
        result = std::min(result, own);
    });
    return result;
}

struct Sample {
    Buffer<std::uint64_t> keys;  // ascending
    std::uint64_t size;
};

Sample sample_of(HostEngine &engine, const Workers &workers, const Given &given, std::uint64_t count,
                 std::uint64_t size) {
    Sample sample = {Buffer<std::uint64_t>(engine.memory(), size), 0};
    std::atomic<std::uint64_t> filled = 0;
    workers.for_pieces(size, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        std::uint64_t present = 0;
        for (std::uint64_t i = first; i < last; ++i) {
            present += given.is_null(size == count ? i : sample_place(i, count)) ? 0 : 1;
        }
        std::uint64_t place = filled.fetch_add(present);
        // The caller may have changed NULLs since they were counted. So keys are not written beyond these
        // places, and places that stay empty are filled.
        const std::uint64_t end = place + present;
        for (std::uint64_t i = first; i < last && place < end; ++i) {
            const std::uint64_t at = size == count ? i : sample_place(i, count);
            if (!given.is_null(at)) {
                sample.keys[place++] = given.key(at);
            }
        }
        std::fill(sample.keys.data() + place, sample.keys.data() + end, 0);
    });
    sample.size = filled;
    workers.sort(sample.keys.data(), sample.keys.data() + sample.size, std::less<>());
    return sample;
}

std::uint32_t distinct_of(const Sample &sample) {
    std::uint32_t distinct = 0;
    for (std::uint64_t i = 0; i < sample.size; ++i) {
        distinct += i == 0 || sample.keys[i] != sample.keys[i - 1] ? 1 : 0;
    }
    return distinct;
}

// Turns the numbers of cells' entries into positions. `words` has one place more than there are cells.
void sum_cells(std::uint32_t *words, std::uint64_t cells, std::uint32_t first) {
    std::uint32_t sum = first;
    for (std::uint64_t cell = 0; cell < cells; ++cell) {
        const std::uint32_t found = words[cell];
        words[cell] = sum;
        sum += found;
    }
    words[cells] = sum;
}

}  // namespace

void build_first_level(HostEngine &engine, const Workers &workers, const GridEntries &entries,
                       const GridOptions &options, GridParts *parts) {
    const std::uint64_t count = entries.count;
    const std::uint64_t wanted_cells = std::max<std::uint64_t>(count / options.bucket, 1);
    Given given[max_grid_columns];
    Extent extents[max_grid_columns];
    std::uint32_t most[max_grid_columns];
    for (std::uint32_t c = 0; c < parts->columns; ++c) {
        given[c] = {entries.keys[c], entries.nulls, c, parts->keys[c].is_wide};
        extents[c] = extent_of(workers, given[c], count);
        parts->null_columns |= extents[c].has_null ? 1U << c : 0U;
        most[c] = (options.unsplit >> c & 1) != 0 ? 1 : UINT32_MAX;
        if (most[c] > 1 && options.splits == GridSplits::distinct) {
            const Sample sample = sample_of(engine, workers, given[c], count, sample_size(count, 1));
            most[c] =
                usable_slots(distinct_of(sample), sample.size, count, extents[c].lowest < extents[c].highest);
        }
    }
    std::uint32_t slots[max_grid_columns];
    choose_slots(wanted_cells, parts->columns, most, slots);
    std::uint64_t cells = 1;
    for (std::uint32_t c = 0; c < parts->columns; ++c) {
        parts->slots[c] = 1;
        if (slots[c] > 1 && extents[c].lowest < extents[c].highest) {
            const Sample sample = sample_of(engine, workers, given[c], count, sample_size(count, slots[c]));
            parts->scales[c] = Buffer<std::uint64_t>(engine.memory(), slots[c] - 1);
            std::uint32_t picked = pick_scale(sample.keys.data(), sample.size, extents[c].lowest, slots[c],
                                              parts->scales[c].data());
            if (picked == 0) {
                parts->scales[c][picked++] = next_above(workers, given[c], count, extents[c].lowest);
            }
            parts->slots[c] = picked + 1;
        }
        cells *= parts->slots[c] + (extents[c].has_null ? 1 : 0);
        if (cells > Grid::max_cells) {
            throw Failure{make_status(StatusCode::invalid_argument, "more cells than a grid can have")};
        }
    }

    Buffer<std::uint32_t> cell_of(engine.memory(), count);
    parts->cells = cells;
    parts->directory = Buffer<std::uint32_t>(engine.memory(), cells + 1);
    std::uint32_t *words = parts->directory.data();
    std::fill_n(words, cells + 1, 0);
    const GridScales scales = parts->first_level();
    workers.for_pieces(count, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t i = first; i < last; ++i) {
            std::uint64_t cell = 0;
            for (std::uint32_t c = 0; c < parts->columns; ++c) {
                const Scale &scale = scales.columns[c];
                // A column may have gained NULLs since it was searched for them.
                const bool is_null = scale.has_null && given[c].is_null(i);
                cell = cell * scale.all_slots() + (is_null ? scale.slots : scale.slot_of(given[c].key(i)));
            }
            cell_of[i] = static_cast<std::uint32_t>(cell);
            std::atomic_ref(words[cell]).fetch_add(1, std::memory_order_relaxed);
        }
    });
    sum_cells(words, cells, 0);
    parts->order = Buffer<std::uint32_t>(engine.memory(), count);
    workers.for_pieces(count, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t i = first; i < last; ++i) {
            const std::uint32_t place =
                std::atomic_ref(words[cell_of[i]]).fetch_add(1, std::memory_order_relaxed);
            parts->order[place] = static_cast<std::uint32_t>(i);
        }
    });
    // Each cell's word has been moved on to its cell's end, which is where the next cell begins.
    std::copy_backward(words, words + cells, words + cells + 1);
    words[0] = 0;
    workers.for_pieces(cells, cells_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t cell = first; cell < last; ++cell) {
            std::sort(parts->order.data() + words[cell], parts->order.data() + words[cell + 1]);
        }
    });
    cell_of = {};

    parts->tids = Buffer<Tid>(engine.memory(), count);
    for (std::uint32_t c = 0; c < parts->columns; ++c) {
        GridColumn &column = parts->keys[c];
        if (column.is_wide) {
            column.wide = Buffer<std::uint64_t>(engine.memory(), count);
        } else {
            column.narrow = Buffer<std::uint32_t>(engine.memory(), count);
        }
    }
    workers.for_pieces(count, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t i = first; i < last; ++i) {
            const std::uint32_t from = parts->order[i];
            parts->tids[i] = entries.tids[from];
            for (std::uint32_t c = 0; c < parts->columns; ++c) {
                const std::uint64_t key = given[c].is_null(from) ? 0 : given[c].key(from);
                if (given[c].wide) {
                    parts->keys[c].wide[i] = key;
                } else {
                    parts->keys[c].narrow[i] = static_cast<std::uint32_t>(key);
                }
            }
        }
    });
}

Status HostGrid::build(Stream &stream, const GridEntries &entries, const GridOptions &options,
                       std::unique_ptr<GridFile> *file) noexcept {
    return guarded([&] {
        require_ok(check_grid(entries, options));
        const Workers workers = engine_.workers(stream);
        GridParts parts;
        parts.columns = entries.columns;
        parts.entries = entries.count;
        parts.max_in_a_cell = max_in_a_cell(options, entries.columns);
        parts.overfull = overfull_cells(options);
        for (std::uint32_t c = 0; c < entries.columns; ++c) {
            parts.keys[c].is_wide = entries.key_bytes[c] == 8;
        }
        if (entries.count > 0) {
            build_first_level(engine_, workers, entries, options, &parts);
            std::uint64_t first_grid = 0;
            for (;;) {
                const std::uint64_t last_grid = parts.grid_count;
                build_lower_level(engine_, workers, options, first_grid, last_grid, &parts);
                if (parts.grid_count == last_grid) {
                    break;
                }
                ++parts.levels;
                first_grid = last_grid;
            }
        }
        *file = std::make_unique<HostGridFile>(engine_, std::move(parts));
        return Status{};
    });
}

}  // namespace gpu_engine::host
