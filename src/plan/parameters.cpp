#include "plan/parameters.h"

#include "compat.h"

namespace pg_gpu::plan {

static Node *bind(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (!IsA(node, Param))
        return mutate_expression(node, bind, context);
    const auto *parameter = reinterpret_cast<const Param *>(node);
    int16 length;
    bool by_value;
    get_typlenbyval(parameter->paramtype, &length, &by_value);
    bool is_null;
    Datum value = ExecEvalExpr(ExecInitExpr(reinterpret_cast<Expr *>(node), nullptr),
                               static_cast<ExprContext *>(context), &is_null);
    if (!is_null)
        value = datumCopy(value, by_value, length);
    return reinterpret_cast<Node *>(makeConst(parameter->paramtype, parameter->paramtypmod,
                                              parameter->paramcollid, length, value, is_null, by_value));
}

List *bind_parameters(List *expressions, ExprContext *context) {
    return reinterpret_cast<List *>(bind(reinterpret_cast<Node *>(expressions), context));
}

}  // namespace pg_gpu::plan
