// A library for tests alone: holds sessions at points that pg_gpu names, and has small tables built as large
// ones are. Its settings:
//
// pg_gpu_test.hold_readers, hold_extensions, hold_results, hold_vacuum, hold_run_pages: the key of an
// advisory lock that is waited for at such a point; 0 for none. Readers and who writes a run wait for this
// key and the next one, in turn. pg_gpu_test.hold_merge_workers: merge workers wait until it is off again.
// pg_gpu_test.listed_numerics: so many different numerics of a run have a dictionary in any case.
#include "column/format/layout.h"
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

static void define_key(const char *name, const char *description, int *key, GucIntAssignHook assign) {
    DefineCustomIntVariable(name, description, nullptr, key, 0, 0, INT_MAX - 1, PGC_SUSET, 0, nullptr, assign,
                            nullptr);
}

void _PG_init(void) {
    static const pg_gpu::TestHooks hooks = {hold, [] { return listed_numerics; }};
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
    MarkGUCPrefixReserved("pg_gpu_test");
    *find_rendezvous_variable(pg_gpu::kTestHooks) = const_cast<pg_gpu::TestHooks *>(&hooks);
}
