#include "plan/join_matches.h"

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

// Integers without a dictionary are found by their distance from the least one. Rows are gone through, which
// are fewer than the values that a row could have.
static void place_by_number(const JoinedRows &rows, const ColumnType &type, uint64 base, PartMatches *found) {
    for (uint32 i = 0; i < rows.count; i++) {
        const int64 number =
            number_of_code(rows.inner_type, column::encode_integer(rows.inner_type, rows.keys[i]));
        const uint64 code = code_of_number(type, number) - base;
        if (code < found->places && number_of_code(type, code + base) == number)
            found->by_code[code] = i + 1;
    }
}

static void match_codes(JoinMatches *matches, const AggregatePart &part, JoinedRows *rows,
                        PartMatches *found) {
    constexpr uint32 values_per_reset = 1024;
    const int column = rows->table.root;
    const ColumnType &type = matches->parts->format->types[column];
    const bool is_listed = column::is_listed(part, column);
    if (!is_listed && rows->is_by_number) {
        place_by_number(*rows, type, column::base_of_codes(part, column), found);
        return;
    }
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
    if (is_listed) {
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

// Once for each row of the other table.
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
        found->by_code[code] = match[through.by_code[code]];
    found->of_null = match[through.of_null];
    pfree(match);
}

const PartMatches *find_matches(JoinMatches *matches, int part, int table, const char **problem) {
    const int tables = matches->tables->count;
    PartMatches *found = &matches->of[part * tables + table];
    if (found->by_code != nullptr)
        return found;
    JoinedRows *rows = &matches->tables->table[table];
    const PartMatches *through = nullptr;
    if (rows->table.previous >= 0) {
        through = find_matches(matches, part, rows->table.previous, problem);
        if (through == nullptr)
            return nullptr;
    }
    const AggregatePart &of_part = matches->parts->part[part];
    found->places = column::count_joinable_places(of_part, rows->table.root);
    const size_t bytes = found->places * sizeof(uint32);
    if (found->places == 0)
        *problem = "a column that is joined by has no dictionary any more";
    else if (bytes > *matches->memory)
        *problem = "work_mem has no room for the values that tables are joined by";
    if (*problem != nullptr)
        return nullptr;
    *matches->memory -= bytes;
    found->by_code = allocate_zeroed<uint32>(found->places);
    if (through != nullptr) {
        match_through(matches, *through, rows, found);
    } else {
        match_codes(matches, of_part, rows, found);
        found->of_null = match_null(matches, rows);
    }
    return found;
}

// ---- evaluation -------------------------------------------------------------------------------------------

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
        if (next < 0 || next >= table.first + table.columns)
            continue;
        const PartMatches *found = find_matches(matches, part, i, problem);
        if (found == nullptr)
            return false;
        evaluation->codes = &matches->tables->table[i].codes[next - table.first];
        evaluation->table[evaluation->tables] = i;
        evaluation->found[evaluation->tables++] = found;
    }
    if (bms_membership(columns) != BMS_SINGLETON || evaluation->codes == nullptr ||
        evaluation->codes->by_row == nullptr)
        evaluation->codes = nullptr;
    bms_free(columns);
    return true;
}

bool put_joined_columns(const JoinedEvaluation &evaluation, uint64 code) {
    const JoinMatches &matches = *evaluation.matches;
    for (int i = 0; i < evaluation.tables; i++) {
        const JoinedRows &rows = matches.tables->table[evaluation.table[i]];
        const PartMatches &found = *evaluation.found[i];
        const uint32 number = code == kNullCode ? found.of_null : found.by_code[code];
        if (number == kNoMatch && is_required(rows.table))
            return false;
        put_match(rows, number, matches.row);
    }
    return true;
}

}  // namespace pg_gpu::plan
