#include "plan/query/in_sub_select.h"

#include "compat.h"
#include "plan/query/inputs.h"
#include "plan/query/sub_selects.h"

namespace pg_gpu::plan::query {

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

SubLink *make_link(SubLinkType type, Query *query) {
    auto *link = makeNode(SubLink);
    link->subLinkType = type;
    link->subselect = reinterpret_cast<Node *>(query);
    link->location = -1;
    return link;
}

Node *test_null(Node *value, NullTestType type) {
    auto *test = makeNode(NullTest);
    test->arg = reinterpret_cast<Expr *>(value);
    test->nulltesttype = type;
    test->location = -1;
    return reinterpret_cast<Node *>(test);
}

static Expr *constant_true() {
    return reinterpret_cast<Expr *>(makeBoolConst(true, false));
}

// ---- EXISTS -----------------------------------------------------------------------------------------------

// LIMIT leaves a row where there is one.
static bool leaves_a_row(const Node *limit) {
    const auto *count = reinterpret_cast<const Const *>(limit);
    return limit == nullptr ||
           (IsA(limit, Const) && (count->constisnull || DatumGetInt64(count->constvalue) > 0));
}

// As PostgreSQL does, takes away what doesn't matter to EXISTS.
static void simplify(Query *subselect) {
    if (subselect->hasAggs || subselect->groupingSets != NIL || subselect->havingQual != nullptr ||
        subselect->hasWindowFuncs || subselect->hasTargetSRFs || subselect->setOperations != nullptr ||
        subselect->limitOffset != nullptr || !leaves_a_row(subselect->limitCount))
        return;
    subselect->limitCount = nullptr;
    subselect->groupClause = subselect->distinctClause = subselect->sortClause = NIL;
    subselect->hasDistinctOn = false;
    subselect->targetList = list_make1(makeTargetEntry(constant_true(), 1, pstrdup("value"), false));
}

Query *rows_that_exist(const SubLink *link) {
    auto *rows = static_cast<Query *>(copyObjectImpl(link->subselect));
    simplify(rows);
    return is_of_rows(rows) ? rows : nullptr;
}

// ---- IN ---------------------------------------------------------------------------------------------------

// Puts a sub-select's columns, of which there is the target list, in place of their parameters.
static Node *with_columns(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    const auto *parameter = reinterpret_cast<const Param *>(node);
    if (!IsA(node, Param) || parameter->paramkind != PARAM_SUBLINK)
        return mutate_expression(node, with_columns, context);
    const auto *columns = static_cast<const List *>(context);
    return static_cast<Node *>(copyObjectImpl(
        get_tle_by_resno(const_cast<List *>(columns), static_cast<AttrNumber>(parameter->paramid))->expr));
}

// The columns of a sub-select that is the table number 1.
static List *columns_of(const Query *subselect) {
    List *columns = NIL;
    ListCell *cell;
    foreach (cell, subselect->targetList) {
        const auto *entry = lfirst_node(TargetEntry, cell);
        const auto *value = reinterpret_cast<const Node *>(entry->expr);
        Var *column = makeVar(1, entry->resno, exprType(value), exprTypmod(value), exprCollation(value), 0);
        columns = lappend(columns, makeTargetEntry(&column->xpr, entry->resno, nullptr, entry->resjunk));
    }
    return columns;
}

static bool is_correlated(const Query *subselect) {
    const Levels levels = levels_of(const_cast<Query *>(subselect));
    return levels.own || levels.outer || levels.further;
}

// Rows of which there is one where the test of the sub-select's columns is true.
static Query *rows_with(const Query *subselect, const Node *test) {
    auto *equalities = static_cast<Node *>(copyObjectImpl(test));
    IncrementVarSublevelsUp(equalities, 1, 0);
    if (!is_correlated(subselect))
        return select_from(subselect, constant_true(), with_columns(equalities, columns_of(subselect)));
    auto *rows = static_cast<Query *>(copyObjectImpl(subselect));
    if (!rows->hasDistinctOn)
        rows->distinctClause = NIL;
    rows->sortClause = NIL;
    if (!is_of_rows(rows))
        return nullptr;
    List *conditions =
        list_concat(make_ands_implicit(reinterpret_cast<Expr *>(rows->jointree->quals)),
                    make_ands_implicit(reinterpret_cast<Expr *>(with_columns(equalities, rows->targetList))));
    rows->jointree->quals = reinterpret_cast<Node *>(make_ands_explicit(conditions));
    rows->targetList = list_make1(makeTargetEntry(constant_true(), 1, pstrdup("value"), false));
    return rows;
}

static bool may_be_moved(const SubLink *link) {
    return !checkExprHasSubLink(link->testexpr) && !contain_windowfuncs(link->testexpr) &&
           !contain_aggs_of_level(link->testexpr, 0) && !expression_returns_set(link->testexpr) &&
           !contain_volatile_functions(link->testexpr);
}

Query *rows_that_match(const SubLink *link) {
    const auto *subselect = castNode(Query, link->subselect);
    return link->subLinkType == ANY_SUBLINK && subselect->commandType == CMD_SELECT &&
                   subselect->rowMarks == NIL && may_be_moved(link)
               ? rows_with(subselect, link->testexpr)
               : nullptr;
}

// ---- NULL -------------------------------------------------------------------------------------------------

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

// Is it an equality of one value with a sub-select's only column, that doesn't depend on rows around it?
static bool is_of_one_column(const SubLink *link) {
    const auto *subselect = castNode(Query, link->subselect);
    const auto *equality = reinterpret_cast<const OpExpr *>(link->testexpr);
    if (!IsA(equality, OpExpr) || list_length(equality->args) != 2 ||
        list_length(subselect->targetList) != 1 || is_correlated(subselect))
        return false;
    const auto *parameter = static_cast<const Param *>(lsecond(equality->args));
    return IsA(parameter, Param) && parameter->paramkind == PARAM_SUBLINK &&
           op_hashjoinable(equality->opno, exprType(static_cast<Node *>(linitial(equality->args))));
}

Node *is_known(const SubLink *link) {
    if (!is_of_one_column(link))
        return nullptr;
    const auto *subselect = castNode(Query, link->subselect);
    const auto *equality = reinterpret_cast<const OpExpr *>(link->testexpr);
    const auto *column = linitial_node(TargetEntry, columns_of(subselect));
    auto *value = static_cast<Node *>(copyObjectImpl(linitial(equality->args)));
    Node *has_no_null = has_no_row(subselect, test_null(reinterpret_cast<Node *>(column->expr), IS_NULL));
    auto *is_found = makeBoolExpr(AND_EXPR, list_make2(test_null(value, IS_NOT_NULL), has_no_null), -1);
    return reinterpret_cast<Node *>(
        makeBoolExpr(OR_EXPR, list_make2(is_found, has_no_row(subselect, nullptr)), -1));
}

}  // namespace pg_gpu::plan::query
