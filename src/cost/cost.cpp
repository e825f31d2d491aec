#include "cost/cost.h"

#include "cost/counters.h"
#include "test_hooks.h"

namespace pg_gpu {

const CostConstants &cost_constants() {
    const TestHooks *hooks = test_hooks();
    return likely(hooks == nullptr) ? kMeasuredCosts : *hooks->costs();
}

}  // namespace pg_gpu

namespace pg_gpu::client {

// Queues apart.
static double work_microseconds(const Request &request, Path path) {
    const RequestCost &cost = cost_of(request.kind);
    const double work = cost.work(request, path);
    if (path == Path::Paged)
        return work;
    const CostConstants &costs = cost_constants();
    return work + costs.request[static_cast<int>(path)] +
           cost.bytes_moved(request) / kMebibyte * costs.transfer;
}

double estimate_microseconds(const Request &request, Path path) {
    double microseconds = work_microseconds(request, path);
    // The host engine's threads have the same processors.
    if (cost_of(request.kind).waits_are_known && path != Path::Cuda)
        microseconds += lately_waited(Path::Paged);
    return path == Path::Paged ? microseconds : microseconds + lately_waited(path);
}

double saved_by_server(const Request &of_run, Path path) {
    const RequestCost &cost = cost_of(of_run.kind);
    return cost.work(of_run, Path::Paged) - cost.work(of_run, path);
}

}  // namespace pg_gpu::client
