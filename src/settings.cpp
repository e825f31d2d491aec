#include "settings.h"

namespace pg_gpu {

static int path_setting = static_cast<int>(Path::Auto);

static bool enable_count_scan = true;
static bool enable_lookup_join = true;

static const config_enum_entry path_names[] = {
    {"auto", static_cast<int>(Path::Auto), false},
    {"paged", static_cast<int>(Path::Paged), false},
    {"host", static_cast<int>(Path::Host), false},
    {"cuda", static_cast<int>(Path::Cuda), false},
    {nullptr, 0, false},
};

void define_settings() {
    DefineCustomEnumVariable("pg_gpu.path", "Where pg_gpu answers requests.",
                             "auto chooses by cost; a path that is not available falls back to paged.",
                             &path_setting, static_cast<int>(Path::Auto), path_names, PGC_USERSET, 0, nullptr,
                             nullptr, nullptr);
    DefineCustomBoolVariable(
        "pg_gpu.enable_count_scan", "Enables the planner's use of count scans on pg_gpu's indexes.",
        "A query that only counts rows is answered from the index without a tuple an entry.",
        &enable_count_scan, true, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable(
        "pg_gpu.enable_lookup_join", "Enables the planner's use of lookup joins for gpu.lookup.",
        "A table joined by ctid with gpu.lookup of its index is read while keys are looked up.",
        &enable_lookup_join, true, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
    MarkGUCPrefixReserved("pg_gpu");
}

bool count_scan_enabled() {
    return enable_count_scan;
}

bool lookup_join_enabled() {
    return enable_lookup_join;
}

void announce_forced_path() {
    static bool announced = false;
    const auto path = static_cast<Path>(path_setting);
    if (likely(path == Path::Auto || path == Path::Paged) || announced)
        return;
    announced = true;
    ereport(NOTICE, (errmsg("path \"%s\" is not available, the paged path is used instead",
                            path == Path::Host ? "host" : "cuda"),
                     errhint("Set pg_gpu.path to \"auto\" or \"paged\".")));
}

}  // namespace pg_gpu
