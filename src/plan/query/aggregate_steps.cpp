#include "plan/query/aggregate_steps.h"

#include "compat.h"
#include "expressions.h"
#include "plan/query/aggregate_choices.h"
#include "plan/query/aggregate_failure.h"
#include "plan/query/aggregate_float_steps.h"
#include "plan/query/aggregate_numeric_steps.h"
#include "plan/query/aggregate_ranged.h"
#include "plan/query/join_query.h"

namespace pg_gpu::plan {

using gpu_engine::AggregateOperation;
using gpu_engine::AggregateProgram;
using gpu_engine::AggregateStep;
using gpu_engine::no_aggregate_step;

// ---- steps and inputs -------------------------------------------------------------------------------------

uint16 add_step(Compiler *compiler, AggregateOperation operation, uint8 width, uint16 left, uint16 right,
                int64 constant) {
    if (is_refused(compiler))
        return 0;
    AggregateProgram *program = &compiler->compiled->program;
    const AggregateStep step = {operation, width, left, right, 0, constant};
    for (uint32 i = 0; i < program->step_count; i++) {
        const AggregateStep &other = program->step[i];
        if (other.operation == operation && other.width == width && other.left == left &&
            other.right == right && other.constant == constant)
            return static_cast<uint16>(i);
    }
    if (program->step_count == gpu_engine::max_aggregate_steps) {
        refuse(compiler, "the expressions are too long");
        return 0;
    }
    program->step[program->step_count] = step;
    return static_cast<uint16>(program->step_count++);
}

uint16 add_centre(Compiler *compiler, uint16 step) {
    return add_step(compiler, AggregateOperation::constant, kCentreWidth, step, 0);
}

uint16 add_input_step(Compiler *compiler, uint16 input) {
    return add_step(compiler, AggregateOperation::input, 0, input, 0);
}

// The only column of the index that an expression depends on, from 0 on; -1 when there is none or several.
static int single_column(const Compiler &compiler, Expr *expression) {
    Bitmapset *roots = roots_of(compiler.columns->joins, expression);
    int column;
    const bool is_single = bms_get_singleton_member(roots, &column);
    bms_free(roots);
    return is_single ? column : -1;
}

static bool is_joined(const Compiler &compiler, const Expr *expression) {
    return is_over_joined_table(compiler.columns->joins, expression);
}

bool has_codes(const Compiler &compiler, Expr *expression) {
    const int column = single_column(compiler, expression);
    if (column < 0)
        return false;
    if (is_joined(compiler, expression))
        return compiler.columns->is_joinable[column];
    // Numerics of numerics are computed row by row, or they are groups.
    return compiler.columns->has_codes[column] ||
           (find_ranged(expression) != nullptr &&
            !(is_numeric(expression) && is_over_scaled(compiler, expression)));
}

bool is_over_scaled(const Compiler &compiler, Expr *expression) {
    const int column = single_column(compiler, expression);
    return column >= 0 && compiler.columns->format->types[column].base_type == NUMERICOID &&
           !is_joined(compiler, expression) && !compiler.columns->has_codes[column];
}

bool is_index_column(const Compiler &compiler, const Expr *expression) {
    return IsA(expression, Var) && !is_table_oid(expression) && !is_joined(compiler, expression);
}

void refuse_columns(Compiler *compiler, Expr *expression) {
    refuse(compiler,
           bms_is_empty(roots_of(compiler->columns->joins, expression)) ? "an expression is over tableoid"
           : single_column(*compiler, expression) < 0 ? "an expression is over several columns"
           : is_joined(*compiler, expression)
               ? "a column that is joined by has no dictionary, and its values are far apart"
               : "an expression is over a column without a dictionary",
           expression);
}

// Numerics without codes are integers by themselves.
static bool needs_codes(SourceKind kind, const Expr *expression) {
    return kind != SourceKind::Value && kind != SourceKind::Presence &&
           !(kind == SourceKind::Wide && IsA(expression, Var));
}

// Results by range have 64 bits, and are what they are without looking at other ranges' results.
static bool may_be_ranged(SourceKind kind) {
    return kind == SourceKind::Truth || kind == SourceKind::Exists || kind == SourceKind::Number ||
           kind == SourceKind::Group;
}

// A new one; nullptr where there are too many, or something is refused.
static InputSource *take_source(Compiler *compiler, SourceKind kind, int column) {
    if (is_refused(compiler))
        return nullptr;
    CompiledAggregate *compiled = compiler->compiled;
    if (compiled->program.input_count == gpu_engine::max_aggregate_inputs) {
        refuse(compiler, "there are too many expressions");
        return nullptr;
    }
    InputSource *source = &compiled->input[compiled->program.input_count++];
    source->kind = kind;
    source->column = column;
    source->family = UINT16_MAX;
    source->is_condition = compiler->is_condition;
    return source;
}

uint16 add_dependent_source(Compiler *compiler, SourceKind kind, uint16 scaled) {
    const CompiledAggregate &compiled = *compiler->compiled;
    for (uint32 i = 0; i < compiled.program.input_count; i++)
        if (compiled.input[i].kind == kind && compiled.input[i].scaled == scaled)
            return static_cast<uint16>(i);
    const InputSource &other = compiled.input[scaled];
    InputSource *source = take_source(compiler, kind, other.column);
    if (source == nullptr)
        return 0;
    source->is_joined = other.is_joined;
    source->expression = other.expression;
    source->type = other.type;
    source->scaled = scaled;
    return static_cast<uint16>(source - compiled.input);
}

uint16 add_source(Compiler *compiler, SourceKind kind, Expr *expression, Oid operator_oid, Oid collation) {
    if (is_refused(compiler))
        return 0;
    CompiledAggregate *compiled = compiler->compiled;
    const int column = single_column(*compiler, expression);
    const bool joined = is_joined(*compiler, expression);
    const bool *found = joined ? compiler->columns->is_joinable : compiler->columns->has_codes;
    const bool lacks_codes = column >= 0 && (joined || needs_codes(kind, expression)) && !found[column];
    Expr *ranged = lacks_codes && !joined && may_be_ranged(kind) ? find_ranged(expression) : nullptr;
    if (column < 0 || (lacks_codes && ranged == nullptr)) {
        refuse_columns(compiler, expression);
        return 0;
    }
    const uint16 family = kind == SourceKind::Group ? compiler->family : UINT16_MAX;
    for (uint32 i = 0; i < compiled->program.input_count; i++) {
        const InputSource &other = compiled->input[i];
        if (other.kind == kind && other.operator_oid == operator_oid && other.collation == collation &&
            other.family == family && equal(other.expression, expression))
            return static_cast<uint16>(i);
    }
    InputSource *source = take_source(compiler, kind, column);
    if (source == nullptr)
        return 0;
    source->family = family;
    source->is_joined = joined;
    source->expression = expression;
    source->type = column::describe_type(exprType(reinterpret_cast<Node *>(expression)),
                                         exprCollation(reinterpret_cast<Node *>(expression)));
    source->operator_oid = operator_oid;
    source->collation = collation;
    source->ranged = ranged;
    source->may_fail = ranged == nullptr && may_fail(expression);
    return static_cast<uint16>(source - compiled->input);
}

uint16 add_table_step(Compiler *compiler) {
    const CompiledAggregate &compiled = *compiler->compiled;
    for (uint32 i = 0; i < compiled.program.input_count; i++)
        if (compiled.input[i].kind == SourceKind::Table)
            return add_input_step(compiler, static_cast<uint16>(i));
    // Of all columns any is as good.
    InputSource *source = take_source(compiler, SourceKind::Table, 0);
    if (source == nullptr)
        return 0;
    source->type = column::describe_type(OIDOID, InvalidOid);
    return add_input_step(compiler, static_cast<uint16>(source - compiled.input));
}

uint16 add_match_step(Compiler *compiler, int table) {
    const int column = unpack_joined_table(compiler->columns->joins, table).root;
    if (!compiler->columns->is_joinable[column]) {
        refuse(compiler, "a column that is joined by has no dictionary, and its values are far apart");
        return 0;
    }
    InputSource *source = take_source(compiler, SourceKind::Match, column);
    if (source == nullptr)
        return 0;
    source->is_joined = true;
    source->table = table;
    return add_input_step(compiler, static_cast<uint16>(source - compiler->compiled->input));
}

// ---- expressions that are compiled once -------------------------------------------------------------------

namespace {

// What the result depends on. It is hashed byte by byte, so there is no room between the members.
struct CompiledKey {
    Expr *expression;
    uint32 form;
    uint32 chosen_where;
};

struct CompiledOnce {
    CompiledKey key;
    NumericSteps steps;
};

}  // namespace

static HTAB *make_compiled_once() {
    HASHCTL control = {};
    control.keysize = sizeof(CompiledKey);
    control.entrysize = sizeof(CompiledOnce);
    control.hcxt = CurrentMemoryContext;
    return hash_create("compiled expressions", gpu_engine::max_aggregate_steps, &control,
                       HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

// A truth value that is true wherever this one is; no_aggregate_step: always.
static uint16 wider_choice(const AggregateProgram &program, uint16 where) {
    const AggregateStep &step = program.step[where];
    return step.operation == AggregateOperation::logical_and ? step.left : no_aggregate_step;
}

NumericSteps compile_once(Compiler *compiler, StepForm form, Expr *expression, CompileForm compile) {
    if (is_refused(compiler))
        return {0, 0};
    CHECK_FOR_INTERRUPTS();
    check_stack_depth();
    if (IsA(expression, Const) || IsA(expression, Var))
        return compile(compiler, expression);
    if (compiler->compiled_once == nullptr)
        compiler->compiled_once = make_compiled_once();
    const auto find = [&](uint16 where, HASHACTION action) {
        const CompiledKey key = {expression, static_cast<uint32>(form), where};
        return static_cast<CompiledOnce *>(hash_search(compiler->compiled_once, &key, action, nullptr));
    };
    // What is wanted for more rows does for fewer.
    for (uint16 where = compiler->chosen_where;; where = wider_choice(compiler->compiled->program, where)) {
        if (const CompiledOnce *done = find(where, HASH_FIND))
            return done->steps;
        if (where == no_aggregate_step)
            break;
    }
    const NumericSteps steps = compile(compiler, expression);
    if (is_refused(compiler))
        return {0, 0};
    find(compiler->chosen_where, HASH_ENTER)->steps = steps;
    return steps;
}

// ---- expressions without columns --------------------------------------------------------------------------

uint16 compile_constant(Compiler *compiler, const Const *constant) {
    if (constant->constisnull)
        return add_step(compiler, AggregateOperation::null, 0, 0, 0);
    const column::ColumnType type = column::describe_type(constant->consttype, constant->constcollid);
    // Of other types it only matters that it isn't NULL.
    const int64 number = type.is_integer && type.is_ordered
                             ? number_of_code(type, column::encode_integer(type, constant->constvalue))
                             : 0;
    return add_step(compiler, AggregateOperation::constant, 0, 0, 0, number);
}

bool find_constant(Compiler *compiler, Expr *expression, Const *constant) {
    if (IsA(expression, Const)) {
        *constant = *reinterpret_cast<Const *>(expression);
        return true;
    }
    *constant = {};
    constant->consttype = exprType(reinterpret_cast<Node *>(expression));
    constant->constcollid = exprCollation(reinterpret_cast<Node *>(expression));
    if (compiler->context == nullptr)
        return false;
    if (!evaluate_without_columns(expression, compiler->context, constant))
        refuse(compiler, "an expression raised an error");
    return true;
}

static uint16 compile_without_columns(Compiler *compiler, Expr *expression) {
    Const constant;
    find_constant(compiler, expression, &constant);
    return compile_constant(compiler, &constant);
}

// ---- numbers ----------------------------------------------------------------------------------------------

namespace {

struct Arithmetic {
    Oid function;
    AggregateOperation operation;
    uint8 width;
};

}  // namespace

static constexpr Arithmetic kArithmetic[] = {
    {F_INT2PL, AggregateOperation::add, 2},        {F_INT4PL, AggregateOperation::add, 4},
    {F_INT24PL, AggregateOperation::add, 4},       {F_INT42PL, AggregateOperation::add, 4},
    {F_INT8PL, AggregateOperation::add, 8},        {F_INT84PL, AggregateOperation::add, 8},
    {F_INT48PL, AggregateOperation::add, 8},       {F_INT82PL, AggregateOperation::add, 8},
    {F_INT28PL, AggregateOperation::add, 8},       {F_INT2MI, AggregateOperation::subtract, 2},
    {F_INT4MI, AggregateOperation::subtract, 4},   {F_INT24MI, AggregateOperation::subtract, 4},
    {F_INT42MI, AggregateOperation::subtract, 4},  {F_INT8MI, AggregateOperation::subtract, 8},
    {F_INT84MI, AggregateOperation::subtract, 8},  {F_INT48MI, AggregateOperation::subtract, 8},
    {F_INT82MI, AggregateOperation::subtract, 8},  {F_INT28MI, AggregateOperation::subtract, 8},
    {F_INT2MUL, AggregateOperation::multiply, 2},  {F_INT4MUL, AggregateOperation::multiply, 4},
    {F_INT24MUL, AggregateOperation::multiply, 4}, {F_INT42MUL, AggregateOperation::multiply, 4},
    {F_INT8MUL, AggregateOperation::multiply, 8},  {F_INT84MUL, AggregateOperation::multiply, 8},
    {F_INT48MUL, AggregateOperation::multiply, 8}, {F_INT82MUL, AggregateOperation::multiply, 8},
    {F_INT28MUL, AggregateOperation::multiply, 8}, {F_INT2DIV, AggregateOperation::divide, 2},
    {F_INT4DIV, AggregateOperation::divide, 4},    {F_INT24DIV, AggregateOperation::divide, 4},
    {F_INT42DIV, AggregateOperation::divide, 4},   {F_INT8DIV, AggregateOperation::divide, 8},
    {F_INT84DIV, AggregateOperation::divide, 8},   {F_INT48DIV, AggregateOperation::divide, 8},
    {F_INT82DIV, AggregateOperation::divide, 8},   {F_INT28DIV, AggregateOperation::divide, 8},
    {F_INT2MOD, AggregateOperation::modulo, 2},    {F_INT4MOD, AggregateOperation::modulo, 4},
    {F_INT8MOD, AggregateOperation::modulo, 8},
};

// Casts between integers: to the width. Adding 0 fails where the cast would.
static constexpr Arithmetic kCasts[] = {
    {F_INT4_INT2, AggregateOperation::add, 4}, {F_INT8_INT2, AggregateOperation::add, 8},
    {F_INT8_INT4, AggregateOperation::add, 8}, {F_INT2_INT4, AggregateOperation::add, 2},
    {F_INT2_INT8, AggregateOperation::add, 2}, {F_INT4_INT8, AggregateOperation::add, 4},
};

// What they subtract from is 0.
static constexpr Arithmetic kNegations[] = {
    {F_INT2UM, AggregateOperation::subtract, 2},
    {F_INT4UM, AggregateOperation::subtract, 4},
    {F_INT8UM, AggregateOperation::subtract, 8},
};

template <size_t count>
static const Arithmetic *find_arithmetic(const Arithmetic (&table)[count], Oid function) {
    for (const Arithmetic &row : table)
        if (row.function == function)
            return &row;
    return nullptr;
}

static uint16 compile_arithmetic(Compiler *compiler, Expr *expression) {
    Oid function;
    List *arguments;
    if (!read_call(expression, &function, &arguments)) {
        refuse_columns(compiler, expression);
        return 0;
    }
    const auto zero = [compiler] { return add_step(compiler, AggregateOperation::constant, 0, 0, 0); };
    const auto argument = [&](int i) {
        return compile_number(compiler, static_cast<Expr *>(list_nth(arguments, i)));
    };
    if (const Arithmetic *cast = find_arithmetic(kCasts, function)) {
        const bool widens = function == F_INT4_INT2 || cast->width == sizeof(int64);
        const uint16 number = argument(0);
        return widens ? number : add_step(compiler, cast->operation, cast->width, number, zero());
    }
    if (function == F_DATE_MI) {
        // Infinite dates overflow when they are doubled: PostgreSQL raises an error of them.
        const auto doubled = [&](int i) {
            const uint16 number = argument(i);
            return add_step(compiler, AggregateOperation::add, sizeof(int32), number, number);
        };
        const uint16 first = doubled(0);
        const uint16 twice =
            add_step(compiler, AggregateOperation::subtract, sizeof(int64), first, doubled(1));
        return add_step(compiler, AggregateOperation::divide, sizeof(int32), twice,
                        add_step(compiler, AggregateOperation::constant, 0, 0, 0, 2));
    }
    if (is_cast_of_numeric(function))
        return compile_integer_of_numeric(compiler, function, static_cast<Expr *>(linitial(arguments)));
    if (const Arithmetic *negation = find_arithmetic(kNegations, function)) {
        const uint16 number = argument(0);
        return add_step(compiler, negation->operation, negation->width, zero(), number);
    }
    if (const Arithmetic *arithmetic = find_arithmetic(kArithmetic, function)) {
        const uint16 left = argument(0);
        uint16 right = argument(1);
        // What isn't wanted is divided by NULL, in case it would be 0.
        const bool divides = arithmetic->operation == AggregateOperation::divide ||
                             arithmetic->operation == AggregateOperation::modulo;
        if (divides && compiler->chosen_where != no_aggregate_step)
            right = add_step(compiler, AggregateOperation::only_where, 0, compiler->chosen_where, right);
        return add_step(compiler, arithmetic->operation, arithmetic->width, left, right);
    }
    refuse_columns(compiler, expression);
    return 0;
}

static uint16 compile_comparison(Compiler *compiler, OpExpr *comparison);

// NULLIF of two numbers.
static uint16 compile_null_if(Compiler *compiler, NullIfExpr *expression) {
    const uint16 is_equal = compile_comparison(compiler, expression);
    const uint16 differs = negate(compiler, add_step(compiler, AggregateOperation::is_true, 0, is_equal, 0));
    return add_step(compiler, AggregateOperation::only_where, 0, differs,
                    compile_number(compiler, static_cast<Expr *>(linitial(expression->args))));
}

// GREATEST and LEAST pass over NULLs.
static uint16 compile_greatest(Compiler *compiler, const MinMaxExpr *expression) {
    const auto step = [compiler](AggregateOperation operation, uint16 left, uint16 right) {
        return add_step(compiler, operation, 0, left, right);
    };
    const column::ColumnType type = column::describe_type(expression->minmaxtype, InvalidOid);
    uint16 result = compile_number(compiler, static_cast<Expr *>(linitial(expression->args)));
    for (int i = 1; i < list_length(expression->args) && !is_refused(compiler); i++) {
        const uint16 next = compile_number(compiler, static_cast<Expr *>(list_nth(expression->args, i)));
        if (is_float(type)) {
            // Of equal ones, as -0 and 0, it is the first.
            const uint16 a = compile_one_zero(compiler, type, result);
            const uint16 b = compile_one_zero(compiler, type, next);
            const uint16 is_better = expression->op == IS_GREATEST ? step(AggregateOperation::less, a, b)
                                                                   : step(AggregateOperation::less, b, a);
            result = step(AggregateOperation::or_else, step(AggregateOperation::only_where, is_better, next),
                          step(AggregateOperation::or_else, result, next));
            continue;
        }
        // Where there is no such number, the other one is the lesser, or the only one.
        const uint16 chosen =
            expression->op == IS_GREATEST
                ? step(AggregateOperation::greater, result, next)
                : step(AggregateOperation::only_where, step(AggregateOperation::less, result, next), result);
        result = step(AggregateOperation::or_else, chosen, step(AggregateOperation::or_else, next, result));
    }
    return result;
}

static uint16 compile_over_columns(Compiler *compiler, Expr *expression) {
    switch (nodeTag(expression)) {
        case T_CaseExpr:
            return compile_case(compiler, reinterpret_cast<CaseExpr *>(expression), compile_number);
        case T_CoalesceExpr:
            return compile_coalesce(compiler, reinterpret_cast<CoalesceExpr *>(expression), compile_number);
        case T_MinMaxExpr:
            return compile_greatest(compiler, reinterpret_cast<MinMaxExpr *>(expression));
        case T_NullIfExpr:
            return compile_null_if(compiler, reinterpret_cast<NullIfExpr *>(expression));
        default:
            return compile_arithmetic(compiler, expression);
    }
}

uint16 compile_nullness(Compiler *compiler, Expr *expression) {
    return is_numeric(expression) ? compile_numeric(compiler, expression).number
                                  : compile_number(compiler, expression);
}

static uint16 compile_number_anew(Compiler *compiler, Expr *expression) {
    const column::ColumnType type =
        column::describe_type(exprType(reinterpret_cast<Node *>(expression)), InvalidOid);
    if (!type.is_integer || !type.is_ordered) {
        refuse(compiler, "an expression isn't of a type that integers stand for", expression);
        return 0;
    }
    if (IsA(expression, Const))
        return compile_constant(compiler, reinterpret_cast<Const *>(expression));
    if (!contain_var_clause(reinterpret_cast<Node *>(expression)))
        return compile_without_columns(compiler, expression);
    if (is_index_column(*compiler, expression))
        return add_input_step(compiler, add_source(compiler, SourceKind::Value, expression));
    if (is_table_oid(expression))
        return add_table_step(compiler);
    if (has_codes(*compiler, expression))
        return add_input_step(compiler, add_source(compiler, SourceKind::Number, expression));
    if (type.base_type == BOOLOID)
        return compile_truth(compiler, expression);
    return compile_over_columns(compiler, expression);
}

uint16 compile_number(Compiler *compiler, Expr *expression) {
    const CompileForm compile = [](Compiler *with, Expr *number) -> NumericSteps {
        return {compile_number_anew(with, number), 0};
    };
    return compile_once(compiler, StepForm::Number, expression, compile).number;
}

// ---- groups of choices ------------------------------------------------------------------------------------

bool is_group_choice(Expr *expression, Oid equality) {
    const Expr *choice = without_relabels(expression);
    auto *node = reinterpret_cast<Node *>(expression);
    return (IsA(choice, CaseExpr) || IsA(choice, CoalesceExpr)) &&
           has_one_image(exprType(node), equality, exprCollation(node));
}

static uint16 compile_group_constant(Compiler *compiler, const Const *constant) {
    CompiledAggregate *compiled = compiler->compiled;
    if (constant->constisnull)
        return add_step(compiler, AggregateOperation::null, 0, 0, 0);
    // The planner may not have the value, and doesn't look at it.
    auto *kept = allocate<Const>(1);
    *kept = *constant;
    compiled->group_constants = lappend(compiled->group_constants, kept);
    return add_step(compiler, AggregateOperation::constant, kGroupWidth, compiler->family,
                    static_cast<uint16>(list_length(compiled->group_constants) - 1));
}

static uint16 compile_member(Compiler *compiler, Expr *expression) {
    if (is_refused(compiler))
        return 0;
    CHECK_FOR_INTERRUPTS();
    check_stack_depth();
    Expr *choice = without_relabels(expression);
    if (!contain_var_clause(reinterpret_cast<Node *>(expression))) {
        Const constant;
        find_constant(compiler, expression, &constant);
        return compile_group_constant(compiler, &constant);
    }
    if (has_codes(*compiler, expression)) {
        const InputSource &family = compiler->compiled->input[compiler->family];
        return add_input_step(compiler,
                              add_source(compiler, SourceKind::Group, expression, family.operator_oid));
    }
    if (IsA(choice, CaseExpr))
        return compile_case(compiler, reinterpret_cast<CaseExpr *>(choice), compile_member);
    if (IsA(choice, CoalesceExpr))
        return compile_coalesce(compiler, reinterpret_cast<CoalesceExpr *>(choice), compile_member);
    refuse_columns(compiler, expression);
    return 0;
}

uint16 compile_group_choice(Compiler *compiler, Expr *expression, Oid equality, uint16 *input) {
    auto *node = reinterpret_cast<Node *>(expression);
    InputSource *source = take_source(compiler, SourceKind::Groups, 0);
    if (source == nullptr)
        return 0;
    source->type = column::describe_type(exprType(node), exprCollation(node));
    source->operator_oid = equality;
    *input = static_cast<uint16>(source - compiler->compiled->input);
    compiler->family = *input;
    const uint16 step = compile_member(compiler, expression);
    compiler->family = UINT16_MAX;
    return step;
}

// ---- truth values -----------------------------------------------------------------------------------------

// The strategy of a comparison whose operands are in the order of their numbers; 0 for others. *is_negated:
// the result is the opposite.
static int comparison_strategy(Oid operator_oid, bool *is_negated) {
    constexpr Oid datetime_family = 434;  // datetime_ops of btree, which has no name in the headers
    for (const Oid family : {Oid{INTEGER_BTREE_FAM_OID}, datetime_family}) {
        *is_negated = !op_in_opfamily(operator_oid, family);
        const Oid member = *is_negated ? get_negator(operator_oid) : operator_oid;
        if (!OidIsValid(member) || !op_in_opfamily(member, family))
            continue;
        int strategy;
        Oid left;
        Oid right;
        get_op_opfamily_properties(member, family, false, &strategy, &left, &right);
        // Dates beside timestamps are other numbers.
        return family == INTEGER_BTREE_FAM_OID || left == right ? strategy : 0;
    }
    return 0;
}

static uint16 compile_comparison(Compiler *compiler, OpExpr *comparison) {
    if (is_comparison_of_numerics(comparison))
        return compile_numeric_comparison(compiler, comparison);
    if (is_comparison_of_floats(comparison))
        return compile_float_comparison(compiler, comparison);
    bool is_negated = false;
    const int strategy =
        list_length(comparison->args) == 2 ? comparison_strategy(comparison->opno, &is_negated) : 0;
    if (strategy == 0) {
        refuse_columns(compiler, reinterpret_cast<Expr *>(comparison));
        return 0;
    }
    const uint16 left = compile_number(compiler, static_cast<Expr *>(linitial(comparison->args)));
    const uint16 right = compile_number(compiler, static_cast<Expr *>(lsecond(comparison->args)));
    const auto step = [compiler](AggregateOperation operation, uint16 a, uint16 b) {
        return add_step(compiler, operation, 0, a, b);
    };
    switch (strategy) {
        case BTLessStrategyNumber:
            return step(AggregateOperation::less, left, right);
        case BTLessEqualStrategyNumber:
            return step(AggregateOperation::less_or_equal, left, right);
        case BTGreaterEqualStrategyNumber:
            return step(AggregateOperation::less_or_equal, right, left);
        case BTGreaterStrategyNumber:
            return step(AggregateOperation::less, right, left);
        default:
            return step(is_negated ? AggregateOperation::not_equal : AggregateOperation::equal, left, right);
    }
}

// IS DISTINCT FROM: not equal, unless both are NULL.
static uint16 compile_distinct(Compiler *compiler, DistinctExpr *expression) {
    const auto step = [compiler](AggregateOperation operation, uint16 left, uint16 right) {
        return add_step(compiler, operation, 0, left, right);
    };
    const auto is_null = [&](void *operand) {
        return step(AggregateOperation::is_null, compile_nullness(compiler, static_cast<Expr *>(operand)), 0);
    };
    const uint16 is_equal = step(AggregateOperation::is_true, compile_comparison(compiler, expression), 0);
    const uint16 both_null = step(AggregateOperation::logical_and, is_null(linitial(expression->args)),
                                  is_null(lsecond(expression->args)));
    return negate(compiler, step(AggregateOperation::logical_or, is_equal, both_null));
}

static uint16 compile_boolean(Compiler *compiler, const BoolExpr *expression) {
    uint16 result = compile_truth(compiler, static_cast<Expr *>(linitial(expression->args)));
    if (expression->boolop == NOT_EXPR)
        return add_step(compiler, AggregateOperation::logical_not, 0, result, 0);
    const AggregateOperation operation =
        expression->boolop == AND_EXPR ? AggregateOperation::logical_and : AggregateOperation::logical_or;
    for (int i = 1; i < list_length(expression->args) && !is_refused(compiler); i++) {
        auto *operand = static_cast<Expr *>(list_nth(expression->args, i));
        compiler->compiled->has_unsafe_branch = compiler->compiled->has_unsafe_branch || may_fail(operand);
        result = add_step(compiler, operation, 0, result, compile_truth(compiler, operand));
    }
    return result;
}

static uint16 compile_boolean_test(Compiler *compiler, const BooleanTest *test) {
    const uint16 argument = compile_truth(compiler, test->arg);
    const auto step = [compiler](AggregateOperation operation, uint16 operand) {
        return add_step(compiler, operation, 0, operand, 0);
    };
    const auto negate = [step](uint16 operand) { return step(AggregateOperation::logical_not, operand); };
    switch (test->booltesttype) {
        case IS_TRUE:
            return step(AggregateOperation::is_true, argument);
        case IS_NOT_TRUE:
            return negate(step(AggregateOperation::is_true, argument));
        case IS_FALSE:
            return step(AggregateOperation::is_true, negate(argument));
        case IS_NOT_FALSE:
            return negate(step(AggregateOperation::is_true, negate(argument)));
        case IS_UNKNOWN:
            return step(AggregateOperation::is_null, argument);
        default:
            return negate(step(AggregateOperation::is_null, argument));
    }
}

static uint16 compile_truth_anew(Compiler *compiler, Expr *expression) {
    if (IsA(expression, Const))
        return compile_constant(compiler, reinterpret_cast<Const *>(expression));
    if (!contain_var_clause(reinterpret_cast<Node *>(expression)))
        return compile_without_columns(compiler, expression);
    if (has_codes(*compiler, expression))
        return add_input_step(compiler, add_source(compiler, SourceKind::Truth, expression));
    switch (nodeTag(expression)) {
        case T_BoolExpr:
            return compile_boolean(compiler, reinterpret_cast<BoolExpr *>(expression));
        case T_BooleanTest:
            return compile_boolean_test(compiler, reinterpret_cast<BooleanTest *>(expression));
        case T_NullTest: {
            const auto *test = reinterpret_cast<const NullTest *>(expression);
            if (test->argisrow) {
                refuse(compiler, "a condition is over a row", expression);
                return 0;
            }
            const uint16 argument =
                is_index_column(*compiler, test->arg)
                    ? add_input_step(compiler, add_source(compiler, SourceKind::Presence, test->arg))
                    : compile_nullness(compiler, test->arg);
            const uint16 is_null = add_step(compiler, AggregateOperation::is_null, 0, argument, 0);
            return test->nulltesttype == IS_NULL
                       ? is_null
                       : add_step(compiler, AggregateOperation::logical_not, 0, is_null, 0);
        }
        case T_OpExpr:
            return compile_comparison(compiler, reinterpret_cast<OpExpr *>(expression));
        case T_DistinctExpr:
            return compile_distinct(compiler, reinterpret_cast<DistinctExpr *>(expression));
        case T_CaseExpr:
            return compile_case(compiler, reinterpret_cast<CaseExpr *>(expression), compile_truth);
        case T_CoalesceExpr:
            return compile_coalesce(compiler, reinterpret_cast<CoalesceExpr *>(expression), compile_truth);
        default:
            refuse_columns(compiler, expression);
            return 0;
    }
}

uint16 compile_truth(Compiler *compiler, Expr *expression) {
    const CompileForm compile = [](Compiler *with, Expr *truth) -> NumericSteps {
        return {compile_truth_anew(with, truth), 0};
    };
    return compile_once(compiler, StepForm::Truth, expression, compile).number;
}

}  // namespace pg_gpu::plan
