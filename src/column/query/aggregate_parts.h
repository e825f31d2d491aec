// A view's rows in parts, whose columns all have codes: its runs, and the loose rows, which are gathered in
// memory as if they were a run.
#pragma once

#include "column/build/chunk.h"
#include "column/scan/value_list.h"
#include "column/scan/view.h"

namespace pg_gpu::column {

struct AggregatePart {
    RunReader *reader;   // nullptr: the loose rows
    const Chunk *chunk;  // of the loose rows
    uint64 rows;
    const uint64 *selected;  // a bit a row
    const uint64 *places;    // of the loose rows' TIDs
    // By column: lists that give scaled numerics codes (use_list). nullptr: none has one.
    const ValueList **lists;
    // By input: a bit a row, set where it is true (use_true_rows). nullptr: of none is it known.
    const uint64 **true_rows;
};

struct AggregateParts {
    const Format *format;
    AggregatePart *part;
    int count;
};

// How many rows all parts have, selected or not.
uint64 count_rows(const AggregateParts &parts);

// Makes the parts of a view whose rows have been selected, in the current memory context.
AggregateParts make_parts(ColumnView *view);

// How many codes a column has in a part, all of them below it; 0 where codes are integers that come row by
// row. Integers in so few bits have codes though they have no dictionary.
inline constexpr uint32 kMaxCodedBits = 16;
static_assert(kMaxCodedBits < kLeastScaledBits);
uint64 count_places(const AggregatePart &part, int column);

// The same for codes that lead to rows of joined tables, whose maps may be greater.
inline constexpr uint32 kMaxJoinableBits = 24;
uint64 count_joinable_places(const AggregatePart &part, int column);

// Are codes numbers of values that a dictionary, the loose rows, or a list of a run's values have?
bool is_listed(const AggregatePart &part, int column);

// Of a run with such codes: how many values they stand for.
uint64 count_entries(const AggregatePart &part, int column);

// The list of a column whose scaled numerics have codes in this part; nullptr: they have none.
inline const ValueList *list_of(const AggregatePart &part, int column) {
    return part.lists == nullptr ? nullptr : part.lists[column];
}

// From now on the numbers of the list are the column's codes in this part.
void use_list(AggregatePart *part, int columns, int column, const ValueList *list);

// The rows of which an input is known to be true, if it is known; nullptr otherwise.
inline const uint64 *true_rows_of(const AggregatePart &part, uint32 input) {
    return part.true_rows == nullptr ? nullptr : part.true_rows[input];
}

// From now on that is read of the input instead of the column's codes.
void use_true_rows(AggregatePart *part, uint32 inputs, uint32 input, const uint64 *rows);

// A bit for each row of a run, selected or not, by one for each code, and by what holds for NULL.
void find_true_rows(const AggregatePart &part, int column, const uint64 *truth, bool of_null, uint64 *rows);

// What the values of integers that come row by row are more than their codes.
uint64 base_of_codes(const AggregatePart &part, int column);

// The least and the greatest value among a part's entries, whoever sees them; false when there is none. Where
// codes have all bits that the type has, the least one isn't known: 0 then.
bool find_code_bounds(const AggregatePart &part, int column, uint64 *least, uint64 *greatest);
// The same among values from `lowest` to `highest`, for which all rows are looked at.
bool find_code_bounds_within(const AggregatePart &part, const ColumnType &type, int column, uint64 lowest,
                             uint64 highest, uint64 *least, uint64 *greatest);

// The same of a column of floats, infinities and NaN aside. Where a run's header doesn't tell, all of its
// rows are looked at, once a session.
bool find_finite_bounds(const AggregatePart &part, const ColumnType &type, int column, uint64 *least,
                        uint64 *greatest);

// ---- what a planner wants to know -------------------------------------------------------------------------

// What the headers of all runs together say of a column.
struct ColumnSummary {
    bool has_codes;    // in each run of columns
    bool is_joinable;  // do codes lead to rows of joined tables, in each run of columns?
    uint64 places;     // of codes, in all runs
    uint64 joinable_places;
    uint64 words;  // of codes and dictionaries
    // Do they, or would they with lists of scaled numerics? How many rows have none, and what lists take.
    bool can_be_listed;
    uint64 unlisted_rows;
    uint64 list_bytes;
};
struct IndexSummary {
    uint64 rows;
    int runs;
    ColumnSummary column[kMaxColumns];
};
IndexSummary summarise_columns(Relation index, const Format &format);

// ---- codes of rows ----------------------------------------------------------------------------------------

// One column's codes of a part, a batch at a time. The array is `narrow` or `wide`.
struct PartCodes {
    const AggregatePart *part;
    int column;
    bool is_wide;
    const uint64 *null_bits;  // a bit a row; nullptr without NULLs
    CodeCursor<uint32> narrow_cursor;
    CodeCursor<uint64> wide_cursor;
    const ValueList *list;  // whose numbers are wanted; nullptr: codes are as they are
    const uint32 *narrow;
    const uint64 *wide;
    uint64 first;  // group from which on codes are there; kNoGroup: none are
    uint64 rows;   // of which they are there, by a number; kAllRows: of all
};
inline constexpr uint64 kNoGroup = PG_UINT64_MAX;
inline constexpr uint64 kAllRows = 0;

// Makes *codes ready, in the current memory context.
void begin_part_codes(PartCodes *codes, const AggregatePart &part, int column);
// Codes of the rows from group `first` on, kBatchGroups groups or as many as there are. They mean nothing
// when the run is stale then, but are codes.
void read_part_codes(PartCodes *codes, uint64 first);
// The same of some rows, `positions` from that group on; other rows' codes mean nothing then. `rows` tells
// these rows apart from others that were asked for in that group: the same ones have the same number.
void read_codes_of_rows(PartCodes *codes, uint64 first, const uint16 *positions, uint32 count, uint64 rows);

// marks[code] = 1 for the codes of selected rows that aren't NULL in the column; *any_null when one is.
void mark_codes(const AggregatePart &part, int column, const uint64 *selected, uint8 *marks, bool *any_null);

// ---- what codes stand for ---------------------------------------------------------------------------------

// The value of a column without a dictionary that this integer stands for; good until the buffer has another.
inline Datum value_of_code(const AggregatePart &part, const ColumnType &type, int column, uint64 code,
                           ValueBuffer *buffer) {
    if (type.is_integer)
        return decode_integer(type, code);
    return datum_of_scaled(type, code, part.reader->header.column[column].scale, buffer);
}

// Calls visit(code, bytes) for the marked entries of a run's dictionary of strings, or for all (`marks`
// nullptr).
template <typename Visit>
void visit_strings(const AggregatePart &part, int column, const uint8 *marks, Visit visit) {
    StringCursor cursor;
    begin_strings(&cursor, part.reader, column);
    while (next_string(&cursor))
        if (marks == nullptr || marks[cursor.ordinal] != 0)
            visit(cursor.ordinal, cursor.value);
    end_strings(&cursor);
}

// Calls visit(code, datum) for the codes that are marked, or for all that are entries of a dictionary
// (`marks` nullptr). The datum is good during the call. Integers without a dictionary need marks: not every
// number is a value.
template <typename Visit>
void visit_entries(const AggregatePart &part, const ColumnType &type, int column, const uint8 *marks,
                   Visit visit) {
    const uint64 places = count_places(part, column);
    const auto wanted = [marks](uint64 code) { return marks == nullptr || marks[code] != 0; };
    ValueBuffer buffer = {nullptr, 0};
    if (part.reader == nullptr) {
        const ChunkColumn &values = part.chunk->column[column];
        for (uint64 code = 0; code < distinct_values(values); code++) {
            if (!wanted(code))
                continue;
            visit(code, type.is_integer
                            ? decode_integer(type, values.integers.keys[code])
                            : datum_of(type, string_at(values.strings, static_cast<uint32>(code)), &buffer));
        }
    } else if (const ValueList *list = list_of(part, column)) {
        const uint64 base = part.reader->header.column[column].base;
        uint64 *codes = codes_of_list(part.reader, column, *list);
        for (uint64 number = 0; number < list->count; number++) {
            if (number % kBatch == 0)
                CHECK_FOR_INTERRUPTS();
            if (wanted(number) && !part.reader->stale)
                visit(number, value_of_code(part, type, column, base + codes[number], &buffer));
        }
        pfree(codes);
    } else if (!is_dictionary(part.reader->header.column[column])) {
        const uint64 base = part.reader->header.column[column].base;
        for (uint64 code = 0; code < places; code++)
            if (marks[code] != 0 && !part.reader->stale)
                visit(code, decode_integer(type, base + code));
    } else if (type.is_integer) {
        uint64 *entries = read_integer_dictionary(part.reader, column);
        for (uint64 code = 0; code < part.reader->header.column[column].distinct; code++) {
            if (code % kBatch == 0)
                CHECK_FOR_INTERRUPTS();
            if (wanted(code) && !part.reader->stale)
                visit(code, decode_integer(type, entries[code]));
        }
        pfree(entries);
    } else {
        visit_strings(part, column, marks,
                      [&](uint64 code, const Bytes &bytes) { visit(code, datum_of(type, bytes, &buffer)); });
    }
    if (buffer.data != nullptr)
        pfree(buffer.data);
}

}  // namespace pg_gpu::column
