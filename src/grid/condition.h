// Scan keys are reduced to a box of codes, and to tests of the rows in it where the box does not decide.
#pragma once

#include "grid/format.h"
#include "keys/keys.h"

namespace pg_gpu::grid {

// A range of a lane's codes.
struct LaneRange {
    uint64 low;  // outside of [low, high] no row matches
    uint64 high;
    uint64 sure_low;  // within [sure_low, sure_high] this lane says yes
    uint64 sure_high;
};

// A test says what a box cannot say. Rows in cells where the column's lanes aren't sure are tested one by
// one.
struct ColumnTest {
    enum class Kind { Wide, Instant, Circle, SamePoint } kind;
    int column;
    Key128 low;  // Wide: codes
    Key128 high;
    InstantTest instant;
    Datum constant;  // of the other kinds: the geometric operator's right side
};

struct Condition {
    bool nothing;        // no row matches
    NullMask nulls;      // columns that must be NULL
    NullMask not_nulls;  // columns that must not
    NullMask bounded;    // columns with a range or a test
    bool is_rough;       // rows that match must be looked at once more, by PostgreSQL
    LaneRange lanes[kMaxLanes];
    ColumnTest *tests;
    int test_count;
};

inline bool wants_nulls(const Condition &condition, NullMask nulls) {
    return (nulls & condition.not_nulls) == 0 && (nulls & condition.nulls) == condition.nulls;
}

// Combines all scan keys; what the condition points to is palloc'd or belongs to the keys. Points take
// gpu_grid's own strategies, and btree's >= and <= for the corners of a box; what is converted to points
// takes those of converted.h.
void make_condition(const Format &format, const ScanKeyData *keys, int key_count, Condition *condition);

// Says whether a row meets the tests on these columns.
bool passes_tests(const Format &format, const Condition &condition, NullMask columns, const uint64 *row);

// Says whether a row matches.
bool matches(const Format &format, const Condition &condition, const uint64 *row);

// Returns the point of a row's column.
inline Point point_of(const Column &column, const uint64 *row) {
    return {decode_float<double>(row[1 + column.first_lane]),
            decode_float<double>(row[2 + column.first_lane])};
}

}  // namespace pg_gpu::grid
