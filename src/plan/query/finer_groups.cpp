#include "plan/query/finer_groups.h"

#include "compat.h"
#include "plan/query/aggregates.h"
#include "plan/query/failure.h"
#include "plan/query/sub_selects.h"

namespace pg_gpu::plan::query {

// ---- aggregates -------------------------------------------------------------------------------------------

// How an aggregate is made of parts.
enum class Parts { None, Distinct, Same, Count, WholeSum, BigSum, WholeAverage, BigAverage };

// Sums of floats depend on what is added first.
static Parts parts_of(const Aggref *aggregate) {
    if (aggregate->aggkind != AGGKIND_NORMAL)
        return Parts::None;
    if (aggregate->aggdistinct != NIL)
        return Parts::Distinct;
    if (aggregate->aggfnoid >= FirstUnpinnedObjectId || aggregate->aggorder != NIL || aggregate->aggvariadic)
        return Parts::None;
    switch (aggregate->aggfnoid) {
        case F_COUNT_:
        case F_COUNT_ANY:
            return Parts::Count;
        case F_SUM_INT2:
        case F_SUM_INT4:
            return Parts::WholeSum;
        case F_SUM_INT8:
            return Parts::BigSum;
        case F_AVG_INT2:
        case F_AVG_INT4:
            return Parts::WholeAverage;
        case F_AVG_INT8:
        case F_AVG_NUMERIC:
            return Parts::BigAverage;
        case F_SUM_NUMERIC:
        case F_SUM_MONEY:
        case F_BIT_AND_INT2:
        case F_BIT_AND_INT4:
        case F_BIT_AND_INT8:
        case F_BIT_OR_INT2:
        case F_BIT_OR_INT4:
        case F_BIT_OR_INT8:
            return Parts::Same;
        default:
            return OidIsValid(sort_operator_of(aggregate->aggfnoid)) ? Parts::Same : Parts::None;
    }
}

// Has the engine it of distinct values, too? Intervals may be equal and look different, so that it can't
// group them.
static bool is_engines(const Aggref *aggregate) {
    switch (aggregate->aggfnoid) {
        case F_COUNT_ANY:
        case F_SUM_INT2:
        case F_SUM_INT4:
        case F_SUM_INT8:
        case F_SUM_NUMERIC:
        case F_SUM_FLOAT4:
        case F_SUM_FLOAT8:
        case F_AVG_INT2:
        case F_AVG_INT4:
        case F_AVG_INT8:
        case F_AVG_NUMERIC:
        case F_AVG_FLOAT4:
        case F_AVG_FLOAT8:
        case F_SUM_INTERVAL:
        case F_AVG_INTERVAL:
            return list_length(aggregate->args) == 1;
        default:
            return OidIsValid(sort_operator_of(aggregate->aggfnoid));
    }
}

static bool has_lacking_aggregate(Node *node, void *context) {
    if (node == nullptr || IsA(node, Query))
        return false;
    const auto *aggregate = reinterpret_cast<const Aggref *>(node);
    if (IsA(node, Aggref) && aggregate->agglevelsup == 0 && aggregate->aggdistinct != NIL &&
        !is_engines(aggregate))
        return true;
    return walk_expression(node, has_lacking_aggregate, context);
}

static bool has_several_sets(const Query *query) {
    const auto *set = query->groupingSets == NIL ? nullptr : linitial_node(GroupingSet, query->groupingSets);
    return list_length(query->groupingSets) > 1 ||
           (set != nullptr && (set->kind == GROUPING_SET_ROLLUP || set->kind == GROUPING_SET_CUBE ||
                               (set->kind == GROUPING_SET_SETS && list_length(set->content) > 1)));
}

bool wants_finer_groups(const Query *query) {
    return has_several_sets(query) ||
           (query->hasAggs && (has_lacking_aggregate(reinterpret_cast<Node *>(query->targetList), nullptr) ||
                               has_lacking_aggregate(query->havingQual, nullptr)));
}

// ---- the subquery -----------------------------------------------------------------------------------------

namespace {

struct Split {
    const List *keys;  // that the query groups by
    Query *rows;       // the subquery
    bool has_whole;    // its rows are the query's groups, so that aggregates are columns
    bool is_refused;
};

}  // namespace

static bool has_own_column(Node *expression) {
    return levels_of(expression).own;
}

static Var *column_at(const TargetEntry *entry) {
    const auto *value = reinterpret_cast<const Node *>(entry->expr);
    return makeVar(1, entry->resno, exprType(value), exprTypmod(value), exprCollation(value), 0);
}

// The subquery's column with the expression.
static TargetEntry *find_column(Split *split, void *expression) {
    Query *rows = split->rows;
    ListCell *cell;
    foreach (cell, rows->targetList)
        if (auto *entry = lfirst_node(TargetEntry, cell); equal(entry->expr, expression))
            return entry;
    const auto number = static_cast<AttrNumber>(list_length(rows->targetList) + 1);
    TargetEntry *entry = makeTargetEntry(static_cast<Expr *>(copyObjectImpl(expression)), number,
                                         psprintf("column%d", number), false);
    rows->targetList = lappend(rows->targetList, entry);
    return entry;
}

// The same, of one that the subquery groups by.
static Node *key_column(Split *split, Node *expression) {
    TargetEntry *entry = find_column(split, expression);
    if (entry->ressortgroupref == 0) {
        auto *group = makeNode(SortGroupClause);
        bool is_hashable;
        get_sort_group_operators(exprType(expression), false, false, false, &group->sortop, &group->eqop,
                                 nullptr, &is_hashable);
        group->hashable = is_hashable;
        group->tleSortGroupRef = entry->ressortgroupref = static_cast<Index>(entry->resno);
        split->rows->groupClause = lappend(split->rows->groupClause, group);
        split->is_refused = split->is_refused || !OidIsValid(group->eqop) || !is_hashable;
    }
    return reinterpret_cast<Node *>(column_at(entry));
}

static Aggref *part_of(const Aggref *aggregate, Oid function, Oid type) {
    auto *part = static_cast<Aggref *>(copyObjectImpl(aggregate));
    part->aggfnoid = function;
    part->aggtype = type;
    return part;
}

// An aggregate of what a part is in the subquery's rows.
static Expr *aggregate_parts(Split *split, Aggref *part, Oid function, Oid type) {
    Var *column = column_at(find_column(split, part));
    Aggref *whole = part_of(part, function, type);
    whole->aggfilter = nullptr;
    whole->aggstar = false;
    whole->aggargtypes = list_make1_oid(column->vartype);
    whole->args = list_make1(makeTargetEntry(reinterpret_cast<Expr *>(column), 1, nullptr, false));
    return reinterpret_cast<Expr *>(whole);
}

static Expr *call(Oid function, Oid type, List *arguments) {
    return reinterpret_cast<Expr *>(
        makeFuncExpr(function, type, arguments, InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
}

static Expr *count_parts(Split *split, const Aggref *aggregate) {
    auto *count = static_cast<Aggref *>(copyObjectImpl(aggregate));
    if (count->aggfnoid != F_COUNT_)
        count->aggfnoid = F_COUNT_ANY;
    count->aggtype = INT8OID;
    return aggregate_parts(split, count, F_SUM_INT8, NUMERICOID);
}

// An average is divided as its final function does it.
static Expr *average_parts(Split *split, const Aggref *aggregate, bool is_whole) {
    Expr *sum;
    if (is_whole) {
        const Oid function = aggregate->aggfnoid == F_AVG_INT2 ? F_SUM_INT2 : F_SUM_INT4;
        sum = aggregate_parts(split, part_of(aggregate, function, INT8OID), F_SUM_INT8, NUMERICOID);
    } else {
        const Oid function = aggregate->aggfnoid == F_AVG_INT8 ? F_SUM_INT8 : F_SUM_NUMERIC;
        sum = aggregate_parts(split, part_of(aggregate, function, NUMERICOID), F_SUM_NUMERIC, NUMERICOID);
    }
    return call(F_NUMERIC_DIV, NUMERICOID, list_make2(sum, count_parts(split, aggregate)));
}

static Expr *count_of_parts(Split *split, const Aggref *aggregate) {
    Const *none = makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false, FLOAT8PASSBYVAL);
    auto *count = makeNode(CoalesceExpr);
    count->coalescetype = INT8OID;
    count->args = list_make2(call(F_INT8_NUMERIC, INT8OID, list_make1(count_parts(split, aggregate))), none);
    count->location = -1;
    return reinterpret_cast<Expr *>(count);
}

// It is the same of the rows that have each value once. Where it takes some rows alone, others' values
// mustn't be computed with an error.
static Expr *over_distinct_rows(Split *split, const Aggref *aggregate) {
    auto *over = static_cast<Aggref *>(copyObjectImpl(aggregate));
    ListCell *cell;
    foreach (cell, over->args) {
        auto *argument = lfirst_node(TargetEntry, cell);
        if (!has_own_column(reinterpret_cast<Node *>(argument->expr)))
            continue;
        split->is_refused = split->is_refused || (over->aggfilter != nullptr && may_fail(argument->expr));
        argument->expr =
            reinterpret_cast<Expr *>(key_column(split, reinterpret_cast<Node *>(argument->expr)));
    }
    auto *filter = reinterpret_cast<Node *>(over->aggfilter);
    if (filter != nullptr && has_own_column(filter))
        over->aggfilter = reinterpret_cast<Expr *>(key_column(split, filter));
    return reinterpret_cast<Expr *>(over);
}

static Expr *replace_aggregate(Split *split, const Aggref *aggregate) {
    switch (parts_of(aggregate)) {
        case Parts::Distinct:
            return over_distinct_rows(split, aggregate);
        case Parts::Same:
            return aggregate_parts(split, part_of(aggregate, aggregate->aggfnoid, aggregate->aggtype),
                                   aggregate->aggfnoid, aggregate->aggtype);
        case Parts::Count:
            return count_of_parts(split, aggregate);
        case Parts::WholeSum:
            return call(F_INT8_NUMERIC, INT8OID,
                        list_make1(aggregate_parts(split, part_of(aggregate, aggregate->aggfnoid, INT8OID),
                                                   F_SUM_INT8, NUMERICOID)));
        case Parts::BigSum:
            return aggregate_parts(split, part_of(aggregate, aggregate->aggfnoid, NUMERICOID), F_SUM_NUMERIC,
                                   NUMERICOID);
        case Parts::WholeAverage:
        case Parts::BigAverage:
            return average_parts(split, aggregate, parts_of(aggregate) == Parts::WholeAverage);
        default:
            split->is_refused = true;
            return static_cast<Expr *>(copyObjectImpl(aggregate));
    }
}

// What stands above the groups.
static Node *over_rows(Node *node, void *context) {
    auto *split = static_cast<Split *>(context);
    if (node == nullptr)
        return nullptr;
    if (list_member(split->keys, node))
        return key_column(split, node);
    if (IsA(node, Aggref) && reinterpret_cast<const Aggref *>(node)->agglevelsup == 0 && split->has_whole)
        return reinterpret_cast<Node *>(column_at(find_column(split, node)));
    if (IsA(node, Aggref) && reinterpret_cast<const Aggref *>(node)->agglevelsup == 0)
        return reinterpret_cast<Node *>(replace_aggregate(split, reinterpret_cast<const Aggref *>(node)));
    if (IsA(node, Var) && reinterpret_cast<const Var *>(node)->varlevelsup == 0)
        split->is_refused = true;
    return mutate_expression(node, over_rows, context);
}

// ---- the query --------------------------------------------------------------------------------------------

static Node *over_tables(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    const auto *column = reinterpret_cast<const Var *>(node);
    if (!IsA(node, Var) || column->varlevelsup != 0)
        return mutate_expression(node, over_tables, context);
    const auto *query = static_cast<const Query *>(context);
    Node *grouped = grouped_expression(rt_fetch(column->varno, query->rtable), column->varattno);
    return static_cast<Node *>(copyObjectImpl(grouped != nullptr ? grouped : node));
}

static bool can_be_split(const Query *query) {
    for (const void *part :
         {static_cast<const void *>(query->targetList), static_cast<const void *>(query->havingQual),
          static_cast<const void *>(query->limitCount), static_cast<const void *>(query->limitOffset),
          static_cast<const void *>(query->windowClause)}) {
        auto *node = static_cast<Node *>(const_cast<void *>(part));
        if (checkExprHasSubLink(node) || contain_volatile_functions(node))
            return false;
    }
    return query->commandType == CMD_SELECT && query->setOperations == nullptr && query->rowMarks == NIL &&
           !query->hasModifyingCTE && query->jointree != nullptr && query->jointree->fromlist != NIL &&
           (query->groupingSets == NIL || !has_group_entry(query)) && has_column_index(query);
}

// Which expressions of columns it groups by.
static List *grouped_by(const Query *query) {
    List *keys = NIL;
    ListCell *cell;
    foreach (cell, query->groupClause) {
        Node *key = get_sortgroupclause_expr(lfirst_node(SortGroupClause, cell), query->targetList);
        if (has_own_column(key))
            keys = lappend(keys, copyObjectImpl(key));
    }
    return keys;
}

static Query *make_rows(const Query *query) {
    auto *rows = static_cast<Query *>(copyObjectImpl(query));
    rows->targetList = rows->groupClause = rows->groupingSets = NIL;
    rows->windowClause = rows->distinctClause = rows->sortClause = NIL;
    rows->havingQual = rows->limitCount = rows->limitOffset = nullptr;
    rows->groupDistinct = rows->hasWindowFuncs = rows->hasTargetSRFs = rows->hasDistinctOn = false;
    forget_group_entry(rows);
    return rows;
}

// Of the query's own expressions, over its tables.
static Query *expand_groups(const Query *query) {
    auto *whole = static_cast<Query *>(copyObjectImpl(query));
    whole->targetList = reinterpret_cast<List *>(
        over_tables(reinterpret_cast<Node *>(whole->targetList), const_cast<Query *>(query)));
    whole->havingQual = over_tables(whole->havingQual, const_cast<Query *>(query));
    return whole;
}

static Split begin_split(const Query *query, const Query *whole, bool has_whole) {
    Split split = {grouped_by(whole), make_rows(query), has_whole, false};
    ListCell *cell;
    foreach (cell, split.keys)
        key_column(&split, static_cast<Node *>(lfirst(cell)));
    return split;
}

// `whole`, which is over the rows of the subquery, becomes the query.
static bool finish_split(const Split &split, Query *whole, Query *query) {
    Query *rows = split.rows;
    if (split.is_refused || rows->groupClause == NIL)
        return false;
    rows->hasAggs =
        list_length(rows->targetList) > list_length(rows->groupClause) || rows->havingQual != nullptr;
    IncrementVarSublevelsUp(reinterpret_cast<Node *>(rows), 1, 1);
    forget_tables(whole);
    auto *reference = makeNode(RangeTblRef);
    reference->rtindex = 1;
    whole->rtable = list_make1(make_entry(rows));
    whole->jointree = makeFromExpr(list_make1(reference), nullptr);
    whole->cteList = NIL;
    whole->hasRecursive = whole->hasSubLinks = false;
    *query = *whole;
    return true;
}

bool group_finer(Query *query) {
    if (!wants_finer_groups(query) || !can_be_split(query))
        return false;
    Query *whole = expand_groups(query);
    Split split = begin_split(query, whole, false);
    whole->targetList =
        reinterpret_cast<List *>(over_rows(reinterpret_cast<Node *>(whole->targetList), &split));
    whole->havingQual = over_rows(whole->havingQual, &split);
    return finish_split(split, whole, query);
}

bool has_grouped_windows(const Query *query) {
    return query->hasWindowFuncs && query->groupClause != NIL && query->groupingSets == NIL;
}

bool nest_groups(Query *query) {
    if (!has_grouped_windows(query) || query->hasTargetSRFs || !can_be_split(query))
        return false;
    Query *whole = expand_groups(query);
    Split split = begin_split(query, whole, true);
    whole->targetList =
        reinterpret_cast<List *>(over_rows(reinterpret_cast<Node *>(whole->targetList), &split));
    split.rows->havingQual = whole->havingQual;
    whole->havingQual = nullptr;
    whole->groupClause = NIL;
    whole->hasAggs = whole->groupDistinct = false;
    return finish_split(split, whole, query);
}

}  // namespace pg_gpu::plan::query
