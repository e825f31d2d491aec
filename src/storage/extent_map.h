// Decides where new pages go. Free space is never written down: it is what no listed run, directory page or
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

// A gap must be at least this part of what is needed to become one of several pieces: small gaps are better
// left to small runs.
inline constexpr uint32_t kLeastPiece = 16;

inline void sort_extents(Extent *extents, int count) {
    std::sort(extents, extents + count, [](const Extent &a, const Extent &b) { return a.start < b.start; });
}

// Returns where the used space ends.
inline uint32_t end_of_extents(const Extent *extents, int count) {
    uint32_t end = 0;
    for (int i = 0; i < count; i++)
        end = std::max(end, extents[i].start + extents[i].count);
    return end;
}

// Chooses room for `needed` blocks among the gaps between the `used` extents (sorted here, in place), at or
// after `first_block`. The lowest gap that holds all, so that the end of the file becomes free; else the
// largest gaps, at most `max_pieces - 1` of them, in the file's order, and what they don't hold behind the
// used space. Returns the number of extents written to `chosen` (room for `max_pieces`); 0 when a file can't
// have so many blocks.
inline int choose_extents(Extent *used, int used_count, uint32_t first_block, uint32_t needed, int max_pieces,
                          Extent *chosen) {
    sort_extents(used, used_count);
    Extent largest[8] = {};
    const int most = std::min(max_pieces - 1, 8);
    uint32_t end = first_block;
    for (int i = 0; i < used_count; i++) {
        if (used[i].start > end) {
            const Extent gap = {end, used[i].start - end};
            if (gap.count >= needed) {
                chosen[0] = {gap.start, needed};
                return 1;
            }
            int place = most;
            while (place > 0 && gap.count > largest[place - 1].count)
                place--;
            if (place < most && gap.count >= needed / kLeastPiece) {
                for (int j = most - 1; j > place; j--)
                    largest[j] = largest[j - 1];
                largest[place] = gap;
            }
        }
        end = std::max(end, used[i].start + used[i].count);
    }

    int count = 0;
    uint32_t left = needed;
    for (; count < most && largest[count].count > 0 && left > 0; count++) {
        chosen[count] = {largest[count].start, std::min(left, largest[count].count)};
        left -= chosen[count].count;
    }
    sort_extents(chosen, count);
    if (left == 0)
        return count;
    if (left > kMaxBlocks - end)
        return 0;
    chosen[count] = {end, left};
    return count + 1;
}

// Returns how many of `wanted` blocks behind the last of an extent list, `last`, are free, so that the extent
// can grow by them. `used` covers the list itself.
inline uint32_t room_behind(const Extent *used, int used_count, const Extent &last, uint32_t wanted) {
    const uint32_t end = last.start + last.count;
    uint32_t room = std::min(wanted, kMaxBlocks - end);
    for (int i = 0; i < used_count; i++)
        if (used[i].count > 0 && used[i].start >= end)
            room = std::min(room, used[i].start - end);
    return room;
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

// Returns the part of an extent that lies before block `blocks`.
inline Extent clip_extent(const Extent &extent, uint32_t blocks) {
    if (extent.start >= blocks)
        return {0, 0};
    return {extent.start, std::min(extent.count, blocks - extent.start)};
}

}  // namespace pg_gpu::storage
