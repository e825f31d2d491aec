// Choosing a path by cost, of those that are there.
#include "client/availability.h"
#include "client/cost.h"
#include "client/counters.h"
#include "settings.h"

namespace pg_gpu::client {

void note_unsuited(RequestKind kind, const char *reason) {
    if (is_path_forced())
        note_reason(path_setting() == PathSetting::Host ? Path::Host : Path::Cuda, kind, reason);
}

static Path cheapest_path(const Request &request) {
    Path best = Path::Paged;
    double least = estimate_microseconds(request, Path::Paged);
    for (const Path path : {Path::Host, Path::Cuda}) {
        if (!may_be_there(path))
            continue;
        const double microseconds = estimate_microseconds(request, path);
        if (microseconds < least) {
            best = path;
            least = microseconds;
        }
    }
    return best;
}

bool is_path_forced() {
    return path_setting() == PathSetting::Host || path_setting() == PathSetting::Cuda;
}

bool may_ask_server(uint64 items, uint64 fewest) {
    return is_path_forced() || (path_setting() == PathSetting::Auto && items >= fewest);
}

static Path wanted_path(const Request &request) {
    const PathSetting setting = path_setting();
    if (setting == PathSetting::Paged || request.runs > kMaxRuns ||
        (cost_of(request.kind).uses_mirrors && mirror_setting() == MirrorSetting::Off))
        return Path::Paged;
    if (setting == PathSetting::Auto)
        return cheapest_path(request);
    return setting == PathSetting::Host ? Path::Host : Path::Cuda;
}

Path plan_path(const Request &request) {
    const Path path = wanted_path(request);
    return may_be_there(path) ? path : Path::Paged;
}

// Waiting for a server that is being started is worth it only to those who asked for one.
static bool is_worth_waiting(Path path) {
    return path_setting() != PathSetting::Auto && path != Path::Paged;
}

Choice choose_path(const Request &request) {
    // With "auto" the second best may be there where the best is not.
    for (int attempt = 1; attempt < kPaths; attempt++) {
        const Path path = wanted_path(request);
        if (path == Path::Paged)
            break;
        const char *reason = resting_reason(path);
        if (reason != nullptr) {
            note_reason(path, request.kind, reason);
            announce_forced_path();
            break;
        }
        if (is_worth_waiting(path) ? await_engine(path) : ready_for(path))
            return {path, estimate_microseconds(request, Path::Paged) - estimate_microseconds(request, path)};
        note_failed(request.kind, path);
    }
    return {Path::Paged, 0};
}

}  // namespace pg_gpu::client
