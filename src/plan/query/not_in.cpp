#include "plan/query/not_in.h"

#include "compat.h"
#include "plan/query/inputs.h"
#include "plan/query/sub_selects.h"

namespace pg_gpu::plan::query {

namespace {

// `value NOT IN (subselect)`, whose values are told apart by the operator.
struct NotIn {
    OpExpr *equality;
    Node *value;
    Query *subselect;
};

}  // namespace

// `SELECT target FROM (subselect) WHERE condition`, whose only table has the number 1.
static Query *select_from(const Query *subselect, Expr *target, Node *condition) {
    auto *query = makeNode(Query);
    auto *reference = makeNode(RangeTblRef);
    reference->rtindex = 1;
    query->commandType = CMD_SELECT;
    query->canSetTag = true;
    query->rtable = list_make1(make_entry(static_cast<Query *>(copyObjectImpl(subselect))));
    query->jointree = makeFromExpr(list_make1(reference), condition);
    query->targetList = list_make1(makeTargetEntry(target, 1, pstrdup("value"), false));
    return query;
}

static Var *value_of(const Query *subselect) {
    const auto *entry = linitial_node(TargetEntry, subselect->targetList);
    const auto *value = reinterpret_cast<const Node *>(entry->expr);
    return makeVar(1, entry->resno, exprType(value), exprTypmod(value), exprCollation(value), 0);
}

static SubLink *make_link(SubLinkType type, Query *query) {
    auto *link = makeNode(SubLink);
    link->subLinkType = type;
    link->subselect = reinterpret_cast<Node *>(query);
    link->location = -1;
    return link;
}

static Node *has_no_row_with(const NotIn &not_in) {
    auto *equality = static_cast<OpExpr *>(copyObjectImpl(not_in.equality));
    auto *value = static_cast<Node *>(copyObjectImpl(not_in.value));
    IncrementVarSublevelsUp(value, 1, 0);
    equality->args = list_make2(value, value_of(not_in.subselect));
    Const *one = makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(1), false, true);
    Query *rows = select_from(not_in.subselect, &one->xpr, reinterpret_cast<Node *>(equality));
    return reinterpret_cast<Node *>(makeBoolExpr(NOT_EXPR, list_make1(make_link(EXISTS_SUBLINK, rows)), -1));
}

static Node *test_null(Node *value, NullTestType type) {
    auto *test = makeNode(NullTest);
    test->arg = reinterpret_cast<Expr *>(value);
    test->nulltesttype = type;
    test->location = -1;
    return reinterpret_cast<Node *>(test);
}

// `(SELECT count(*) FROM (subselect) WHERE condition) = 0`
static Node *has_no_row(const Query *subselect, Node *condition) {
    auto *count = makeNode(Aggref);
    count->aggfnoid = F_COUNT_;
    count->aggtype = INT8OID;
    count->aggstar = true;
    count->aggkind = AGGKIND_NORMAL;
    count->aggsplit = AGGSPLIT_SIMPLE;
    count->aggno = count->aggtransno = count->location = -1;
    Query *rows = select_from(subselect, &count->xpr, condition);
    rows->hasAggs = true;
    Const *zero = makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false, FLOAT8PASSBYVAL);
    return reinterpret_cast<Node *>(make_opclause(
        lookup_type_cache(INT8OID, TYPECACHE_EQ_OPR)->eq_opr, BOOLOID, false,
        reinterpret_cast<Expr *>(make_link(EXPR_SUBLINK, rows)), &zero->xpr, InvalidOid, InvalidOid));
}

static bool is_first_column(const void *expression) {
    const auto *parameter = static_cast<const Param *>(expression);
    return IsA(parameter, Param) && parameter->paramkind == PARAM_SUBLINK && parameter->paramid == 1;
}

// The sub-select of `NOT (x = ANY (…))`, or of `x <> ALL (…)`, and the equality; nullptr: it is neither.
static const SubLink *find_link(Node *condition, OpExpr **equality) {
    const auto *negation = reinterpret_cast<const BoolExpr *>(condition);
    const bool is_negated = IsA(condition, BoolExpr) && negation->boolop == NOT_EXPR;
    auto *inner = is_negated ? static_cast<Node *>(linitial(negation->args)) : condition;
    const auto *link = reinterpret_cast<const SubLink *>(inner);
    if (!IsA(inner, SubLink) || link->subLinkType != (is_negated ? ANY_SUBLINK : ALL_SUBLINK) ||
        !IsA(link->testexpr, OpExpr))
        return nullptr;
    *equality = static_cast<OpExpr *>(copyObjectImpl(link->testexpr));
    if (!is_negated) {
        (*equality)->opno = get_negator((*equality)->opno);
        (*equality)->opfuncid = get_opcode((*equality)->opno);
    }
    return OidIsValid((*equality)->opno) ? link : nullptr;
}

static bool read_not_in(Node *condition, NotIn *not_in) {
    OpExpr *equality;
    const SubLink *link = find_link(condition, &equality);
    if (link == nullptr || list_length(equality->args) != 2 || !is_first_column(lsecond(equality->args)))
        return false;
    *not_in = {equality, static_cast<Node *>(linitial(equality->args)), castNode(Query, link->subselect)};
    return op_hashjoinable(equality->opno, exprType(not_in->value)) && !checkExprHasSubLink(not_in->value);
}

bool replace_not_in(Node *condition, List **conditions) {
    NotIn not_in;
    if (!read_not_in(condition, &not_in))
        return false;
    Query *subselect = not_in.subselect;
    const Levels levels = levels_of(subselect);
    if (levels.own || levels.outer || levels.further || list_length(subselect->targetList) != 1 ||
        subselect->commandType != CMD_SELECT || subselect->rowMarks != NIL || !is_of_tables(subselect) ||
        !has_column_index(subselect) || may_query_fail(subselect) || contain_volatile_functions(condition))
        return false;
    Node *is_there = test_null(static_cast<Node *>(copyObjectImpl(not_in.value)), IS_NOT_NULL);
    Node *is_null = test_null(reinterpret_cast<Node *>(value_of(subselect)), IS_NULL);
    auto *has_no_null = makeBoolExpr(AND_EXPR, list_make2(is_there, has_no_row(subselect, is_null)), -1);
    *conditions = lappend(*conditions, has_no_row_with(not_in));
    *conditions = lappend(*conditions,
                          makeBoolExpr(OR_EXPR, list_make2(has_no_null, has_no_row(subselect, nullptr)), -1));
    return true;
}

}  // namespace pg_gpu::plan::query
