// Messages about grid files of points (gpu_engine/grid.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu_engine/protocol_common.h"

namespace gpu_engine::protocol {

inline constexpr std::size_t max_columns = 8;  // most columns of points

// Reserves memory for a grid file of points, which has a name, as BeginKary does for an array. Its entries
// come by append_pages only, all of them and in the run's order.
struct BeginGrid {
    RequestHeader header;
    RunName name;
    Holder holder;
    std::uint64_t entries;
    std::uint32_t columns;
    std::uint32_t bucket;                 // entries a cell, on average
    std::uint32_t distinct;               // cells are shared out among columns by their distinct keys
    std::uint32_t unsplit;                // columns, a bit each, as GridOptions has it
    std::uint8_t key_bytes[max_columns];  // 4 or 8
    std::uint8_t null_bit[max_columns];   // null bit of the masks on pages
};

// The places of the bounds of `count` boxes, all of one shape as GridBoxes has it. A column is open in all
// boxes where both offsets are `nowhere`; so are `open` and `null` where there are no such bytes.
struct BoxesPlace {
    std::uint64_t low[max_columns];
    std::uint64_t high[max_columns];
    std::uint64_t open;  // a byte a box
    std::uint64_t null;  // a byte a box
    std::uint64_t count;
    std::uint32_t columns;
    std::uint8_t key_bytes[max_columns];
    std::uint32_t reserved;
};

// Item i asks for the entries in box i. The TIDs of an item come in no certain order.
struct SearchGrid {
    RequestHeader header;
    BoxesPlace boxes;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t runs;
    std::uint32_t reserved;
    RunUse run[max_runs];
};

// Item i asks for the number of entries in box i, which are counted as CountKary does.
struct CountGrid {
    RequestHeader header;
    BoxesPlace boxes;
    BlocksPlace blocks;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t runs;
    std::uint32_t reserved;
    RunUse run[max_runs];
};

// Item i asks for the entries without NULL whose keys are keys[0][i], keys[1][i], ...
struct MatchGrid {
    RequestHeader header;
    std::uint64_t keys[max_columns];
    std::uint64_t count;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t columns;
    std::uint32_t runs;
    std::uint8_t key_bytes[max_columns];
    RunUse run[max_runs];
};

using GridStructures = Structures<BeginGrid, BoxesPlace, SearchGrid, CountGrid, MatchGrid>;

}  // namespace gpu_engine::protocol
