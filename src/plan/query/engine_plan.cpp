#include "plan/query/engine_plan.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/given_rows.h"
#include "plan/query/groups.h"
#include "plan/query/inputs.h"
#include "plan/query/members.h"
#include "plan/query/parameters.h"
#include "plan/query/unions.h"
#include "plan/query/left_out.h"
#include "settings.h"

namespace pg_gpu::plan::query {

// More pairs take the engine too long.
static constexpr double kMaxPairs = 1e10;
static constexpr int kMaxNodes = engine::max_nodes - 8;

static set_join_pathlist_hook_type previous_hook = nullptr;

// ---- plans that are kept ----------------------------------------------------------------------------------

namespace {

// Those of the joins of a statement, or of a subquery; they are forgotten with the memory that they lie in.
struct KeptPlans {
    const PlannerInfo *root;
    List *plans;
    const TableAggregate *groups;  // that the subquery's rows are; nullptr: the engine doesn't compute them
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
    if (KeptPlans *kept = find_kept(root))
        return kept;
    auto *kept = static_cast<KeptPlans *>(MemoryContextAllocZero(root->planner_cxt, sizeof(KeptPlans)));
    auto *callback = static_cast<MemoryContextCallback *>(
        MemoryContextAllocZero(root->planner_cxt, sizeof(MemoryContextCallback)));
    *kept = {root, NIL, nullptr, all_kept};
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
    plan->root = root;
    plan->relation = parent;
    plan->members = members;
    plan->tables = 1;
    plan->expected_rows = parent->rows;
    for (int i = 0; i < members->count; i++) {
        const MemberTable &member = members->members[i];
        plan->operators += member.index != nullptr ? member.relation->tuples * kScanOperators
                                                   : member.rows->total_cost / cpu_operator_cost +
                                                         member.rows->rows * kInputOperators;
    }
    return plan;
}

static const EnginePlan *find_plan(const KeptPlans *kept, const RelOptInfo *relation) {
    ListCell *cell;
    foreach (cell, kept->plans) {
        const auto *plan = static_cast<const EnginePlan *>(lfirst(cell));
        if (plan->relation == relation)
            return plan;
    }
    return nullptr;
}

static const EnginePlan *plan_table(PlannerInfo *root, RelOptInfo *table);

// Are rows read by plans? Those of a subquery's have numbers that mean nothing to the statement around it.
static bool has_inputs(const EnginePlan &plan) {
    check_stack_depth();
    if (plan.probed != nullptr)
        return has_inputs(*plan.probed) || (plan.build != nullptr && has_inputs(*plan.build));
    for (int i = 0; plan.members != nullptr && i < plan.members->count; i++)
        if (plan.members->members[i].index == nullptr)
            return true;
    return plan.rows != nullptr;
}

// How a subquery in FROM, or a WITH query that stays one, is planned; nullptr: it is something else.
static PlannerInfo *find_subroot(PlannerInfo *root, const RelOptInfo *subquery) {
    const RangeTblEntry *entry = planner_rt_fetch(subquery->relid, root);
    if (entry->rtekind == RTE_SUBQUERY)
        return entry->security_barrier ? nullptr : subquery->subroot;
    if (entry->rtekind != RTE_CTE || entry->self_reference)
        return nullptr;
    for (Index i = 0; root != nullptr && i < entry->ctelevelsup; i++)
        root = root->parent_root;
    for (int i = 0; root != nullptr && i < list_length(root->cte_plan_ids); i++) {
        const int plan = list_nth_int(root->cte_plan_ids, i);
        if (plan > 0 &&
            strcmp(list_nth_node(CommonTableExpr, root->parse->cteList, i)->ctename, entry->ctename) == 0)
            return list_nth_node(PlannerInfo, root->glob->subroots, plan - 1);
    }
    return nullptr;
}

double find_operators(double groups) {
    constexpr double few_groups = 10000;
    return groups > few_groups ? 0.5 : 0.02;
}

double operators_of_groups(const EnginePlan &groups, double part) {
    const EnginePlan &input = *groups.probed;
    if (groups.groups->given != nullptr)
        return input.operators + input.expected_rows * (groups.windows * kSortOperators + kGiveOperators);
    // HAVING leaves fewer than are to be found.
    return input.operators + input.expected_rows * find_operators(part * estimate_groups(*groups.groups)) +
           groups.expected_rows * kGiveOperators;
}

// Is a sub-select of the subquery's evaluated anew where parameters from outside change? That happens when
// PostgreSQL's plan of the subquery is begun again, which isn't run.
static bool has_dependent_init_plan(const PlannerInfo *subquery) {
    ListCell *cell;
    foreach (cell, subquery->init_plans) {
        const int plan = lfirst_node(SubPlan, cell)->plan_id;
        auto *query =
            reinterpret_cast<Node *>(list_nth_node(PlannerInfo, subquery->glob->subroots, plan - 1)->parse);
        if (has_parameter_of_plan(query, nullptr))
            return true;
        for (Index level = 1; level <= subquery->query_level; level++)
            if (contain_vars_of_level(query, static_cast<int>(level)))
                return true;
    }
    return false;
}

const EnginePlan *plan_groups(PlannerInfo *root, RelOptInfo *subquery) {
    check_stack_depth();
    if (!IS_SIMPLE_REL(subquery) || subquery->lateral_relids != nullptr ||
        subquery->lateral_referencers != nullptr || IS_DUMMY_REL(subquery))
        return nullptr;
    PlannerInfo *own = find_subroot(root, subquery);
    const KeptPlans *kept = own == nullptr ? nullptr : find_kept(own);
    if (kept == nullptr || kept->groups == nullptr || has_dependent_init_plan(own))
        return nullptr;
    RelOptInfo *input = kept->groups->input;
    const EnginePlan *below =
        input->reloptkind == RELOPT_JOINREL ? find_plan(kept, input) : plan_table(own, input);
    if (below == nullptr || has_inputs(*below))
        return nullptr;
    auto *plan = allocate_zeroed<EnginePlan>(1);
    plan->root = root;
    plan->relation = subquery;
    plan->groups = kept->groups;
    plan->probed = below;
    plan->tables = below->tables;
    plan->all_groups = below->all_groups + 1;
    plan->windows = kept->groups->given == nullptr ? 0 : list_length(kept->groups->given->windows);
    plan->all_windows = below->all_windows + plan->windows;
    plan->expected_rows = subquery->rows;
    plan->operators = operators_of_groups(*plan, 1);
    return plan;
}

// Of a subquery or a union that the engine computes; nullptr: it is something else.
static const EnginePlan *plan_nested(PlannerInfo *root, RelOptInfo *relation) {
    const EnginePlan *groups = plan_groups(root, relation);
    return groups != nullptr ? groups : plan_union(root, relation);
}

bool is_nested(PlannerInfo *root, const RelOptInfo *relation) {
    return plan_nested(root, const_cast<RelOptInfo *>(relation)) != nullptr;
}

void keep_groups(const TableAggregate &table) {
    PlannerInfo *root = table.root;
    MemoryContext caller = MemoryContextSwitchTo(root->planner_cxt);
    auto *groups = allocate<TableAggregate>(1);
    *groups = table;
    if (table.given != nullptr) {
        auto *rows = allocate<GivenRows>(1);
        *rows = *table.given;
        groups->given = rows;
    }
    keep(root)->groups = groups;
    MemoryContextSwitchTo(caller);
}

static const EnginePlan *plan_table(PlannerInfo *root, RelOptInfo *table) {
    const char *refused;
    const EnginePlan *of_members =
        is_parent_table(root, table) ? plan_parent(root, table, &refused) : nullptr;
    if (of_members != nullptr)
        return of_members;
    const EnginePlan *nested = plan_nested(root, table);
    const IndexOptInfo *index = refuse_table(root, table) == nullptr ? choose_index(table) : nullptr;
    if (index == nullptr && refuse_input(root, table) != nullptr)
        return nested;
    auto *plan = allocate_zeroed<EnginePlan>(1);
    plan->root = root;
    plan->relation = table;
    plan->tables = 1;
    plan->expected_rows = table->rows;
    if (index != nullptr) {
        plan->index = index;
        plan->operators = table->tuples * kScanOperators;
    } else {
        plan->rows = cheapest_rows(table);
        plan->operators = plan->rows->total_cost / cpu_operator_cost + plan->rows->rows * kInputOperators;
    }
    return nested != nullptr && nested->operators < plan->operators ? nested : plan;
}

const EnginePlan *plan_member_table(PlannerInfo *root, RelOptInfo *table) {
    const char *refused;
    if (is_parent_table(root, table))
        return plan_parent(root, table, &refused);
    const IndexOptInfo *index =
        planner_rt_fetch(table->relid, root)->tablesample == nullptr ? choose_index(table) : nullptr;
    if (index == nullptr)
        return nullptr;
    auto *plan = allocate_zeroed<EnginePlan>(1);
    plan->root = root;
    plan->relation = table;
    plan->index = index;
    plan->tables = 1;
    plan->expected_rows = table->rows;
    plan->operators = table->tuples * kScanOperators;
    return plan;
}

const EnginePlan *plan_all_rows(PlannerInfo *root) {
    const KeptPlans *kept = find_kept(root);
    const EnginePlan *rows = nullptr;
    int table;
    if (bms_get_singleton_member(root->all_baserels, &table))
        rows = plan_table(root, root->simple_rel_array[table]);
    ListCell *cell;
    foreach (cell, kept == nullptr ? NIL : kept->plans) {
        const auto *plan = static_cast<const EnginePlan *>(lfirst(cell));
        if (plan->relation->reloptkind == RELOPT_JOINREL &&
            bms_is_subset(root->all_baserels, plan->relation->relids))
            rows = plan;
    }
    return rows == nullptr || has_inputs(*rows) || has_dependent_init_plan(root) ? nullptr : rows;
}

// ---- joins ------------------------------------------------------------------------------------------------

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

// Does a condition compare the sides by their order, so that most pairs needn't be looked at?
static bool has_bound(const EnginePlan &join) {
    ListCell *cell;
    foreach (cell, join.clauses) {
        const auto *info = lfirst_node(RestrictInfo, cell);
        if (!IsA(info->clause, OpExpr) || bms_is_empty(info->left_relids) || bms_is_empty(info->right_relids))
            continue;
        const int strategy = strategy_of(reinterpret_cast<const OpExpr *>(info->clause)->opno);
        const Relids probed = join.probed->relation->relids;
        const Relids build = join.build->relation->relids;
        if (strategy != 0 && strategy != BTEqualStrategyNumber && strategy != kNotEqualStrategy &&
            ((bms_is_subset(info->left_relids, probed) && bms_is_subset(info->right_relids, build)) ||
             (bms_is_subset(info->left_relids, build) && bms_is_subset(info->right_relids, probed))))
            return true;
    }
    return false;
}

// How many nodes of the engine's it takes at most: computing is a node of its own behind tables and joins,
// and groups are an aggregate and what is computed of it, as windows are between what is computed.
static int count_nodes(const EnginePlan &plan) {
    const int joins = plan.tables - 1;
    return 2 * plan.tables + 2 * joins + 3 * plan.all_groups + plan.all_windows;
}

double operators_of_join(const EnginePlan &join) {
    const double probe = join.equalities != NIL ? kExistsOperators : kProbeOperators;
    return join.probed->operators + join.build->operators + join.build->expected_rows * kBuildOperators +
           join.probed->expected_rows * probe + join.expected_rows * kGiveOperators;
}

// True: it is the cheapest so far.
static bool consider_pair(KeptPlans *kept, const EnginePlan &join) {
    const EnginePlan &probed = *join.probed;
    const EnginePlan &build = *join.build;
    double operators = operators_of_join(join);
    if (count_nodes(probed) + count_nodes(build) > kMaxNodes)
        return false;
    if (!has_key(join.relation, join.type, join.clauses)) {
        const double all_pairs = probed.expected_rows * build.expected_rows;
        const double pairs = has_bound(join) ? Min(all_pairs, join.expected_rows) : all_pairs;
        if (pairs > kMaxPairs)
            return false;
        operators += pairs * kPairOperators;
    }
    auto *plan = const_cast<EnginePlan *>(find_plan(kept, join.relation));
    if (plan != nullptr && plan->operators <= operators)
        return false;
    if (plan == nullptr) {
        plan = allocate<EnginePlan>(1);
        kept->plans = lappend(kept->plans, plan);
    }
    *plan = join;
    plan->tables = probed.tables + build.tables;
    plan->all_groups = probed.all_groups + build.all_groups;
    plan->all_windows = probed.all_windows + build.all_windows;
    plan->operators = operators;
    return true;
}

// The pair as it is, and with rows left out of a side that the join leaves out.
static bool consider_pairs(KeptPlans *kept, const EnginePlan &join) {
    bool is_cheapest = consider_pair(kept, join);
    for (const bool is_probed : {true, false}) {
        EnginePlan wanted = join;
        const EnginePlan **side = is_probed ? &wanted.probed : &wanted.build;
        *side = leave_out_unmatched(join, is_probed);
        if (*side != nullptr)
            is_cheapest = consider_pair(kept, wanted) || is_cheapest;
    }
    return is_cheapest;
}

static bool has_groups(const Query *query) {
    return query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
           (query->distinctClause != NIL && !query->hasDistinctOn);
}

static bool is_any_indexed(PlannerInfo *root, const RelOptInfo *join) {
    for (int i = bms_next_member(join->relids, -1); i >= 0; i = bms_next_member(join->relids, i)) {
        RelOptInfo *table = root->simple_rel_array[i];
        if (table != nullptr && (has_any_index(root, table) || is_nested(root, table)))
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
    KeptPlans *kept = keep(root);
    const EnginePlan *probed = plan_of(root, kept, outer);
    const EnginePlan *build = plan_of(root, kept, inner);
    EnginePlan pair = {};
    pair.root = root;
    pair.relation = join;
    pair.type = type;
    pair.probed = probed;
    pair.build = build;
    pair.clauses = extra->restrictlist;
    pair.expected_rows = join->rows;
    const bool is_cheapest = probed != nullptr && build != nullptr && consider_pairs(kept, pair);
    MemoryContextSwitchTo(caller);
    if (is_cheapest && !has_groups(root->parse) && bms_is_subset(root->all_baserels, join->relids))
        consider_joined_rows(root, join);
}

const EnginePlan *find_engine_plan(PlannerInfo *root, RelOptInfo *join, const char **refused) {
    if (is_parent_table(root, join))
        return plan_parent(root, join, refused);
    if (IS_SIMPLE_REL(join)) {
        const EnginePlan *nested = plan_nested(root, join);
        *refused = nested == nullptr ? "what is aggregated isn't a table" : nullptr;
        return nested;
    }
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

void install_engine_planner() {
    previous_hook = set_join_pathlist_hook;
    set_join_pathlist_hook = consider_join;
}

}  // namespace pg_gpu::plan::query
