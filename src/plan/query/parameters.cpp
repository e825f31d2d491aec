#include "plan/query/parameters.h"

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

bool has_parameter_of_plan(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, Query))
        return walk_query(reinterpret_cast<Query *>(node), has_parameter_of_plan, context, 0);
    if (IsA(node, Param))
        return reinterpret_cast<const Param *>(node)->paramkind == PARAM_EXEC;
    return walk_expression(node, has_parameter_of_plan, context);
}

// Those of WITH are evaluated where they are read.
static bool is_of_with(const PlannerInfo *root, int plan_id) {
    for (; root != nullptr; root = root->parent_root)
        if (list_member_int(root->cte_plan_ids, plan_id))
            return true;
    return false;
}

bool has_volatile_subquery(const PlannerInfo *root) {
    for (int i = 0; i < list_length(root->glob->subroots); i++) {
        const auto *subquery = static_cast<const PlannerInfo *>(list_nth(root->glob->subroots, i));
        if (subquery != nullptr && !is_of_with(root, i + 1) &&
            contain_volatile_functions(reinterpret_cast<Node *>(subquery->parse)))
            return true;
    }
    return false;
}

}  // namespace pg_gpu::plan
