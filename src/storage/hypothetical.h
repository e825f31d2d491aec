// Indexes that don't exist, which extensions and gpu.advise hand to the planner.
#pragma once

#include "storage/runs.h"

namespace pg_gpu::storage {

// Returns what summarise says of an index, or would say of a hypothetical one that was just built.
inline Summary summary_for_planner(const IndexOptInfo *index, const RunKind *(*run_kind)(Relation)) {
    if (index->hypothetical)
        return {1, static_cast<uint64>(Max(index->tuples, 0.0)), 0, index->pages};
    Relation relation = index_open(index->indexoid, NoLock);
    const Summary summary = summarise(relation, run_kind(relation));
    index_close(relation, NoLock);
    return summary;
}

}  // namespace pg_gpu::storage
