#include "plan/query/plan_trees.h"

#include "compat.h"
#include "plan/query/node.h"

namespace pg_gpu::plan::query {

static bool is_node(const Plan *plan) {
    return IsA(plan, CustomScan) && strcmp(reinterpret_cast<const CustomScan *>(plan)->methods->CustomName,
                                           query_path_methods()->CustomName) == 0;
}

using Test = bool (*)(Plan *plan);

static bool any_of(const List *plans, Test test) {
    ListCell *cell;
    foreach (cell, plans)
        if (test(static_cast<Plan *>(lfirst(cell))))
            return true;
    return false;
}

// Is the test true of a plan below this one? There may be none.
static bool any_below(const Plan *plan, Test test) {
    check_stack_depth();
    switch (nodeTag(plan)) {
        case T_CustomScan:
            return any_of(reinterpret_cast<const CustomScan *>(plan)->custom_plans, test);
        case T_SubqueryScan:
            return test(reinterpret_cast<const SubqueryScan *>(plan)->subplan);
        case T_Append:
            return any_of(reinterpret_cast<const Append *>(plan)->appendplans, test);
        case T_MergeAppend:
            return any_of(reinterpret_cast<const MergeAppend *>(plan)->mergeplans, test);
        default:
            return (plan->lefttree != nullptr && test(plan->lefttree)) ||
                   (plan->righttree != nullptr && test(plan->righttree));
    }
}

static bool any_in(const PlannedStmt *planned, Test test) {
    // What isn't used has left a NULL among the subplans.
    ListCell *cell;
    foreach (cell, planned->subplans)
        if (auto *plan = static_cast<Plan *>(lfirst(cell)); plan != nullptr && test(plan))
            return true;
    return test(planned->planTree);
}

static bool finds_node(Plan *plan) {
    return is_node(plan) || any_below(plan, finds_node);
}

bool has_node(const PlannedStmt *planned) {
    return any_in(planned, finds_node);
}

// The child of a GpuQuery only stands by.
static bool finds_large_window(Plan *plan) {
    constexpr double many_rows = 2000;
    return (IsA(plan, WindowAgg) && plan->lefttree->plan_rows >= many_rows) ||
           (!is_node(plan) && any_below(plan, finds_large_window));
}

bool has_large_window(const PlannedStmt *planned) {
    return any_in(planned, finds_large_window);
}

static Node *call_windows(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (!IsA(node, WindowFunc))
        return mutate_expression(node, call_windows, context);
    const auto *function = reinterpret_cast<const WindowFunc *>(node);
    return reinterpret_cast<Node *>(makeFuncExpr(function->winfnoid, function->wintype, function->args,
                                                 function->wincollid, function->inputcollid,
                                                 COERCE_EXPLICIT_CALL));
}

static bool show_windows_of(Plan *plan) {
    if (is_node(plan)) {
        auto *scan = reinterpret_cast<CustomScan *>(plan);
        scan->custom_scan_tlist = reinterpret_cast<List *>(
            call_windows(reinterpret_cast<Node *>(scan->custom_scan_tlist), nullptr));
    }
    return any_below(plan, show_windows_of);
}

void show_windows(const PlannedStmt *planned) {
    any_in(planned, show_windows_of);
}

}  // namespace pg_gpu::plan::query
