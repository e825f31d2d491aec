#include "plan/query/set_operations.h"

#include "compat.h"
#include "plan/query/sub_selects.h"

namespace pg_gpu::plan::query {

namespace {

// The members of the operation, and of which of its sides each is.
struct Members {
    const Query *query;
    List *entries;
    List *are_left;
};

}  // namespace

// Does a query read the rows that it gives, as in WITH RECURSIVE?
static bool refers_to_itself(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, RangeTblEntry))
        return reinterpret_cast<const RangeTblEntry *>(node)->self_reference;
    if (IsA(node, Query))
        return walk_query(reinterpret_cast<Query *>(node), refers_to_itself, context,
                          QTW_EXAMINE_RTES_BEFORE);
    return walk_expression(node, refers_to_itself, context);
}

// Which of equal rows there are, and in which order, doesn't matter.
static void simplify(Query *member) {
    if (member->limitCount != nullptr || member->limitOffset != nullptr || member->hasDistinctOn)
        return;
    member->distinctClause = member->sortClause = NIL;
}

static bool has_hidden_columns(const Query *member) {
    ListCell *cell;
    foreach (cell, member->targetList)
        if (lfirst_node(TargetEntry, cell)->resjunk)
            return true;
    return false;
}

static bool add_member(Members *members, int number, bool is_left) {
    const auto *read = rt_fetch(number, members->query->rtable);
    auto *entry = static_cast<RangeTblEntry *>(copyObjectImpl(read));
    if (entry->rtekind != RTE_SUBQUERY)
        return false;
    simplify(entry->subquery);
    if (!is_of_rows(entry->subquery) || entry->subquery->sortClause != NIL ||
        has_hidden_columns(entry->subquery) ||
        refers_to_itself(reinterpret_cast<Node *>(entry->subquery), nullptr))
        return false;
    // A query is around it that wasn't before.
    IncrementVarSublevelsUp(reinterpret_cast<Node *>(entry->subquery), 1, 1);
    members->entries = lappend(members->entries, entry);
    members->are_left = lappend_int(members->are_left, is_left);
    return true;
}

// Of a side it only matters which rows there are, so unions of it are members of their own.
static bool add_side(Members *members, Node *node, bool is_left) {
    check_stack_depth();
    if (IsA(node, RangeTblRef))
        return add_member(members, reinterpret_cast<const RangeTblRef *>(node)->rtindex, is_left);
    const auto *operation = castNode(SetOperationStmt, node);
    return operation->op == SETOP_UNION && add_side(members, operation->larg, is_left) &&
           add_side(members, operation->rarg, is_left);
}

// A minus B minus C leaves what is in neither B nor C.
static bool add_members(Members *members, const SetOperationStmt *operation) {
    check_stack_depth();
    if (operation->op != SETOP_UNION && operation->all)
        return false;
    const auto *left = reinterpret_cast<const SetOperationStmt *>(operation->larg);
    const bool is_chain =
        operation->op == SETOP_EXCEPT && IsA(left, SetOperationStmt) && left->op == SETOP_EXCEPT;
    return (is_chain ? add_members(members, left) : add_side(members, operation->larg, true)) &&
           add_side(members, operation->rarg, operation->op == SETOP_UNION);
}

// ---- UNION ALL --------------------------------------------------------------------------------------------

static void add_column(Query *query, Expr *column, const char *name) {
    const auto number = static_cast<AttrNumber>(list_length(query->targetList) + 1);
    query->targetList = lappend(query->targetList, makeTargetEntry(column, number, pstrdup(name), false));
}

static SetOperationStmt *unite(const SetOperationStmt &operation, bool has_sides) {
    auto *all = makeNode(SetOperationStmt);
    all->op = SETOP_UNION;
    all->all = true;
    all->colTypes = list_copy(operation.colTypes);
    all->colTypmods = list_copy(operation.colTypmods);
    all->colCollations = list_copy(operation.colCollations);
    if (has_sides) {
        all->colTypes = lappend_oid(all->colTypes, BOOLOID);
        all->colTypmods = lappend_int(all->colTypmods, -1);
        all->colCollations = lappend_oid(all->colCollations, InvalidOid);
    }
    return all;
}

static Node *refer_to(int number) {
    auto *reference = makeNode(RangeTblRef);
    reference->rtindex = number;
    return reinterpret_cast<Node *>(reference);
}

static Query *make_union(const Members &members, const SetOperationStmt &operation, bool has_sides) {
    auto *all = makeNode(Query);
    all->commandType = CMD_SELECT;
    all->canSetTag = true;
    all->rtable = members.entries;
    all->jointree = makeFromExpr(NIL, nullptr);
    all->targetList = static_cast<List *>(copyObjectImpl(members.query->targetList));
    ListCell *cell;
    foreach (cell, all->targetList) {
        auto *entry = lfirst_node(TargetEntry, cell);
        castNode(Var, entry->expr)->varno = 1;
        entry->ressortgroupref = 0;
    }
    if (has_sides)
        add_column(
            all,
            reinterpret_cast<Expr *>(makeVar(1, static_cast<AttrNumber>(list_length(all->targetList) + 1),
                                             BOOLOID, -1, InvalidOid, 0)),
            "is_left");
    Node *united = refer_to(1);
    for (int i = 0; i < list_length(members.entries); i++) {
        if (has_sides)
            add_column(list_nth_node(RangeTblEntry, members.entries, i)->subquery,
                       reinterpret_cast<Expr *>(makeBoolConst(list_nth_int(members.are_left, i) != 0, false)),
                       "is_left");
        if (i == 0)
            continue;
        SetOperationStmt *both = unite(operation, has_sides);
        both->larg = united;
        both->rarg = refer_to(i + 1);
        united = reinterpret_cast<Node *>(both);
    }
    all->setOperations = united;
    return all;
}

// ---- groups -----------------------------------------------------------------------------------------------

static Node *aggregate(Oid function, Expr *argument) {
    auto *made = makeNode(Aggref);
    made->aggfnoid = function;
    made->aggtype = BOOLOID;
    made->aggargtypes = list_make1_oid(BOOLOID);
    made->args = list_make1(makeTargetEntry(argument, 1, nullptr, false));
    made->aggkind = AGGKIND_NORMAL;
    made->aggsplit = AGGSPLIT_SIMPLE;
    made->aggno = made->aggtransno = made->location = -1;
    return reinterpret_cast<Node *>(made);
}

// Which groups are rows of the operation's.
static Node *make_having(SetOperation operation, int column) {
    auto *is_left = makeVar(1, static_cast<AttrNumber>(column), BOOLOID, -1, InvalidOid, 0);
    if (operation == SETOP_EXCEPT)
        return aggregate(F_BOOL_AND, &is_left->xpr);
    auto *is_right =
        reinterpret_cast<Expr *>(makeBoolExpr(NOT_EXPR, list_make1(copyObjectImpl(is_left)), -1));
    return reinterpret_cast<Node *>(
        make_ands_explicit(list_make2(aggregate(F_BOOL_OR, &is_left->xpr), aggregate(F_BOOL_OR, is_right))));
}

static bool is_of_columns(const Query *query) {
    ListCell *cell;
    foreach (cell, query->targetList)
        if (!IsA(lfirst_node(TargetEntry, cell)->expr, Var))
            return false;
    return query->targetList != NIL;
}

// Is it PostgreSQL's choice which side's value of an intersection is shown? Strings may be equal that are not
// of the same bytes, which no request answers but the plan that stands by.
static bool shows_one_side(const SetOperationStmt &operation) {
    ListCell *type;
    ListCell *collation;
    forboth (type, operation.colTypes, collation, operation.colCollations)
        if (getBaseType(lfirst_oid(type)) == BPCHAROID ||
            (OidIsValid(lfirst_oid(collation)) && !get_collation_isdeterministic(lfirst_oid(collation))))
            return operation.op == SETOP_INTERSECT;
    return false;
}

bool group_set_operation(Query *query) {
    const auto *operation = reinterpret_cast<const SetOperationStmt *>(query->setOperations);
    if (operation == nullptr || query->commandType != CMD_SELECT || operation->all ||
        query->rowMarks != NIL || !is_of_columns(query) ||
        list_length(operation->groupClauses) != list_length(query->targetList) ||
        shows_one_side(*operation) || !has_column_index(query))
        return false;
    Members members = {query, NIL, NIL};
    if (!add_members(&members, operation))
        return false;
    const bool has_sides = operation->op != SETOP_UNION;
    Query *all = make_union(members, *operation, has_sides);
    query->setOperations = nullptr;
    query->rtable = list_make1(make_entry(all));
    query->jointree = makeFromExpr(list_make1(refer_to(1)), nullptr);
    Index references = 0;
    ListCell *cell;
    foreach (cell, query->targetList)
        references = Max(references, lfirst_node(TargetEntry, cell)->ressortgroupref);
    ListCell *clause;
    forboth (cell, query->targetList, clause, operation->groupClauses) {
        auto *entry = lfirst_node(TargetEntry, cell);
        auto *key = static_cast<SortGroupClause *>(copyObjectImpl(lfirst(clause)));
        castNode(Var, entry->expr)->varno = 1;
        if (entry->ressortgroupref == 0)
            entry->ressortgroupref = ++references;
        key->tleSortGroupRef = entry->ressortgroupref;
        query->groupClause = lappend(query->groupClause, key);
    }
    if (has_sides) {
        query->havingQual = make_having(operation->op, list_length(all->targetList));
        query->hasAggs = true;
    }
    return true;
}

}  // namespace pg_gpu::plan::query
