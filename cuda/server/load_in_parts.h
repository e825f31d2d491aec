// A run that is being loaded in parts, each on another engine.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "server/column_divider.h"
#include "server/engine_id.h"
#include "server/object.h"

namespace gpu_engine::server {

struct PartInTheMaking {
    EngineId held_by = 0;
    std::uint64_t first = 0;  // entry of the run
    std::uint64_t entries = 0;
    AnyLoader loader;
    AnyObject object;
};

struct LoadInParts {
    std::vector<PartInTheMaking> parts;      // in the order of their entries
    std::unique_ptr<ColumnDivider> columns;  // for columns
    // Of columns and grid files: no request failed. Some parts may have taken pages then that others haven't.
    bool is_sound = true;
};

}  // namespace gpu_engine::server
