#include "plan/usage.h"

namespace pg_gpu::plan {

using client::Path;

// Runs that weren't looked at, and why a server process wasn't asked about all others, if it was asked at
// all.
static void explain_rest(const client::Usage &usage, ExplainState *explain) {
    if (usage.skipped_runs > 0)
        ExplainPropertyUInteger("Skipped Runs", nullptr, usage.skipped_runs, explain);
    if (usage.small_runs > 0)
        ExplainPropertyUInteger("Small Runs", nullptr, usage.small_runs, explain);
    if (usage.lacking_runs > 0)
        ExplainPropertyUInteger("Runs Not Resident", nullptr, usage.lacking_runs, explain);
    if (usage.fallbacks == 0)
        return;
    ExplainPropertyUInteger("Fallbacks", nullptr, usage.fallbacks, explain);
    ExplainPropertyText("Last Reason", usage.last_reason, explain);
}

static void explain_paths(const client::Usage &usage, ExplainState *explain) {
    StringInfoData paths;
    initStringInfo(&paths);
    uint64 requests = 0;
    uint64 of_device = 0;
    uint64 items = 0;
    double milliseconds_of_processor = 0;
    for (int i = 0; i < client::kPaths; i++) {
        const auto path = static_cast<Path>(i);
        if (usage.requests[i] == 0)
            continue;
        appendStringInfo(&paths, "%s%s", paths.len > 0 ? ", " : "", client::path_name(path));
        requests += usage.requests[i];
        items += usage.items[i];
        if (path == Path::Cuda)
            of_device = usage.requests[i];
        else
            milliseconds_of_processor += usage.milliseconds[i];
    }
    if (usage.helped > 0 && usage.requests[static_cast<int>(Path::Host)] == 0)
        appendStringInfo(&paths, ", %s", client::path_name(Path::Host));
    ExplainPropertyText("Path", requests > 0 ? paths.data : client::path_name(Path::Paged), explain);
    if (requests == 0)
        return;
    ExplainPropertyUInteger("Requests", nullptr, requests, explain);
    ExplainPropertyFloat("Batch Size", nullptr, static_cast<double>(items) / static_cast<double>(requests), 0,
                         explain);
    if (usage.bytes > 0)
        ExplainPropertyUInteger("Bytes", nullptr, usage.bytes, explain);
    if (!explain->timing)
        return;
    // Requests that took less than a microsecond have a time too: 0.000 ms.
    if (of_device > 0)
        ExplainPropertyFloat("Device Time", "ms", usage.milliseconds[static_cast<int>(Path::Cuda)], 3,
                             explain);
    if (requests > of_device)
        ExplainPropertyFloat("Processor Time", "ms", milliseconds_of_processor, 3, explain);
}

void explain_usage(const client::Usage *usage, const PlanState *node, ExplainState *explain) {
    if (!explain->analyze || node->instrument == nullptr)
        return;
    double loops = node->instrument->nloops;
    int workers = 0;
    for (int i = 0; node->worker_instrument != nullptr && i < node->worker_instrument->num_workers; i++) {
        const double of_worker = node->worker_instrument->instrument[i].nloops;
        loops -= of_worker;
        workers += of_worker > 0 ? 1 : 0;
    }
    if (loops > 0 && usage != nullptr) {
        explain_paths(*usage, explain);
        explain_rest(*usage, explain);
    }
    if (workers > 0)
        ExplainPropertyInteger("Workers Not Counted", nullptr, workers, explain);
}

}  // namespace pg_gpu::plan
