// Making grid files: the first level, and what all levels become in the end.
#include "device/grid/build.h"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <bit>
#include <optional>

#include "device/cub_calls.cuh"
#include "device/kary/live.cuh"
#include "device/warp.cuh"

namespace gpu_engine::device {
namespace {

__global__ void number_kernel(std::uint32_t *numbers, std::uint64_t count) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        numbers[i] = static_cast<std::uint32_t>(i);
    }
}

// Finds where each cell begins, in the ascending cells of all entries.
__global__ void first_directory_kernel(const std::uint32_t *cells, std::uint64_t entries, std::uint64_t words,
                                       std::uint32_t *directory) {
    const std::uint64_t word = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (word >= words) {
        return;
    }
    directory[word] = static_cast<std::uint32_t>(count_below(cells, entries, word));
}

// Puts TIDs into their order, and finds the highest heap block.
__global__ void gather_tids_kernel(const Tid *from, const std::uint32_t *order, std::uint64_t count, Tid *to,
                                   std::uint32_t *last_block) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    std::uint32_t block = 0;
    if (i < count) {
        const Tid tid = from[order[i]];
        to[i] = tid;
        block = static_cast<std::uint32_t>(tid.block_high) << 16 | tid.block_low;
    }
    block = max_of_warp(block);
    if (threadIdx.x % 32 == 0) {
        atomicMax(last_block, block);
    }
}

template <typename ViewKey>
__global__ void narrow_kernel(const std::uint64_t *keys, std::uint64_t count, ViewKey *narrow) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        narrow[i] = static_cast<ViewKey>(keys[i]);
    }
}

// The caller's arrays, where the device reaches them.
struct Given {
    std::optional<Input<char>> keys[max_grid_columns];
    std::optional<Input<std::uint8_t>> nulls;
    std::optional<Input<Tid>> tids;
    const void *key_data[max_grid_columns] = {};
    const std::uint8_t *null_data = nullptr;

    Given(const Call &call, const GridEntries &entries) {
        for (std::uint32_t c = 0; c < entries.columns; ++c) {
            const std::uint64_t bytes = entries.count * entries.key_bytes[c];
            keys[c].emplace(call, static_cast<const char *>(entries.keys[c]), bytes, bytes);
            key_data[c] = keys[c]->piece(0, bytes);
        }
        if (entries.nulls != nullptr) {
            nulls.emplace(call, entries.nulls, entries.count, entries.count);
            null_data = nulls->piece(0, entries.count);
        }
        tids.emplace(call, entries.tids, entries.count, entries.count);
    }
    template <typename Key>
    GivenColumn<Key> column(std::uint32_t c, std::uint64_t count) const {
        return {static_cast<const Key *>(key_data[c]), null_data, c, count};
    }
};

// The first level's scales. A column's scale is of one of the two kinds.
struct FirstScales {
    ColumnScale<std::uint32_t> narrow[max_grid_columns];
    ColumnScale<std::uint64_t> wide[max_grid_columns];
    ScaleShape shapes[max_grid_columns] = {};

    template <typename Key>
    ColumnScale<Key> &scale(std::uint32_t c) {
        if constexpr (sizeof(Key) == 4) {
            return narrow[c];
        } else {
            return wide[c];
        }
    }
};

// Returns the number of cells.
std::uint64_t make_scales(const Call &call, const GridEntries &entries, const GridOptions &options,
                          Given &given, FirstScales *scales) {
    Extent extents[max_grid_columns];
    std::uint32_t most[max_grid_columns];
    for (std::uint32_t c = 0; c < entries.columns; ++c) {
        with_key(entries, c, [&](auto key) {
            using Key = decltype(key);
            const GivenColumn<Key> column = given.column<Key>(c, entries.count);
            extents[c] = column_extent(call, column);
            most[c] = (options.unsplit >> c & 1) != 0 ? 1 : UINT32_MAX;
            if (most[c] > 1 && options.splits == GridSplits::distinct) {
                const Sample<Key> sample = take_sample(call, column, sample_size(entries.count, 1));
                most[c] = usable_slots(count_distinct(call, sample), sample.size, entries.count,
                                       extents[c].lowest < extents[c].highest);
            }
        });
    }
    std::uint32_t slots[max_grid_columns];
    choose_slots(std::max<std::uint64_t>(entries.count / options.bucket, 1), entries.columns, most, slots);
    std::uint64_t cells = 1;
    for (std::uint32_t c = 0; c < entries.columns; ++c) {
        ScaleShape &shape = scales->shapes[c];
        shape.slots = 1;
        if (slots[c] > 1 && extents[c].lowest < extents[c].highest) {
            with_key(entries, c, [&](auto key) {
                using Key = decltype(key);
                const GivenColumn<Key> column = given.column<Key>(c, entries.count);
                const Sample<Key> sample = take_sample(call, column, sample_size(entries.count, slots[c]));
                scales->scale<Key>(c) = make_scale(call, column, sample, extents[c], slots[c]);
                shape.slots = scales->scale<Key>(c).count + 1;
            });
        }
        shape.all_slots = shape.slots + (extents[c].has_null != 0 ? 1 : 0);
        cells *= shape.all_slots;
        if (cells > Grid::max_cells) {
            throw Failure{make_status(StatusCode::invalid_argument, "more cells than a grid can have")};
        }
    }
    return cells;
}

// Brings the entries into the order of the first level's cells, and makes its directory.
Level distribute(const Call &call, const GridEntries &entries, const Given &given, FirstScales &scales,
                 std::uint64_t cells, GridParts *parts) {
    const std::uint64_t count = entries.count;
    Level level;
    level.cells = cells;
    level.words = cells + 1;
    level.directory = call.buffer<std::uint32_t>(level.words);
    {
        const Buffer<std::uint32_t> cell_of = call.buffer<std::uint32_t>(count);
        const Buffer<std::uint32_t> sorted = call.buffer<std::uint32_t>(count);
        const Buffer<std::uint32_t> numbers = call.buffer<std::uint32_t>(count);
        parts->order = call.buffer<std::uint32_t>(count);
        call.fill(cell_of.data(), 0, count * sizeof(std::uint32_t));
        for (std::uint32_t c = 0; c < entries.columns; ++c) {
            if (scales.shapes[c].all_slots > 1) {
                with_key(entries, c, [&](auto key) {
                    using Key = decltype(key);
                    add_slots(call, given.column<Key>(c, count), scales.scale<Key>(c),
                              scales.shapes[c].all_slots, cell_of.data());
                });
            }
        }
        number_kernel<<<blocks_for(count), threads_a_block, 0, call.stream()>>>(numbers.data(), count);
        check_launch("number_kernel");
        with_scratch_memory(call, "DeviceRadixSort::SortPairs", [&](void *scratch, std::size_t &bytes) {
            return cub::DeviceRadixSort::SortPairs(
                scratch, bytes, static_cast<const std::uint32_t *>(cell_of.data()), sorted.data(),
                static_cast<const std::uint32_t *>(numbers.data()), parts->order.data(), count, 0,
                std::max(static_cast<int>(std::bit_width(cells - 1)), 1), call.stream());
        });
        first_directory_kernel<<<blocks_for(level.words), threads_a_block, 0, call.stream()>>>(
            sorted.data(), count, level.words, level.directory.data());
        check_launch("first_directory_kernel");
    }
    call.wait();
    for (std::uint32_t c = 0; c < entries.columns; ++c) {
        parts->keys[c] = call.buffer<char>(count * entries.key_bytes[c]);
        with_key(entries, c, [&](auto key) {
            using Key = decltype(key);
            gather_column(call, given.column<Key>(c, count), parts->order.data(),
                          reinterpret_cast<Key *>(parts->keys[c].data()));
        });
    }
    parts->tids = call.buffer<Tid>(count);
    const Buffer<std::uint32_t> last_block = call.buffer<std::uint32_t>(1);
    call.fill(last_block.data(), 0, sizeof(std::uint32_t));
    gather_tids_kernel<<<blocks_for(count), threads_a_block, 0, call.stream()>>>(
        given.tids->piece(0, count), parts->order.data(), count, parts->tids.data(), last_block.data());
    check_launch("gather_tids_kernel");
    parts->last_block = read_element(call, static_cast<const std::uint32_t *>(last_block.data()));
    return level;
}

// Decides how the scales are searched; as much of them as fits is copied into shared memory.
template <typename ViewKey>
void shape_trees(std::uint32_t columns, FirstScales *scales, std::uint32_t *top_keys) {
    for (std::uint32_t c = 0; c < columns; ++c) {
        scales->shapes[c].height = static_cast<std::uint8_t>(std::bit_width(scales->shapes[c].slots - 1));
    }
    const auto keys_of_all = [&] {
        std::uint32_t keys = 0;
        for (std::uint32_t c = 0; c < columns; ++c) {
            scales->shapes[c].top_begin = keys;
            keys += 1U << scales->shapes[c].height;
        }
        return keys;
    };
    while ((*top_keys = keys_of_all()) * sizeof(ViewKey) > top_bytes) {
        ScaleShape *highest = scales->shapes;
        for (std::uint32_t c = 1; c < columns; ++c) {
            if (scales->shapes[c].height > highest->height) {
                highest = &scales->shapes[c];
            }
        }
        --highest->height;
        ++highest->shift;
    }
}

template <typename ViewKey>
void lay_out(const Call &call, const GridEntries &entries, const GridOptions &options, FirstScales &scales,
             const std::vector<Level> &levels, GridParts *parts, GridView<ViewKey> *view) {
    shape_trees<ViewKey>(entries.columns, &scales, &view->top_keys);
    parts->top = call.buffer<char>(view->top_keys * sizeof(ViewKey));
    auto *top = reinterpret_cast<ViewKey *>(parts->top.data());
    // All places are copied, so those that no tree uses are filled, too.
    call.fill(top, 0, view->top_keys * sizeof(ViewKey));
    for (std::uint32_t c = 0; c < entries.columns; ++c) {
        const ScaleShape &shape = scales.shapes[c];
        parts->scales[c] =
            call.buffer<char>((std::uint64_t(1) << (shape.height + shape.shift)) * sizeof(ViewKey));
        auto *padded = reinterpret_cast<ViewKey *>(parts->scales[c].data());
        with_key(entries, c, [&](auto key) {
            using Key = decltype(key);
            if constexpr (sizeof(Key) <= sizeof(ViewKey)) {
                lay_out_scale(call, scales.scale<Key>(c), shape, padded, top + shape.top_begin);
            }
        });
        view->keys[c] = parts->keys[c].data();
        view->scales[c] = padded;
        view->shapes[c] = shape;
        view->wide |= entries.key_bytes[c] == 8 ? 1U << c : 0U;
    }
    std::uint64_t words = 0;
    std::uint64_t grids = 0;
    std::uint64_t keys = 0;
    for (const Level &level : levels) {
        words += level.words;
        grids += level.grid_count;
        keys += level.scale_keys;
        parts->shape.cells += level.cells;
    }
    parts->directory = call.buffer<std::uint32_t>(words);
    parts->grids = call.buffer<LowerGrid>(grids);
    parts->lower_scales = call.buffer<char>(keys * sizeof(ViewKey));
    auto *lower_scales = reinterpret_cast<ViewKey *>(parts->lower_scales.data());
    words = 0;
    std::uint64_t grid = 0;
    keys = 0;
    for (const Level &level : levels) {
        call.copy(parts->directory.data() + words, static_cast<const std::uint32_t *>(level.directory.data()),
                  level.words);
        call.copy(parts->grids.data() + grid, static_cast<const LowerGrid *>(level.grids.data()),
                  level.grid_count);
        if (level.scale_keys > 0) {
            narrow_kernel<<<blocks_for(level.scale_keys), threads_a_block, 0, call.stream()>>>(
                level.scales.data(), level.scale_keys, lower_scales + keys);
            check_launch("narrow_kernel");
        }
        words += level.words;
        grid += level.grid_count;
        keys += level.scale_keys;
    }
    for (std::uint32_t c = 0; c < entries.columns; ++c) {
        view->top_height = std::max<std::uint32_t>(view->top_height, scales.shapes[c].height);
        view->probe = scales.shapes[c].slots > scales.shapes[view->probe].slots ? c : view->probe;
    }
    view->top = top;
    view->directory = parts->directory.data();
    view->grids = parts->grids.data();
    view->lower_scales = lower_scales;
    view->columns = entries.columns;
    view->max_in_a_cell = max_in_a_cell(options, entries.columns);
    view->overfull = static_cast<std::uint32_t>(std::min<std::uint64_t>(overfull_cells(options), UINT32_MAX));
    view->levels = static_cast<std::uint32_t>(levels.size());
    call.wait();
}

}  // namespace

GridParts build_grid(const Call &call, const GridEntries &entries, const GridOptions &options) {
    GridParts parts;
    parts.columns = entries.columns;
    parts.entries = entries.count;
    for (std::uint32_t c = 0; c < entries.columns; ++c) {
        parts.narrow = parts.narrow && entries.key_bytes[c] == 4;
    }
    FirstScales scales;
    std::vector<Level> levels;
    {
        Given given(call, entries);
        const std::uint64_t cells = make_scales(call, entries, options, given, &scales);
        levels.push_back(distribute(call, entries, given, scales, cells, &parts));
    }
    if (options.hierarchical) {
        while (build_lower_level(call, options, entries, &levels, &parts)) {}
    }
    parts.shape.columns = entries.columns;
    parts.shape.levels = static_cast<std::uint32_t>(levels.size());
    parts.shape.grids = 1;
    for (const Level &level : levels) {
        parts.shape.grids += level.grid_count;
    }
    for (std::uint32_t c = 0; c < entries.columns; ++c) {
        parts.shape.slots[c] = scales.shapes[c].all_slots;
    }
    if (parts.narrow) {
        lay_out(call, entries, options, scales, levels, &parts, &parts.view32);
    } else {
        lay_out(call, entries, options, scales, levels, &parts, &parts.view64);
    }
    return parts;
}

}  // namespace gpu_engine::device
