// Which rows of joined tables the codes of a part lead to.
#pragma once

#include "column/query/aggregate_parts.h"
#include "plan/query/aggregate_compile.h"
#include "plan/query/join_rows.h"

namespace pg_gpu::plan {

// Of one part and one table: rows' numbers by code, and that of the column's NULL. Codes that are numbers may
// be looked up where the table's rows are found by theirs.
struct PartMatches {
    uint32 *by_code;          // nullptr: by_number
    const uint32 *by_number;  // of the table's rows
    uint64 distance;          // of code 0 from the least number
    uint64 numbers;
    uint32 of_null;
    uint64 places;  // 0: nothing is known yet
};

inline uint32 match_of(const PartMatches &found, uint64 code) {
    if (found.by_code != nullptr)
        return found.by_code[code];
    const uint64 number = code + found.distance;
    return number < found.numbers ? found.by_number[number] : kNoMatch;
}

// All that are known so far.
struct JoinMatches {
    JoinedTables *tables;
    const column::AggregateParts *parts;
    ExprContext *context;
    TupleTableSlot *row;  // a joined one
    size_t *memory;       // bytes that may still be taken
    PartMatches *of;      // by part, then by table
};

// Allocates in the current memory context.
JoinMatches *begin_matches(JoinedTables *tables, const column::AggregateParts &parts, ExprContext *context,
                           TupleTableSlot *row, size_t *memory);

// nullptr: *problem says why they can't be found.
const PartMatches *find_matches(JoinMatches *matches, int part, int table, const char **problem);

// A part's codes that are numbers without a dictionary, as the keys of a table's rows are: those of rows
// follow from these, so that codes needn't be looked up.
struct NumberedCodes {
    bool are_there;
    int64 first;  // code 0's number
    uint64 places;
};
NumberedCodes number_codes(const JoinMatches &matches, int part, int table);

// The code of a row, from 0 on; false: rows of the part don't fit it.
inline bool code_of_row(const JoinedRows &rows, const NumberedCodes &codes, uint32 row, uint64 *code) {
    const int64 number =
        number_of_code(rows.inner_type, column::encode_integer(rows.inner_type, key_of_row(rows, row)));
    *code = static_cast<uint64>(number) - static_cast<uint64>(codes.first);
    return *code < codes.places;
}

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
    // The codes of the rows of a table that an expression is over alone, if it must have a row. Nothing is
    // found then.
    NumberedCodes numbered;
    // Of an expression over one column of one table only: which of its values rows have. nullptr: it isn't
    // known, or the expression is over more.
    const ColumnCodes *codes;
};

// How many values the one column of a joined table has that the expression is over, NULL included; 0: it
// isn't known, or the expression is over more.
uint32 count_joined_values(const JoinMatches &matches, const InputSource &source);

// False: *problem says why there is none.
bool begin_joined_evaluation(JoinMatches *matches, int part, const InputSource &source,
                             JoinedEvaluation *evaluation, const char **problem);

// Fills in the tables' columns for a code, or for the column's NULL (kNullCode). False: rows with it don't
// count.
inline constexpr uint64 kNullCode = PG_UINT64_MAX;
bool put_joined_columns(const JoinedEvaluation &evaluation, uint64 code);

inline constexpr uint64 kCodesPerInterrupt = 65536;

// What visit_joined does row by row.
template <typename Visit, typename Repeat>
void visit_rows(const JoinedEvaluation &evaluation, const uint8 *marks, Visit visit, Repeat repeat) {
    const JoinedRows &rows = evaluation.matches->tables->table[evaluation.table[0]];
    const ColumnCodes *codes = evaluation.codes;
    const size_t values = codes == nullptr ? 0 : size_t{codes->count} + 1;
    auto *first = allocate<uint64>(values + 1);
    for (size_t value = 0; value < values; value++)
        first[value] = kNullCode;
    for (uint32 row = 0; row < rows.count; row++) {
        if (row % kCodesPerInterrupt == 0)
            CHECK_FOR_INTERRUPTS();
        uint64 code;
        if (!code_of_row(rows, evaluation.numbered, row, &code) || (marks != nullptr && marks[code] == 0))
            continue;
        uint64 *same = codes == nullptr ? nullptr : &first[codes->by_row[row]];
        if (same != nullptr && *same != kNullCode) {
            repeat(code, *same);
            continue;
        }
        if (same != nullptr)
            *same = code;
        put_match(rows, row + 1, evaluation.matches->row);
        visit(code);
    }
    pfree(first);
}

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
    for (uint64 code = 0; code < found.places; code++) {
        if (code % kCodesPerInterrupt == 0)
            CHECK_FOR_INTERRUPTS();
        const uint32 row = match_of(found, code);
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
    if (evaluation.numbered.are_there) {
        visit_rows(evaluation, marks, visit, repeat);
        return;
    }
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
