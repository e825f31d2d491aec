#include "plan/usage.h"

#include "client/dispatch.h"

namespace pg_gpu::plan {

Usage session_usage() {
    Usage usage = {};
    for (int path = 0; path < client::kPaths; path++)
        for (int kind = 0; kind < client::kRequestKinds; kind++) {
            const client::Counters &counted =
                client::counters(static_cast<client::Path>(path), static_cast<client::RequestKind>(kind));
            usage.requests[path] += counted.requests;
            usage.items[path] += counted.items;
            usage.milliseconds[path] += counted.milliseconds;
        }
    return usage;
}

void add_usage_since(const Usage &before, Usage *total) {
    const Usage now = session_usage();
    for (int path = 0; path < client::kPaths; path++) {
        // gpu.stat_reset() may have been called in between.
        if (now.requests[path] < before.requests[path])
            continue;
        total->requests[path] += now.requests[path] - before.requests[path];
        total->items[path] += now.items[path] - before.items[path];
        total->milliseconds[path] += now.milliseconds[path] - before.milliseconds[path];
    }
}

void explain_usage(const Usage &usage, const PlanState *node, ExplainState *explain) {
    if (!explain->analyze || node->instrument == nullptr || node->instrument->nloops == 0)
        return;
    StringInfoData paths;
    initStringInfo(&paths);
    uint64 requests = 0;
    uint64 items = 0;
    double processor = 0;
    for (int i = 0; i < client::kPaths; i++) {
        const auto path = static_cast<client::Path>(i);
        if (usage.requests[i] == 0)
            continue;
        appendStringInfo(&paths, "%s%s", paths.len > 0 ? ", " : "", client::path_name(path));
        requests += usage.requests[i];
        items += usage.items[i];
        if (path != client::Path::Cuda)
            processor += usage.milliseconds[i];
    }
    ExplainPropertyText("Path", requests > 0 ? paths.data : client::path_name(client::Path::Paged), explain);
    if (requests == 0)
        return;
    ExplainPropertyUInteger("Requests", nullptr, requests, explain);
    ExplainPropertyFloat("Batch Size", nullptr, static_cast<double>(items) / static_cast<double>(requests), 0,
                         explain);
    if (!explain->timing)
        return;
    const double device = usage.milliseconds[static_cast<int>(client::Path::Cuda)];
    if (device > 0)
        ExplainPropertyFloat("Device Time", "ms", device, 3, explain);
    if (processor > 0)
        ExplainPropertyFloat("Processor Time", "ms", processor, 3, explain);
}

}  // namespace pg_gpu::plan
