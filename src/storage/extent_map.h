// Where new pages go. Free space is never written down: it is what no listed run, directory page or
// reservation covers, so nothing can leak and nothing needs repair after a crash. Plain C++, tested without
// PostgreSQL.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pg_gpu::storage {

struct Extent {
    uint32_t start;
    uint32_t count;
};
static_assert(sizeof(Extent) == 8);

// PostgreSQL's block numbers end before the one that means none.
inline constexpr uint32_t kMaxBlocks = UINT32_MAX;

// Chooses room for `needed` blocks among the gaps between the `used` extents (sorted here, in place; they do
// not overlap), at or after `first_block`. In this order: the smallest single gap that fits; at most
// `max_pieces - 1` of the largest gaps together, when they suffice; the end of the used space. Returns the
// number of extents written to `chosen` (room for `max_pieces`); 0 when a file can't have so many blocks.
inline int choose_extents(Extent *used, int used_count, uint32_t first_block, uint32_t needed, int max_pieces,
                          Extent *chosen) {
    std::sort(used, used + used_count, [](const Extent &a, const Extent &b) { return a.start < b.start; });

    Extent largest[8] = {};
    const int pieces_wanted = std::min(max_pieces - 1, 8);
    Extent best = {0, 0};
    uint32_t end = first_block;

    for (int i = 0; i < used_count; i++) {
        if (used[i].start > end) {
            const Extent gap = {end, used[i].start - end};
            if (gap.count >= needed && (best.count == 0 || gap.count < best.count))
                best = gap;
            for (int place = 0; place < pieces_wanted; place++) {
                if (gap.count > largest[place].count) {
                    for (int j = pieces_wanted - 1; j > place; j--)
                        largest[j] = largest[j - 1];
                    largest[place] = gap;
                    break;
                }
            }
        }
        end = std::max(end, used[i].start + used[i].count);
    }

    if (best.count != 0) {
        chosen[0] = {best.start, needed};
        return 1;
    }

    uint32_t gathered = 0;
    for (int i = 0; i < pieces_wanted; i++)
        gathered += largest[i].count;
    if (gathered < needed) {
        if (needed > kMaxBlocks - end)
            return 0;
        chosen[0] = {end, needed};
        return 1;
    }

    int count = 0;
    uint32_t left = needed;
    while (left > 0) {
        const uint32_t take = std::min(left, largest[count].count);
        chosen[count] = {largest[count].start, take};
        left -= take;
        count++;
    }
    return count;
}

// Cuts a list of extents after its first `blocks` blocks; returns the number of extents left.
inline int trim_extents(Extent *extents, int count, uint32_t blocks) {
    int kept = 0;
    for (; kept < count && blocks > 0; kept++) {
        extents[kept].count = std::min(extents[kept].count, blocks);
        blocks -= extents[kept].count;
    }
    for (int i = kept; i < count; i++)
        extents[i] = {0, 0};
    return kept;
}

}  // namespace pg_gpu::storage
