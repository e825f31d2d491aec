// gpu.calibrate: measures the constants of the cost model on this machine and stores them. gpu.costs: tells
// them.
#include "compat.h"
#include "rpc/rpc.h"
#include "functions/calibration.h"
#include "kary/gpu_kary.h"
#include "progress.h"
#include "subtransaction.h"

PG_GPU_FUNCTION(pg_gpu_calibrate);
PG_GPU_FUNCTION(pg_gpu_cost_rows);

using namespace pg_gpu;

static constexpr char kTable[] = "pg_gpu_calibration";
static constexpr uint64 kRows = 1000000;
static constexpr uint64 kDocuments = 100000;
static constexpr uint64 kFewDocuments = kDocuments / 5;
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
// `fill` sets a row's values, none of which is NULL.
static void fill_table(Oid table_oid, uint64 rows, void (*fill)(uint64 row, Datum *values)) {
    Relation table = table_open(table_oid, RowExclusiveLock);
    auto **slots = allocate<TupleTableSlot *>(kRowsAtOnce);
    for (int i = 0; i < kRowsAtOnce; i++)
        slots[i] = table_slot_create(table, nullptr);
    BulkInsertState state = GetBulkInsertState();
    MemoryContext values =
        AllocSetContextCreate(CurrentMemoryContext, "gpu.calibrate rows", ALLOCSET_DEFAULT_SIZES);
    for (uint64 done = 0; done < rows; done += kRowsAtOnce) {
        CHECK_FOR_INTERRUPTS();
        MemoryContext caller = MemoryContextSwitchTo(values);
        for (int i = 0; i < kRowsAtOnce; i++) {
            ExecClearTuple(slots[i]);
            fill(done + i, slots[i]->tts_values);
            memset(slots[i]->tts_isnull, 0, RelationGetNumberOfAttributes(table) * sizeof(bool));
            ExecStoreVirtualTuple(slots[i]);
        }
        MemoryContextSwitchTo(caller);
        table_multi_insert(table, slots, kRowsAtOnce, GetCurrentCommandId(true),
                           TABLE_INSERT_SKIP_FSM | TABLE_INSERT_FROZEN, state);
        MemoryContextReset(values);
        add_progress(kRowsAtOnce);
    }
    MemoryContextDelete(values);
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

// The table is temporary, because only its maker sees such a table, and no VACUUM comes to it.
static Oid make_table(const char *name, const char *columns, uint64 rows,
                      void (*fill)(uint64 row, Datum *values)) {
    begin_phase("filling a table", rows);
    run(psprintf("CREATE TEMP TABLE %s (%s)", name, columns));
    const Oid table = RelnameGetRelid(name);
    fill_table(table, rows, fill);
    return table;
}

static Relation make_index(const char *name, const char *definition) {
    begin_phase("building an index", 0);
    run(psprintf("CREATE INDEX %s ON %s", name, definition));
    return index_open(RelnameGetRelid(name), AccessShareLock);
}

namespace {

struct Measured {
    bool engines[kCostedPaths];
    CostSettings costs;
};

}  // namespace

static void measure_keys(Measured *measured) {
    const Oid table = make_table(kTable, "k int8", kRows, [](uint64 row, Datum *values) {
        values[0] = Int64GetDatum(key_of_row(row));
    });
    Relation index =
        make_index(psprintf("%s_k", kTable), psprintf("%s USING gpu_kary (k gpu.int8_ops)", kTable));
    const functions::CalibrationIndex sample = {table_open(table, AccessShareLock), index, kRows, key_of_row};
    begin_phase("measuring lookups", 0);
    // The device comes last: transfers are then the device's, where there is one.
    for (const client::Path path : {client::Path::Host, client::Path::Cuda})
        measured->engines[static_cast<int>(path)] = functions::measure_engine(sample, path, &measured->costs);
    if (measured->engines[static_cast<int>(client::Path::Host)]) {
        functions::measure_paged(sample, client::Path::Host, &measured->costs);
        measured->engines[static_cast<int>(client::Path::Paged)] = true;
    }
    index_close(sample.index, NoLock);
    table_close(sample.heap, NoLock);
}

// Measures in an index of all documents and in one of few, because lists and their windows are costs of
// their own.
static void measure_lists(Measured *measured) {
    const char *table = psprintf("%s_text", kTable);
    make_table(table, "n int8, document tsvector", kDocuments, [](uint64 row, Datum *values) {
        values[0] = Int64GetDatum(row);
        values[1] = PointerGetDatum(functions::make_document(row));
    });
    const Relation indexes[] = {
        make_index(psprintf("%s_all", table), psprintf("%s USING gpu_text (document)", table)),
        make_index(psprintf("%s_few", table), psprintf("%s USING gpu_text (document) WHERE n < %d", table,
                                                       static_cast<int>(kFewDocuments)))};
    begin_phase("measuring rankings", 0);
    for (int p = 0; p < kCostedPaths; p++)
        measured->engines[p] =
            measured->engines[p] && functions::measure_lists(indexes, lengthof(indexes),
                                                             static_cast<client::Path>(p), &measured->costs);
    for (Relation index : indexes)
        index_close(index, NoLock);
}

static Measured measure() {
    Measured measured = {{}, cost_settings()};
    measure_keys(&measured);
    if (measured.engines[static_cast<int>(client::Path::Host)])
        measure_lists(&measured);
    return measured;
}

static void measure_by_settled_plans(Measured *measured) {
    const int nest_level = NewGUCNestLevel();
    settle_plans();
    if (SPI_connect() != SPI_OK_CONNECT)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("gpu.calibrate could not measure"),
                        errdetail("Statements cannot be executed within this call.")));
    *measured = measure();
    SPI_finish();
    AtEOXact_GUC(false, nest_level);
}

// Measures in a subtransaction that is rolled back, with settings of its own, so that nothing stays behind,
// after an error neither: who catches that expects to be in the subtransaction in which it called.
static Measured measure_and_forget() {
    Measured measured;
    begin_progress("calibrate", InvalidOid, "filling a table", kRows);
    ErrorData *error = try_in_subtransaction(
        CurrentMemoryContext, [&] { measure_by_settled_plans(&measured); }, Changes::TakeBack);
    if (error != nullptr)
        ReThrowError(error);
    end_progress();
    return measured;
}

// ---- storing ----------------------------------------------------------------------------------------------

// A cost of 0 that cannot be true is one that disturbances have hidden. It keeps its old value.
static bool is_measured(const Measured &measured, const CostConstant &constant) {
    return (constant.path < 0 || measured.engines[constant.path]) &&
           (constant.may_be_zero || cost_of(measured.costs, constant) > 0);
}

static const char *measured_text(const Measured &measured, const CostConstant &constant) {
    return psprintf("%.3g", cost_of(measured.costs, constant));
}

static const char *text_in_force(const CostConstant &constant) {
    return psprintf("%.15g", cost_of(cost_settings(), constant));
}

// pg_gpu.costs with what was measured, and what else is not a default.
static char *list_costs(const Measured &measured) {
    StringInfoData list;
    initStringInfo(&list);
    for (const CostConstant &constant : cost_constants()) {
        if (!is_measured(measured, constant) && cost_of(cost_settings(), constant) == constant.default_value)
            continue;
        appendStringInfo(
            &list, "%s%s = %s", list.len == 0 ? "" : ", ", constant.name,
            is_measured(measured, constant) ? measured_text(measured, constant) : text_in_force(constant));
    }
    return list.data;
}

static void return_measured(FunctionCallInfo fcinfo, const Measured &measured) {
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    for (const CostConstant &constant : cost_constants()) {
        if (!is_measured(measured, constant))
            continue;
        Datum values[] = {CStringGetTextDatum(constant.name), CStringGetTextDatum(text_in_force(constant)),
                          CStringGetTextDatum(measured_text(measured, constant))};
        bool nulls[lengthof(values)] = {};
        tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    }
}

static void alter_system(char *list) {
    auto *constant = makeNode(A_Const);
    constant->val.sval.type = T_String;
    constant->val.sval.sval = list;
    constant->location = -1;
    auto *set = makeNode(VariableSetStmt);
    set->kind = VAR_SET_VALUE;
    set->name = pstrdup("pg_gpu.costs");
    set->args = list_make1(constant);
    auto *statement = makeNode(AlterSystemStmt);
    statement->setstmt = set;
    AlterSystemSetConfigFile(statement);
}

// Measuring took its time: whatever keeps ALTER SYSTEM from storing the list is a warning that has it.
static bool store(char *list) {
    ErrorData *error = try_in_subtransaction(CurrentMemoryContext, [&] { alter_system(list); });
    if (error == nullptr)
        return true;
    ereport(
        WARNING,
        (errcode(error->sqlerrcode), errmsg("could not store the measured costs"),
         errdetail("ALTER SYSTEM failed: %s.", error->message),
         errhint("Set pg_gpu.costs = '%s' in the configuration file, or for a role or a database.", list)));
    FreeErrorData(error);
    return false;
}

Datum pg_gpu_calibrate(PG_FUNCTION_ARGS) {
    const bool apply = PG_GETARG_BOOL(0);
    InitMaterializedSRF(fcinfo, 0);
    if (RecoveryInProgress())
        ereport(ERROR,
                (errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION), errmsg("cannot calibrate during recovery"),
                 errhint("Calibrate on the primary and copy pg_gpu.costs, or set it by hand.")));
    const Measured measured = measure_and_forget();
    if (!measured.engines[static_cast<int>(client::Path::Host)])
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("cannot calibrate"),
                        errdetail("The reason is: %s.", client::last_reason()),
                        errhint("The server log says why there is no server process.")));
    return_measured(fcinfo, measured);
    // pg_reload_conf sends the same signal.
    if (apply && store(list_costs(measured)) && kill(PostmasterPid, SIGHUP) != 0)
        ereport(WARNING, (errmsg("failed to send signal to postmaster: %m")));
    return Datum{0};
}

// ---- gpu.costs --------------------------------------------------------------------------------------------

Datum pg_gpu_cost_rows(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    for (const CostConstant &constant : cost_constants()) {
        Datum values[] = {CStringGetTextDatum(constant.name),
                          Float8GetDatum(cost_of(cost_settings(), constant)),
                          Float8GetDatum(constant.default_value), CStringGetTextDatum(constant.unit),
                          CStringGetTextDatum(constant.meaning)};
        bool nulls[lengthof(values)] = {};
        tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    }
    return Datum{0};
}
