// Time zones, as steps take them.
#pragma once

#include "plan/query/expression.h"

namespace pg_gpu::plan::query {

// Adds the offset that a zone has at a moment, or takes it away. Infinite moments stay as they are.
uint16 shift_step(Compiler *compiler, engine::Operation operation, const Value &value, pg_tz *zone);

// Is a timestamp infinite?
uint16 is_infinite_step(Compiler *compiler, uint16 step, bool is_date = false);

// The type that moments of two types are compared as; InvalidOid: one isn't a moment.
Oid type_of_compared(Oid one, Oid other);

// A date or timestamp as one of the type that it is compared as, by the session's zone. What is out of that
// type's range lies between its last moment and infinity, as PostgreSQL's comparisons have it.
int64 convert_compared(int64 number, Oid from, Oid to);
Value convert_compared(Compiler *compiler, const Value &value, Oid from, Oid to);

// The zone of a name that PostgreSQL doesn't take for an abbreviation; nullptr: it may be one, or is none.
pg_tz *zone_of_name(const Const &name);

// A call whose argument of this number is a zone's name: by the names that a column has.
Value compile_by_zone(Compiler *compiler, Oid function, const List *arguments, int zone);

// AT TIME ZONE, with a name or an interval that is a constant. False: it is another function.
bool compile_zone_call(Compiler *compiler, Oid function, const List *arguments, Value *value);

}  // namespace pg_gpu::plan::query
