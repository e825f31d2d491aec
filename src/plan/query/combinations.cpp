// The executor's part of tables: PostgreSQL evaluates their expressions for the combinations that rows have
// of the inputs, and the results become lists of the query.
#include "compat.h"
#include "plan/query/failure.h"
#include "plan/query/numbering.h"
#include "plan/query/tables.h"
#include "subtransaction.h"

namespace pg_gpu::plan::query {

// ---- combinations -----------------------------------------------------------------------------------------

// Those that can be asked about by themselves. Without the others there are more combinations.
static List *plain_conditions(const Compiler &compiler, const List *conditions) {
    List *plain = NIL;
    ListCell *cell;
    foreach (cell, conditions) {
        Compiler own = compiler;
        own.program = begin_program();
        compile_truth(&own, static_cast<const Expr *>(lfirst(cell)));
        if (!is_refused(&own))
            plain = lappend(plain, lfirst(cell));
    }
    return plain;
}

namespace {

// Evaluates a table's expression.
struct Evaluation {
    Table *table;
    ExprContext *context;
    ExprState *state;
    TupleTableSlot *row;
    const Datum *inputs;  // by combination
    const bool *nulls;
    bool by_value;
    int16 length;
};

}  // namespace

static Evaluation begin_evaluation(Table *table, ExprContext *context, const Datum *inputs_of_rows,
                                   const bool *nulls) {
    TupleDesc inputs = CreateTemplateTupleDesc(table->input_count);
    for (int i = 0; i < table->input_count; i++) {
        const auto *input = static_cast<const Node *>(list_nth(table->inputs, i));
        const auto number = static_cast<AttrNumber>(i + 1);
        TupleDescInitEntry(inputs, number, nullptr, exprType(input), exprTypmod(input), 0);
        TupleDescInitEntryCollation(inputs, number, exprCollation(input));
    }
    Evaluation evaluation = {table,
                             context,
                             ExecInitExpr(const_cast<Expr *>(table->expression), nullptr),
                             MakeSingleTupleTableSlot(inputs, &TTSOpsVirtual),
                             inputs_of_rows,
                             nulls,
                             false,
                             0};
    get_typlenbyval(table->type, &evaluation.length, &evaluation.by_value);
    return evaluation;
}

// The word of a value that isn't NULL. Values with a numbering stay Datums until numbers are given.
static uint64 word_of(const Value &value, Datum datum, Oid type) {
    switch (value.kind) {
        case Kind::Boolean:
            return DatumGetBool(datum) ? 1 : 0;
        case Kind::Group: {
            if (value.numbering != no_numbering)
                return static_cast<uint64>(datum);
            const column::ColumnType coded = column::describe_type(type, InvalidOid);
            return column::encode_integer(coded, datum) + offset_of_code(coded);
        }
        default:
            return static_cast<uint64>(value.width == 2   ? DatumGetInt16(datum)
                                       : value.width == 4 ? DatumGetInt32(datum)
                                                          : DatumGetInt64(datum));
    }
}

// False: there is no room for it.
static bool write_result(const Table &table, Datum result, uint64 *parts) {
    if (!is_numeric(table.result)) {
        parts[0] = word_of(table.result, result, table.type);
        return true;
    }
    const Numeric numeric = DatumGetNumeric(result);
    Int128 decimal = column::special_of(numeric);
    uint8 shown = 0;
    if (decimal != 0 && table.result.kind == Kind::Extended)
        column::multiply_by_power(&decimal, table.result.unit);
    else if (!read_computed(numeric, table.result.scale, &decimal, &shown))
        return false;
    const bool is_whole = table.parts == 1;
    parts[0] = static_cast<uint64>(is_whole ? decimal : decimal / kPartUnit);
    if (!is_whole) {
        parts[1] = static_cast<uint64>(decimal % kPartUnit);
        parts[2] = shown;
    }
    return true;
}

static void evaluate_row(const Evaluation &evaluation, uint64 number) {
    Table *table = evaluation.table;
    ExprContext *context = evaluation.context;
    ResetExprContext(context);
    ExecClearTuple(evaluation.row);
    const uint64 first = number * static_cast<uint64>(table->input_count);
    for (int i = 0; i < table->input_count; i++) {
        evaluation.row->tts_values[i] = evaluation.inputs[first + static_cast<uint64>(i)];
        evaluation.row->tts_isnull[i] = evaluation.nulls[first + static_cast<uint64>(i)];
    }
    context->ecxt_scantuple = ExecStoreVirtualTuple(evaluation.row);
    bool is_null;
    Datum result = ExecEvalExprSwitchContext(evaluation.state, context, &is_null);
    if (!is_null && !evaluation.by_value)
        result = evaluation.length == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(result))
                                         : datumCopy(result, evaluation.by_value, evaluation.length);
    table->is_absent[number] =
        !is_null && !write_result(*table, result, table->results_given + number * table->parts);
    table->result_nulls[number] = is_null || table->is_absent[number];
}

static void evaluate_rows(const Evaluation &evaluation, uint64 *next) {
    for (; *next < evaluation.table->count; (*next)++) {
        CHECK_FOR_INTERRUPTS();
        evaluate_row(evaluation, *next);
    }
}

// Rows of which a CASE or a FILTER keeps the expression may have its inputs. Without a result they fail in
// the engine only where it is needed.
static const char *evaluate_where_possible(const Evaluation &evaluation) {
    constexpr int max_errors = 1000;
    uint64 next = 0;
    for (int errors = 0; errors < max_errors; errors++) {
        ErrorData *error =
            try_in_subtransaction(CurrentMemoryContext, [&] { evaluate_rows(evaluation, &next); });
        if (error == nullptr)
            return nullptr;
        if (!is_about_values(error->sqlerrcode))
            ReThrowError(error);
        FreeErrorData(error);
        evaluation.table->is_absent[next] = evaluation.table->result_nulls[next] = true;
        next++;
    }
    return "an expression raised an error";
}

static uint64 part_of_wide(const uint64 *words, uint64 part) {
    const Int128 number = column::wide_of_words(words[0], words[1]);
    return static_cast<uint64>(part == 0 ? number / kPartUnit : number % kPartUnit);
}

static const char *evaluate_records(Table *table, const CompiledQuery &compiled, const RecordLayout &layout,
                                    column::QueryResult *result, ExprContext *context) {
    const auto width = static_cast<uint64>(table->input_count);
    const auto keys = static_cast<uint64>(table->key_count);
    table->count = result->rows;
    table->values_given = allocate_zeroed<uint64>(table->count * keys + 1);
    table->nulls = allocate_zeroed<bool>(table->count * keys + 1);
    table->results_given = allocate_zeroed<uint64>(table->count * table->parts + 1);
    table->result_nulls = allocate_zeroed<bool>(table->count + 1);
    table->is_absent = allocate_zeroed<bool>(table->count + 1);
    auto *inputs = allocate_zeroed<Datum>(table->count * width + 1);
    auto *nulls = allocate_zeroed<bool>(table->count * width + 1);
    const uint64 *record;
    uint64 place = 0;
    uint64 key = 0;
    while (uint64 left = column::next_records(result->records, &record)) {
        for (; left > 0; left--, record += result->record_words) {
            CHECK_FOR_INTERRUPTS();
            for (uint64 i = 0; i < width; i++, place++) {
                read_result(compiled, layout, compiled.results[i], record, &inputs[place], &nulls[place]);
                // Decimals are numbers without their points there as here.
                const bool is_wide = compiled.types[i] == ValueType::int128;
                const uint64 *words = record + layout.words[i];
                for (uint64 part = 0; part < (is_wide ? 2U : 1U); part++, key++) {
                    table->nulls[key] = nulls[place];
                    if (nulls[place])
                        continue;
                    const bool is_numbered = table->keys[key % keys].numbering != no_numbering;
                    table->values_given[key] = is_numbered ? static_cast<uint64>(inputs[place])
                                               : is_wide   ? part_of_wide(words, part)
                                                           : words[0];
                }
            }
        }
    }
    const Evaluation evaluation = begin_evaluation(table, context, inputs, nulls);
    const char *problem = nullptr;
    uint64 next = 0;
    if (may_fail(reinterpret_cast<Node *>(const_cast<Expr *>(table->expression))))
        problem = evaluate_where_possible(evaluation);
    else
        evaluate_rows(evaluation, &next);
    ResetExprContext(context);
    ExecDropSingleTupleTableSlot(evaluation.row);
    return problem;
}

static const char *evaluate_table(const Combinations &combinations, List *conditions, Table *table) {
    Compiler compiler = *combinations.compiler;
    compiler.program = begin_program();
    compiler.has_tables = false;
    List *operators = NIL;
    ListCell *cell;
    foreach (cell, table->inputs)
        operators = lappend_oid(
            operators, lookup_type_cache(getBaseType(exprType(static_cast<const Node *>(lfirst(cell)))),
                                         TYPECACHE_EQ_OPR)
                           ->eq_opr);
    QueryTree tree = combinations.tree;
    tree.nodes = allocate<TreeNode>(static_cast<size_t>(tree.count));
    memcpy(tree.nodes, combinations.tree.nodes, static_cast<size_t>(tree.count) * sizeof(TreeNode));
    tree.nodes[tree.count - 1].conditions = conditions;
    CompiledQuery compiled;
    if (!compile_query(&compiler, {tree, table->inputs, operators, NIL, NIL, NIL}, &compiled))
        return compiler.refusal.reason;
    const RecordLayout layout = lay_out_record(compiled);
    column::QueryResult result = {};
    const char *problem = combinations.ask(combinations.context, &compiled, layout, &result);
    if (problem == nullptr)
        problem = find_unknown_result(compiled, layout, &result);
    if (problem == nullptr)
        problem = evaluate_records(table, compiled, layout, &result, compiler.context);
    if (result.records != nullptr)
        column::free_records(result.records);
    return problem;
}

const char *evaluate_tables(const Combinations &combinations, Program *program) {
    if (program->table_count == 0)
        return nullptr;
    Compiler plain = *combinations.compiler;
    plain.has_tables = false;
    List *conditions = plain_conditions(plain, root_of(combinations.tree).conditions);
    const char *problem = nullptr;
    for (uint32 i = 0; i < program->table_count && problem == nullptr; i++)
        problem = evaluate_table(combinations, program->tables[i].is_condition ? NIL : conditions,
                                 &program->tables[i]);
    return problem;
}

// ---- lists ------------------------------------------------------------------------------------------------

// Returns false where there is no room.
static bool number_words(Program *program, uint16 numbering, uint64 *words, const bool *nulls, uint64 count,
                         uint64 step) {
    bool has_room = true;
    for (uint64 i = 0; numbering != no_numbering && i < count * step && has_room; i += step) {
        if (nulls[i])
            continue;
        words[i] = number_of(&program->numberings[numbering], static_cast<Datum>(words[i]));
        has_room = words[i] != kNoValue;
    }
    return has_room;
}

static uint64 *copy_words(const uint64 *words, uint64 count) {
    auto *copy = allocate<uint64>(count + 1);
    memcpy(copy, words, count * sizeof(uint64));
    return copy;
}

bool number_tables(Program *program) {
    bool has_room = true;
    for (uint32 t = 0; t < program->table_count; t++) {
        Table *table = &program->tables[t];
        const auto width = static_cast<uint64>(table->key_count);
        table->words = copy_words(table->values_given, table->count * width);
        table->results = copy_words(table->results_given, table->count * table->parts);
        for (uint64 i = 0; i < width; i++)
            has_room = has_room && number_words(program, table->keys[i].numbering, table->words + i,
                                                table->nulls + i, table->count, width);
        has_room = has_room && number_words(program, table->result.numbering, table->results,
                                            table->result_nulls, table->count, 1);
    }
    return has_room;
}

static uint64 final_word(const Program &program, uint16 numbering, uint64 word) {
    return numbering == no_numbering ? word : final_number(program.numberings[numbering], word);
}

static bool comes_before(const engine::Constant &one, const engine::Constant &other) {
    return static_cast<int64>(one.low) < static_cast<int64>(other.low);
}

// Returns the place of a list; entries are sorted.
static uint32 add_list(Program *program, const engine::Constant *entries, uint64 count) {
    const engine::Constant head = {count, 0};
    const uint32 place = add_constants(program, &head, 1);
    add_constants(program, entries, static_cast<uint32>(count));
    return place;
}

// The list of one key. *places of combinations get those of its values, times `times`; returns by how much
// the next key's are to be multiplied.
static uint64 write_key(Program *program, const Table &table, uint64 key, uint64 times, uint64 *places,
                        uint32 *list) {
    const auto width = static_cast<uint64>(table.key_count);
    auto *entries = allocate<engine::Constant>(table.count + 1);
    uint64 count = 0;
    for (uint64 i = 0; i < table.count; i++)
        if (!table.nulls[i * width + key])
            entries[count++] = {final_word(*program, table.keys[key].numbering, table.words[i * width + key]),
                                0};
    std::sort(entries, entries + count, comes_before);
    const auto is_same = [](const engine::Constant &one, const engine::Constant &other) {
        return one.low == other.low;
    };
    count = static_cast<uint64>(std::unique(entries, entries + count, is_same) - entries);
    for (uint64 i = 0; i < count; i++)
        entries[i].high = (i + 1) * times;
    for (uint64 i = 0; i < table.count; i++) {
        if (table.nulls[i * width + key])
            continue;
        const engine::Constant wanted = {
            final_word(*program, table.keys[key].numbering, table.words[i * width + key]), 0};
        places[i] += std::lower_bound(entries, entries + count, wanted, comes_before)->high;
    }
    *list = add_list(program, entries, count);
    pfree(entries);
    return times * (count + 1);
}

static const char *write_table(Program *program, const Table &table, uint32 *lists) {
    // A request takes a few more constants.
    constexpr uint64 max_entries = 1000000;
    const uint64 lists_of_table = static_cast<uint64>(table.key_count) + table.parts;
    if (program->constant_count + table.count * lists_of_table > max_entries)
        return "an expression has too many combinations of values";
    // Places have room for all combinations that may be.
    constexpr uint64 max_times = UINT64CONST(1) << 40;
    auto *places = allocate_zeroed<uint64>(table.count + 1);
    uint64 times = 1;
    for (int i = 0; i < table.key_count; i++) {
        if (times >= max_times)
            return "an expression has too many combinations of values";
        times = write_key(program, table, static_cast<uint64>(i), times, places, &lists[i]);
    }
    auto *entries = allocate<engine::Constant>(table.count + 1);
    for (uint32 part = 0; part < table.parts; part++) {
        uint64 count = 0;
        for (uint64 i = 0; i < table.count; i++) {
            if (table.is_absent[i])
                continue;
            const uint64 result =
                final_word(*program, table.result.numbering, table.results[i * table.parts + part]);
            if (!table.result_nulls[i] && result == static_cast<uint64>(kNullResult))
                return "an expression gives a number that stands for NULL";
            entries[count++] = {places[i], table.result_nulls[i] ? static_cast<uint64>(kNullResult) : result};
        }
        std::sort(entries, entries + count, comes_before);
        lists[static_cast<uint32>(table.key_count) + part] = add_list(program, entries, count);
    }
    pfree(entries);
    pfree(places);
    return nullptr;
}

// Remembers what lists that an earlier request has written have changed, or takes these away.
static void begin_lists(Program *program) {
    if (program->list_of_step != nullptr) {
        program->constant_count = program->constants_before_lists;
        return;
    }
    program->constants_before_lists = program->constant_count;
    program->list_of_step = static_cast<uint32 *>(
        MemoryContextAllocZero(program->context, (size_t{program->step_count} + 1) * sizeof(uint32)));
    for (uint32 i = 0; i < program->step_count; i++)
        if (program->steps[i].operation == Operation::look_up)
            program->list_of_step[i] = program->steps[i].detail;
}

const char *write_tables(Program *program) {
    if (program->table_count == 0)
        return nullptr;
    begin_lists(program);
    // Lists come behind the constants that steps name by numbers of 16 bits.
    const bool was_full = program->is_full;
    auto *lists = allocate_zeroed<uint32>(size_t{program->list_count} + 1);
    for (uint32 i = 0; i < program->table_count; i++)
        if (const char *problem =
                write_table(program, program->tables[i], lists + program->tables[i].first_list))
            return problem;
    program->is_full = was_full;
    for (uint32 i = 0; i < program->step_count; i++)
        if (program->list_of_step[i] >= kListNumber)
            program->steps[i].detail = lists[program->list_of_step[i] - kListNumber];
    return nullptr;
}

}  // namespace pg_gpu::plan::query
