#include "plan/query/shape.h"

#include <initializer_list>

#include "compat.h"

namespace pg_gpu::plan::query {

static uint32 number_of(const Node *node) {
    switch (nodeTag(node)) {
        case T_Var:
            return static_cast<uint32>(reinterpret_cast<const Var *>(node)->varattno);
        case T_OpExpr:
            return reinterpret_cast<const OpExpr *>(node)->opno;
        case T_FuncExpr:
            return reinterpret_cast<const FuncExpr *>(node)->funcid;
        case T_Aggref:
            return reinterpret_cast<const Aggref *>(node)->aggfnoid;
        case T_WindowFunc:
            return reinterpret_cast<const WindowFunc *>(node)->winfnoid;
        default:
            return 0;
    }
}

static bool add_to_shape(Node *node, void *shape) {
    if (node == nullptr)
        return false;
    auto *hash = static_cast<uint32 *>(shape);
    *hash = hash_combine(*hash, murmurhash32(static_cast<uint32>(nodeTag(node))));
    *hash = hash_combine(*hash, murmurhash32(number_of(node)));
    return walk_expression(node, add_to_shape, shape);
}

uint32 shape_of_query(const AggregateQuery &query) {
    uint32 shape = 0;
    for (List *list : {query.conditions, query.keys, query.aggregates})
        add_to_shape(reinterpret_cast<Node *>(list), &shape);
    return shape;
}

}  // namespace pg_gpu::plan::query
