// Indexes that don't exist, which extensions and gpu.advise hand to the planner.
#pragma once

#include "storage/storage.h"

namespace pg_gpu::storage {

// What summarise would say of the index if it were just built.
inline Summary summary_of_one_run(const IndexOptInfo *index) {
    return {1, static_cast<uint64>(Max(index->tuples, 0.0)), 0, index->pages};
}

}  // namespace pg_gpu::storage
