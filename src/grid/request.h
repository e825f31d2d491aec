// Requests of gpu_grid to the server process about runs of points.
#pragma once

#include "residency/residency.h"

namespace pg_gpu::grid {

// Points on pages that tell themselves how many they hold (src/grid/page.h), one array of keys a column.
extern const client::MirrorKind grid_mirror;
inline constexpr int kMaxGridColumns = 8;
struct GridMirror : client::MirrorFormat {
    uint32 columns;
    uint8 key_bytes[kMaxGridColumns];  // 4 or 8
    uint8 null_bit[kMaxGridColumns];   // bit in the masks on pages
    uint32 bucket;                     // points a cell of the server's grid, on average
    uint32 unsplit;                    // lower halves of keys of 128 bits, a bit each
    bool distinct;                     // cells are shared out among columns by their distinct keys
};

extern const client::RequestCost count_boxes_cost;
extern const client::RequestCost search_boxes_cost;
extern const client::RequestCost match_cost;

// Boxes of points, all bounds included; arrays of keys by column, and of a byte a box.
struct Boxes {
    const void *low[kMaxGridColumns];  // nullptr, as `high` then: no box bounds the column
    const void *high[kMaxGridColumns];
    const uint8 *open;  // bit c of open[i]: box i takes all of column c, NULL too; may be nullptr
    const uint8 *null;  // bit c of null[i]: it takes NULL only, unless it is open; may be nullptr
    uint64 count;
};

// Both are about live entries in the boxes from number `first` on: count_grid counts them, and search_grid
// finds their TIDs, in no certain order.
bool count_grid(const client::RunSet &set, const client::Choice &choice, const Boxes &boxes, uint64 first,
                const client::VisibleBlocks &visible, client::CountResult *result);
bool search_grid(const client::RunSet &set, const client::Choice &choice, const Boxes &boxes, uint64 first,
                 client::EntriesResult *result);

// Live entries that are one of the points from number `first` on; points are arrays of keys by column.
bool match_grid(const client::RunSet &set, const client::Choice &choice, const void *const *keys,
                uint64 count, uint64 first, client::EntriesResult *result);

}  // namespace pg_gpu::grid
