#include "plan/aggregate_failure.h"

#include "compat.h"
#include "subtransaction.h"

namespace pg_gpu::plan {

static Node *columns_for_constants(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (IsA(node, Const) || IsA(node, Param))
        return reinterpret_cast<Node *>(
            makeVar(1, 1, exprType(node), exprTypmod(node), exprCollation(node), 0));
    return mutate_expression(node, columns_for_constants, context);
}

// PostgreSQL asks which functions see columns and aren't leakproof. One that sees constants alone may fail as
// well.
bool may_fail(const void *expression) {
    auto *node = const_cast<Node *>(static_cast<const Node *>(expression));
    return contain_leaked_vars(columns_for_constants(node, nullptr));
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
    // No subtransaction can be started there.
    if (IsInParallelMode())
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
