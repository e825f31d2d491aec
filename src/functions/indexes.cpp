// gpu.indexes: all indexes of ours in this database, each at the price of its run list.
#include <algorithm>

#include "access_methods.h"
#include "rpc/rpc.h"
#include "residency/inventory.h"
#include "residency/residency.h"
#include "compat.h"
#include "functions/rows.h"
#include "settings.h"
#include "storage/storage.h"
#include "subtransaction.h"
#include "version.h"

PG_GPU_FUNCTION(pg_gpu_index_rows);

using namespace pg_gpu;
namespace protocol = gpu_engine::protocol;

namespace {

using Mirrors = client::Inventory<protocol::MirrorRow>;

// The state in which an index was found.
struct Looked {
    const char *state;
    const char *problem;  // problem that was found, if the index is damaged
    bool is_read;         // the following are known
    uint64 bytes;
    int runs;
    uint64 entries;
    uint64 dead;
    uint64 resident;  // entries of runs with a mirror
};

// The row's columns, in order.
enum Column : int {
    kIndex,
    kTable,
    kMethod,
    kState,
    kProblem,
    kBytes,
    kRuns,
    kEntries,
    kDeadShare,
    kResidentShare,
    kMerges,
    kLastMerge,
    kMergesDeferred,
    kLastDeferred,
    kFallbacks,
    kLastFallback,
    kLastReason,
    kReasons,
    kReasonCounts,
    kColumns
};

struct Row {
    Datum values[kColumns];
    bool nulls[kColumns];
};

struct Methods {
    Oid oids[4];
    const char *names[4];
};

// An index as the catalog has it.
struct Found {
    Oid index;
    Oid owner;
    bool is_partitioned;
    const char *method;
};

}  // namespace

static void put(Row *row, Column column, Datum value) {
    row->values[column] = value;
    row->nulls[column] = false;
}

static void put_number(Row *row, Column column, uint64 number) {
    put(row, column, Int64GetDatum(static_cast<int64>(number)));
}

// ---- one index --------------------------------------------------------------------------------------------

// Mirrors are ordered by run.
static bool is_resident(const Mirrors &mirrors, const protocol::RunName &name, bool sees_all) {
    const protocol::MirrorRow *const rows = mirrors.rows;
    const protocol::MirrorRow *const end = rows + mirrors.count;
    const protocol::MirrorRow *mirror = std::lower_bound(
        rows, end, name.run, [](const protocol::MirrorRow &row, uint64 run) { return row.name.run < run; });
    while (mirror != end && mirror->name.run == name.run) {
        if (mirror->name == name && (sees_all || functions::may_see_rows_of(mirror->user)))
            return true;
        mirror++;
    }
    return false;
}

static void read_runs(Relation index, const Mirrors &mirrors, bool sees_all, Looked *looked) {
    const storage::RunKind *kind = run_kind_of(index);
    Buffer buffer = storage::lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    int count;
    storage::RunEntry *runs = storage::copy_directory(index, kind, BufferGetPage(buffer), &count);
    UnlockReleaseBuffer(buffer);
    looked->runs = count;
    for (int i = 0; i < count; i++) {
        looked->entries += runs[i].entries;
        looked->dead += runs[i].dead;
        if (is_resident(mirrors, client::run_name(index, runs[i].run_id), sees_all))
            looked->resident += runs[i].entries;
        if (runs[i].level == storage::kSetAsideLevel) {
            looked->state = "damaged";
            looked->problem = "a merge has met damage in one of its runs";
        }
    }
    pfree(runs);
    looked->is_read = true;
}

static void read_open_index(Relation index, const Mirrors &mirrors, bool sees_all, Looked *looked) {
    // CREATE and REINDEX CONCURRENTLY write an index for as long as it isn't ready, and may have left it so.
    const bool is_built = index->rd_index->indisready;
    looked->state = !is_built ? "building" : index->rd_index->indisvalid ? "ready" : "invalid";
    ErrorData *error = try_in_subtransaction(CurrentMemoryContext, [&] {
        looked->bytes = static_cast<uint64>(RelationGetNumberOfBlocks(index)) * BLCKSZ;
        if (is_built)
            read_runs(index, mirrors, sees_all, looked);
    });
    if (error == nullptr)
        return;
    // An error about the index itself is told in its row.
    if (!is_about_work(*error))
        ReThrowError(error);
    *looked = {"damaged", error->message, false, looked->bytes, 0, 0, 0, 0};
}

// Waits for nobody: a REINDEX or a DROP may take its time.
static bool look_at(const Found &found, const Mirrors &mirrors, bool sees_all, Looked *looked) {
    const Oid oid = found.index;
    *looked = {};
    if (found.is_partitioned) {
        looked->state = "partitioned";
        return true;
    }
    looked->state = "locked";
    if (!ConditionalLockRelationOid(oid, AccessShareLock))
        return SearchSysCacheExists1(RELOID, ObjectIdGetDatum(oid));
    Relation index = try_relation_open(oid, NoLock);
    if (index == nullptr) {
        UnlockRelationOid(oid, AccessShareLock);
        return false;
    }
    if (RELATION_IS_OTHER_TEMP(index))
        looked->state = "temporary";
    else if (index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED && RecoveryInProgress())
        looked->state = "unlogged";
    else
        read_open_index(index, mirrors, sees_all, looked);
    relation_close(index, AccessShareLock);
    return true;
}

// ---- rows -------------------------------------------------------------------------------------------------

static void put_looked(Row *row, const Looked &looked, bool is_residency_known) {
    put(row, kState, CStringGetTextDatum(looked.state));
    if (looked.problem != nullptr)
        put(row, kProblem, CStringGetTextDatum(looked.problem));
    if (looked.is_read || looked.problem != nullptr || looked.bytes > 0)
        put_number(row, kBytes, looked.bytes);
    if (!looked.is_read)
        return;
    const auto share = [&](uint64 part) {
        return Float8GetDatum(
            looked.entries > 0 ? static_cast<double>(part) / static_cast<double>(looked.entries) : 0);
    };
    put(row, kRuns, Int32GetDatum(looked.runs));
    put_number(row, kEntries, looked.entries);
    put(row, kDeadShare, share(looked.dead));
    if (is_residency_known)
        put(row, kResidentShare, share(looked.resident));
}

// Two arrays, element by element a reason and how often it was one.
static void put_reasons(Row *row, const storage::IndexStatistics &statistics) {
    Datum reasons[storage::kReasonsOfIndex];
    Datum counts[storage::kReasonsOfIndex];
    int count = 0;
    for (; count < storage::kReasonsOfIndex && statistics.reasons[count] != 0; count++) {
        reasons[count] = CStringGetTextDatum(storage::reason_of_number(statistics.reasons[count]));
        counts[count] = Int64GetDatum(static_cast<int64>(statistics.counts[count]));
    }
    put(row, kReasons, PointerGetDatum(construct_array(reasons, count, TEXTOID, -1, false, TYPALIGN_INT)));
    put(row, kReasonCounts,
        PointerGetDatum(construct_array(counts, count, INT8OID, sizeof(int64), true, TYPALIGN_DOUBLE)));
}

static void put_time(Row *row, Column column, TimestampTz time) {
    if (time != 0)
        put(row, column, TimestampTzGetDatum(time));
}

// Fall-backs and their reasons are shown only with `sees_all`, because they are about other users'
// statements.
static void put_statistics(Row *row, Oid index, bool sees_all) {
    storage::IndexStatistics statistics;
    storage::read_index_statistics(index, &statistics);
    put_number(row, kMerges, statistics.merges);
    put_time(row, kLastMerge, statistics.last_merge);
    put_number(row, kMergesDeferred, statistics.deferred);
    put_time(row, kLastDeferred, statistics.last_deferred);
    if (!sees_all)
        return;
    put_number(row, kFallbacks, statistics.fallbacks);
    put_time(row, kLastFallback, statistics.last_fallback);
    if (statistics.fallbacks == 0)
        return;
    if (statistics.last_reason != 0)
        put(row, kLastReason, CStringGetTextDatum(storage::reason_of_number(statistics.last_reason)));
    put_reasons(row, statistics);
}

// ---- all indexes ------------------------------------------------------------------------------------------

static Methods methods() {
    Methods methods = {{}, {"gpu_kary", "gpu_grid", "gpu_column", "gpu_text"}};
    for (size_t i = 0; i < lengthof(methods.oids); i++)
        methods.oids[i] = get_am_oid(methods.names[i], true);
    return methods;
}

static const char *name_of_method(const Methods &methods, Oid method) {
    for (size_t i = 0; i < lengthof(methods.oids); i++)
        if (OidIsValid(method) && methods.oids[i] == method)
            return methods.names[i];
    return nullptr;
}

// The catalog has no index by access method, as its own queries for one haven't.
static List *find_indexes() {
    const Methods all = methods();
    List *found = NIL;
    Relation classes = table_open(RelationRelationId, AccessShareLock);
    SysScanDesc scan = systable_beginscan(classes, InvalidOid, false, nullptr, 0, nullptr);
    HeapTuple tuple;
    while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
        const auto *form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
        const char *method = name_of_method(all, form->relam);
        if (method == nullptr)
            continue;
        auto *one = static_cast<Found *>(palloc(sizeof(Found)));
        *one = {form->oid, form->relowner, form->relkind == RELKIND_PARTITIONED_INDEX, method};
        found = lappend(found, one);
    }
    systable_endscan(scan);
    table_close(classes, AccessShareLock);
    return found;
}

Datum pg_gpu_index_rows(PG_FUNCTION_ARGS) {
    require_matching_objects();
    InitMaterializedSRF(fcinfo, 0);
    Mirrors mirrors = {};
    const bool is_residency_known = client::list_mirrors(&mirrors) ||
                                    client::last_failure() == client::RequestFailure::NoServer ||
                                    !server_wanted();
    std::sort(
        mirrors.rows, mirrors.rows + mirrors.count,
        [](const protocol::MirrorRow &a, const protocol::MirrorRow &b) { return a.name.run < b.name.run; });
    const bool sees_everything = functions::may_see_all_rows();
    ListCell *cell;
    foreach (cell, find_indexes()) {
        CHECK_FOR_INTERRUPTS();
        const auto *found = static_cast<const Found *>(lfirst(cell));
        const bool sees_all = sees_everything || has_privs_of_role(GetUserId(), found->owner);
        Looked looked;
        if (!look_at(*found, mirrors, sees_all, &looked))
            continue;
        Row row = {};
        memset(row.nulls, true, sizeof(row.nulls));
        put(&row, kIndex, ObjectIdGetDatum(found->index));
        const Oid table = IndexGetRelation(found->index, true);
        if (OidIsValid(table))
            put(&row, kTable, ObjectIdGetDatum(table));
        put(&row, kMethod, CStringGetTextDatum(found->method));
        put_looked(&row, looked, is_residency_known);
        put_statistics(&row, found->index, sees_all);
        functions::put_row(fcinfo, row.values, row.nulls);
    }
    return Datum{0};
}
