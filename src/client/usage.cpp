#include "client/usage.h"

namespace pg_gpu::client {

static Usage used;

const Usage &session_usage() {
    return used;
}

void count_usage(Path path, uint64 items, double milliseconds) {
    const int p = static_cast<int>(path);
    used.requests[p]++;
    used.items[p] += items;
    used.milliseconds[p] += milliseconds;
}

void add_usage_since(const Usage &before, Usage *total) {
    for (int path = 0; path < kPaths; path++) {
        total->requests[path] += used.requests[path] - before.requests[path];
        total->items[path] += used.items[path] - before.items[path];
        total->milliseconds[path] += used.milliseconds[path] - before.milliseconds[path];
    }
}

}  // namespace pg_gpu::client
