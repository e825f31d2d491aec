// A library for tests alone: holds sessions at points that pg_gpu names, and has small tables built as large
// ones are. Its settings:
//
// pg_gpu_test.hold_readers, hold_extensions, hold_results, hold_vacuum, hold_run_pages: the key of an
// advisory lock that is waited for at such a point; 0 for none. Readers and who writes a run wait for this
// key and the next one, in turn. pg_gpu_test.hold_merge_workers: merge workers wait until it is off again.
// pg_gpu_test.listed_numerics: so many different numerics of a run have a dictionary in any case.
// pg_gpu_test.costs: constants of the cost model, as a list like "host_request = 40, cuda_key = 0.001".
#include "column/format/layout.h"
#include "cost/constants.h"
#include "test_hooks.h"

using pg_gpu::HoldPoint;

extern "C" {
PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);
}

static int readers_key = 0;
static int extensions_key = 0;
static int results_key = 0;
static int vacuum_key = 0;
static int run_pages_key = 0;
static bool hold_merge_workers = false;
static int listed_numerics = pg_gpu::column::kMaxListedNumerics;
static char *costs_text = nullptr;
static pg_gpu::CostConstants costs = pg_gpu::kMeasuredCosts;
static int views_held = 0;
static int pages_held = 0;

static void wait_for(int64 key) {
    if (key == 0)
        return;
    DirectFunctionCall1(pg_advisory_lock_int8, Int64GetDatum(key));
    DirectFunctionCall1(pg_advisory_unlock_int8, Int64GetDatum(key));
}

// The worker has its database's locks, and is to see a change of the setting and a request to end. A signal
// would stop it at any instruction, with any lock held.
static void wait_while_workers_are_held() {
    constexpr long kLookIntervalMs = 20;
    while (hold_merge_workers) {
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kLookIntervalMs,
                  PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        if (ConfigReloadPending) {
            ConfigReloadPending = false;
            ProcessConfigFile(PGC_SIGHUP);
        }
    }
}

static void hold(HoldPoint point) {
    switch (point) {
        case HoldPoint::Reader:
            wait_for(readers_key == 0 ? 0 : int64{readers_key} + views_held++ % 2);
            break;
        case HoldPoint::Extension:
            wait_for(extensions_key);
            break;
        case HoldPoint::Result:
            wait_for(results_key);
            break;
        case HoldPoint::Vacuum:
            wait_for(vacuum_key);
            break;
        case HoldPoint::RunPages:
            wait_for(run_pages_key == 0 ? 0 : int64{run_pages_key} + pages_held++ % 2);
            break;
        case HoldPoint::MergeWorker:
            wait_while_workers_are_held();
            break;
    }
}

// Returns nullptr when no constant has the name.
static double *find_cost(pg_gpu::CostConstants *of, const char *name) {
    static const char *const kPaths[] = {"paged_", "host_", "cuda_"};
    static const char *const kFeatures[] = {"ranking", "list", "window", "posting", "shortest", "second"};
    static_assert(lengthof(kFeatures) == pg_gpu::kListFeatures && lengthof(kPaths) == pg_gpu::kCostedPaths);
    for (int p = 0; p < pg_gpu::kCostedPaths; p++) {
        if (strncmp(name, kPaths[p], strlen(kPaths[p])) != 0)
            continue;
        const char *what = name + strlen(kPaths[p]);
        for (int i = 0; i < pg_gpu::kListFeatures; i++)
            if (strcmp(what, kFeatures[i]) == 0)
                return &of->lists[p][i];
        return strcmp(what, "request") == 0 ? &of->request[p]
               : strcmp(what, "key") == 0   ? &of->key[p]
               : strcmp(what, "entry") == 0 ? &of->entry[p]
               : strcmp(what, "sort") == 0  ? &of->sort[p]
                                            : nullptr;
    }
    return strcmp(name, "transfer") == 0 ? &of->transfer : strcmp(name, "load") == 0 ? &of->load : nullptr;
}

// What the list leaves out is as measured. Returns false when it isn't such a list.
static bool read_costs(const char *text, pg_gpu::CostConstants *read) {
    *read = pg_gpu::kMeasuredCosts;
    while (*text != '\0') {
        char name[32];
        double value;
        int length = 0;
        if (sscanf(text, " %31[a-z_] = %lf %n", name, &value, &length) != 2)
            return false;
        double *cost = find_cost(read, name);
        if (cost == nullptr || (text[length] != ',' && text[length] != '\0'))
            return false;
        *cost = value;
        text += length + (text[length] == ',' ? 1 : 0);
    }
    return true;
}

static void define_costs() {
    DefineCustomStringVariable(
        "pg_gpu_test.costs", "Constants of the cost model, as a list of name = value.", nullptr, &costs_text,
        "", PGC_USERSET, 0,
        [](char **text, void **, GucSource) {
            pg_gpu::CostConstants read;
            return read_costs(*text, &read);
        },
        [](const char *text, void *) { read_costs(text, &costs); }, nullptr);
}

static void define_key(const char *name, const char *description, int *key, GucIntAssignHook assign) {
    DefineCustomIntVariable(name, description, nullptr, key, 0, 0, INT_MAX - 1, PGC_SUSET, 0, nullptr, assign,
                            nullptr);
}

void _PG_init(void) {
    static const pg_gpu::TestHooks hooks = {hold, [] { return listed_numerics; },
                                            []() -> const pg_gpu::CostConstants * { return &costs; }};
    define_key("pg_gpu_test.hold_readers",
               "The key of a lock that readers wait for behind each view they take.", &readers_key,
               [](int, void *) { views_held = 0; });
    define_key("pg_gpu_test.hold_extensions",
               "The key of a lock that is waited for before an index grows by much.", &extensions_key,
               nullptr);
    define_key("pg_gpu_test.hold_results",
               "The key of a lock that is waited for when an answer of the server process has been checked.",
               &results_key, nullptr);
    define_key("pg_gpu_test.hold_vacuum",
               "The key of a lock that VACUUM waits for when it has marked dead entries.", &vacuum_key,
               nullptr);
    define_key("pg_gpu_test.hold_run_pages",
               "The key of a lock that is waited for before pages of a run are written.", &run_pages_key,
               [](int, void *) { pages_held = 0; });
    DefineCustomBoolVariable("pg_gpu_test.hold_merge_workers", "Merge workers wait between two pages.",
                             nullptr, &hold_merge_workers, false, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("pg_gpu_test.listed_numerics",
                            "So many different numerics of a run have a dictionary in any case.", nullptr,
                            &listed_numerics, listed_numerics, 0, listed_numerics, PGC_SUSET, 0, nullptr,
                            nullptr, nullptr);
    define_costs();
    MarkGUCPrefixReserved("pg_gpu_test");
    *find_rendezvous_variable(pg_gpu::kTestHooks) = const_cast<pg_gpu::TestHooks *>(&hooks);
}
