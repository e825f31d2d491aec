// Entries in the order of the table.
#pragma once

#include "kary/condition.h"
#include "kary/lookup.h"

namespace pg_gpu::kary {

// The `key` of a match: nothing, the number of the condition's point that it matches, or the array element
// that the point was made of. With Point and Element, points must be whole keys.
enum class MatchKey { None, Point, Element };

// Returns all live entries of one view that match, sorted by their place in the table. The result is
// palloc'd.
template <typename Key>
LookupMatch *collect_matches(Relation heap, Relation index, Snapshot snapshot,
                             const Condition<Key> &condition, MatchKey what, uint64 *count);

}  // namespace pg_gpu::kary
