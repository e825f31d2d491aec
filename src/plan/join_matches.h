// Which rows of joined tables the codes of a part lead to.
#pragma once

#include "column/aggregate_parts.h"
#include "plan/aggregate_compile.h"
#include "plan/join_rows.h"

namespace pg_gpu::plan {

// Of one part and one table: rows' numbers by code, and that of the column's NULL.
struct PartMatches {
    uint32 *by_code;
    uint32 of_null;
    uint64 places;
};

// All that are known so far.
struct JoinMatches {
    JoinedTables *tables;
    const column::AggregateParts *parts;
    ExprContext *context;
    TupleTableSlot *row;  // a joined one
    size_t *memory;       // bytes that may still be taken
    PartMatches *of;      // by part, then by table
};

// In the current memory context.
JoinMatches *begin_matches(JoinedTables *tables, const column::AggregateParts &parts, ExprContext *context,
                           TupleTableSlot *row, size_t *memory);

// nullptr: *problem says why they can't be found.
const PartMatches *find_matches(JoinMatches *matches, int part, int table, const char **problem);

// Evaluates an expression over joined tables for a part's codes that lead to rows: calls take(code, value,
// is_null). `marks` (nullptr: all) tell which codes matter. Codes without a row of a table that must have one
// are passed over, because rows with them don't count.
struct JoinedEvaluation {
    JoinMatches *matches;
    int part;
    int column;
    int tables;
    int table[kMaxJoinedTables];  // that the expression is over
    bool needs_value;             // is it over the index's column, too?
    const PartMatches *found[kMaxJoinedTables];
};

// False: *problem says why there is none.
bool begin_joined_evaluation(JoinMatches *matches, int part, const InputSource &source,
                             JoinedEvaluation *evaluation, const char **problem);

// Fills in the tables' columns for a code, or for the column's NULL (kNullCode). False: rows with it don't
// count.
inline constexpr uint64 kNullCode = PG_UINT64_MAX;
bool put_joined_columns(const JoinedEvaluation &evaluation, uint64 code);

// Calls visit(code) for the codes that rows which count may have, with the joined row filled in.
template <typename Visit>
void visit_joined(const JoinedEvaluation &evaluation, const uint8 *marks, Visit visit) {
    const JoinMatches &matches = *evaluation.matches;
    const column::AggregatePart &part = matches.parts->part[evaluation.part];
    const column::ColumnType &type = matches.parts->format->types[evaluation.column];
    TupleTableSlot *row = matches.row;
    const auto visit_value = [&](uint64 code, Datum value) {
        if (!put_joined_columns(evaluation, code))
            return;
        row->tts_values[evaluation.column] = value;
        row->tts_isnull[evaluation.column] = false;
        visit(code);
    };
    if (evaluation.needs_value && column::is_listed(part, evaluation.column)) {
        column::visit_entries(part, type, evaluation.column, marks, visit_value);
        return;
    }
    const uint64 base = column::base_of_codes(part, evaluation.column);
    const uint64 places = evaluation.found[0]->places;
    for (uint64 code = 0; code < places; code++)
        if (marks == nullptr || marks[code] != 0)
            visit_value(code, evaluation.needs_value ? column::decode_integer(type, base + code) : Datum{0});
}

}  // namespace pg_gpu::plan
