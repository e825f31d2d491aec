#include "settings.h"

#include "gpu_engine/device_list.h"

namespace pg_gpu {

static int path = static_cast<int>(PathSetting::Auto);
static int mirror = static_cast<int>(MirrorSetting::Auto);
static int server_process = static_cast<int>(ServerSetting::Auto);
static int smallest_mirror = 32768;
static int role_quota = 0;
static int database_quota = 0;

static bool enable_count_scan = true;
static bool enable_lookup_join = true;
static bool enable_query = true;
static int map_memory_kb = 32768;
static int insert_memory_kb = 4096;
static bool enable_search = true;
static bool enable_block_facts = true;

static ServerSettings server = {};
static char *devices = nullptr;
static int request_timeout_ms = 2000;
static int connection_idle_timeout_ms = 30000;
static int session_transfer_memory = 64;

static const config_enum_entry path_names[] = {
    {"auto", static_cast<int>(PathSetting::Auto), false},
    {"paged", static_cast<int>(PathSetting::Paged), false},
    {"host", static_cast<int>(PathSetting::Host), false},
    {"cuda", static_cast<int>(PathSetting::Cuda), false},
    {nullptr, 0, false},
};

static const config_enum_entry mirror_names[] = {
    {"auto", static_cast<int>(MirrorSetting::Auto), false},
    {"manual", static_cast<int>(MirrorSetting::Manual), false},
    {"off", static_cast<int>(MirrorSetting::Off), false},
    {nullptr, 0, false},
};

static const config_enum_entry server_names[] = {
    {"auto", static_cast<int>(ServerSetting::Auto), false},
    {"off", static_cast<int>(ServerSetting::Off), false},
    {nullptr, 0, false},
};

static void define_server_setting(const char *name, const char *description, const char *more, int *value,
                                  int most, int flags) {
    DefineCustomIntVariable(name, description, more, value, 0, 0, most, PGC_SIGHUP, flags, nullptr, nullptr,
                            nullptr);
}

// Refuses a list that the server process would refuse to start with, and names the word that is wrong.
static bool check_devices(char **value, void **, GucSource) {
    using gpu_engine::device_list::max_devices;
    gpu_engine::NamedDevice devices[max_devices];
    const char *wrong = nullptr;
    if (*value == nullptr || gpu_engine::read_device_list(*value, devices, max_devices, &wrong) >= 0)
        return true;
    GUC_check_errdetail(
        "At \"%s\" there is neither a device's number nor a UUID, or one that is listed "
        "already, or the list is longer than %d devices.",
        wrong, static_cast<int>(max_devices));
    return false;
}

static void define_quota(const char *name, const char *description, int *value) {
    DefineCustomIntVariable(name, description, "0 is no quota.", value, 0, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MB,
                            nullptr, nullptr, nullptr);
}

static void define_server_settings() {
    constexpr int kMaxThreads = 4096;
    constexpr int kShortestTimeout = 10;
    constexpr int kLargestBuffer = 16384;
    define_server_setting("pg_gpu.device_memory_limit", "Device memory that mirrors and requests may take.",
                          "0 is half of what is free when the server process starts.",
                          &server.device_memory_limit, INT_MAX, GUC_UNIT_MB);
    define_server_setting("pg_gpu.host_memory_limit", "Memory that the host engine may take.",
                          "0 is 3/32 of the machine's.", &server.host_memory_limit, INT_MAX, GUC_UNIT_MB);
    define_server_setting(
        "pg_gpu.transfer_memory_limit", "Memory of all sessions' transfer buffers together.",
        "0 is the server process's default.", &server.transfer_memory_limit, INT_MAX, GUC_UNIT_MB);
    define_server_setting("pg_gpu.server_threads", "Threads of the host engine.",
                          "0 is half of the processors, or two of two. A change restarts the server process.",
                          &server.threads, kMaxThreads, 0);
    DefineCustomStringVariable("pg_gpu.devices", "Devices that the server process computes on.",
                               "Numbers or UUIDs, separated by commas; all that it sees where the list is "
                               "empty. A change restarts the server process.",
                               &devices, "", PGC_SIGHUP, 0, check_devices, nullptr, nullptr);
    DefineCustomIntVariable("pg_gpu.request_timeout",
                            "Time a request to the server process may take beyond four times its estimate.",
                            "Then the paged path answers.", &request_timeout_ms, 2000, kShortestTimeout,
                            INT_MAX / 2, PGC_SIGHUP, GUC_UNIT_MS, nullptr, nullptr, nullptr);
    DefineCustomEnumVariable("pg_gpu.server", "Whether there is a server process.",
                             "auto starts it with PostgreSQL where pg_gpu is preloaded, and else on first "
                             "use. off ends it, and pages answer.",
                             &server_process, static_cast<int>(ServerSetting::Auto), server_names, PGC_SIGHUP,
                             0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("pg_gpu.connection_idle_timeout",
                            "Time after which a session that does not use the server process gives back its "
                            "connection and transfer buffer.",
                            "A session that is idle in a transaction does so too.",
                            &connection_idle_timeout_ms, 30000, kShortestTimeout, INT_MAX / 2, PGC_SIGHUP,
                            GUC_UNIT_MS, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("pg_gpu.session_transfer_memory", "Largest transfer buffer of a session.",
                            "Larger requests are cut.", &session_transfer_memory, 64, 1, kLargestBuffer,
                            PGC_SUSET, GUC_UNIT_MB, nullptr, nullptr, nullptr);
}

void define_settings() {
    DefineCustomEnumVariable("pg_gpu.path", "Where pg_gpu answers requests.",
                             "auto chooses by cost; a path that is not available falls back to paged.", &path,
                             static_cast<int>(PathSetting::Auto), path_names, PGC_USERSET, 0, nullptr,
                             nullptr, nullptr);
    DefineCustomEnumVariable("pg_gpu.mirror", "When runs are copied into the server process.",
                             "auto does when the time it saves pays, manual leaves it to gpu.load, off uses "
                             "no mirrors.",
                             &mirror, static_cast<int>(MirrorSetting::Auto), mirror_names, PGC_SUSET, 0,
                             nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "pg_gpu.min_mirror_entries", "Entries of the smallest run that is copied into the server process.",
        "Smaller runs are read from pages on every path, by indexes of gpu_kary and gpu_grid. 0 copies all.",
        &smallest_mirror, smallest_mirror, 0, INT_MAX, PGC_SUSET, 0, nullptr, nullptr, nullptr);
    define_quota("pg_gpu.role_mirror_quota",
                 "Memory that mirrors which the session's user loaded may take, of each kind of engine.",
                 &role_quota);
    define_quota("pg_gpu.database_mirror_quota",
                 "Memory that mirrors of the database may take, of each kind of engine.", &database_quota);
    DefineCustomBoolVariable(
        "pg_gpu.enable_count_scan", "Enables the planner's use of count scans on pg_gpu's indexes.",
        "A query that only counts rows is answered from the index without a tuple an entry.",
        &enable_count_scan, true, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable(
        "pg_gpu.enable_lookup_join", "Enables the planner's use of lookup joins for gpu.lookup.",
        "A table joined by ctid with gpu.lookup of its index is read while keys are looked up.",
        &enable_lookup_join, true, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable(
        "pg_gpu.enable_query", "Enables the planner's use of the engine's query processor.",
        "Aggregates, groups and joins of tables with gpu_column's indexes are computed by one request.",
        &enable_query, true, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable("pg_gpu.enable_search",
                             "Enables the planner's use of gpu_text's indexes together with others.",
                             "The best rows are looked for among those that other indexes leave, and their "
                             "scores aren't computed again.",
                             &enable_search, true, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "pg_gpu.map_memory",
        "Memory in which a session keeps results of expressions for the values of columns.",
        "Later statements with the same expressions don't compute them again.", &map_memory_kb, 32768, 0,
        INT_MAX, PGC_USERSET, GUC_UNIT_KB, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "pg_gpu.insert_memory",
        "Memory in which a statement that inserts many rows keeps them for indexes of gpu_column.",
        "Their entries are written many at a time, and at the latest at the end of the statement. 0 writes "
        "each at once.",
        &insert_memory_kb, insert_memory_kb, 0, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB, nullptr, nullptr,
        nullptr);
    DefineCustomBoolVariable("pg_gpu.enable_block_facts",
                             "Remembers which rows of a changed block everyone sees.",
                             "Until the block changes again its rows aren't looked at any more. The memory "
                             "is bounded by work_mem.",
                             &enable_block_facts, true, PGC_USERSET, 0, nullptr, nullptr, nullptr);
    define_server_settings();
    define_auto_columns();
    MarkGUCPrefixReserved("pg_gpu");
}

bool count_scan_enabled() {
    return enable_count_scan;
}

bool lookup_join_enabled() {
    return enable_lookup_join;
}

bool query_enabled() {
    return enable_query;
}

size_t map_memory() {
    return static_cast<size_t>(map_memory_kb) * 1024;
}

size_t insert_memory() {
    return static_cast<size_t>(insert_memory_kb) * 1024;
}

bool search_enabled() {
    return enable_search;
}

bool block_facts_enabled() {
    return enable_block_facts;
}

PathSetting path_setting() {
    return static_cast<PathSetting>(path);
}

MirrorSetting mirror_setting() {
    return static_cast<MirrorSetting>(mirror);
}

uint64 role_mirror_quota() {
    return static_cast<uint64>(role_quota) << 20;
}

uint64 database_mirror_quota() {
    return static_cast<uint64>(database_quota) << 20;
}

uint64 min_mirror_entries() {
    return static_cast<uint64>(smallest_mirror);
}

void announce_forced_path() {
    static bool announced = false;
    if (likely(path_setting() == PathSetting::Auto || path_setting() == PathSetting::Paged) || announced)
        return;
    announced = true;
    ereport(
        NOTICE,
        (errmsg("path \"%s\" is not available", path_setting() == PathSetting::Host ? "host" : "cuda"),
         errdetail("The paged path is used instead."), errhint("Set pg_gpu.path to \"auto\" or \"paged\".")));
}

bool server_wanted() {
    return server_process == static_cast<int>(ServerSetting::Auto);
}

ServerSettings server_settings() {
    ServerSettings settings = server;
    settings.devices = devices != nullptr ? devices : "";
    return settings;
}

int request_timeout() {
    return request_timeout_ms;
}

int connection_idle_timeout() {
    return connection_idle_timeout_ms;
}

uint64 session_transfer_limit() {
    return static_cast<uint64>(session_transfer_memory) << 20;
}

}  // namespace pg_gpu
