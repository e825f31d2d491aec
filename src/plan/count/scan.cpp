// Executing a count scan. Its child is the index scan that PostgreSQL would have run: it opens the
// relations and works out the scan keys, but is never executed.
#include "plan/count/scan.h"

#include "access_methods.h"
#include "compat.h"
#include "memory.h"
#include "plan/count/path.h"
#include "plan/custom_node.h"
#include "plan/advise/explain_why.h"
#include "plan/usage.h"

namespace pg_gpu::plan {

struct CountScanState {
    CustomScanState custom;
    bool done;
    client::Usage usage;
};

// The parts of a child that plain and index-only index scans have under different names.
struct ChildScan {
    ScanState *state;
    Relation index;
    ExprContext *runtime_context;
    IndexRuntimeKeyInfo *runtime_keys;
    int runtime_key_count;
    ScanKeyData *keys;
    int key_count;
};

static ChildScan child_scan(CustomScanState *node) {
    auto *child = static_cast<Node *>(linitial(node->custom_ps));
    if (IsA(child, IndexOnlyScanState)) {
        auto *scan = reinterpret_cast<IndexOnlyScanState *>(child);
        return {&scan->ss,
                scan->ioss_RelationDesc,
                scan->ioss_RuntimeContext,
                scan->ioss_RuntimeKeys,
                scan->ioss_NumRuntimeKeys,
                scan->ioss_ScanKeys,
                scan->ioss_NumScanKeys};
    }
    auto *scan = castNode(IndexScanState, child);
    return {&scan->ss,
            scan->iss_RelationDesc,
            scan->iss_RuntimeContext,
            scan->iss_RuntimeKeys,
            scan->iss_NumRuntimeKeys,
            scan->iss_ScanKeys,
            scan->iss_NumScanKeys};
}

// ---- execution --------------------------------------------------------------------------------------------

static int64 count_rows(const ChildScan &scan) {
    Relation heap = scan.state->ss_currentRelation;
    Snapshot snapshot = scan.state->ps.state->es_snapshot;
    if (scan.runtime_key_count > 0) {
        ResetExprContext(scan.runtime_context);
        ExecIndexEvalRuntimeKeys(scan.runtime_context, scan.runtime_keys, scan.runtime_key_count);
    }
    // This locks at least what index_beginscan and the heap fetches of an index scan would lock under
    // SERIALIZABLE.
    PredicateLockRelation(scan.index, snapshot);
    PredicateLockRelation(heap, snapshot);
    uint64 heap_fetches = 0;
    const int64 count =
        find_access_method(scan.index)
            ->count_matching(heap, scan.index, snapshot, scan.keys, scan.key_count, &heap_fetches);
    pgstat_count_index_tuples(scan.index, count);
    InstrCountTuples2(scan.state, static_cast<double>(heap_fetches));
    return count;
}

static TupleTableSlot *execute_count_scan(CustomScanState *node) {
    auto *state = reinterpret_cast<CountScanState *>(node);
    if (state->done)
        return nullptr;
    const ChildScan scan = child_scan(node);
    // EXPLAIN ANALYZE shows the child with the time and the rows it stands for.
    Instrumentation *instrument = scan.state->ps.instrument;
    if (instrument != nullptr)
        InstrStartNode(instrument);
    count_search_of_node(&scan.state->ps);
    const client::Usage before = client::session_usage();
    // The next rescan frees what counting leaves in memory.
    ResetExprContext(node->ss.ps.ps_ExprContext);
    MemoryContext caller = MemoryContextSwitchTo(node->ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
    const int64 count = count_rows(scan);
    MemoryContextSwitchTo(caller);
    client::add_usage_since(before, &state->usage);
    if (instrument != nullptr)
        InstrStopNode(instrument, static_cast<double>(count));
    state->done = true;

    TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
    ExecClearTuple(slot);
    for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++) {
        slot->tts_values[i] = Int64GetDatum(count);
        slot->tts_isnull[i] = false;
    }
    ExecStoreVirtualTuple(slot);
    ResetExprContext(node->ss.ps.ps_ExprContext);
    return project(node);
}

static void begin_count_scan(CustomScanState *node, EState *estate, int flags) {
    begin_children(node, estate, flags);
}

static void rescan_count_scan(CustomScanState *node) {
    reinterpret_cast<CountScanState *>(node)->done = false;
}

static void explain_count_scan(CustomScanState *node, List *, ExplainState *explain) {
    explain_usage(&reinterpret_cast<CountScanState *>(node)->usage, &node->ss.ps, explain);
}

static constexpr CustomExecMethods execution_methods = execution_methods_of(
    "GpuCount", begin_count_scan, execute_count_scan, end_children, rescan_count_scan, explain_count_scan);

// ---- from path to plan to state ---------------------------------------------------------------------------

static const CustomScanMethods scan_methods = {
    .CustomName = "GpuCount",
    .CreateCustomScanState = create_state<CountScanState, execution_methods>,
};

// Plans a count scan. The node's own tuple holds the aggregates' values; its target list is computed from
// them. They are taken from the relation and not from the target list, which the planner leaves out where it
// will put its own projection in.
static Plan *plan_count_scan(PlannerInfo *root, RelOptInfo *output, CustomPath *path, List *target_list,
                             List *, List *child_plans) {
    note_chosen(root, path);
    CustomScan *scan = make_custom_scan(path, &scan_methods, target_list, child_plans);
    scan->custom_scan_tlist =
        add_to_flat_tlist(NIL, pull_var_clause(reinterpret_cast<Node *>(output->reltarget->exprs),
                                               PVC_INCLUDE_AGGREGATES | PVC_INCLUDE_PLACEHOLDERS));
    return &scan->scan.plan;
}

static constexpr CustomPathMethods path_methods = path_methods_of("GpuCount", plan_count_scan);

const CustomPathMethods *count_path_methods() {
    return &path_methods;
}

void register_count_scan() {
    RegisterCustomScanMethods(&scan_methods);
    install_count_planner();
}

}  // namespace pg_gpu::plan
