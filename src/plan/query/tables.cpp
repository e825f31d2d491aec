#include "plan/query/tables.h"

#include "compat.h"
#include "plan/query/failure.h"
#include "plan/query/numbering.h"

#include "catalog/pg_collation_d.h"

namespace pg_gpu::plan::query {

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
        case Kind::Decimal:
        case Kind::Extended:
            return !value.is_null;
        default:
            return false;
    }
}

static Node *var_of_input(Node *node, int number) {
    return reinterpret_cast<Node *>(makeVar(1, static_cast<AttrNumber>(number + 1), exprType(node),
                                            exprTypmod(node), exprCollation(node), 0));
}

static FuncExpr *scale_of(Node *numeric) {
    return makeFuncExpr(F_SCALE, INT4OID, list_make1(copyObjectImpl(numeric)), InvalidOid, InvalidOid,
                        COERCE_EXPLICIT_CALL);
}

// Makes it an input, if the engine computes it; nullptr: it doesn't.
static Node *take_input(Cut *cut, Node *node) {
    for (int i = 0; i < cut->table->input_count; i++)
        if (equal(list_nth(cut->table->inputs, i), node))
            return var_of_input(node, i);
    Compiler *compiler = cut->compiler;
    const uint16 guard = compiler->guard;
    const Value value = compile(compiler, reinterpret_cast<const Expr *>(node));
    const bool is_taken = !is_refused(compiler) && is_input(value);
    compiler->refusal = {};
    compiler->guard = guard;
    // What is computed of numerics depends on the digits that they show.
    if (!is_taken || (is_numeric(value) && value.shown == kShownByRow &&
                      take_input(cut, reinterpret_cast<Node *>(scale_of(node))) == nullptr))
        return nullptr;
    if (cut->table->input_count == kMaxInputs)
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

// Numbers of 128 bits are looked up in two parts.
static void make_keys(Compiler *compiler, const Value *inputs, Table *table) {
    auto *keys = allocate_zeroed<Value>(size_t{2} * kMaxInputs);
    for (int i = 0; i < table->input_count; i++) {
        const Value &input = inputs[i];
        if (input.type != ValueType::int128) {
            keys[table->key_count++] = input;
            continue;
        }
        const Value unit = decimal_of(compiler, kPartUnit);
        const Value high = operate(compiler, Operation::divide, input, unit, input.limit / unit.limit + 1);
        const Value low = operate(compiler, Operation::modulo, input, unit, unit.limit);
        keys[table->key_count++] = widen_to(compiler, high, ValueType::int64);
        keys[table->key_count++] = widen_to(compiler, low, ValueType::int64);
    }
    table->keys = keys;
}

// A key's list has places from 1 on, each times how many combinations earlier inputs have; NULL is 0. The
// sum of places tells the combination.
static uint16 compile_place(Compiler *compiler, const Table &table) {
    Program *program = compiler->program;
    const uint16 zero = constant_step(program, 0, ValueType::int64);
    uint16 sum = zero;
    for (int i = 0; i < table.key_count; i++) {
        uint16 step = table.keys[i].step;
        if (table.keys[i].type == ValueType::boolean)
            step = add_step(program, make_step(Operation::narrow, ValueType::int64, step));
        const uint16 place = look_up(compiler, step, table.first_list + static_cast<uint32>(i));
        const uint16 present =
            add_step(program, make_step(Operation::coalesce, ValueType::int64, place, zero));
        sum = i == 0 ? present : add_step(program, make_step(Operation::add, ValueType::int64, sum, present));
    }
    return sum;
}

static uint16 compile_part(Compiler *compiler, const Table &table, uint16 place, uint32 part) {
    const uint16 found =
        look_up(compiler, place, table.first_list + static_cast<uint32>(table.key_count) + part);
    const uint16 null = constant_step(compiler->program, kNullResult, ValueType::int64);
    return add_step(compiler->program, make_step(Operation::null_if_equal, ValueType::int64, found, null));
}

static Value compile_lookup(Compiler *compiler, const Table &table) {
    Value value = table.result;
    const uint16 place = compile_place(compiler, table);
    value.step = compile_part(compiler, table, place, 0);
    if (value.kind == Kind::Boolean)
        value.step =
            add_step(compiler->program, make_step(Operation::to_boolean, ValueType::boolean, value.step));
    if (table.parts != kDecimalParts)
        return value;
    const auto part = [&](uint16 step) {
        return make_value(step, Kind::Decimal, ValueType::int64, static_cast<double>(kPartUnit));
    };
    const Value high = operate(compiler, Operation::multiply, part(value.step),
                               decimal_of(compiler, kPartUnit), value.limit);
    value.step =
        operate(compiler, Operation::add, high, part(compile_part(compiler, table, place, 1)), value.limit)
            .step;
    value.shown_step = compile_part(compiler, table, place, 2);
    return value;
}

// What is computed of NaN may be NaN.
static bool has_special_input(const Value *inputs, int count) {
    return std::any_of(inputs, inputs + count,
                       [](const Value &input) { return input.kind == Kind::Extended; });
}

static Value value_of_extended() {
    Value value = value_of_computed(-1);
    value.kind = Kind::Extended;
    value.unit = kComputedDigits;
    value.limit = limit_of_unit(value.unit);
    return value;
}

// Where the engine has an operation, a number has no room that it refuses. Choices are of what has a table.
static bool may_have_room(const Node *expression) {
    switch (nodeTag(expression)) {
        case T_FuncExpr:
            return !has_all_digits(reinterpret_cast<const FuncExpr *>(expression)->funcid);
        case T_OpExpr:
            return !has_all_digits(reinterpret_cast<const OpExpr *>(expression)->opfuncid);
        default:
            return false;
    }
}

static Value value_of_result(Compiler *compiler, const Node *expression, const Value *inputs, Table *table) {
    const Oid type = exprType(expression);
    table->parts = 1;
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
        case Kind::Decimal:
            if (!may_have_room(expression))
                return refuse_value(compiler, "numerics have too many digits", expression);
            value = has_special_input(inputs, table->input_count) ? value_of_extended()
                                                                  : value_of_computed(exprTypmod(expression));
            table->parts = value.type == ValueType::int128 ? kDecimalParts : 1;
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

static bool cut_expression(Compiler *compiler, Node *expression, Value *values, Table *table) {
    Cut cut = {compiler, table, values, true, false};
    compiler->has_tables = false;
    table->expression = reinterpret_cast<const Expr *>(cut_inputs(expression, &cut));
    compiler->has_tables = true;
    return !cut.is_refused && table->input_count > 0;
}

static Value make_table(Compiler *compiler, Node *expression) {
    Program *program = compiler->program;
    Table table = {};
    Value inputs[kMaxInputs] = {};
    if (!cut_expression(compiler, expression, inputs, &table))
        return refuse_value(compiler, "an expression isn't of values that the engine computes");
    value_of_result(compiler, expression, inputs, &table);
    if (is_refused(compiler))
        return {};
    make_keys(compiler, inputs, &table);
    uint32 place = 0;
    while (place < program->table_count && !(equal(program->tables[place].inputs, table.inputs) &&
                                             equal(program->tables[place].expression, table.expression)))
        place++;
    if (place == lengthof(program->tables))
        return refuse_value(compiler, "there are too many tables");
    if (place == program->table_count) {
        table.first_list = program->list_count;
        program->list_count += static_cast<uint32>(table.key_count) + table.parts;
        program->tables[program->table_count++] = table;
    }
    program->tables[place].is_condition |= compiler->is_condition;
    for (int i = 0; i <= table.key_count; i++) {
        const uint16 numbering = i < table.key_count ? table.keys[i].numbering : table.result.numbering;
        if (numbering != no_numbering)
            program->numberings[numbering].has_table = true;
    }
    return compile_lookup(compiler, program->tables[place]);
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

}  // namespace pg_gpu::plan::query
