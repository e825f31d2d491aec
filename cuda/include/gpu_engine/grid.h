// Points of 1 to 8 columns with TIDs in a hierarchical grid file, for exact matches, partial matches and
// boxes.
//
// Each column's keys are cut into slots at quantiles (its scale); a cell is a slot of every column. Entries
// lie in the order of their cells, and a directory says where each cell begins. A cell with more than
// 2^columns x bucket entries that aren't all alike has a grid of its own, and so on. Entries with NULL in a
// column lie in a slot of that column behind all keys.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu_engine/engine.h"
#include "gpu_engine/entry.h"
#include "gpu_engine/kary.h"
#include "gpu_engine/status.h"

namespace gpu_engine {

inline constexpr std::uint32_t max_grid_columns = 8;

enum class GridSplits : std::uint32_t {
    equal,     // the same number of slots in every column, or one more
    distinct,  // no more than a column has distinct keys; the others get what it leaves
};

struct GridOptions {
    std::uint32_t bucket = 8;  // entries a cell, on average; at least 1
    GridSplits splits = GridSplits::equal;
    bool hierarchical = true;  // without, cells have no grids of their own
    // Bit c says that column c has one slot on the first level. A key of 128 bits is two columns, of which
    // the lower half is such a column: the key is then a point of both, and a range of keys is up to three
    // boxes, those of its two outermost upper halves and that of what lies between.
    std::uint32_t unsplit = 0;
};

// The entries that a grid file is made from: an array of unsigned integers for each column.
struct GridEntries {
    std::uint32_t columns;
    std::uint32_t key_bytes[max_grid_columns];  // 4 or 8
    const void *keys[max_grid_columns];
    const std::uint8_t
        *nulls;  // bit c of nulls[i]: entry i is NULL in column c, whatever its key; may be null
    const Tid *tids;
    std::uint64_t count;
};

// Points to match: as many arrays of keys as there are columns, of their widths.
struct GridPoints {
    const void *keys[max_grid_columns];
};

// Boxes, both bounds inclusive. A column is open in all boxes where both its arrays are null.
struct GridBoxes {
    const void *low[max_grid_columns];
    const void *high[max_grid_columns];
    const std::uint8_t *open;  // bit c of open[i]: column c of box i takes all, NULL too; may be null
    const std::uint8_t *null;  // bit c of null[i]: it takes NULL only, unless it is open; may be null
};

struct GridShape {
    std::uint32_t columns;
    std::uint32_t levels;                   // 1 without grids below the first
    std::uint32_t slots[max_grid_columns];  // slots of the first level's columns, that of NULL included
    std::uint64_t cells;                    // number of cells of all levels
    std::uint64_t grids;
    std::uint64_t directory_bytes;  // scales, directory and what describes the grids
};

// Page images of a gpu_grid run (src/grid/page.h), each with as many entries as its head says.
struct GridPages {
    const void *images;
    std::uint32_t pages;
    std::uint32_t page_bytes;
    std::uint32_t first_byte;  // where a page's content begins
};

// The columns of a run's pages: one array of keys each.
struct GridPageColumns {
    std::uint32_t columns;
    std::uint32_t key_bytes[max_grid_columns];  // 4 or 8
    std::uint32_t null_bit[max_grid_columns];   // bit in an entry's mask; columns may share one

    // Returns the bytes that a loader takes of the engine's memory for an entry: keys, TID, mask.
    std::uint64_t entry_bytes() const noexcept {
        std::uint64_t bytes = sizeof(Tid) + 1;
        for (std::uint32_t c = 0; c < columns && c < max_grid_columns; ++c) {
            bytes += key_bytes[c];
        }
        return bytes;
    }
};

// All functions but the destructor may run on several streams at once. On a status that isn't ok the outputs
// hold nothing of use, unless said otherwise.
class GridFile : public Store {
  public:
    virtual GridShape shape() const noexcept = 0;
    // Returns the width of the column's keys, here and in what is asked: 4 or 8 bytes.
    virtual std::uint32_t key_bytes(std::uint32_t column) const noexcept = 0;

    // The TIDs of the live entries that are points[i], in no certain order: tids[offsets[i]] to
    // tids[offsets[i + 1] - 1]. Entries with NULLs are no points. `offsets` has count + 1 places. When more
    // than `capacity` TIDs match, the status is insufficient_space and only `offsets` is filled.
    virtual Status match(Stream &stream, const GridPoints &points, std::uint64_t count,
                         std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) const noexcept = 0;

    // counts[i] = how many live entries lie in boxes[i].
    virtual Status count(Stream &stream, const GridBoxes &boxes, std::uint64_t count,
                         std::uint32_t *counts) const noexcept = 0;
    // Does for boxes what match does for keys.
    virtual Status search(Stream &stream, const GridBoxes &boxes, std::uint64_t count, std::uint64_t *offsets,
                          Tid *tids, std::uint64_t capacity) const noexcept = 0;

    // counts[i] = how many live entries of boxes[i] have, as far as `blocks` knows, a visible row. The TIDs
    // of live ones on unknown blocks are given as search does; when there are more than `capacity`, only
    // `counts` and `offsets` are of use.
    virtual Status count_on(Stream &stream, const GridBoxes &boxes, std::uint64_t count,
                            const HeapBlocks &blocks, std::uint64_t *counts, std::uint64_t *offsets,
                            Tid *tids, std::uint64_t capacity) const noexcept = 0;
};

// The entries of a grid file in the making, which come page by page in the caller's order.
class GridLoader : public Interface {
  public:
    // entries() is the number of entries it was begun with, and loaded() of those that have come.
    virtual std::uint64_t entries() const noexcept = 0;
    virtual std::uint64_t loaded() const noexcept = 0;

    // Takes all entries of the pages, the first of which must be the next one. Pages that contradict
    // themselves or the entries so far are invalid_argument. After a failure none of them has been taken.
    virtual Status append_pages(Stream &stream, const GridPages &pages) noexcept = 0;

    // Builds the file as Grid::build does, of all entries, which must have come. They stay, so it may be
    // tried again.
    virtual Status finish(Stream &stream, const GridOptions &options,
                          std::unique_ptr<GridFile> *file) noexcept = 0;
};

// Makes grid files.
class Grid : public Interface {
  public:
    static constexpr std::uint64_t max_entries = (std::uint64_t(1) << 31) - 1;
    // The cells that one file may have on all its levels; entries that would need more are invalid_argument.
    static constexpr std::uint64_t max_cells = std::uint64_t(1) << 31;

    // Makes a file of entries in any order. It needs about three times the file's memory meanwhile.
    virtual Status build(Stream &stream, const GridEntries &entries, const GridOptions &options,
                         std::unique_ptr<GridFile> *file) noexcept = 0;

    // Reserves the memory for this many entries.
    virtual Status open_loader(Stream &stream, const GridPageColumns &columns, std::uint64_t entries,
                               std::unique_ptr<GridLoader> *loader) noexcept = 0;
};

}  // namespace gpu_engine
