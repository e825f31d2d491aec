// Likely values for parameters of recorded statements, which were constants.
#include "compat.h"
#include "plan/advise/recorded.h"

namespace pg_gpu::plan {

// Returns the number one as a value of the type; nullptr where it is no number.
static Node *make_one(Oid type) {
    Datum value;
    switch (type) {
        case INT2OID:
            value = Int16GetDatum(1);
            break;
        case INT4OID:
            value = Int32GetDatum(1);
            break;
        case INT8OID:
            value = Int64GetDatum(1);
            break;
        case FLOAT4OID:
            value = Float4GetDatum(1);
            break;
        case FLOAT8OID:
            value = Float8GetDatum(1);
            break;
        case NUMERICOID:
            value = DirectFunctionCall1(int4_numeric, Int32GetDatum(1));
            break;
        default:
            return nullptr;
    }
    int16 length;
    bool by_value;
    get_typlenbyval(type, &length, &by_value);
    return reinterpret_cast<Node *>(makeConst(type, -1, InvalidOid, length, value, false, by_value));
}

static bool is_parameter(const Node *node) {
    return node != nullptr && IsA(node, Param) &&
           reinterpret_cast<const Param *>(node)->paramkind == PARAM_EXTERN;
}

// Is it what a time is cut to?
static bool takes_unit(const FuncExpr *call) {
    if (call->funcid >= FirstNormalObjectId || list_length(call->args) < 2)
        return false;
    const char *name = get_func_name(call->funcid);
    return name != nullptr && (strcmp(name, "extract") == 0 || strcmp(name, "date_part") == 0 ||
                               strcmp(name, "date_trunc") == 0);
}

static Node *restore(Node *node, void *context);

// What a column is compared with stays a parameter, whose value the planner must not take for known.
static Node *restore_comparison(Node *node, void *context) {
    return is_parameter(node) ? node : restore(node, context);
}

static bool is_comparison(const Node *node) {
    return IsA(node, ScalarArrayOpExpr) ||
           (IsA(node, OpExpr) && reinterpret_cast<const OpExpr *>(node)->opresulttype == BOOLOID);
}

static Node *restore_unit(FuncExpr *call, void *context) {
    if (is_parameter(static_cast<Node *>(linitial(call->args)))) {
        call = static_cast<FuncExpr *>(copyObjectImpl(call));
        linitial(call->args) =
            makeConst(TEXTOID, -1, get_typcollation(TEXTOID), -1, CStringGetTextDatum("month"), false, false);
    }
    return mutate_expression(reinterpret_cast<Node *>(call), restore, context);
}

static Node *restore(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (is_parameter(node)) {
        Node *one = make_one(reinterpret_cast<Param *>(node)->paramtype);
        return one != nullptr ? one : node;
    }
    if (IsA(node, Query)) {
        auto *query = reinterpret_cast<Query *>(node);
        Query *restored = mutate_query(query, restore, context, 0);
        // How many rows are wanted isn't known either.
        restored->limitCount = query->limitCount;
        restored->limitOffset = query->limitOffset;
        return reinterpret_cast<Node *>(restored);
    }
    if (IsA(node, FuncExpr) && takes_unit(reinterpret_cast<FuncExpr *>(node)))
        return restore_unit(reinterpret_cast<FuncExpr *>(node), context);
    return mutate_expression(node, is_comparison(node) ? restore_comparison : restore, context);
}

Query *restore_constants(Query *query) {
    return reinterpret_cast<Query *>(restore(reinterpret_cast<Node *>(query), nullptr));
}

}  // namespace pg_gpu::plan
