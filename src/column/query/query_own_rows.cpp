// Rows that the session has itself, as an input of a query.
#include "column/query/query_request.h"
#include "column/format/scaled_numeric.h"
#include "column/query/row_tids.h"
#include "column/scan/values.h"

namespace pg_gpu::column {

using gpu_engine::query::InputColumn;
using gpu_engine::query::InputSource;

namespace {

// A column of the input in the making.
struct NewColumn {
    const OwnColumn *own;
    ColumnView *view;
    uint32 words;  // of a value
    uint64 *values;
    uint64 *nulls;  // a bit a row
    bool any_null;
    bool fails;
    uint64 at;  // next row
};

// A value of a dictionary, converted once.
struct ConvertedEntry {
    Converted result;
    uint64 words[2];
};

}  // namespace

static ConvertedEntry convert(const OwnColumn &own, const TupleValue &value, int scale) {
    ConvertedEntry entry = {Converted::Null, {0, 0}};
    if (!value.is_null)
        entry.result = own.convert(own.context, value, scale, entry.words);
    return entry;
}

static void add(NewColumn *column, const ConvertedEntry &entry) {
    memcpy(column->values + column->at * column->words, entry.words, column->words * sizeof(uint64));
    if (entry.result == Converted::Null) {
        column->nulls[column->at / 64] |= UINT64CONST(1) << (column->at % 64);
        column->any_null = true;
    }
    column->fails = column->fails || entry.result == Converted::Impossible;
    column->at++;
}

// ---- local runs -----------------------------------------------------------------------------------------

// Calls visit(code, is_null) for the column's selected rows.
template <typename Visit>
static void for_codes(ColumnView *view, int run, int number, Visit visit) {
    RunReader *reader = &view->runs[run];
    const ColumnHeader &header = reader->header.column[number];
    const uint64 *selected = view->selected[run];
    uint64 *nulls = read_null_bits(reader, number);
    CodeCursor<uint64> cursor;
    begin_codes(&cursor, reader, header.codes, header.bits, reader->run.entries);
    while (const uint32 groups = next_selected_groups(&cursor, selected)) {
        const uint64 first = cursor.group - groups;
        for (uint32 group = 0; group < groups; group++)
            for (uint64 bits = selected[first + group]; bits != 0; bits &= bits - 1) {
                const int place = __builtin_ctzll(bits);
                const bool is_null = nulls != nullptr && (nulls[first + group] >> place & 1) != 0;
                visit(cursor.values[group * kGroup + static_cast<uint32>(place)], is_null);
            }
    }
    end_codes(&cursor);
    if (nulls != nullptr)
        pfree(nulls);
}

// Converts the entries that selected rows have: no others are anything that a conversion is to see.
static ConvertedEntry *convert_dictionary(const NewColumn &column, int run) {
    const int number = column.own->column;
    RunReader *reader = &column.view->runs[run];
    const ColumnHeader &header = reader->header.column[number];
    const uint64 codes = UINT64CONST(1) << header.bits;
    auto *counts = allocate_zeroed<uint32>(codes);
    auto *entries = allocate_zeroed<ConvertedEntry>(codes);
    count_codes(column.view, run, number, counts);
    if (column.view->format->types[number].is_integer) {
        uint64 *integers = read_integer_dictionary(reader, number);
        for (uint64 code = 0; code < header.distinct && !reader->stale; code++)
            if (counts[code] > 0)
                entries[code] = convert(*column.own, {false, integers[code], {}}, kNotScaled);
        pfree(integers);
    } else {
        StringCursor cursor;
        begin_strings(&cursor, reader, number);
        while (next_string(&cursor))
            if (counts[cursor.ordinal] > 0)
                entries[cursor.ordinal] = convert(*column.own, {false, 0, cursor.value}, kNotScaled);
        end_strings(&cursor);
    }
    pfree(counts);
    return entries;
}

static void add_run(NewColumn *column, int run) {
    const ColumnHeader &header = column->view->runs[run].header.column[column->own->column];
    constexpr ConvertedEntry null = {Converted::Null, {0, 0}};
    if (is_dictionary(header)) {
        ConvertedEntry *entries = convert_dictionary(*column, run);
        for_codes(column->view, run, column->own->column,
                  [&](uint64 code, bool is_null) { add(column, is_null ? null : entries[code]); });
        pfree(entries);
        return;
    }
    const int scale = is_scaled(header) ? header.scale : kNotScaled;
    for_codes(column->view, run, column->own->column, [&](uint64 code, bool is_null) {
        add(column, is_null ? null : convert(*column->own, {false, code + header.base, {}}, scale));
    });
}

// ---- all --------------------------------------------------------------------------------------------------

static uint64 count_own_rows(const ColumnView *view) {
    uint64 rows = 0;
    for (int run = 0; run < view->run_count; run++)
        for (uint64 word = 0; !is_remote(view, run) && word < groups_of(view->runs[run].run.entries); word++)
            rows += static_cast<uint64>(__builtin_popcountll(view->selected[run][word]));
    for (uint32 i = 0; i < view->loose_count; i++)
        rows += view->loose[i].selected ? 1 : 0;
    return rows;
}

static InputColumn make_numbers(const ColumnView *view, uint64 rows) {
    auto *numbers = allocate<uint64>(rows + 1);
    uint64 at = 0;
    for (int run = 0; run < view->run_count; run++)
        for (uint64 word = 0; !is_remote(view, run) && word < groups_of(view->runs[run].run.entries); word++)
            for (uint64 bits = view->selected[run][word]; bits != 0; bits &= bits - 1)
                numbers[at++] =
                    first_row_number(view, run) + word * 64 + static_cast<uint64>(__builtin_ctzll(bits));
    for (uint32 i = 0; i < view->loose_count; i++)
        if (view->loose[i].selected)
            numbers[at++] = first_row_number(view, view->run_count) + i;
    return {numbers, nullptr};
}

static InputColumn make_column(ColumnView *view, const OwnColumn &own, uint64 rows, bool *fails) {
    if (own.convert == nullptr)
        return make_numbers(view, rows);
    NewColumn column = {};
    column.own = &own;
    column.view = view;
    column.words = gpu_engine::query::words_of(own.type);
    column.values = allocate<uint64>(rows * column.words + 1);
    column.nulls = allocate_zeroed<uint64>((rows + 63) / 64 + 1);
    for (int run = 0; run < view->run_count; run++)
        if (!is_remote(view, run))
            add_run(&column, run);
    for (uint32 i = 0; i < view->loose_count; i++)
        if (view->loose[i].selected)
            add(&column, convert(own, view->loose[i].values[own.column], kNotScaled));
    *fails = *fails || column.fails;
    return {column.values, column.any_null ? column.nulls : nullptr};
}

bool take_own_rows(RemoteRows *rows, const OwnColumn *columns, uint32 count, InputSource *input) {
    ColumnView *view = rows->view;
    auto *made = allocate_zeroed<InputColumn>(size_t{count} + 1);
    *input = {count_own_rows(view), made};
    bool fails = false;
    for (uint32 i = 0; i < count && !fails && input->rows > 0 && !is_stale(view); i++)
        made[i] = make_column(view, columns[i], input->rows, &fails);
    if (fails)
        client::decline(rows->kind, rows->choice, "a value has no place among the query's numbers");
    return !fails && !is_stale(view);
}

}  // namespace pg_gpu::column
