// The first rows in the order of a program's keys.
#pragma once

#include <memory>

#include "gpu_engine/column.h"
#include "host/engine.h"

namespace gpu_engine::host {

// Answers a question with top_of_rows. Throws Failure.
std::unique_ptr<AggregateAnswer> find_top_rows(HostEngine &engine, const Workers &workers,
                                               const AggregateQuestion &question);

}  // namespace gpu_engine::host
