// The first rows in the order of a program's keys.
#pragma once

#include <memory>

#include "device/call.h"
#include "gpu_engine/column.h"

namespace gpu_engine::device {

// Answers a request with top_of_rows. Throws Failure.
std::unique_ptr<AggregateOutput> find_top_rows(const Call &call, const AggregateRequest &request);

}  // namespace gpu_engine::device
