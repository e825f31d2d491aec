// The compiler of expressions: from PostgreSQL's trees over an index's columns to typed steps. Planner and
// executor compile alike: the planner to learn whether it can be done, the executor with the values of
// parameters and with what the rows to be read are like.
#pragma once

#include "plan/advise/explain_why.h"
#include "plan/query/program.h"

namespace pg_gpu::plan::query {

// What is known of an index's column, of all rows that may be read.
struct ColumnFacts {
    column::ColumnType type;
    Kind kind;
    double limit;         // of absolute values, as in Value
    int16 scale;          // of decimals: no value has more digits behind the point
    bool has_scale;       // of decimals: there are numbers
    int16 shown;          // of decimals: as many digits are shown of all; kShownByRow: more of some
    bool may_be_minus_0;  // of floats
    bool has_special;     // of decimals: some are NaN or infinite
    const char *problem;  // nullptr: values can be computed with
};

// Conditions on groups read Vars of this number: keys and aggregates, by their place among a group's results.
inline constexpr int kRowVarno = 1 << 15;

struct CompiledQuery;
struct CompiledGroups;
struct TableViews;

struct Compiler {
    const ColumnFacts *const *columns;  // by table
    int table_count;
    const CompiledGroups *const *nested;  // of subqueries, by the numbers behind those of tables
    const CompiledQuery *groups;          // expressions are over its results; nullptr: over tables' columns
    const TableViews *views;              // nullptr: in the planner
    ExprContext *context;  // nullptr: in the planner, where expressions without columns have any value
    Program *program;
    bool has_barrier;  // some rows must not be seen by expressions that may raise errors
    bool maps_may_fail;
    bool is_condition;     // what is compiled is one, or part of it
    bool has_fields;       // columns of intervals are given by their fields, not as values of a dictionary
    bool has_tables;       // may expressions be looked up in tables? (tables.h)
    bool is_outermost;     // nothing compares the rows' keys afterwards
    bool has_own_numbers;  // what is compiled is such a key, whose values get a numbering of their own
    int table_attempts;
    bool is_for_device;  // which lacks what only processors compute
    // Where expressions are needed: only in rows of which this step is true; no_step: in all.
    uint16 guard;
    const Value *case_value;  // what CaseTestExpr stands for
    Refusal refusal;
};

// Is it a column of groups (nested_groups.h)?
inline bool is_of_groups(const Compiler &compiler, const Var *column) {
    return column->varno > compiler.table_count;
}

// Of a table's column that isn't one of the system's.
inline const ColumnFacts &facts_of(const Compiler &compiler, const Var *column) {
    return compiler.columns[column->varno - 1][column->varattno - 1];
}

inline bool is_refused(const Compiler *compiler) {
    return compiler->refusal.reason != nullptr;
}

// The value means nothing when it is refused.
Value compile(Compiler *compiler, const Expr *expression);

// The same of an expression of which only matters where it is NULL.
Value compile_existence(Compiler *compiler, const Expr *expression);

// A truth value's step, in rows of which the compiler's guard is true.
uint16 compile_truth(Compiler *compiler, const Expr *expression);

// Compiles what is needed in fewer rows: those, of the guard's, of which the step is true.
struct Guarded {
    Compiler *compiler;
    uint16 before;
};
Guarded begin_guarded(Compiler *compiler, uint16 condition);
inline void end_guarded(const Guarded &guarded) {
    guarded.compiler->guard = guarded.before;
}

// ---- for what the compiler is made of ---------------------------------------------------------------------

Value refuse_value(Compiler *compiler, const char *reason, const void *expression = nullptr);

// Kind of a type's values; Group where it isn't one to compute with.
Kind kind_of_type(Oid type);
// The same, of types whose columns aren't computed with, too.
Kind kind_of_results(Oid type);
uint8 width_of_type(Oid type);

Value make_value(uint16 step, Kind kind, ValueType type, double limit = 0);

// A numeric type's digits; false: any numeric is of it.
bool read_numeric_typmod(int32 typmod, int *precision, int *scale);

// Numerics that PostgreSQL computes of a type, before the engine has them. They are of less than 10^36.
inline constexpr int16 kComputedDigits = 36;
inline constexpr double kMaxComputed = 1e36;
Value value_of_computed(int32 typmod);

// A step that may fail, so that it is needed where the guard is true alone; or one that can't.
uint16 add_guarded(Compiler *compiler, engine::Step step, bool may_fail);

Value compile_constant(Compiler *compiler, const Expr *expression);
Value value_of_constant(Compiler *compiler, const Const &constant);
Value null_value(Compiler *compiler, Oid type);

// Of decimals: the step that says how many digits are shown.
uint16 shown_step_of(Compiler *compiler, const Value &value);

// Makes two values comparable and choosable: of one kind, one type and one scale. False: they aren't.
bool bring_together(Compiler *compiler, Value *one, Value *other);

inline uint16 logic(Compiler *compiler, Operation operation, uint16 one, uint16 other = no_step) {
    return add_step(compiler->program, make_step(operation, ValueType::boolean, one, other));
}
inline Value truth(uint16 step) {
    return make_value(step, Kind::Boolean, ValueType::boolean);
}

// ---- parts of the compiler --------------------------------------------------------------------------------

// comparisons.cpp
// PostgreSQL's own comparisons of the kinds that are computed with are those of their order. Returns the
// strategy, that of <> included; 0: it is no comparison.
int strategy_of(Oid operator_oid);
struct Comparison {
    int strategy;
    Oid operator_oid;
    Oid collation;
};
// Makes the sides of an equality, which are not both steps of the program yet, values that are equal where
// the operator says so. False, with a refusal: they can't be.
bool make_comparable(Compiler *compiler, const Comparison &equality, const List *arguments, Value *one,
                     Value *other);
Value compile_comparison(Compiler *compiler, const Comparison &comparison, const List *arguments);
Value compile_distinct(Compiler *compiler, const DistinctExpr *expression);
Value compile_null_if(Compiler *compiler, const NullIfExpr *expression);
Value compile_rows(Compiler *compiler, const RowCompareExpr *rows);
Value compile_list(Compiler *compiler, const ScalarArrayOpExpr *any);

// having.cpp
Value compile_row_value(Compiler *compiler, const Var *value);

// nested_groups.cpp
Value compile_groups_column(Compiler *compiler, const Var *column);

// numbers.cpp
Value widen_to(Compiler *compiler, Value value, ValueType type);
Value rescale(Compiler *compiler, Value value, int scale);
Value as_decimal(Value integer);
// A constant.
Value decimal_of(Compiler *compiler, Int128 number);
// An operation on integers of any size, whose results are no greater than the limit.
Value operate(Compiler *compiler, Operation operation, Value one, Value other, double limit,
              bool may_fail = false);
// Of two decimals, with the digits that PostgreSQL would show.
Value compute_decimal(Compiler *compiler, Operation operation, const Value &one, const Value &other);
void show_as(Value *value, const Value &other);
// A decimal's number with six bits behind it: how many digits it shows, or how many fewer than can be.
Value append_shown(Compiler *compiler, const Value &value, bool is_turned);
Value multiply_decimals(Compiler *compiler, const Value &one, const Value &other);
// The quotient that numeric_div gives, digit for digit.
Value divide_decimals(Compiler *compiler, Value one, Value other);
// Functions whose results have as many digits as it takes, of which the engine refuses what has no room.
bool has_all_digits(Oid function);
// Functions and operators over numbers; false: it is none of them.
bool compile_number_call(Compiler *compiler, Oid function, const List *arguments, Oid result, Value *value);

// special_numerics.cpp
// A power of ten that is above all finite numbers, or one for which there is no room.
int16 unit_above(double limit);
double limit_of_unit(int16 unit);
Value value_of_special(Compiler *compiler, int special);
// Makes two numerics extended ones of one unit. False: there is no room.
bool extend_both(Compiler *compiler, Value *one, Value *other);
// A step of int64: which special numeric it is (column::special_of).
uint16 special_part(Compiler *compiler, const Value &value);
// The decimal, 0 where the numeric isn't finite.
Value finite_part(Compiler *compiler, const Value &value);
// The decimal, which fails where the numeric isn't finite.
Value require_finite(Compiler *compiler, const Value &value);
// The result of an operation on two numerics, or on one, of whose finite part the number is.
Value compute_special(Compiler *compiler, Operation operation, const Value &one, const Value &other);
Value change_special(Compiler *compiler, Operation operation, const Value &value, const Value &number);
Value float_of_special(Compiler *compiler, const Value &value, Value of_finite);
// The sum of finite numbers, and the least and the greatest special one among them.
Value compose_sum(Compiler *compiler, const Value &sum, uint16 least, uint16 greatest);

// float_functions.cpp
bool compile_float_call(Compiler *compiler, Oid function, const List *arguments, Value *value);
// Does a step of the query compute what no device does?
bool needs_processors(const CompiledQuery &compiled);

// row_numbers.cpp: a number that is the same for rows that are equal to record_eq.
Value compile_row_number(Compiler *compiler, const RowExpr *row);

// buckets.cpp
bool compile_bucket_call(Compiler *compiler, Oid function, const List *arguments, Value *value);

// intervals.cpp
// What the fields of an interval are, each with its sign.
struct IntervalFields {
    Value months;
    Value days;
    Value time;
    bool has_months;  // may months be other than 0?
};
// Of one that is between moments, or has fields.
IntervalFields fields_of_interval(Compiler *compiler, const Value &interval);
Value value_of_fields(Compiler *compiler, uint16 months, uint16 days, uint16 time);
Value compile_interval(Compiler *compiler, const Expr *expression);
// How an interval looks that equals others: its months, times 2^32, and its days. Of one that has fields.
uint16 look_of_interval(Compiler *compiler, const Value &interval);
// Its microseconds with 64 bits of how it looks behind them, or of how many less than can be.
uint16 append_look(Compiler *compiler, const Value &interval, bool is_turned);
// Takes away what is known of an interval's fields.
void forget_fields(Value *interval);
// Gives an interval those of one where the condition is true, else of the other.
void choose_fields(Compiler *compiler, uint16 condition, const Value &one, const Value &other, Value *chosen);

// moments.cpp
bool compile_moment_call(Compiler *compiler, Oid function, const List *arguments, Value *value);

// clock.cpp: times of day
bool compile_clock_call(Compiler *compiler, Oid function, const List *arguments, Value *value);

// bins.cpp: date_bin
bool compile_bin_call(Compiler *compiler, Oid function, const List *arguments, Value *value);

// maps.cpp: an expression over one column of which nothing is known but its dictionary.
bool is_map(Compiler *compiler, const Expr *expression);
Value compile_map(Compiler *compiler, const Expr *expression);
// The same of intervals, whose fields are given: of a column itself, too.
Value compile_fields_of_map(Compiler *compiler, const Expr *expression);
// A walker: is there a function that a user has made?
bool has_users_function(Node *node, void *context);
// The column's own values as numbers that tell them apart.
Value compile_group(Compiler *compiler, const Var *column);

}  // namespace pg_gpu::plan::query
