// Expressions over a column of which the engine knows codes alone: PostgreSQL evaluates them once for each
// entry of the column's dictionaries.
#include "compat.h"
#include "plan/query/failure.h"
#include "plan/query/numbering.h"
#include "plan/query/text_casts.h"

namespace pg_gpu::plan::query {

namespace {

struct ColumnSearch {
    const Compiler *compiler;
    const Var *column;  // nullptr: none yet
};

}  // namespace

// Stops where the expression has another column than the first, or one that is computed with.
static bool has_other_column(Node *node, void *context) {
    auto *search = static_cast<ColumnSearch *>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, CaseTestExpr))
        return true;
    if (!IsA(node, Var))
        return walk_expression(node, has_other_column, context);
    const auto *column = reinterpret_cast<const Var *>(node);
    const Var *first = search->column;
    if (column->varattno <= 0 || is_of_groups(*search->compiler, column) ||
        (first != nullptr && (column->varno != first->varno || column->varattno != first->varattno)))
        return true;
    search->column = column;
    const ColumnFacts &facts = facts_of(*search->compiler, column);
    return facts.kind != Kind::Group || facts.type.is_integer;
}

bool is_map(Compiler *compiler, const Expr *expression) {
    auto *node = reinterpret_cast<Node *>(const_cast<Expr *>(expression));
    switch (nodeTag(node)) {
        case T_OpExpr:
        case T_FuncExpr:
        case T_ScalarArrayOpExpr:
        case T_RelabelType:
        case T_CoerceViaIO:
            break;
        default:
            return false;
    }
    ColumnSearch search = {compiler, nullptr};
    return !has_other_column(node, &search) && search.column != nullptr && !contain_nonstrict_functions(node);
}

static bool is_users(Oid function, void *) {
    return function >= FirstUnpinnedObjectId;
}

bool has_users_function(Node *node, void *context) {
    return node != nullptr && (check_functions_in_node(node, is_users, context) ||
                               walk_expression(node, has_users_function, context));
}

// The step fails for entries that a cast can't read, unless what is around it leaves out their rows.
static uint16 where_readable(Compiler *compiler, Source source, uint16 step, ValueType type) {
    if (source.kind != SourceKind::Result || !has_text_casts(reinterpret_cast<Node *>(source.expression)))
        return step;
    Program *program = compiler->program;
    source.type = ValueType::int64;
    source.part = ResultPart::Readable;
    source.numbering = no_numbering;
    const uint16 is_readable =
        add_step(program, make_step(Operation::column, ValueType::int64, add_source(program, source)));
    const uint16 divided = add_guarded(compiler,
                                       make_step(Operation::divide, ValueType::int64,
                                                 constant_step(program, 1, ValueType::int64), is_readable),
                                       true);
    return add_step(
        program, make_step(Operation::choose, type,
                           add_step(program, make_step(Operation::to_boolean, ValueType::boolean, divided)),
                           step, add_step(program, make_step(Operation::null, type))));
}

static Value value_of_source(Compiler *compiler, const Source &source) {
    const uint16 place = add_source(compiler->program, source);
    const uint16 step = add_step(compiler->program, make_step(Operation::column, source.type, place));
    Value value = make_value(where_readable(compiler, source, step, source.type), source.result, source.type,
                             kMaxInt64);
    value.width = width_of_type(source.result_type);
    value.numbering = source.numbering;
    if (source.result == Kind::Group && source.numbering == no_numbering)
        value.coded = getBaseType(source.result_type);
    if (source.result == Kind::Integer || source.result == Kind::Date)
        value.limit = value.width == 2 ? 32768.0 : value.width == 4 ? 2147483648.0 : kMaxInt64;
    return value;
}

// How many digits each shows is a source of its own.
static Value value_of_decimals(Compiler *compiler, Source source) {
    Value value = value_of_computed(exprTypmod(reinterpret_cast<const Node *>(source.expression)));
    const auto read = [&](ValueType type, ResultPart part) {
        source.type = type;
        source.part = part;
        return add_step(compiler->program,
                        make_step(Operation::column, type, add_source(compiler->program, source)));
    };
    source.scale = value.scale;
    value.step = where_readable(compiler, source, read(value.type, ResultPart::Whole), value.type);
    if (value.shown == kShownByRow)
        value.shown_step = read(ValueType::int64, ResultPart::Shown);
    return value;
}

static Value compile_source(Compiler *compiler, const Expr *expression, const Var *column) {
    const auto *node = reinterpret_cast<const Node *>(expression);
    const Oid type = exprType(node);
    Source source = begin_source(SourceKind::Result, column, ValueType::int64, kind_of_type(type));
    source.expression = const_cast<Expr *>(expression);
    source.result_type = type;
    source.collation = exprCollation(node);
    if (source.result == Kind::Decimal)
        return value_of_decimals(compiler, source);
    if (source.result == Kind::Boolean)
        source.type = ValueType::boolean;
    if (source.result == Kind::Float)
        source.type = ValueType::float64;
    if (source.result == Kind::Group && !is_coded(type)) {
        source.numbering =
            compiler->has_own_numbers ? add_own_numbering(compiler, type, source.collation) : no_numbering;
        if (source.numbering == no_numbering)
            source.numbering = find_numbering(compiler, type, source.collation);
        if (is_refused(compiler))
            return {};
    }
    return value_of_source(compiler, source);
}

// Refuses what may raise an error where that can't be undone.
static bool may_be_evaluated(Compiler *compiler, const Expr *expression) {
    auto *node = reinterpret_cast<Node *>(const_cast<Expr *>(expression));
    if (!may_fail(node))
        return true;
    if (compiler->has_barrier)
        refuse_value(compiler, "an expression must not see rows that a security barrier hides", expression);
    else if (has_users_function(node, nullptr))
        refuse_value(compiler, "an expression may raise an error for values that no row has", expression);
    else
        compiler->maps_may_fail = true;
    return !is_refused(compiler);
}

static const Var *column_of(const Compiler *compiler, const Expr *expression) {
    ColumnSearch search = {compiler, nullptr};
    has_other_column(reinterpret_cast<Node *>(const_cast<Expr *>(expression)), &search);
    return search.column;
}

// An error may be about a value that no row has, so all values' results are thrown away then. What users'
// functions do besides couldn't be.
Value compile_map(Compiler *compiler, const Expr *expression) {
    return may_be_evaluated(compiler, expression)
               ? compile_source(compiler, expression, column_of(compiler, expression))
               : Value{};
}

Value compile_fields_of_map(Compiler *compiler, const Expr *expression) {
    if (!may_be_evaluated(compiler, expression))
        return {};
    Source source =
        begin_source(SourceKind::Result, column_of(compiler, expression), ValueType::int64, Kind::Integer);
    source.expression = const_cast<Expr *>(expression);
    source.result_type = INTERVALOID;
    uint16 steps[3];
    for (const ResultPart part : {ResultPart::Months, ResultPart::Days, ResultPart::Time}) {
        source.part = part;
        const uint16 step = add_step(compiler->program, make_step(Operation::column, ValueType::int64,
                                                                  add_source(compiler->program, source)));
        steps[static_cast<int>(part) - 1] = where_readable(compiler, source, step, ValueType::int64);
    }
    return value_of_fields(compiler, steps[0], steps[1], steps[2]);
}

Value compile_group(Compiler *compiler, const Var *column) {
    if (!facts_of(*compiler, column).type.is_integer)
        return compile_source(compiler, &column->xpr, column);
    Source source = begin_source(SourceKind::Own, column, ValueType::int64, Kind::Group);
    source.result_type = column->vartype;
    return value_of_source(compiler, source);
}

}  // namespace pg_gpu::plan::query
