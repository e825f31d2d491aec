// Choosing a path by cost, of those that are there.
#include "cost/availability.h"
#include "cost/counters.h"
#include "cost/learner.h"
#include "cost/quarantine.h"
#include "settings.h"

namespace pg_gpu::client {

void note_unsuited(RequestKind kind, Oid index, const char *reason) {
    if (is_path_forced())
        note_reason(path_setting() == PathSetting::Host ? Path::Host : Path::Cuda, kind, index, reason);
}

bool is_path_forced() {
    return path_setting() == PathSetting::Host || path_setting() == PathSetting::Cuda;
}

bool may_use_server(uint64 items, uint64 fewest) {
    return is_path_forced() || (path_setting() == PathSetting::Auto && items >= fewest);
}

static PathEstimates estimate_paths(const Request &request) {
    PathEstimates estimates;
    for (const Path path : {Path::Paged, Path::Host, Path::Cuda})
        estimates[static_cast<int>(path)] =
            path == Path::Paged || (may_be_there(path) && !is_in_quarantine(request, path) &&
                                    !(path == Path::Cuda && request.needs_processors))
                ? estimate_microseconds(request, path)
                : -1;
    return estimates;
}

static bool may_leave_pages(const Request &request) {
    return path_setting() != PathSetting::Paged && request.runs <= kMaxRuns &&
           (!cost_of(request.kind).uses_mirrors || mirror_setting() != MirrorSetting::Off);
}

// The path is there, or else the reason why it isn't is told.
static bool is_reached(const Request &request, Path path) {
    const char *reason = resting_reason(path);
    if (reason != nullptr) {
        note_reason(path, request.kind, request.index, reason);
        announce_forced_path();
        return false;
    }
    // Waiting for a server that is being started is worth it only to those who asked for one.
    note_requested(request);
    if (is_path_forced() ? await_engine(path) : ready_for(path))
        return true;
    // A machine without a device is nothing that anybody has to look into, unless the session asks for one.
    if (!is_path_forced() && last_failure() == RequestFailure::NoEngine)
        return avoid_absent(path);
    return note_failed(request.kind, path, request.index);
}

static Choice choose_forced(const Request &request) {
    const Path path = path_setting() == PathSetting::Host ? Path::Host : Path::Cuda;
    if (!is_reached(request, path))
        return {Path::Paged, 0};
    return {path, estimate_microseconds(request, Path::Paged) - estimate_microseconds(request, path)};
}

static Choice choose_by_cost(const Request &request) {
    PathEstimates estimates;
    Path path = Path::Paged;
    // The second best may be there where the best is not.
    for (int tries = 1; tries < kPaths; tries++) {
        estimates = estimate_paths(request);
        path = choose_by_experience(request, estimates);
        if (path == Path::Paged || is_reached(request, path))
            break;
        path = Path::Paged;
    }
    return {path,
            expected_microseconds(request, estimates, Path::Paged) -
                expected_microseconds(request, estimates, path),
            begin_attempt(request, estimates, path)};
}

Choice choose_path(const Request &request) {
    Choice choice = {Path::Paged, 0};
    if (may_leave_pages(request))
        choice = path_setting() == PathSetting::Auto ? choose_by_cost(request) : choose_forced(request);
    choice.index = request.index;
    return choice;
}

}  // namespace pg_gpu::client
