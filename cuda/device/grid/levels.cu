// Grids below the first level, a level at a time, for all its overfull cells together.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include <bit>

#include "device/grid/build.h"
#include "device/cub_calls.cuh"
#include "device/kary/live.cuh"

namespace gpu_engine::device {
namespace {

// Says whether word i of a level is that of an overfull cell. The word behind a grid's last cell belongs to
// no cell.
struct IsOverfull {
    const std::uint32_t *directory;
    std::uint32_t words;
    std::uint32_t first_word;
    const LowerGrid *grids;
    std::uint32_t grid_count;
    std::uint32_t most;

    __device__ bool operator()(std::uint32_t i) const {
        if (i + 1 >= words || directory[i + 1] - directory[i] <= most) {
            return false;
        }
        std::uint32_t low = 0;
        std::uint32_t high = grid_count;
        while (low < high) {
            const std::uint32_t middle = (low + high) / 2;
            if (grids[middle].first_cell < first_word + i + 1) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low == grid_count || grids[low].first_cell != first_word + i + 1;
    }
};

// `words` are relative to the level here.
__global__ void make_segments_kernel(const std::uint32_t *directory, const std::uint32_t *words,
                                     std::uint32_t count, std::uint32_t *first, std::uint32_t *sizes) {
    const std::uint32_t s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < count) {
        first[s] = directory[words[s]];
        sizes[s] = directory[words[s] + 1] - first[s];
    } else if (s == count) {
        sizes[s] = 0;
    }
}

__global__ void find_owners_kernel(const std::uint32_t *begins, std::uint32_t count, std::uint32_t entries,
                                   std::uint32_t *owner) {
    __shared__ std::uint32_t bounds[2];
    const std::uint32_t first = blockIdx.x * blockDim.x;
    if (threadIdx.x < 2) {
        bounds[threadIdx.x] =
            range_of(begins, 0U, count - 1, threadIdx.x == 0 ? first : min(first + blockDim.x, entries) - 1);
    }
    __syncthreads();
    const std::uint32_t i = first + threadIdx.x;
    if (i < entries) {
        owner[i] = range_of(begins, bounds[0], bounds[1], i);
    }
}

Segments make_segments(const Call &call, const Level &level, Buffer<std::uint32_t> words,
                       std::uint64_t count) {
    Segments result;
    result.count = count;
    result.words = std::move(words);
    result.first = call.buffer<std::uint32_t>(count);
    result.begins = call.buffer<std::uint32_t>(count + 1);
    const auto number = static_cast<std::uint32_t>(count);
    make_segments_kernel<<<blocks_for(count + 1), threads_a_block, 0, call.stream()>>>(
        level.directory.data(), result.words.data(), number, result.first.data(), result.begins.data());
    check_launch("make_segments_kernel");
    exclusive_sums(call, static_cast<const std::uint32_t *>(result.begins.data()), result.begins.data(),
                   count + 1);
    result.entries = read_element(call, static_cast<const std::uint32_t *>(result.begins.data() + count));
    result.owner = call.buffer<std::uint32_t>(result.entries);
    find_owners_kernel<<<blocks_for(result.entries), threads_a_block, 0, call.stream()>>>(
        result.begins.data(), number, static_cast<std::uint32_t>(result.entries), result.owner.data());
    check_launch("find_owners_kernel");
    return result;
}

__global__ void mark_different_kernel(const unsigned long long *lowest, const unsigned long long *highest,
                                      std::uint32_t columns, std::uint32_t count, std::uint8_t *different) {
    const std::uint32_t s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < count) {
        bool any = false;
        for (std::uint32_t c = 0; c < columns; ++c) {
            any = any || lowest[s * columns + c] != highest[s * columns + c];
        }
        different[s] = any ? 1 : 0;
    }
}

__global__ void choose_slots_kernel(const std::uint32_t *begins, std::uint32_t count, std::uint32_t columns,
                                    std::uint32_t bucket, bool distinct, const std::uint32_t *most,
                                    std::uint32_t *slots, std::uint64_t *places) {
    const std::uint32_t s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s > count) {
        return;
    }
    if (s == count) {
        places[s] = 0;
        return;
    }
    const std::uint32_t cells = (begins[s + 1] - begins[s]) / bucket;
    std::uint32_t own_most[max_grid_columns];
    std::uint32_t own_slots[max_grid_columns];
    for (std::uint32_t c = 0; c < columns; ++c) {
        own_most[c] = distinct ? most[s * columns + c] : max_lower_slots;
    }
    choose_slots(cells, columns, own_most, own_slots);
    // The columns' slots, less one each, are at most the cells less one.
    std::uint64_t keys = 0;
    for (std::uint32_t c = 0; c < columns; ++c) {
        slots[s * columns + c] = own_slots[c];
        keys += own_slots[c] - 1;
    }
    places[s] = keys;
}

// Measures what each segment's grid takes: words of the directory, and keys of scales.
__global__ void measure_grids_kernel(const std::uint32_t *slots, std::uint32_t count, std::uint32_t columns,
                                     std::uint64_t *words, std::uint64_t *keys) {
    const std::uint32_t s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s > count) {
        return;
    }
    std::uint64_t own_words = 0;
    std::uint64_t own_keys = 0;
    if (s < count) {
        own_words = 1;
        for (std::uint32_t c = 0; c < columns; ++c) {
            own_words *= slots[s * columns + c];
            own_keys += slots[s * columns + c] - 1;
        }
        own_words += 1;
    }
    words[s] = own_words;
    keys[s] = own_keys;
}

struct NewGrids {
    std::uint32_t count;
    std::uint32_t columns;
    std::uint32_t first_word;  // first word of the level
    std::uint32_t first_scale;
    std::uint32_t first_grid;
    const std::uint32_t *words;  // words of the level above
    const std::uint32_t *first;
    const std::uint32_t *slots;
    const std::uint64_t *word_at;
    const std::uint64_t *key_at;
    const std::uint64_t *scale_at;
    const std::uint64_t *scales;
};

__global__ void write_grids_kernel(const NewGrids made, LowerGrid *grids, std::uint64_t *scales,
                                   std::uint32_t *directory_above) {
    const std::uint32_t s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= made.count) {
        return;
    }
    LowerGrid grid = {};
    grid.first = made.first[s];
    grid.first_cell = made.first_word + static_cast<std::uint32_t>(made.word_at[s]);
    grid.first_scale = made.first_scale + static_cast<std::uint32_t>(made.key_at[s]);
    for (std::uint32_t c = 0; c < made.columns; ++c) {
        grid.last_slot[c] = static_cast<std::uint8_t>(made.slots[s * made.columns + c] - 1);
    }
    grids[s] = grid;
    for (std::uint64_t from = made.key_at[s]; from < made.key_at[s + 1]; ++from) {
        scales[from] = made.scales[made.scale_at[s] + (from - made.key_at[s])];
    }
    directory_above[made.words[s]] = has_grid | (made.first_grid + s);
}

// Turns cells within grids into words of the level, and notes the entries' present positions.
__global__ void place_cells_kernel(const std::uint32_t *owner, const std::uint32_t *first,
                                   const std::uint32_t *begins, const std::uint64_t *word_at,
                                   std::uint32_t entries, std::uint32_t *cells, std::uint32_t *positions) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < entries) {
        const std::uint32_t s = owner[i];
        cells[i] += static_cast<std::uint32_t>(word_at[s]);
        positions[i] = first[s] + (i - begins[s]);
    }
}

__global__ void write_directory_kernel(const std::uint32_t *cells, std::uint32_t entries,
                                       const std::uint64_t *word_at, const std::uint32_t *first,
                                       const std::uint32_t *begins, std::uint32_t count, std::uint32_t words,
                                       std::uint32_t *directory) {
    const std::uint32_t word = blockIdx.x * blockDim.x + threadIdx.x;
    if (word >= words) {
        return;
    }
    const std::uint32_t s = range_of(word_at, 0U, count - 1, word);
    directory[word] = first[s] + (count_below(cells, entries, word) - begins[s]);
}

template <typename Element>
__global__ void take_kernel(const std::uint32_t *from, std::uint64_t count, const Element *elements,
                            Element *taken) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        taken[i] = elements[from[i]];
    }
}
template <typename Element>
__global__ void put_kernel(const std::uint32_t *to, std::uint64_t count, const Element *taken,
                           Element *elements) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        elements[to[i]] = taken[i];
    }
}

// Sets elements[to[i]] to what elements[from[i]] was before.
template <typename Element>
void permute(const Call &call, const std::uint32_t *from, const std::uint32_t *to, std::uint64_t count,
             Element *elements) {
    const Buffer<Element> taken = call.buffer<Element>(count);
    take_kernel<<<blocks_for(count), threads_a_block, 0, call.stream()>>>(
        from, count, static_cast<const Element *>(elements), taken.data());
    check_launch("take_kernel");
    put_kernel<<<blocks_for(count), threads_a_block, 0, call.stream()>>>(
        to, count, static_cast<const Element *>(taken.data()), elements);
    check_launch("put_kernel");
}

// Finds the overfull cells of the last level, as words of that level.
std::uint64_t find_overfull(const Call &call, const Level &level, std::uint32_t most, std::uint64_t entries,
                            Buffer<std::uint32_t> *words) {
    *words = call.buffer<std::uint32_t>(entries / most + 1);
    const Buffer<std::uint32_t> found = call.buffer<std::uint32_t>(1);
    const IsOverfull is_overfull = {level.directory.data(),
                                    static_cast<std::uint32_t>(level.words),
                                    static_cast<std::uint32_t>(level.first_word),
                                    level.grids.data(),
                                    static_cast<std::uint32_t>(level.grid_count),
                                    most};
    with_scratch_memory(call, "DeviceSelect::If", [&](void *scratch, std::size_t &bytes) {
        return cub::DeviceSelect::If(scratch, bytes, thrust::counting_iterator<std::uint32_t>(0),
                                     words->data(), found.data(), level.words, is_overfull, call.stream());
    });
    return read_element(call, static_cast<const std::uint32_t *>(found.data()));
}

template <typename Key>
const Key *column_keys(const GridParts &parts, std::uint32_t column) {
    return reinterpret_cast<const Key *>(parts.keys[column].data());
}

void find_extents(const Call &call, const GridEntries &entries, const GridParts &parts,
                  const Segments &segments, SegmentColumns *made) {
    const std::uint64_t places = segments.count * parts.columns;
    made->lowest = call.buffer<unsigned long long>(places);
    made->highest = call.buffer<unsigned long long>(places);
    call.fill(made->lowest.data(), 0xff, places * sizeof(unsigned long long));
    call.fill(made->highest.data(), 0, places * sizeof(unsigned long long));
    for (std::uint32_t c = 0; c < parts.columns; ++c) {
        with_key(entries, c, [&](auto key) {
            add_extents(call, segments, parts.columns, c, column_keys<decltype(key)>(parts, c), made);
        });
    }
}

// Finds the overfull cells whose entries aren't all alike, and their columns' extents.
Segments find_segments(const Call &call, const GridEntries &entries, const GridParts &parts,
                       const Level &level, std::uint32_t most, SegmentColumns *made) {
    Buffer<std::uint32_t> words;
    const std::uint64_t overfull = find_overfull(call, level, most, parts.entries, &words);
    if (overfull == 0) {
        return {};
    }
    Segments segments = make_segments(call, level, std::move(words), overfull);
    find_extents(call, entries, parts, segments, made);
    const Buffer<std::uint8_t> different = call.buffer<std::uint8_t>(overfull);
    Buffer<std::uint32_t> kept_words = call.buffer<std::uint32_t>(overfull);
    const Buffer<std::uint32_t> found = call.buffer<std::uint32_t>(1);
    mark_different_kernel<<<blocks_for(overfull), threads_a_block, 0, call.stream()>>>(
        made->lowest.data(), made->highest.data(), parts.columns, static_cast<std::uint32_t>(overfull),
        different.data());
    check_launch("mark_different_kernel");
    with_scratch_memory(call, "DeviceSelect::Flagged", [&](void *scratch, std::size_t &bytes) {
        return cub::DeviceSelect::Flagged(scratch, bytes, segments.words.data(), different.data(),
                                          kept_words.data(), found.data(), overfull, call.stream());
    });
    const std::uint64_t kept = read_element(call, static_cast<const std::uint32_t *>(found.data()));
    if (kept == 0) {
        return {};
    }
    if (kept < overfull) {
        segments = {};
        segments = make_segments(call, level, std::move(kept_words), kept);
        find_extents(call, entries, parts, segments, made);
    }
    return segments;
}

void make_scales(const Call &call, const GridOptions &options, const GridEntries &entries,
                 const GridParts &parts, const Segments &segments, SegmentColumns *made) {
    const std::uint64_t places = segments.count * parts.columns;
    const bool distinct = options.splits == GridSplits::distinct;
    made->slots = call.buffer<std::uint32_t>(places);
    if (distinct) {
        made->most = call.buffer<std::uint32_t>(places);
        for (std::uint32_t c = 0; c < parts.columns; ++c) {
            with_key(entries, c, [&](auto key) {
                find_distinct(call, segments, parts.columns, c, column_keys<decltype(key)>(parts, c), made);
            });
        }
    }
    made->scale_at = call.buffer<std::uint64_t>(segments.count + 1);
    choose_slots_kernel<<<blocks_for(segments.count + 1), threads_a_block, 0, call.stream()>>>(
        segments.begins.data(), static_cast<std::uint32_t>(segments.count), parts.columns, options.bucket,
        distinct, made->most.data(), made->slots.data(), made->scale_at.data());
    check_launch("choose_slots_kernel");
    exclusive_sums(call, static_cast<const std::uint64_t *>(made->scale_at.data()), made->scale_at.data(),
                   segments.count + 1);
    made->scales = call.buffer<std::uint64_t>(
        read_element(call, static_cast<const std::uint64_t *>(made->scale_at.data() + segments.count)));
    for (std::uint32_t c = 0; c < parts.columns; ++c) {
        with_key(entries, c, [&](auto key) {
            make_lower_scales(call, segments, parts.columns, c, column_keys<decltype(key)>(parts, c), made);
        });
    }
    call.wait();
}

// Puts the segments' entries into the order of the new cells, and fills the directory.
void distribute(const Call &call, const GridEntries &entries, const Segments &segments,
                const SegmentColumns &made, const Buffer<std::uint64_t> &word_at, Level *level,
                GridParts *parts) {
    const std::uint64_t count = segments.entries;
    const auto number = static_cast<std::uint32_t>(count);
    const Buffer<std::uint32_t> from = call.buffer<std::uint32_t>(count);
    const Buffer<std::uint32_t> to = call.buffer<std::uint32_t>(count);
    {
        const Buffer<std::uint32_t> cells = call.buffer<std::uint32_t>(count);
        const Buffer<std::uint32_t> sorted = call.buffer<std::uint32_t>(count);
        call.fill(cells.data(), 0, count * sizeof(std::uint32_t));
        for (std::uint32_t c = 0; c < parts->columns; ++c) {
            with_key(entries, c, [&](auto key) {
                add_lower_slots(call, segments, parts->columns, c, column_keys<decltype(key)>(*parts, c),
                                made, cells.data());
            });
        }
        place_cells_kernel<<<blocks_for(count), threads_a_block, 0, call.stream()>>>(
            segments.owner.data(), segments.first.data(), segments.begins.data(), word_at.data(), number,
            cells.data(), to.data());
        check_launch("place_cells_kernel");
        with_scratch_memory(call, "DeviceRadixSort::SortPairs", [&](void *scratch, std::size_t &bytes) {
            return cub::DeviceRadixSort::SortPairs(
                scratch, bytes, static_cast<const std::uint32_t *>(cells.data()), sorted.data(),
                static_cast<const std::uint32_t *>(to.data()), from.data(), count, 0,
                static_cast<int>(std::bit_width(level->words)), call.stream());
        });
        write_directory_kernel<<<blocks_for(level->words), threads_a_block, 0, call.stream()>>>(
            sorted.data(), number, word_at.data(), segments.first.data(), segments.begins.data(),
            static_cast<std::uint32_t>(segments.count), static_cast<std::uint32_t>(level->words),
            level->directory.data());
        check_launch("write_directory_kernel");
    }
    call.wait();
    permute(call, from.data(), to.data(), count, parts->order.data());
    permute(call, from.data(), to.data(), count, parts->tids.data());
    for (std::uint32_t c = 0; c < parts->columns; ++c) {
        with_key(entries, c, [&](auto key) {
            permute(call, from.data(), to.data(), count,
                    reinterpret_cast<decltype(key) *>(parts->keys[c].data()));
        });
    }
    call.wait();
}

}  // namespace

bool build_lower_level(const Call &call, const GridOptions &options, const GridEntries &entries,
                       std::vector<Level> *levels, GridParts *parts) {
    Level &above = levels->back();
    SegmentColumns made;
    const std::uint32_t most = max_in_a_cell(options, parts->columns);
    const Segments segments = find_segments(call, entries, *parts, above, most, &made);
    if (segments.count == 0) {
        return false;
    }
    make_scales(call, options, entries, *parts, segments, &made);

    const Buffer<std::uint64_t> word_at = call.buffer<std::uint64_t>(segments.count + 1);
    const Buffer<std::uint64_t> key_at = call.buffer<std::uint64_t>(segments.count + 1);
    const auto count = static_cast<std::uint32_t>(segments.count);
    measure_grids_kernel<<<blocks_for(segments.count + 1), threads_a_block, 0, call.stream()>>>(
        made.slots.data(), count, parts->columns, word_at.data(), key_at.data());
    check_launch("measure_grids_kernel");
    exclusive_sums(call, static_cast<const std::uint64_t *>(word_at.data()), word_at.data(),
                   segments.count + 1);
    exclusive_sums(call, static_cast<const std::uint64_t *>(key_at.data()), key_at.data(),
                   segments.count + 1);
    Level level;
    level.first_word = above.first_word + above.words;
    level.grid_count = segments.count;
    level.words = read_element(call, static_cast<const std::uint64_t *>(word_at.data() + segments.count));
    level.scale_keys = read_element(call, static_cast<const std::uint64_t *>(key_at.data() + segments.count));
    level.cells = level.words - level.grid_count;
    if (level.first_word + level.words > Grid::max_cells) {
        throw Failure{make_status(StatusCode::invalid_argument, "more cells than a grid can have")};
    }
    std::uint64_t first_scale = 0;
    std::uint64_t first_grid = 0;
    for (const Level &upper : *levels) {
        first_scale += upper.scale_keys;
        first_grid += upper.grid_count;
    }
    level.directory = call.buffer<std::uint32_t>(level.words);
    level.grids = call.buffer<LowerGrid>(level.grid_count);
    level.scales = call.buffer<std::uint64_t>(level.scale_keys);
    const NewGrids grids = {count,
                            parts->columns,
                            static_cast<std::uint32_t>(level.first_word),
                            static_cast<std::uint32_t>(first_scale),
                            static_cast<std::uint32_t>(first_grid),
                            segments.words.data(),
                            segments.first.data(),
                            made.slots.data(),
                            word_at.data(),
                            key_at.data(),
                            made.scale_at.data(),
                            made.scales.data()};
    write_grids_kernel<<<blocks_for(segments.count), threads_a_block, 0, call.stream()>>>(
        grids, level.grids.data(), level.scales.data(), above.directory.data());
    check_launch("write_grids_kernel");
    distribute(call, entries, segments, made, word_at, &level, parts);
    levels->push_back(std::move(level));
    return true;
}

}  // namespace gpu_engine::device
