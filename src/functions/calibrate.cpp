// gpu.calibrate: measures the constants of the cost model on this machine and stores them.
#include "compat.h"
#include "client/connection.h"
#include "functions/calibration.h"
#include "kary/kary.h"

PG_GPU_FUNCTION(pg_gpu_calibrate);

using namespace pg_gpu;

static constexpr char kTable[] = "pg_gpu_calibration";
static constexpr uint64 kRows = 1000000;
static constexpr int kRowsAtOnce = 1000;

static void run(const char *statement) {
    if (SPI_execute(statement, false, 0) < 0)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("gpu.calibrate could not measure"),
                        errdetail("A statement failed: %s.", statement)));
}

static int64 key_of_row(uint64 row) {
    constexpr uint64 kPrime = 15485863;
    return static_cast<int64>(row * kPrime % (kRows * 16));
}

// Frozen rows on all-visible pages, as VACUUM would leave them: so measurements don't visit the table.
static void fill_table(Oid table_oid) {
    Relation table = table_open(table_oid, RowExclusiveLock);
    auto **slots = allocate<TupleTableSlot *>(kRowsAtOnce);
    for (int i = 0; i < kRowsAtOnce; i++)
        slots[i] = table_slot_create(table, nullptr);
    BulkInsertState state = GetBulkInsertState();
    for (uint64 done = 0; done < kRows; done += kRowsAtOnce) {
        CHECK_FOR_INTERRUPTS();
        for (int i = 0; i < kRowsAtOnce; i++) {
            ExecClearTuple(slots[i]);
            slots[i]->tts_values[0] = Int64GetDatum(key_of_row(done + i));
            slots[i]->tts_isnull[0] = false;
            ExecStoreVirtualTuple(slots[i]);
        }
        table_multi_insert(table, slots, kRowsAtOnce, GetCurrentCommandId(true),
                           TABLE_INSERT_SKIP_FSM | TABLE_INSERT_FROZEN, state);
    }
    FreeBulkInsertState(state);
    table_finish_bulk_insert(table, TABLE_INSERT_SKIP_FSM | TABLE_INSERT_FROZEN);
    for (int i = 0; i < kRowsAtOnce; i++)
        ExecDropSingleTupleTableSlot(slots[i]);
    table_close(table, NoLock);
    CommandCounterIncrement();
}

static void set_locally(const char *name, const char *value) {
    set_config_option(name, value, PGC_SUSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

// Plans that read the index, and requests that go where they are sent.
static void settle_plans() {
    set_locally("search_path", "pg_temp, pg_catalog");
    set_locally("enable_seqscan", "off");
    set_locally("enable_bitmapscan", "off");
    set_locally("pg_gpu.enable_count_scan", "off");
    set_locally("max_parallel_workers_per_gather", "0");
    set_locally("max_parallel_maintenance_workers", "0");
    set_locally("pg_gpu.mirror", "auto");
    set_locally("statement_timeout", "0");
}

// Only its maker sees a temporary table, and no VACUUM comes to it.
static functions::CalibrationIndex make_sample() {
    run(psprintf("CREATE TEMP TABLE %s (k int8)", kTable));
    const Oid table = RelnameGetRelid(kTable);
    fill_table(table);
    run(psprintf("CREATE INDEX %s_k ON %s USING gpu_kary (k gpu.int8_ops)", kTable, kTable));
    const Oid index = RelnameGetRelid(psprintf("%s_k", kTable));
    return {table_open(table, AccessShareLock), index_open(index, AccessShareLock), kRows, key_of_row};
}

namespace {

struct Measured {
    bool engines[kCostedPaths];
    CostSettings costs;
};

}  // namespace

static Measured measure() {
    Measured measured = {{}, cost_settings()};
    const functions::CalibrationIndex sample = make_sample();
    // The device last: transfers are then the device's, where there is one.
    for (const client::Path path : {client::Path::Host, client::Path::Cuda})
        measured.engines[static_cast<int>(path)] = functions::measure_engine(sample, path, &measured.costs);
    if (measured.engines[static_cast<int>(client::Path::Host)]) {
        functions::measure_paged(sample, client::Path::Host, &measured.costs);
        measured.engines[static_cast<int>(client::Path::Paged)] = true;
    }
    index_close(sample.index, NoLock);
    table_close(sample.heap, NoLock);
    return measured;
}

// In a subtransaction that is rolled back, with settings of its own: nothing stays behind.
static Measured measure_and_forget() {
    MemoryContext context = CurrentMemoryContext;
    ResourceOwner owner = CurrentResourceOwner;
    BeginInternalSubTransaction(nullptr);
    const int nest_level = NewGUCNestLevel();
    settle_plans();
    if (SPI_connect() != SPI_OK_CONNECT)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("gpu.calibrate could not measure"),
                        errdetail("Statements cannot be executed within this call.")));
    const Measured measured = measure();
    SPI_finish();
    AtEOXact_GUC(false, nest_level);
    RollbackAndReleaseCurrentSubTransaction();
    MemoryContextSwitchTo(context);
    CurrentResourceOwner = owner;
    return measured;
}

// ---- storing ----------------------------------------------------------------------------------------------

static void alter_system(const char *name, char *value) {
    auto *constant = makeNode(A_Const);
    constant->val.sval.type = T_String;
    constant->val.sval.sval = value;
    constant->location = -1;
    auto *set = makeNode(VariableSetStmt);
    set->kind = VAR_SET_VALUE;
    set->name = pstrdup(name);
    set->args = list_make1(constant);
    auto *statement = makeNode(AlterSystemStmt);
    statement->setstmt = set;
    AlterSystemSetConfigFile(statement);
}

// What disturbances have hidden keeps its old value.
static void store(FunctionCallInfo fcinfo, const char *name, double value) {
    if (value <= 0)
        return;
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    char *before = GetConfigOptionByName(name, nullptr, false);
    char *after = psprintf("%.3g", value);
    alter_system(name, after);
    Datum values[] = {CStringGetTextDatum(name), CStringGetTextDatum(before), CStringGetTextDatum(after)};
    bool nulls[lengthof(values)] = {};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum pg_gpu_calibrate(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    if (!superuser())
        ereport(ERROR,
                (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be superuser to calibrate pg_gpu")));
    if (RecoveryInProgress())
        ereport(ERROR,
                (errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION), errmsg("cannot calibrate during recovery"),
                 errhint("Calibrate on the primary and copy the settings, or set them by hand.")));
    const Measured measured = measure_and_forget();
    if (!measured.engines[static_cast<int>(client::Path::Host)])
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("cannot calibrate"),
                        errdetail("%s.", client::last_reason()),
                        errhint("The server log says why it isn't there.")));
    for (int p = 0; p < kCostedPaths; p++) {
        if (!measured.engines[p])
            continue;
        const char *path = client::path_name(static_cast<client::Path>(p));
        if (p != static_cast<int>(client::Path::Paged))
            store(fcinfo, psprintf("pg_gpu.%s_request_cost", path), measured.costs.request[p]);
        store(fcinfo, psprintf("pg_gpu.%s_key_cost", path), measured.costs.key[p]);
        store(fcinfo, psprintf("pg_gpu.%s_entry_cost", path), measured.costs.entry[p]);
        store(fcinfo, psprintf("pg_gpu.%s_sort_cost", path), measured.costs.sort[p]);
    }
    store(fcinfo, "pg_gpu.transfer_cost", measured.costs.transfer);
    store(fcinfo, "pg_gpu.load_cost", measured.costs.load);
    // As pg_reload_conf does.
    if (kill(PostmasterPid, SIGHUP) != 0)
        ereport(WARNING, (errmsg("failed to send signal to postmaster: %m")));
    return Datum{0};
}
