// A run of columns that is being loaded in parts, each on another engine.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_engine/column.h"
#include "server/residency/column_divider.h"
#include "server/engine_id.h"

namespace gpu_engine::server {

struct PartInTheMaking {
    EngineId held_by = 0;
    std::uint64_t first = 0;               // row of the run
    std::unique_ptr<ColumnLoader> loader;  // once all TIDs have come
};

struct LoadInParts {
    LoadInParts(MemoryBudget &memory, const StoreLayout &run, const std::vector<RunShare> &shares)
        : columns(memory, run, shares) {}

    std::vector<PartInTheMaking> parts;  // in the order of their rows
    ColumnDivider columns;
    // Set while no request has failed. After a failure some parts may have taken pages that others haven't.
    bool is_valid = true;
};

}  // namespace gpu_engine::server
