#include "plan/query/tables.h"

#include "compat.h"
#include "plan/query/failure.h"
#include "plan/query/numbering.h"

#include "catalog/pg_collation_d.h"

namespace pg_gpu::plan::query {

// Stands for NULL in a table. No other result may be it.
static constexpr int64 kNull = PG_INT64_MIN + 12345;
// What is longer takes too long to look at for each of its parts.
static constexpr int kMaxNodes = 100;
static constexpr int kMaxAttempts = 16;
static constexpr int kMaxInputs = 8;

// ---- inputs -----------------------------------------------------------------------------------------------

namespace {

struct Cut {
    Compiler *compiler;
    Table *table;
    Value *values;
    bool is_whole;  // the expression itself is looked at, which can't be an input
    bool is_refused;
};

}  // namespace

static bool has_case_value(Node *node, void *context) {
    return node != nullptr && (IsA(node, CaseTestExpr) || walk_expression(node, has_case_value, context));
}

static bool is_input(const Value &value) {
    switch (value.kind) {
        case Kind::Boolean:
        case Kind::Integer:
        case Kind::Date:
        case Kind::Timestamp:
        case Kind::Group:
            return !value.is_null && value.type != ValueType::int128;
        case Kind::Decimal:
            return !value.is_null && value.type == ValueType::int64 && value.shown != kShownByRow;
        default:
            return false;
    }
}

static Node *var_of_input(Node *node, int number) {
    return reinterpret_cast<Node *>(makeVar(1, static_cast<AttrNumber>(number + 1), exprType(node),
                                            exprTypmod(node), exprCollation(node), 0));
}

// Makes it an input, if the engine computes it; nullptr: it doesn't.
static Node *take_input(Cut *cut, Node *node) {
    for (int i = 0; i < cut->table->input_count; i++)
        if (equal(list_nth(cut->table->inputs, i), node))
            return var_of_input(node, i);
    Compiler *compiler = cut->compiler;
    const uint16 guard = compiler->guard;
    const Value value = compile(compiler, reinterpret_cast<const Expr *>(node));
    const bool is_taken = !is_refused(compiler) && is_input(value) && cut->table->input_count < kMaxInputs;
    compiler->refusal = {};
    compiler->guard = guard;
    if (!is_taken)
        return nullptr;
    cut->values[cut->table->input_count] = value;
    cut->table->inputs = lappend(cut->table->inputs, node);
    return var_of_input(node, cut->table->input_count++);
}

// ---- to_char ----------------------------------------------------------------------------------------------

// The unit within which a pattern shows the same of all moments; nullptr: there is none. Other letters of a
// pattern show themselves, and a part of it that looks like a shorter unit does no harm.
static const char *unit_of_pattern(const char *pattern) {
    char *upper = pstrdup(pattern);
    for (char *at = upper; *at != '\0'; at++)
        *at = static_cast<char>(pg_toupper(static_cast<unsigned char>(*at)));
    const auto has_any = [upper](std::initializer_list<const char *> parts) {
        return std::any_of(parts.begin(), parts.end(),
                           [upper](const char *part) { return strstr(upper, part) != nullptr; });
    };
    if (has_any({"US", "MS", "FF", "TZ", "OF", "\\"}))
        return nullptr;
    if (has_any({"SS"}))
        return "second";
    if (has_any({"MI"}))
        return "minute";
    if (has_any({"HH", "AM", "PM", "A.M", "P.M"}))
        return "hour";
    return has_any({"D", "W", "J", "I"}) ? "day" : "month";
}

// A call whose moment is cut to that unit. Such a pattern shows no zone, so local time is cut: between two
// jumps of the clocks there needn't be a moment at which an hour begins.
static Node *with_coarse_moment(Cut *cut, const FuncExpr *call) {
    const auto *pattern = static_cast<const Const *>(lsecond(call->args));
    if (!IsA(pattern, Const) || pattern->constisnull)
        return nullptr;
    const char *unit = unit_of_pattern(TextDatumGetCString(pattern->constvalue));
    if (unit == nullptr)
        return nullptr;
    auto *moment = static_cast<Expr *>(linitial(call->args));
    if (call->funcid == F_TO_CHAR_TIMESTAMPTZ_TEXT)
        moment =
            reinterpret_cast<Expr *>(makeFuncExpr(F_TIMESTAMP_TIMESTAMPTZ, TIMESTAMPOID, list_make1(moment),
                                                  InvalidOid, InvalidOid, COERCE_EXPLICIT_CAST));
    Const *name = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, CStringGetTextDatum(unit), false, false);
    FuncExpr *cut_moment = makeFuncExpr(F_DATE_TRUNC_TEXT_TIMESTAMP, TIMESTAMPOID, list_make2(name, moment),
                                        InvalidOid, DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL);
    Node *input = take_input(cut, reinterpret_cast<Node *>(cut_moment));
    if (input == nullptr)
        return nullptr;
    auto *coarse = static_cast<FuncExpr *>(copyObjectImpl(call));
    coarse->funcid = F_TO_CHAR_TIMESTAMP_TEXT;
    linitial(coarse->args) = input;
    return reinterpret_cast<Node *>(coarse);
}

// Replaces the greatest parts that the engine computes.
static Node *cut_inputs(Node *node, void *context) {
    auto *cut = static_cast<Cut *>(context);
    check_stack_depth();
    if (node == nullptr || cut->is_refused)
        return nullptr;
    const bool is_whole = cut->is_whole;
    cut->is_whole = false;
    if (IsA(node, FuncExpr)) {
        const auto *call = reinterpret_cast<const FuncExpr *>(node);
        if (call->funcid == F_TO_CHAR_TIMESTAMP_TEXT || call->funcid == F_TO_CHAR_TIMESTAMPTZ_TEXT)
            if (Node *coarse = with_coarse_moment(cut, call))
                return coarse;
    }
    const bool is_part = IsA(node, List) || IsA(node, CaseWhen);
    if (!is_part && !is_whole && contain_var_clause(node) && !has_case_value(node, nullptr))
        if (Node *input = take_input(cut, node))
            return input;
    cut->is_refused = cut->is_refused || IsA(node, Var);
    return mutate_expression(node, cut_inputs, context);
}

// ---- results ----------------------------------------------------------------------------------------------

static uint16 look_up(Compiler *compiler, uint16 step, uint32 list) {
    engine::Step look = make_step(Operation::look_up, ValueType::int64, step);
    look.detail = kListNumber + list;
    return add_guarded(compiler, look, true);
}

// An input's list has places from 1 on, each times how many combinations earlier inputs have; NULL is 0. The
// sum of places tells the combination.
static uint16 compile_lookup(Compiler *compiler, const Table &table) {
    Program *program = compiler->program;
    const uint16 zero = constant_step(program, 0, ValueType::int64);
    uint16 sum = zero;
    for (int i = 0; i < table.input_count; i++) {
        uint16 step = table.values[i].step;
        if (table.values[i].type == ValueType::boolean)
            step = add_step(program, make_step(Operation::narrow, ValueType::int64, step));
        const uint16 place = look_up(compiler, step, table.first_list + static_cast<uint32>(i));
        const uint16 present =
            add_step(program, make_step(Operation::coalesce, ValueType::int64, place, zero));
        sum = i == 0 ? present : add_step(program, make_step(Operation::add, ValueType::int64, sum, present));
    }
    const uint16 found = look_up(compiler, sum, table.first_list + static_cast<uint32>(table.input_count));
    const uint16 null = constant_step(program, kNull, ValueType::int64);
    return add_step(program, make_step(Operation::null_if_equal, ValueType::int64, found, null));
}

static Value value_of_result(Compiler *compiler, const Node *expression, Table *table) {
    const Oid type = exprType(expression);
    Value value = make_value(no_step, kind_of_type(type), ValueType::int64, kMaxInt64);
    value.width = width_of_type(type);
    switch (value.kind) {
        case Kind::Boolean:
            value.type = ValueType::boolean;
            break;
        case Kind::Group:
            if (is_coded(type))
                value.coded = getBaseType(type);
            else
                value.numbering = find_numbering(compiler, type, exprCollation(expression));
            break;
        case Kind::Integer:
        case Kind::Date:
        case Kind::Timestamp:
            value.limit = value.width == 2 ? 32768.0 : value.width == 4 ? 2147483648.0 : kMaxInt64;
            break;
        default:
            return refuse_value(compiler, "a number isn't looked up in a table", expression);
    }
    table->type = type;
    table->result = value;
    return value;
}

// ---- the whole --------------------------------------------------------------------------------------------

static bool has_many_nodes(Node *node, void *context) {
    return node != nullptr &&
           (++*static_cast<int *>(context) > kMaxNodes || walk_expression(node, has_many_nodes, context));
}

// May PostgreSQL evaluate it for all rows that pass the conditions before it?
static bool may_be_evaluated(Compiler *compiler, Node *expression) {
    if (!may_fail(expression))
        return true;
    const bool is_needed_by_all = compiler->guard == no_step && !compiler->is_condition;
    if (compiler->has_barrier || (!is_needed_by_all && has_users_function(expression, nullptr)))
        return false;
    compiler->maps_may_fail = true;
    return true;
}

static bool cut_expression(Compiler *compiler, Node *expression, Table *table) {
    auto *values = allocate_zeroed<Value>(kMaxInputs);
    Cut cut = {compiler, table, values, true, false};
    compiler->has_tables = false;
    table->expression = reinterpret_cast<const Expr *>(cut_inputs(expression, &cut));
    compiler->has_tables = true;
    table->values = values;
    return !cut.is_refused && table->input_count > 0;
}

static Value make_table(Compiler *compiler, Node *expression) {
    Program *program = compiler->program;
    Table table = {};
    if (!cut_expression(compiler, expression, &table))
        return refuse_value(compiler, "an expression isn't of values that the engine computes");
    Value value = value_of_result(compiler, expression, &table);
    if (is_refused(compiler))
        return {};
    uint32 place = 0;
    while (place < program->table_count && !(equal(program->tables[place].inputs, table.inputs) &&
                                             equal(program->tables[place].expression, table.expression)))
        place++;
    if (place == lengthof(program->tables))
        return refuse_value(compiler, "there are too many tables");
    if (place == program->table_count) {
        table.first_list = program->list_count;
        program->list_count += static_cast<uint32>(table.input_count) + 1;
        program->tables[program->table_count++] = table;
    }
    program->tables[place].is_condition |= compiler->is_condition;
    for (int i = 0; i <= table.input_count; i++) {
        const uint16 numbering = i < table.input_count ? table.values[i].numbering : table.result.numbering;
        if (numbering != no_numbering)
            program->numberings[numbering].has_table = true;
    }
    value.step = compile_lookup(compiler, program->tables[place]);
    if (value.kind == Kind::Boolean)
        value.step = add_step(program, make_step(Operation::to_boolean, ValueType::boolean, value.step));
    return value;
}

Value compile_table(Compiler *compiler, const Expr *expression) {
    auto *node = reinterpret_cast<Node *>(const_cast<Expr *>(expression));
    int nodes = 0;
    if (IsA(node, Var) || has_case_value(node, nullptr) || has_many_nodes(node, &nodes) ||
        compiler->table_attempts++ >= kMaxAttempts || !may_be_evaluated(compiler, node))
        return {};
    const Refusal refusal = compiler->refusal;
    compiler->refusal = {};
    const Value value = make_table(compiler, node);
    if (is_refused(compiler))
        compiler->refusal = refusal;
    return value;
}

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
    bool by_value;
    int16 length;
};

}  // namespace

static Evaluation begin_evaluation(Table *table, ExprContext *context) {
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

static void evaluate_row(const Evaluation &evaluation, uint64 number) {
    Table *table = evaluation.table;
    ExprContext *context = evaluation.context;
    context->ecxt_scantuple = ExecStoreVirtualTuple(evaluation.row);
    bool is_null;
    Datum result = ExecEvalExprSwitchContext(evaluation.state, context, &is_null);
    if (!is_null && !evaluation.by_value)
        result = evaluation.length == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(result))
                                         : datumCopy(result, evaluation.by_value, evaluation.length);
    table->result_nulls[number] = is_null;
    table->results_given[number] = is_null ? 0 : word_of(table->result, result, table->type);
    ResetExprContext(context);
    ExecClearTuple(evaluation.row);
}

static void evaluate_records(Table *table, const CompiledQuery &compiled, const RecordLayout &layout,
                             column::QueryResult *result, ExprContext *context) {
    const auto width = static_cast<uint64>(table->input_count);
    table->count = result->rows;
    table->values_given = allocate_zeroed<uint64>(table->count * width + 1);
    table->nulls = allocate_zeroed<bool>(table->count * width + 1);
    table->results_given = allocate_zeroed<uint64>(table->count + 1);
    table->result_nulls = allocate_zeroed<bool>(table->count + 1);
    const Evaluation evaluation = begin_evaluation(table, context);
    const uint64 *record;
    uint64 number = 0;
    while (uint64 left = column::next_records(result->records, &record)) {
        for (; left > 0; left--, record += result->record_words, number++) {
            CHECK_FOR_INTERRUPTS();
            for (uint64 i = 0; i < width; i++) {
                Datum *value = &evaluation.row->tts_values[i];
                bool *is_null = &evaluation.row->tts_isnull[i];
                read_result(compiled, layout, compiled.results[i], record, value, is_null);
                table->nulls[number * width + i] = *is_null;
                // Decimals are numbers without their points there as here.
                const bool is_numbered = table->values[i].numbering != no_numbering;
                if (!*is_null)
                    table->values_given[number * width + i] =
                        is_numbered ? static_cast<uint64>(*value) : record[layout.words[i]];
            }
            evaluate_row(evaluation, number);
        }
    }
    ExecDropSingleTupleTableSlot(evaluation.row);
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
    if (!compile_query(&compiler, {tree, table->inputs, operators, NIL, NIL}, &compiled))
        return compiler.refusal.reason;
    const RecordLayout layout = lay_out_record(compiled);
    column::QueryResult result = {};
    const char *problem = combinations.ask(combinations.context, &compiled, layout, &result);
    if (problem == nullptr)
        evaluate_records(table, compiled, layout, &result, compiler.context);
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
        const auto width = static_cast<uint64>(table->input_count);
        table->words = copy_words(table->values_given, table->count * width);
        table->results = copy_words(table->results_given, table->count);
        for (uint64 i = 0; i < width; i++)
            has_room = has_room && number_words(program, table->values[i].numbering, table->words + i,
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

// The list of one input. *places of combinations get those of its values, times `times`; returns by how much
// the next input's are to be multiplied.
static uint64 write_input(Program *program, const Table &table, uint64 input, uint64 times, uint64 *places,
                          uint32 *list) {
    const auto width = static_cast<uint64>(table.input_count);
    auto *entries = allocate<engine::Constant>(table.count + 1);
    uint64 count = 0;
    for (uint64 i = 0; i < table.count; i++)
        if (!table.nulls[i * width + input])
            entries[count++] = {
                final_word(*program, table.values[input].numbering, table.words[i * width + input]), 0};
    std::sort(entries, entries + count, comes_before);
    const auto is_same = [](const engine::Constant &one, const engine::Constant &other) {
        return one.low == other.low;
    };
    count = static_cast<uint64>(std::unique(entries, entries + count, is_same) - entries);
    for (uint64 i = 0; i < count; i++)
        entries[i].high = (i + 1) * times;
    for (uint64 i = 0; i < table.count; i++) {
        if (table.nulls[i * width + input])
            continue;
        const engine::Constant key = {
            final_word(*program, table.values[input].numbering, table.words[i * width + input]), 0};
        places[i] += std::lower_bound(entries, entries + count, key, comes_before)->high;
    }
    *list = add_list(program, entries, count);
    pfree(entries);
    return times * (count + 1);
}

static const char *write_table(Program *program, const Table &table, uint32 *lists) {
    // A request takes a few more constants.
    constexpr uint64 max_entries = 1000000;
    if (program->constant_count + table.count * (static_cast<uint64>(table.input_count) + 1) > max_entries)
        return "an expression has too many combinations of values";
    // Places have room for all combinations that may be.
    constexpr uint64 max_times = UINT64CONST(1) << 40;
    auto *places = allocate_zeroed<uint64>(table.count + 1);
    uint64 times = 1;
    for (int i = 0; i < table.input_count; i++) {
        if (times >= max_times)
            return "an expression has too many combinations of values";
        times = write_input(program, table, static_cast<uint64>(i), times, places, &lists[i]);
    }
    auto *entries = allocate<engine::Constant>(table.count + 1);
    for (uint64 i = 0; i < table.count; i++) {
        const uint64 result = final_word(*program, table.result.numbering, table.results[i]);
        if (!table.result_nulls[i] && result == static_cast<uint64>(kNull))
            return "an expression gives a number that stands for NULL";
        entries[i] = {places[i], table.result_nulls[i] ? static_cast<uint64>(kNull) : result};
    }
    std::sort(entries, entries + table.count, comes_before);
    lists[table.input_count] = add_list(program, entries, table.count);
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
