// Grids below the first level, a level at a time.
#include <algorithm>
#include <vector>

#include "gpu_engine/guard.h"
#include "host/grid/build.h"

namespace gpu_engine::host {
namespace {

// An overfull cell on its way to a grid of its own.
struct Segment {
    std::uint32_t cell;
    std::uint32_t first;
    std::uint32_t count;
    std::uint32_t slots[max_grid_columns];
    // The beginning of its scales among the level's; places enough for them are kept.
    std::uint64_t scale;
    std::uint64_t first_cell;  // in the directory

    std::uint64_t cells(std::uint32_t columns) const noexcept {
        std::uint64_t cells = 1;
        for (std::uint32_t c = 0; c < columns; ++c) {
            cells *= slots[c];
        }
        return cells;
    }
};

// The most keys that a segment's scales can have: the columns' slots, less one each, are at most its cells
// less one.
std::uint64_t scale_places(std::uint32_t count, std::uint32_t bucket) {
    return std::min<std::uint64_t>(count / bucket, std::uint64_t(max_lower_slots) * max_grid_columns);
}

void count_overfull(const GridParts &parts, std::uint64_t first_cell, std::uint64_t last_cell,
                    std::uint64_t *segments, std::uint64_t *entries) {
    for (std::uint64_t cell = first_cell; cell < last_cell; ++cell) {
        const std::uint32_t count = parts.directory[cell + 1] - parts.directory[cell];
        if (count > parts.max_in_a_cell) {
            ++*segments;
            *entries += count;
        }
    }
}

// Chooses the segment's scales. Each column gets one slot when all entries are alike.
void choose_scales(const GridParts &parts, const GridOptions &options, Segment *segment,
                   std::uint64_t *scales) {
    const std::uint64_t count = segment->count;
    const std::uint64_t size = std::min<std::uint64_t>(count, lower_sample);
    const auto position = [&](std::uint64_t i) {
        return segment->first + (size == count ? i : sample_place(i, count));
    };
    std::vector<std::uint64_t> sample[max_grid_columns];
    std::uint64_t lowest[max_grid_columns];
    std::uint64_t highest[max_grid_columns];
    std::uint32_t most[max_grid_columns];
    bool alike = true;
    for (std::uint32_t c = 0; c < parts.columns; ++c) {
        const GridColumn &column = parts.keys[c];
        lowest[c] = UINT64_MAX;
        highest[c] = 0;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t key = column.key(segment->first + i);
            lowest[c] = std::min(lowest[c], key);
            highest[c] = std::max(highest[c], key);
        }
        alike = alike && lowest[c] == highest[c];
    }
    for (std::uint32_t c = 0; c < parts.columns; ++c) {
        segment->slots[c] = 1;
    }
    if (alike) {
        return;
    }
    for (std::uint32_t c = 0; c < parts.columns; ++c) {
        most[c] = max_lower_slots;
        sample[c].resize(size);
        for (std::uint64_t i = 0; i < size; ++i) {
            sample[c][i] = parts.keys[c].key(position(i));
        }
        std::sort(sample[c].begin(), sample[c].end());
        if (options.splits == GridSplits::distinct) {
            std::uint32_t distinct = 1;
            for (std::uint64_t i = 1; i < size; ++i) {
                distinct += sample[c][i] != sample[c][i - 1] ? 1 : 0;
            }
            most[c] = std::min(max_lower_slots, std::max(distinct, lowest[c] < highest[c] ? 2U : 1U));
        }
    }
    std::uint32_t slots[max_grid_columns];
    choose_slots(count / options.bucket, parts.columns, most, slots);
    for (std::uint32_t c = 0; c < parts.columns; ++c) {
        if (slots[c] == 1 || lowest[c] == highest[c]) {
            continue;
        }
        std::uint32_t picked = pick_scale(sample[c].data(), size, lowest[c], slots[c], scales);
        if (picked == 0) {
            std::uint64_t next = UINT64_MAX;
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::uint64_t key = parts.keys[c].key(segment->first + i);
                next = key > lowest[c] ? std::min(next, key) : next;
            }
            scales[picked++] = next;
        }
        segment->slots[c] = picked + 1;
        scales += picked;
    }
}

template <typename Element>
void permute(MemoryBudget &budget, const Buffer<std::uint32_t> &from, Element *elements) {
    Buffer<Element> copy(budget, from.size());
    std::copy_n(elements, from.size(), copy.data());
    for (std::uint64_t i = 0; i < from.size(); ++i) {
        elements[i] = copy[from[i]];
    }
}

// Puts the segment's entries into the order of its cells and fills its part of the directory.
void distribute(MemoryBudget &budget, const Segment &segment, const GridScales &scales, GridParts *parts) {
    Buffer<std::uint32_t> cell_of(budget, segment.count);
    Buffer<std::uint32_t> from(budget, segment.count);
    const std::uint64_t cells = segment.cells(parts->columns);
    std::uint32_t *words = parts->directory.data() + segment.first_cell;
    std::fill_n(words, cells + 1, 0);
    for (std::uint32_t i = 0; i < segment.count; ++i) {
        std::uint64_t cell = 0;
        for (std::uint32_t c = 0; c < parts->columns; ++c) {
            const Scale &scale = scales.columns[c];
            cell = cell * scale.slots + scale.slot_of(parts->keys[c].key(segment.first + i));
        }
        cell_of[i] = static_cast<std::uint32_t>(cell);
        ++words[cell];
    }
    std::uint32_t sum = segment.first;
    for (std::uint64_t cell = 0; cell <= cells; ++cell) {
        const std::uint32_t found = words[cell];
        words[cell] = sum;
        sum += found;
    }
    for (std::uint32_t i = 0; i < segment.count; ++i) {
        from[words[cell_of[i]]++ - segment.first] = i;
    }
    std::copy_backward(words, words + cells, words + cells + 1);
    words[0] = segment.first;
    permute(budget, from, parts->order.data() + segment.first);
    permute(budget, from, parts->tids.data() + segment.first);
    for (std::uint32_t c = 0; c < parts->columns; ++c) {
        if (parts->keys[c].is_wide) {
            permute(budget, from, parts->keys[c].wide.data() + segment.first);
        } else {
            permute(budget, from, parts->keys[c].narrow.data() + segment.first);
        }
    }
}

}  // namespace

void build_lower_level(HostEngine &engine, const Workers &workers, const GridOptions &options,
                       std::uint64_t first_grid, std::uint64_t last_grid, GridParts *parts) {
    const auto for_grids = [&](auto visit) {
        if (last_grid == 0) {
            visit(std::uint64_t(0), parts->cells);
        }
        for (std::uint64_t i = first_grid; i < last_grid; ++i) {
            const LowerGrid &grid = parts->grids[i];
            std::uint64_t cells = 1;
            for (std::uint32_t c = 0; c < parts->columns; ++c) {
                cells *= grid.last_slot[c] + 1U;
            }
            visit(std::uint64_t(grid.first_cell), grid.first_cell + cells);
        }
    };
    std::uint64_t overfull = 0;
    std::uint64_t entries = 0;
    for_grids([&](std::uint64_t first, std::uint64_t last) {
        count_overfull(*parts, first, last, &overfull, &entries);
    });
    if (overfull == 0) {
        return;
    }
    Buffer<Segment> segments(engine.memory(), overfull);
    std::uint64_t found = 0;
    std::uint64_t places = 0;
    for_grids([&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t cell = first; cell < last; ++cell) {
            const std::uint32_t begin = parts->directory[cell];
            const std::uint32_t count = parts->directory[cell + 1] - begin;
            if (count > parts->max_in_a_cell) {
                segments[found++] = {static_cast<std::uint32_t>(cell), begin, count, {}, places, 0};
                places += scale_places(count, options.bucket);
            }
        }
    });
    Buffer<std::uint64_t> scales(engine.memory(), places);
    workers.for_pieces(overfull, 1, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t i = first; i < last; ++i) {
            choose_scales(*parts, options, &segments[i], scales.data() + segments[i].scale);
        }
    });

    // Segments whose entries are all alike drop out; the others get their places.
    const std::uint64_t words = parts->cells + parts->grid_count + 1;
    std::uint64_t used_scales = 0;
    if (parts->grid_count > 0) {
        const LowerGrid &last = parts->grids[parts->grid_count - 1];
        used_scales = last.first_scale;
        for (std::uint32_t c = 0; c < parts->columns; ++c) {
            used_scales += last.last_slot[c];
        }
    }
    std::uint64_t kept = 0;
    std::uint64_t cells = 0;
    std::uint64_t kept_scales = 0;
    for (std::uint64_t i = 0; i < overfull; ++i) {
        Segment segment = segments[i];
        const std::uint64_t own_cells = segment.cells(parts->columns);
        if (own_cells == 1) {
            continue;
        }
        segment.first_cell = words + cells + kept;
        cells += own_cells;
        for (std::uint32_t c = 0; c < parts->columns; ++c) {
            kept_scales += segment.slots[c] - 1;
        }
        segments[kept++] = segment;
    }
    if (kept == 0) {
        return;
    }
    if (words + cells + kept > Grid::max_cells) {
        throw Failure{make_status(StatusCode::invalid_argument, "more cells than a grid can have")};
    }
    grow(engine.memory(), parts->directory, words, cells + kept);
    grow(engine.memory(), parts->grids, parts->grid_count, kept);
    grow(engine.memory(), parts->lower_scales, used_scales, kept_scales);
    for (std::uint64_t i = 0; i < kept; ++i) {
        const Segment &segment = segments[i];
        LowerGrid &grid = parts->grids[parts->grid_count + i];
        grid = {};
        grid.first = segment.first;
        grid.first_cell = static_cast<std::uint32_t>(segment.first_cell);
        grid.first_scale = static_cast<std::uint32_t>(used_scales);
        std::uint64_t at = segment.scale;
        for (std::uint32_t c = 0; c < parts->columns; ++c) {
            grid.last_slot[c] = static_cast<std::uint8_t>(segment.slots[c] - 1);
            std::copy_n(scales.data() + at, grid.last_slot[c], parts->lower_scales.data() + used_scales);
            at += grid.last_slot[c];
            used_scales += grid.last_slot[c];
        }
        parts->directory[segment.cell] = has_grid | static_cast<std::uint32_t>(parts->grid_count + i);
    }
    const std::uint64_t before = parts->grid_count;
    parts->grid_count += kept;
    parts->cells += cells;
    workers.for_pieces(kept, 1, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t i = first; i < last; ++i) {
            distribute(engine.memory(), segments[i], parts->lower(static_cast<std::uint32_t>(before + i)),
                       parts);
        }
    });
}

}  // namespace gpu_engine::host
