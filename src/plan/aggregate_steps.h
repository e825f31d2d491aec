// Compiling expressions into a program's inputs and steps.
#pragma once

#include "memory.h"
#include "plan/aggregate_compile.h"

namespace pg_gpu::plan {

// What is compiled so far. After the first `refuse` the rest means nothing.
struct Compiler {
    CompiledAggregate *compiled;
    const IndexColumns *columns;
    ExprContext *context;  // nullptr: values of expressions without columns don't matter
    bool is_condition;     // the inputs are WHERE's
    const char *reason;
};

inline void refuse(Compiler *compiler, const char *reason, Expr *expression = nullptr) {
    if (compiler->reason != nullptr)
        return;
    compiler->reason = reason;
    compiler->compiled->refused = expression;
}

// The same step, or input, is there once.
uint16 add_step(Compiler *compiler, gpu_engine::AggregateOperation operation, uint8 width, uint16 left,
                uint16 right, int64 constant = 0);
uint16 add_input_step(Compiler *compiler, uint16 input);

// Refuses an expression over several columns, and one to be evaluated by codes where there are none.
uint16 add_source(Compiler *compiler, SourceKind kind, Expr *expression, Oid operator_oid = InvalidOid,
                  Oid collation = InvalidOid);

// Of a joined table: is there a row of it?
uint16 add_match_step(Compiler *compiler, int table);

// The table's OID.
uint16 add_table_step(Compiler *compiler);

// Is it over one column, and evaluated once for each of the column's codes, or of ranges of its values?
bool has_codes(const Compiler &compiler, Expr *expression);

// A constant that becomes a number in the middle of the step's, once these are known (choose_centres).
uint16 add_centre(Compiler *compiler, uint16 step);

// A column of the index, by itself?
bool is_index_column(const Compiler &compiler, const Expr *expression);

uint16 compile_constant(Compiler *compiler, const Const *constant);

// Of an ordered integer type: its number (number_of_code).
uint16 compile_number(Compiler *compiler, Expr *expression);

// A truth value.
uint16 compile_truth(Compiler *compiler, Expr *expression);

}  // namespace pg_gpu::plan
