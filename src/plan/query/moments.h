// What the compilers of moments and of intervals share.
#pragma once

#include "plan/query/expression.h"

namespace pg_gpu::plan::query {

// Within them no sum leaves what dates and timestamps may be, and none is infinite.
inline constexpr double kMaxDays = 2.4e6;
inline constexpr double kMaxMicros = 2.0e17;

inline Value make_moment(Kind kind, uint16 step, double limit) {
    Value value = make_value(step, kind, ValueType::int64, limit);
    value.width = kind == Kind::Date ? 4 : 8;
    return value;
}

// A date as a timestamp.
Value first_moment_of(Compiler *compiler, const Value &date);

// A step with a number on its right, which fails where there is no room.
Value add_number(Compiler *compiler, Operation operation, uint16 step, int64 number);

// Fails beyond kMaxMicros.
uint16 within_limit(Compiler *compiler, uint16 micros);

// intervals.cpp
bool compile_interval_call(Compiler *compiler, Oid function, const List *arguments, Value *value);

}  // namespace pg_gpu::plan::query
