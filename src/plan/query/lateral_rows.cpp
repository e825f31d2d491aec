#include "plan/query/lateral_rows.h"

#include "compat.h"
#include "plan/query/correlated.h"
#include "plan/query/sub_selects.h"

namespace pg_gpu::plan::query {

// ---- which subqueries -------------------------------------------------------------------------------------

// A number of rows; false: it isn't known.
static bool read_number(Node *node, int64 *number) {
    *number = 0;
    if (node == nullptr)
        return true;
    // It may be cast still.
    const auto *constant = reinterpret_cast<const Const *>(eval_const_expressions(nullptr, node));
    if (!IsA(constant, Const) || constant->constisnull)
        return false;
    *number = DatumGetInt64(constant->constvalue);
    return *number >= 0 && *number <= PG_INT32_MAX;
}

static bool has_first_rows(const Query *query, int64 *limit, int64 *offset) {
    auto rows = *query;
    rows.limitCount = rows.limitOffset = nullptr;
    return is_of_rows(&rows) && query->limitOption == LIMIT_OPTION_COUNT && !query->hasSubLinks &&
           query->limitCount != nullptr && read_number(query->limitCount, limit) && *limit > 0 &&
           read_number(query->limitOffset, offset);
}

namespace {

struct Whole {
    int table;
    int depth;
};

}  // namespace

// Is the whole row of a table named, which would have more columns?
static bool has_whole_row(Node *node, void *context) {
    auto *whole = static_cast<Whole *>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, Var)) {
        const auto *column = reinterpret_cast<const Var *>(node);
        return static_cast<int>(column->varlevelsup) == whole->depth && column->varno == whole->table &&
               column->varattno <= 0;
    }
    if (!IsA(node, Query))
        return walk_expression(node, has_whole_row, context);
    whole->depth++;
    const bool found = walk_query(reinterpret_cast<Query *>(node), has_whole_row, context, 0);
    whole->depth--;
    return found;
}

// ---- numbered rows ----------------------------------------------------------------------------------------

static Index next_reference(const Query *query) {
    Index greatest = 0;
    ListCell *cell;
    foreach (cell, query->targetList)
        greatest = Max(greatest, lfirst_node(TargetEntry, cell)->ressortgroupref);
    return greatest + 1;
}

static TargetEntry *add_column(List **columns, void *value, const char *name) {
    TargetEntry *entry = makeTargetEntry(
        static_cast<Expr *>(value), static_cast<AttrNumber>(list_length(*columns) + 1), pstrdup(name), false);
    *columns = lappend(*columns, entry);
    return entry;
}

// Has the rows of each key numbered in their order. The keys come behind the columns that there are, and the
// number behind these.
static void number_rows(const Correlated &correlated) {
    Query *query = correlated.query;
    auto *window = makeNode(WindowClause);
    window->winref = 1;
    window->frameOptions = FRAMEOPTION_DEFAULTS;
    window->orderClause = query->sortClause;
    Index reference = next_reference(query);
    List *columns = NIL;
    List *hidden = NIL;
    ListCell *cell;
    foreach (cell, query->targetList) {
        List **list = lfirst_node(TargetEntry, cell)->resjunk ? &hidden : &columns;
        *list = lappend(*list, lfirst(cell));
    }
    for (int i = 0; i < correlated.count; i++) {
        const Pair &pair = correlated.pairs[i];
        TargetEntry *key = add_column(&columns,
                                      copyObjectImpl(pair.is_inner_first ? linitial(pair.condition->args)
                                                                         : lsecond(pair.condition->args)),
                                      psprintf("key%d", i + 1));
        auto *group = makeNode(SortGroupClause);
        *group = pair.group;
        group->tleSortGroupRef = key->ressortgroupref = reference++;
        window->partitionClause = lappend(window->partitionClause, group);
    }
    auto *number = makeNode(WindowFunc);
    number->winfnoid = F_ROW_NUMBER;
    number->wintype = INT8OID;
    number->winref = window->winref;
    number->location = -1;
    add_column(&columns, number, "number");
    foreach (cell, hidden) {
        lfirst_node(TargetEntry, cell)->resno = static_cast<AttrNumber>(list_length(columns) + 1);
        columns = lappend(columns, lfirst(cell));
    }
    query->targetList = columns;
    query->windowClause = list_make1(window);
    query->hasWindowFuncs = true;
    query->sortClause = NIL;
    query->limitCount = query->limitOffset = nullptr;
}

static Expr *make_number(int64 number) {
    return reinterpret_cast<Expr *>(
        makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(number), false, FLOAT8PASSBYVAL));
}

static Node *make_less(Expr *one, Expr *other) {
    Expr *comparison = make_opclause(Int8LessOperator, BOOLOID, false, one, other, InvalidOid, InvalidOid);
    set_opfuncid(reinterpret_cast<OpExpr *>(comparison));
    return reinterpret_cast<Node *>(comparison);
}

static int count_columns(const Query *query) {
    int count = 0;
    ListCell *cell;
    foreach (cell, query->targetList)
        count += lfirst_node(TargetEntry, cell)->resjunk ? 0 : 1;
    return count;
}

// Are the columns of conditions those of these tables?
static bool are_columns_of(List *conditions, Relids tables) {
    ListCell *cell;
    foreach (cell, pull_var_clause(reinterpret_cast<Node *>(conditions), 0))
        if (const auto *column = lfirst_node(Var, cell);
            column->varlevelsup == 0 && !bms_is_member(column->varno, tables))
            return false;
    return true;
}

// ---- the join ---------------------------------------------------------------------------------------------

// Changes a table of the query. *conditions become those of its join, of whose sides `tables` are; nullptr:
// any may be named.
static bool number_table(Query *query, int number, Relids tables, Node **conditions) {
    RangeTblEntry *entry = rt_fetch(number, query->rtable);
    int64 limit;
    int64 offset;
    Whole whole = {number, 0};
    if (entry->rtekind != RTE_SUBQUERY || !entry->lateral || entry->security_barrier ||
        !has_first_rows(entry->subquery, &limit, &offset) || !has_column_index(entry->subquery) ||
        walk_query(query, has_whole_row, &whole, 0))
        return false;
    Correlated correlated;
    if (!read_pairs(static_cast<Query *>(copyObjectImpl(entry->subquery)), &correlated))
        return false;
    const int columns = count_columns(correlated.query);
    number_rows(correlated);
    List *added = equalities_with_groups(correlated, static_cast<Index>(number), correlated.query, columns);
    if (tables != nullptr && !are_columns_of(added, bms_add_member(bms_copy(tables), number)))
        return false;
    const auto place = [&] {
        return reinterpret_cast<Expr *>(
            column_of_groups(static_cast<Index>(number), correlated.query, columns + correlated.count));
    };
    added = lappend(added, make_less(place(), make_number(limit + offset + 1)));
    if (offset > 0)
        added = lappend(added, make_less(make_number(offset), place()));
    entry->subquery = correlated.query;
    entry->lateral = false;
    for (int i = columns; i <= columns + correlated.count; i++)
        entry->eref->colnames = lappend(
            entry->eref->colnames,
            makeString(pstrdup(list_nth_node(TargetEntry, correlated.query->targetList, i)->resname)));
    *conditions = reinterpret_cast<Node *>(
        make_ands_explicit(list_concat(make_ands_implicit(reinterpret_cast<Expr *>(*conditions)), added)));
    return true;
}

static bool number_joined(Query *query, Node *item) {
    check_stack_depth();
    if (!IsA(item, JoinExpr))
        return false;
    auto *join = reinterpret_cast<JoinExpr *>(item);
    bool is_changed = number_joined(query, join->larg);
    is_changed = number_joined(query, join->rarg) || is_changed;
    if (IsA(join->rarg, RangeTblRef) && (join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT))
        is_changed = number_table(query, reinterpret_cast<const RangeTblRef *>(join->rarg)->rtindex,
                                  tables_of_join_tree(join->larg), &join->quals) ||
                     is_changed;
    return is_changed;
}

bool number_lateral_rows(Query *query) {
    bool is_changed = false;
    ListCell *cell;
    foreach (cell, query->jointree->fromlist) {
        auto *item = static_cast<Node *>(lfirst(cell));
        is_changed = (IsA(item, RangeTblRef)
                          ? number_table(query, reinterpret_cast<const RangeTblRef *>(item)->rtindex, nullptr,
                                         &query->jointree->quals)
                          : number_joined(query, item)) ||
                     is_changed;
    }
    return is_changed;
}

}  // namespace pg_gpu::plan::query
