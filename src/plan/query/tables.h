// Expressions that the engine doesn't have, over several columns or over columns without a dictionary: as
// `payment || '/' || zone`, or `to_char(moment, 'YYYY-MM')`. What of such an expression the engine computes
// are its inputs. Before the query is asked, another one finds the combinations that rows have of them;
// PostgreSQL evaluates the expression for each, and the query looks the results up. So it may be part of a
// condition, an aggregate or a group.
#pragma once

#include "plan/query/aggregates.h"
#include "plan/query/columns.h"

namespace pg_gpu::plan::query {

// No expression has more combinations.
inline constexpr uint64 kMaxCombinations = 200000;

// Stands for NULL in a table. No other result may be it.
inline constexpr int64 kNullResult = PG_INT64_MIN + 12345;

// Numbers of 128 bits come in two parts, and how many digits they show is the third.
inline constexpr uint32 kDecimalParts = 3;
inline constexpr int64 kPartUnit = INT64CONST(1000000000000000000);

// An expression that was refused. The compiler keeps the refusal where no table can be made of it either.
Value compile_table(Compiler *compiler, const Expr *expression);

// ---- in the executor --------------------------------------------------------------------------------------

// Asks a query of keys alone. Returns nullptr, or why there is no answer.
using AskQuery = const char *(*)(void *context, CompiledQuery *compiled, const RecordLayout &layout,
                                 column::QueryResult *result);

// Finds the combinations of all tables, and evaluates the expressions. Returns nullptr, or why that can't be
// done. In the current memory context.
struct Combinations {
    const Compiler *compiler;  // with the facts of the view
    QueryTree tree;
    AskQuery ask;
    void *context;
};
const char *evaluate_tables(const Combinations &combinations, Program *program);

// Gives numbers to what isn't computed with, while numbers are given. Returns false where there is no room.
bool number_tables(Program *program);

// Writes the lists behind the constants, when numbers are final. Returns nullptr, or why that can't be done.
const char *write_tables(Program *program);

}  // namespace pg_gpu::plan::query
