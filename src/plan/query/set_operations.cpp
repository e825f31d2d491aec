#include "plan/query/set_operations.h"

#include "compat.h"
#include "plan/query/sub_selects.h"
#include "plan/query/value_table.h"

namespace pg_gpu::plan::query {

namespace {

// The members of the operation, and of which of its sides each is, from 0 on.
struct Members {
    const Query *query;
    bool are_counted;  // ALL: it matters how often there is a row
    List *entries;
    List *sides;
    int side_count;
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
static void simplify(Query *member, bool are_counted) {
    if (member->limitCount != nullptr || member->limitOffset != nullptr || member->hasDistinctOn)
        return;
    member->sortClause = NIL;
    if (!are_counted)
        member->distinctClause = NIL;
}

static bool has_hidden_columns(const Query *member) {
    ListCell *cell;
    foreach (cell, member->targetList)
        if (lfirst_node(TargetEntry, cell)->resjunk)
            return true;
    return false;
}

static bool add_member(Members *members, int number, int side) {
    const auto *read = rt_fetch(number, members->query->rtable);
    auto *entry = static_cast<RangeTblEntry *>(copyObjectImpl(read));
    if (entry->rtekind != RTE_SUBQUERY)
        return false;
    simplify(entry->subquery, members->are_counted);
    if ((!is_of_rows(entry->subquery) && !is_of_groups(entry->subquery)) ||
        entry->subquery->sortClause != NIL || has_hidden_columns(entry->subquery) ||
        refers_to_itself(reinterpret_cast<Node *>(entry->subquery), nullptr))
        return false;
    // A query is around it that wasn't before.
    IncrementVarSublevelsUp(reinterpret_cast<Node *>(entry->subquery), 1, 1);
    members->entries = lappend(members->entries, entry);
    members->sides = lappend_int(members->sides, side);
    return true;
}

// Of a side it only matters which rows there are, so unions of it are members of their own.
static bool add_side(Members *members, Node *node, int side) {
    check_stack_depth();
    members->side_count = Max(members->side_count, side + 1);
    if (IsA(node, RangeTblRef))
        return add_member(members, reinterpret_cast<const RangeTblRef *>(node)->rtindex, side);
    const auto *operation = castNode(SetOperationStmt, node);
    return operation->op == SETOP_UNION && (operation->all || !members->are_counted) &&
           add_side(members, operation->larg, side) && add_side(members, operation->rarg, side);
}

// Of so many sides groups' conditions are tested.
static constexpr int kMaxSides = 32;

// A minus B minus C leaves what is in neither B nor C, and an intersection of several sides what is in all.
static bool add_members(Members *members, const SetOperationStmt *operation) {
    check_stack_depth();
    if (operation->all != members->are_counted)
        return false;
    const bool is_intersection = operation->op == SETOP_INTERSECT;
    const auto is_same = [&](const Node *side) {
        return IsA(side, SetOperationStmt) &&
               reinterpret_cast<const SetOperationStmt *>(side)->op == operation->op &&
               operation->op != SETOP_UNION && !(is_intersection && members->are_counted);
    };
    const auto add = [&](Node *node, int side) {
        return is_same(node) && (is_intersection || side == 0)
                   ? add_members(members, reinterpret_cast<const SetOperationStmt *>(node))
                   : add_side(members, node, side);
    };
    if (!add(operation->larg, is_intersection ? members->side_count : 0))
        return false;
    const int next = operation->op == SETOP_UNION ? 0 : is_intersection ? members->side_count : 1;
    return members->side_count <= kMaxSides && add(operation->rarg, next);
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
        all->colTypes = lappend_oid(all->colTypes, INT4OID);
        all->colTypmods = lappend_int(all->colTypmods, -1);
        all->colCollations = lappend_oid(all->colCollations, InvalidOid);
    }
    return all;
}

static Expr *make_side(int side) {
    return reinterpret_cast<Expr *>(
        makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(side), false, true));
}

// Is a row of this side? `column` has its number.
static Expr *make_is_of_side(int column, int side) {
    Var *number = makeVar(1, static_cast<AttrNumber>(column), INT4OID, -1, InvalidOid, 0);
    Expr *test = make_opclause(Int4EqualOperator, BOOLOID, false, reinterpret_cast<Expr *>(number),
                               make_side(side), InvalidOid, InvalidOid);
    set_opfuncid(reinterpret_cast<OpExpr *>(test));
    return test;
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
                                             INT4OID, -1, InvalidOid, 0)),
            "side");
    Node *united = refer_to(1);
    for (int i = 0; i < list_length(members.entries); i++) {
        if (has_sides)
            add_column(list_nth_node(RangeTblEntry, members.entries, i)->subquery,
                       make_side(list_nth_int(members.sides, i)), "side");
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
static Node *make_having(const Members &members, SetOperation operation, int column) {
    if (operation == SETOP_EXCEPT)
        return aggregate(F_BOOL_AND, make_is_of_side(column, 0));
    List *conditions = NIL;
    for (int side = 0; side < members.side_count; side++)
        conditions = lappend(conditions, aggregate(F_BOOL_OR, make_is_of_side(column, side)));
    return reinterpret_cast<Node *>(make_ands_explicit(conditions));
}

// ---- rows that are counted --------------------------------------------------------------------------------

static Expr *count_side(Expr *is_of_side) {
    auto *count = makeNode(Aggref);
    count->aggfnoid = F_COUNT_;
    count->aggtype = INT8OID;
    count->aggstar = true;
    count->aggfilter = is_of_side;
    count->aggkind = AGGKIND_NORMAL;
    count->aggsplit = AGGSPLIT_SIMPLE;
    count->aggno = count->aggtransno = count->location = -1;
    return reinterpret_cast<Expr *>(count);
}

// How often a group's row is one of the operation's.
static Expr *count_rows(SetOperation operation, int column) {
    List *counts = list_make2(count_side(make_is_of_side(column, 0)), count_side(make_is_of_side(column, 1)));
    if (operation == SETOP_EXCEPT)
        return reinterpret_cast<Expr *>(
            makeFuncExpr(F_INT8MI, INT8OID, counts, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
    auto *least = makeNode(MinMaxExpr);
    least->minmaxtype = INT8OID;
    least->op = IS_LEAST;
    least->args = counts;
    least->location = -1;
    return reinterpret_cast<Expr *>(least);
}

static Expr *make_count(int64 count) {
    return reinterpret_cast<Expr *>(
        makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(count), false, FLOAT8PASSBYVAL));
}

// A row for each number from 1 on.
static RangeTblEntry *make_copies(Var *count) {
    auto *function = makeNode(RangeTblFunction);
    function->funcexpr = reinterpret_cast<Node *>(makeFuncExpr(F_GENERATE_SERIES_INT8_INT8, INT8OID,
                                                               list_make2(make_count(1), count), InvalidOid,
                                                               InvalidOid, COERCE_EXPLICIT_CALL));
    reinterpret_cast<FuncExpr *>(function->funcexpr)->funcretset = true;
    function->funccolcount = 1;
    auto *entry = makeNode(RangeTblEntry);
    entry->rtekind = RTE_FUNCTION;
    entry->functions = list_make1(function);
    entry->lateral = entry->inFromCl = true;
    entry->eref = makeAlias("copies", list_make1(makeString(pstrdup("copy"))));
    return entry;
}

static Query *group_rows(const Query *query, Query *all, const SetOperationStmt &operation) {
    auto *groups = makeNode(Query);
    // One more query is around it.
    IncrementVarSublevelsUp(reinterpret_cast<Node *>(all), 1, 1);
    groups->commandType = CMD_SELECT;
    groups->canSetTag = groups->hasAggs = true;
    groups->rtable = list_make1(make_entry(all));
    groups->jointree = makeFromExpr(list_make1(refer_to(1)), nullptr);
    Index reference = 0;
    ListCell *cell;
    ListCell *clause;
    forboth (cell, query->targetList, clause, operation.groupClauses) {
        auto *entry = static_cast<TargetEntry *>(copyObjectImpl(lfirst(cell)));
        auto *key = static_cast<SortGroupClause *>(copyObjectImpl(lfirst(clause)));
        castNode(Var, entry->expr)->varno = 1;
        key->tleSortGroupRef = entry->ressortgroupref = ++reference;
        groups->targetList = lappend(groups->targetList, entry);
        groups->groupClause = lappend(groups->groupClause, key);
    }
    Expr *count = count_rows(operation.op, list_length(all->targetList));
    add_column(groups, count, "count");
    Expr *is_any = make_opclause(Int8LessOperator, BOOLOID, false, make_count(0),
                                 static_cast<Expr *>(copyObjectImpl(count)), InvalidOid, InvalidOid);
    set_opfuncid(reinterpret_cast<OpExpr *>(is_any));
    groups->havingQual = reinterpret_cast<Node *>(is_any);
    return groups;
}

// The query gives each group's row as often as it is counted.
static void read_copies(Query *query, Query *groups) {
    const auto count = static_cast<AttrNumber>(list_length(groups->targetList));
    query->setOperations = nullptr;
    query->rtable =
        list_make2(make_entry(groups), make_copies(makeVar(1, count, INT8OID, -1, InvalidOid, 0)));
    query->jointree = makeFromExpr(list_make2(refer_to(1), refer_to(2)), nullptr);
    ListCell *cell;
    foreach (cell, query->targetList)
        castNode(Var, lfirst_node(TargetEntry, cell)->expr)->varno = 1;
}

// ---- the operation ----------------------------------------------------------------------------------------

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

// Do equal rows look alike? Of EXCEPT ALL they are of both sides, and the left one's is shown.
static bool are_alike(const SetOperationStmt &operation) {
    ListCell *type;
    ListCell *collation;
    ListCell *clause;
    forthree (type, operation.colTypes, collation, operation.colCollations, clause, operation.groupClauses)
        if (!has_one_image(lfirst_oid(type), lfirst_node(SortGroupClause, clause)->eqop,
                           lfirst_oid(collation)))
            return false;
    return true;
}

bool group_set_operation(Query *query) {
    const auto *operation = reinterpret_cast<const SetOperationStmt *>(query->setOperations);
    if (operation == nullptr || query->commandType != CMD_SELECT ||
        (operation->all && (operation->op == SETOP_UNION || !are_alike(*operation))) ||
        query->rowMarks != NIL || !is_of_columns(query) ||
        list_length(operation->groupClauses) != list_length(query->targetList) ||
        shows_one_side(*operation) || !has_column_index(query))
        return false;
    Members members = {query, operation->all, NIL, NIL, 0};
    if (!add_members(&members, operation))
        return false;
    const bool has_sides = operation->op != SETOP_UNION;
    Query *all = make_union(members, *operation, has_sides);
    if (operation->all) {
        read_copies(query, group_rows(query, all, *operation));
        return true;
    }
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
        query->havingQual = make_having(members, operation->op, list_length(all->targetList));
        query->hasAggs = true;
    }
    return true;
}

}  // namespace pg_gpu::plan::query
