// From expressions to a program: how a GpuAggregate's query is computed, as far as that can be told without
// looking at rows.
#pragma once

#include "column/query/aggregate_parts.h"
#include "gpu_engine/aggregate.h"
#include "plan/query/aggregate_deviation.h"
#include "plan/query/aggregate_query.h"

namespace pg_gpu::plan {

// What an input of the program is made from, in every part of a view.
enum class SourceKind : uint8 {
    Value,     // the column itself, of an ordered integer type (number_of)
    Presence,  // the column: NULL or not
    // An expression over the column, evaluated once for each of the column's codes.
    Truth,   // a truth value
    Exists,  // NULL or not
    Number,  // of an ordered integer type
    Wide,    // a numeric: scaled to an integer, of 64 bits where all of them have room there
    Narrow,  // the same, less a number in the middle of all, so that it is one of 64 bits
    Scale,   // how many digits the numerics of another input show behind the point
    // Floats of another input that are cut to integers: by range of exponents (compile_cut_float)
    FloatDivisor,
    FloatBase,
    Rank,    // a place in the order of all results, from the least on
    Order,   // the same; equal results have the same place
    Group,   // results that are equal have the same number
    Groups,  // the same of several inputs and constants together, which count as one: no step reads it
    Table,   // the table's OID, whatever the column has
    Match,   // a truth value, never NULL: does the value of the column have a row in a joined table?
};

struct InputSource {
    SourceKind kind;
    int column;               // of the index, from 0 on
    bool is_joined;           // the expression is over joined tables, whose rows the column's codes lead to
    int table;                // Match: the joined one, from 0 on
    uint16 scaled;            // Scale, FloatDivisor, FloatBase: the other input
    uint16 family;            // Group: the input of kind Groups that it belongs to; else UINT16_MAX
    Expr *expression;         // Match, Table and Groups: none
    column::ColumnType type;  // of its results
    Oid operator_oid;         // Rank and Order: what comes before what; Group, Groups: equality
    Oid collation;
    bool may_fail;      // it may raise an error, so only values of rows that count may be evaluated
    bool is_condition;  // part of WHERE
    // Of a column without codes: what of the expression has the same results all over a range of values
    // (aggregate_ranged.h), so that it is evaluated once for each of the ranges; nullptr otherwise.
    Expr *ranged;
};

enum class ResultKind : uint8 {
    Count,
    SumOfIntegers,  // int8
    SumOfLong,      // numeric
    AverageOfLong,  // numeric
    SumOfNumeric,
    AverageOfNumeric,
    SumOfFloats,  // float4 or float8, as the type says
    AverageOfFloats,
    DeviationOfFloats,
    Deviation,      // variances and standard deviations of int2 and int4
    WideDeviation,  // of int8 and numeric: numbers are less by one in the middle of all
    Extreme,        // the least or greatest number
    ExtremeOfNumeric,
    Bits,    // all numbers joined bit by bit
    Ranked,  // the first in an order
};

// What is given of an aggregate: its value, or the transition state that a final aggregate takes.
enum class StateForm : uint8 {
    Value,  // the state is the value, if a state is wanted at all
    Average,
    Integers,
    Deviation,
    WideDeviation,
    Numerics,
    Floats,
};

inline constexpr int16 kScaleOfGroup = -1;

// How an aggregate's value is found from a group's words.
struct AggregateResult {
    ResultKind kind;
    StateForm form;
    uint8 count;  // words' places
    uint8 value;
    uint8 scale;               // of numerics: the greatest scale of what was added up
    bool is_numeric;           // it is over numerics, though not over distinct ones
    int16 shown;               // that scale, where it is the same in all groups; else kScaleOfGroup
    uint8 digits;              // so many digits of a numeric's integer are behind the point
    uint16 step;               // of numerics: the argument
    uint8 squares;             // Deviation, WideDeviation, DeviationOfFloats
    FloatDeviation deviation;  // DeviationOfFloats
    uint8 distinct;            // of distinct values: their argument's number and 1; of all values 0
    uint16 input;              // Ranked, WideDeviation, DeviationOfFloats and distinct numerics
    uint16 centre;  // WideDeviation: the step of what numbers are less by; of numerics by entry none
    column::ColumnType type;   // Extreme, Bits, and the argument's of floats
    FinalFunctions functions;  // Deviation, WideDeviation
};

// How a key's value is found from its codes.
struct KeyResult {
    uint16 key;         // of the program
    uint16 input;       // Group, Groups: whose results; of others UINT16_MAX
    bool has_null;      // a key of its own, behind this one, is 1 for NULL
    bool has_variants;  // may equal values differ in their bytes?
    bool is_numeric;    // the numbers are numerics without their points
    uint16 scale;       // a step: how many digits they show
    uint8 digits;       // are behind the point
    int16 shown;        // the same of all of them
    column::ColumnType type;
};

// The argument of aggregates of distinct values. Another program has it as a last key, so that its groups are
// pairs of a group's keys and one of the values (aggregate_distinct.h).
struct DistinctArgument {
    uint16 step;
    uint16 null_step;  // a truth value: is it NULL? no_aggregate_step: the key tells by itself
    uint16 input;      // Group: whose results; Wide: whose numbers; of others UINT16_MAX
    uint16 filter;     // a truth value: only rows of which it is true; no_aggregate_step: all rows
    bool is_numeric;   // the sum is one of numerics
};
inline constexpr uint32 kMaxDistinctArguments = 8;

// What rows are sorted by.
struct SortKey {
    uint16 step;
    bool descending;
    bool nulls_first;
};

struct CompiledAggregate {
    // Columns of the index whose scaled numerics are to have codes (aggregate_listed.h), from 0 on.
    Bitmapset *listed;
    // Keys' bits, words and least numbers, and constants that have a width, are the executor's to fill in.
    // A step's integers may be numerics, of which some digits are behind the point; `right` of a constant
    // says how many.
    gpu_engine::AggregateProgram program;
    InputSource input[gpu_engine::max_aggregate_inputs];
    List *index_conditions;  // conditions that scan keys are made of
    // The other conditions: those that can't fail, and those that can. no_aggregate_step: none.
    uint16 safe_filter;
    uint16 unsafe_filter;
    int unsafe_conditions;  // how many conditions may fail, index conditions among them
    // May something fail that a FILTER, or an earlier operand of AND or OR, would keep from being evaluated?
    bool has_unsafe_branch;
    bool has_common_filter;  // all aggregates' FILTER is one of the conditions
    KeyResult key[gpu_engine::max_aggregate_keys];
    List *group_constants;  // constants of families of groups
    // The last accumulator, if equal keys may differ in their bytes: the least TID of a group's rows, one of
    // which its keys are shown of.
    bool has_place;
    uint8 place;
    AggregateResult *result;  // of each aggregate
    Expr *refused;            // what can't be computed, if it is one expression
    uint32 distinct_count;
    DistinctArgument distinct[kMaxDistinctArguments];
    // What rows in an order are sorted by. The program's keys are made of these, and its only accumulator is
    // a row's place.
    uint32 sort_key_count;
    bool sorts_by_inputs;  // and by nothing that may fail
    SortKey sort_key[gpu_engine::max_aggregate_keys];
};

// Do equal values always have the same bytes?
bool has_one_image(Oid type, Oid equality, Oid collation);

// Does the order in which expressions are evaluated matter, since one that fails may be kept from it by
// another one?
inline bool needs_guard(const CompiledAggregate &compiled) {
    return compiled.unsafe_conditions > 1 || compiled.has_unsafe_branch;
}

// The columns that expressions are over.
struct IndexColumns {
    const column::Format *format;
    const Oid *families;
    const Oid *collations;
    const bool *has_codes;      // may expressions be evaluated by codes?
    const bool *is_joinable;    // may codes lead to joined tables' rows?
    const bool *can_be_listed;  // may lists of scaled numerics give it codes?
    const List *joins;
};

// Allocates in the current memory context.
IndexColumns describe_columns(const column::Format *format, const Oid *families, const Oid *collations,
                              const column::IndexSummary &summary, const List *joins);

// Leaves the columns only what those of another index with the same columns have, too.
void narrow_summary(column::IndexSummary *summary, const column::IndexSummary &other, int columns);

// In the current memory context. Returns nullptr, or why it can't be done, in words. With a `context`,
// expressions without columns are evaluated in it; without one any value is taken for theirs. Columns are
// listed only where it can't be done without.
const char *compile_aggregate(const AggregateQuery &query, const IndexColumns &columns, ExprContext *context,
                              CompiledAggregate *compiled);
// The same, with the codes that columns have without lists.
const char *compile_by_codes(const AggregateQuery &query, const IndexColumns &columns, ExprContext *context,
                             CompiledAggregate *compiled);

// An index condition has a column and what that is compared with.
struct IndexCondition {
    int column;
    Oid operator_oid;  // of column and argument, in this order
    Oid collation;
    Expr *argument;  // nullptr: IS [NOT] NULL
    bool is_array;
    bool is_null;  // IS NULL
};
bool read_index_condition(Node *condition, const IndexColumns &columns, IndexCondition *read);

inline bool is_float(const column::ColumnType &type) {
    return type.code == column::IntegerCode::Float4 || type.code == column::IntegerCode::Float8;
}

// Signed numbers in the order of a type's values: integers of SQL are themselves.
inline int64 number_of_code(const column::ColumnType &type, uint64 code) {
    const uint64 bias = type.code == column::IntegerCode::Signed ? UINT64CONST(1) << (type.width * 8U - 1)
                        : type.width == sizeof(uint64)           ? UINT64CONST(1) << 63
                                                                 : 0;
    return static_cast<int64>(code - bias);
}

inline uint64 code_of_number(const column::ColumnType &type, int64 number) {
    return static_cast<uint64>(number) - static_cast<uint64>(number_of_code(type, 0));
}

}  // namespace pg_gpu::plan
