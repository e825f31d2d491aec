// Entries in the order of the table.
#pragma once

#include "kary/condition.h"
#include "kary/lookup.h"

namespace pg_gpu::kary {

// What an entry's `key` is: nothing; the number of its point; or the condition's element for that. Points are
// whole keys then.
enum class MatchKey { None, Point, Element };

// All live entries that match, of one view, sorted by place. Palloc'd.
template <typename Key>
LookupMatch *collect_matches(Relation heap, Relation index, Snapshot snapshot,
                             const Condition<Key> &condition, MatchKey what, uint64 *count);

}  // namespace pg_gpu::kary
