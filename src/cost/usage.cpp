#include "cost/usage.h"

namespace pg_gpu::client {

static Usage used;

const Usage &session_usage() {
    return used;
}

void count_usage(Path path, uint64 items, uint64 bytes, double milliseconds) {
    const int p = static_cast<int>(path);
    used.requests[p]++;
    used.items[p] += items;
    used.milliseconds[p] += milliseconds;
    used.bytes += bytes;
}

void count_help_of_host() {
    used.helped++;
}

void count_fallback(const char *reason) {
    used.fallbacks++;
    strlcpy(used.last_reason, reason, sizeof(used.last_reason));
}

void count_local_runs(uint64 small, uint64 lacking) {
    used.small_runs += small;
    used.lacking_runs += lacking;
}

void count_skipped_runs(uint64 runs) {
    used.skipped_runs += runs;
}

void add_usage_since(const Usage &before, Usage *total) {
    for (int path = 0; path < kPaths; path++) {
        total->requests[path] += used.requests[path] - before.requests[path];
        total->items[path] += used.items[path] - before.items[path];
        total->milliseconds[path] += used.milliseconds[path] - before.milliseconds[path];
    }
    total->helped += used.helped - before.helped;
    total->bytes += used.bytes - before.bytes;
    total->small_runs += used.small_runs - before.small_runs;
    total->lacking_runs += used.lacking_runs - before.lacking_runs;
    total->skipped_runs += used.skipped_runs - before.skipped_runs;
    if (used.fallbacks == before.fallbacks)
        return;
    total->fallbacks += used.fallbacks - before.fallbacks;
    strlcpy(total->last_reason, used.last_reason, sizeof(total->last_reason));
}

}  // namespace pg_gpu::client
