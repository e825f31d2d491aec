#include "plan/query/unions.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/sub_selects.h"

namespace pg_gpu::plan::query {

namespace {

struct Union {
    PlannerInfo *root;
    RelOptInfo *relation;
    const Bitmapset *attributes;  // that are read, from 1 on
    // Has a member conditions that PostgreSQL couldn't push down?
    bool has_conditions_above;
};

}  // namespace

// Returns false where whole rows or system columns are read.
static bool find_attributes(Union *all) {
    Bitmapset *found = nullptr;
    pull_varattnos(reinterpret_cast<Node *>(all->relation->reltarget->exprs), all->relation->relid, &found);
    pull_varattnos(reinterpret_cast<Node *>(extract_actual_clauses(all->relation->baserestrictinfo, false)),
                   all->relation->relid, &found);
    for (int i = bms_next_member(found, -1); i >= 0; i = bms_next_member(found, i)) {
        const int attribute = i + FirstLowInvalidHeapAttributeNumber;
        if (attribute <= 0)
            return false;
        all->attributes = bms_add_member(const_cast<Bitmapset *>(all->attributes), attribute);
    }
    return true;
}

// ---- members ----------------------------------------------------------------------------------------------

static bool is_subquery_of_rows(const RelOptInfo *member) {
    return member->rtekind == RTE_SUBQUERY && is_of_rows(member->subroot->parse);
}

// A member that is a subquery of its own, of rows or of groups.
static const EnginePlan *plan_subquery(const Union &all, RelOptInfo *member) {
    PlannerInfo *subroot = member->subroot;
    return subroot == nullptr || planner_rt_fetch(member->relid, all.root)->security_barrier ||
                   subroot->qual_security_level > 0
               ? nullptr
           : is_subquery_of_rows(member) ? plan_all_rows(subroot)
                                         : plan_groups(all.root, member);
}

// What a column of the union is in the member, over its tables. nullptr: it isn't known.
static Node *column_of(const AppendRelInfo *place, const RelOptInfo *member, int attribute) {
    auto *column = static_cast<Node *>(list_nth(place->translated_vars, attribute - 1));
    if (column == nullptr || !is_subquery_of_rows(member))
        return column;
    if (!IsA(column, Var))
        return nullptr;
    const TargetEntry *entry =
        get_tle_by_resno(member->subroot->processed_tlist, reinterpret_cast<const Var *>(column)->varattno);
    return entry == nullptr ? nullptr : reinterpret_cast<Node *>(entry->expr);
}

// Those that aren't read are NULL, so that columns have the union's numbers. NIL: one isn't known.
static List *columns_of(const Union &all, const AppendRelInfo *place, const RelOptInfo *member) {
    List *columns = NIL;
    for (int i = 1; i <= list_length(place->translated_vars); i++) {
        Node *column = bms_is_member(i, all.attributes)
                           ? column_of(place, member, i)
                           : reinterpret_cast<Node *>(makeNullConst(INT4OID, -1, InvalidOid));
        if (column == nullptr)
            return NIL;
        columns = lappend(columns, column);
    }
    return columns;
}

static const EnginePlan *plan_member(Union *all, const AppendRelInfo *place, RelOptInfo *member) {
    if (member->lateral_relids != nullptr ||
        (member->rtekind != RTE_RELATION && member->rtekind != RTE_SUBQUERY))
        return nullptr;
    const bool is_subquery = member->rtekind == RTE_SUBQUERY;
    const EnginePlan *rows = is_subquery ? plan_subquery(*all, member) : plan_member_table(all->root, member);
    List *columns = rows == nullptr ? NIL : columns_of(*all, place, member);
    if (columns == NIL)
        return nullptr;
    all->has_conditions_above |= is_subquery && member->baserestrictinfo != NIL;
    auto *plan = allocate_zeroed<EnginePlan>(1);
    plan->root = all->root;
    plan->relation = all->relation;
    plan->columns = columns;
    plan->probed = rows;
    plan->tables = rows->tables;
    plan->all_groups = rows->all_groups + 1;
    plan->all_windows = rows->all_windows;
    plan->expected_rows = rows->expected_rows;
    plan->operators = rows->operators;
    return plan;
}

// ---- the union --------------------------------------------------------------------------------------------

static const EnginePlan *append(const Union &all, const EnginePlan *rows, const EnginePlan *member) {
    auto *plan = allocate_zeroed<EnginePlan>(1);
    plan->root = all.root;
    plan->relation = all.relation;
    plan->is_append = true;
    plan->type = JOIN_FULL;
    // Rows of the build side are held in memory.
    const bool is_larger = member->expected_rows > rows->expected_rows;
    plan->probed = is_larger ? member : rows;
    plan->build = is_larger ? rows : member;
    plan->tables = rows->tables + member->tables;
    plan->all_groups = rows->all_groups + member->all_groups;
    plan->all_windows = rows->all_windows + member->all_windows;
    plan->expected_rows = rows->expected_rows + member->expected_rows;
    plan->operators = operators_of_join(*plan);
    return plan;
}

const EnginePlan *plan_union(PlannerInfo *root, RelOptInfo *relation) {
    check_stack_depth();
    if (relation->reloptkind != RELOPT_BASEREL || relation->rtekind != RTE_SUBQUERY ||
        !planner_rt_fetch(relation->relid, root)->inh || relation->lateral_relids != nullptr ||
        relation->lateral_referencers != nullptr || root->qual_security_level > 0)
        return nullptr;
    Union all = {root, relation, nullptr, false};
    if (!find_attributes(&all))
        return nullptr;
    const EnginePlan *rows = nullptr;
    ListCell *cell;
    foreach (cell, root->append_rel_list) {
        const auto *place = lfirst_node(AppendRelInfo, cell);
        RelOptInfo *member = root->simple_rel_array[place->child_relid];
        if (place->parent_relid != relation->relid || member == nullptr || IS_DUMMY_REL(member))
            continue;
        const EnginePlan *plan = plan_member(&all, place, member);
        if (plan == nullptr)
            return nullptr;
        rows = rows == nullptr ? plan : append(all, rows, plan);
    }
    if (rows != nullptr)
        const_cast<EnginePlan *>(rows)->tests_conditions = all.has_conditions_above;
    return rows;
}

// ---- types ------------------------------------------------------------------------------------------------

// Gives a member's columns the union's types. True: one had another.
static bool unify_member(Query *member, const SetOperationStmt *all) {
    bool is_changed = false;
    if (!is_of_rows(member) || member->sortClause != NIL)
        return false;
    ListCell *cell;
    int column = 0;
    foreach (cell, member->targetList) {
        auto *entry = lfirst_node(TargetEntry, cell);
        if (entry->resjunk || column == list_length(all->colTypes))
            return false;
        auto *value = reinterpret_cast<Node *>(entry->expr);
        const Oid type = list_nth_oid(all->colTypes, column++);
        if (exprType(value) == type)
            continue;
        entry->expr = reinterpret_cast<Expr *>(coerce_to_common_type(nullptr, value, type, "UNION"));
        assign_expr_collations(nullptr, reinterpret_cast<Node *>(entry->expr));
        is_changed = true;
    }
    return is_changed;
}

static bool unify_members(Query *query, Node *node) {
    check_stack_depth();
    if (IsA(node, RangeTblRef))
        return unify_member(
            rt_fetch(reinterpret_cast<const RangeTblRef *>(node)->rtindex, query->rtable)->subquery,
            castNode(SetOperationStmt, query->setOperations));
    auto *operation = castNode(SetOperationStmt, node);
    if (operation->op != SETOP_UNION || !operation->all)
        return false;
    const bool is_changed = unify_members(query, operation->larg);
    return unify_members(query, operation->rarg) || is_changed;
}

bool unify_union_types(Query *query) {
    bool is_changed = false;
    const auto unify = [&](Query *read) {
        if (read->setOperations != nullptr)
            is_changed = unify_members(read, read->setOperations) || is_changed;
    };
    ListCell *cell;
    foreach (cell, query->rtable)
        if (lfirst_node(RangeTblEntry, cell)->rtekind == RTE_SUBQUERY)
            unify(lfirst_node(RangeTblEntry, cell)->subquery);
    foreach (cell, query->cteList)
        unify(castNode(Query, lfirst_node(CommonTableExpr, cell)->ctequery));
    return is_changed;
}

// ---- the tree ---------------------------------------------------------------------------------------------

bool add_member_columns(const EnginePlan &member, const ReadTables &tables, int scope, TreeNode *node,
                        Refusal *refusal) {
    ListCell *cell;
    foreach (cell, member.columns) {
        Node *column = over_tables(static_cast<Node *>(lfirst(cell)), tables, scope, refusal);
        if (column == nullptr || refusal->reason != nullptr)
            return false;
        node->columns = lappend(node->columns, column);
    }
    return true;
}

}  // namespace pg_gpu::plan::query
