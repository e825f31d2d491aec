// A query's steps, constants and columns while they are made. Steps that are the same are made once, so that
// an expression that occurs twice is computed once.
#pragma once

#include "column/format/numeric.h"
#include "gpu_engine/query/query.h"
#include "plan/query/value_table.h"

namespace pg_gpu::column {
struct StringSpace;
}

namespace pg_gpu::plan::query {

namespace engine = gpu_engine::query;

using column::Int128;
using engine::no_step;
using engine::Operation;
using engine::ValueType;

// ---- values -----------------------------------------------------------------------------------------------

// What a step's words mean to SQL.
enum class Kind : uint8 {
    Boolean,
    Integer,   // of `width` bytes
    Decimal,   // a numeric: its digits without the point, `scale` of them behind it
    Extended,  // a numeric that may be NaN or infinite: a decimal below 10^unit, which is infinity itself,
               // and 2 * 10^unit is NaN (special_numerics.cpp)
    Float,     // of `width` bytes
    Date,
    Timestamp,  // with a time zone or without
    Interval,   // microseconds, shown as justify_hours() shows them, unless `shown` is kShownByRow; such may
                // have fields
    Group,      // the number of a value, which tells equal ones apart from others (numbering.h)
};

// Numerics show digits behind the point that their values don't tell. Either all rows' show as many, or a
// step tells how many.
inline constexpr int16 kShownByRow = -1;

struct Value {
    uint16 step;
    Kind kind;
    ValueType type;
    uint8 width;
    int16 scale;
    int16 shown;
    uint16 shown_step;  // with kShownByRow
    bool is_null;       // a constant that is NULL
    // No absolute value is greater, of integers, decimals, dates and timestamps.
    double limit;
    bool may_be_minus_0;  // of a float: it equals 0, but looks different
    uint16 numbering;     // Group: what numbers the values
    Oid coded;            // Group: the type whose integers are the numbers, which then have no numbering
    bool is_ranked;       // of those: a place in the type's order comes before them (order_numbers)
    // A decimal that is a float's: the float's step, and how many digits of it there are. It can be rounded
    // where it has no room.
    uint16 real;
    uint8 real_digits;
    const Const *interval;  // a constant, which may turn out to be one of a Group
    // Interval: its fields, where the microseconds don't tell them; no_step: they do, or nothing does.
    uint16 month_step;
    uint16 day_step;
    uint16 time_step;
    int16 unit;  // Extended
};
inline constexpr uint16 no_numbering = no_step;

inline bool has_fields(const Value &interval) {
    return interval.month_step != no_step || interval.interval != nullptr;
}

inline bool is_numeric(const Value &value) {
    return value.kind == Kind::Decimal || value.kind == Kind::Extended;
}

// What absolute values have room, with a margin for what doubles can't tell.
inline constexpr double kMaxInt64 = 9.22e18;
inline constexpr double kMaxInt128 = 1.69e38;

// ---- columns ----------------------------------------------------------------------------------------------

enum class SourceKind : uint8 {
    Own,       // the values of an index's column
    Shown,     // how many digits its numerics show
    Presence,  // anything, NULL where the column is NULL
    Result,    // what an expression gives, evaluated once for each entry of the column's dictionary
    Number,    // of the row among those of its view (column/query/row_tids.h): no column's
};

// What is taken of the results of a source: themselves, a field of intervals, how many digits numerics show,
// or whether PostgreSQL evaluates the expression without an error (text_casts.h): 1, else 0, and then the
// result is NULL.
enum class ResultPart : uint8 { Whole, Months, Days, Time, Shown, Readable };

// A column of a table's scan.
struct Source {
    SourceKind kind;
    int table;   // of the query's, from 0 on
    int column;  // of its index, from 0 on
    ValueType type;
    Kind result;
    int16 scale;       // of a decimal
    int16 unit;        // of an extended one
    Expr *expression;  // Result: over the column
    Oid result_type;
    Oid collation;
    uint16 numbering;  // of results; no_numbering: they aren't numbered
    ResultPart part;
};

// An expression's Vars have their table's number, from 1 on, and the column's of its index.
inline Source begin_source(SourceKind kind, const Var *column, ValueType type, Kind result) {
    Source source = {};
    source.kind = kind;
    source.table = column->varno - 1;
    source.column = column->varattno - 1;
    source.type = type;
    source.result = result;
    source.numbering = no_numbering;
    return source;
}

// ---- numbers of values ------------------------------------------------------------------------------------

struct Numbering {
    Oid type;
    Oid equality;
    Oid collation;  // that equality goes by
    bool is_alone;  // of one key's values, which are compared with no others
    bool is_ordered;
    Oid order_collation;
    // Made in the executor: what numbers stand for. They are codes of a column's only dictionary (entries.h)
    // or the server's (spaces.h), of which these are read, in order; or places in a table, or among its
    // values in their order.
    bool has_table;  // so that numbers aren't codes
    bool is_by_code;
    bool is_by_space;
    column::StringSpace *space;
    uint64 *own_numbers;  // the server's, by place in the table, of values that the session has
    int code_view;
    int code_column;
    uint64 *codes;
    Datum *code_values;
    uint64 code_count;
    ValueTable *values;
    size_t *memory;  // what is left for values of all numberings
    uint32 *ranks;   // by place in the table; nullptr: the order isn't wanted
    Datum *by_rank;
};

struct NumberedConstant {
    uint16 numbering;
    Datum value;
    uint32 constant;  // of the program, which is set when numbers are given
};

// ---- tables -----------------------------------------------------------------------------------------------

// What the engine can't compute is looked up in a table that is made before: an expression that PostgreSQL
// evaluates for each combination that rows have of its inputs, which the engine computes (tables.h).
struct Table {
    List *inputs;            // expressions over the index's columns
    const Expr *expression;  // over inputs: Vars with their numbers, from 1 on
    int input_count;
    const Value *keys;  // of inputs, of which those of 128 bits have two
    int key_count;
    Value result;
    Oid type;
    bool is_condition;  // rows are looked up before all conditions are known to hold
    // Steps name lists by number until they are written: of each key, and of combinations.
    uint32 first_list;
    uint32 parts;  // of a result, each of which has a list
    // Made in the executor, by combination.
    uint64 count;
    uint64 *values_given;  // of keys: Datums where they are to be numbered
    bool *nulls;
    uint64 *results_given;  // the parts of each
    bool *result_nulls;
    bool *is_absent;  // there is no result that the engine has room for, or an error
    // The same with numbers, which each request may give anew (number_tables).
    uint64 *words;
    uint64 *results;
};

// A look_up step names a list by its number, so marked, until lists are written. Other lists are among the
// constants from the beginning.
inline constexpr uint32 kListNumber = UINT32_C(1) << 31;

// The places of an enum's labels in its order: a list that look_up steps look into.
struct RankedType {
    Oid type;
    uint32 list;
};

// What a code of an integer must be added to be the integer.
inline uint64 offset_of_code(const column::ColumnType &type) {
    return type.code == column::IntegerCode::Signed
               ? UINT64CONST(0) - (UINT64CONST(1) << (type.width * 8U - 1))
               : 0;
}

// ---- the program ------------------------------------------------------------------------------------------

// The steps of one of the engine's nodes.
struct NodeSteps {
    engine::Step *steps;
    uint32 count;
    uint32 room;
    uint32 *slots;  // of a hash table of steps: number + 1
};

struct Program {
    MemoryContext context;
    // Of the node that is compiled, in the end of the aggregate. A column's number is that of a source until
    // the engine's nodes are made.
    engine::Step *steps;
    uint32 step_count;
    uint32 step_room;
    uint32 *slots;
    engine::Constant *constants;
    uint32 constant_count;
    uint32 constant_room;
    Source *sources;
    uint32 source_count;
    uint32 source_room;
    Numbering numberings[16];
    uint32 numbering_count;
    size_t number_memory;
    NumberedConstant *numbered;
    uint32 numbered_count;
    Table tables[8];
    uint32 table_count;
    uint32 list_count;
    RankedType ranked_types[8];
    uint32 ranked_type_count;
    // Once lists are written: which one each step names, and how many constants come before them.
    uint32 *list_of_step;
    uint32 constants_before_lists;
    engine::Zone zones[40];
    const pg_tz *zone_names[40];  // nullptr: a fixed offset
    uint32 zone_count;
    bool is_full;  // there were more steps than a node may have
};

// All of them allocate in the current memory context.
Program *begin_program();
uint16 add_step(Program *program, const engine::Step &step);
uint32 add_constant(Program *program, Int128 value);
// So many in a row.
uint32 add_constants(Program *program, const engine::Constant *constants, uint32 count);
uint16 add_source(Program *program, const Source &source);

// A step without operands, guards and details.
inline engine::Step make_step(Operation operation, ValueType type, uint16 left = no_step,
                              uint16 right = no_step, uint16 third = no_step) {
    return {operation, type, 8, left, right, third, no_step, 0};
}

inline uint16 constant_step(Program *program, Int128 value, ValueType type) {
    return add_step(program,
                    make_step(Operation::constant, type, static_cast<uint16>(add_constant(program, value))));
}

inline uint16 constant_step(Program *program, float8 value) {
    return constant_step(program,
                         static_cast<Int128>(static_cast<uint64>(DatumGetInt64(Float8GetDatum(value)))),
                         ValueType::float64);
}

// Has steps added to another node's from here on, and returns those so far.
NodeSteps begin_node_steps(Program *program, const NodeSteps &steps = {});

// Leaves out the steps that none of `kept` needs, and what only they need, and gives the numbers anew. No
// steps are added to them after that.
void drop_unused_steps(Program *program, uint16 *const *kept, uint32 count);

// Leaves out the columns that no step reads, of the program's steps or of these nodes', and the tables that
// none looks into.
void drop_unused_sources(Program *program, const NodeSteps *nodes, uint32 count);

}  // namespace pg_gpu::plan::query
