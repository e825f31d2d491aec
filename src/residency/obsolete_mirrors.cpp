#include "residency/obsolete_mirrors.h"

#include <sys/stat.h>

#include "residency/inventory.h"
#include "residency/residency.h"
#include "residency/sweeps.h"
#include "compat.h"
#include "session_table.h"
#include "settings.h"

namespace pg_gpu::client {

// Of a database that isn't there, and of one whose file can't be looked at for now.
static constexpr uint32 kNoIncarnation = 0;
static constexpr uint32 kUnknownIncarnation = 1;

// A database's PG_VERSION is written when the database is made, and never again. Its row is: ALTER DATABASE
// and GRANT write that anew.
static uint32 incarnation_at(Oid database, Oid tablespace) {
    char *folder = GetDatabasePath(database, tablespace);
    char *path = psprintf("%s/PG_VERSION", folder);
    struct stat status;
    const int error = stat(path, &status) == 0 ? 0 : errno;
    pfree(path);
    pfree(folder);
    if (error != 0)
        return error == ENOENT || error == ENOTDIR ? kNoIncarnation : kUnknownIncarnation;
    const uint64 born[] = {status.st_ino, static_cast<uint64>(status.st_mtim.tv_sec),
                           static_cast<uint64>(status.st_mtim.tv_nsec)};
    const uint32 incarnation = hash_bytes(reinterpret_cast<const unsigned char *>(born), sizeof(born));
    return Max(incarnation, kUnknownIncarnation + 1);
}

uint32 database_incarnation(Oid database) {
    // Nobody can drop or move the database of a session.
    static uint32 own = kNoIncarnation;
    if (database == MyDatabaseId) {
        if (own <= kUnknownIncarnation)
            own = incarnation_at(MyDatabaseId, MyDatabaseTableSpace);
        return own;
    }
    HeapTuple row = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
    if (!HeapTupleIsValid(row))
        return kNoIncarnation;
    const Oid tablespace = reinterpret_cast<Form_pg_database>(GETSTRUCT(row))->dattablespace;
    ReleaseSysCache(row);
    return incarnation_at(database, tablespace);
}

// Returns whether this is a run of the session's own database.
static bool is_of_this_database(const protocol::RunName &name) {
    return name.database == MyDatabaseId && name.incarnation == database_incarnation(MyDatabaseId);
}

// Has this database a relation in the place, also one that another session's transaction has made and not
// committed yet? Several sessions may have temporary ones of the same number.
static bool has_relation(const protocol::RunName &name) {
    const Oid tablespace = name.tablespace == MyDatabaseTableSpace ? InvalidOid : name.tablespace;
    ScanKeyData keys[2];
    ScanKeyInit(&keys[0], Anum_pg_class_reltablespace, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(tablespace));
    ScanKeyInit(&keys[1], Anum_pg_class_relfilenode, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(name.relation));
    SnapshotData snapshot;
    InitDirtySnapshot(snapshot);
    Relation relations = table_open(RelationRelationId, AccessShareLock);
    SysScanDesc scan =
        systable_beginscan(relations, ClassTblspcRelfilenodeIndexId, true, &snapshot, lengthof(keys), keys);
    bool found = false;
    for (HeapTuple row; !found && HeapTupleIsValid(row = systable_getnext(scan));) {
        const auto *relation = reinterpret_cast<Form_pg_class>(GETSTRUCT(row));
        const bool is_temporary = relation->relpersistence == RELPERSISTENCE_TEMP;
        found = name.backend == -1
                    ? !is_temporary
                    : is_temporary && backend_of_namespace(relation->relnamespace) == name.backend;
    }
    systable_endscan(scan);
    table_close(relations, AccessShareLock);
    return found;
}

// Indexes of other databases can't be looked up from here. A session's number is another one's when it has
// ended, so that a temporary index may be gone though there is such a session.
static bool is_gone(const protocol::RunName &name) {
    const uint32 incarnation = database_incarnation(name.database);
    if ((incarnation != kUnknownIncarnation && name.incarnation != incarnation) ||
        (name.backend != -1 && !is_backend_in(name.backend, name.database)))
        return true;
    // What this transaction has dropped or built anew is there again when it is rolled back.
    if (name.database != MyDatabaseId || TransactionIdIsValid(GetTopTransactionIdIfAny()))
        return false;
    // What is committed is known without a scan.
    const bool is_known =
        name.backend == -1 && OidIsValid(relation_at({name.tablespace, name.database, name.relation}));
    return !is_known && !has_relation(name);
}

Oid index_of_run(const protocol::RunName &name) {
    if (name.backend != -1 || !is_of_this_database(name))
        return InvalidOid;
    return relation_at({name.tablespace, name.database, name.relation});
}

bool drop_mirrors(MirrorTest is_wanted, void *context, uint64 *bytes) {
    Inventory<protocol::MirrorRow> mirrors;
    bool answered = list_mirrors(&mirrors) || last_failure() == RequestFailure::NoServer || !server_wanted();
    for (uint64 i = 0; answered && i < mirrors.count; i++) {
        if (!is_wanted(mirrors.rows[i], context))
            continue;
        auto message = make_message<protocol::Evict>(protocol::Message::evict, Path::Host);
        message.name = mirrors.rows[i].name;
        protocol::EvictReply reply;
        answered = connect_to_server() && exchange(&message, &reply) &&
                   (result_of(reply.header) == protocol::ReplyResult::done || fail_by_reply(reply.header));
        if (answered)
            *bytes += reply.bytes;
    }
    if (mirrors.rows != nullptr)
        pfree(mirrors.rows);
    return answered;
}

void drop_obsolete_mirrors() {
    uint64 bytes = 0;
    drop_mirrors([](const protocol::MirrorRow &mirror, void *) { return is_gone(mirror.name); }, nullptr,
                 &bytes);
}

// ---- runs that were merged away --------------------------------------------------------------------------

namespace {

// The list of an index's runs that a server process was told last. It holds for the connection of that
// process.
struct ReportedList {
    protocol::RunName relation;  // the key
    uint64 directory_version;
    uint64 connection;
};

}  // namespace

static constexpr int kSweepMs = 2000;
static SessionTable<protocol::RunName, ReportedList> reported_lists = {"pg_gpu reported run lists", 1024};

static int64 microseconds_since_1970() {
    constexpr int64 kEpochDays = POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE;
    return GetCurrentTimestamp() + kEpochDays * SECS_PER_DAY * USECS_PER_SEC;
}

static bool report_listed_runs(const RunSet &set, const protocol::RunName &relation) {
    auto message = make_message<protocol::KeepRuns>(protocol::Message::keep_runs, Path::Host);
    message.name = relation;
    // Before the list is read: what is loaded later may be of a later list.
    message.listed_at = microseconds_since_1970();
    Buffer buffer = storage::lock_metapage(set.index, set.kind, BUFFER_LOCK_SHARE);
    int count;
    storage::RunEntry *runs = storage::copy_directory(set.index, set.kind, BufferGetPage(buffer), &count);
    UnlockReleaseBuffer(buffer);
    const uint64 bytes = count * sizeof(uint64);
    const bool placed = need_buffer(bytes, bytes);
    if (placed) {
        auto *ids = static_cast<uint64 *>(static_cast<void *>(buffer_at(0)));
        for (int i = 0; i < count; i++)
            ids[i] = runs[i].run_id;
    }
    pfree(runs);
    message.count = static_cast<uint64>(count);
    protocol::EvictReply reply;
    return placed && exchange(&message, &reply) && result_of(reply.header) == protocol::ReplyResult::done;
}

void drop_outlived_mirrors(const RunSet &set) {
    static TimestampTz swept_at = 0;
    Buffer buffer = storage::lock_metapage(set.index, set.kind, BUFFER_LOCK_SHARE);
    const uint64 version = storage::meta_page(BufferGetPage(buffer))->directory_version;
    UnlockReleaseBuffer(buffer);
    const protocol::RunName relation = run_name(set.index, 0);
    ReportedList *reported = search(&reported_lists, relation, HASH_ENTER);
    if ((reported->connection != connection_number() || reported->directory_version != version) &&
        report_listed_runs(set, relation)) {
        // The list may have changed since the version was read; then it is told once more.
        reported->connection = connection_number();
        reported->directory_version = version;
    }
    const TimestampTz now = GetCurrentTimestamp();
    if (is_connected() && !TransactionIdIsValid(GetTopTransactionIdIfAny()) &&
        TimestampDifferenceExceeds(swept_at, now, kSweepMs)) {
        swept_at = now;
        if (begin_sweep(now, kSweepMs))
            drop_obsolete_mirrors();
    }
}

}  // namespace pg_gpu::client
