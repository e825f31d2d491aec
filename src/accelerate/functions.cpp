// gpu.accelerate and gpu.decelerate.
#include "accelerate/index.h"
#include "compat.h"
#include "functions/rows.h"
#include "method.h"
#include "version.h"

PG_GPU_FUNCTION(pg_gpu_accelerate);
PG_GPU_FUNCTION(pg_gpu_decelerate);

namespace pg_gpu::accelerate {

using plan::Proposal;

namespace {

// The columns of gpu.accelerate.
enum Output : int { kIndex, kColumn, kReason, kCalls, kMilliseconds, kBytes, kWriteMicroseconds, kOutputs };

// The index that a table is to have.
struct Choice {
    Proposal index;
    const char **reasons;  // by attribute number: why the column is in the index
    const char **left_out;
    const Demand *demands;    // by attribute number; nullptr: no statement was looked at
    const MadeIndex *former;  // nullptr: there is none
    bool is_former_enough;
};

}  // namespace

// ---- tables -----------------------------------------------------------------------------------------------

static const char *hint_for(char kind) {
    switch (kind) {
        case RELKIND_VIEW:
            return "Name the tables that the view reads.";
        case RELKIND_FOREIGN_TABLE:
            return "Call the function on the server that has the rows.";
        case RELKIND_MATVIEW:
            return "Plans read materialized views without gpu_column's indexes.";
        default:
            return "Name a table or a partitioned table.";
    }
}

// Raises an ERROR unless the caller may make and drop the table's indexes.
static void require_table(Oid table) {
    const char *name = get_rel_name(table);
    const char kind = get_rel_relkind(table);
    if (name == nullptr)
        ereport(ERROR,
                (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", table)));
    if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is not a table", name),
                        errdetail_relkind_not_supported(kind), errhint("%s", hint_for(kind))));
    if (table < FirstNormalObjectId)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is a system catalog", name),
                        errdetail("System catalogs cannot have indexes of pg_gpu."),
                        errhint("Name a table of your own.")));
    if (!owns_relation(table, GetUserId()))
        aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, name);
}

// With the lock that making an index takes, if one is to be made: else a lock would have to be raised, which
// two sessions that do the same can't.
static Relation open_own_table(Oid oid, LOCKMODE lock) {
    require_matching_objects();
    require_table(oid);
    Relation table = table_open(oid, lock);
    // It may have got another owner meanwhile.
    require_table(oid);
    if (RELATION_IS_OTHER_TEMP(table))
        ereport(ERROR,
                (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                 errmsg("table \"%s\" is another session's temporary table", RelationGetRelationName(table)),
                 errhint("Call the function in the session that made it.")));
    return table;
}

// ---- the choice -------------------------------------------------------------------------------------------

static void explain_all(Choice *choice, const char *reason) {
    for (int i = 0; i < choice->index.count; i++)
        choice->reasons[choice->index.columns[i]] = reason;
}

static void require_different(const Choice &choice, AttrNumber column, const char *name) {
    if (choice.reasons[column] != nullptr)
        ereport(ERROR, (errcode(ERRCODE_DUPLICATE_COLUMN), errmsg("column \"%s\" is named twice", name)));
}

static void choose_named(Relation table, ArrayType *names, Choice *choice) {
    Datum *elements;
    bool *nulls;
    int count;
    deconstruct_array(names, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR, &elements, &nulls, &count);
    if (count == 0 || count > INDEX_MAX_KEYS)
        ereport(ERROR, (errcode(count == 0 ? ERRCODE_INVALID_PARAMETER_VALUE : ERRCODE_TOO_MANY_COLUMNS),
                        errmsg("an index of gpu_column has 1 to %d columns, not %d", INDEX_MAX_KEYS, count),
                        errhint("Pass NULL to have the columns chosen by recorded statements.")));
    for (int i = 0; i < count; i++) {
        if (nulls[i])
            ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("a column's name is NULL")));
        const char *name = NameStr(*DatumGetName(elements[i]));
        const AttrNumber column = get_attnum(choice->index.table, name);
        if (column <= 0)
            ereport(ERROR,
                    (errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("column \"%s\" of table \"%s\" does not exist",
                                                               name, RelationGetRelationName(table))));
        const char *refused;
        const Oid operator_class = find_class(choice->index.table, column, &refused);
        if (!OidIsValid(operator_class))
            ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                            errmsg("column \"%s\" cannot be in an index of gpu_column", name),
                            errdetail("The reason is: %s.", refused), errhint("Leave the column out.")));
        require_different(*choice, column, name);
        choice->reasons[column] = "it was named";
        Proposal one = {choice->index.table, choice->index.method, 1, {column}, {operator_class}};
        plan::unite(&choice->index, one);
    }
}

static void choose_all(Relation table, const char *reason, Choice *choice) {
    choice->index = choose_all_columns(RelationGetRelid(table), choice->left_out);
    if (choice->index.count == 0)
        ereport(
            ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("table \"%s\" has no column for an index of gpu_column", RelationGetRelationName(table)),
             errdetail("Its columns are too wide, or have types without a default operator class for "
                       "btree or hash."),
             errhint("Name wide columns to have them all the same.")));
    explain_all(choice, reason);
}

static void choose_by_statements(Relation table, int most, Choice *choice) {
    MemoryContext context = CurrentMemoryContext;
    plan::Recording recording;
    plan::with_catalogs([&] { recording = plan::read_recorded(most, context); });
    const Workload workload = find_demands(recording, RelationGetRelid(table));
    plan::report_left_out(workload.left_out, "gpu.accelerate");
    const TableDemand *demand = find_demand(workload, RelationGetRelid(table));
    if (demand != nullptr) {
        choice->index = demand->index;
        choice->demands = demand->columns;
        explain_all(choice, "statements read it");
    } else if (!recording.has_recorder) {
        choose_all(table, "pg_stat_statements is not there to tell which columns statements read", choice);
    } else if (workload.readers == 0) {
        choose_all(table, "no statement is recorded that reads the table", choice);
    } else {
        ereport(NOTICE, (errmsg("table \"%s\" gets no index", RelationGetRelationName(table)),
                         errdetail_plural(
                             "%d recorded statement reads it, which such an index would not make cheaper.",
                             "%d recorded statements read it, which such an index would not make cheaper.",
                             workload.readers, workload.readers),
                         errhint("Name columns to have an index all the same.")));
    }
}

// What is read no longer may be read again: columns stay while there is room for them.
static void compare_with_former(Relation table, bool is_named, Choice *choice) {
    ListCell *cell;
    foreach (cell, find_made_indexes(table)) {
        const auto *made = static_cast<MadeIndex *>(lfirst(cell));
        if (choice->former == nullptr || made->is_valid)
            choice->former = made;
    }
    if (choice->former == nullptr)
        return;
    const Proposal &former = choice->former->columns;
    if (!is_named && (!plan::unite(&choice->index, former) || choice->index.count == 0))
        return;
    for (int i = 0; i < choice->index.count; i++)
        if (choice->reasons[choice->index.columns[i]] == nullptr)
            choice->reasons[choice->index.columns[i]] = "the index had it";
    choice->is_former_enough =
        choice->former->is_valid && has_columns(former, choice->index) && has_columns(choice->index, former);
}

// ---- making it --------------------------------------------------------------------------------------------

namespace {

struct Made {
    Oid index;  // InvalidOid: it wasn't to be made
    int64 bytes;
    double write_microseconds;  // 0: not known
};

}  // namespace

static void execute(const char *command) {
    if (SPI_execute(command, false, 0) != SPI_OK_UTILITY)
        elog(ERROR, "cannot execute: %s", command);
}

// A row that is written costs what it costs in a build, and that again each time it is merged, of which a
// worker does most. doc/sizing.md says how often that is.
static double price_of_row(double build_milliseconds, double rows) {
    constexpr double kFanout = 8;
    constexpr double kFirstMerge = 15;
    const double merges = rows <= kFirstMerge ? 0 : round(log(rows / kFirstMerge) / log(kFanout));
    return rows == 0 ? 0 : build_milliseconds * 1000 / rows * (1 + merges);
}

static Made make_index(const Choice &choice) {
    Made made = {};
    const char *name = choose_name(choice.index.table);
    const Oid schema = get_rel_namespace(choice.index.table);
    plan::with_catalogs([&] {
        instr_time begin;
        instr_time end;
        INSTR_TIME_SET_CURRENT(begin);
        execute(create_command(choice.index, Maker::Accelerate, name, Way::AtOnce));
        INSTR_TIME_SET_CURRENT(end);
        INSTR_TIME_SUBTRACT(end, begin);
        made.index = get_relname_relid(name, schema);
        const IndexSize size = measure_index(made.index);
        made.bytes = size.bytes;
        made.write_microseconds = price_of_row(INSTR_TIME_GET_MILLISEC(end), size.rows);
        if (choice.former != nullptr)
            execute(psprintf("DROP INDEX %s", name_of(choice.former->index)));
    });
    return made;
}

static Made look_at_former(const MadeIndex &former) {
    Made made = {former.index, 0, 0};
    plan::with_catalogs([&] { made.bytes = measure_index(former.index).bytes; });
    return made;
}

// ---- rows -------------------------------------------------------------------------------------------------

static void give_choice(const Choice &choice, const Made &made, FunctionCallInfo fcinfo) {
    const Oid table = choice.index.table;
    for (AttrNumber column = 1; column <= count_columns(table); column++) {
        const bool is_in = choice.reasons[column] != nullptr;
        if ((!is_in && choice.left_out[column] == nullptr) || !OidIsValid(get_atttype(table, column)))
            continue;
        NameData name;
        namestrcpy(&name, get_attname(table, column, false));
        const bool is_demanded = is_in && choice.demands != nullptr && choice.demands[column].calls > 0;
        const char *reason =
            is_in ? choice.reasons[column] : psprintf("left out: %s", choice.left_out[column]);
        const Datum values[kOutputs] = {
            ObjectIdGetDatum(made.index),
            NameGetDatum(&name),
            CStringGetTextDatum(reason),
            is_demanded ? Int64GetDatum(choice.demands[column].calls) : Datum{0},
            is_demanded ? Float8GetDatum(choice.demands[column].milliseconds) : Datum{0},
            Int64GetDatum(made.bytes),
            Float8GetDatum(made.write_microseconds)};
        const bool nulls[kOutputs] = {
            !is_in || !OidIsValid(made.index),     false, false, !is_demanded, !is_demanded, !is_in,
            !is_in || made.write_microseconds == 0};
        functions::put_row(fcinfo, values, nulls);
    }
}

static void accelerate(Oid oid, ArrayType *columns, bool apply, int most, FunctionCallInfo fcinfo) {
    if (apply)
        PreventCommandDuringRecovery("gpu.accelerate()");
    Relation table = open_own_table(oid, apply ? ShareLock : AccessShareLock);
    const size_t places = static_cast<size_t>(RelationGetNumberOfAttributes(table)) + 1;
    Choice choice = {{oid, get_am_oid(gpu_column.name, false), 0, {}, {}},
                     allocate_zeroed<const char *>(places),
                     allocate_zeroed<const char *>(places),
                     nullptr,
                     nullptr,
                     false};
    if (columns != nullptr)
        choose_named(table, columns, &choice);
    else
        choose_by_statements(table, most, &choice);
    compare_with_former(table, columns != nullptr, &choice);
    // Indexes are made of a table that isn't in use by this session.
    table_close(table, NoLock);
    if (choice.index.count > 0) {
        Made made = {};
        if (choice.is_former_enough)
            made = look_at_former(*choice.former);
        else if (apply)
            made = make_index(choice);
        else
            plan::with_catalogs([&] { made.bytes = expect_bytes(choice.index); });
        give_choice(choice, made, fcinfo);
    }
}

static void decelerate(Oid oid, FunctionCallInfo fcinfo) {
    PreventCommandDuringRecovery("gpu.decelerate()");
    Relation table = open_own_table(oid, AccessExclusiveLock);
    List *indexes = find_made_indexes(table);
    table_close(table, NoLock);
    ListCell *cell;
    plan::with_catalogs([&] {
        foreach (cell, indexes) {
            const Oid index = static_cast<MadeIndex *>(lfirst(cell))->index;
            const char *name = name_of(index);
            const Datum values[] = {CStringGetTextDatum(name), Int64GetDatum(measure_index(index).bytes)};
            const bool nulls[] = {false, false};
            execute(psprintf("DROP INDEX %s", name));
            functions::put_row(fcinfo, values, nulls);
        }
    });
    if (indexes == NIL)
        ereport(NOTICE, (errmsg("table \"%s\" has no index that gpu.accelerate or its worker made",
                                get_rel_name(oid)),
                         errhint("Drop other indexes with DROP INDEX.")));
}

}  // namespace pg_gpu::accelerate

using namespace pg_gpu::accelerate;

Datum pg_gpu_accelerate(PG_FUNCTION_ARGS) {
    if (PG_ARGISNULL(0) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
        ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                        errmsg("gpu.accelerate takes NULL for columns only")));
    const int most = PG_GETARG_INT32(3);
    if (most < 0)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the number of statements is negative")));
    InitMaterializedSRF(fcinfo, 0);
    accelerate(PG_GETARG_OID(0), PG_ARGISNULL(1) ? nullptr : PG_GETARG_ARRAYTYPE_P(1), PG_GETARG_BOOL(2),
               most, fcinfo);
    return Datum{0};
}

Datum pg_gpu_decelerate(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    decelerate(PG_GETARG_OID(0), fcinfo);
    return Datum{0};
}
