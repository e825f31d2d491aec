// Planning a GpuAggregate: which queries it answers, and from which index.
#include "plan/query/aggregate_path.h"

#include "access_methods.h"
#include "compat.h"
#include "plan/query/aggregate_compile.h"
#include "plan/query/aggregate_cost.h"
#include "plan/query/aggregate_failure.h"
#include "plan/query/aggregate_listed.h"
#include "plan/query/aggregate_members.h"
#include "plan/query/aggregate_order.h"
#include "plan/query/aggregate_parallel.h"
#include "plan/query/aggregate_parallel_path.h"
#include "plan/query/aggregate_scan.h"
#include "plan/query/aggregate_sets.h"
#include "plan/query/aggregate_top.h"
#include "plan/query/aggregate_whole.h"
#include "plan/bitmap_rows.h"
#include "plan/advise/hypothetical.h"
#include "plan/query/join_path.h"
#include "plan/query/parameters.h"
#include "plan/query/path.h"
#include "settings.h"

namespace pg_gpu::plan {

static uint64 offered = 0;

uint64 count_offered() {
    return offered;
}

// ---- which queries ----------------------------------------------------------------------------------------

// One table, perhaps a partition, and groups of one kind. Returns nullptr, or why it isn't a query for the
// node.
const char *refuse_statement(PlannerInfo *root, const RelOptInfo *input) {
    const Query *query = root->parse;
    if (query->hasTargetSRFs)
        return "a function returns a set";
    if (query->commandType != CMD_SELECT || root->rowMarks != NIL)
        return "rows are locked or changed";
    if (has_volatile_subquery(root))
        return "a subquery is volatile";
    if (input->reloptkind == RELOPT_JOINREL)
        return nullptr;
    if ((input->reloptkind != RELOPT_BASEREL && input->reloptkind != RELOPT_OTHER_MEMBER_REL) ||
        input->rtekind != RTE_RELATION)
        return "what is aggregated isn't a table";
    if (planner_rt_fetch(input->relid, root)->tablesample != nullptr)
        return "a sample is read";
    if (input->lateral_relids != nullptr)
        return "what is aggregated depends on another table's rows";
    return nullptr;
}

const char *refuse_groups(PlannerInfo *root) {
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

// Why nothing is answered, though the statement is of the right kind. The rows are grouped by these clauses.
static const char *refuse_relation(PlannerInfo *root, RelOptInfo *input, bool has_members, List *clauses) {
    const bool is_join = input->reloptkind == RELOPT_JOINREL;
    if (!has_members && !is_join && !has_column_index(input))
        return "the table has no gpu_column index";
    if (!aggregate_enabled())
        return "pg_gpu.enable_aggregate is off";
    if (is_join && !join_enabled())
        return "pg_gpu.enable_join is off";
    if (IS_DUMMY_REL(input))
        return "no row can pass the conditions";
    // The replaced path sorts where aggregates need that, and else hashes.
    if (root->numOrderedAggs > 0)
        return grouping_is_sortable(clauses) ? nullptr : "a grouping column can't be sorted";
    return grouping_is_hashable(clauses) ? nullptr : "a grouping column can't be hashed";
}

// ---- what is asked ----------------------------------------------------------------------------------------

namespace {

// What a walk over target list and HAVING finds.
struct Targets {
    const List *keys;     // of the table
    const List *dropped;  // that the planner doesn't group by
    bool has_sets;
    List *dependents;
    List *aggregates;
    Refusal *refusal;
};

}  // namespace

// Collects aggregates, and what is the same in all rows of a group though it isn't grouped by: keys that the
// planner has dropped, and other columns, which SQL allows only where they depend on keys.
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
            if (targets->has_sets) {
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

RelOptInfo *indexed_table(const TableAggregate &table) {
    return table.tree == nullptr ? table.input : table.tree->table;
}

// Conditions behind a security barrier must not see rows that it keeps out, not even by raising errors.
static bool keeps_barrier(const TableAggregate &table, const RestrictInfo *condition) {
    return table.root->qual_security_level == 0 || condition->leakproof ||
           condition->security_level <= indexed_table(table)->baserestrict_min_security;
}

bool add_conditions(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query,
                    Refusal *refusal, List **others) {
    ListCell *cell;
    foreach (cell, index->indrestrictinfo) {
        const auto *condition = lfirst_node(RestrictInfo, cell);
        auto *clause = reinterpret_cast<Node *>(condition->clause);
        if (condition->pseudoconstant)
            refuse(refusal, "a condition isn't about rows", clause);
        else if (!keeps_barrier(table, condition))
            refuse(refusal, "a condition must not see rows that a security barrier hides", clause);
        if (refusal->reason == nullptr && others != nullptr && !has_all_columns(index, clause)) {
            *others = lappend(*others, lfirst(cell));
            continue;
        }
        Node *expression =
            refusal->reason != nullptr ? nullptr : over_index(clause, index, table.tree, refusal);
        if (expression == nullptr)
            return false;
        query->conditions = lappend(query->conditions, expression);
    }
    return true;
}

// A part has its own clauses, all of which it groups by.
static List *dropped_clauses(const TableAggregate &table) {
    return table.is_part ? NIL : dropped_grouping_clauses(table.root);
}

List *row_of(const TableAggregate &table, Refusal *refusal) {
    List *keys = get_sortgrouplist_exprs(table.clauses, table.columns);
    // A set's rows have NULL in place of the keys that it leaves out.
    Targets targets = {list_concat_copy(keys, absent_keys(table.set)),
                       get_sortgrouplist_exprs(dropped_clauses(table), table.columns),
                       table.set != NIL,
                       NIL,
                       NIL,
                       refusal};
    collect_targets(reinterpret_cast<Node *>(below_grouping(table.root, table.output->reltarget->exprs)),
                    &targets);
    collect_targets(reinterpret_cast<Node *>(table.having), &targets);
    return list_concat(list_concat(keys, targets.dependents), targets.aggregates);
}

static Node *over_columns(const TableAggregate &table, const IndexOptInfo *index, Node *expression,
                          Refusal *refusal) {
    return table.read != nullptr ? over_tables(expression, *table.read, refusal)
                                 : over_index(expression, index, table.tree, refusal);
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
    foreach (cell, dropped_clauses(table)) {
        auto *clause = lfirst_node(SortGroupClause, cell);
        if (equal(get_sortgroupclause_expr(clause, table.columns), expression))
            return clause->eqop;
    }
    return lookup_type_cache(exprType(expression), TYPECACHE_EQ_OPR)->eq_opr;
}

// What depends on keys is grouped by, too, which makes no more groups of them; *aggregates are the rest of
// the node's tuples.
static bool add_dependents(const TableAggregate &table, const IndexOptInfo *index, const List *row,
                           AggregateQuery *query, List **aggregates, Refusal *refusal) {
    int number = list_length(table.clauses);
    for (; number < list_length(row) && !IsA(list_nth(row, number), Aggref); number++) {
        auto *dependent = static_cast<Node *>(list_nth(row, number));
        const Oid equality = equality_of(table, dependent);
        if (!OidIsValid(equality)) {
            refuse(refusal, "what depends on a grouping column can't be compared", dependent);
            return false;
        }
        if (!add_key(table, index, dependent, equality, query, refusal))
            return false;
    }
    *aggregates = list_copy_tail(row, number);
    return true;
}

bool make_query(const TableAggregate &table, const IndexOptInfo *index, AggregateQuery *query, List **row,
                Refusal *refusal, List **others) {
    *query = {};
    query->is_of_sets = table.set != NIL;
    query->has_barrier = table.root->qual_security_level > 0;
    if (!add_keys(table, index, query, refusal))
        return false;
    if (index != nullptr) {
        query->indexes = list_make1_oid(index->indexoid);
        if (!add_conditions(table, index, query, refusal, others))
            return false;
    }
    if (table.tree != nullptr && !add_joined_tables(table.root, *table.tree, index, query, refusal))
        return false;
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
    // PostgreSQL computes its target list of all groups before it sorts them.
    const bool may_leave_out = !may_fail_of_groups(table.output->reltarget->exprs, *row);
    query->top = table.split == AGGSPLIT_SIMPLE && table.set == NIL && !table.is_part && may_leave_out
                     ? find_top(table.root->parse, table.columns, table.having, aggregates)
                     : kAllGroups;
    return true;
}

// ---- the replaced path ------------------------------------------------------------------------------------

double estimate_groups(const TableAggregate &table) {
    return table.clauses == NIL
               ? 1
               : estimate_num_groups(table.root, get_sortgrouplist_exprs(table.clauses, table.columns),
                                     table.input->rows / count_ranges(table.workers), nullptr, nullptr);
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

Path *aggregate_plainly(const TableAggregate &table, Path *rows, PathTarget *target, List *having) {
    PlannerInfo *root = table.root;
    rows = reinterpret_cast<Path *>(create_projection_path(root, table.input, rows, grouped_target(table)));
    // Aggregates of distinct values need their groups one after the other, and from PostgreSQL 16 on perhaps
    // their arguments in an order, which is part of these pathkeys, but never with grouping sets.
    const bool is_sorted = root->numOrderedAggs > 0 && !table.is_part;
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

Path *scan_plainly(PlannerInfo *root, RelOptInfo *table, const List *members) {
    if (members == NIL)
        return create_seqscan_path(root, table, nullptr, 0);
    List *scans = NIL;
    ListCell *cell;
    foreach (cell, members) {
        auto *member = static_cast<RelOptInfo *>(lfirst(cell));
        // What rows of the table are to give, core has told partitions, but not inheritance children.
        scans = lappend(scans, create_projection_path(
                                   root, member, create_seqscan_path(root, member, nullptr, 0),
                                   translate_target(root, table->reltarget, table->relid, member->relid)));
    }
    return append_paths(root, table, scans);
}

Path *make_replaced_path(const TableAggregate &table, const List *row, List *pathkeys, Path *bitmap) {
    PathTarget *target = create_empty_pathtarget();
    for (int i = 0; i < list_length(row); i++)
        add_column_to_pathtarget(target, static_cast<Expr *>(list_nth(row, i)),
                                 i < list_length(table.clauses)
                                     ? list_nth_node(SortGroupClause, table.clauses, i)->tleSortGroupRef
                                     : 0);
    set_pathtarget_cost_width(table.root, target);
    Path *rows = table.rows != nullptr   ? table.rows
                 : table.tree != nullptr ? table.tree->rows
                 : bitmap != nullptr     ? bitmap
                                         : scan_plainly(table.root, table.input, table.members);
    Path *groups = aggregate_plainly(table, rows, target, NIL);
    if (pathkeys_contained_in(pathkeys, groups->pathkeys))
        return groups;
    return reinterpret_cast<Path *>(create_sort_path(table.root, table.output, groups, pathkeys, -1));
}

// ---- paths ------------------------------------------------------------------------------------------------

static Candidate candidate_of(PlannerInfo *root, const RelOptInfo *input, RelOptInfo *output) {
    return {aggregate_path_methods()->CustomName, root, input, output, InvalidOid};
}

static Candidate candidate_of(const TableAggregate &table, const IndexOptInfo *index) {
    Candidate candidate = candidate_of(table.root, table.input, table.output);
    if (table.workers > 0)
        candidate.node = "Parallel GpuAggregate";
    candidate.index = index == nullptr ? InvalidOid : index->indexoid;
    return candidate;
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
    List *expressions = get_sortgrouplist_exprs(table.clauses, table.columns);
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

static void add_aggregate_path(const TableAggregate &table, const AggregateSource *sources, int count,
                               AggregateQuery query, const CompiledAggregate &compiled, List *row,
                               Path *bitmap) {
    List *pathkeys;
    query.has_bitmap = bitmap != nullptr;
    query.order = choose_order(table, &pathkeys);
    PathTarget *target = table.output->reltarget;
    const double groups = expect_groups(table, compiled);
    // Each worker gives the groups of one range of rows after the other.
    const double given = table.workers > 0 ? groups * kRangesPerProcess : groups;
    auto *path = makeNode(CustomPath);
    path->path.pathtype = T_CustomScan;
    path->path.parent = table.output;
    path->path.pathtarget = target;
    path->path.parallel_aware = path->path.parallel_safe = table.workers > 0;
    path->path.parallel_workers = table.workers;
    // As core's plan, if there is one for these groups.
    path->path.rows = table.workers > 0 || table.output->pathlist == NIL
                          ? given
                          : linitial_node(Path, table.output->pathlist)->rows;
    cost_aggregate(table.root, sources, count, query, compiled, groups, table.workers, &path->path);
    if (table.tree != nullptr)
        add_join_cost(*table.tree, &path->path);
    if (bitmap != nullptr)
        add_bitmap_cost(bitmap, &path->path);
    path->path.startup_cost += target->cost.startup;
    path->path.total_cost += target->cost.startup + target->cost.per_tuple * given;
    path->path.pathkeys = pathkeys;
    // Cursors go back where PostgreSQL's Sort would have been on top.
    path->flags = CUSTOMPATH_SUPPORT_PROJECTION | (pathkeys == NIL ? 0 : CUSTOMPATH_SUPPORT_BACKWARD_SCAN);
    path->custom_paths = list_make1(make_replaced_path(table, row, pathkeys, bitmap));
    if (bitmap != nullptr)
        path->custom_paths = lappend(path->custom_paths, bitmap);
    if (table.tree != nullptr)
        path->custom_paths = list_concat(path->custom_paths, joined_paths(*table.tree));
    path->custom_private = list_make4(pack_query(query), row, table.having, table.set);
    path->methods = aggregate_path_methods();
    note_offered(candidate_of(table, sources[0].index), path);
    add_path(table.output, &path->path);
    offered++;
}

// Expressions over joined rows aren't over the index, and can't be shown as if they were.
static Node *expression_of_index(const AggregateQuery &query, Expr *expression) {
    return is_over_joined_table(query.joins, expression) ? nullptr : reinterpret_cast<Node *>(expression);
}

AggregateSource make_source(RelOptInfo *table, const IndexOptInfo *index) {
    if (index->hypothetical) {
        const column::Format *proposed = make_proposed_format(index);
        return {table, index, summarise_proposed(index, *proposed), proposed};
    }
    Relation relation = index_open(index->indexoid, NoLock);
    const column::Format *format = column::make_format(relation);
    const AggregateSource source = {table, index, column::summarise_columns(relation, *format), format};
    index_close(relation, NoLock);
    return source;
}

bool consider_sources(const TableAggregate &table, const AggregateSource *sources, int count,
                      AggregateQuery query, List *row, Path *bitmap) {
    const AggregateSource &first = sources[0];
    column::IndexSummary summary = first.summary;
    for (int i = 1; i < count; i++) {
        narrow_summary(&summary, sources[i].summary, first.format->columns);
        query.indexes = lappend_oid(query.indexes, sources[i].index->indexoid);
    }
    const IndexColumns columns = describe_columns(first.format, first.index->opfamily,
                                                  first.index->indexcollations, summary, query.joins);
    auto *compiled = allocate<CompiledAggregate>(1);
    Refusal refusal = {compile_aggregate(query, columns, nullptr, compiled), nullptr};
    if (refusal.reason != nullptr)
        refusal.expression = expression_of_index(query, compiled->refused);
    else if (compiled->has_place && count > 1)
        refusal.reason = "equal grouping columns may look different in other partitions or children";
    else if (!have_room_for_lists(*compiled, sources, count))
        refusal.reason = kNoRoomForLists;
    else if (table.workers > 0)
        refusal.reason = refuse_sharing(query, *compiled);
    const bool is_offered = refusal.reason == nullptr;
    if (is_offered)
        add_aggregate_path(table, sources, count, query, *compiled, row, bitmap);
    else
        note_declined(candidate_of(table, first.index), refusal, {1, first.index->indexoid});
    pfree(compiled);
    return is_offered;
}

// Can conditions be left to a bitmap of other indexes? Each node would make one.
static bool may_have_bitmap(const TableAggregate &table) {
    return table.tree == nullptr && table.members == NIL && table.set == NIL && table.workers == 0;
}

// BRIN and hash indexes never tell rows exactly. One of ours with these columns would be the node's own.
static bool may_identify_rows(const IndexOptInfo *index) {
    return index->relam != BRIN_AM_OID && index->relam != HASH_AM_OID && !is_column_index(index);
}

static Path *find_bitmap_of(const TableAggregate &table, List *conditions, Refusal *refusal) {
    Path *bitmap = find_bitmap(table.root, table.input, conditions, may_identify_rows);
    if (bitmap == nullptr || !answers_exactly(bitmap, conditions)) {
        refuse(refusal, "the index doesn't have a column, and no other index answers the condition exactly",
               reinterpret_cast<Node *>(linitial_node(RestrictInfo, conditions)->clause));
        return nullptr;
    }
    return bitmap;
}

static bool consider_index(const TableAggregate &table, const IndexOptInfo *index) {
    const Candidate candidate = candidate_of(table, index);
    if (index->indpred != NIL && !index->predOK) {
        note_declined(candidate, "the conditions don't imply those of the partial index");
        return false;
    }
    AggregateQuery query;
    List *row;
    List *others = NIL;
    Refusal refusal = {};
    Path *bitmap = nullptr;
    const bool is_query =
        make_query(table, index, &query, &row, &refusal, may_have_bitmap(table) ? &others : nullptr);
    if (is_query && others != NIL)
        bitmap = find_bitmap_of(table, others, &refusal);
    if (!is_query || refusal.reason != nullptr) {
        const Index number = indexed_table(table)->relid;
        note_declined(candidate, refusal, {number, planner_rt_fetch(number, table.root)->relid});
        return false;
    }
    const AggregateSource source = make_source(indexed_table(table), index);
    return consider_sources(table, &source, 1, query, row, bitmap);
}

bool consider_table(const TableAggregate &table) {
    if (table.members != NIL) {
        const char *refused = nullptr;
        const bool is_offered = consider_whole(table, &refused);
        if (refused != nullptr)
            note_declined(candidate_of(table, nullptr), refused);
        return is_offered;
    }
    bool is_offered = false;
    ListCell *cell;
    foreach (cell, indexed_table(table)->indexlist) {
        const auto *index = lfirst_node(IndexOptInfo, cell);
        if (is_column_index(index))
            is_offered = consider_index(table, index) || is_offered;
    }
    return is_offered;
}

Path *append_paths(PlannerInfo *root, RelOptInfo *output, List *paths) {
    return reinterpret_cast<Path *>(create_append_path(root, output, paths, NIL, NIL, nullptr, 0, false, -1));
}

void consider_indexes(const TableAggregate &table) {
    if (table.root->parse->groupingSets != NIL)
        consider_sets(table, consider_table);
    else
        consider_table(table);
}

static const char *consider_rows(const TableAggregate &table, bool may_be_partial) {
    if (table.input->reloptkind == RELOPT_JOINREL)
        return consider_joins(table, may_be_partial);
    consider_indexes(table);
    return nullptr;
}

bool is_parent(PlannerInfo *root, const RelOptInfo *input) {
    return input->reloptkind != RELOPT_JOINREL && planner_rt_fetch(input->relid, root)->inh;
}

TableAggregate groups_of(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                         const GroupPathExtraData *extra, const List *members) {
    return {root,
            input,
            output,
            below_grouping(root, columns_over(root, input)),
            below_grouping(root, reinterpret_cast<List *>(extra->havingQual)),
            AGGSPLIT_SIMPLE,
            input->reltarget,
            grouping_clauses(root),
            NIL,
            nullptr,
            members};
}

// Adds paths; returns why there are none of this kind of statement.
const char *consider_groups(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                            const GroupPathExtraData *extra) {
    const char *refused = refuse_statement(root, input);
    if (refused == nullptr)
        refused = refuse_groups(root);
    const bool has_members = refused == nullptr && is_parent(root, input);
    if (refused == nullptr)
        refused = refuse_relation(root, input, has_members, grouping_clauses(root));
    if (refused != nullptr)
        return refused;
    const bool has_sets = root->parse->groupingSets != NIL;
    const List *members = has_members ? live_members(root, input->relid) : NIL;
    const char *scattered = has_members ? refuse_whole(members) : nullptr;
    if (has_sets && scattered != nullptr)
        return scattered;
    const TableAggregate table = groups_of(root, input, output, extra, members);
    if (has_sets && groups_by_equals(table))
        return "grouping sets have an expression twice";
    if (has_sets || !has_members) {
        refused = consider_rows(table, (extra->flags & GROUPING_CAN_PARTIAL_AGG) != 0);
        if (!has_sets)
            consider_workers(table, extra);
        return refused;
    }
    // Beside a node for all members, nodes for each wouldn't be worth their planning. One member has whole
    // groups anyhow.
    if (scattered != nullptr || list_length(members) == 1 || !consider_table(table))
        return consider_members(root, input, output, members, extra);
    return nullptr;
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

TableAggregate distinct_rows_of(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                                const List *members) {
    // The planner leaves it empty.
    output->reltarget = root->upper_targets[UPPERREL_DISTINCT];
    return {root, input,           output,           columns_over(root, input),
            NIL,  AGGSPLIT_SIMPLE, input->reltarget, distinct_clauses(root),
            NIL,  nullptr,         members};
}

// The same of SELECT DISTINCT, whose rows are groups of the table's. All columns of the statement are among
// its clauses, also where the planner knows one to be constant by a condition.
const char *consider_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output) {
    const Query *query = root->parse;
    const char *refused = query->hasDistinctOn ? "DISTINCT ON gives a whole row of each group" : nullptr;
    if (refused == nullptr)
        refused = refuse_statement(root, input);
    const bool has_members = refused == nullptr && is_parent(root, input);
    const List *members = has_members ? live_members(root, input->relid) : NIL;
    if (has_members)
        refused = refuse_whole(members);
    if (refused == nullptr)
        refused = refuse_relation(root, input, has_members, distinct_clauses(root));
    if (refused != nullptr)
        return refused;
    return consider_rows(distinct_rows_of(root, input, output, members), false);
}

}  // namespace pg_gpu::plan
