#include "plan/query/aggregate_members.h"

#include "compat.h"
#include "plan/advise/explain_why.h"
#include "plan/query/node.h"
#include "plan/query/path.h"

namespace pg_gpu::plan {

// ---- expressions ------------------------------------------------------------------------------------------

static AppendRelInfo *encode_tid(PlannerInfo *root, Index member) {
    return root->append_rel_array == nullptr ? nullptr : root->append_rel_array[member];
}

// An expression, or a list of them, over a table as one over a member somewhere below it.
static Node *translate(PlannerInfo *root, Node *expression, Index table, Index member) {
    if (member == table)
        return expression;
    check_stack_depth();
    AppendRelInfo *place = encode_tid(root, member);
    expression = translate(root, expression, table, place->parent_relid);
    return adjust_appendrel_attrs(root, expression, 1, &place);
}

static List *translate_list(PlannerInfo *root, List *expressions, Index table, Index member) {
    return reinterpret_cast<List *>(translate(root, reinterpret_cast<Node *>(expressions), table, member));
}

static PathTarget *translate_target(PlannerInfo *root, PathTarget *target, Index table, Index member) {
    PathTarget *translated = copy_pathtarget(target);
    translated->exprs = translate_list(root, target->exprs, table, member);
    return translated;
}

List *columns_over(PlannerInfo *root, const RelOptInfo *table) {
    Index top = table->relid;
    for (const AppendRelInfo *place = encode_tid(root, top); place != nullptr; place = encode_tid(root, top))
        top = place->parent_relid;
    return translate_list(root, root->processed_tlist, top, table->relid);
}

// ---- transition states ------------------------------------------------------------------------------------

namespace {

struct PartialTarget {
    PathTarget *target;
    const List *keys;
};

}  // namespace

// Adds what the expression is computed of: aggregates, and columns that depend on the grouping ones.
static bool add_parts(Node *node, void *context) {
    auto *partial = static_cast<PartialTarget *>(context);
    if (node == nullptr || list_member(partial->keys, node))
        return false;
    if (!IsA(node, Aggref) && !IsA(node, Var) && !IsA(node, PlaceHolderVar))
        return walk_expression(node, add_parts, context);
    if (IsA(node, Aggref)) {
        auto *aggregate = makeNode(Aggref);
        *aggregate = *reinterpret_cast<const Aggref *>(node);
        mark_partial_aggref(aggregate, AGGSPLIT_INITIAL_SERIAL);
        node = reinterpret_cast<Node *>(aggregate);
    }
    add_new_column_to_pathtarget(partial->target, reinterpret_cast<Expr *>(node));
    return false;
}

// What groups that are parts of others give, so that a final aggregate can compute the target and HAVING from
// them: what is grouped by, transition states, and columns that depend on what is grouped by.
static PathTarget *make_partial_target(PlannerInfo *root, const PathTarget *target, Node *having) {
    PartialTarget partial = {create_empty_pathtarget(), NIL};
    List *keys = NIL;
    for (int i = 0; i < list_length(target->exprs); i++) {
        const Index reference = get_pathtarget_sortgroupref(target, i);
        auto *expression = static_cast<Expr *>(list_nth(target->exprs, i));
        if (reference == 0 || get_sortgroupref_clause_noerr(reference, grouping_clauses(root)) == nullptr)
            continue;
        add_column_to_pathtarget(partial.target, expression, reference);
        keys = lappend(keys, expression);
    }
    partial.keys = keys;
    add_parts(reinterpret_cast<Node *>(target->exprs), &partial);
    add_parts(having, &partial);
    return set_pathtarget_cost_width(root, partial.target);
}

// ---- members ----------------------------------------------------------------------------------------------

// Is it a table with rows below this one, as far as the planner knows? Below a table that was pruned, members
// aren't planned at all.
static bool is_live_member(PlannerInfo *root, Index table, Index member) {
    while (member != table) {
        RelOptInfo *relation = root->simple_rel_array[member];
        const AppendRelInfo *place = encode_tid(root, member);
        if (relation == nullptr || place == nullptr || IS_DUMMY_REL(relation))
            return false;
        member = place->parent_relid;
    }
    return true;
}

// Those of the tables below this one that may have rows, as far as the planner knows: RelOptInfos.
static const List *live_members(PlannerInfo *root, Index table) {
    List *members = NIL;
    ListCell *cell;
    foreach (cell, root->append_rel_list) {
        const Index member = lfirst_node(AppendRelInfo, cell)->child_relid;
        if (!planner_rt_fetch(member, root)->inh && is_live_member(root, table, member))
            members = lappend(members, root->simple_rel_array[member]);
    }
    return members;
}

// Has one of them a gpu_column index, whether or not it answers?
static bool is_any_indexed(const List *members) {
    ListCell *cell;
    foreach (cell, members)
        if (has_column_index(static_cast<const RelOptInfo *>(lfirst(cell))))
            return true;
    return false;
}

// ---- paths ------------------------------------------------------------------------------------------------

// A relation for groups of a table, or of a member, which give `target`. It stands beside those that core
// has, whose paths are part of others already.
static RelOptInfo *make_groups(const RelOptInfo *table, PathTarget *target) {
    auto *groups = makeNode(RelOptInfo);
    groups->reloptkind = RELOPT_OTHER_UPPER_REL;
    groups->relids = table->relids;
    groups->reltarget = target;
    return groups;
}

// The same aggregate of a member. Its groups have a relation of their own, beside those that core has for the
// member.
static TableAggregate aggregate_of_member(const TableAggregate &table, RelOptInfo *member) {
    PlannerInfo *root = table.root;
    const Index from = table.input->relid;
    const Index to = member->relid;
    return {root,
            member,
            make_groups(member, translate_target(root, table.output->reltarget, from, to)),
            translate_list(root, table.columns, from, to),
            translate_list(root, table.having, from, to),
            table.split,
            translate_target(root, table.scanned, from, to),
            table.clauses,
            NIL};
}

static bool is_by_index(const Path *path) {
    return IsA(path, CustomPath) &&
           reinterpret_cast<const CustomPath *>(path)->methods == query::query_path_methods();
}

// The cheapest path for each member's groups, which give `target`; NIL when none of them is by an index.
static List *make_member_paths(PlannerInfo *root, RelOptInfo *table, const List *members, PathTarget *target,
                               List *having, AggSplit split) {
    const TableAggregate whole = {root,   table, make_groups(table, target), columns_over(root, table),
                                  having, split, table->reltarget,           grouping_clauses(root),
                                  NIL};
    List *paths = NIL;
    bool any_index = false;
    ListCell *cell;
    foreach (cell, members) {
        const TableAggregate aggregate = aggregate_of_member(whole, static_cast<RelOptInfo *>(lfirst(cell)));
        RelOptInfo *groups = aggregate.output;
        add_path(groups, aggregate_plainly(aggregate, aggregate.input->cheapest_total_path, groups->reltarget,
                                           aggregate.having));
        note_other_paths(root, groups);
        query::consider_query(aggregate);
        set_cheapest(groups);
        any_index = any_index || is_by_index(groups->cheapest_total_path);
        paths = lappend(paths, groups->cheapest_total_path);
    }
    return any_index ? paths : NIL;
}

// A member that is the only one has all rows of its groups.
static void add_single_path(PlannerInfo *root, RelOptInfo *table, RelOptInfo *output, const List *members,
                            List *having) {
    List *paths = make_member_paths(root, table, members, output->reltarget, having, AGGSPLIT_SIMPLE);
    if (paths != NIL)
        add_path(output, append_paths(root, output, paths));
}

static void add_final_path(const TableAggregate &whole, Path *states, AggStrategy strategy) {
    AggClauseCosts costs = {};
    get_agg_clause_costs(whole.root, whole.split, &costs);
    add_path(whole.output,
             reinterpret_cast<Path *>(create_agg_path(
                 whole.root, whole.output, states, whole.output->reltarget, strategy, whole.split,
                 grouping_clauses(whole.root), whole.having, &costs, estimate_groups(whole))));
}

// Adds to `output`, which holds the groups of `table`, paths that finalize states, which are rows of
// `groups`. `having` is over the table.
static void add_final_paths(PlannerInfo *root, RelOptInfo *table, RelOptInfo *output, List *having,
                            RelOptInfo *groups, Path *states, bool is_sortable) {
    const TableAggregate whole = {root,    table,
                                  output,  columns_over(root, table),
                                  having,  AGGSPLIT_FINAL_DESERIAL,
                                  nullptr, grouping_clauses(root),
                                  NIL};
    if (grouping_clauses(root) == NIL) {
        add_final_path(whole, states, AGG_PLAIN);
        return;
    }
    add_final_path(whole, states, AGG_HASHED);
    if (!is_sortable)
        return;
    // Without pathkeys all grouping columns are constant, and there is nothing to sort by.
    if (root->group_pathkeys != NIL)
        states = reinterpret_cast<Path *>(create_sort_path(root, groups, states, root->group_pathkeys, -1));
    add_final_path(whole, states, AGG_SORTED);
}

static void add_paths_of_members(PlannerInfo *root, RelOptInfo *table, RelOptInfo *output,
                                 const List *members, List *having, bool is_sortable) {
    PathTarget *partial = make_partial_target(root, output->reltarget, reinterpret_cast<Node *>(having));
    List *paths = make_member_paths(root, table, members, partial, NIL, AGGSPLIT_INITIAL_SERIAL);
    if (paths == NIL)
        return;
    RelOptInfo *groups = make_groups(table, partial);
    add_final_paths(root, table, output, having, groups, append_paths(root, groups, paths), is_sortable);
}

const char *consider_members(PlannerInfo *root, RelOptInfo *table, RelOptInfo *output,
                             const GroupPathExtraData *extra) {
    const List *members = live_members(root, table->relid);
    auto *having = reinterpret_cast<List *>(extra->havingQual);
    if (!is_any_indexed(members))
        return "no partition or child has a gpu_column index";
    if (list_length(members) == 1)
        add_single_path(root, table, output, members, having);
    else if ((extra->flags & GROUPING_CAN_PARTIAL_AGG) != 0)
        add_paths_of_members(root, table, output, members, having,
                             (extra->flags & GROUPING_CAN_USE_SORT) != 0);
    else
        return "an aggregate can't be put together from those of partitions or children";
    return nullptr;
}

}  // namespace pg_gpu::plan
