// Executing a GpuSearch. Its first child is gpu_text's ordered index scan, which gives its rows: it checks
// all other conditions of the statement, and comes to the rows that don't match. The second, if there is one,
// is the bitmap scan of other indexes that PostgreSQL would have run. Its bitmap is made, and says which rows
// the first child looks for; the table is not read by it.
#include "plan/search/scan.h"

#include "compat.h"
#include "memory.h"
#include "plan/bitmap_rows.h"
#include "plan/custom_node.h"
#include "plan/advise/explain_why.h"
#include "plan/search/path.h"
#include "plan/usage.h"
#include "text/gpu_text.h"

namespace pg_gpu::plan {

namespace {

struct SearchState {
    CustomScanState custom;
    IndexScanState *scan;
    PlanState *bitmap;  // the scan of one; nullptr: all rows are looked for
    ExprState *score;   // score of the row that the scan has read; nullptr until one must be computed
    double wanted;      // rows of the scan, as far as that is known
    bool is_begun;
    MemoryContext context;  // has the rows that are looked for; nullptr until there are some
    uint64 candidates;
};

}  // namespace

static SearchState *state_of(CustomScanState *node) {
    return reinterpret_cast<SearchState *>(node);
}

// ---- execution --------------------------------------------------------------------------------------------

static const table::RowSet *read_candidates(SearchState *state) {
    if (state->context == nullptr)
        state->context = AllocSetContextCreate(state->custom.ss.ps.state->es_query_cxt, "GpuSearch",
                                               ALLOCSET_DEFAULT_SIZES);
    MemoryContextReset(state->context);
    MemoryContext caller = MemoryContextSwitchTo(state->context);
    const table::RowSet *rows = read_bitmap(state->bitmap);
    MemoryContextSwitchTo(caller);
    state->candidates += rows->rows;
    return rows;
}

// Makes the index scan ready to be asked, as it would be with its first row, and tells it which rows are
// looked for.
static void begin_scan(SearchState *state) {
    IndexScanState *scan = state->scan;
    const table::RowSet *rows = state->bitmap == nullptr ? nullptr : read_candidates(state);
    if (scan->ss.ps.chgParam != nullptr || (scan->iss_NumRuntimeKeys != 0 && !scan->iss_RuntimeKeysReady))
        ExecReScan(&scan->ss.ps);
    if (scan->iss_ScanDesc == nullptr) {
        scan->iss_ScanDesc = begin_scan_of_node(scan);
        index_rescan(scan->iss_ScanDesc, scan->iss_ScanKeys, scan->iss_NumScanKeys, scan->iss_OrderByKeys,
                     scan->iss_NumOrderByKeys);
    }
    // Half as many again, since chance has a part in how many that takes.
    text::restrict_scan(scan->iss_ScanDesc, rows, 1.5 * state->wanted);
    state->is_begun = true;
}

// The index has told the score, unless it couldn't.
static Datum score_of_row(SearchState *state, bool *is_null) {
    const IndexScanDescData *scan = state->scan->iss_ScanDesc;
    if (!scan->xs_recheckorderby) {
        *is_null = scan->xs_orderbynulls[0];
        return scan->xs_orderbyvals[0];
    }
    if (state->score == nullptr) {
        const auto *plan = castNode(CustomScan, state->custom.ss.ps.plan);
        MemoryContext caller = MemoryContextSwitchTo(state->custom.ss.ps.state->es_query_cxt);
        state->score =
            ExecInitExpr(llast_node(TargetEntry, plan->custom_scan_tlist)->expr, &state->scan->ss.ps);
        MemoryContextSwitchTo(caller);
    }
    ExprContext *context = state->scan->ss.ps.ps_ExprContext;
    context->ecxt_scantuple = state->scan->ss.ss_ScanTupleSlot;
    return ExecEvalExprSwitchContext(state->score, context, is_null);
}

static TupleTableSlot *execute_search(CustomScanState *node) {
    SearchState *state = state_of(node);
    if (!state->is_begun)
        begin_scan(state);
    ResetExprContext(node->ss.ps.ps_ExprContext);
    TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
    ExecClearTuple(slot);
    TupleTableSlot *row = ExecProcNode(&state->scan->ss.ps);
    if (TupIsNull(row))
        return nullptr;
    slot_getallattrs(row);
    const int columns = slot->tts_tupleDescriptor->natts - 1;
    memcpy(slot->tts_values, row->tts_values, static_cast<size_t>(columns) * sizeof(Datum));
    memcpy(slot->tts_isnull, row->tts_isnull, static_cast<size_t>(columns) * sizeof(bool));
    slot->tts_values[columns] = score_of_row(state, &slot->tts_isnull[columns]);
    ExecStoreVirtualTuple(slot);
    return project(node);
}

static void begin_search(CustomScanState *node, EState *estate, int flags) {
    SearchState *state = state_of(node);
    const auto *plan = castNode(CustomScan, node->ss.ps.plan);
    begin_children(node, estate, flags);
    state->scan = castNode(IndexScanState, linitial(node->custom_ps));
    if (list_length(node->custom_ps) > 1)
        state->bitmap = static_cast<PlanState *>(lsecond(node->custom_ps));
    state->wanted = floatVal(linitial(plan->custom_private));
}

static void rescan_search(CustomScanState *node) {
    report_children_of_changed_parameters(node);
    ListCell *cell;
    foreach (cell, node->custom_ps)
        ExecReScan(static_cast<PlanState *>(lfirst(cell)));
    state_of(node)->is_begun = false;
}

static void explain_search(CustomScanState *node, List *, ExplainState *explain) {
    const SearchState *state = state_of(node);
    if (explain->analyze && state->bitmap != nullptr)
        ExplainPropertyUInteger("Candidates", nullptr, state->candidates, explain);
    const client::Usage usage =
        state->scan->iss_ScanDesc == nullptr ? client::Usage{} : text::scan_usage(state->scan->iss_ScanDesc);
    explain_usage(state->scan->iss_ScanDesc == nullptr ? nullptr : &usage, &node->ss.ps, explain);
}

static constexpr CustomExecMethods execution_methods = execution_methods_of(
    "GpuSearch", begin_search, execute_search, end_children, rescan_search, explain_search);

// ---- from path to plan to state ---------------------------------------------------------------------------

static const CustomScanMethods scan_methods = {
    .CustomName = "GpuSearch",
    .CreateCustomScanState = create_state<SearchState, execution_methods>,
};

// The node's own tuple is the index scan's, with the score behind it, which the target list then has from
// there.
static Plan *plan_search(PlannerInfo *root, RelOptInfo *, CustomPath *path, List *target_list, List *,
                         List *child_plans) {
    note_chosen(root, path);
    CustomScan *scan = make_custom_scan(path, &scan_methods, target_list, child_plans);
    scan->custom_private = path->custom_private;
    auto *index_path = linitial_node(IndexPath, path->custom_paths);
    const auto *child = static_cast<const Plan *>(linitial(child_plans));
    List *columns = static_cast<List *>(copyObjectImpl(child->targetlist));
    auto *score = static_cast<Expr *>(copyObjectImpl(linitial(index_path->indexorderbys)));
    scan->custom_scan_tlist = lappend(
        columns, makeTargetEntry(score, static_cast<AttrNumber>(list_length(columns) + 1), nullptr, false));
    return &scan->scan.plan;
}

static constexpr CustomPathMethods path_methods = path_methods_of("GpuSearch", plan_search);

const CustomPathMethods *search_path_methods() {
    return &path_methods;
}

void register_search_scan() {
    RegisterCustomScanMethods(&scan_methods);
    install_search_planner();
}

}  // namespace pg_gpu::plan
