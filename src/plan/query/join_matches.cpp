#include "plan/query/join_matches.h"

namespace pg_gpu::plan {

using column::AggregatePart;
using column::ColumnType;

JoinMatches *begin_matches(JoinedTables *tables, const column::AggregateParts &parts, ExprContext *context,
                           TupleTableSlot *row, size_t *memory) {
    auto *matches = allocate_zeroed<JoinMatches>(1);
    matches->tables = tables;
    matches->parts = &parts;
    matches->context = context;
    matches->row = row;
    matches->memory = memory;
    matches->of = allocate_zeroed<PartMatches>((static_cast<size_t>(parts.count) + 1) *
                                               static_cast<size_t>(tables->count));
    return matches;
}

// ---- by the index's column --------------------------------------------------------------------------------

NumberedCodes number_codes(const JoinMatches &matches, int part, int table) {
    const AggregatePart &of_part = matches.parts->part[part];
    const JoinedRows &rows = matches.tables->table[table];
    const int column = rows.table.root;
    if (rows.table.previous >= 0 || !rows.is_by_number || column::is_listed(of_part, column))
        return {};
    return {true,
            number_of_code(matches.parts->format->types[column], column::base_of_codes(of_part, column)),
            column::count_joinable_places(of_part, column)};
}

// Rows are gone through, which are fewer than the values that a row could have. NULL fits none.
static void place_rows(const JoinedRows &rows, const NumberedCodes &codes, uint32 *by_code) {
    for (uint32 row = 0; row < rows.count; row++) {
        uint64 code;
        if (code_of_row(rows, codes, row, &code) && by_code[code] == kNoMatch)
            by_code[code] = row + 1;
    }
}

static void match_codes(JoinMatches *matches, const AggregatePart &part, JoinedRows *rows,
                        PartMatches *found) {
    constexpr uint32 values_per_reset = 1024;
    const int column = rows->table.root;
    const ColumnType &type = matches->parts->format->types[column];
    TupleTableSlot *row = matches->row;
    uint32 count = 0;
    row->tts_isnull[column] = false;
    const bool is_compared = IsA(rows->table.outer, Var);
    const auto match = [&](uint64 code, Datum value) {
        row->tts_values[column] = value;
        found->by_code[code] = is_compared ? find_key(rows, value) : find_match(rows, matches->context, row);
        if (++count % values_per_reset == 0) {
            ResetExprContext(matches->context);
            CHECK_FOR_INTERRUPTS();
        }
    };
    if (column::is_listed(part, column)) {
        column::visit_entries(part, type, column, nullptr, match);
    } else {
        const uint64 base = column::base_of_codes(part, column);
        for (uint64 code = 0; code < found->places; code++)
            match(code, column::decode_integer(type, base + code));
    }
    ResetExprContext(matches->context);
}

static uint32 match_null(JoinMatches *matches, JoinedRows *rows) {
    matches->row->tts_values[rows->table.root] = Datum{0};
    matches->row->tts_isnull[rows->table.root] = true;
    const uint32 match = find_match(rows, matches->context, matches->row);
    ResetExprContext(matches->context);
    return match;
}

// ---- by another table -------------------------------------------------------------------------------------

// Looks a key up once for each row of the other table.
static void match_through(JoinMatches *matches, const PartMatches &through, JoinedRows *rows,
                          PartMatches *found) {
    const JoinedRows &other = matches->tables->table[rows->table.previous];
    auto *match = allocate<uint32>(size_t{other.count} + 1);
    for (uint32 number = 0; number <= other.count; number++) {
        put_match(other, number, matches->row);
        match[number] = find_match(rows, matches->context, matches->row);
        if (number % 1024 == 0) {
            ResetExprContext(matches->context);
            CHECK_FOR_INTERRUPTS();
        }
    }
    ResetExprContext(matches->context);
    for (uint64 code = 0; code < found->places; code++)
        found->by_code[code] = match[match_of(through, code)];
    found->of_null = match[through.of_null];
    pfree(match);
}

const PartMatches *find_matches(JoinMatches *matches, int part, int table, const char **problem) {
    const int tables = matches->tables->count;
    PartMatches *found = &matches->of[part * tables + table];
    if (found->places > 0)
        return found;
    JoinedRows *rows = &matches->tables->table[table];
    const PartMatches *through = nullptr;
    if (rows->table.previous >= 0) {
        through = find_matches(matches, part, rows->table.previous, problem);
        if (through == nullptr)
            return nullptr;
    }
    const AggregatePart &of_part = matches->parts->part[part];
    const uint64 places = column::count_joinable_places(of_part, rows->table.root);
    const NumberedCodes numbered = number_codes(*matches, part, table);
    const bool is_by_number = numbered.are_there && rows->numbers > 0;
    const size_t bytes = is_by_number ? 0 : places * sizeof(uint32);
    if (places == 0)
        *problem = "a column that is joined by has no dictionary any more";
    else if (bytes > *matches->memory)
        *problem = "work_mem has no room for the values that tables are joined by";
    if (*problem != nullptr)
        return nullptr;
    *matches->memory -= bytes;
    found->places = places;
    if (is_by_number) {
        index_rows(rows);
        found->by_number = rows->by_number;
        found->distance = static_cast<uint64>(numbered.first) - static_cast<uint64>(rows->least_number);
        found->numbers = rows->numbers;
        return found;
    }
    found->by_code = allocate_zeroed<uint32>(places);
    if (numbered.are_there) {
        place_rows(*rows, numbered, found->by_code);
    } else if (through != nullptr) {
        match_through(matches, *through, rows, found);
    } else {
        match_codes(matches, of_part, rows, found);
        found->of_null = match_null(matches, rows);
    }
    return found;
}

// ---- evaluation -------------------------------------------------------------------------------------------

// The codes of the only column that an expression is over; nullptr: there are none.
static const ColumnCodes *codes_of_column(const JoinMatches &matches, const Bitmapset *columns) {
    int column;
    if (!bms_get_singleton_member(columns, &column))
        return nullptr;
    for (int i = 0; i < matches.tables->count; i++) {
        const JoinedRows &rows = matches.tables->table[i];
        if (column < rows.table.first || column >= rows.table.first + rows.table.columns)
            continue;
        const ColumnCodes *codes = &rows.codes[column - rows.table.first];
        return codes->by_row == nullptr ? nullptr : codes;
    }
    return nullptr;
}

uint32 count_joined_values(const JoinMatches &matches, const InputSource &source) {
    Bitmapset *columns = columns_of(source.expression);
    const ColumnCodes *codes = codes_of_column(matches, columns);
    bms_free(columns);
    return codes == nullptr ? 0 : codes->count + 1;
}

bool begin_joined_evaluation(JoinMatches *matches, int part, const InputSource &source,
                             JoinedEvaluation *evaluation, const char **problem) {
    *evaluation = {};
    evaluation->matches = matches;
    evaluation->part = part;
    evaluation->column = source.column;
    Bitmapset *columns = columns_of(source.expression);
    evaluation->needs_value = bms_is_member(source.column, columns);
    for (int i = 0; i < matches->tables->count; i++) {
        const JoinedTable &table = matches->tables->table[i].table;
        const int next = bms_next_member(columns, table.first - 1);
        if (next >= 0 && next < table.first + table.columns)
            evaluation->table[evaluation->tables++] = i;
    }
    const int only = evaluation->table[0];
    if (evaluation->tables == 1 && !evaluation->needs_value &&
        is_required(matches->tables->table[only].table))
        evaluation->numbered = number_codes(*matches, part, only);
    for (int i = 0; i < evaluation->tables && !evaluation->numbered.are_there; i++) {
        evaluation->found[i] = find_matches(matches, part, evaluation->table[i], problem);
        if (evaluation->found[i] == nullptr)
            return false;
    }
    evaluation->codes = codes_of_column(*matches, columns);
    bms_free(columns);
    return true;
}

bool put_joined_columns(const JoinedEvaluation &evaluation, uint64 code) {
    if (evaluation.numbered.are_there) {
        Assert(code == kNullCode);
        return false;
    }
    const JoinMatches &matches = *evaluation.matches;
    for (int i = 0; i < evaluation.tables; i++) {
        const JoinedRows &rows = matches.tables->table[evaluation.table[i]];
        const PartMatches &found = *evaluation.found[i];
        const uint32 number = code == kNullCode ? found.of_null : match_of(found, code);
        if (number == kNoMatch && is_required(rows.table))
            return false;
        put_match(rows, number, matches.row);
    }
    return true;
}

}  // namespace pg_gpu::plan
