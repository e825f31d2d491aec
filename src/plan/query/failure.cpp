#include "plan/query/failure.h"

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

// Casts of integers to numeric, comparisons of numerics and enums and elements of arrays aren't leakproof
// either.
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
            return true;
        default:
            return of_groups && is_valid_arithmetic(function, *arguments);
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
