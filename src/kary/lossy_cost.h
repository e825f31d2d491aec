// What lossy keys cost: a scan reads, and fetches rows for, more entries than its conditions let through.
#pragma once

#include "kary/format.h"

namespace pg_gpu::kary {

// The conditions, as clauses and RestrictInfos, that select the entries which a scan finds for the index
// conditions `quals` on a key column. Strings with the key of a constant are left to shared_key_selectivity.
List *found_quals(const IndexOptInfo *index, int column, List *quals);

// The part of the table that shares its first bytes with constants of the index conditions.
Selectivity shared_key_selectivity(PlannerInfo *root, const IndexPath *path);

// Has the index columns whose codes don't tell values apart?
bool has_lossy_columns(const IndexOptInfo *index);

}  // namespace pg_gpu::kary
