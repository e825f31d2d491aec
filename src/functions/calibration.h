// What gpu.calibrate measures.
#pragma once

#include "client/client.h"
#include "settings.h"

namespace pg_gpu::functions {

// The table and index that measurements use, made by gpu.calibrate for itself.
struct CalibrationIndex {
    Relation heap;
    Relation index;
    uint64 rows;
    int64 (*key)(uint64 row);
};

// Measures the path's request, key, entry and sort costs, and transfer and load. False when the engine isn't
// there or doesn't answer.
bool measure_engine(const CalibrationIndex &sample, client::Path path, CostSettings *costs);

// Measures the paged path's costs: what statements take more or less on pages than on `engine`, whose costs
// are known.
void measure_paged(const CalibrationIndex &sample, client::Path engine, CostSettings *costs);

}  // namespace pg_gpu::functions
