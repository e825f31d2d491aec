// Choosing a path: cost, what is there, and what has failed lately.
#include "client/dispatch.h"

#include <cmath>
#include <ctime>
#include <numeric>

#include "client/supervisor.h"
#include "client/usage.h"
#include "settings.h"

namespace pg_gpu::client {

const char *path_name(Path path) {
    static const char *const names[] = {"paged", "host", "cuda"};
    return names[static_cast<int>(path)];
}

const char *request_name(RequestKind kind) {
    static const char *const names[] = {
        "lookup",      "range",        "count",           "sort",       "merge",
        "count boxes", "search boxes", "match",           "count rows", "count values",
        "match rows",  "search",       "count documents", "intersect",  "merge dictionaries"};
    return names[static_cast<int>(kind)];
}

// ---- counters ---------------------------------------------------------------------------------------------

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

static void count_request(Path path, RequestKind kind, uint64 items, uint64 bytes, double microseconds) {
    Counters *counters = counters_of(path, kind);
    counters->requests++;
    counters->items += items;
    counters->bytes += bytes;
    counters->milliseconds += microseconds / 1000;
    count_usage(path, items, microseconds / 1000);
}

void count_paged(RequestKind kind, uint64 items, const instr_time &taken) {
    count_request(Path::Paged, kind, items, 0, static_cast<double>(INSTR_TIME_GET_MICROSEC(taken)));
}

// ---- waiting ----------------------------------------------------------------------------------------------

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

static double lately_waited(Path path) {
    constexpr double kNothing = 1;
    constexpr double kHalfLife = USECS_PER_SEC;
    const Wait &wait = waits[static_cast<int>(path)];
    if (wait.microseconds < kNothing)
        return 0;
    const auto ago = static_cast<double>(Max(GetCurrentTimestamp() - wait.noted, 0));
    return wait.microseconds * exp2(-ago / kHalfLife);
}

static void note_wait(Path path, double microseconds) {
    // On pages most wait for nothing, and a few for long.
    const double weight = path == Path::Paged ? 1.0 / 8 : 1.0 / 4;
    const double before = lately_waited(path);
    waits[static_cast<int>(path)] = {before + (microseconds - before) * weight, GetCurrentTimestamp()};
}

// Waits beside the work are known of searches alone.
static bool are_waits_known(RequestKind kind) {
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

static void note_reason(Path path, RequestKind kind, const char *reason) {
    Counters *counters = counters_of(path, kind);
    counters->fallbacks++;
    strlcpy(counters->last_reason, reason, sizeof(counters->last_reason));
}

void note_unsuited(RequestKind kind, const char *reason) {
    if (is_path_forced())
        note_reason(path_setting() == PathSetting::Host ? Path::Host : Path::Cuda, kind, reason);
}

// ---- cooling down -----------------------------------------------------------------------------------------

// After a failure that the next request would meet too, a path rests, twice as long each time up to a limit.
// What costs nothing to find out again (nothing listens) rests shortly, what costs a timeout longer.

namespace {

struct Rest {
    TimestampTz until;
    int milliseconds;  // of the last rest; 0 when the last request was answered
    char reason[sizeof(Counters::last_reason)];
};

struct RestTimes {
    int first;
    int longest;
};

}  // namespace

static Rest rests[kPaths];

static RestTimes rest_times(Trouble trouble) {
    switch (trouble) {
        case Trouble::NoServer:
        case Trouble::Opening:
            return {20, 1000};
        case Trouble::Lost:
            return {100, 10000};
        case Trouble::NoEngine:
        case Trouble::Version:
            return {5000, 60000};
        case Trouble::Deadline:
            return {1000, 60000};
        default:
            return {0, 0};
    }
}

static void rest(Path path, Trouble trouble) {
    const RestTimes times = rest_times(trouble);
    if (times.first == 0)
        return;
    Rest *rest = &rests[static_cast<int>(path)];
    rest->milliseconds = Min(Max(rest->milliseconds * 2, times.first), times.longest);
    rest->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), rest->milliseconds);
    strlcpy(rest->reason, last_reason(), sizeof(rest->reason));
}

// Trouble with the process is trouble with each of its engines.
static bool concerns_all_engines(Trouble trouble) {
    return trouble != Trouble::NoEngine && trouble != Trouble::Opening;
}

static void rest_after(Path path, Trouble trouble) {
    if (!concerns_all_engines(trouble)) {
        rest(path, trouble);
        return;
    }
    rest(Path::Host, trouble);
    rest(Path::Cuda, trouble);
}

static bool is_resting(Path path) {
    const Rest &rest = rests[static_cast<int>(path)];
    return rest.milliseconds > 0 && GetCurrentTimestamp() < rest.until;
}

// ---- what is there ----------------------------------------------------------------------------------------

static bool supervisor_expected = false;

static bool find_engine(Path path) {
    if (!connect_to_server()) {
        if (last_trouble() == Trouble::NoServer)
            supervisor_expected = launch_supervisor();
        return false;
    }
    if (!has_engine(path) && is_opening_engine(path) && !ping_server())
        return false;
    if (has_engine(path))
        return true;
    return is_opening_engine(path)
               ? fail(Trouble::Opening, "the %s engine is being opened", path_name(path))
               : fail(Trouble::NoEngine, "the server process has no %s engine", path_name(path));
}

bool ready_for(Path path) {
    if (path == Path::Paged)
        return fail(Trouble::NotWanted, "paged is cheaper");
    return find_engine(path);
}

bool reach_server() {
    const Rest &resting = rests[static_cast<int>(Path::Host)];
    if (is_resting(Path::Host) && !is_connected())
        return fail(Trouble::NotWanted, "%s", resting.reason);
    if (connect_to_server())
        return true;
    if (last_trouble() == Trouble::NoServer)
        supervisor_expected = launch_supervisor();
    rest_after(Path::Host, last_trouble());
    return false;
}

void pause_for(long milliseconds) {
    WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds, PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

bool await_engine(Path path) {
    constexpr long kPauseMs = 10;
    const TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), request_timeout());
    for (;;) {
        if (ready_for(path))
            return true;
        const Trouble why = last_trouble();
        if (!(why == Trouble::NoServer && supervisor_expected) && why != Trouble::Opening &&
            why != Trouble::Lost)
            return false;
        if (GetCurrentTimestamp() >= deadline) {
            // So that the path rests as after any wait in vain.
            char waited_for[sizeof(Counters::last_reason)];
            strlcpy(waited_for, last_reason(), sizeof(waited_for));
            return fail(Trouble::Deadline, "%s", waited_for);
        }
        pause_for(kPauseMs);
    }
}

bool is_available(Path path) {
    return await_engine(path);
}

// Known, or to be found out.
static bool may_be_there(Path path) {
    return !is_resting(path) && (!is_connected() || has_engine(path) || is_opening_engine(path));
}

void note_answered(RequestKind kind, Path path, uint64 items, uint64 bytes,
                   const protocol::ReplyHeader &reply) {
    rests[static_cast<int>(path)] = {};
    note_wait(path, static_cast<double>(reply.queued_microseconds));
    count_request(path, kind, items, bytes, static_cast<double>(reply.microseconds));
}

bool note_failed(RequestKind kind, Path path) {
    note_reason(path, kind, last_reason());
    rest_after(path, last_trouble());
    if (last_trouble() != Trouble::NotWanted)
        announce_forced_path();
    return false;
}

void decline(RequestKind kind, Path path, const char *reason) {
    fail(Trouble::NotWanted, "%s", reason);
    note_failed(kind, path);
}

// ---- cost -------------------------------------------------------------------------------------------------

static constexpr double kMebibyte = 1048576.0;

// Bytes through the transfer buffer.
static double bytes_moved(const Request &request) {
    const auto items = static_cast<double>(request.items);
    const auto results = static_cast<double>(request.results);
    const double entry = request.key_bits / 8.0 + sizeof(ItemPointerData);
    switch (request.kind) {
        case RequestKind::Lookup:
            return items * (request.key_bits / 8.0 + request.runs * sizeof(uint64)) +
                   results * sizeof(ItemPointerData);
        case RequestKind::Range:
            return items * (request.key_bits / 4.0 + request.runs * sizeof(uint64)) + results * entry;
        case RequestKind::Count:
            return items * (request.key_bits / 4.0 + sizeof(uint64));
        case RequestKind::Sort:
            return items * entry * 2;
        case RequestKind::Merge:
            return items * entry;
        case RequestKind::MergeDictionaries:
            return items * (2 * sizeof(uint64) + sizeof(uint32));
        case RequestKind::CountBoxes:
            return items * (request.key_bits / 4.0 + sizeof(uint64));
        case RequestKind::Match:
            return items * (request.key_bits / 8.0 + request.runs * sizeof(uint64)) +
                   results * sizeof(ItemPointerData);
        case RequestKind::SearchBoxes:
            return items * (request.key_bits / 4.0 + request.runs * sizeof(uint64)) +
                   results * sizeof(ItemPointerData);
        case RequestKind::CountRows:
        case RequestKind::CountValues:
            return results * sizeof(gpu_engine::DoubtfulRow);
        case RequestKind::MatchRows:
            return results * sizeof(ItemPointerData);
        case RequestKind::SearchText:
            return static_cast<double>(request.lists) * sizeof(gpu_engine::TextTerm) +
                   items * request.runs * sizeof(gpu_engine::TextQuery) +
                   results * sizeof(gpu_engine::TextHit);
        case RequestKind::CountText:
        case RequestKind::IntersectText:
            return static_cast<double>(request.lists) * sizeof(gpu_engine::TextList) +
                   results * sizeof(ItemPointerData);
    }
    return 0;
}

// Counting one range pages finds its two ends in each run, as two lookups do, but never in company.
static constexpr double kKeysPerLoneSearch = 20;

// Finding a box's cells in a run, in keys looked up on the same path.
static constexpr double kKeysPerBox[kPaths] = {200, 440, 10};

// The same of a point, whose cell is one.
static constexpr double kKeysPerPoint[kPaths] = {30, 35, 4};

// Points in the cells that a box cuts through are unpacked from pages and compared; the server's cells are
// smaller, so that it has fewer of them.
static constexpr double kEntriesPerPoint[kPaths] = {1, 0.8, 0.3};

// A column's code is read in bulk, in entries read on the same path. The host engine does for one thread what
// a session does.
static constexpr double kEntriesPerCode = 0.6;
static constexpr double kEntriesPerDeviceCode = 0.1;

static double code_microseconds(Path path) {
    const CostSettings &costs = cost_settings();
    if (path == Path::Cuda)
        return costs.entry[static_cast<int>(Path::Cuda)] * kEntriesPerDeviceCode;
    const double alone = costs.entry[static_cast<int>(Path::Paged)] * kEntriesPerCode;
    return path == Path::Host ? alone / host_threads() : alone;
}

// Whether an entry's heap block is all-visible, where each one must be looked at.
static constexpr double kVisibilityLook = 0.015;

// What a leaf page costs that a lookup comes to, in microseconds: keys that lie close together share it.
static constexpr double kLeafPage = 0.8;

ListFeatures list_features(const Request &request) {
    ListFeatures features;
    features[kRanking] = 1;
    features[kList] = static_cast<double>(request.lists);
    features[kWindows] = static_cast<double>(request.windows);
    features[kPostings] = static_cast<double>(request.entries);
    features[kShortest] = static_cast<double>(request.shortest);
    features[kSecond] = static_cast<double>(request.second);
    return features;
}

static double list_microseconds(const Request &request, Path path) {
    const ListFeatures features = list_features(request);
    return std::inner_product(features.begin(), features.end(), cost_settings().lists[static_cast<int>(path)],
                              0.0);
}

static double leaf_pages_visited(const Request &request) {
    const double entry = request.key_bits / 8.0 + sizeof(ItemPointerData);
    const double leaves = static_cast<double>(request.entries) * entry / BLCKSZ;
    return Min(static_cast<double>(request.items) * request.runs, leaves);
}

// Queues apart.
static double work_microseconds(const Request &request, Path path) {
    const CostSettings &costs = cost_settings();
    const int p = static_cast<int>(path);
    const auto items = static_cast<double>(request.items);
    double microseconds = 0;
    switch (request.kind) {
        case RequestKind::Lookup:
            microseconds = items * request.runs * costs.key[p] +
                           static_cast<double>(request.results) * costs.entry[p] +
                           (path == Path::Paged ? leaf_pages_visited(request) * kLeafPage : 0);
            break;
        case RequestKind::Range:
            microseconds = items * 2 * request.runs * costs.key[p] +
                           static_cast<double>(request.results) * costs.entry[p];
            break;
        case RequestKind::Count:
            microseconds =
                items * 2 * request.runs * costs.key[p] * (path == Path::Paged ? kKeysPerLoneSearch : 1) +
                static_cast<double>(request.results) *
                    (costs.entry[p] + (path == Path::Paged ? kVisibilityLook : 0));
            break;
        case RequestKind::CountBoxes:
        case RequestKind::SearchBoxes:
            microseconds =
                items * request.runs * costs.key[p] * kKeysPerBox[p] +
                static_cast<double>(request.results) * costs.entry[p] *
                    (request.kind == RequestKind::CountBoxes || path == Path::Paged ? kEntriesPerPoint[p]
                                                                                    : 1);
            break;
        case RequestKind::Match:
            microseconds = items * request.runs * costs.key[p] * kKeysPerPoint[p] +
                           static_cast<double>(request.results) * costs.entry[p];
            break;
        case RequestKind::CountRows:
        case RequestKind::CountValues:
        case RequestKind::MatchRows:
            microseconds = static_cast<double>(request.entries) * code_microseconds(path) * request.columns +
                           static_cast<double>(request.results) * costs.entry[p];
            break;
        case RequestKind::SearchText:
        case RequestKind::CountText:
        case RequestKind::IntersectText:
            microseconds = list_microseconds(request, path);
            break;
        case RequestKind::Sort:
        case RequestKind::Merge:
        case RequestKind::MergeDictionaries:
            microseconds = items * costs.sort[p];
            break;
    }
    if (path == Path::Paged)
        return microseconds;
    return microseconds + costs.request[p] + bytes_moved(request) / kMebibyte * costs.transfer;
}

double estimate_microseconds(const Request &request, Path path) {
    double microseconds = work_microseconds(request, path);
    // The host engine's threads have the same processors.
    if (are_waits_known(request.kind) && path != Path::Cuda)
        microseconds += lately_waited(Path::Paged);
    return path == Path::Paged ? microseconds : microseconds + lately_waited(path);
}

protocol::ExpectedCost expected_cost(const Request &request, Path path) {
    constexpr double kMillisecond = 1000;
    if (is_path_forced())
        return {};
    const double alone = work_microseconds(request, path);
    const CostSettings &costs = cost_settings();
    const int p = static_cast<int>(path);
    // Others in the same call take it, too.
    const double call = costs.request[p] + costs.lists[p][kRanking];
    return {work_microseconds(request, Path::Paged) / kMillisecond, alone / kMillisecond,
            (alone - call) / kMillisecond};
}

// ---- choosing ---------------------------------------------------------------------------------------------

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

// Mirrors aside, is there anything the setting leaves to choose?
static bool uses_mirrors(RequestKind kind) {
    return kind != RequestKind::Sort && kind != RequestKind::MergeDictionaries;
}

static Path wanted_path(const Request &request) {
    const PathSetting setting = path_setting();
    if (setting == PathSetting::Paged || request.runs > kMaxRuns ||
        (uses_mirrors(request.kind) && mirror_setting() == MirrorSetting::Off))
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
        if (is_resting(path)) {
            note_reason(path, request.kind, rests[static_cast<int>(path)].reason);
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
