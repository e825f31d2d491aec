#include "plan/query/engine_plan.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/aggregate_path.h"
#include "plan/query/given_rows.h"
#include "plan/query/inputs.h"
#include "plan/query/members.h"
#include "settings.h"

namespace pg_gpu::plan::query {

struct EnginePlan {
    RelOptInfo *relation;
    const IndexOptInfo *index;  // of a table
    const Members *members;     // of one with partitions or children
    Path *rows;                 // of an input (inputs.h)
    // Of a join.
    JoinType type;
    const EnginePlan *probed;
    const EnginePlan *build;
    List *clauses;  // RestrictInfos
    int tables;
    double operators;
};

// What the engine does, in operators: for a row of a table, for one that the session reads, for one that is
// put into a hash table or looked for there, for one that comes of it, and for a pair that is looked at
// because there is no key.
static constexpr double kScanOperators = 0.02;
static constexpr double kInputOperators = 5.0;
static constexpr double kBuildOperators = 1.0;
static constexpr double kProbeOperators = 0.3;
static constexpr double kGiveOperators = 0.05;
static constexpr double kPairOperators = 0.02;
// More pairs take the engine too long.
static constexpr double kMaxPairs = 1e10;
static constexpr int kMaxTables = 24;

static set_join_pathlist_hook_type previous_hook = nullptr;

// ---- plans that are kept ----------------------------------------------------------------------------------

namespace {

// Those of the joins of a statement, or of a subquery; they are forgotten with the memory that they lie in.
struct KeptPlans {
    const PlannerInfo *root;
    List *plans;
    KeptPlans *next;
};

}  // namespace

static KeptPlans *all_kept = nullptr;

static KeptPlans *find_kept(const PlannerInfo *root) {
    KeptPlans *kept = all_kept;
    while (kept != nullptr && kept->root != root)
        kept = kept->next;
    return kept;
}

static void forget(void *forgotten) {
    KeptPlans **link = &all_kept;
    while (*link != forgotten)
        link = &(*link)->next;
    *link = (*link)->next;
}

static KeptPlans *keep(PlannerInfo *root) {
    auto *kept = static_cast<KeptPlans *>(MemoryContextAllocZero(root->planner_cxt, sizeof(KeptPlans)));
    auto *callback = static_cast<MemoryContextCallback *>(
        MemoryContextAllocZero(root->planner_cxt, sizeof(MemoryContextCallback)));
    *kept = {root, NIL, all_kept};
    callback->func = forget;
    callback->arg = kept;
    MemoryContextRegisterResetCallback(root->planner_cxt, callback);
    all_kept = kept;
    return kept;
}

// ---- tables -----------------------------------------------------------------------------------------------

static const char *refuse_table(PlannerInfo *root, RelOptInfo *table) {
    if (table->reloptkind != RELOPT_BASEREL || table->rtekind != RTE_RELATION)
        return "what is joined isn't a table";
    const RangeTblEntry *entry = planner_rt_fetch(table->relid, root);
    if (entry->inh) {
        const char *refused;
        find_members(root, table, &refused);
        return refused;
    }
    if (entry->tablesample != nullptr)
        return "a sample is read";
    if (table->lateral_relids != nullptr || table->lateral_referencers != nullptr)
        return "a joined table depends on another table's rows";
    if (IS_DUMMY_REL(table))
        return "no row of a joined table can pass the conditions";
    return has_column_index(table) ? nullptr : "a joined table has no gpu_column index";
}

// The smallest index that has all columns that are read; nullptr: none has.
static const IndexOptInfo *choose_index(const RelOptInfo *table) {
    const IndexOptInfo *smallest = nullptr;
    ListCell *cell;
    foreach (cell, table->indexlist) {
        const auto *index = lfirst_node(IndexOptInfo, cell);
        if (!is_column_index(index) || index->indpred != NIL ||
            (smallest != nullptr && smallest->pages <= index->pages))
            continue;
        if (has_all_columns(index, reinterpret_cast<Node *>(table->reltarget->exprs)) &&
            has_all_columns(index,
                            reinterpret_cast<Node *>(extract_actual_clauses(table->baserestrictinfo, false))))
            smallest = index;
    }
    return smallest;
}

static const EnginePlan *plan_parent(PlannerInfo *root, RelOptInfo *parent, const char **refused) {
    const Members *members = find_members(root, parent, refused);
    if (members == nullptr)
        return nullptr;
    auto *plan = allocate_zeroed<EnginePlan>(1);
    plan->relation = parent;
    plan->members = members;
    plan->tables = 1;
    for (int i = 0; i < members->count; i++) {
        const MemberTable &member = members->members[i];
        plan->operators += member.index != nullptr ? member.relation->tuples * kScanOperators
                                                   : member.rows->total_cost / cpu_operator_cost +
                                                         member.rows->rows * kInputOperators;
    }
    return plan;
}

static const EnginePlan *plan_table(PlannerInfo *root, RelOptInfo *table) {
    const char *refused;
    const EnginePlan *of_members =
        is_parent_table(root, table) ? plan_parent(root, table, &refused) : nullptr;
    if (of_members != nullptr)
        return of_members;
    const IndexOptInfo *index = refuse_table(root, table) == nullptr ? choose_index(table) : nullptr;
    if (index == nullptr && refuse_input(root, table) != nullptr)
        return nullptr;
    auto *plan = allocate_zeroed<EnginePlan>(1);
    plan->relation = table;
    plan->tables = 1;
    if (index != nullptr) {
        plan->index = index;
        plan->operators = table->tuples * kScanOperators;
    } else {
        plan->rows = cheapest_rows(table);
        plan->operators = plan->rows->total_cost / cpu_operator_cost + plan->rows->rows * kInputOperators;
    }
    return plan;
}

// ---- joins ------------------------------------------------------------------------------------------------

static const EnginePlan *find_plan(const KeptPlans *kept, const RelOptInfo *relation) {
    ListCell *cell;
    foreach (cell, kept->plans) {
        const auto *plan = static_cast<const EnginePlan *>(lfirst(cell));
        if (plan->relation == relation)
            return plan;
    }
    return nullptr;
}

static const EnginePlan *plan_of(PlannerInfo *root, KeptPlans *kept, RelOptInfo *relation) {
    const EnginePlan *plan = find_plan(kept, relation);
    if (plan != nullptr || relation->reloptkind == RELOPT_JOINREL)
        return plan;
    plan = plan_table(root, relation);
    if (plan != nullptr)
        kept->plans = lappend(kept->plans, const_cast<EnginePlan *>(plan));
    return plan;
}

static bool has_key(const RelOptInfo *join, JoinType type, const List *clauses) {
    ListCell *cell;
    foreach (cell, clauses) {
        const auto *clause = lfirst_node(RestrictInfo, cell);
        if (OidIsValid(clause->hashjoinoperator) &&
            !(IS_OUTER_JOIN(type) && RINFO_IS_PUSHED_DOWN(clause, join->relids)))
            return true;
    }
    return false;
}

// True: it is the cheapest so far.
static bool consider_pair(KeptPlans *kept, RelOptInfo *join, const EnginePlan *probed,
                          const EnginePlan *build, JoinType type, List *clauses) {
    const double probed_rows = probed->relation->rows;
    const double build_rows = build->relation->rows;
    double operators = probed->operators + build->operators + build_rows * kBuildOperators +
                       probed_rows * kProbeOperators + join->rows * kGiveOperators;
    if (!has_key(join, type, clauses)) {
        if (probed_rows * build_rows > kMaxPairs)
            return false;
        operators += probed_rows * build_rows * kPairOperators;
    }
    auto *plan = const_cast<EnginePlan *>(find_plan(kept, join));
    if (plan != nullptr && plan->operators <= operators)
        return false;
    if (plan == nullptr) {
        plan = allocate_zeroed<EnginePlan>(1);
        kept->plans = lappend(kept->plans, plan);
    }
    *plan = {
        join,     nullptr, nullptr, nullptr, type, probed, build, clauses, probed->tables + build->tables,
        operators};
    return true;
}

static bool has_groups(const Query *query) {
    return query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
           (query->distinctClause != NIL && !query->hasDistinctOn);
}

static bool is_any_indexed(PlannerInfo *root, const RelOptInfo *join) {
    for (int i = bms_next_member(join->relids, -1); i >= 0; i = bms_next_member(join->relids, i)) {
        const RelOptInfo *table = root->simple_rel_array[i];
        if (table != nullptr && has_any_index(root, table))
            return true;
    }
    return false;
}

// Is there something above the joins that a GpuQuery could be, or are their rows worth one? A genetic search
// makes joins that it throws away.
static bool may_be_wanted(PlannerInfo *root, const RelOptInfo *join) {
    const Query *query = root->parse;
    if (!query_enabled() || root->rowMarks != NIL || root->join_search_private != nullptr)
        return false;
    return has_groups(query) ? query->commandType == CMD_SELECT
                             : (query->commandType == CMD_SELECT || query->commandType == CMD_INSERT) &&
                                   is_any_indexed(root, join);
}

static bool is_known_join(JoinType type) {
    switch (type) {
        case JOIN_INNER:
        case JOIN_LEFT:
        case JOIN_RIGHT:
        case JOIN_FULL:
        case JOIN_SEMI:
        case JOIN_ANTI:
            return true;
        default:
            return false;
    }
}

static void consider_join(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer, RelOptInfo *inner,
                          JoinType type, JoinPathExtraData *extra) {
    if (previous_hook != nullptr)
        previous_hook(root, join, outer, inner, type, extra);
    if (join->reloptkind != RELOPT_JOINREL || !is_known_join(type) || !may_be_wanted(root, join) ||
        join->lateral_relids != nullptr)
        return;
    MemoryContext caller = MemoryContextSwitchTo(root->planner_cxt);
    KeptPlans *kept = find_kept(root);
    if (kept == nullptr)
        kept = keep(root);
    const EnginePlan *probed = plan_of(root, kept, outer);
    const EnginePlan *build = plan_of(root, kept, inner);
    const bool is_cheapest = probed != nullptr && build != nullptr &&
                             probed->tables + build->tables <= kMaxTables &&
                             consider_pair(kept, join, probed, build, type, extra->restrictlist);
    MemoryContextSwitchTo(caller);
    if (is_cheapest && !has_groups(root->parse) && bms_is_subset(root->all_baserels, join->relids))
        consider_joined_rows(root, join);
}

const EnginePlan *find_engine_plan(PlannerInfo *root, RelOptInfo *join, const char **refused) {
    if (is_parent_table(root, join))
        return plan_parent(root, join, refused);
    const KeptPlans *kept = find_kept(root);
    const EnginePlan *plan = kept == nullptr ? nullptr : find_plan(kept, join);
    *refused = nullptr;
    if (plan != nullptr)
        return plan;
    for (int i = bms_next_member(join->relids, -1); i >= 0; i = bms_next_member(join->relids, i)) {
        // Outer joins have numbers among the tables'.
        RelOptInfo *table = root->simple_rel_array[i];
        if (table == nullptr)
            continue;
        if (plan_table(root, table) != nullptr)
            continue;
        // Other things than tables can only be inputs.
        *refused = table->rtekind == RTE_RELATION ? refuse_table(root, table) : refuse_input(root, table);
        if (*refused == nullptr)
            *refused = "a joined table's index doesn't have a column";
        return nullptr;
    }
    *refused = "the engine doesn't join the tables so";
    return nullptr;
}

double operators_of(const EnginePlan &plan) {
    return plan.operators;
}

// ---- the tree ---------------------------------------------------------------------------------------------

static void collect_tables(const EnginePlan &plan, ReadTable *tables, int *count) {
    check_stack_depth();
    if (plan.probed == nullptr) {
        tables[(*count)++] = {plan.relation, plan.index, plan.members, plan.rows};
        return;
    }
    collect_tables(*plan.probed, tables, count);
    collect_tables(*plan.build, tables, count);
}

const ReadTables *tables_of_plan(const EnginePlan &plan) {
    auto *tables = allocate<ReadTable>(static_cast<size_t>(plan.tables));
    auto *all = allocate<ReadTables>(1);
    *all = {tables, 0};
    collect_tables(plan, tables, &all->count);
    return all;
}

namespace {

struct Growth {
    PlannerInfo *root;
    const ReadTables *tables;
    QueryTree *tree;
    Refusal *refusal;
};

}  // namespace

// Conditions behind a security barrier must not see rows that it keeps out, not even by raising errors.
static bool keeps_barrier(const Growth &growth, const RestrictInfo *condition, Index least_security) {
    return growth.root->qual_security_level == 0 || condition->leakproof ||
           condition->security_level <= least_security;
}

static bool add_condition(const Growth &growth, const RestrictInfo *condition, Index least_security,
                          List **conditions) {
    auto *clause = reinterpret_cast<Node *>(condition->clause);
    if (condition->pseudoconstant)
        refuse(growth.refusal, "a condition isn't about rows", clause);
    else if (!keeps_barrier(growth, condition, least_security))
        refuse(growth.refusal, "a condition must not see rows that a security barrier hides", clause);
    if (growth.refusal->reason != nullptr)
        return false;
    *conditions = lappend(*conditions, over_tables(clause, *growth.tables, growth.refusal));
    return growth.refusal->reason == nullptr;
}

// Returns the node's number; below 0: it is refused.
static int grow(const Growth &growth, const EnginePlan &plan) {
    check_stack_depth();
    TreeNode node = {};
    node.table = kNoTable;
    node.rows = plan.relation->rows;
    ListCell *cell;
    if (plan.probed == nullptr) {
        node.table = growth.tree->table_count++;
        // The plan of an input has tested its own.
        foreach (cell, plan.rows != nullptr ? NIL : plan.relation->baserestrictinfo)
            if (!add_condition(growth, lfirst_node(RestrictInfo, cell),
                               plan.relation->baserestrict_min_security, &node.conditions))
                return -1;
    } else {
        node.join = plan.type;
        node.probed = grow(growth, *plan.probed);
        node.build = node.probed < 0 ? -1 : grow(growth, *plan.build);
        if (node.build < 0)
            return -1;
        foreach (cell, plan.clauses) {
            const auto *condition = lfirst_node(RestrictInfo, cell);
            // What stands above an outer join is asked of its rows.
            const bool is_above =
                IS_OUTER_JOIN(plan.type) && RINFO_IS_PUSHED_DOWN(condition, plan.relation->relids);
            if (!add_condition(growth, condition, 0, is_above ? &node.conditions : &node.pairs))
                return -1;
        }
    }
    growth.tree->nodes[growth.tree->count] = node;
    return growth.tree->count++;
}

bool make_tree(PlannerInfo *root, const EnginePlan &plan, const ReadTables &tables, QueryTree *tree,
               Refusal *refusal) {
    *tree = {allocate_zeroed<TreeNode>(2 * static_cast<size_t>(plan.tables)), 0, 0};
    return grow({root, &tables, tree, refusal}, plan) >= 0;
}

void install_engine_planner() {
    previous_hook = set_join_pathlist_hook;
    set_join_pathlist_hook = consider_join;
}

}  // namespace pg_gpu::plan::query
