// Filters of a program as far as it is known by row which rows pass (true_rows_of).
#pragma once

#include "column/query/aggregate_parts.h"

namespace pg_gpu::column {

// Conditions that must all hold.
struct KnownFilter {
    uint16 step;
    const uint64 **rows;  // of each condition that is known by row
    uint32 row_count;
    uint16 *others;  // steps of the other conditions
    uint32 other_count;
};

// Allocates in the current memory context. `step` may be none: all rows pass then.
KnownFilter read_filter(const gpu_engine::AggregateProgram &program, const AggregatePart &part, uint16 step);

// Takes rows away that a filter is known to keep out, of groups of rows from the group `first` on.
inline void apply_known(const KnownFilter &filter, uint64 first, uint64 groups, uint64 *rows) {
    for (uint32 i = 0; i < filter.row_count; i++)
        for (uint64 group = 0; group < groups; group++)
            rows[group] &= filter.rows[i][first + group];
}

inline uint32 count_bits(const uint64 *bits, uint64 words) {
    return static_cast<uint32>(
        pg_popcount(reinterpret_cast<const char *>(bits), static_cast<int>(words * sizeof(uint64))));
}

}  // namespace pg_gpu::column
