#include "plan/query/subqueries.h"

#include <initializer_list>

#include "compat.h"
#include "expressions.h"

namespace pg_gpu::plan {

// ---- planning ---------------------------------------------------------------------------------------------

static bool is_parameter(const Expr *expression) {
    return IsA(without_relabels(expression), Param);
}

// Only if one function hashes both sides an array is searched by hashing.
static bool is_hashed_alike(Oid equality) {
    Oid left;
    Oid right;
    return get_op_hash_functions(equality, &left, &right) && left == right;
}

// Core leaves subqueries that depend on rows around them, or need more memory than there is, without a hash
// table.
static bool is_array_test(const SubPlan *subquery) {
    if (subquery->subLinkType != ANY_SUBLINK || !subquery->useHashTable || subquery->parParam != NIL ||
        !IsA(subquery->testexpr, OpExpr))
        return false;
    const auto *test = reinterpret_cast<const OpExpr *>(subquery->testexpr);
    const auto *value = static_cast<const Expr *>(lsecond(test->args));
    const Oid type = exprType(reinterpret_cast<const Node *>(value));
    return is_parameter(value) && is_hashed_alike(test->opno) && OidIsValid(get_array_type(type)) &&
           get_promoted_array_type(type) == get_array_type(type);
}

ScalarArrayOpExpr *test_of_subquery(const SubPlan *subquery) {
    if (!is_array_test(subquery))
        return nullptr;
    const auto *equality = reinterpret_cast<const OpExpr *>(subquery->testexpr);
    const auto *value = static_cast<const Node *>(lsecond(equality->args));
    auto *rows = makeNode(SubPlan);
    rows->subLinkType = ARRAY_SUBLINK;
    rows->plan_id = subquery->plan_id;
    rows->plan_name = subquery->plan_name;
    rows->firstColType = exprType(value);
    rows->firstColTypmod = -1;
    rows->firstColCollation = exprCollation(value);
    rows->startup_cost = subquery->startup_cost;
    auto *test = makeNode(ScalarArrayOpExpr);
    test->opno = equality->opno;
    test->useOr = true;
    test->inputcollid = equality->inputcollid;
    test->args = list_make2(linitial(equality->args), rows);
    test->location = -1;
    return test;
}

// ---- execution --------------------------------------------------------------------------------------------

namespace {

struct Reading {
    EState *estate;
    size_t *memory;
    const char *problem;
};

}  // namespace

static PlanState *plan_of(EState *estate, const SubPlan *subquery) {
    return static_cast<PlanState *>(list_nth(estate->es_subplanstates, subquery->plan_id - 1));
}

// The next value; false: there is none.
static bool next_value(PlanState *plan, Datum *value, bool *is_null) {
    CHECK_FOR_INTERRUPTS();
    // What the plan opens on its way lasts as long as the plan.
    MemoryContext caller = MemoryContextSwitchTo(plan->state->es_query_cxt);
    TupleTableSlot *row = ExecProcNode(plan);
    MemoryContextSwitchTo(caller);
    if (TupIsNull(row))
        return false;
    *value = slot_getattr(row, 1, is_null);
    return true;
}

// The plan is also that of PostgreSQL's own hash table, for which it begins anew.
static void begin_anew(PlanState *plan) {
    MemoryContext caller = MemoryContextSwitchTo(plan->state->es_query_cxt);
    ExecReScan(plan);
    MemoryContextSwitchTo(caller);
}

static Node *read_array(Reading *reading, const SubPlan *subquery) {
    PlanState *plan = plan_of(reading->estate, subquery);
    const Oid type = subquery->firstColType;
    int16 length;
    bool by_value;
    get_typlenbyval(type, &length, &by_value);
    ArrayBuildState *values = initArrayResult(type, CurrentMemoryContext, false);
    const ScanDirection direction = reading->estate->es_direction;
    reading->estate->es_direction = ForwardScanDirection;
    begin_anew(plan);
    Datum value;
    bool is_null;
    while (reading->problem == nullptr && next_value(plan, &value, &is_null)) {
        // It is there twice: as it is gathered, and in the array.
        const size_t bytes =
            is_null ? 2 * sizeof(Datum) : 2 * (sizeof(Datum) + datumGetSize(value, by_value, length));
        if (bytes > *reading->memory || values->nelems >= static_cast<int>(MaxAllocSize / 64)) {
            reading->problem = "work_mem has no room for a subquery's rows";
            break;
        }
        *reading->memory -= bytes;
        accumArrayResult(values, value, is_null, type, CurrentMemoryContext);
    }
    reading->estate->es_direction = direction;
    if (reading->problem != nullptr)
        return nullptr;
    return reinterpret_cast<Node *>(makeConst(get_array_type(type), -1, subquery->firstColCollation, -1,
                                              makeArrayResult(values, CurrentMemoryContext), false, false));
}

// Without rows core doesn't evaluate what is looked for, which might fail.
static bool is_of_no_rows(Node *node) {
    if (!IsA(node, ScalarArrayOpExpr))
        return false;
    const auto *array =
        static_cast<const Const *>(lsecond(reinterpret_cast<ScalarArrayOpExpr *>(node)->args));
    return IsA(array, Const) && !array->constisnull &&
           ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(array->constvalue)),
                          ARR_DIMS(DatumGetArrayTypeP(array->constvalue))) == 0;
}

static bool is_test_of_subquery(Node *node) {
    return IsA(node, ScalarArrayOpExpr) &&
           IsA(lsecond(reinterpret_cast<ScalarArrayOpExpr *>(node)->args), SubPlan);
}

static Node *read(Node *node, void *context) {
    auto *reading = static_cast<Reading *>(context);
    if (node == nullptr || reading->problem != nullptr)
        return nullptr;
    if (IsA(node, SubPlan))
        return read_array(reading, reinterpret_cast<const SubPlan *>(node));
    Node *bound = mutate_expression(node, read, context);
    return reading->problem == nullptr && is_test_of_subquery(node) && is_of_no_rows(bound)
               ? makeBoolConst(false, false)
               : bound;
}

const char *read_subqueries(AggregateQuery *query, EState *estate, size_t *memory) {
    Reading reading = {estate, memory, nullptr};
    for (List **expressions : {&query->conditions, &query->keys, &query->aggregates}) {
        auto *node = reinterpret_cast<Node *>(*expressions);
        if (!contain_subplans(node))
            continue;
        node = read(node, &reading);
        if (reading.problem != nullptr)
            return reading.problem;
        // As the planner does with arrays that it knows.
        convert_saop_to_hashed_saop(node);
        *expressions = reinterpret_cast<List *>(node);
    }
    return nullptr;
}

namespace {

struct Change {
    EState *estate;
    const Bitmapset *parameters;
};

}  // namespace

static bool note_change(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (!IsA(node, SubPlan))
        return walk_expression(node, note_change, context);
    const auto *change = static_cast<const Change *>(context);
    UpdateChangedParamSet(plan_of(change->estate, reinterpret_cast<const SubPlan *>(node)),
                          const_cast<Bitmapset *>(change->parameters));
    return false;
}

void note_changed_parameters(const AggregateQuery &query, EState *estate, const Bitmapset *parameters) {
    Change change = {estate, parameters};
    for (const List *expressions : {query.conditions, query.keys, query.aggregates})
        note_change(reinterpret_cast<Node *>(const_cast<List *>(expressions)), &change);
}

}  // namespace pg_gpu::plan
