#include "plan/query/array_elements.h"

#include "compat.h"
#include "plan/query/sub_selects.h"
#include "plan/query/value_table.h"

namespace pg_gpu::plan::query {

namespace {

// unnest() of arrays that a table has.
struct Elements {
    int function;  // their numbers in the level's table of relations
    int table;
    Node *array;
    SortGroupClause group;
};

}  // namespace

// ---- which functions --------------------------------------------------------------------------------------

static const FuncExpr *unnest_of(const RangeTblEntry *entry) {
    if (entry->rtekind != RTE_FUNCTION || !entry->lateral || entry->funcordinality ||
        list_length(entry->functions) != 1)
        return nullptr;
    const auto *call =
        reinterpret_cast<const FuncExpr *>(linitial_node(RangeTblFunction, entry->functions)->funcexpr);
    return IsA(call, FuncExpr) && call->funcid == F_UNNEST_ANYARRAY ? call : nullptr;
}

static bool is_in_list(const TargetEntry &entry, const List *clauses) {
    return entry.ressortgroupref != 0 &&
           get_sortgroupref_clause_noerr(entry.ressortgroupref, const_cast<List *>(clauses)) != nullptr;
}

// The only function that gives sets of what is selected, if it is computed of rows; nullptr: there is none.
static TargetEntry *selected_unnest(const Query *query) {
    if (!query->hasTargetSRFs || query->groupingSets != NIL || query->hasWindowFuncs)
        return nullptr;
    TargetEntry *found = nullptr;
    ListCell *cell;
    foreach (cell, query->targetList) {
        auto *entry = lfirst_node(TargetEntry, cell);
        if (!expression_returns_set(reinterpret_cast<Node *>(entry->expr)))
            continue;
        const auto *call = reinterpret_cast<const FuncExpr *>(entry->expr);
        if (found != nullptr || !IsA(call, FuncExpr) || call->funcid != F_UNNEST_ANYARRAY ||
            ((query->hasAggs || query->groupClause != NIL) && !is_in_list(*entry, query->groupClause)))
            return nullptr;
        found = entry;
    }
    return found;
}

bool has_array_elements(const Query *query) {
    if (selected_unnest(query) != nullptr)
        return true;
    ListCell *cell;
    foreach (cell, query->rtable)
        if (unnest_of(lfirst_node(RangeTblEntry, cell)) != nullptr)
            return true;
    return false;
}

// What is selected becomes a function in FROM, which gives the same rows.
static void move_to_from(Query *query, TargetEntry *selected) {
    auto *node = reinterpret_cast<Node *>(selected->expr);
    auto *function = makeNode(RangeTblFunction);
    function->funcexpr = node;
    function->funccolcount = 1;
    auto *entry = makeNode(RangeTblEntry);
    entry->rtekind = RTE_FUNCTION;
    entry->functions = list_make1(function);
    entry->lateral = entry->inFromCl = true;
    entry->eref = makeAlias("unnest", list_make1(makeString(pstrdup("unnest"))));
    query->rtable = lappend(query->rtable, entry);
    auto *reference = makeNode(RangeTblRef);
    reference->rtindex = list_length(query->rtable);
    query->jointree->fromlist = lappend(query->jointree->fromlist, reference);
    query->hasTargetSRFs = false;
    selected->expr = reinterpret_cast<Expr *>(
        makeVar(reference->rtindex, 1, exprType(node), exprTypmod(node), exprCollation(node), 0));
}

// The one table whose columns an expression has; 0: there are others, or none.
static int table_of(Node *expression) {
    const Levels levels = levels_of(expression);
    if (!levels.own || levels.outer || levels.further || checkExprHasSubLink(expression))
        return 0;
    int table = 0;
    ListCell *cell;
    foreach (cell, pull_var_clause(expression, 0)) {
        const auto *column = lfirst_node(Var, cell);
        if (column->varattno <= 0 || (table != 0 && column->varno != table))
            return 0;
        table = column->varno;
    }
    return table;
}

// Are equal arrays the same in every bit?
static bool has_one_image_of_elements(Oid array, Oid collation) {
    const Oid element = get_base_element_type(array);
    return OidIsValid(element) &&
           has_one_image(element, lookup_type_cache(getBaseType(element), TYPECACHE_EQ_OPR)->eq_opr,
                         collation);
}

static bool can_be_grouped(Node *array, SortGroupClause *group) {
    bool is_hashable;
    *group = {};
    group->type = T_SortGroupClause;
    get_sort_group_operators(exprType(array), false, false, false, &group->sortop, &group->eqop, nullptr,
                             &is_hashable);
    group->hashable = is_hashable;
    group->tleSortGroupRef = 1;
    return OidIsValid(group->sortop) && is_hashable;
}

static bool read_elements(Query *query, int number, Elements *elements) {
    const FuncExpr *call = unnest_of(rt_fetch(number, query->rtable));
    if (call == nullptr)
        return false;
    auto *array = static_cast<Node *>(linitial(call->args));
    *elements = {number, table_of(array), array, {}};
    if (elements->table == 0 || contain_mutable_functions(array) || expression_returns_set(array) ||
        !has_one_image_of_elements(exprType(array), exprCollation(array)) ||
        !can_be_grouped(array, &elements->group))
        return false;
    const RangeTblEntry *table = rt_fetch(elements->table, query->rtable);
    return table->rtekind == RTE_RELATION && table->securityQuals == NIL && table->tablesample == nullptr &&
           (table->relkind == RELKIND_RELATION || table->relkind == RELKIND_PARTITIONED_TABLE);
}

// ---- the subquery -----------------------------------------------------------------------------------------

static Node *over_first_table(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (!IsA(node, Var))
        return mutate_expression(node, over_first_table, context);
    const auto *column = reinterpret_cast<const Var *>(node);
    return reinterpret_cast<Node *>(
        makeVar(1, column->varattno, column->vartype, column->vartypmod, column->varcollid, 0));
}

static Query *make_subquery(RangeTblEntry *entry) {
    auto *query = makeNode(Query);
    auto *reference = makeNode(RangeTblRef);
    reference->rtindex = 1;
    query->commandType = CMD_SELECT;
    query->canSetTag = true;
    query->rtable = list_make1(entry);
    query->jointree = makeFromExpr(list_make1(reference), nullptr);
    return query;
}

// The arrays that the table has, each once.
static Query *make_arrays(const Query *query, const Elements &elements) {
    auto *table = static_cast<RangeTblEntry *>(copyObjectImpl(rt_fetch(elements.table, query->rtable)));
    Query *arrays = make_subquery(table);
    // The statement's own entry has the privileges that are checked.
    forget_privileges(arrays, table);
    TargetEntry *array = makeTargetEntry(reinterpret_cast<Expr *>(over_first_table(elements.array, nullptr)),
                                         1, pstrdup("array"), false);
    array->ressortgroupref = 1;
    arrays->targetList = list_make1(array);
    arrays->groupClause = list_make1(copyObjectImpl(&elements.group));
    return arrays;
}

static Var *array_column(int number, AttrNumber attribute, Node *array) {
    return makeVar(number, attribute, exprType(array), exprTypmod(array), exprCollation(array), 0);
}

// The entry stays in its place, so that its column is the elements still; the second one is the array.
static void replace_function(Query *query, const Elements &elements, Query *arrays) {
    RangeTblEntry *entry = rt_fetch(elements.function, query->rtable);
    auto *call = static_cast<FuncExpr *>(copyObjectImpl(unnest_of(entry)));
    call->args = list_make1(array_column(1, 1, elements.array));
    Query *subquery = make_subquery(make_entry(arrays));
    subquery->hasTargetSRFs = true;
    subquery->targetList =
        list_make2(makeTargetEntry(&call->xpr, 1, pstrdup("element"), false),
                   makeTargetEntry(reinterpret_cast<Expr *>(array_column(1, 1, elements.array)), 2,
                                   pstrdup("array"), false));
    RangeTblEntry *replaced = make_entry(subquery);
    replaced->alias = entry->alias;
    replaced->eref = static_cast<Alias *>(copyObjectImpl(entry->eref));
    replaced->eref->colnames = list_make2(linitial(replaced->eref->colnames), makeString(pstrdup("array")));
    *entry = *replaced;
}

static Node *make_equality(const Elements &elements) {
    Expr *equality = make_opclause(
        elements.group.eqop, BOOLOID, false, static_cast<Expr *>(copyObjectImpl(elements.array)),
        reinterpret_cast<Expr *>(array_column(elements.function, 2, elements.array)), InvalidOid,
        exprCollation(elements.array));
    set_opfuncid(reinterpret_cast<OpExpr *>(equality));
    return reinterpret_cast<Node *>(equality);
}

// ---- the join ---------------------------------------------------------------------------------------------

static bool is_reference(const void *node, int number) {
    return IsA(node, RangeTblRef) && static_cast<const RangeTblRef *>(node)->rtindex == number;
}

static bool has_reference(Node *node, void *number) {
    if (node == nullptr)
        return false;
    const bool is_join = IsA(node, FromExpr) || IsA(node, JoinExpr) || IsA(node, List);
    return is_join ? walk_expression(node, has_reference, number)
                   : is_reference(node, *static_cast<int *>(number));
}

static bool is_below_inner_joins(const Node *node, int number) {
    check_stack_depth();
    if (!IsA(node, JoinExpr))
        return is_reference(node, number);
    const auto *join = reinterpret_cast<const JoinExpr *>(node);
    return join->jointype == JOIN_INNER &&
           (is_below_inner_joins(join->larg, number) || is_below_inner_joins(join->rarg, number));
}

// Where the equality is to be a condition: of the join with the function, or of FROM; nullptr: it is read
// where a condition would do something else.
static Node **find_conditions(Node *node, const Elements &elements) {
    check_stack_depth();
    if (IsA(node, FromExpr)) {
        auto *from = reinterpret_cast<FromExpr *>(node);
        ListCell *cell;
        foreach (cell, from->fromlist) {
            auto *item = static_cast<Node *>(lfirst(cell));
            if (Node **found = find_conditions(item, elements))
                return found;
            if (is_below_inner_joins(item, elements.function))
                return &from->quals;
        }
        return nullptr;
    }
    if (!IsA(node, JoinExpr))
        return nullptr;
    auto *join = reinterpret_cast<JoinExpr *>(node);
    int table = elements.table;
    if (is_reference(join->rarg, elements.function) && has_reference(join->larg, &table) &&
        (join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT))
        return &join->quals;
    Node **found = find_conditions(join->larg, elements);
    return found != nullptr ? found : find_conditions(join->rarg, elements);
}

// Is a column used that the entry no longer has?
static bool has_other_column(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, Var)) {
        const auto *column = reinterpret_cast<const Var *>(node);
        return column->varlevelsup == 0 && column->varno == *static_cast<int *>(context) &&
               column->varattno != 1;
    }
    return walk_expression(node, has_other_column, context);
}

bool join_array_elements(Query *query) {
    if (query->commandType != CMD_SELECT || query->rowMarks != NIL || query->setOperations != nullptr ||
        query->jointree == nullptr)
        return false;
    if (TargetEntry *selected = selected_unnest(query))
        move_to_from(query, selected);
    bool is_changed = false;
    for (int number = 1; number <= list_length(query->rtable); number++) {
        Elements elements;
        int function = number;
        if (!read_elements(query, number, &elements) ||
            walk_query(query, has_other_column, &function, QTW_IGNORE_RANGE_TABLE))
            continue;
        Node **conditions = find_conditions(reinterpret_cast<Node *>(query->jointree), elements);
        Query *arrays = make_arrays(query, elements);
        if (conditions == nullptr || !has_column_index(arrays))
            continue;
        Node *equality = make_equality(elements);
        replace_function(query, elements, arrays);
        *conditions = *conditions == nullptr ? equality
                                             : reinterpret_cast<Node *>(make_and_qual(*conditions, equality));
        is_changed = true;
    }
    return is_changed;
}

}  // namespace pg_gpu::plan::query
