// LIKE with a pattern of literals and %, told by a value's bytes alone. PostgreSQL's function goes through a
// value character by character; of five million values that takes most of a second.
#pragma once

#include "column/format/format.h"

namespace pg_gpu::column {

struct LikePattern {
    bool is_negated;  // NOT LIKE
    // The strings between the %, in this order; none of them is empty.
    Bytes *literals;
    uint32 count;
    bool begins_anywhere;  // with a %: the first literal needn't be at the value's beginning
    bool ends_anywhere;
    size_t length;  // length of all literals together
};

// Returns the pattern, allocated in the current memory context. nullptr where only the function itself can
// decide: the function isn't LIKE's, the pattern has a _ or isn't valid, or bytes don't say where characters
// begin.
const LikePattern *read_like_pattern(Oid function, Oid collation, Datum pattern);

// Does a value's `LIKE` or `NOT LIKE` hold?
bool is_like(const LikePattern &pattern, const Bytes &value);

}  // namespace pg_gpu::column
