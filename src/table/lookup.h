// Many keys to look up at once, and the index entries that have them.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::kary {
struct RowCheck;
}  // namespace pg_gpu::kary

namespace pg_gpu::table {

// The keys to look up: read(context, i, ...) gives a value and its type for each column of key i, and returns
// false when one of them is NULL.
struct LookupKeys {
    uint32 count;
    bool (*read)(void *context, uint32 i, Datum *values, Oid *types);
    void *context;
};

// An entry with one of the keys.
struct LookupMatch {
    uint64 encoded_tid;  // heap block << 16 | offset
    uint32 key;          // number of the distinct key; elsewhere as the collector says
};

inline BlockNumber match_block(const LookupMatch &match) {
    return static_cast<BlockNumber>(match.encoded_tid >> 16);
}

inline OffsetNumber match_offset(const LookupMatch &match) {
    return static_cast<OffsetNumber>(match.encoded_tid & 0xffff);
}

// The entries found, in heap order, and for each distinct key the 0-based positions in the caller's list:
// positions[first_position[key]] to positions[first_position[key + 1] - 1]. With `check`, the row says at
// which of these (kary/row_check.h).
struct LookupResult {
    LookupMatch *matches;
    uint64 count;
    uint32 *first_position;
    uint32 *positions;
    kary::RowCheck *check;
};

}  // namespace pg_gpu::table
