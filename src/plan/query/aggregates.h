// Aggregates: what the engine accumulates of a group's rows, and how PostgreSQL's results come of that.
#pragma once

#include "column/query/query_request.h"
#include "plan/query/deviation.h"
#include "plan/query/expression.h"
#include "plan/query/float_moments.h"
#include "plan/query/joins.h"

namespace pg_gpu::plan::query {

enum class ResultKind : uint8 {
    Value,    // what was accumulated, or a key
    Integer,  // a sum as int8
    Sum,      // as numeric
    Average,  // of integers and decimals
    FloatSum,
    FloatAverage,
    Deviation,     // variances and standard deviations of integers and decimals
    Regression,    // covariances, correlations and regressions of two integers or decimals
    FloatMoments,  // variances and regressions of floats
    ShownExtreme,  // the least or greatest of decimals shown by row (append_shown)
    IntervalSum,
    IntervalAverage,
    IntervalExtreme,   // the least or greatest of intervals that may look different (append_look)
    BetweenIntervals,  // percentile_cont of intervals
    Array,             // percentiles
};

// Columns of the aggregate's rows: numbers of keys, then of accumulators.
struct Result {
    ResultKind kind;
    Oid type;
    Value argument;  // its meaning; of a key the key's
    uint16 value;
    uint16 count;
    // Of decimals shown by row: the most digits; of intervals that may look different: the greatest look;
    // no_step: the argument tells.
    uint16 shown;
    uint16 squares;
    // Deviation: the sums of the parts' products and of the lower parts' squares, squares being those of the
    // higher parts; no_step: numbers are whole.
    uint16 part_products;
    uint16 lower_squares;
    // Of a sum: the least and the greatest special numeric among what is added; no_step: all are finite.
    uint16 least_special;
    uint16 greatest_special;
    // Of a sum of distinct numerics shown by row: how many different ones there are, and how many that differ
    // in their looks, too; no_step: all look alike.
    uint16 distinct_values;
    uint16 distinct_looks;
    // Of a key that is a float: the least and the greatest truth value of "its sign is that of -1", which
    // tell a group of zeros from one of -0; no_step: it is never -0.
    uint16 least_sign;
    uint16 greatest_sign;
    Value other;  // Regression: the second argument, of which these are sums, and that of both's products
    uint16 other_sum;
    uint16 other_squares;
    uint16 products;
    FinalFunctions functions;  // Deviation, Regression, FloatMoments
    bool is_wide;              // Deviation: by states of numerics
    const FloatColumns *floats;
    // ShownExtreme, IntervalExtreme: the same with another look behind it; no_step: it is any row's value.
    // IntervalSum, IntervalAverage: the sum of what months and days leave. BetweenIntervals: the interval
    // above.
    uint16 rest;
    uint16 months;       // IntervalSum, IntervalAverage: theirs, the value being that of days
    uint16 least_shown;  // of such a key: the fewest digits, or the least look
    float8 fraction;     // BetweenIntervals
    int32 padded;  // of a char(n): its typmod, to which other values that equal it are padded; 0: no other
    Result *elements;  // Array: as many as its shape has; those without a value (no_step) are NULL
    ArrayType *shape;
};

// Numbers whose squares may have no room are squared in two parts.
inline constexpr int64 kLowerPart = INT64CONST(1000000000000000);

// Conditions on groups (having.h), whose steps read the aggregate's columns.
struct CompiledHaving {
    NodeSteps steps;
    uint16 filter;  // no_step: all groups leave the engine
    bool is_whole;  // no other groups are dropped afterwards
};

// A window (windows.h), whose functions are accumulators from `first` on. The first items of its order tell
// partitions apart. `frame_first` and `frame_last` are as the engine has them.
struct CompiledWindow {
    const List *order;
    int partition_keys;
    int64 frame_first;
    int64 frame_last;
    // Of a frame by values: columns.
    uint16 frame_key;
    uint16 frame_from;
    uint16 frame_to;
    uint32 first;
    uint32 count;
};

struct CompiledQuery {
    Program *program;
    QueryTree tree;
    CompiledNode *nodes;  // by node of the tree
    uint16 filter;        // no_step: all rows
    bool gives_rows;      // each row that passes leaves the engine: keys are its columns
    uint16 *keys;
    uint32 key_count;
    engine::Accumulator *accumulators;
    uint32 accumulator_count;
    uint32 first_accumulator;  // equal ones before it have other frames
    CompiledWindow *windows;
    uint32 window_count;
    const ValueType *types;  // of keys, then of accumulators
    Result *results;         // of keys, then of aggregates
    uint32 result_count;
    CompiledHaving having;
};

// The operator that an aggregate's value comes first by, as min and max have one; InvalidOid: it has none.
Oid sort_operator_of(Oid aggregate);

// Compiles the expressions of an aggregate. False: the compiler says why not.
struct QueryParts {
    QueryTree tree;  // with the conditions that aren't answered by codes
    const List *keys;
    const List *key_operators;  // NIL: keys aren't grouped by, but the expressions of rows (gives_rows)
    const List *aggregates;     // Aggrefs; WindowFuncs where there are windows
    const List *order;          // the results that are sorted by (top.h)
    const List *windows;        // as windows.h has them
};
bool compile_query(Compiler *compiler, const QueryParts &parts, CompiledQuery *compiled);

// The same without the joins below: the conditions of the node whose rows are grouped, keys and aggregates.
// Their steps are the program's.
bool compile_groups(Compiler *compiler, const QueryParts &parts, const List *conditions,
                    CompiledQuery *compiled);

// A result as PostgreSQL gives it, in the current memory context, of a record of the aggregate's rows.
struct RecordLayout {
    uint32 columns;
    const uint32 *words;  // by column: where its value begins
};
RecordLayout lay_out_record(const CompiledQuery &compiled);
void read_result(const CompiledQuery &compiled, const RecordLayout &layout, const Result &result,
                 const uint64 *record, Datum *value, bool *is_null);

// Why a result of some record is known by PostgreSQL's own plan alone; nullptr: none is.
const char *find_unknown_result(const CompiledQuery &compiled, const RecordLayout &layout,
                                column::QueryResult *records);

}  // namespace pg_gpu::plan::query
