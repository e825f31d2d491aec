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
    // Of an expression over one column of one table only: which of its values rows have. nullptr: it isn't
    // known, or the expression is over more.
    const ColumnCodes *codes;
};

// False: *problem says why there is none.
bool begin_joined_evaluation(JoinMatches *matches, int part, const InputSource &source,
                             JoinedEvaluation *evaluation, const char **problem);

// Fills in the tables' columns for a code, or for the column's NULL (kNullCode). False: rows with it don't
// count.
inline constexpr uint64 kNullCode = PG_UINT64_MAX;
bool put_joined_columns(const JoinedEvaluation &evaluation, uint64 code);

// For visit_joined: the first code that leads to a value is visited, and so is the first one without a row.
template <typename Visit, typename Repeat>
void visit_values_once(const JoinedEvaluation &evaluation, const uint8 *marks, Visit visit, Repeat repeat) {
    const ColumnCodes &codes = *evaluation.codes;
    const PartMatches &found = *evaluation.found[0];
    const bool needs_row = is_required(evaluation.matches->tables->table[evaluation.table[0]].table);
    const size_t values = size_t{codes.count} + 2;
    auto *first = allocate<uint64>(values);
    for (size_t value = 0; value < values; value++)
        first[value] = kNullCode;
    constexpr uint64 codes_per_interrupt = 65536;
    for (uint64 code = 0; code < found.places; code++) {
        if (code % codes_per_interrupt == 0)
            CHECK_FOR_INTERRUPTS();
        const uint32 row = found.by_code[code];
        if ((row == kNoMatch && needs_row) || (marks != nullptr && marks[code] == 0))
            continue;
        uint64 *same = &first[row == kNoMatch ? codes.count + 1 : codes.by_row[row - 1]];
        if (*same != kNullCode) {
            repeat(code, *same);
        } else {
            put_joined_columns(evaluation, code);
            *same = code;
            visit(code);
        }
    }
    pfree(first);
}

// Calls visit(code) for the codes that rows which count may have, with the joined row filled in, or
// repeat(code, earlier) where the expression gives the same as for an earlier code.
template <typename Visit, typename Repeat>
void visit_joined(const JoinedEvaluation &evaluation, const uint8 *marks, Visit visit, Repeat repeat) {
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
    if (evaluation.codes != nullptr) {
        visit_values_once(evaluation, marks, visit, repeat);
        return;
    }
    const uint64 base = column::base_of_codes(part, evaluation.column);
    const uint64 places = evaluation.found[0]->places;
    for (uint64 code = 0; code < places; code++)
        if (marks == nullptr || marks[code] != 0)
            visit_value(code, evaluation.needs_value ? column::decode_integer(type, base + code) : Datum{0});
}

}  // namespace pg_gpu::plan
