#include "plan/query/groups.h"

#include "access_methods.h"
#include "compat.h"
#include "plan/advise/hypothetical.h"
#include "plan/query/engine_plan.h"
#include "plan/query/failure.h"
#include "plan/query/grouping_sets.h"
#include "plan/query/inputs.h"
#include "plan/query/parameters.h"

namespace pg_gpu::plan {

// ---- which queries ----------------------------------------------------------------------------------------

const char *refuse_statement(PlannerInfo *root, const RelOptInfo *input) {
    const Query *query = root->parse;
    if (query->hasTargetSRFs)
        return "a function returns a set";
    if (query->commandType != CMD_SELECT || root->rowMarks != NIL)
        return "rows are locked or changed";
    if (has_volatile_subquery(root))
        return "a subquery is volatile";
    if (input->reloptkind == RELOPT_JOINREL || query::is_nested(root, input))
        return nullptr;
    if ((input->reloptkind != RELOPT_BASEREL && input->reloptkind != RELOPT_OTHER_MEMBER_REL) ||
        input->rtekind != RTE_RELATION)
        return input->rtekind == RTE_SUBQUERY
                   ? "what is aggregated is a subquery that the engine doesn't compute"
                   : "what is aggregated isn't a table";
    if (planner_rt_fetch(input->relid, root)->tablesample != nullptr)
        return "a sample is read";
    if (input->lateral_relids != nullptr)
        return "what is aggregated depends on another table's rows";
    return nullptr;
}

const char *refuse_groups(PlannerInfo *root, const RelOptInfo *input) {
    const char *refused = refuse_statement(root, input);
    if (refused != nullptr)
        return refused;
    const Query *query = root->parse;
    return query->hasAggs || query->groupClause != NIL ? nullptr : "there are no aggregates and no groups";
}

bool is_column_index(const IndexOptInfo *index) {
    return (!index->hypothetical || is_proposed(index)) && find_access_method(index) == &gpu_column;
}

bool has_column_index(const RelOptInfo *table) {
    ListCell *cell;
    foreach (cell, table->indexlist)
        if (is_column_index(lfirst_node(IndexOptInfo, cell)))
            return true;
    return false;
}

// ---- what is asked ----------------------------------------------------------------------------------------

namespace {

// What a walk over target list and HAVING finds.
struct Targets {
    const List *keys;     // of the table
    const List *dropped;  // that the planner doesn't group by
    const List *wanted;   // columns outside of keys
    bool has_sets;
    bool may_depend;      // Does the statement rely on a key on which other columns depend?
    const List *columns;  // of the statement, those that it is grouped by included
    List *dependents;
    List *aggregates;
    Refusal *refusal;
};

}  // namespace

// PostgreSQL 15 forgets the keys that it drops since they depend on others, but not that they were keys.
static bool was_key(const Node *node, const List *columns) {
    ListCell *cell;
    foreach (cell, columns) {
        const auto *column = lfirst_node(TargetEntry, cell);
        if (column->ressortgroupref > 0 && equal(column->expr, node))
            return true;
    }
    return false;
}

// Collects aggregates, and what is the same in all rows of a group though it isn't grouped by: keys that the
// planner has dropped, and columns that depend on keys. Other columns are left of expressions that are
// grouped by, of which another one has sub-selects of its own, and PostgreSQL takes them from any row of the
// group.
static bool collect_targets(Node *node, void *context) {
    auto *targets = static_cast<Targets *>(context);
    if (node == nullptr || list_member(targets->keys, node))
        return false;
    if (list_member(targets->dropped, node)) {
        targets->dependents = list_append_unique(targets->dependents, node);
        return false;
    }
    switch (nodeTag(node)) {
        case T_Aggref:
            CHECK_FOR_INTERRUPTS();
            targets->aggregates = list_append_unique(targets->aggregates, node);
            return false;
        case T_Var:
            if (list_member(targets->wanted, node) &&
                (targets->has_sets || !(targets->may_depend || was_key(node, targets->columns)))) {
                refuse(targets->refusal, "a column is neither grouped by nor aggregated", node);
                return true;
            }
            targets->dependents = list_append_unique(targets->dependents, node);
            return false;
        case T_GroupingFunc:
            if (targets->has_sets)
                return false;
            [[fallthrough]];
        case T_PlaceHolderVar:
        case T_SubPlan:
        case T_AlternativeSubPlan:
            refuse(targets->refusal, "a subquery is computed of a group");
            return true;
        default:
            return walk_expression(node, collect_targets, context);
    }
}

namespace {

struct Wanted {
    const List *keys;
    List *columns;
};

}  // namespace

static bool collect_wanted(Node *node, void *context) {
    auto *wanted = static_cast<Wanted *>(context);
    if (node == nullptr || IsA(node, Aggref) || list_member(wanted->keys, node))
        return false;
    if (IsA(node, Var))
        wanted->columns = list_append_unique(wanted->columns, node);
    return walk_expression(node, collect_wanted, context);
}

// The columns that the statement reads of groups, outside of what it groups by and of aggregates. Below
// windows the planner lets groups give those inside of that, too, and nobody reads them.
static List *wanted_columns(const TableAggregate &table, const List *keys) {
    Wanted wanted = {keys, NIL};
    collect_wanted(reinterpret_cast<Node *>(table.columns), &wanted);
    collect_wanted(reinterpret_cast<Node *>(table.having), &wanted);
    return wanted.columns;
}

static List *all_keys(const TableAggregate &table) {
    // A set's rows have NULL in place of the keys that it leaves out.
    return list_concat_copy(get_sortgrouplist_exprs(table.clauses, table.columns), absent_keys(table.set));
}

// Conditions behind a security barrier must not see rows that it keeps out, not even by raising errors.
static bool keeps_barrier(const TableAggregate &table, const RestrictInfo *condition) {
    return table.root->qual_security_level == 0 || condition->leakproof ||
           condition->security_level <= table.input->baserestrict_min_security;
}

bool add_conditions(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query,
                    Refusal *refusal) {
    ListCell *cell;
    foreach (cell, index->indrestrictinfo) {
        const auto *condition = lfirst_node(RestrictInfo, cell);
        auto *clause = reinterpret_cast<Node *>(condition->clause);
        if (condition->pseudoconstant)
            refuse(refusal, "a condition isn't about rows", clause);
        else if (!keeps_barrier(table, condition))
            refuse(refusal, "a condition must not see rows that a security barrier hides", clause);
        Node *expression = refusal->reason != nullptr ? nullptr : over_index(clause, index, refusal);
        if (expression == nullptr)
            return false;
        query->conditions = lappend(query->conditions, expression);
    }
    return true;
}

// Expressions of the node's tuples: what is grouped by, what depends on that, then the aggregates that target
// and HAVING are computed from; they mean nothing where it refuses.
static List *row_of(const TableAggregate &table, Refusal *refusal) {
    List *keys = all_keys(table);
    Targets targets = {keys,
                       get_sortgrouplist_exprs(dropped_grouping_clauses(table.root), table.columns),
                       wanted_columns(table, keys),
                       table.set != NIL,
                       table.root->parse->constraintDeps != NIL,
                       table.columns,
                       NIL,
                       NIL,
                       refusal};
    collect_targets(reinterpret_cast<Node *>(below_grouping(table.root, table.output->reltarget->exprs)),
                    &targets);
    collect_targets(reinterpret_cast<Node *>(table.having), &targets);
    return list_concat(list_concat(get_sortgrouplist_exprs(table.clauses, table.columns), targets.dependents),
                       targets.aggregates);
}

static Node *over_columns(const TableAggregate &table, const IndexOptInfo *index, Node *expression,
                          Refusal *refusal) {
    return table.read != nullptr ? over_tables(expression, *table.read, table.scope, refusal)
                                 : over_index(expression, index, refusal);
}

static bool add_key(const TableAggregate &table, const IndexOptInfo *index, Node *key, Oid equality,
                    AggregateQuery *query, Refusal *refusal) {
    Node *expression = over_columns(table, index, key, refusal);
    if (expression == nullptr)
        return false;
    query->keys = lappend(query->keys, expression);
    query->key_operators = lappend_oid(query->key_operators, equality);
    return true;
}

static bool add_keys(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query,
                     Refusal *refusal) {
    ListCell *cell;
    foreach (cell, table.clauses) {
        auto *clause = lfirst_node(SortGroupClause, cell);
        if (!add_key(table, index, get_sortgroupclause_expr(clause, table.columns), clause->eqop, query,
                     refusal))
            return false;
    }
    return true;
}

// What a key's values, or a dependent column's, are equal by.
static Oid equality_of(const TableAggregate &table, Node *expression) {
    ListCell *cell;
    foreach (cell, dropped_grouping_clauses(table.root)) {
        auto *clause = lfirst_node(SortGroupClause, cell);
        if (equal(get_sortgroupclause_expr(clause, table.columns), expression))
            return clause->eqop;
    }
    return lookup_type_cache(exprType(expression), TYPECACHE_EQ_OPR)->eq_opr;
}

// What depends on keys is grouped by, too, which makes no more groups of them, and columns that nobody reads
// are NULL; *aggregates are the rest of the node's tuples.
static bool add_dependents(const TableAggregate &table, const IndexOptInfo *index, const List *row,
                           AggregateQuery *query, List **aggregates, Refusal *refusal) {
    const List *wanted = wanted_columns(table, all_keys(table));
    int number = list_length(table.clauses);
    for (; number < list_length(row) && !IsA(list_nth(row, number), Aggref); number++) {
        auto *dependent = static_cast<Node *>(list_nth(row, number));
        const Oid equality = equality_of(table, dependent);
        if (!OidIsValid(equality)) {
            refuse(refusal, "what depends on a grouping column can't be compared", dependent);
            return false;
        }
        const bool is_unread = IsA(dependent, Var) && !list_member(wanted, dependent);
        Node *key = is_unread ? reinterpret_cast<Node *>(makeNullConst(
                                    exprType(dependent), exprTypmod(dependent), exprCollation(dependent)))
                              : dependent;
        if (!add_key(table, index, key, equality, query, refusal))
            return false;
    }
    *aggregates = list_copy_tail(row, number);
    return true;
}

bool make_query(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query, List **row,
                Refusal *refusal) {
    *query = {};
    query->has_barrier = table.root->qual_security_level > 0;
    if (!add_keys(table, index, query, refusal))
        return false;
    if (index != nullptr) {
        query->indexes = list_make1_oid(index->indexoid);
        if (!add_conditions(table, index, query, refusal))
            return false;
    }
    *row = row_of(table, refusal);
    List *aggregates;
    if (refusal->reason != nullptr || !add_dependents(table, index, *row, query, &aggregates, refusal))
        return false;
    ListCell *cell;
    foreach (cell, aggregates) {
        Node *aggregate = over_columns(table, index, static_cast<Node *>(lfirst(cell)), refusal);
        if (aggregate == nullptr)
            return false;
        query->aggregates = lappend(query->aggregates, aggregate);
    }
    return true;
}

// ---- the replaced path ------------------------------------------------------------------------------------

double estimate_groups(const TableAggregate &table) {
    return table.clauses == NIL
               ? 1
               : estimate_num_groups(table.root, get_sortgrouplist_exprs(table.clauses, table.columns),
                                     table.input->rows, nullptr, nullptr);
}

// What the rows below give, with what is grouped by marked. From PostgreSQL 16 on a key that stays where the
// planner has dropped all isn't marked, and perhaps isn't given.
static PathTarget *grouped_target(const TableAggregate &table) {
    PathTarget *target = copy_pathtarget(table.scanned);
    ListCell *cell;
    foreach (cell, table.clauses) {
        auto *clause = lfirst_node(SortGroupClause, cell);
        bool is_marked = false;
        for (int i = 0; i < list_length(target->exprs); i++)
            is_marked = is_marked || get_pathtarget_sortgroupref(target, i) == clause->tleSortGroupRef;
        if (!is_marked)
            add_column_to_pathtarget(
                target, reinterpret_cast<Expr *>(get_sortgroupclause_expr(clause, table.columns)),
                clause->tleSortGroupRef);
    }
    return list_length(target->exprs) == list_length(table.scanned->exprs)
               ? table.scanned
               : set_pathtarget_cost_width(table.root, target);
}

// PostgreSQL's own aggregate over these rows of the table, before scan target and groups.
static Path *aggregate_plainly(const TableAggregate &table, Path *rows, PathTarget *target) {
    PlannerInfo *root = table.root;
    rows = reinterpret_cast<Path *>(create_projection_path(root, table.input, rows, grouped_target(table)));
    // Aggregates of distinct values need their groups one after the other, and from PostgreSQL 16 on perhaps
    // their arguments in an order, which is part of these pathkeys, but never with grouping sets.
    const bool is_hashable = grouping_is_hashable(table.clauses);
    const bool is_sorted = root->numOrderedAggs > 0 || !is_hashable;
    List *order = !is_sorted ? NIL
                  : table.set == NIL && root->numOrderedAggs > 0
                      ? root->group_pathkeys
                      : make_pathkeys_for_sortclauses(root, table.clauses, table.columns);
    if (order != NIL)
        rows = reinterpret_cast<Path *>(create_sort_path(root, table.input, rows, order, -1));
    AggClauseCosts costs = {};
    get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
    const AggStrategy strategy = table.clauses == NIL ? AGG_PLAIN : is_sorted ? AGG_SORTED : AGG_HASHED;
    return reinterpret_cast<Path *>(create_agg_path(root, table.output, rows, target, strategy,
                                                    AGGSPLIT_SIMPLE, table.clauses, NIL, &costs,
                                                    estimate_groups(table)));
}

static Path *plain_rows(const TableAggregate &table) {
    Path *rows = table.rows != nullptr ? table.rows : query::cheapest_rows(table.input);
    return rows != nullptr ? rows : create_seqscan_path(table.root, table.input, nullptr, 0);
}

Path *make_replaced_path(const TableAggregate &table, const List *row) {
    PathTarget *target = create_empty_pathtarget();
    for (int i = 0; i < list_length(row); i++)
        add_column_to_pathtarget(target, static_cast<Expr *>(list_nth(row, i)),
                                 i < list_length(table.clauses)
                                     ? list_nth_node(SortGroupClause, table.clauses, i)->tleSortGroupRef
                                     : 0);
    set_pathtarget_cost_width(table.root, target);
    return aggregate_plainly(table, plain_rows(table), target);
}

Path *append_paths(PlannerInfo *root, RelOptInfo *output, List *paths) {
    return reinterpret_cast<Path *>(create_append_path(root, output, paths, NIL, NIL, nullptr, 0, false, -1));
}

// ---- statements -------------------------------------------------------------------------------------------

TableAggregate groups_of(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                         const GroupPathExtraData *extra) {
    return {root,
            input,
            output,
            below_grouping(root, extra->targetList),
            below_grouping(root, reinterpret_cast<List *>(extra->havingQual)),
            input->reltarget,
            grouping_clauses(root),
            NIL};
}

// What tells rows apart: columns without anything of the table don't, unless they are volatile, which makes
// each row another one, or there are no others.
static List *distinct_clauses(PlannerInfo *root) {
    List *clauses = NIL;
    ListCell *cell;
    foreach (cell, root->parse->distinctClause) {
        auto *clause = lfirst_node(SortGroupClause, cell);
        Node *column = get_sortgroupclause_expr(clause, root->processed_tlist);
        if (contain_var_clause(column) || contain_volatile_functions(column))
            clauses = lappend(clauses, clause);
    }
    return clauses == NIL ? root->parse->distinctClause : clauses;
}

// All columns of the statement are among its clauses, also where the planner knows one to be constant by a
// condition.
TableAggregate distinct_rows_of(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output) {
    // The planner leaves it empty.
    output->reltarget = root->upper_targets[UPPERREL_DISTINCT];
    return {root, input, output, root->processed_tlist, NIL, input->reltarget, distinct_clauses(root), NIL};
}

}  // namespace pg_gpu::plan
