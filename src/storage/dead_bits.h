// A count of the dead entries in a part of a run.
#pragma once

#include "storage/runs.h"

namespace pg_gpu::storage {

// Counts the dead bits [first, end). Returns false when a page was recycled. No page stays pinned or locked.
bool count_dead(Relation index, const RunEntry &run, uint64 first, uint64 end, uint64 *dead);

}  // namespace pg_gpu::storage
