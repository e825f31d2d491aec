// Executing a GpuQuery. Its child is the aggregate that PostgreSQL would have run: it opens the table and
// checks privileges, and is executed only where the engine gives no answer.
#include "plan/query/node.h"

#include "compat.h"
#include "plan/custom_node.h"
#include "plan/query/choice.h"
#include "plan/query/explain.h"
#include "plan/query/grouping_sets.h"
#include "plan/query/joins_explain.h"
#include "plan/query/members.h"
#include "plan/query/submit.h"
#include "plan/query/subqueries.h"
#include "plan/query/top.h"
#include "request_kinds.h"

namespace pg_gpu::plan::query {

List *pack_planning(const Planning &planning) {
    return list_make5(
        planning.query, planning.row, planning.having,
        list_make5(makeBoolean(planning.maps_may_fail), makeInteger(static_cast<int>(planning.count)),
                   makeBoolean(planning.gives_rows), makeBoolean(planning.needs_processors),
                   makeBoolean(planning.is_late)),
        lappend(list_make5(planning.order, planning.set, planning.tree, planning.names, planning.limits),
                planning.members));
}

Planning unpack_planning(List *packed) {
    const auto list = [packed](int i) { return static_cast<List *>(list_nth(packed, i)); };
    return {list(0),
            list(1),
            list(2),
            boolVal(linitial(list(3))),
            static_cast<List *>(linitial(list(4))),
            intVal(lsecond(list(3))),
            static_cast<List *>(lsecond(list(4))),
            static_cast<List *>(lthird(list(4))),
            static_cast<List *>(lfourth(list(4))),
            boolVal(lthird(list(3))),
            static_cast<List *>(list_nth(list(4), 4)),
            static_cast<List *>(list_nth(list(4), 5)),
            boolVal(lfourth(list(3))),
            boolVal(list_nth(list(3), 4))};
}

// ---- execution --------------------------------------------------------------------------------------------

// Begins the child anew, since until now it is only there to be shown. Sub-selects that the request has asked
// for keep their values, because what has given them has no more rows. Scans of WITH queries share the rows
// that the first one begun reads, so the child that was shown stays as well.
static void begin_child(QueryState *state) {
    EState *estate = state->custom.ss.ps.state;
    MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);
    ListCell *first = list_head(state->custom.custom_ps);
    const int count = list_length(estate->es_plannedstmt->paramExecTypes);
    auto *is_known = allocate_zeroed<bool>(static_cast<size_t>(count) + 1);
    for (int i = 0; i < count; i++)
        is_known[i] = estate->es_param_exec_vals[i].execPlan == nullptr;
    state->shown_child = static_cast<PlanState *>(lfirst(first));
    lfirst(first) = ExecInitNode(child_plan(state), estate, state->flags);
    for (int i = 0; i < count; i++)
        if (is_known[i])
            estate->es_param_exec_vals[i].execPlan = nullptr;
    MemoryContextSwitchTo(caller);
}

static PlanState *executable_child(QueryState *state) {
    if (state->shown_child == nullptr)
        begin_child(state);
    return static_cast<PlanState *>(linitial(state->custom.custom_ps));
}

// The choice of a path learns from how long the statement takes without the engine. Nodes below may choose
// paths of their own meanwhile.
static void note_child_begun(QueryState *state) {
    state->attempt = {};
    for (int i = 0; i < state->table_count && !OidIsValid(state->attempt.index); i++)
        if (state->tables[i].index != nullptr)
            state->attempt = client::take_attempt(state->tables[i].index, client::RequestKind::RunQuery);
    client::fall_back(&state->attempt);
}

static void note_child_done(QueryState *state) {
    client::note_taken(state->attempt, client::microseconds_since(state->attempt.began));
    state->attempt = {};
}

// With its first row an aggregate or a sort has done its work, and what gives a join's rows with its last
// one. What is done with these meanwhile is no work of its own.
static TupleTableSlot *next_child_row(QueryState *state) {
    if (INSTR_TIME_IS_ZERO(state->child_waits_since))
        note_child_begun(state);
    PlanState *child = executable_child(state);
    // Limit tells a sort how many rows it needs, and doesn't know of this one below the node.
    if (INSTR_TIME_IS_ZERO(state->child_waits_since) && state->gives_rows && state->count > 0)
        ExecSetTupleBound(state->count, child);
    const bool gives_rows_early = state->gives_rows && state->order == NIL;
    if (gives_rows_early && !INSTR_TIME_IS_ZERO(state->child_waits_since))
        client::leave_out(client::microseconds_since(state->child_waits_since));
    TupleTableSlot *row = ExecProcNode(child);
    if (!gives_rows_early || TupIsNull(row))
        note_child_done(state);
    INSTR_TIME_SET_CURRENT(state->child_waits_since);
    return row;
}

static bool take_child_row(QueryState *state, TupleTableSlot *slot) {
    TupleTableSlot *row = next_child_row(state);
    if (TupIsNull(row))
        return false;
    const auto columns = static_cast<size_t>(slot->tts_tupleDescriptor->natts);
    slot_getallattrs(row);
    memcpy(slot->tts_values, row->tts_values, columns * sizeof(Datum));
    memcpy(slot->tts_isnull, row->tts_isnull, columns * sizeof(bool));
    ExecStoreVirtualTuple(slot);
    return true;
}

static bool take_record(QueryState *state, TupleTableSlot *slot) {
    if (state->left == 0)
        state->left = column::next_records(state->result.records, &state->records);
    if (state->left == 0)
        return false;
    MemoryContext caller = MemoryContextSwitchTo(state->custom.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
    for (uint32 i = 0; i < state->compiled.result_count; i++)
        read_result(state->compiled, state->layout, state->compiled.results[i], state->records,
                    &slot->tts_values[i], &slot->tts_isnull[i]);
    MemoryContextSwitchTo(caller);
    state->records += state->result.record_words;
    state->left--;
    ExecStoreVirtualTuple(slot);
    return true;
}

// Windows' functions, which are the last ones of the record's results and of the tuple's columns.
static void take_functions(const QueryState *state, const uint64 *record, TupleTableSlot *slot) {
    const int functions = list_length(state->query.aggregates);
    const int column = slot->tts_tupleDescriptor->natts - functions;
    const uint32 first = state->compiled.result_count - static_cast<uint32>(functions);
    MemoryContext caller = MemoryContextSwitchTo(state->custom.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
    for (int i = 0; i < functions; i++)
        read_result(state->compiled, state->layout, state->compiled.results[first + static_cast<uint32>(i)],
                    record, &slot->tts_values[column + i], &slot->tts_isnull[column + i]);
    MemoryContextSwitchTo(caller);
}

static bool take_row(QueryState *state, TupleTableSlot *slot) {
    if (state->problem != nullptr)
        return take_child_row(state, slot);
    if (!state->is_late)
        return take_record(state, slot);
    const uint64 *record;
    if (!next_late_row(&state->late, &state->custom, &record))
        return false;
    state->heap_fetches++;
    if (state->late.record_words > 0)
        take_functions(state, record, slot);
    return true;
}

static TupleTableSlot *execute_query(CustomScanState *node) {
    auto *state = reinterpret_cast<QueryState *>(node);
    if (!state->is_requested)
        submit(state);
    ExprContext *context = node->ss.ps.ps_ExprContext;
    TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        ResetExprContext(context);
        ExecClearTuple(slot);
        if (!take_row(state, slot))
            return nullptr;
        context->ecxt_scantuple = slot;
        if (!ExecQual(node->ss.ps.qual, context)) {
            InstrCountFiltered1(node, 1);
            continue;
        }
        return node->ss.ps.ps_ProjInfo == nullptr ? slot : ExecProject(node->ss.ps.ps_ProjInfo);
    }
}

// ---- begin and end ----------------------------------------------------------------------------------------

// How many of the query's tables have this member?
static int count_uses(const List *members, Oid table) {
    int uses = 0;
    ListCell *cell;
    foreach (cell, members) {
        const auto *packed = static_cast<const List *>(lfirst(cell));
        if (packed != NIL && list_member_oid(static_cast<const List *>(linitial(packed)), table))
            uses++;
    }
    return uses;
}

// A table of the query's, or a member of one, to be read by the index, or by the node's next input.
static QueriedTable *add_table(QueryState *state, int table, Oid index, int *next_plan) {
    QueriedTable *added = &state->tables[state->table_count++];
    added->table = table;
    added->index_oid = index;
    added->plan_number = OidIsValid(index) ? 0 : (*next_plan)++;
    return added;
}

static void add_member(QueryState *state, int table, const PackedMember &member, int *next_plan) {
    QueriedTable *own = add_table(state, table, member.index, next_plan);
    own->columns_of_member = member.columns;
    own->attributes = member.attributes;
}

// Adds the members of a table that may have rows, and one with an index where none has any.
static void add_members(QueryState *state, int table, const List *members, const List *pruned,
                        int *next_plan) {
    const auto *packed = static_cast<const List *>(list_nth(members, table));
    const int count = count_members(packed);
    const int before = state->table_count;
    int indexed = 0;
    for (int i = 0; i < count; i++) {
        const PackedMember member = unpack_member(packed, i);
        indexed = OidIsValid(member.index) ? i : indexed;
        if (list_member_oid(pruned, member.table) && count_uses(members, member.table) == 1) {
            *next_plan += OidIsValid(member.index) ? 0 : 1;
            state->pruned++;
        } else {
            add_member(state, table, member, next_plan);
        }
    }
    if (state->table_count == before) {
        add_member(state, table, unpack_member(packed, indexed), next_plan);
        state->pruned--;
    }
}

// Lists what is read: tables without members, or the members.
static void list_tables(QueryState *state, const List *members, const List *pruned) {
    const int count = list_length(state->query.indexes);
    const auto members_of = [&](int i) {
        return members == NIL ? 0 : count_members(static_cast<const List *>(list_nth(members, i)));
    };
    int most = 0;
    for (int i = 0; i < count; i++)
        most += Max(members_of(i), 1);
    state->tables = allocate_zeroed<QueriedTable>(static_cast<size_t>(most));
    int next_plan = 1;
    for (int i = 0; i < count; i++)
        if (members_of(i) == 0)
            add_table(state, i, list_nth_oid(state->query.indexes, i), &next_plan);
        else
            add_members(state, i, members, pruned, &next_plan);
}

static Plan *own_plan(const CustomScanState *node, int number) {
    return static_cast<Plan *>(list_nth(castNode(CustomScan, node->ss.ps.plan)->custom_plans, number));
}

static PlanState *begin_plan(CustomScanState *node, int number, EState *estate, int flags) {
    Plan *plan = own_plan(node, number);
    PlanState *begun = ExecInitNode(plan, estate, flags);
    node->custom_ps = lappend(node->custom_ps, begun);
    return begun;
}

static void begin_query(CustomScanState *node, EState *estate, int flags) {
    auto *state = reinterpret_cast<QueryState *>(node);
    const auto *plan = castNode(CustomScan, node->ss.ps.plan);
    // The first one checks EXECUTE on the aggregates and on all functions in their expressions.
    PlanState *child = begin_plan(node, 0, estate, flags | EXEC_FLAG_EXPLAIN_ONLY);
    const Planning planning = unpack_planning(plan->custom_private);
    state->flags = flags;
    state->query = unpack_query(planning.query);
    state->packed_tree = planning.tree;
    state->names = planning.names;
    state->maps_may_fail = planning.maps_may_fail;
    state->order = planning.order;
    state->needs_processors = planning.needs_processors;
    state->count = planning.count;
    state->gives_rows = planning.gives_rows;
    state->is_late = planning.is_late;
    list_tables(state, planning.members, planning.members == NIL ? NIL : find_pruned_tables(child));
    for (int i = 0; i < state->table_count; i++) {
        QueriedTable *table = &state->tables[i];
        if (OidIsValid(table->index_oid))
            continue;
        if (is_pruned(own_plan(node, table->plan_number), estate))
            state->is_any_role_pruned = true;
        else
            table->plan = begin_plan(node, table->plan_number, estate, flags);
    }
    if ((flags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
        return;
    for (int i = 0; i < state->table_count; i++) {
        QueriedTable *table = &state->tables[i];
        if (!OidIsValid(table->index_oid))
            continue;
        table->index = index_open(table->index_oid, AccessShareLock);
        // The executor has locked the table.
        table->heap = table_open(table->index->rd_index->indrelid, NoLock);
    }
    if (state->is_late)
        begin_late_rows(&state->late, node, state->tables[0].heap, state->tables[0].index,
                        plan->custom_scan_tlist, list_length(state->query.aggregates));
    state->limits = ExecInitExprList(plan->custom_exprs, &node->ss.ps);
    state->expressions = CreateExprContext(estate);
    state->keep = AllocSetContextCreate(estate->es_query_cxt, "GpuQuery answer", ALLOCSET_DEFAULT_SIZES);
    state->work = AllocSetContextCreate(estate->es_query_cxt, "GpuQuery work", ALLOCSET_DEFAULT_SIZES);
}

static void end_query(CustomScanState *node) {
    auto *state = reinterpret_cast<QueryState *>(node);
    forget_result(state);
    end_late_rows(&state->late);
    for (int i = 0; i < state->table_count; i++) {
        if (state->tables[i].index == nullptr)
            continue;
        table_close(state->tables[i].heap, NoLock);
        index_close(state->tables[i].index, NoLock);
    }
    end_children(node);
    ExecEndNode(state->shown_child);
}

static void rescan_query(CustomScanState *node) {
    auto *state = reinterpret_cast<QueryState *>(node);
    auto *child = static_cast<PlanState *>(linitial(node->custom_ps));
    const bool has_child_run = state->is_requested && state->problem != nullptr;
    if (node->ss.ps.chgParam != nullptr) {
        report_children_of_changed_parameters(node);
        note_changed_parameters(state->query, node->ss.ps.state, node->ss.ps.chgParam);
        state->is_requested = false;
    }
    // A parameter of HAVING alone isn't one of the child's.
    if (has_child_run && child->chgParam == nullptr)
        ExecReScan(child);
    if (state->is_requested && state->problem == nullptr)
        column::rewind_records(state->result.records);
    state->left = 0;
    state->late.next = 0;
}

// What rows are sorted by that are given.
static void explain_order(const QueryState *state, List *ancestors, ExplainState *explain) {
    const auto *plan = castNode(CustomScan, state->custom.ss.ps.plan);
    List *keys = NIL;
    for (int i = 0; i < count_items(state->order); i++) {
        const OrderItem item = order_item(state->order, i);
        auto *key =
            reinterpret_cast<Node *>(list_nth_node(TargetEntry, plan->custom_scan_tlist, item.result)->expr);
        const TypeCacheEntry *type = lookup_type_cache(exprType(key), TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
        keys = lappend(keys, words_of_sort_key({key, item.descends ? type->gt_opr : type->lt_opr,
                                                item.collation, item.nulls_first},
                                               &state->custom, ancestors, explain));
    }
    if (keys != NIL)
        ExplainPropertyList("Sort Key", keys, explain);
}

static void explain_query(CustomScanState *node, List *ancestors, ExplainState *explain) {
    const auto *state = reinterpret_cast<const QueryState *>(node);
    if (unpack_planning(castNode(CustomScan, node->ss.ps.plan)->custom_private).gives_rows)
        explain_order(state, ancestors, explain);
    if (state->is_late)
        ExplainPropertyText("Rows From", "table", explain);
    AggregateQuery read = state->query;
    read.indexes = NIL;
    for (int i = 0; i < state->table_count; i++)
        read.indexes = lappend_oid(read.indexes, state->tables[i].index_oid);
    explain_indexes(read, explain);
    if (state->pruned > 0)
        ExplainPropertyInteger("Tables Removed", nullptr, state->pruned, explain);
    explain_joins(unpack_tree(state->packed_tree, state->query), state->query, state->names, explain);
    explain_usage(&state->usage, &node->ss.ps, explain);
    if (!explain->analyze || !state->is_requested)
        return;
    if (state->problem != nullptr) {
        ExplainPropertyText("Fallback Reason", state->problem, explain);
        return;
    }
    ExplainPropertyUInteger(state->compiled.gives_rows ? "Rows Given" : "Groups", nullptr, state->result.rows,
                            explain);
    if (explain->verbose) {
        ExplainPropertyUInteger("Columns Read", nullptr, state->compiled.program->source_count, explain);
        ExplainPropertyUInteger("Steps", nullptr, state->compiled.program->step_count, explain);
    }
    ExplainPropertyUInteger("Heap Fetches", nullptr, state->heap_fetches, explain);
}

static constexpr CustomExecMethods execution_methods =
    execution_methods_of("GpuQuery", begin_query, execute_query, end_query, rescan_query, explain_query);

static const CustomScanMethods scan_methods = {
    .CustomName = "GpuQuery",
    .CreateCustomScanState = create_state<QueryState, execution_methods>,
};

// The node's own tuple holds keys and aggregates; its target list and HAVING are computed from them.
static Plan *plan_query(PlannerInfo *root, RelOptInfo *, CustomPath *path, List *target_list, List *,
                        List *child_plans) {
    note_chosen(root, path);
    const Planning planning = unpack_planning(path->custom_private);
    auto *scan = makeNode(CustomScan);
    scan->flags = flags_of_plan(path, child_plans);
    scan->scan.plan.targetlist = planning.gives_rows
                                     ? target_list
                                     : of_set(below_grouping(root, target_list), planning.row, planning.set);
    scan->scan.plan.qual = of_set(planning.having, planning.row, planning.set);
    scan->scan.scanrelid = 0;
    scan->custom_plans = child_plans;
    scan->custom_private =
        pack_planning({planning.query, NIL, NIL, planning.maps_may_fail, planning.order, planning.count, NIL,
                       planning.tree, planning.names, planning.gives_rows, NIL, planning.members,
                       planning.needs_processors, planning.is_late});
    scan->custom_exprs = planning.limits;
    scan->methods = &scan_methods;
    for (int i = 0; i < list_length(planning.row); i++)
        scan->custom_scan_tlist =
            lappend(scan->custom_scan_tlist,
                    makeTargetEntry(static_cast<Expr *>(copyObjectImpl(list_nth(planning.row, i))),
                                    static_cast<AttrNumber>(i + 1), nullptr, false));
    return &scan->scan.plan;
}

static constexpr CustomPathMethods path_methods = path_methods_of("GpuQuery", plan_query);

const CustomPathMethods *query_path_methods() {
    return &path_methods;
}

void register_query_node() {
    RegisterCustomScanMethods(&scan_methods);
    install_query_planner();
}

}  // namespace pg_gpu::plan::query
