// The limit beside which the benchmark of aggregates shows its times on a device.
#pragma once

#include "gpu_engine/engine.h"

namespace gpu_engine::bench {

// Returns the bandwidth of reading a device's memory, in bytes a millisecond. Throws Failure.
double measure_bandwidth(Engine &engine, Stream &stream);

}  // namespace gpu_engine::bench
