#include "plan/query/failure.h"

#include <initializer_list>

#include "compat.h"
#include "subtransaction.h"

namespace pg_gpu::plan {

// A pattern must not end within an escape.
static bool is_whole_pattern(const Node *node) {
    if (!IsA(node, Const) || reinterpret_cast<const Const *>(node)->constisnull)
        return IsA(node, Const);
    const char *at = TextDatumGetCString(reinterpret_cast<const Const *>(node)->constvalue);
    for (; *at != '\0'; at++)
        if (*at == '\\' && *++at == '\0')
            return false;
    return true;
}

// By others substrings aren't found everywhere.
static bool is_deterministic(Oid collation) {
    return OidIsValid(collation) && get_collation_isdeterministic(collation);
}

// LIKE isn't leakproof, but can't fail with a pattern that is known.
static bool is_valid_match(Node *node) {
    if (!IsA(node, OpExpr))
        return false;
    auto *match = reinterpret_cast<OpExpr *>(node);
    switch (match->opfuncid) {
        case F_TEXTLIKE:
        case F_TEXTNLIKE:
        case F_TEXTICLIKE:
        case F_TEXTICNLIKE:
        case F_BPCHARLIKE:
        case F_BPCHARNLIKE:
            return is_deterministic(match->inputcollid) &&
                   is_whole_pattern(static_cast<Node *>(lsecond(match->args)));
        default:
            return false;
    }
}

static bool is_zero_or_unknown(const Node *number) {
    const auto *constant = reinterpret_cast<const Const *>(number);
    return !IsA(number, Const) || constant->constisnull ||
           DatumGetBool(
               DirectFunctionCall2(numeric_eq, constant->constvalue, NumericGetDatum(int64_to_numeric(0))));
}

// Arithmetic of numerics of few digits.
static bool is_valid_arithmetic(Oid function, const List *arguments) {
    switch (function) {
        case F_NUMERIC_ADD:
        case F_NUMERIC_SUB:
        case F_NUMERIC_MUL:
        case F_NUMERIC_UMINUS:
        case F_NUMERIC_ABS:
        case F_ABS_NUMERIC:
        case F_ROUND_NUMERIC:
        case F_ROUND_NUMERIC_INT4:
        case F_TRUNC_NUMERIC:
        case F_TRUNC_NUMERIC_INT4:
        case F_CEIL_NUMERIC:
        case F_CEILING_NUMERIC:
        case F_FLOOR_NUMERIC:
        case F_FLOAT8_INT4:
        case F_FLOAT8_INT8:
            return true;
        case F_NUMERIC_DIV:
            return !is_zero_or_unknown(static_cast<Node *>(lsecond(arguments)));
        default:
            return false;
    }
}

// Sub-selects are looked at before constants are folded.
static const Const *known_constant(const void *argument) {
    Node *folded = eval_const_expressions(nullptr, static_cast<Node *>(const_cast<void *>(argument)));
    auto *constant = reinterpret_cast<const Const *>(folded);
    return IsA(folded, Const) && !constant->constisnull ? constant : nullptr;
}

// An integer that isn't one of the two.
static bool is_known_number(const void *argument, int64 one, int64 other) {
    const Const *constant = known_constant(argument);
    if (constant == nullptr)
        return false;
    const int64 number = constant->consttype == INT2OID   ? DatumGetInt16(constant->constvalue)
                         : constant->consttype == INT4OID ? DatumGetInt32(constant->constvalue)
                                                          : DatumGetInt64(constant->constvalue);
    return number != one && number != other;
}

static bool is_known_unit(const void *argument, std::initializer_list<const char *> units) {
    const Const *constant = known_constant(argument);
    return constant != nullptr && std::any_of(units.begin(), units.end(), [constant](const char *unit) {
               return strcmp(TextDatumGetCString(constant->constvalue), unit) == 0;
           });
}

// Quotients, and fields and units of moments: calls that only some values of one argument make fail, which is
// a constant. What is cut to a unit fails in the year 4714 BC alone, with which moments begin.
static bool is_valid_with_constant(Oid function, const List *arguments) {
    switch (function) {
        case F_INT2MOD:
        case F_INT4MOD:
        case F_INT8MOD:
        case F_MOD_INT2_INT2:
        case F_MOD_INT4_INT4:
        case F_MOD_INT8_INT8:
            return is_known_number(lsecond(arguments), 0, 0);
        case F_INT2DIV:
        case F_INT4DIV:
        case F_INT8DIV:
        case F_INT24DIV:
        case F_INT42DIV:
        case F_INT28DIV:
        case F_INT82DIV:
        case F_INT48DIV:
        case F_INT84DIV:
            return is_known_number(lsecond(arguments), 0, -1);
        case F_EXTRACT_TEXT_TIMESTAMP:
        case F_EXTRACT_TEXT_TIMESTAMPTZ:
        case F_DATE_PART_TEXT_TIMESTAMP:
        case F_DATE_PART_TEXT_TIMESTAMPTZ:
            if (is_known_unit(linitial(arguments), {"hour", "minute", "second"}))
                return true;
            [[fallthrough]];
        case F_EXTRACT_TEXT_DATE:
            return is_known_unit(linitial(arguments), {"year", "quarter", "month", "week", "day", "dow",
                                                       "isodow", "doy", "isoyear", "epoch"});
        case F_DATE_TRUNC_TEXT_TIMESTAMP:
        case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
            return is_known_unit(linitial(arguments),
                                 {"year", "quarter", "month", "week", "day", "hour", "minute", "second"});
        default:
            return false;
    }
}

// Casts of integers to numeric, comparisons of numerics and enums, elements of arrays, days of moments and
// parts of text aren't leakproof either.
static bool is_valid_call(Node *node, bool of_groups, List **arguments) {
    Oid function = InvalidOid;
    if (IsA(node, OpExpr)) {
        function = reinterpret_cast<OpExpr *>(node)->opfuncid;
        *arguments = reinterpret_cast<OpExpr *>(node)->args;
    } else if (IsA(node, FuncExpr)) {
        function = reinterpret_cast<FuncExpr *>(node)->funcid;
        *arguments = reinterpret_cast<FuncExpr *>(node)->args;
    }
    switch (function) {
        case F_STRING_TO_ARRAY_TEXT_TEXT:
            return is_deterministic(reinterpret_cast<FuncExpr *>(node)->inputcollid);
        case F_LOWER_TEXT:
        case F_UPPER_TEXT:
            return OidIsValid(reinterpret_cast<FuncExpr *>(node)->inputcollid);
        case F_UNNEST_ANYARRAY:
        case F_NUMERIC_INT2:
        case F_NUMERIC_INT4:
        case F_NUMERIC_INT8:
        case F_NUMERIC_EQ:
        case F_NUMERIC_NE:
        case F_NUMERIC_LT:
        case F_NUMERIC_LE:
        case F_NUMERIC_GE:
        case F_NUMERIC_GT:
        case F_ENUM_EQ:
        case F_ENUM_NE:
        case F_ENUM_LT:
        case F_ENUM_LE:
        case F_ENUM_GE:
        case F_ENUM_GT:
        case F_DATE_TIMESTAMP:
        case F_DATE_TIMESTAMPTZ:
        // Only dates after the year 294276 aren't moments, too.
        case F_TIMESTAMP_DATE:
        case F_TIMESTAMPTZ_DATE:
        case F_LEFT:
        case F_RIGHT:
            return true;
        default:
            return is_valid_with_constant(function, *arguments) ||
                   (of_groups && is_valid_arithmetic(function, *arguments));
    }
}

namespace {

// What expressions of groups are computed of.
struct Groups {
    const List *given;
};

}  // namespace

// A node of the same type as another one, over so many operands, that can't fail by itself.
static Node *valid_node(const Node *node, List *operands) {
    auto *array = makeNode(ArrayExpr);
    array->array_typeid = exprType(node);
    array->elements = operands;
    array->location = -1;
    return reinterpret_cast<Node *>(array);
}

static Node *columns_for_constants(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    check_stack_depth();
    const auto *groups = static_cast<const Groups *>(context);
    const bool is_given = groups != nullptr && list_member(groups->given, node);
    // Subqueries here are read before anything else is evaluated.
    if (is_given || IsA(node, Const) || IsA(node, Param) || IsA(node, SubPlan))
        return reinterpret_cast<Node *>(
            makeVar(1, 1, exprType(node), exprTypmod(node), exprCollation(node), 0));
    if (is_valid_match(node)) {
        auto *test = makeNode(NullTest);
        test->arg = reinterpret_cast<Expr *>(columns_for_constants(
            static_cast<Node *>(linitial(reinterpret_cast<OpExpr *>(node)->args)), context));
        test->nulltesttype = IS_NULL;
        return reinterpret_cast<Node *>(test);
    }
    List *arguments = NIL;
    if (is_valid_call(node, groups != nullptr, &arguments)) {
        List *operands = NIL;
        ListCell *cell;
        foreach (cell, arguments)
            operands = lappend(operands, columns_for_constants(static_cast<Node *>(lfirst(cell)), context));
        return valid_node(node, operands);
    }
    return mutate_expression(node, columns_for_constants, context);
}

// PostgreSQL asks which functions see columns and aren't leakproof. One that sees constants alone may fail as
// well.
bool may_fail(const void *expression) {
    auto *node = const_cast<Node *>(static_cast<const Node *>(expression));
    return contain_leaked_vars(columns_for_constants(node, nullptr));
}

bool may_fail_of_groups(const List *expressions, const List *given) {
    Groups groups = {given};
    auto *node = reinterpret_cast<Node *>(const_cast<List *>(expressions));
    return contain_leaked_vars(columns_for_constants(node, &groups));
}

bool evaluate_without_columns(Expr *expression, ExprContext *context, Const *constant) {
    auto *node = reinterpret_cast<Node *>(expression);
    *constant = {};
    constant->xpr.type = T_Const;
    constant->consttype = exprType(node);
    constant->consttypmod = exprTypmod(node);
    constant->constcollid = exprCollation(node);
    const auto work = [&] {
        constant->constvalue =
            ExecEvalExpr(ExecInitExpr(expression, nullptr), context, &constant->constisnull);
    };
    if (!may_fail(expression)) {
        work();
        return true;
    }
    if (!may_try())
        return false;
    ErrorData *error = try_in_subtransaction(CurrentMemoryContext, work);
    if (error == nullptr)
        return true;
    if (!is_about_values(error->sqlerrcode))
        ReThrowError(error);
    FreeErrorData(error);
    return false;
}

}  // namespace pg_gpu::plan
