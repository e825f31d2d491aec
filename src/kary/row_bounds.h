// Comparisons of rows, as (a, b) < (1, 2), bound the codes of the first of the columns and of those behind
// it.
#pragma once

#include "kary/format.h"

namespace pg_gpu::kary {

// What comparisons of rows that begin with a column leave, of its stored codes and of those of all columns
// behind it, joined as in a key.
template <typename Key>
struct RowBounds {
    bool any;
    Bits<Key> low;
    Bits<Key> high;  // inclusive
};

// Narrows the bounds of the column that the scan key is about. Returns false when no row meets it. What is
// left may be more than what meets it: the executor compares the rows, too.
template <typename Key>
bool narrow_by_row(const KeyFormat &format, const ScanKeyData &key, RowBounds<Key> *bounds);

// Says whether this is the function of the operators that stand for such comparisons.
bool is_row_function(Oid function);

}  // namespace pg_gpu::kary
