#include "plan/query/join_path.h"

#include "compat.h"
#include "expressions.h"
#include "memory.h"
#include "plan/query/aggregate_failure.h"
#include "plan/query/aggregate_members.h"
#include "plan/query/aggregate_values.h"
#include "plan/query/aggregate_whole.h"
#include "plan/query/join_groups.h"
#include "plan/query/join_states.h"
#include "settings.h"

namespace pg_gpu::plan {

namespace {

// A tree that grows table by table.
struct Growth {
    PlannerInfo *root;
    RelOptInfo *join;   // all tables
    RelOptInfo *grown;  // those so far
    JoinTree *tree;
    const char *refused;  // the first reason why a table can't be joined
};

}  // namespace

static void refuse(Growth *growth, const char *reason) {
    if (growth->refused == nullptr)
        growth->refused = reason;
}

// ---- outer, semi and anti joins ---------------------------------------------------------------------------

SpecialJoinInfo *find_special_join(PlannerInfo *root, Index table) {
    ListCell *cell;
    foreach (cell, root->join_info_list) {
        auto *join = lfirst_node(SpecialJoinInfo, cell);
        if (bms_is_member(static_cast<int>(table), join->min_righthand))
            return join;
    }
    return nullptr;
}

SpecialJoinInfo *make_inner_join(const RelOptInfo *left, const RelOptInfo *right) {
    auto *join = makeNode(SpecialJoinInfo);
    join->min_lefthand = left->relids;
    join->min_righthand = right->relids;
    join->syn_lefthand = left->relids;
    join->syn_righthand = right->relids;
    join->jointype = JOIN_INNER;
    return join;
}

// The right side of every such join must be one table. What else was written there doesn't matter if the
// planner may join it later.
static const char *refuse_special_joins(PlannerInfo *root) {
    ListCell *cell;
    foreach (cell, root->join_info_list) {
        const auto *join = lfirst_node(SpecialJoinInfo, cell);
        if (join->jointype != JOIN_LEFT && join->jointype != JOIN_SEMI && join->jointype != JOIN_ANTI)
            return "there is a full join";
        if (bms_membership(join->min_righthand) != BMS_SINGLETON)
            return "several tables are joined before they are joined with others";
    }
    return nullptr;
}

// ---- keys -------------------------------------------------------------------------------------------------

static bool has_parameter(Node *node, void *context) {
    if (node == nullptr)
        return false;
    return IsA(node, Param) || walk_expression(node, has_parameter, context);
}

// The tree's table that an expression is over; -1: the index's. False: it is over another, or several.
static bool find_source(const Growth &growth, Expr *expression, int *source) {
    int number = 0;
    ListCell *cell;
    // Not by relids, among which are those of outer joins that may have made it NULL.
    foreach (cell, pull_var_clause(reinterpret_cast<Node *>(expression), PVC_INCLUDE_PLACEHOLDERS)) {
        const auto *var = static_cast<const Var *>(lfirst(cell));
        if (!IsA(var, Var) || (number != 0 && number != var->varno))
            return false;
        number = var->varno;
    }
    *source = -1;
    if (number == static_cast<int>(growth.tree->table->relid))
        return true;
    for (int i = 0; i < growth.tree->count; i++)
        if (number == static_cast<int>(growth.tree->joined[i].table->relid)) {
            *source = i;
            return true;
        }
    return false;
}

// Values of rows that nobody sees are looked up, too.
static bool may_be_looked_up(Expr *expression) {
    return !has_parameter(reinterpret_cast<Node *>(expression), nullptr) &&
           !contain_volatile_functions(reinterpret_cast<Node *>(expression)) && !may_fail(expression);
}

static bool has_key_operators(const JoinTreeTable &joined) {
    const Oid equality = joined.equality;
    if (!OidIsValid(equality) || !is_hashable(equality, exprType(reinterpret_cast<Node *>(joined.outer))))
        return false;
    Oid outer;
    Oid inner;
    op_input_types(equality, &outer, &inner);
    return outer == inner || OidIsValid(lookup_type_cache(inner, TYPECACHE_EQ_OPR)->eq_opr);
}

static bool is_usable_key(const Growth &growth, JoinTreeTable *joined) {
    return has_key_operators(*joined) && find_source(growth, joined->outer, &joined->previous) &&
           may_be_looked_up(joined->outer) && may_be_looked_up(joined->inner) &&
           (growth.root->qual_security_level == 0 || get_func_leakproof(get_opcode(joined->equality)));
}

// Is the condition an equality by which the table's rows can be looked up?
static bool read_key(const Growth &growth, RestrictInfo *condition, JoinTreeTable *joined) {
    if (!IsA(condition->clause, OpExpr) || !condition->can_join || !OidIsValid(condition->hashjoinoperator))
        return false;
    const auto *clause = reinterpret_cast<const OpExpr *>(condition->clause);
    auto *left = static_cast<Expr *>(linitial(clause->args));
    auto *right = static_cast<Expr *>(lsecond(clause->args));
    const bool is_right = bms_equal(condition->right_relids, joined->table->relids);
    if (!is_right && !bms_equal(condition->left_relids, joined->table->relids))
        return false;
    joined->outer = is_right ? left : right;
    joined->inner = is_right ? right : left;
    joined->equality = is_right ? clause->opno : get_commutator(clause->opno);
    joined->collation = clause->inputcollid;
    // As core's search for a unique index wants it.
    condition->outer_is_left = is_right;
    return is_usable_key(growth, joined);
}

// Of columns that are all equal to a constant core compares each with the constant, so that no condition of
// the join is left. They are keys nevertheless.
static bool read_constant_key(const Growth &growth, const EquivalenceClass &equal, JoinTreeTable *joined) {
    const EquivalenceMember *inner = nullptr;
    ListCell *cell;
    foreach (cell, equal.ec_members) {
        const auto *member = lfirst_node(EquivalenceMember, cell);
        if (!member->em_is_child && bms_equal(member->em_relids, joined->table->relids))
            inner = member;
    }
    if (inner == nullptr || !equal.ec_has_const || equal.ec_has_volatile)
        return false;
    foreach (cell, equal.ec_members) {
        const auto *outer = lfirst_node(EquivalenceMember, cell);
        if (outer->em_is_child || outer->em_is_const || outer == inner)
            continue;
        joined->outer = outer->em_expr;
        joined->inner = inner->em_expr;
        joined->equality = get_opfamily_member(linitial_oid(equal.ec_opfamilies), outer->em_datatype,
                                               inner->em_datatype, BTEqualStrategyNumber);
        joined->collation = equal.ec_collation;
        // Where an outer join may have made the column NULL, it needn't be equal.
        if (is_usable_key(growth, joined) &&
            (joined->previous < 0 || growth.tree->joined[joined->previous].type == JOIN_INNER))
            return true;
    }
    return false;
}

// Is there one row at most with that constant?
static bool choose_constant_key(const Growth &growth, JoinTreeTable *joined) {
    if (joined->type != JOIN_INNER ||
        !relation_has_unique_index_for(growth.root, joined->table, NIL, NIL, NIL))
        return false;
    ListCell *cell;
    foreach (cell, growth.root->eq_classes)
        if (read_constant_key(growth, *lfirst_node(EquivalenceClass, cell), joined))
            return true;
    return false;
}

// A semi or anti join asks only whether there is a row.
static bool is_unique(PlannerInfo *root, const JoinTreeTable &joined, RestrictInfo *key) {
    return joined.type == JOIN_SEMI || joined.type == JOIN_ANTI ||
           relation_has_unique_index_for(root, joined.table, list_make1(key), NIL, NIL);
}

// What the table is looked up by. False: nothing. *key is which of the conditions; nullptr: none of them.
static bool choose_key(Growth *growth, const List *conditions, const RelOptInfo *join, JoinTreeTable *joined,
                       RestrictInfo **key) {
    ListCell *cell;
    bool any = false;
    *key = nullptr;
    foreach (cell, conditions) {
        auto *condition = lfirst_node(RestrictInfo, cell);
        if (IS_OUTER_JOIN(joined->type) && RINFO_IS_PUSHED_DOWN(condition, join->relids))
            continue;
        if (!read_key(*growth, condition, joined))
            continue;
        any = true;
        if (is_unique(growth->root, *joined, condition)) {
            *key = condition;
            return true;
        }
    }
    if (choose_constant_key(*growth, joined))
        return true;
    refuse(growth, any ? "the column that a table is joined by isn't unique"
                       : "a table isn't joined by equality with a column");
    return false;
}

// The conditions but the key go to the joined rows; an outer, semi or anti join's own ones can't.
static bool add_conditions(Growth *growth, const List *conditions, const RestrictInfo *key, JoinType type,
                           const RelOptInfo *join) {
    ListCell *cell;
    foreach (cell, conditions) {
        auto *condition = lfirst_node(RestrictInfo, cell);
        if (condition == key)
            continue;
        if (condition->pseudoconstant || (growth->root->qual_security_level > 0 && !condition->leakproof)) {
            refuse(growth, condition->pseudoconstant
                               ? "a condition isn't about rows"
                               : "a condition must not see rows that a security barrier hides");
            return false;
        }
        if (type != JOIN_INNER && !(IS_OUTER_JOIN(type) && RINFO_IS_PUSHED_DOWN(condition, join->relids))) {
            refuse(growth, "an outer, semi or anti join has several conditions");
            return false;
        }
        growth->tree->conditions = lappend(growth->tree->conditions, condition->clause);
    }
    return true;
}

// ---- paths ------------------------------------------------------------------------------------------------

static bool any_gather(const List *paths);

static bool has_gather(const Path *path) {
    check_stack_depth();
    switch (path->pathtype) {
        case T_Gather:
        case T_GatherMerge:
            return true;
        case T_Append:
            return any_gather(reinterpret_cast<const AppendPath *>(path)->subpaths);
        case T_MergeAppend:
            return any_gather(reinterpret_cast<const MergeAppendPath *>(path)->subpaths);
        default:
            return false;
    }
}

static bool any_gather(const List *paths) {
    ListCell *cell;
    foreach (cell, paths)
        if (has_gather(static_cast<const Path *>(lfirst(cell))))
            return true;
    return false;
}

static bool is_plain_table(PlannerInfo *root, const RelOptInfo *table) {
    const RangeTblEntry *entry = planner_rt_fetch(table->relid, root);
    return entry->rtekind == RTE_RELATION && entry->tablesample == nullptr;
}

Path *find_serial_path(const RelOptInfo *relation) {
    Path *cheapest = nullptr;
    ListCell *cell;
    foreach (cell, relation->pathlist) {
        auto *path = static_cast<Path *>(lfirst(cell));
        if (path->param_info == nullptr && !has_gather(path) &&
            (cheapest == nullptr || compare_path_costs(path, cheapest, TOTAL_COST) < 0))
            cheapest = path;
    }
    return cheapest;
}

Path *find_rows_path(PlannerInfo *root, RelOptInfo *table) {
    Path *cheapest = find_serial_path(table);
    const RangeTblEntry *entry = planner_rt_fetch(table->relid, root);
    if (cheapest == nullptr && !entry->inh && entry->relkind == RELKIND_RELATION)
        return create_seqscan_path(root, table, nullptr, 0);
    return cheapest;
}

// What the rows take in memory, about: their values, and where each of these is.
static double expected_bytes(const Path &rows) {
    const PathTarget *target = rows.pathtarget;
    const double columns = list_length(target->exprs);
    return rows.rows * (target->width + columns * (sizeof(Datum) + sizeof(bool)) + sizeof(uint64));
}

// PostgreSQL's own join of the rows so far with the table: what hashes the table's, or reads its only one.
static Path *join_paths(const Growth &growth, RelOptInfo *join, SpecialJoinInfo *special, List *conditions,
                        RestrictInfo *key, const JoinTreeTable &joined) {
    JoinPathExtraData extra = {};
    extra.restrictlist = conditions;
    extra.sjinfo = special;
    compute_semi_anti_join_factors(growth.root, join, growth.grown, joined.table, joined.type, special,
                                   conditions, &extra.semifactors);
    JoinCostWorkspace workspace;
    if (key == nullptr) {
        auto *rows = reinterpret_cast<Path *>(create_material_path(joined.table, joined.path));
        initial_cost_nestloop(growth.root, &workspace, joined.type, growth.tree->rows, rows, &extra);
        return reinterpret_cast<Path *>(create_nestloop_path(growth.root, join, joined.type, &workspace,
                                                             &extra, growth.tree->rows, rows, conditions, NIL,
                                                             nullptr));
    }
    List *keys = list_make1(key);
    initial_cost_hashjoin(growth.root, &workspace, joined.type, keys, growth.tree->rows, joined.path, &extra,
                          false);
    return reinterpret_cast<Path *>(create_hashjoin_path(growth.root, join, joined.type, &workspace, &extra,
                                                         growth.tree->rows, joined.path, false, conditions,
                                                         nullptr, keys));
}

// ---- the tree ---------------------------------------------------------------------------------------------

static bool is_grown(const Growth &growth, const RelOptInfo *table) {
    return bms_is_subset(table->relids, growth.grown->relids);
}

// Joins the tables so far with another one, if that can be.
static bool join_table(Growth *growth, RelOptInfo *table) {
    PlannerInfo *root = growth->root;
    if (!is_plain_table(root, table)) {
        refuse(growth, "what is joined isn't a table");
        return false;
    }
    JoinTree *tree = growth->tree;
    SpecialJoinInfo *special = find_special_join(root, table->relid);
    if (special != nullptr && !bms_is_subset(special->min_lefthand, growth->grown->relids))
        return false;
    RelOptInfo *join = find_join_rel(root, joined_relids(growth->grown, table, special));
    if (join == nullptr)
        return false;
    if (special == nullptr)
        special = make_inner_join(growth->grown, table);
    List *conditions = join_conditions(root, join, growth->grown, table, special);
    JoinTreeTable *joined = &tree->joined[tree->count];
    *joined = {};
    joined->table = table;
    joined->type = special->jointype;
    RestrictInfo *key;
    if (!choose_key(growth, conditions, join, joined, &key) ||
        !add_conditions(growth, conditions, key, joined->type, join))
        return false;
    joined->path = find_rows_path(root, table);
    if (joined->path == nullptr) {
        refuse(growth, "a joined table is only read by parallel workers");
        return false;
    }
    if (expected_bytes(*joined->path) > static_cast<double>(get_hash_memory_limit())) {
        refuse(growth, "work_mem has no room for a joined table's rows");
        return false;
    }
    joined->first = tree->count == 0 ? 0 : joined[-1].first + list_length(joined[-1].path->pathtarget->exprs);
    tree->rows = join_paths(*growth, join, special, conditions, key, *joined);
    if (Path *grouped = find_grouped_path(root, *joined, joined->path); grouped != nullptr)
        joined->path = grouped;
    tree->count++;
    growth->grown = join;
    return true;
}

// Adds tables until no other one can be joined.
static void grow_tree(Growth *growth) {
    for (bool any = true; any && growth->tree->count < kMaxJoinedTables;) {
        any = false;
        for (int i = bms_next_member(growth->join->relids, -1); i >= 0;
             i = bms_next_member(growth->join->relids, i)) {
            RelOptInfo *table = growth->root->simple_rel_array[i];
            // Outer joins have numbers among the tables'.
            if (table != nullptr && !is_grown(*growth, table) && growth->tree->count < kMaxJoinedTables)
                any = join_table(growth, table) || any;
        }
    }
}

// nullptr: *refused says why this table isn't joined with rows that are looked up. *grown are the tables that
// are; unless that is the whole join, *refused says why.
static JoinTree *make_tree(PlannerInfo *root, RelOptInfo *join, RelOptInfo *table, const List *members,
                           RelOptInfo **grown, const char **refused) {
    *refused = nullptr;
    if (find_special_join(root, table->relid) != nullptr) {
        *refused = "the table is on the right side of an outer, semi or anti join";
        return nullptr;
    }
    auto *tree = allocate_zeroed<JoinTree>(1);
    tree->table = table;
    tree->rows = scan_plainly(root, table, members);
    Growth growth = {root, join, table, tree, nullptr};
    grow_tree(&growth);
    *grown = growth.grown;
    if (growth.grown != join)
        *refused = growth.refused != nullptr ? growth.refused : "the tables are joined in another order";
    return tree;
}

// ---- which joins ------------------------------------------------------------------------------------------

static const char *refuse_tables(PlannerInfo *root, const RelOptInfo *join) {
    for (int i = bms_next_member(join->relids, -1); i >= 0; i = bms_next_member(join->relids, i)) {
        const RelOptInfo *table = root->simple_rel_array[i];
        if (table == nullptr)
            continue;
        if (table->lateral_relids != nullptr || table->lateral_referencers != nullptr)
            return "a joined table depends on another table's rows";
        // They would be evaluated again by the replaced plan where that has to answer.
        if (contain_volatile_functions(reinterpret_cast<Node *>(table->baserestrictinfo)))
            return "conditions of a joined table are volatile";
    }
    return refuse_special_joins(root);
}

static bool may_use_index(PlannerInfo *root, const RelOptInfo *table) {
    if (!is_plain_table(root, table))
        return false;
    return is_parent(root, table) ? refuse_whole(live_members(root, table->relid)) == nullptr
                                  : has_column_index(table);
}

List *make_join_trees(PlannerInfo *root, RelOptInfo *join, const char **refused) {
    *refused = refuse_tables(root, join);
    if (*refused != nullptr)
        return NIL;
    List *trees = NIL;
    const char *first_refused = "no joined table has a gpu_column index";
    bool any_parent = false;
    for (int i = bms_next_member(join->relids, -1); i >= 0; i = bms_next_member(join->relids, i)) {
        RelOptInfo *table = root->simple_rel_array[i];
        if (table == nullptr || !may_use_index(root, table))
            continue;
        if (is_parent(root, table)) {
            any_parent = true;
            continue;
        }
        RelOptInfo *grown;
        const char *reason;
        JoinTree *tree = make_tree(root, join, table, NIL, &grown, &reason);
        if (reason == nullptr)
            trees = lappend(trees, tree);
        else
            first_refused = reason;
    }
    // Why another table's rows don't do says less.
    if (any_parent)
        first_refused = "the joined table that a gpu_column index answers for has partitions or children";
    *refused = trees == NIL ? first_refused : nullptr;
    return trees;
}

const char *consider_joins(const TableAggregate &join, bool may_be_partial) {
    PlannerInfo *root = join.root;
    const char *refused = refuse_tables(root, join.input);
    if (refused != nullptr)
        return refused;
    bool any = false;
    const char *first_refused =
        "no joined table has a gpu_column index, or not all of its partitions or children have one";
    for (int i = bms_next_member(join.input->relids, -1); i >= 0;
         i = bms_next_member(join.input->relids, i)) {
        RelOptInfo *table = root->simple_rel_array[i];
        if (table == nullptr || !may_use_index(root, table))
            continue;
        const List *members = is_parent(root, table) ? live_members(root, table->relid) : NIL;
        RelOptInfo *grown;
        const JoinTree *tree = make_tree(root, join.input, table, members, &grown, &refused);
        if (tree != nullptr && grown != join.input && may_be_partial)
            refused = consider_states(join, tree, grown, members);
        any = any || refused == nullptr;
        if (refused != nullptr)
            first_refused = refused;
        if (tree == nullptr || grown != join.input)
            continue;
        TableAggregate joined = join;
        joined.tree = tree;
        joined.members = members;
        consider_indexes(joined);
    }
    return any ? nullptr : first_refused;
}

// ---- the query --------------------------------------------------------------------------------------------

AttrNumber find_joined_column(const JoinTree &tree, int index_columns, const Var *var) {
    for (int i = 0; i < tree.count; i++) {
        const JoinTreeTable &joined = tree.joined[i];
        if (static_cast<int>(joined.table->relid) != var->varno)
            continue;
        const List *columns = joined.path->pathtarget->exprs;
        for (int column = 0; column < list_length(columns); column++) {
            const auto *other = static_cast<const Var *>(list_nth(columns, column));
            if (IsA(other, Var) && other->varattno == var->varattno)
                return static_cast<AttrNumber>(index_columns + joined.first + column + 1);
        }
    }
    return 0;
}

const JoinTree *tree_of_member(PlannerInfo *root, const JoinTree &tree, RelOptInfo *member) {
    const Index from = tree.table->relid;
    auto *of_member = allocate<JoinTree>(1);
    *of_member = tree;
    of_member->table = member;
    of_member->conditions = translate_list(root, tree.conditions, from, member->relid);
    for (int i = 0; i < tree.count; i++)
        of_member->joined[i].outer = static_cast<Expr *>(
            linitial(translate_list(root, list_make1(tree.joined[i].outer), from, member->relid)));
    return of_member;
}

List *joined_paths(const JoinTree &tree) {
    List *paths = NIL;
    for (int i = 0; i < tree.count; i++)
        paths = lappend(paths, tree.joined[i].path);
    return paths;
}

void add_join_cost(const JoinTree &tree, Path *path) {
    // What a row that is hashed costs, in operators.
    constexpr double row_operators = 4.0;
    for (int i = 0; i < tree.count; i++) {
        const Path *rows = tree.joined[i].path;
        const Cost cost =
            rows->total_cost + rows->rows * (cpu_tuple_cost + row_operators * cpu_operator_cost);
        path->startup_cost += cost;
        path->total_cost += cost;
        add_disabled_nodes(path, rows);
    }
}

// A side of an equality, as EXPLAIN shows it.
static char *name_side(PlannerInfo *root, Expr *side) {
    side = without_relabels(side);
    if (!IsA(side, Var))
        return pstrdup("(expression)");
    const auto *var = reinterpret_cast<const Var *>(side);
    RangeTblEntry *entry = planner_rt_fetch(static_cast<Index>(var->varno), root);
    return psprintf("%s.%s", quote_identifier(entry->eref->aliasname),
                    quote_identifier(get_rte_attribute_name(entry, var->varattno)));
}

bool add_joined_tables(PlannerInfo *root, const JoinTree &tree, const IndexOptInfo *index,
                       AggregateQuery *query, Refusal *refusal) {
    for (int i = 0; i < tree.count; i++) {
        const JoinTreeTable &from = tree.joined[i];
        JoinedTable table = {};
        table.type = from.type;
        table.previous = from.previous;
        table.first = index->ncolumns + from.first;
        table.columns = list_length(from.path->pathtarget->exprs);
        table.rows = static_cast<int>(Min(from.path->rows, 1e9));
        table.kept = static_cast<int>(1e6 * Min(from.path->rows / Max(from.table->tuples, 1.0), 1.0));
        table.equality = from.equality;
        table.collation = from.collation;
        table.outer =
            reinterpret_cast<Expr *>(over_index(reinterpret_cast<Node *>(from.outer), index, &tree, refusal));
        table.inner =
            reinterpret_cast<Expr *>(over_index(reinterpret_cast<Node *>(from.inner), index, &tree, refusal));
        if (refusal->reason != nullptr)
            return false;
        if (!bms_get_singleton_member(roots_of(query->joins, table.outer), &table.root)) {
            refuse(refusal, "a table is joined by several columns at once",
                   reinterpret_cast<Node *>(from.outer));
            return false;
        }
        table.condition = psprintf("%s = %s", name_side(root, from.outer), name_side(root, from.inner));
        query->joins = lappend(query->joins, pack_joined_table(table));
    }
    ListCell *cell;
    foreach (cell, tree.conditions) {
        Node *condition = over_index(static_cast<Node *>(lfirst(cell)), index, &tree, refusal);
        if (condition == nullptr)
            return false;
        query->conditions = lappend(query->conditions, condition);
    }
    return true;
}

}  // namespace pg_gpu::plan
