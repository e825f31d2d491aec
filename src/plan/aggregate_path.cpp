// Planning a GpuAggregate: which queries it answers, and from which index.
#include "plan/aggregate_path.h"

#include "access_methods.h"
#include "compat.h"
#include "plan/aggregate_compile.h"
#include "plan/aggregate_cost.h"
#include "plan/aggregate_members.h"
#include "plan/aggregate_scan.h"
#include "plan/aggregate_sets.h"
#include "plan/aggregate_top.h"
#include "settings.h"

namespace pg_gpu::plan {

static create_upper_paths_hook_type previous_hook = nullptr;

// ---- which queries ----------------------------------------------------------------------------------------

// One table, perhaps a partition, and groups of one kind. Returns nullptr, or why it isn't a query for the
// node.
static const char *refuse_statement(PlannerInfo *root, const RelOptInfo *input) {
    const Query *query = root->parse;
    if (!query->hasAggs && query->groupClause == NIL)
        return "there are no aggregates and no groups";
    if (query->hasTargetSRFs)
        return "a function returns a set";
    if (query->commandType != CMD_SELECT || root->rowMarks != NIL)
        return "rows are locked or changed";
    if (IS_JOIN_REL(input))
        return "tables are joined";
    if ((input->reloptkind != RELOPT_BASEREL && input->reloptkind != RELOPT_OTHER_MEMBER_REL) ||
        input->rtekind != RTE_RELATION)
        return "what is aggregated isn't a table";
    if (planner_rt_fetch(input->relid, root)->tablesample != nullptr)
        return "a sample is read";
    if (input->lateral_relids != nullptr)
        return "what is aggregated depends on another table's rows";
    if (marks_grouped_columns(query))
        return "there are grouping sets";
    // There may be no row, and then no group, which an aggregate without groups wouldn't tell.
    if (query->groupClause != NIL && grouping_clauses(root) == NIL)
        return "all grouping columns are constant";
    return nullptr;
}

static bool is_column_index(const IndexOptInfo *index) {
    return !index->hypothetical && find_access_method(index) == &gpu_column;
}

bool has_column_index(const RelOptInfo *table) {
    ListCell *cell;
    foreach (cell, table->indexlist)
        if (is_column_index(lfirst_node(IndexOptInfo, cell)))
            return true;
    return false;
}

// Why nothing is answered, though the statement is of the right kind.
static const char *refuse_relation(PlannerInfo *root, RelOptInfo *input, bool has_members) {
    if (!has_members && !has_column_index(input))
        return "the table has no gpu_column index";
    if (!aggregate_enabled())
        return "pg_gpu.enable_aggregate is off";
    if (IS_DUMMY_REL(input))
        return "no row can pass the conditions";
    // The replaced path sorts where aggregates need that, and else hashes.
    if (root->numOrderedAggs > 0)
        return grouping_is_sortable(grouping_clauses(root)) ? nullptr : "a grouping column can't be sorted";
    return grouping_is_hashable(grouping_clauses(root)) ? nullptr : "a grouping column can't be hashed";
}

// ---- what is asked ----------------------------------------------------------------------------------------

namespace {

// What a walk over target list and HAVING finds.
struct Targets {
    const List *keys;  // of the table
    bool has_sets;
    List *aggregates;
    Refusal *refusal;
};

}  // namespace

// Collects aggregates. Columns outside of them must be grouped by, so that they aren't found here.
static bool collect_targets(Node *node, void *context) {
    auto *targets = static_cast<Targets *>(context);
    if (node == nullptr || list_member(targets->keys, node))
        return false;
    switch (nodeTag(node)) {
        case T_Aggref:
            targets->aggregates = list_append_unique(targets->aggregates, node);
            return false;
        case T_Var:
            refuse(targets->refusal, "a column is neither grouped by nor aggregated", node);
            return true;
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

// Conditions behind a security barrier must not see rows that it keeps out, not even by raising errors.
static bool keeps_barrier(const TableAggregate &table, const RestrictInfo *condition) {
    return table.root->qual_security_level == 0 || condition->leakproof ||
           condition->security_level <= table.input->baserestrict_min_security;
}

static bool add_conditions(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query,
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

// The grouping columns over the table in *keys.
static bool add_keys(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query,
                     List **keys, Refusal *refusal) {
    ListCell *cell;
    foreach (cell, table.clauses) {
        auto *clause = lfirst_node(SortGroupClause, cell);
        Node *key = get_sortgroupclause_expr(clause, table.columns);
        Node *expression = over_index(key, index, refusal);
        if (expression == nullptr)
            return false;
        *keys = lappend(*keys, key);
        query->keys = lappend(query->keys, expression);
        query->key_operators = lappend_oid(query->key_operators, clause->eqop);
    }
    return true;
}

// What the node would compute from this index; false, with the reason, when it can't. *row are the
// expressions of its tuples.
static bool make_query(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query,
                       List **row, Refusal *refusal) {
    *query = {};
    query->index = index->indexoid;
    query->has_barrier = table.root->qual_security_level > 0;
    List *keys = NIL;
    if (!add_keys(table, index, query, &keys, refusal) || !add_conditions(table, index, query, refusal))
        return false;
    // A set's rows have NULL in place of the keys that it leaves out.
    Targets targets = {list_concat_copy(keys, absent_keys(table.set)), table.set != NIL, NIL, refusal};
    collect_targets(reinterpret_cast<Node *>(table.output->reltarget->exprs), &targets);
    collect_targets(reinterpret_cast<Node *>(table.having), &targets);
    if (refusal->reason != nullptr)
        return false;
    ListCell *cell;
    foreach (cell, targets.aggregates) {
        Node *aggregate = over_index(static_cast<Node *>(lfirst(cell)), index, refusal);
        if (aggregate == nullptr)
            return false;
        query->aggregates = lappend(query->aggregates, aggregate);
    }
    query->top = table.split == AGGSPLIT_SIMPLE && table.set == NIL
                     ? find_top(table.root->parse, table.columns, table.having, targets.aggregates)
                     : kAllGroups;
    *row = list_concat(keys, targets.aggregates);
    return true;
}

// ---- the replaced path ------------------------------------------------------------------------------------

double estimate_groups(const TableAggregate &table) {
    return table.clauses == NIL
               ? 1
               : estimate_num_groups(table.root, get_sortgrouplist_exprs(table.clauses, table.columns),
                                     table.input->rows, nullptr, nullptr);
}

Path *aggregate_plainly(const TableAggregate &table, Path *rows, PathTarget *target, List *having) {
    PlannerInfo *root = table.root;
    rows = reinterpret_cast<Path *>(create_projection_path(root, table.input, rows, table.scanned));
    // Aggregates of distinct values need their groups one after the other, and from PostgreSQL 16 on perhaps
    // their arguments in an order, which is part of these pathkeys, but never with grouping sets.
    const bool is_sorted = root->numOrderedAggs > 0;
    List *order = !is_sorted         ? NIL
                  : table.set == NIL ? root->group_pathkeys
                                     : make_pathkeys_for_sortclauses(root, table.clauses, table.columns);
    if (order != NIL)
        rows = reinterpret_cast<Path *>(create_sort_path(root, table.input, rows, order, -1));
    AggClauseCosts costs = {};
    get_agg_clause_costs(root, table.split, &costs);
    const AggStrategy strategy = table.clauses == NIL ? AGG_PLAIN : is_sorted ? AGG_SORTED : AGG_HASHED;
    return reinterpret_cast<Path *>(create_agg_path(root, table.output, rows, target, strategy, table.split,
                                                    table.clauses, having, &costs, estimate_groups(table)));
}

// What PostgreSQL would run without parallel workers: it stands by for what the index can't answer after
// all. It gives the node's own tuples, before HAVING.
static Path *make_replaced_path(const TableAggregate &table, const List *row) {
    PathTarget *target = create_empty_pathtarget();
    for (int i = 0; i < list_length(row); i++)
        add_column_to_pathtarget(target, static_cast<Expr *>(list_nth(row, i)),
                                 i < list_length(table.clauses)
                                     ? list_nth_node(SortGroupClause, table.clauses, i)->tleSortGroupRef
                                     : 0);
    set_pathtarget_cost_width(table.root, target);
    return aggregate_plainly(table, create_seqscan_path(table.root, table.input, nullptr, 0), target, NIL);
}

// ---- paths ------------------------------------------------------------------------------------------------

static Candidate candidate_of(PlannerInfo *root, const RelOptInfo *input, RelOptInfo *output,
                              const IndexOptInfo *index) {
    return {aggregate_path_methods()->CustomName, root, input, output,
            index == nullptr ? InvalidOid : index->indexoid};
}

// How many results a ranged expression is expected to have: the planner, which doesn't know it, takes it to
// have as many as the column has values.
static constexpr double kRangedGroups = 1000;

static bool is_ranged_key(const CompiledAggregate &compiled, int key) {
    const gpu_engine::AggregateStep &step =
        compiled.program.step[compiled.program.key[compiled.key[key].key].step];
    return step.operation == gpu_engine::AggregateOperation::input &&
           compiled.input[step.left].ranged != nullptr;
}

// Groups of the node, for its costs alone.
static double expect_groups(const TableAggregate &table, const CompiledAggregate &compiled) {
    const double groups = estimate_groups(table);
    List *expressions = get_sortgrouplist_exprs(grouping_clauses(table.root), table.columns);
    List *others = NIL;
    double ranged = 1;
    for (int i = 0; i < list_length(expressions); i++) {
        if (is_ranged_key(compiled, i))
            ranged *= kRangedGroups;
        else
            others = lappend(others, list_nth(expressions, i));
    }
    if (list_length(others) == list_length(expressions))
        return groups;
    const double of_others =
        others == NIL ? 1 : estimate_num_groups(table.root, others, table.input->rows, nullptr, nullptr);
    return Min(groups, ranged * of_others);
}

static void add_aggregate_path(const TableAggregate &table, const IndexOptInfo *index,
                               const AggregateQuery &query, const CompiledAggregate &compiled,
                               const column::IndexSummary &summary, List *row) {
    PathTarget *target = table.output->reltarget;
    const double groups = expect_groups(table, compiled);
    auto *path = makeNode(CustomPath);
    path->path.pathtype = T_CustomScan;
    path->path.parent = table.output;
    path->path.pathtarget = target;
    path->path.parallel_safe = false;
    // As core's plan, if there is one for these groups.
    path->path.rows =
        table.output->pathlist == NIL ? groups : linitial_node(Path, table.output->pathlist)->rows;
    cost_aggregate(table.root, table.input, index, query, compiled, summary, groups, &path->path);
    path->path.startup_cost += target->cost.startup;
    path->path.total_cost += target->cost.startup + target->cost.per_tuple * groups;
    path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
    path->custom_paths = list_make1(make_replaced_path(table, row));
    path->custom_private = list_make4(pack_query(query), row, table.having, table.set);
    path->methods = aggregate_path_methods();
    note_offered(candidate_of(table.root, table.input, table.output, index), path);
    add_path(table.output, &path->path);
}

static void consider_index(const TableAggregate &table, const IndexOptInfo *index) {
    const Candidate candidate = candidate_of(table.root, table.input, table.output, index);
    if (index->indpred != NIL && !index->predOK) {
        note_declined(candidate, "the conditions don't imply those of the partial index");
        return;
    }
    AggregateQuery query;
    List *row;
    Refusal refusal = {};
    if (!make_query(table, index, &query, &row, &refusal)) {
        const Index number = table.input->relid;
        note_declined(candidate, refusal, {number, planner_rt_fetch(number, table.root)->relid});
        return;
    }
    Relation relation = index_open(index->indexoid, NoLock);
    const column::Format *format = column::make_format(relation);
    const column::IndexSummary summary = column::summarise_columns(relation, *format);
    index_close(relation, NoLock);
    bool has_codes[column::kMaxColumns];
    for (int i = 0; i < format->columns; i++)
        has_codes[i] = summary.column[i].has_codes;
    const IndexColumns columns = {format, index->opfamily, index->indexcollations, has_codes};
    auto *compiled = allocate<CompiledAggregate>(1);
    const char *problem = compile_aggregate(query, columns, nullptr, compiled);
    if (problem == nullptr)
        add_aggregate_path(table, index, query, *compiled, summary, row);
    else
        note_declined(candidate, {problem, reinterpret_cast<Node *>(compiled->refused)},
                      {1, index->indexoid});
    pfree(compiled);
}

void consider_table(const TableAggregate &table) {
    ListCell *cell;
    foreach (cell, table.input->indexlist) {
        const auto *index = lfirst_node(IndexOptInfo, cell);
        if (is_column_index(index))
            consider_index(table, index);
    }
}

Path *append_paths(PlannerInfo *root, RelOptInfo *output, List *paths) {
    return reinterpret_cast<Path *>(create_append_path(root, output, paths, NIL, NIL, nullptr, 0, false, -1));
}

static void consider_aggregate_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
                                     RelOptInfo *output, void *extra) {
    if (previous_hook != nullptr)
        previous_hook(root, stage, input, output, extra);
    if (stage != UPPERREL_GROUP_AGG || output->pathlist == NIL)
        return;
    note_other_paths(root, output);
    const char *refused = refuse_statement(root, input);
    const bool has_members = refused == nullptr && planner_rt_fetch(input->relid, root)->inh;
    const bool has_sets = root->parse->groupingSets != NIL;
    const auto *groups = static_cast<const GroupPathExtraData *>(extra);
    if (refused == nullptr)
        refused = refuse_relation(root, input, has_members);
    if (refused == nullptr && has_members && has_sets)
        refused = "there are grouping sets over partitions or children";
    else if (refused == nullptr && has_members)
        refused = consider_members(root, input, output, groups);
    else if (refused == nullptr) {
        const TableAggregate table = {root,
                                      input,
                                      output,
                                      columns_over(root, input),
                                      reinterpret_cast<List *>(groups->havingQual),
                                      AGGSPLIT_SIMPLE,
                                      input->reltarget,
                                      grouping_clauses(root),
                                      NIL};
        if (has_sets)
            consider_sets(table);
        else
            consider_table(table);
    }
    if (refused != nullptr)
        note_declined(candidate_of(root, input, output, nullptr), refused);
}

void install_aggregate_planner() {
    previous_hook = create_upper_paths_hook;
    create_upper_paths_hook = consider_aggregate_paths;
}

}  // namespace pg_gpu::plan
