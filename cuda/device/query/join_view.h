// The build side of a join as kernels see it: its rows, and where those with a key are.
#pragma once

#include <cstdint>

#include "gpu_engine/query/query.h"

namespace gpu_engine::query::on_device {

// There is no such row: of an outer join, or for a key.
inline constexpr std::uint32_t no_row = UINT32_MAX;

// A column of a table of rows.
struct ArrayColumn {
    ValueType type;
    const std::uint64_t *values;
    const std::uint64_t *nulls;  // may be null
};

// Rows that have a NULL in their key aren't found. A key has a slot, which names the first row with that key
// that was put there.
struct JoinTableView {
    const ArrayColumn *columns;
    std::uint64_t rows;
    const std::uint32_t *key_columns;
    std::uint32_t key_count;
    // By hash: the upper half of the hash, and the row; `free_slot` where there is none. Null where the table
    // is dense.
    std::uint64_t *slots;
    std::uint64_t slot_count;  // a power of two
    // Of one integer key: by its distance from `least`, the row, or no_row.
    std::uint32_t *dense_slots;
    std::uint64_t least;
    std::uint64_t span;  // so many slots
    // By slot: the place behind the last of its rows among `rows_by_slot`, where they begin behind those of
    // the slot before. Null where no key has two rows.
    const std::uint32_t *ends;
    const std::uint32_t *rows_by_slot;
    // By place among `rows_by_slot`, of joins with bounds; null: there is no such bound. What must be at most
    // the probed row's word, which ascends, and the greatest so far of what must be at least that. Both of
    // the rows of the same slot.
    const std::uint64_t *lows;
    const std::uint64_t *reached;
};

inline constexpr std::uint64_t free_slot = UINT64_MAX;

}  // namespace gpu_engine::query::on_device
