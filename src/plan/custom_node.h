// The base of this folder's custom nodes: the tables of callbacks by which PostgreSQL plans and
// executes them, and the making of their states.
#pragma once

#include "compat.h"
#include "postgres_headers.h"

namespace pg_gpu::plan {

// Returns the callbacks of a node that EXPLAIN calls `name`. None of the nodes goes back to a marked row, so
// the callbacks for that stay empty, as do those for state that is shared with parallel workers.
constexpr CustomExecMethods execution_methods_of(const char *name,
                                                 decltype(CustomExecMethods::BeginCustomScan) begin,
                                                 decltype(CustomExecMethods::ExecCustomScan) execute,
                                                 decltype(CustomExecMethods::EndCustomScan) end,
                                                 decltype(CustomExecMethods::ReScanCustomScan) rescan,
                                                 decltype(CustomExecMethods::ExplainCustomScan) explain) {
    CustomExecMethods methods = {};
    methods.CustomName = name;
    methods.BeginCustomScan = begin;
    methods.ExecCustomScan = execute;
    methods.EndCustomScan = end;
    methods.ReScanCustomScan = rescan;
    methods.ExplainCustomScan = explain;
    return methods;
}

// Returns the callback that makes a node's state: a zeroed State, whose first member is the CustomScanState
// `custom`.
template <typename State, const CustomExecMethods &methods>
Node *create_state(CustomScan *) {
    static_assert(offsetof(State, custom) == 0, "PostgreSQL reads the state as a CustomScanState");
    auto *state = reinterpret_cast<State *>(newNode(sizeof(State), T_CustomScanState));
    state->custom.methods = &methods;
    return reinterpret_cast<Node *>(state);
}

// Gives the node's own tuple, which lies in its slot, or what its target list makes of it.
inline TupleTableSlot *project(CustomScanState *node) {
    ExprContext *context = node->ss.ps.ps_ExprContext;
    context->ecxt_scantuple = node->ss.ss_ScanTupleSlot;
    return node->ss.ps.ps_ProjInfo == nullptr ? node->ss.ss_ScanTupleSlot
                                              : ExecProject(node->ss.ps.ps_ProjInfo);
}

// Begins the plan's children.
inline void begin_children(CustomScanState *node, EState *estate, int flags) {
    ListCell *cell;
    foreach (cell, castNode(CustomScan, node->ss.ps.plan)->custom_plans)
        node->custom_ps =
            lappend(node->custom_ps, ExecInitNode(static_cast<Plan *>(lfirst(cell)), estate, flags));
}

inline void report_children_of_changed_parameters(CustomScanState *node) {
    ListCell *cell;
    foreach (cell, node->custom_ps)
        if (node->ss.ps.chgParam != nullptr)
            UpdateChangedParamSet(static_cast<PlanState *>(lfirst(cell)), node->ss.ps.chgParam);
}

inline void end_children(CustomScanState *node) {
    ListCell *cell;
    foreach (cell, node->custom_ps)
        ExecEndNode(static_cast<PlanState *>(lfirst(cell)));
}

// Returns the plan of a path, without what is the node's own.
inline CustomScan *make_custom_scan(const CustomPath *path, const CustomScanMethods *methods,
                                    List *target_list, List *child_plans) {
    auto *scan = makeNode(CustomScan);
    scan->flags = path->flags;
    scan->scan.plan.targetlist = target_list;
    scan->custom_plans = child_plans;
    scan->methods = methods;
    return scan;
}

// Returns the flags of a node's plan. It gives rows backward only if the plan that it replaces, which runs
// when the node can't answer, does so too. For others PostgreSQL keeps the rows for cursors that go back.
inline uint32 flags_of_plan(const CustomPath *path, const List *child_plans) {
    return ExecSupportsBackwardScan(static_cast<Plan *>(linitial(child_plans)))
               ? path->flags
               : path->flags & ~CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
}

// Returns a path that becomes a plan by `plan`. No path depends on rows of another table, so none is made
// anew for a partition of that one.
constexpr CustomPathMethods path_methods_of(const char *name,
                                            decltype(CustomPathMethods::PlanCustomPath) plan) {
    CustomPathMethods methods = {};
    methods.CustomName = name;
    methods.PlanCustomPath = plan;
    return methods;
}

}  // namespace pg_gpu::plan
