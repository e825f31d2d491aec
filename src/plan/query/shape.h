// What requests that differ in constants alone have in common, for what is learned of their times.
#pragma once

#include "plan/query/query.h"

namespace pg_gpu::plan::query {

uint32 shape_of_query(const AggregateQuery &query);

}  // namespace pg_gpu::plan::query
