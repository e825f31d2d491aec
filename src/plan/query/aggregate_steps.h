// Compiling expressions into a program's inputs and steps.
#pragma once

#include "memory.h"
#include "plan/query/aggregate_compile.h"

namespace pg_gpu::plan {

// What is compiled so far. With the first `refuse` it ends: no step, input, key or accumulator is added any
// more, and 0 stands for what would have been one, which nobody looks at.
struct Compiler {
    CompiledAggregate *compiled;
    const IndexColumns *columns;
    ExprContext *context;  // nullptr: values of expressions without columns don't matter
    bool is_condition;     // the inputs are WHERE's
    uint16 chosen_where;   // a truth value: only where it is true a result of CASE is wanted; or no step
    uint16 family;         // of the groups that are compiled: an input; UINT16_MAX: there is none
    HTAB *compiled_once;   // what compile_once has found; nullptr: nothing
    const char *reason;
};

inline bool is_refused(const Compiler *compiler) {
    return compiler->reason != nullptr;
}

inline void refuse(Compiler *compiler, const char *reason, Expr *expression = nullptr) {
    if (is_refused(compiler))
        return;
    compiler->reason = reason;
    compiler->compiled->refused = expression;
}

// A numeric's steps.
struct NumericSteps {
    uint16 number;  // the integer
    uint16 scale;   // how many digits PostgreSQL shows behind the point; anything where the number is NULL
};

// What an expression is compiled to. Of all but numerics `number` is the only step.
enum class StepForm : uint8 { Number, Truth, Numeric };
using CompileForm = NumericSteps (*)(Compiler *compiler, Expr *expression);

// Calls `compile`, unless it was called for the same expression before: NULLIF and its like need an operand
// for two things, and would otherwise compile it twice for each level of them.
NumericSteps compile_once(Compiler *compiler, StepForm form, Expr *expression, CompileForm compile);

// The same step, or input, is there once. Operands come before the steps that take them, so that whoever
// goes from a step to its operands comes to an end.
uint16 add_step(Compiler *compiler, gpu_engine::AggregateOperation operation, uint8 width, uint16 left,
                uint16 right, int64 constant = 0);
uint16 add_input_step(Compiler *compiler, uint16 input);

// Refuses an expression over several columns, and one to be evaluated by codes where there are none.
uint16 add_source(Compiler *compiler, SourceKind kind, Expr *expression, Oid operator_oid = InvalidOid,
                  Oid collation = InvalidOid);

// Adds the step that tells whether there is a row of a joined table.
uint16 add_match_step(Compiler *compiler, int table);

// The table's OID.
uint16 add_table_step(Compiler *compiler);

// One more input, which depends on another one: of numerics how many digits behind the point they show
// (Scale), or how floats are cut (FloatDivisor, FloatBase).
uint16 add_dependent_source(Compiler *compiler, SourceKind kind, uint16 scaled);

// Is it over one column, and evaluated once for each of the column's codes, or of ranges of its values?
bool has_codes(const Compiler &compiler, Expr *expression);

// Is it over one column of the index that has no codes because numerics are integers in it?
bool is_over_scaled(const Compiler &compiler, Expr *expression);

// Constants that are found out once inputs are known have one of these widths.
inline constexpr uint8 kFactorWidth = 1;   // a power of 10 (settle_step)
inline constexpr uint8 kFloorWidth = 2;    // a numeric with no more digits than another one, rounded down
inline constexpr uint8 kCeilingWidth = 4;  // the same, rounded up
inline constexpr uint8 kCentreWidth = 8;
inline constexpr uint8 kGroupWidth = 16;  // the number of a constant of a family of groups (settle_step)

// Does a constant depend on the digits of two other steps?
inline bool depends_on_digits(const gpu_engine::AggregateStep &step) {
    return step.operation == gpu_engine::AggregateOperation::constant && step.width != 0 &&
           step.width != kCentreWidth && step.width != kGroupWidth;
}

// A constant that becomes a number in the middle of the step's, once these are known (choose_centres).
uint16 add_centre(Compiler *compiler, uint16 step);

// A column of the index, by itself?
bool is_index_column(const Compiler &compiler, const Expr *expression);

uint16 compile_constant(Compiler *compiler, const Const *constant);

// What an expression without columns gives. False: that isn't known yet.
bool find_constant(Compiler *compiler, Expr *expression, Const *constant);

// An expression that can be evaluated only once for each of one column's codes is refused.
void refuse_columns(Compiler *compiler, Expr *expression);

// CASE or COALESCE over several columns, of a type whose equal values look alike: a number that is the same
// for equal results, of which *input has the values.
bool is_group_choice(Expr *expression, Oid equality);
uint16 compile_group_choice(Compiler *compiler, Expr *expression, Oid equality, uint16 *input);

// Compiles an expression of an ordered integer type to its number (number_of_code).
uint16 compile_number(Compiler *compiler, Expr *expression);

// Compiles an expression of a type that has numbers, or a numeric, to a step that is NULL where the
// expression is.
uint16 compile_nullness(Compiler *compiler, Expr *expression);

// A truth value.
uint16 compile_truth(Compiler *compiler, Expr *expression);

}  // namespace pg_gpu::plan
