// The names under which the server process keeps maps of runs' codes between requests. A map that has a name
// is the same whenever it is made: it depends on the run and on what the name is made of.
#pragma once

#include "plan/query/expression.h"

namespace pg_gpu::plan::query {

// Would the expression's results be the same in any session with settings that are alike, at any time?
bool is_constant(const Expr *expression);

// Of the map of a source, if that is worth it, and if the map depends on nothing else; else none.
engine::MapName name_map(const Source &source, uint64 places);

}  // namespace pg_gpu::plan::query
