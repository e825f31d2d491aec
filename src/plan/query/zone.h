// Time zones, as steps take them.
#pragma once

#include "plan/query/expression.h"

namespace pg_gpu::plan::query {

// Adds the offset that a zone has at a moment, or takes it away.
uint16 shift_step(Compiler *compiler, engine::Operation operation, uint16 step, pg_tz *zone);

// The zone of a name that PostgreSQL doesn't take for an abbreviation; nullptr: it may be one, or is none.
pg_tz *zone_of_name(const Const &name);

// AT TIME ZONE, with a name or an interval that is a constant. False: it is another function.
bool compile_zone_call(Compiler *compiler, Oid function, const List *arguments, Value *value);

}  // namespace pg_gpu::plan::query
