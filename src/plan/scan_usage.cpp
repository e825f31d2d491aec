#include "plan/scan_usage.h"

#include "access_methods.h"
#include "compat.h"
#include "plan/usage.h"

namespace pg_gpu::plan {

namespace {

struct NodeScan {
    Relation index;      // nullptr: the node scans none, or doesn't execute
    IndexScanDesc scan;  // nullptr: not in this process
};

}  // namespace

static NodeScan scan_of(const PlanState *node) {
    switch (nodeTag(node)) {
        case T_IndexScanState: {
            const auto *state = reinterpret_cast<const IndexScanState *>(node);
            return {state->iss_RelationDesc, state->iss_ScanDesc};
        }
        case T_IndexOnlyScanState: {
            const auto *state = reinterpret_cast<const IndexOnlyScanState *>(node);
            return {state->ioss_RelationDesc, state->ioss_ScanDesc};
        }
        case T_BitmapIndexScanState: {
            const auto *state = reinterpret_cast<const BitmapIndexScanState *>(node);
            return {state->biss_RelationDesc, state->biss_ScanDesc};
        }
        default:
            return {nullptr, nullptr};
    }
}

static void explain_scan(PlanState *node, ExplainState *explain) {
    const NodeScan found = scan_of(node);
    const Method *method = found.index != nullptr ? find_access_method(found.index) : nullptr;
    if (method == nullptr)
        return;
    client::Usage usage;
    if (found.scan != nullptr)
        usage = method->scan_usage(found.scan);
    explain_usage(found.scan != nullptr ? &usage : nullptr, node, explain);
}

void register_scan_usage() {
    show_with_plan_nodes(explain_scan);
}

}  // namespace pg_gpu::plan
