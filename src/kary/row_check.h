// A RowCheck says whether rows found by lossy keys have the keys that were looked up.
#pragma once

#include "kary/lookup.h"

namespace pg_gpu::kary {

struct RowCheck;

// Begins a check for an index with lossy columns, palloc'd. The index must stay open, and what `keys` refers
// to must live as long as the check.
RowCheck *begin_row_check(Relation index, const LookupKeys &keys);
void end_row_check(RowCheck *check);

// Takes the next row. Its values are used until then.
void check_row(RowCheck *check, TupleTableSlot *row);

// Says whether that row has the key at this position, by the operator families' equality.
bool row_has_key(RowCheck *check, uint32 position);

}  // namespace pg_gpu::kary
