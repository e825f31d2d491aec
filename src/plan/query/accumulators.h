// What the compiler of aggregates is made of.
#pragma once

#include "plan/query/aggregates.h"

namespace pg_gpu::plan::query {

using engine::AccumulatorKind;

// One aggregate's argument and FILTER.
struct Argument {
    Value value;
    uint16 filter;
    bool is_distinct;
    Oid collation;
};

// Returns the number of the column that has it.
uint16 accumulate(CompiledQuery *compiled, AccumulatorKind kind, uint16 argument, uint16 filter,
                  bool is_distinct = false, uint32 detail = 0);

// How many digits the rows' numerics show that aren't NULL; no_step: as many as the argument tells.
uint16 accumulate_shown(Compiler *compiler, CompiledQuery *compiled, const Argument &argument);

// Takes the sum of finite numerics for the argument, and accumulates which special ones there are.
void accumulate_special(Compiler *compiler, CompiledQuery *compiled, Argument *argument, Result *result);

// Both conditions; of the first there may be none (no_step).
uint16 both(Compiler *compiler, uint16 one, uint16 other);

void compile_aggregate(Compiler *compiler, CompiledQuery *compiled, const Aggref *aggregate, Result *result);

Result make_result(ResultKind kind, const Aggref *aggregate, const Value &argument);

// statistics.cpp
void compile_deviation(Compiler *compiler, CompiledQuery *compiled, const Aggref *aggregate,
                       Argument argument, Result *result);
bool is_regression(Oid aggregate);
void compile_regression(Compiler *compiler, CompiledQuery *compiled, const Aggref *aggregate, uint16 filter,
                        Result *result);

// percentiles.cpp
bool is_ordered_set(const Aggref *aggregate);
void compile_ordered(Compiler *compiler, CompiledQuery *compiled, const Aggref *aggregate, Argument argument,
                     Result *result);

}  // namespace pg_gpu::plan::query
