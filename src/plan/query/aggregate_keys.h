// What groups' keys, and distinct values, are in a program: numbers that are the same for equal values.
#pragma once

#include "plan/query/aggregate_steps.h"

namespace pg_gpu::plan {

// A number that is the same for equal values.
struct Identity {
    uint16 step;
    uint16 null_step;  // is it NULL? no_aggregate_step: its own codes have room for NULL
    uint16 input;      // Group, Groups: whose results; of others UINT16_MAX
    uint16 scale;      // of numerics without codes: how many digits they show; else no_aggregate_step
};

Identity identity_of_number(Compiler *compiler, uint16 step);
// Floats of both signs leave no number for NULL.
Identity identity_of_float(Compiler *compiler, const column::ColumnType &type, Expr *expression);
Identity compile_identity(Compiler *compiler, Expr *expression, Oid equality);

// Adds a grouping expression to the program.
void compile_key(Compiler *compiler, Expr *expression, Oid equality, KeyResult *key);

}  // namespace pg_gpu::plan
