#include "storage/holds.h"

#include "compat.h"

namespace pg_gpu::storage {

static int readers_key = 0;
static int extensions_key = 0;
static int results_key = 0;
static int vacuum_key = 0;
static int views_held = 0;

static void define_hold(const char *name, const char *description, const char *more, int *key,
                        GucIntAssignHook assign) {
    DefineCustomIntVariable(name, description, more, key, 0, 0, INT_MAX - 1, PGC_SUSET,
                            GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, nullptr, assign, nullptr);
}

void define_hold_settings() {
    define_hold("pg_gpu.hold_readers",
                "Readers wait for an advisory lock behind each view they take. For tests.",
                "Its keys are this number and the next one, in turn.", &readers_key,
                [](int, void *) { views_held = 0; });
    define_hold("pg_gpu.hold_extensions",
                "A session waits for an advisory lock before it makes an index much longer. For tests.",
                "Its key is this number.", &extensions_key, nullptr);
    define_hold(
        "pg_gpu.hold_results",
        "A session waits for an advisory lock when it has checked an answer of the server process. For "
        "tests.",
        "Its key is this number.", &results_key, nullptr);
    define_hold("pg_gpu.hold_vacuum",
                "VACUUM waits for an advisory lock when it has marked an index's dead entries. For tests.",
                "Its key is this number.", &vacuum_key, nullptr);
}

static void wait_for(int64 key) {
    DirectFunctionCall1(pg_advisory_lock_int8, Int64GetDatum(key));
    DirectFunctionCall1(pg_advisory_unlock_int8, Int64GetDatum(key));
}

void hold_reader() {
    if (unlikely(readers_key != 0))
        wait_for(int64{readers_key} + views_held++ % 2);
}

void hold_extension() {
    if (unlikely(extensions_key != 0))
        wait_for(extensions_key);
}

void hold_results() {
    if (unlikely(results_key != 0))
        wait_for(results_key);
}

void hold_vacuum() {
    if (unlikely(vacuum_key != 0))
        wait_for(vacuum_key);
}

}  // namespace pg_gpu::storage
