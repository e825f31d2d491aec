#include "plan/query/join_states.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/aggregate_compile.h"
#include "plan/query/aggregate_failure.h"
#include "plan/query/aggregate_members.h"

namespace pg_gpu::plan {

namespace {

// Another table, and how it is joined with those before it.
struct Step {
    RelOptInfo *table;
    RelOptInfo *join;  // with those before it
    SpecialJoinInfo *special;
    List *conditions;  // RestrictInfos
};

struct States {
    const TableAggregate *join;
    RelOptInfo *grown;
    PathTarget *final;  // what the join of groups gives for the final aggregate
    int count;
    Step *step;
    List *keys;  // expressions over the grown tables that are grouped by
    Path *rows;  // groups, joined with the first tables
    const char *refused;
};

}  // namespace

// ---- in which order ---------------------------------------------------------------------------------------

static bool is_joined(const RelOptInfo *so_far, const RelOptInfo *table) {
    return bms_is_subset(table->relids, so_far->relids);
}

static bool are_volatile(const List *conditions) {
    ListCell *cell;
    foreach (cell, conditions)
        if (contain_volatile_functions(reinterpret_cast<Node *>(lfirst_node(RestrictInfo, cell)->clause)))
            return true;
    return false;
}

// False: not before others are.
static bool join_next(States *states, RelOptInfo *so_far, RelOptInfo *table) {
    PlannerInfo *root = states->join->root;
    SpecialJoinInfo *special = find_special_join(root, table->relid);
    if (special != nullptr && !bms_is_subset(special->min_lefthand, so_far->relids))
        return false;
    RelOptInfo *join = find_join_rel(root, joined_relids(so_far, table, special));
    if (join == nullptr)
        return false;
    if (special == nullptr)
        special = make_inner_join(so_far, table);
    List *conditions = join_conditions(root, join, so_far, table, special);
    if (are_volatile(conditions))
        states->refused = "a condition of a join is volatile";
    states->step[states->count++] = {table, join, special, conditions};
    return true;
}

// Finds an order of all tables.
static void find_steps(States *states) {
    const RelOptInfo *whole = states->join->input;
    RelOptInfo *so_far = states->grown;
    for (bool any = true; any && so_far != whole;) {
        any = false;
        for (int i = bms_next_member(whole->relids, -1); i >= 0 && so_far != whole;
             i = bms_next_member(whole->relids, i)) {
            RelOptInfo *table = states->join->root->simple_rel_array[i];
            // Outer joins have numbers among the tables'.
            if (table == nullptr || is_joined(so_far, table) || !join_next(states, so_far, table))
                continue;
            so_far = states->step[states->count - 1].join;
            any = true;
        }
    }
    if (so_far != whole)
        states->refused = "the tables are joined in another order";
}

// ---- what is grouped by -----------------------------------------------------------------------------------

// Which tables' columns an expression has.
static Relids tables_of(const States &states, Node *expression) {
    // Not those of outer joins that may have made it NULL.
    Relids tables = nullptr;
    ListCell *cell;
    foreach (cell, pull_var_clause(expression, PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS))
        tables = bms_add_member(tables, static_cast<const Var *>(lfirst(cell))->varno);
    return bms_int_members(tables, states.join->input->relids);
}

static bool is_of_grown(const States &states, Node *expression) {
    return bms_is_subset(tables_of(states, expression), states.grown->relids);
}

// A numeric column with a declared scale shows all of its numbers with as many digits.
static bool has_scale(const Node *key) {
    const auto *column = reinterpret_cast<const Var *>(key);
    return IsA(key, Var) && column->varattno > 0 && column->vartype == NUMERICOID &&
           column->vartypmod >= VARHDRSZ;
}

// Rows that are alike to a group must be so to all that is computed of the group.
static void add_key(States *states, Node *key) {
    if (list_member(states->keys, key))
        return;
    const Oid type = exprType(key);
    Oid equality;
    bool is_hashable;
    get_sort_group_operators(type, false, true, false, nullptr, &equality, nullptr, &is_hashable);
    if (!is_hashable || (!has_scale(key) && !has_one_image(type, equality, exprCollation(key))))
        states->refused = "what groups are joined by may be equal and look different";
    states->keys = lappend(states->keys, key);
}

static void add_columns(States *states, Node *expression) {
    ListCell *cell;
    foreach (cell, pull_var_clause(expression, PVC_RECURSE_PLACEHOLDERS)) {
        auto *column = static_cast<Node *>(lfirst(cell));
        if (is_of_grown(*states, column))
            add_key(states, column);
    }
}

// Does the aggregate add floats in the order in which groups come?
static bool adds_floats(const Aggref *aggregate) {
    return aggregate->aggfnoid == F_SUM_FLOAT4 || aggregate->aggfnoid == F_SUM_FLOAT8 ||
           aggregate->aggfnoid == F_AVG_FLOAT4 || aggregate->aggfnoid == F_AVG_FLOAT8;
}

// What may raise an error isn't computed for rows that the join leaves out.
static const char *refuse_aggregate(const States &states, Aggref *aggregate) {
    if (!is_of_grown(states, reinterpret_cast<Node *>(aggregate)))
        return "an aggregate takes columns of a table that may have several rows for one";
    bool fails = may_fail(aggregate->aggfilter);
    ListCell *cell;
    foreach (cell, aggregate->args)
        fails = fails || may_fail(lfirst_node(TargetEntry, cell)->expr);
    if (fails)
        return "what an aggregate takes may raise an error for rows that aren't joined";
    return adds_floats(aggregate) ? "sums of floats aren't added to others" : nullptr;
}

// Expressions of the final target: those over the grown tables are computed below the join.
static void add_target(States *states, Node *expression) {
    if (IsA(expression, Aggref)) {
        const char *refused = refuse_aggregate(*states, reinterpret_cast<Aggref *>(expression));
        states->refused = refused != nullptr ? refused : states->refused;
    } else if (contain_volatile_functions(expression)) {
        states->refused = "a grouping column is volatile";
    } else if (contain_var_clause(expression) && is_of_grown(*states, expression) && !may_fail(expression)) {
        add_key(states, expression);
    } else {
        add_columns(states, expression);
    }
}

static void find_keys(States *states) {
    ListCell *cell;
    foreach (cell, states->final->exprs)
        add_target(states, static_cast<Node *>(lfirst(cell)));
    for (int i = 0; i < states->count; i++)
        foreach (cell, states->step[i].conditions)
            add_columns(states, reinterpret_cast<Node *>(lfirst_node(RestrictInfo, cell)->clause));
    // An aggregate without groups has a row where there are none.
    if (states->keys == NIL)
        states->refused = "tables are joined by no column";
}

// ---- groups -----------------------------------------------------------------------------------------------

// A GpuAggregate's; nullptr: there can't be one.
static Path *make_groups_path(const States &states, const JoinTree *tree, const List *members) {
    PlannerInfo *root = states.join->root;
    PathTarget *given = create_empty_pathtarget();
    List *clauses = NIL;
    List *columns = NIL;
    ListCell *cell;
    foreach (cell, states.keys) {
        auto *key = static_cast<Expr *>(lfirst(cell));
        auto *clause = makeNode(SortGroupClause);
        clause->tleSortGroupRef = static_cast<Index>(list_length(columns) + 1);
        get_sort_group_operators(exprType(reinterpret_cast<Node *>(key)), false, true, false, &clause->sortop,
                                 &clause->eqop, nullptr, &clause->hashable);
        clauses = lappend(clauses, clause);
        TargetEntry *column =
            makeTargetEntry(key, static_cast<AttrNumber>(clause->tleSortGroupRef), nullptr, false);
        column->ressortgroupref = clause->tleSortGroupRef;
        columns = lappend(columns, column);
        add_column_to_pathtarget(given, key, clause->tleSortGroupRef);
    }
    PathTarget *scanned = copy_pathtarget(given);
    foreach (cell, states.final->exprs) {
        auto *aggregate = static_cast<Expr *>(lfirst(cell));
        if (!IsA(aggregate, Aggref))
            continue;
        add_new_column_to_pathtarget(given, aggregate);
        add_new_columns_to_pathtarget(
            scanned, pull_var_clause(reinterpret_cast<Node *>(reinterpret_cast<Aggref *>(aggregate)->args),
                                     PVC_RECURSE_PLACEHOLDERS));
        add_new_columns_to_pathtarget(
            scanned,
            pull_var_clause(reinterpret_cast<Node *>(reinterpret_cast<Aggref *>(aggregate)->aggfilter),
                            PVC_RECURSE_PLACEHOLDERS));
    }
    set_pathtarget_cost_width(root, given);
    set_pathtarget_cost_width(root, scanned);
    TableAggregate groups = {root,    states.grown, make_groups(states.grown, given),
                             columns, NIL,          AGGSPLIT_INITIAL_SERIAL,
                             scanned, clauses,      NIL,
                             tree,    members};
    groups.is_part = true;
    if (!consider_table(groups))
        return nullptr;
    set_cheapest(groups.output);
    return groups.output->cheapest_total_path;
}

// ---- joining them -----------------------------------------------------------------------------------------

// Those of the conditions that rows can be hashed by.
static List *find_hash_keys(const Step &step, const RelOptInfo *so_far) {
    List *keys = NIL;
    ListCell *cell;
    foreach (cell, step.conditions) {
        auto *condition = lfirst_node(RestrictInfo, cell);
        if ((IS_OUTER_JOIN(step.special->jointype) && RINFO_IS_PUSHED_DOWN(condition, step.join->relids)) ||
            !condition->can_join || !OidIsValid(condition->hashjoinoperator))
            continue;
        const bool is_left = bms_is_subset(condition->left_relids, so_far->relids) &&
                             bms_is_subset(condition->right_relids, step.table->relids);
        const bool is_right = bms_is_subset(condition->right_relids, so_far->relids) &&
                              bms_is_subset(condition->left_relids, step.table->relids);
        if (!is_left && !is_right)
            continue;
        condition->outer_is_left = is_left;
        keys = lappend(keys, condition);
    }
    return keys;
}

// What the join gives for those above it: all that the groups have, and the table's columns.
static PathTarget *target_of(PlannerInfo *root, const Step &step, const Path *rows) {
    PathTarget *target = create_empty_pathtarget();
    add_new_columns_to_pathtarget(target, rows->pathtarget->exprs);
    ListCell *cell;
    foreach (cell, step.join->reltarget->exprs) {
        auto *column = static_cast<Expr *>(lfirst(cell));
        if (IsA(column, Var) && bms_is_member(reinterpret_cast<Var *>(column)->varno, step.table->relids))
            add_new_column_to_pathtarget(target, column);
    }
    return set_pathtarget_cost_width(root, target);
}

static bool join_step(States *states, const Step &step, RelOptInfo *so_far) {
    PlannerInfo *root = states->join->root;
    Path *inner = find_rows_path(root, step.table);
    if (inner == nullptr) {
        states->refused = "a joined table is only read by parallel workers";
        return false;
    }
    const JoinType type = step.special->jointype;
    const double share = states->rows->rows / Max(so_far->rows, 1.0);
    JoinPathExtraData extra = {};
    extra.restrictlist = step.conditions;
    extra.sjinfo = step.special;
    compute_semi_anti_join_factors(root, step.join, so_far, step.table, type, step.special, step.conditions,
                                   &extra.semifactors);
    PathTarget *target = target_of(root, step, states->rows);
    JoinCostWorkspace workspace;
    List *keys = find_hash_keys(step, so_far);
    if (keys != NIL) {
        initial_cost_hashjoin(root, &workspace, type, keys, states->rows, inner, &extra, false);
        states->rows = reinterpret_cast<Path *>(create_hashjoin_path(root, step.join, type, &workspace,
                                                                     &extra, states->rows, inner, false,
                                                                     step.conditions, nullptr, keys));
    } else {
        inner = reinterpret_cast<Path *>(create_material_path(step.table, inner));
        initial_cost_nestloop(root, &workspace, type, states->rows, inner, &extra);
        states->rows = reinterpret_cast<Path *>(create_nestloop_path(
            root, step.join, type, &workspace, &extra, states->rows, inner, step.conditions, NIL, nullptr));
    }
    states->rows->rows = clamp_row_est(step.join->rows * Min(share, 1.0));
    states->rows->pathtarget = target;
    return true;
}

static void add_final_path(const States &states) {
    const TableAggregate &join = *states.join;
    states.rows->pathtarget = states.final;
    AggClauseCosts costs = {};
    get_agg_clause_costs(join.root, AGGSPLIT_FINAL_DESERIAL, &costs);
    add_path(join.output, reinterpret_cast<Path *>(create_agg_path(
                              join.root, join.output, states.rows, join.output->reltarget,
                              join.clauses == NIL ? AGG_PLAIN : AGG_HASHED, AGGSPLIT_FINAL_DESERIAL,
                              join.clauses, join.having, &costs, estimate_groups(join))));
}

const char *consider_states(const TableAggregate &join, const JoinTree *tree, RelOptInfo *grown,
                            const List *members) {
    // What is computed below an outer join would have to be told from what it is above.
    if (join.root->placeholder_list != NIL)
        return "an expression is computed below an outer join";
    States states = {};
    states.join = &join;
    states.grown = grown;
    states.step = allocate_zeroed<Step>(static_cast<size_t>(bms_num_members(join.input->relids)));
    states.final =
        make_partial_target(join.root, join.output->reltarget, reinterpret_cast<Node *>(join.having));
    find_steps(&states);
    if (states.refused == nullptr)
        find_keys(&states);
    if (states.refused != nullptr)
        return states.refused;
    states.rows = make_groups_path(states, tree, members);
    // Why, has been told.
    if (states.rows == nullptr)
        return nullptr;
    RelOptInfo *so_far = grown;
    for (int i = 0; i < states.count; i++) {
        if (!join_step(&states, states.step[i], so_far))
            return states.refused;
        so_far = states.step[i].join;
    }
    add_final_path(states);
    return nullptr;
}

}  // namespace pg_gpu::plan
