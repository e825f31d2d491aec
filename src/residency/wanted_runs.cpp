// Sessions add up what requests would have saved with a run resident, and one of them loads the run once that
// is as much as loading takes: so they lose at most twice the least time. Each asks again now and then, since
// others load as well. Until then it reads such runs from pages beside the requests to the others.
#include "residency/wanted_runs.h"

#include "cost/cost.h"
#include "residency/obsolete_mirrors.h"
#include "cost/usage.h"
#include "session_table.h"
#include "settings.h"
#include "storage/storage.h"

namespace pg_gpu::client {

namespace {

struct WantedKey {
    protocol::RunName name;
    Path path;
    uint32 padding;
};
static_assert(sizeof(WantedKey) == sizeof(protocol::RunName) + 8, "hashed as bytes");

struct WantedRun {
    WantedKey key;
    TimestampTz look_again;
    bool refused;  // the server had no room: don't try before look_again
    bool loading;  // another session was loading it
};

}  // namespace

static constexpr int kLookAgainMs = 1000;
static constexpr int kLoadingMs = 20;
static constexpr int kRefusedMs = 10000;
// Making a mirror costs so many requests, whatever its size.
static constexpr double kRequestsToLoad = 4;
static constexpr char kManual[] = "runs are not resident, and pg_gpu.mirror is manual";
static SessionTable<WantedKey, WantedRun> wanted_runs = {"pg_gpu wanted runs", 4096};
// The reason for which the server refused the last run that it had no room for.
static char refusal[storage::kReasonBytes];
// Set when the last request met runs that are not resident, or a view that is out of date.
static bool found_lacking = false;

static WantedRun *find_wanted(const RunSet &set, int place, Path path, HASHACTION action) {
    return search(&wanted_runs, WantedKey{run_name(set.index, set.runs[place].run_id), path, 0}, action);
}

// ---- does loading pay? ------------------------------------------------------------------------------------

double finish_microseconds(const RunSet &set, const storage::RunEntry &run, Path path) {
    const int p = static_cast<int>(path);
    return static_cast<double>(set.format->mirrored_entries(run)) * cost_constants().sort[p] *
           set.format->kind->finish_sorts[p];
}

double load_microseconds(const RunSet &set, int place, Path path) {
    const CostConstants &costs = cost_constants();
    const storage::RunEntry &run = set.runs[place];
    const double pages = mirrored_pages(*set.format, run).count;
    const double building = set.format->kind->finishing_counts ? finish_microseconds(set, run, path) : 0;
    return pages * BLCKSZ / kMebibyte * costs.load + building +
           kRequestsToLoad * costs.request[static_cast<int>(path)];
}

static bool is_forced(Path path) {
    return path_setting() == (path == Path::Cuda ? PathSetting::Cuda : PathSetting::Host);
}

uint64 live_entries(const RunSet &set, const LiveRuns &live) {
    uint64 entries = 0;
    for (int i = 0; i < live.count; i++)
        entries += set.format->mirrored_entries(set.runs[live.places[i]]);
    return entries;
}

// Returns a run's part of what the request would save if all were resident.
static double saving_of(const RunSet &set, int place, const Choice &choice, uint64 all_entries) {
    if (set.saves != nullptr && !is_worth_mirroring(*set.format, set.runs[place]))
        return set.saves[place];
    return Max(choice.saving, 0.0) * static_cast<double>(set.format->mirrored_entries(set.runs[place])) /
           static_cast<double>(all_entries);
}

// Does loading the run pay, by what such loads have really taken lately? What requests missed by one path is
// counted for the other, too: where both are faster than pages, the one that is chosen changes with queues.
static bool pays(const RunSet &set, int place, const WantedRun &wanted, Path path) {
    return mirror_setting() == MirrorSetting::Auto && !wanted.refused &&
           (is_forced(path) ||
            saving_of_run(wanted.key.name) >= expected_load(load_microseconds(set, place, path)));
}

bool is_worth_a_request(const RunSet &set, const LiveRuns &live, const Choice &choice) {
    begin_purpose();
    drop_outlived_mirrors(set);
    found_lacking = false;
    // A server process that doesn't answer that is asked nothing more, and the reason stays told.
    if (!is_connected())
        return false;
    const TimestampTz now = GetCurrentTimestamp();
    const uint64 all_entries = live_entries(set, live);
    bool waits = false;
    bool refused = false;
    for (int i = 0; i < live.count; i++) {
        const int place = live.places[i];
        WantedRun *wanted = find_wanted(set, place, choice.path, HASH_FIND);
        if (wanted == nullptr)
            continue;
        add_saving(wanted->key.name, saving_of(set, place, choice, all_entries));
        if (now >= wanted->look_again)
            continue;
        refused = refused || wanted->refused;
        waits = waits || !pays(set, place, *wanted, choice.path);
    }
    return !waits || fail(RequestFailure::NotWanted, "%s", refused ? refusal : "runs are not resident");
}

static void look_again_in(WantedRun *wanted, int milliseconds) {
    wanted->look_again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), milliseconds);
    wanted->refused = false;
    wanted->loading = false;
}

bool may_load(const RunSet &set, int place, const Choice &choice, uint64 all_entries) {
    const bool automatic = mirror_setting() == MirrorSetting::Auto;
    if (automatic && is_forced(choice.path))
        return true;
    WantedRun *wanted = find_wanted(set, place, choice.path, HASH_ENTER);
    // Later requests have been added by is_worth_a_request.
    if (wanted->look_again == 0)
        add_saving(wanted->key.name, saving_of(set, place, choice, all_entries));
    look_again_in(wanted, kLookAgainMs);
    if (pays(set, place, *wanted, choice.path))
        return true;
    found_lacking = true;
    return fail(RequestFailure::NotWanted,
                automatic ? "runs are not resident, and loading them does not pay yet" : kManual);
}

void note_loaded(const RunSet &set, int place, Path path) {
    find_wanted(set, place, path, HASH_REMOVE);
    forget_saving(run_name(set.index, set.runs[place].run_id));
}

void note_loading(const RunSet &set, int place, Path path) {
    WantedRun *wanted = find_wanted(set, place, path, HASH_ENTER);
    look_again_in(wanted, kLoadingMs);
    wanted->loading = true;
    found_lacking = true;
}

void note_recycled() {
    found_lacking = true;
}

void note_no_room(const RunSet &set, int place, Path path) {
    WantedRun *wanted = find_wanted(set, place, path, HASH_ENTER);
    look_again_in(wanted, kRefusedMs);
    wanted->refused = true;
    strlcpy(refusal, last_reason(), sizeof(refusal));
}

// ---- sharing out ------------------------------------------------------------------------------------------

// Is the run known not to be resident, and not to be loaded now?
static bool is_known_to_lack(const RunSet &set, int place, const Choice &choice, TimestampTz now,
                             uint64 all_entries) {
    WantedRun *wanted = find_wanted(set, place, choice.path, HASH_FIND);
    // Pages answer for a run that there was no room for, as for all others that aren't loaded.
    if (wanted == nullptr || wanted->refused || now >= wanted->look_again)
        return false;
    if (!wanted->loading && pays(set, place, *wanted, choice.path))
        return false;
    add_saving(wanted->key.name, saving_of(set, place, choice, all_entries));
    return true;
}

// Is the small run asked all the same? It soon is part of another run, so that its mirror must pay for itself
// by this request alone; beside writers each batch meets recent runs. Where another session loads it, or
// there was no room, nobody waits for it.
static bool pays_for_batch(const RunSet &set, int place, const Choice &choice, TimestampTz now) {
    if (set.saves == nullptr || mirror_setting() != MirrorSetting::Auto ||
        set.format->mirrored_entries(set.runs[place]) == 0 ||
        set.saves[place] < expected_load(load_microseconds(set, place, choice.path)))
        return false;
    const WantedRun *wanted = find_wanted(set, place, choice.path, HASH_FIND);
    return wanted == nullptr || now >= wanted->look_again;
}

bool share_out(const RunSet &set, const Choice &choice, RequestKind kind, bool *is_local) {
    const TimestampTz now = GetCurrentTimestamp();
    found_lacking = false;
    uint64 all_entries = 0;
    uint64 small_runs = 0;
    for (int i = 0; i < set.count; i++) {
        is_local[i] = !is_worth_mirroring(*set.format, set.runs[i]) && !pays_for_batch(set, i, choice, now);
        small_runs += is_local[i] ? 1 : 0;
        all_entries += is_local[i] ? 0 : set.format->mirrored_entries(set.runs[i]);
    }
    uint64 lacking_runs = 0;
    uint64 lacking_entries = 0;
    for (int i = 0; i < set.count; i++) {
        if (is_local[i] || !is_known_to_lack(set, i, choice, now, all_entries))
            continue;
        is_local[i] = true;
        lacking_runs++;
        lacking_entries += set.format->mirrored_entries(set.runs[i]);
    }
    count_local_runs(small_runs, lacking_runs);
    if (lacking_entries <= all_entries / 2)
        return true;
    fail(RequestFailure::NotWanted,
         mirror_setting() == MirrorSetting::Auto ? "runs are not resident" : kManual);
    return note_failed(kind, choice);
}

bool may_share_out_again() {
    const bool again = found_lacking;
    found_lacking = false;
    return again;
}

}  // namespace pg_gpu::client
