#include "plan/query/plan_tree.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/nested_groups.h"
#include "plan/query/plan_nodes.h"
#include "plan/query/unions.h"

namespace pg_gpu::plan::query {

namespace {

// The numbers of scopes are given in the order in which plans are walked.
struct Collection {
    int scopes;
    ReadTable *tables;
    int count;
    ReadGroups *groups;
    int groups_count;
};

}  // namespace

// Are the tables below those of a subquery, or of a member of a union?
static bool has_scope(const EnginePlan &plan) {
    return plan.groups != nullptr || plan.columns != NIL;
}

static void collect_tables(const EnginePlan &plan, int scope, Collection *collection) {
    check_stack_depth();
    if (plan.probed == nullptr) {
        collection->tables[collection->count++] = {scope,      plan.root,    plan.relation,
                                                   plan.index, plan.members, plan.rows};
        return;
    }
    collect_tables(*plan.probed, has_scope(plan) ? ++collection->scopes : scope, collection);
    if (has_scope(plan))
        collection->groups[collection->groups_count++] = {scope, plan.root, plan.relation};
    else
        collect_tables(*plan.build, plan.equalities != NIL ? ++collection->scopes : scope, collection);
}

const ReadTables *tables_of_plan(const EnginePlan &plan) {
    Collection collection = {0, allocate<ReadTable>(static_cast<size_t>(plan.tables)), 0,
                             allocate<ReadGroups>(static_cast<size_t>(plan.all_groups) + 1), 0};
    collect_tables(plan, 0, &collection);
    auto *all = allocate<ReadTables>(1);
    *all = {collection.tables, collection.count, collection.groups, collection.groups_count};
    return all;
}

namespace {

struct Growth {
    const ReadTables *tables;
    int scope;
    int *scopes;
    QueryTree *tree;
    Refusal *refusal;
};

}  // namespace

// Conditions behind a security barrier must not see rows that it keeps out, not even by raising errors.
static bool keeps_barrier(const EnginePlan &plan, const RestrictInfo *condition) {
    const Index least_security = plan.build == nullptr ? plan.relation->baserestrict_min_security : 0;
    return plan.root->qual_security_level == 0 || condition->leakproof ||
           condition->security_level <= least_security;
}

static bool add_condition(const Growth &growth, const EnginePlan &plan, const RestrictInfo *condition,
                          List **conditions) {
    auto *clause = reinterpret_cast<Node *>(condition->clause);
    if (condition->pseudoconstant)
        refuse(growth.refusal, "a condition isn't about rows", clause);
    else if (!keeps_barrier(plan, condition))
        refuse(growth.refusal, "a condition must not see rows that a security barrier hides", clause);
    if (growth.refusal->reason != nullptr)
        return false;
    *conditions = lappend(*conditions, over_tables(clause, *growth.tables, growth.scope, growth.refusal));
    return growth.refusal->reason == nullptr;
}

static bool add_own_conditions(const Growth &growth, const EnginePlan &plan, TreeNode *node) {
    ListCell *cell;
    foreach (cell, plan.relation->baserestrictinfo)
        if (!add_condition(growth, plan, lfirst_node(RestrictInfo, cell), &node->conditions))
            return false;
    return true;
}

static bool add_join_conditions(const Growth &growth, const EnginePlan &plan, TreeNode *node) {
    ListCell *cell;
    foreach (cell, plan.clauses) {
        const auto *condition = lfirst_node(RestrictInfo, cell);
        // What stands above an outer join is asked of its rows.
        const bool is_above =
            IS_OUTER_JOIN(plan.type) && RINFO_IS_PUSHED_DOWN(condition, plan.relation->relids);
        if (!add_condition(growth, plan, condition, is_above ? &node->conditions : &node->pairs))
            return false;
    }
    return true;
}

// The two sides of an equality are of scopes of their own.
static bool add_equalities(const Growth &probed, const Growth &build, const EnginePlan &plan,
                           TreeNode *node) {
    ListCell *cell;
    foreach (cell, plan.equalities) {
        auto *equality = static_cast<OpExpr *>(copyObjectImpl(lfirst(cell)));
        for (const Growth *side : {&probed, &build}) {
            ListCell *value = list_nth_cell(equality->args, side == &build ? 1 : 0);
            lfirst(value) =
                over_tables(static_cast<Node *>(lfirst(value)), *side->tables, side->scope, side->refusal);
            if (side->refusal->reason != nullptr)
                return false;
        }
        set_opfuncid(equality);
        node->pairs = lappend(node->pairs, equality);
    }
    return true;
}

// Returns the node's number; below 0: it is refused.
static int grow(const Growth &growth, const EnginePlan &plan) {
    check_stack_depth();
    QueryTree *tree = growth.tree;
    TreeNode node = {};
    node.rows = plan.expected_rows;
    Growth below = growth;
    if (has_scope(plan))
        below.scope = ++*growth.scopes;
    if (plan.probed != nullptr) {
        node.probed = grow(below, *plan.probed);
        if (node.probed < 0)
            return -1;
    }
    if (plan.build != nullptr) {
        node.kind = plan.is_append ? TreeKind::Append : TreeKind::Join;
        node.join = plan.type;
        Growth build = growth;
        if (plan.equalities != NIL)
            build.scope = ++*growth.scopes;
        node.build = grow(build, *plan.build);
        if (node.build < 0 || !add_equalities(growth, build, plan, &node) ||
            !add_join_conditions(growth, plan, &node) ||
            (plan.tests_conditions && !add_own_conditions(growth, plan, &node)))
            return -1;
    } else if (plan.groups != nullptr) {
        node.kind = plan.windows > 0 ? TreeKind::Windows : TreeKind::Groups;
        node.table = growth.tables->count + tree->groups_count++;
        if (!add_groups(*plan.groups, *growth.tables, below.scope, &node, growth.refusal) ||
            !add_own_conditions(growth, plan, &node))
            return -1;
    } else if (plan.columns != NIL) {
        node.kind = TreeKind::Rows;
        node.table = growth.tables->count + tree->groups_count++;
        if (!add_member_columns(plan, *growth.tables, below.scope, &node, growth.refusal) ||
            (plan.tests_conditions && !add_own_conditions(growth, plan, &node)))
            return -1;
    } else {
        node.table = tree->table_count++;
        // The plan of an input has tested its own.
        if (plan.rows == nullptr && !add_own_conditions(growth, plan, &node))
            return -1;
    }
    tree->nodes[tree->count] = node;
    return tree->count++;
}

bool make_tree(const EnginePlan &plan, const ReadTables &tables, QueryTree *tree, Refusal *refusal) {
    const int most = 2 * plan.tables + plan.all_groups;
    *tree = {allocate_zeroed<TreeNode>(static_cast<size_t>(most)), 0, 0, 0};
    int scopes = 0;
    return grow({&tables, 0, &scopes, tree, refusal}, plan) >= 0;
}

}  // namespace pg_gpu::plan::query
