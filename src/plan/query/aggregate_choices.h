// CASE and COALESCE over several columns: steps each of which has a result where it is chosen, and NULL
// elsewhere.
#pragma once

#include "plan/query/aggregate_steps.h"

namespace pg_gpu::plan {

// One of a CASE's results, not more than one of which is chosen for a row.
struct Choice {
    uint16 where;  // a truth value
    Expr *result;
};

// Their number; there is room for `max_choices`. Results that are NULL aren't listed,
// unless a condition would be left out with them.
int list_choices(Compiler *compiler, const CaseExpr *expression, Choice *choices);
inline int max_choices(const CaseExpr *expression) {
    return list_length(expression->args) + 1;
}

// Between its two functions what is compiled is evaluated for some rows only, so that inputs which may fail
// have to be guarded against.
struct Branch {
    Compiler *compiler;
    uint32 inputs;
    uint16 outer_where;
};
// `where`: a truth value; no_aggregate_step: the rows aren't known.
Branch begin_branch(Compiler *compiler, uint16 where);
// `is_guarded`: not for all rows that come here.
void end_branch(const Branch &branch, bool is_guarded = true);

// `compile` makes a step of a result.
using CompileResult = uint16 (*)(Compiler *compiler, Expr *expression);
uint16 compile_case(Compiler *compiler, const CaseExpr *expression, CompileResult compile);
uint16 compile_coalesce(Compiler *compiler, const CoalesceExpr *expression, CompileResult compile);

inline uint16 negate(Compiler *compiler, uint16 truth) {
    return add_step(compiler, gpu_engine::AggregateOperation::logical_not, 0, truth, 0);
}

}  // namespace pg_gpu::plan
