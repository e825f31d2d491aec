// gpu.devices, and the rows of the views gpu.mirrors and gpu.stat.
#include "cost/cost.h"
#include "cost/counters.h"
#include "residency/inventory.h"
#include "compat.h"
#include "functions/rows.h"
#include "storage/storage.h"
#include "table/table.h"
#include "version.h"
#include "request_kinds.h"

PG_GPU_FUNCTION(pg_gpu_devices);
PG_GPU_FUNCTION(pg_gpu_mirror_rows);
PG_GPU_FUNCTION(pg_gpu_stat_rows);
PG_GPU_FUNCTION(pg_gpu_latency_rows);
PG_GPU_FUNCTION(pg_gpu_stat_reset);

using namespace pg_gpu;
namespace protocol = gpu_engine::protocol;

static const char *engine_name(uint32 engine) {
    return client::path_name(engine == static_cast<uint32>(protocol::EngineName::cuda) ? client::Path::Cuda
                                                                                       : client::Path::Host);
}

// Columns that only an open device can fill are NULL for the others.
Datum pg_gpu_devices(PG_FUNCTION_ARGS) {
    require_matching_objects();
    InitMaterializedSRF(fcinfo, 0);
    client::Inventory<protocol::DeviceRow> devices;
    client::list_devices(&devices);
    for (uint64 i = 0; i < devices.count; i++) {
        const protocol::DeviceRow &device = devices.rows[i];
        const gpu_engine::DeviceInfo &info = device.info;
        const bool is_described = info.memory_total > 0;
        const bool has_limit = device.memory_limit > 0;
        Datum values[] = {
            Int32GetDatum(info.device),
            CStringGetTextDatum(info.name),
            CStringGetTextDatum(
                psprintf("%d.%d", info.compute_capability_major, info.compute_capability_minor)),
            Int64GetDatum(static_cast<int64>(info.memory_total)),
            Int64GetDatum(static_cast<int64>(info.memory_free)),
            CStringGetTextDatum(engine_name(device.engine)),
            CStringGetTextDatum(device.uuid),
            CStringGetTextDatum(device.pci),
            Int64GetDatum(static_cast<int64>(device.memory_limit)),
            Int64GetDatum(static_cast<int64>(device.memory_used)),
            CStringGetTextDatum(client::state_name(device.state)),
            CStringGetTextDatum(device.why_not),
        };
        bool nulls[] = {
            info.device < 0, info.name[0] == '\0',     !is_described,         !is_described, !is_described,
            false,           device.uuid[0] == '\0',   device.pci[0] == '\0', !has_limit,    !has_limit,
            false,           device.why_not[0] == '\0'};
        static_assert(lengthof(values) == lengthof(nulls));
        functions::put_row(fcinfo, values, nulls);
    }
    return Datum{0};
}

// ---- gpu.mirrors ------------------------------------------------------------------------------------------

static const char *kind_name(uint32 kind) {
    switch (static_cast<protocol::RunKind>(kind)) {
        case protocol::RunKind::grid:
            return "grid";
        case protocol::RunKind::column:
            return "column";
        case protocol::RunKind::text:
            return "text";
        default:
            return "kary";
    }
}

Datum pg_gpu_mirror_rows(PG_FUNCTION_ARGS) {
    require_matching_objects();
    InitMaterializedSRF(fcinfo, 0);
    client::Inventory<protocol::MirrorRow> mirrors;
    client::list_mirrors(&mirrors);
    for (uint64 i = 0; i < mirrors.count; i++) {
        const protocol::MirrorRow &mirror = mirrors.rows[i];
        if (!functions::may_see_rows_of(mirror.user))
            continue;
        const Oid index = client::index_of_run(mirror.name);
        Datum values[] = {
            ObjectIdGetDatum(index),
            Int64GetDatum(static_cast<int64>(mirror.name.run)),
            CStringGetTextDatum(kind_name(mirror.kind)),
            Int64GetDatum(static_cast<int64>(mirror.entries)),
            Int64GetDatum(static_cast<int64>(mirror.bytes)),
            Int32GetDatum(mirror.device),
            Int32GetDatum(mirror.part),
            Int32GetDatum(mirror.parts),
            BoolGetDatum(mirror.pinned != 0),
            functions::to_timestamp(mirror.loaded_at),
            functions::to_timestamp(mirror.last_used),
            Int64GetDatum(static_cast<int64>(mirror.hits)),
            CStringGetTextDatum(mirror.engine == static_cast<uint32>(protocol::EngineName::cuda) ? "cuda"
                                                                                                 : "host"),
        };
        bool nulls[lengthof(values)] = {};
        nulls[0] = !OidIsValid(index);
        nulls[5] = mirror.device < 0;
        functions::put_row(fcinfo, values, nulls);
    }
    return Datum{0};
}

// ---- gpu.stat ---------------------------------------------------------------------------------------------
// The requests of an engine are as the server process sums them up, while it answers. All else is what
// sessions count, in shared memory.

namespace {

// A row, where there is something to tell in it.
struct StatRow {
    const char *request;
    protocol::Message type;
    int kind;  // number by which sessions count it, or -1
};

struct StatSums {
    uint64 requests;
    uint64 items;
    uint64 bytes;
    double milliseconds;
};

}  // namespace

static StatRow row_of(client::RequestKind kind, protocol::Message type) {
    return {client::request_name(kind), type, static_cast<int>(kind)};
}

static const StatRow stat_rows[] = {
    row_of(client::RequestKind::LookupKary, protocol::Message::lookup_kary),
    row_of(client::RequestKind::RangeKary, protocol::Message::range_kary),
    row_of(client::RequestKind::CountKary, protocol::Message::count_kary),
    row_of(client::RequestKind::CountGrid, protocol::Message::count_grid),
    row_of(client::RequestKind::SearchGrid, protocol::Message::search_grid),
    row_of(client::RequestKind::MatchGrid, protocol::Message::match_grid),
    row_of(client::RequestKind::CountColumn, protocol::Message::count_column),
    row_of(client::RequestKind::CountColumnValues, protocol::Message::count_column_values),
    row_of(client::RequestKind::MatchColumn, protocol::Message::match_column),
    row_of(client::RequestKind::SearchText, protocol::Message::search_text),
    row_of(client::RequestKind::CountText, protocol::Message::count_text),
    row_of(client::RequestKind::IntersectText, protocol::Message::intersect_text),
    row_of(client::RequestKind::MergeColumnDictionaries, protocol::Message::merge_column_dictionaries),
    row_of(client::RequestKind::RunQuery, protocol::Message::run_query),
    {"read query", protocol::Message::read_query, -1},
    {"load", protocol::Message::append_pages, -1},
    {"finish", protocol::Message::finish, -1},
    {"set dead", protocol::Message::set_dead, -1},
};

static StatSums server_sums(const client::Inventory<protocol::StatisticsRow> &statistics, client::Path path,
                            protocol::Message type) {
    const auto engine = static_cast<uint32>(path == client::Path::Cuda ? protocol::EngineName::cuda
                                                                       : protocol::EngineName::host);
    StatSums sums = {};
    for (uint64 i = 0; i < statistics.count; i++) {
        const protocol::StatisticsRow &row = statistics.rows[i];
        if (row.engine != engine || row.type != static_cast<uint32>(type) ||
            !functions::may_see_rows_of(row.user))
            continue;
        sums.requests += row.requests;
        sums.items += row.items;
        sums.bytes += row.bytes;
        sums.milliseconds += static_cast<double>(row.microseconds) / 1000;
    }
    return sums;
}

static void put_stat_row(FunctionCallInfo fcinfo, client::Path path, const char *request,
                         const StatSums &sums, uint64 fallbacks, const char *last_reason) {
    if (sums.requests == 0 && sums.items == 0 && fallbacks == 0)
        return;
    Datum values[] = {
        CStringGetTextDatum(client::path_name(path)),
        CStringGetTextDatum(request),
        Int64GetDatum(static_cast<int64>(sums.requests)),
        Int64GetDatum(static_cast<int64>(sums.items)),
        Int64GetDatum(static_cast<int64>(sums.bytes)),
        Float8GetDatum(sums.milliseconds),
        Int64GetDatum(static_cast<int64>(fallbacks)),
        last_reason != nullptr ? CStringGetTextDatum(last_reason) : Datum{0},
    };
    bool nulls[lengthof(values)] = {};
    nulls[lengthof(values) - 1] = last_reason == nullptr;
    functions::put_row(fcinfo, values, nulls);
}

// Returns the reason of the last deferred merge: of this session, or else of any. The reason names an index,
// so others' reasons are for those who may see everybody's rows.
static const char *last_reason_deferred(const storage::DeferredMerges &own,
                                        const storage::DeferredMerges &all) {
    if (own.count > 0)
        return pstrdup(own.last_reason);
    if (all.count == 0 || !functions::may_see_rows_of(InvalidOid))
        return nullptr;
    if (all.last_database == MyDatabaseId)
        return pstrdup(all.last_reason);
    const char *database = get_database_name(all.last_database);
    return database == nullptr ? pstrdup(all.last_reason)
                               : psprintf("database \"%s\", %s", database, all.last_reason);
}

// A merge that was deferred is a request, and a fallback: to runs that are left as they are.
static void put_deferred_row(FunctionCallInfo fcinfo) {
    const storage::DeferredMerges &own = storage::session_deferred_merges();
    const storage::DeferredMerges all = storage::all_deferred_merges();
    put_stat_row(fcinfo, client::Path::Paged, "deferred merge", {all.count, 0, 0, 0}, all.count,
                 last_reason_deferred(own, all));
}

Datum pg_gpu_stat_rows(PG_FUNCTION_ARGS) {
    require_matching_objects();
    InitMaterializedSRF(fcinfo, 0);
    client::Inventory<protocol::StatisticsRow> statistics;
    const bool server_responds = client::list_statistics(&statistics, false);
    const table::FactsUse &facts = *table::facts_use();
    put_stat_row(fcinfo, client::Path::Paged, "block facts", {facts.pages, facts.entries, 0, 0}, 0, nullptr);
    for (int p = 0; p < client::kPaths; p++) {
        const auto path = static_cast<client::Path>(p);
        for (const StatRow &row : stat_rows) {
            const client::Counters counters =
                row.kind < 0 ? client::Counters{}
                             : client::sum_counters(path, static_cast<client::RequestKind>(row.kind),
                                                    functions::may_see_rows_of);
            const StatSums sums =
                path != client::Path::Paged && server_responds
                    ? server_sums(statistics, path, row.type)
                    : StatSums{counters.requests, counters.items, counters.bytes, counters.milliseconds};
            put_stat_row(fcinfo, path, row.request, sums, counters.fallbacks,
                         storage::reason_of_number(counters.last_reason));
        }
    }
    put_deferred_row(fcinfo);
    return Datum{0};
}

// Returns a row for each bucket, also the empty ones: histograms of several kinds of requests can be added up
// then.
static void put_latencies(FunctionCallInfo fcinfo, client::Path path, client::RequestKind kind) {
    const client::Counters counters = client::sum_counters(path, kind, functions::may_see_rows_of);
    uint64 requests = 0;
    for (int i = 0; i < client::kLatencyBuckets && counters.requests > 0; i++) {
        requests += counters.latencies[i];
        const double bound = i == client::kLatencyBuckets - 1
                                 ? get_float8_infinity()
                                 : static_cast<double>(client::latency_bound(i)) / 1000;
        const Datum values[] = {
            CStringGetTextDatum(client::path_name(path)),
            CStringGetTextDatum(client::request_name(kind)),
            Float8GetDatum(bound),
            Int64GetDatum(static_cast<int64>(counters.latencies[i])),
            Int64GetDatum(static_cast<int64>(requests)),
        };
        const bool nulls[lengthof(values)] = {};
        functions::put_row(fcinfo, values, nulls);
    }
}

Datum pg_gpu_latency_rows(PG_FUNCTION_ARGS) {
    require_matching_objects();
    InitMaterializedSRF(fcinfo, 0);
    for (int path = 0; path < client::kPaths; path++)
        for (int kind = 0; kind < client::kRequestKinds; kind++)
            put_latencies(fcinfo, static_cast<client::Path>(path), static_cast<client::RequestKind>(kind));
    return Datum{0};
}

Datum pg_gpu_stat_reset(PG_FUNCTION_ARGS) {
    static_cast<void>(fcinfo);
    require_matching_objects();
    storage::forget_session_deferred_merges();
    *table::facts_use() = {};
    // All but the counters of the user's own are everybody's.
    client::reset_counters(superuser() ? InvalidOid : GetSessionUserId());
    if (superuser()) {
        storage::forget_all_deferred_merges();
        storage::forget_index_statistics();
        client::Inventory<protocol::StatisticsRow> statistics;
        client::list_statistics(&statistics, true);
    }
    PG_RETURN_VOID();
}
