// Executing a lookup join: keys are looked up in the index at once, then the rows are read in heap order. A
// lookup scan is the same without the table's columns.
#include "plan/lookup/join.h"

#include "compat.h"
#include "functions/lookup.h"
#include "kary/gpu_kary.h"
#include "memory.h"
#include "plan/custom_node.h"
#include "plan/advise/explain_why.h"
#include "plan/lookup/path.h"
#include "plan/usage.h"

namespace pg_gpu::plan {

// The source of a column of the joined row.
struct Source {
    enum { Ordinal, Tid, Row } kind;
    AttrNumber attribute;  // attribute number of the table's row
};

struct LookupJoinState {
    CustomScanState custom;
    Oid index;
    Oid function;
    Relation table;  // opened by the executor; nullptr: nothing of its rows is asked for
    ExprState *keys;
    Source *sources;
    AttrNumber last_attribute;  // the row is taken apart up to here
    TupleTableSlot *row_slot;
    MemoryContext context;  // has what one lookup found
    bool looked_up;
    functions::OpenIndex open;  // while the lookup needs it
    bool is_open;
    kary::LookupResult lookup;
    kary::HeapRows rows;
    bool rows_open;
    const kary::LookupMatch *match;  // the current row's; nullptr when another is needed
    uint32 position;                 // next of its key's
    ItemPointerData tid;
    client::Usage usage;
};

static LookupJoinState *state_of(CustomScanState *node) {
    return reinterpret_cast<LookupJoinState *>(node);
}

// ---- execution --------------------------------------------------------------------------------------------

// Checks the privilege that the executor would have checked before calling the function.
static void require_execute(Oid function) {
    const AclResult result = function_execute_privilege(function, GetUserId());
    if (result != ACLCHECK_OK)
        aclcheck_error(result, OBJECT_FUNCTION, get_func_name(function));
}

static void close_rows(LookupJoinState *state) {
    if (state->rows_open) {
        kary::close_heap_rows(&state->rows);
        if (state->row_slot != nullptr)
            ExecClearTuple(state->row_slot);
    }
    state->rows_open = false;
    state->match = nullptr;
}

static void look_up(LookupJoinState *state) {
    EState *estate = state->custom.ss.ps.state;
    ExprContext *expressions = state->custom.ss.ps.ps_ExprContext;
    state->looked_up = true;
    state->lookup = {};
    require_execute(state->function);
    bool is_null;
    const Datum keys = ExecEvalExprSwitchContext(state->keys, expressions, &is_null);
    if (is_null)
        return;
    MemoryContext caller = MemoryContextSwitchTo(state->context);
    const functions::OpenIndex open = functions::open_index(state->index, AccessShareLock, AccessShareLock);
    functions::require_read_access(open);
    const client::Usage before = client::session_usage();
    state->lookup = functions::look_up_array(open, DatumGetArrayTypeP(keys), estate->es_snapshot);
    client::add_usage_since(before, &state->usage);
    state->is_open = state->lookup.check != nullptr || state->table == nullptr;
    if (state->is_open)
        state->open = open;
    else
        functions::close_index(open);
    MemoryContextSwitchTo(caller);
}

static void forget_lookup(LookupJoinState *state) {
    close_rows(state);
    if (state->lookup.check != nullptr)
        kary::end_row_check(state->lookup.check);
    state->lookup.check = nullptr;
    if (state->is_open)
        functions::close_index(state->open);
    state->is_open = false;
    MemoryContextReset(state->context);
    state->looked_up = false;
}

static void fill_slot(LookupJoinState *state, TupleTableSlot *slot) {
    TupleTableSlot *row = state->row_slot;  // the columns of the row that are wanted, if any
    if (state->last_attribute > 0)
        slot_getsomeattrs(row, state->last_attribute);
    for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++) {
        const Source &source = state->sources[i];
        slot->tts_isnull[i] = false;
        if (source.kind == Source::Ordinal) {
            slot->tts_values[i] = Int64GetDatum(int64{state->lookup.positions[state->position]} + 1);
        } else if (source.kind == Source::Tid) {
            slot->tts_values[i] = PointerGetDatum(&state->tid);
        } else if (source.attribute > 0) {
            slot->tts_values[i] = row->tts_values[source.attribute - 1];
            slot->tts_isnull[i] = row->tts_isnull[source.attribute - 1];
        } else {
            slot->tts_values[i] = slot_getsysattr(row, source.attribute, &slot->tts_isnull[i]);
        }
    }
    ExecStoreVirtualTuple(slot);
}

// Moves to the next position whose key the current row has, or to the next row's first one where none is
// left. Returns false at the end.
static bool next_position(LookupJoinState *state) {
    kary::RowCheck *check = state->lookup.check;
    for (;; state->position++) {
        while (state->match == nullptr ||
               state->position == state->lookup.first_position[state->match->key + 1]) {
            state->match = kary::next_row(&state->rows, &state->tid);
            if (state->match == nullptr)
                return false;
            if (state->row_slot != nullptr)
                kary::store_row(&state->rows, state->row_slot);
            if (check != nullptr)
                kary::check_row(check, state->row_slot);
            state->position = state->lookup.first_position[state->match->key];
        }
        if (check == nullptr || kary::row_has_key(check, state->lookup.positions[state->position]))
            return true;
    }
}

static void open_rows(LookupJoinState *state) {
    EState *estate = state->custom.ss.ps.state;
    Relation table = state->table != nullptr ? state->table : state->open.heap;
    // A lookup scan has rows of the table only where it checks them.
    if (state->lookup.check != nullptr && state->row_slot == nullptr) {
        MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);
        state->row_slot = table_slot_create(table, &estate->es_tupleTable);
        MemoryContextSwitchTo(caller);
    }
    kary::open_heap_rows(&state->rows, table, estate->es_snapshot, &state->lookup);
    state->rows_open = true;
}

static TupleTableSlot *next_joined_row(ScanState *node) {
    auto *state = reinterpret_cast<LookupJoinState *>(node);
    if (!state->looked_up)
        look_up(state);
    TupleTableSlot *slot = ExecClearTuple(node->ss_ScanTupleSlot);
    if (!state->rows_open) {
        if (state->lookup.count == 0)
            return slot;
        open_rows(state);
    }
    if (!next_position(state)) {
        if (state->row_slot != nullptr)
            ExecClearTuple(state->row_slot);
        return slot;
    }
    fill_slot(state, slot);
    state->position++;
    return slot;
}

// ExecScan is not used here: within a subplan of a query that rechecks changed rows, older minor releases
// would ask it to recheck a join. No lookup join needs that, because queries that lock or change rows have
// none.
static TupleTableSlot *execute_lookup_join(CustomScanState *node) {
    ExprContext *context = node->ss.ps.ps_ExprContext;
    ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        ResetExprContext(context);
        TupleTableSlot *slot = next_joined_row(&node->ss);
        if (TupIsNull(slot))
            return projection != nullptr ? ExecClearTuple(projection->pi_state.resultslot) : slot;
        context->ecxt_scantuple = slot;
        if (ExecQual(node->ss.ps.qual, context))
            return projection != nullptr ? ExecProject(projection) : slot;
        InstrCountFiltered1(node, 1);
    }
}

static void begin_lookup_join(CustomScanState *node, EState *estate, int flags) {
    LookupJoinState *state = state_of(node);
    const auto *plan = castNode(CustomScan, node->ss.ps.plan);
    const auto *oids = static_cast<const List *>(linitial(plan->custom_private));
    state->index = linitial_oid(oids);
    state->function = lsecond_oid(oids);
    int table = -1;
    for (int i = bms_next_member(plan->custom_relids, -1); i >= 0;
         i = bms_next_member(plan->custom_relids, i))
        if (exec_rt_fetch(static_cast<Index>(i), estate)->rtekind == RTE_RELATION)
            table = i;
    if (table >= 0) {
        state->table = ExecOpenScanRelation(estate, static_cast<Index>(table), flags);
        state->row_slot = table_slot_create(state->table, &estate->es_tupleTable);
    }
    state->keys = ExecInitExpr(static_cast<Expr *>(linitial(plan->custom_exprs)), &node->ss.ps);
    state->context =
        AllocSetContextCreate(estate->es_query_cxt, "pg_gpu lookup join", ALLOCSET_DEFAULT_SIZES);

    state->sources = allocate_zeroed<Source>(list_length(plan->custom_scan_tlist) + 1);
    ListCell *cell;
    foreach (cell, plan->custom_scan_tlist) {
        const auto *column = castNode(Var, lfirst_node(TargetEntry, cell)->expr);
        Source *source = &state->sources[foreach_current_index(cell)];
        if (column->varno != table) {
            source->kind = column->varattno == 1 ? Source::Ordinal : Source::Tid;
        } else {
            *source = {Source::Row, column->varattno};
            state->last_attribute = Max(state->last_attribute, column->varattno);
        }
    }
}

static void end_lookup_join(CustomScanState *node) {
    LookupJoinState *state = state_of(node);
    forget_lookup(state);
    MemoryContextDelete(state->context);
}

static void rescan_lookup_join(CustomScanState *node) {
    LookupJoinState *state = state_of(node);
    close_rows(state);
    // The keys may depend on the parameters that have changed.
    if (node->ss.ps.chgParam != nullptr)
        forget_lookup(state);
    ExecScanReScan(&node->ss);
}

static void explain_lookup_join(CustomScanState *node, List *, ExplainState *explain) {
    ExplainPropertyText("Index", get_rel_name(state_of(node)->index), explain);
    explain_usage(&state_of(node)->usage, &node->ss.ps, explain);
}

static constexpr CustomExecMethods execution_methods =
    execution_methods_of("GpuLookup", begin_lookup_join, execute_lookup_join, end_lookup_join,
                         rescan_lookup_join, explain_lookup_join);

// ---- from path to plan to state ---------------------------------------------------------------------------

static const CustomScanMethods join_methods = {
    .CustomName = "GpuLookup",
    .CreateCustomScanState = create_state<LookupJoinState, execution_methods>,
};

static const CustomScanMethods scan_methods = {
    .CustomName = "GpuLookupScan",
    .CreateCustomScanState = create_state<LookupJoinState, execution_methods>,
};

// The node's own tuple holds the columns that are asked for. They are taken from the relation's target, which
// for the query's last relation is what the query computes from them. They are not taken from the target
// list, because the planner passes an empty one where it puts its own projection above.
static Plan *plan_lookup_join(PlannerInfo *root, RelOptInfo *relation, CustomPath *path, List *target_list,
                              List *, List *) {
    note_chosen(root, path);
    CustomScan *scan =
        make_custom_scan(path, IS_JOIN_REL(relation) ? &join_methods : &scan_methods, target_list, NIL);
    scan->scan.plan.qual = extract_actual_clauses(lthird_node(List, path->custom_private), false);
    scan->custom_private = list_make1(linitial(path->custom_private));
    scan->custom_exprs = list_make1(lsecond(path->custom_private));
    List *expressions = list_concat(list_copy(relation->reltarget->exprs), scan->scan.plan.qual);
    scan->custom_scan_tlist = add_to_flat_tlist(
        NIL, pull_var_clause(reinterpret_cast<Node *>(expressions), PVC_RECURSE_PLACEHOLDERS));
    return &scan->scan.plan;
}

static constexpr CustomPathMethods path_methods = path_methods_of("GpuLookup", plan_lookup_join);

const CustomPathMethods *lookup_path_methods() {
    return &path_methods;
}

const char *lookup_scan_name() {
    return scan_methods.CustomName;
}

void register_lookup_join() {
    RegisterCustomScanMethods(&join_methods);
    RegisterCustomScanMethods(&scan_methods);
    install_lookup_planner();
}

}  // namespace pg_gpu::plan
