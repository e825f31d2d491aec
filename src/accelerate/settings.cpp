#include "accelerate/settings.h"

#include "settings.h"

namespace pg_gpu {

static constexpr int kWeek = 7 * 24 * 60 * 60;

static int mode = static_cast<int>(accelerate::AutoColumns::Off);
static int interval = 600;
static int space_mb = 1024;
static double write_share = 0.1;
static int unused_seconds = kWeek;

static const config_enum_entry mode_names[] = {
    {"off", static_cast<int>(accelerate::AutoColumns::Off), false},
    {"advise", static_cast<int>(accelerate::AutoColumns::Advise), false},
    {"on", static_cast<int>(accelerate::AutoColumns::On), false},
    {nullptr, 0, false},
};

void define_auto_columns() {
    constexpr int kLongest = INT_MAX / 1000;
    DefineCustomEnumVariable("pg_gpu.auto_columns",
                             "Whether a worker makes gpu_column's indexes that recorded statements ask for.",
                             "advise only says which it would make. It takes preloading.", &mode, mode,
                             mode_names, PGC_SUSET, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "pg_gpu.auto_columns_interval", "Time from one look of that worker at all databases to the next.",
        nullptr, &interval, interval, 1, kLongest, PGC_SIGHUP, GUC_UNIT_S, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "pg_gpu.auto_columns_space", "Disk space that the worker's indexes of a database may take.", nullptr,
        &space_mb, space_mb, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MB, nullptr, nullptr, nullptr);
    DefineCustomRealVariable(
        "pg_gpu.auto_columns_write_share",
        "What an index may cost writers, as a share of the time that it saves statements.",
        "Both are estimates.", &write_share, write_share, 0, 1000, PGC_SUSET, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("pg_gpu.auto_columns_unused",
                            "Time after which the worker drops an index of its own that nobody uses.",
                            nullptr, &unused_seconds, unused_seconds, 1, kLongest, PGC_SUSET, GUC_UNIT_S,
                            nullptr, nullptr, nullptr);
}

}  // namespace pg_gpu

namespace pg_gpu::accelerate {

AutoColumnsSettings auto_columns() {
    return {static_cast<AutoColumns>(mode), interval, static_cast<int64>(space_mb) << 20, write_share,
            unused_seconds};
}

}  // namespace pg_gpu::accelerate
