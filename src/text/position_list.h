// Positions of a run's postings are read beside their list.
#pragma once

#include "text/document.h"
#include "text/reader.h"

namespace pg_gpu::text {

// A posting's positions as they are kept (positions.h).
struct PositionBytes {
    const uint8 *bytes;
    uint32 length;
};

inline constexpr PositionBytes kUnknownBytes = {&kUnknownByte, 1};

// Returns those of a tuple's current lexeme.
inline PositionBytes position_bytes(const TupleReader &reader) {
    if (reader.positions == nullptr)
        return kUnknownBytes;
    return {reader.positions, static_cast<uint32>(reader.at - reader.positions)};
}

// This follows the cursor of a list, which must go forward.
struct PositionList {
    const ListCursor *list;
    ListPlace place;
    uint64 start;
    PositionEnd *ends;  // by block; nullptr: a single posting's, which lie in `place`
    PinnedPage *page;
    uint8 *bytes;  // bytes of the block
    uint32 room;
    uint32 length;
    uint32 block;
    uint32 number;  // number of the posting in the block whose positions begin at `at`
    uint32 at;
    uint8 single[kMaxPositionBytes];
};

// `place` says where the list lies. The run must have positions.
PositionList *open_positions(const ListCursor *list, const ListPlace &place);
void close_positions(PositionList *positions);

// Returns the positions of the list's current posting. A stale reader's are not known.
PositionBytes position_bytes(PositionList *positions);

// Returns the positions of a single posting. They lie in `place`, or in `room`, which has kMaxPositionBytes.
PositionBytes single_positions(RunReader *reader, const ListPlace &place, uint8 *room);

}  // namespace pg_gpu::text
