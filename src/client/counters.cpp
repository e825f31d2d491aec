#include "client/counters.h"

#include <cmath>
#include <ctime>

#include "client/usage.h"

namespace pg_gpu::client {

const char *path_name(Path path) {
    static const char *const names[] = {"paged", "host", "cuda"};
    return names[static_cast<int>(path)];
}

const char *request_name(RequestKind kind) {
    static const char *const names[] = {
        "lookup",      "range",        "count",           "sort",       "merge",
        "count boxes", "search boxes", "match",           "count rows", "count values",
        "match rows",  "search",       "count documents", "intersect",  "merge dictionaries",
        "aggregate"};
    return names[static_cast<int>(kind)];
}

// ---- counters --------------------------------------------------------------------------------------------

static Counters session_counters[kPaths][kRequestKinds];

static Counters *counters_of(Path path, RequestKind kind) {
    return &session_counters[static_cast<int>(path)][static_cast<int>(kind)];
}

const Counters &counters(Path path, RequestKind kind) {
    return *counters_of(path, kind);
}

void reset_counters() {
    memset(session_counters, 0, sizeof(session_counters));
}

void count_request(Path path, RequestKind kind, uint64 items, uint64 bytes, double microseconds) {
    Counters *counters = counters_of(path, kind);
    counters->requests++;
    counters->items += items;
    counters->bytes += bytes;
    counters->milliseconds += microseconds / 1000;
    count_usage(path, items, bytes, microseconds / 1000);
}

void count_paged(RequestKind kind, uint64 items, const instr_time &taken) {
    count_request(Path::Paged, kind, items, 0, static_cast<double>(INSTR_TIME_GET_MICROSEC(taken)));
}

void note_reason(Path path, RequestKind kind, const char *reason) {
    Counters *counters = counters_of(path, kind);
    counters->fallbacks++;
    strlcpy(counters->last_reason, reason, sizeof(counters->last_reason));
    count_fallback(reason);
}

// ---- waiting ---------------------------------------------------------------------------------------------

// What a request lately waited beside what it took, a path: in the server's queue, or, on pages, for a
// processor or a page. A path that is avoided for its queue isn't for ever, since what is not heard of again
// counts half after a second.

namespace {

struct Wait {
    double microseconds;
    TimestampTz noted;
};

}  // namespace

static Wait waits[kPaths];

double lately_waited(Path path) {
    constexpr double kNothing = 1;
    constexpr double kHalfLife = USECS_PER_SEC;
    const Wait &wait = waits[static_cast<int>(path)];
    if (wait.microseconds < kNothing)
        return 0;
    const auto ago = static_cast<double>(Max(GetCurrentTimestamp() - wait.noted, 0));
    return wait.microseconds * exp2(-ago / kHalfLife);
}

void note_wait(Path path, double microseconds) {
    // On pages most wait for nothing, and a few for long.
    const double weight = path == Path::Paged ? 1.0 / 8 : 1.0 / 4;
    const double before = lately_waited(path);
    waits[static_cast<int>(path)] = {before + (microseconds - before) * weight, GetCurrentTimestamp()};
}

// Waits beside the work are known of searches alone.
bool are_waits_known(RequestKind kind) {
    return kind == RequestKind::SearchText;
}

// Of every fourth search: it takes two calls of the system.
static bool measure_next_wait(RequestKind kind) {
    constexpr uint32 kSearchesPerMeasurement = 4;
    static uint32 searches = 0;
    return are_waits_known(kind) && searches++ % kSearchesPerMeasurement == 0;
}

static double processor_microseconds() {
    timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

PagedRequest begin_paged(RequestKind kind, uint64 items) {
    PagedRequest request = {kind, items, {}, measure_next_wait(kind) ? processor_microseconds() : -1};
    INSTR_TIME_SET_CURRENT(request.began);
    return request;
}

void end_paged(const PagedRequest &request) {
    instr_time taken;
    INSTR_TIME_SET_CURRENT(taken);
    INSTR_TIME_SUBTRACT(taken, request.began);
    count_paged(request.kind, request.items, taken);
    if (request.processor_began >= 0) {
        const double used = processor_microseconds() - request.processor_began;
        note_wait(Path::Paged, Max(static_cast<double>(INSTR_TIME_GET_MICROSEC(taken)) - used, 0));
    }
}

}  // namespace pg_gpu::client
