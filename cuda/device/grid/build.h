// The steps of making a grid file on a device. Those that look at keys are templates of a column's key;
// scales are kept as 64-bit keys until the file is complete.
#pragma once

#include <cstdint>

#include "device/grid/file.h"

namespace gpu_engine::device {

// ---- Columns, first level -----------------------------------------------------------------------

// A column as it was given, on the device.
template <typename Key>
struct GivenColumn {
    const Key *keys;
    const std::uint8_t *nulls;  // null: no entry is NULL in any column
    std::uint32_t column;
    std::uint64_t count;
};

struct Extent {
    unsigned long long lowest;
    unsigned long long highest;
    std::uint32_t has_null;
};
// Finds a column's least and greatest key. Where all keys are NULL, `lowest` is above `highest`. Waits for
// the device.
template <typename Key>
Extent column_extent(const Call &call, const GivenColumn<Key> &given);

// Sorts the keys that aren't NULL: all of them, or a sample.
template <typename Key>
struct Sample {
    Buffer<Key> keys;
    std::uint64_t size = 0;
};
template <typename Key>
Sample<Key> take_sample(const Call &call, const GivenColumn<Key> &given, std::uint64_t size);
// Counts the distinct keys of a sample. Waits for the device.
template <typename Key>
std::uint32_t count_distinct(const Call &call, const Sample<Key> &sample);

// Chooses the lowest keys of slots 1, 2, ...: at least one, at most `slots` - 1. The column's keys must
// differ, and `slots` must be at least 2. Waits for the device.
template <typename Key>
struct ColumnScale {
    Buffer<Key> lowest;
    std::uint32_t count = 0;
};
template <typename Key>
ColumnScale<Key> make_scale(const Call &call, const GivenColumn<Key> &given, const Sample<Key> &sample,
                            const Extent &extent, std::uint32_t slots);

// Sets cells[i] = cells[i] x all_slots + the slot of entry i. Where NULLs have a slot `all_slots` is one more
// than the scale's.
template <typename Key>
void add_slots(const Call &call, const GivenColumn<Key> &given, const ColumnScale<Key> &scale,
               std::uint32_t all_slots, std::uint32_t *cells);

// Sets to[i] to the key of entry order[i], or to 0 where it is NULL.
template <typename Key>
void gather_column(const Call &call, const GivenColumn<Key> &given, const std::uint32_t *order, Key *to);

// Brings the scale into the form that views have: padded for searches, and with its tree.
template <typename Key, typename ViewKey>
void lay_out_scale(const Call &call, const ColumnScale<Key> &scale, const ScaleShape &shape, ViewKey *padded,
                   ViewKey *tree);

// ---- Lower levels -------------------------------------------------------------------------------

// The overfull cells of one level, `count` of them. Their entries are taken as one sequence: those of segment
// s are begins[s] to begins[s + 1] - 1 of the sequence, and begin at position first[s].
struct Segments {
    std::uint64_t count = 0;
    std::uint64_t entries = 0;
    Buffer<std::uint32_t> words;   // words of the directory, of all levels
    Buffer<std::uint32_t> first;   // position
    Buffer<std::uint32_t> begins;  // count + 1
    Buffer<std::uint32_t> owner;   // for each entry of the sequence, its segment
};

// The values kept for each segment and column, segment by segment.
struct SegmentColumns {
    Buffer<unsigned long long> lowest;
    Buffer<unsigned long long> highest;
    Buffer<std::uint32_t> most;      // slots that the column can use
    Buffer<std::uint32_t> slots;     // wanted first, then made
    Buffer<std::uint64_t> scale_at;  // a segment's places for its scales
    Buffer<std::uint64_t> scales;
};

// Adds a column's keys to the extents.
template <typename Key>
void add_extents(const Call &call, const Segments &segments, std::uint32_t columns, std::uint32_t column,
                 const Key *keys, SegmentColumns *result);
// Sets `most` to the number of distinct keys of a sample of the segment, at least 2 where keys differ.
template <typename Key>
void find_distinct(const Call &call, const Segments &segments, std::uint32_t columns, std::uint32_t column,
                   const Key *keys, SegmentColumns *result);
// Makes the column's scales behind those of the columns before it.
template <typename Key>
void make_lower_scales(const Call &call, const Segments &segments, std::uint32_t columns,
                       std::uint32_t column, const Key *keys, SegmentColumns *result);
// Sets cells[i] = cells[i] x slots + the slot of entry i of the sequence.
template <typename Key>
void add_lower_slots(const Call &call, const Segments &segments, std::uint32_t columns, std::uint32_t column,
                     const Key *keys, const SegmentColumns &made, std::uint32_t *cells);

// The directory of one level.
struct Level {
    std::uint64_t first_word = 0;  // among those of all levels
    std::uint64_t words = 0;
    std::uint64_t cells = 0;
    std::uint64_t grid_count = 0;
    std::uint64_t scale_keys = 0;
    Buffer<std::uint32_t> directory;
    Buffer<LowerGrid> grids;
    Buffer<std::uint64_t> scales;
};
// Appends grids for the overfull cells of the last level, and marks these. False when there are none. Waits
// for the device.
bool build_lower_level(const Call &call, const GridOptions &options, const GridEntries &entries,
                       std::vector<Level> *levels, GridParts *parts);

// Calls run(Key()) with a column's type of key.
template <typename Run>
void with_key(const GridEntries &entries, std::uint32_t column, Run run) {
    if (entries.key_bytes[column] == 8) {
        run(std::uint64_t());
    } else {
        run(std::uint32_t());
    }
}

}  // namespace gpu_engine::device
