// Finding the rows of many keys at once.
#pragma once

#include "kary/kary.h"
#include "table/table.h"

namespace pg_gpu::kary {

// Looks all keys up in one view of the index. The heap decides which entries the snapshot sees. NULLs
// and values outside the columns' types match nothing. All memory is palloc'd; with a check, what `keys`
// refers to must live as long as the result.
LookupResult look_up(Relation heap, Relation index, Snapshot snapshot, const LookupKeys &keys);

}  // namespace pg_gpu::kary
