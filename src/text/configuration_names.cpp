#include "text/configuration_names.h"

#include "compat.h"
#include "text/options.h"
#include "text/tsearch.h"

PG_GPU_FUNCTION(pg_gpu_configuration_renamed);

namespace pg_gpu::text {

static object_access_hook_type previous_hook = nullptr;

namespace {

struct Name {
    char *schema;
    char *name;
};

}  // namespace

static Name read_name(const char *written) {
    Name name;
    DeconstructQualifiedName(read_qualified_name(written), &name.schema, &name.name);
    if (name.schema == nullptr)
        name.schema = pstrdup("pg_catalog");
    return name;
}

Oid find_configuration(const char *name) {
    const Name parts = read_name(name);
    const Oid found = get_ts_config_oid(list_make2(makeString(parts.schema), makeString(parts.name)), true);
    if (!OidIsValid(found))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                        errmsg("text search configuration \"%s\" does not exist", name),
                        errdetail("A name without a schema is looked for in pg_catalog."),
                        errhint("Write its schema, too; \\dF lists all configurations.")));
    return found;
}

// Finds a configuration without privileges on its schema, which users of an index don't need.
static Oid find_unchecked(const Name &name) {
    const Oid schema = get_namespace_oid(name.schema, true);
    return OidIsValid(schema) ? GetSysCacheOid2(TSCONFIGNAMENSP, Anum_pg_ts_config_oid,
                                                CStringGetDatum(name.name), ObjectIdGetDatum(schema))
                              : InvalidOid;
}

// ---- names and their hashes -------------------------------------------------------------------------------

// Names are quoted where they must be, whether the session quotes all or not.
static char *quote_name(const Name &name) {
    const int nest_level = NewGUCNestLevel();
    if (unlikely(quote_all_identifiers))
        set_config_option("quote_all_identifiers", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
                          0, false);
    char *quoted = quote_qualified_identifier(name.schema, name.name);
    AtEOXact_GUC(false, nest_level);
    return quoted;
}

static uint32 hash_name(const Name &name) {
    const char *quoted = quote_name(name);
    return DatumGetUInt32(
        hash_any(reinterpret_cast<const unsigned char *>(quoted), static_cast<int>(strlen(quoted))));
}

uint32 hash_configuration_name(const char *name) {
    return hash_name(read_name(name));
}

static Name name_in(HeapTuple configuration) {
    const auto *form = reinterpret_cast<FormData_pg_ts_config *>(GETSTRUCT(configuration));
    return {get_namespace_name(form->cfgnamespace), pstrdup(NameStr(form->cfgname))};
}

static Oid find_by_hash(uint32 hash) {
    Relation catalog = table_open(TSConfigRelationId, AccessShareLock);
    SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, nullptr, 0, nullptr);
    Oid found = InvalidOid;
    HeapTuple row;
    while (!OidIsValid(found) && HeapTupleIsValid(row = systable_getnext(scan)))
        if (hash_name(name_in(row)) == hash)
            found = reinterpret_cast<FormData_pg_ts_config *>(GETSTRUCT(row))->oid;
    systable_endscan(scan);
    table_close(catalog, AccessShareLock);
    return found;
}

// ---- what an index depends on -----------------------------------------------------------------------------

// The entry has the name's hash in refobjsubid, which means nothing for a configuration, and is 0 in the
// entries that PostgreSQL makes for an index's expressions. REINDEX CONCURRENTLY gives the old index's
// entries to the new one.
static ObjectAddress depended_on(Oid configuration, uint32 hash) {
    return {TSConfigRelationId, configuration, static_cast<int32>(hash)};
}

static Oid find_dependency(Oid index, uint32 hash) {
    Relation catalog = table_open(DependRelationId, AccessShareLock);
    ScanKeyData keys[2];
    ScanKeyInit(&keys[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(RelationRelationId));
    ScanKeyInit(&keys[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(index));
    SysScanDesc scan =
        systable_beginscan(catalog, DependDependerIndexId, true, nullptr, lengthof(keys), keys);
    Oid found = InvalidOid;
    HeapTuple row;
    while (!OidIsValid(found) && HeapTupleIsValid(row = systable_getnext(scan))) {
        const auto *entry = reinterpret_cast<FormData_pg_depend *>(GETSTRUCT(row));
        const ObjectAddress wanted = depended_on(entry->refobjid, hash);
        if (entry->refclassid == wanted.classId && entry->refobjsubid == wanted.objectSubId)
            found = entry->refobjid;
    }
    systable_endscan(scan);
    table_close(catalog, AccessShareLock);
    return found;
}

// PostgreSQL keeps no dependencies on what initdb's bootstrap made, `simple` for one.
static bool is_pinned(Oid configuration) {
    return OidIsValid(configuration) && IsPinnedObject(TSConfigRelationId, configuration);
}

Oid configuration_known_as(Oid index, const char *name, bool *is_recorded) {
    const Name parts = read_name(name);
    const Oid named = find_unchecked(parts);
    const Oid known = is_pinned(named) ? named : find_dependency(index, hash_name(parts));
    if (is_recorded != nullptr)
        *is_recorded = OidIsValid(known);
    return OidIsValid(known) ? known : named;
}

Oid configuration_known_as(Relation index, uint32 hash, Oid option) {
    const Oid known = find_dependency(RelationGetRelid(index), hash);
    if (OidIsValid(known))
        return known;
    const Oid named = find_by_hash(hash);
    if (is_pinned(named) || named == option || !OidIsValid(option))
        return named;
    // The index has been made anew around its old file, by pg_upgrade for one, so it has an entry for nothing
    // but the option. The name has gone with a renaming, which the option has followed.
    if (!OidIsValid(named))
        return option;
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("index \"%s\" cannot tell which text search configuration it was built with",
                    RelationGetRelationName(index)),
             errdetail("One has the name of then, its option names another, and it depends on neither by the "
                       "name of then."),
             errhint("Rebuild it with REINDEX INDEX.")));
}

// ---- options that are set ---------------------------------------------------------------------------------

// Is this a row of pg_class of an index of gpu_text, also a partitioned one?
static bool is_text_index(const FormData_pg_class &row) {
    if (row.relkind != RELKIND_INDEX && row.relkind != RELKIND_PARTITIONED_INDEX)
        return false;
    const IndexAmRoutine *routine = GetIndexAmRoutineByAmId(row.relam, true);
    return routine != nullptr && routine->amoptions == read_options;
}

static Datum options_in(HeapTuple row, TupleDesc descriptor, bool *is_null) {
    return heap_getattr(row, Anum_pg_class_reloptions, descriptor, is_null);
}

static const char *configuration_name_in(HeapTuple row, TupleDesc descriptor) {
    bool is_null;
    const Datum options = options_in(row, descriptor, &is_null);
    return configuration_name(is_null ? nullptr : read_options(options, false));
}

// Has the statement left the option's name as it was? The cache still has the row as it was before.
static bool is_old_name(Oid index, TupleDesc descriptor, uint32 hash) {
    HeapTuple row = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
    if (!HeapTupleIsValid(row))
        return false;
    const bool is_old = hash_configuration_name(configuration_name_in(row, descriptor)) == hash;
    ReleaseSysCache(row);
    return is_old;
}

static void depend_on(const FormData_pg_class &index, const char *name, uint32 hash) {
    const Oid configuration = find_configuration(name);
    const Oid known = find_dependency(index.oid, hash);
    if (known == configuration)
        return;
    if (OidIsValid(known))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("index \"%s\" knows another text search configuration as \"%s\"",
                               NameStr(index.relname), name),
                        errdetail("It has used that one, which has been renamed since, under this name."),
                        errhint("Create another index with this configuration, and drop this one.")));
    const ObjectAddress user = {RelationRelationId, index.oid, 0};
    const ObjectAddress used = depended_on(configuration, hash);
    recordDependencyOn(&user, &used, DEPENDENCY_NORMAL);
}

static void require_one_column(const FormData_pg_class &index) {
    if (index.relnatts > 1)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("access method \"gpu_text\" does not support multicolumn indexes"),
                        errhint("Several columns are indexed, and searched, as an array: USING gpu_text "
                                "((ARRAY[title, body])).")));
}

static void follow_option(Oid relation, bool is_new) {
    Relation catalog = table_open(RelationRelationId, AccessShareLock);
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
    // The statement hasn't made its row visible to itself yet.
    SysScanDesc scan = systable_beginscan(catalog, ClassOidIndexId, true, SnapshotSelf, 1, &key);
    HeapTuple row = systable_getnext(scan);
    if (HeapTupleIsValid(row)) {
        const auto *index = reinterpret_cast<FormData_pg_class *>(GETSTRUCT(row));
        if (is_text_index(*index)) {
            require_one_column(*index);
            const char *name = configuration_name_in(row, RelationGetDescr(catalog));
            const uint32 hash = hash_configuration_name(name);
            if (is_new || !is_old_name(relation, RelationGetDescr(catalog), hash))
                depend_on(*index, name, hash);
        }
    }
    systable_endscan(scan);
    table_close(catalog, AccessShareLock);
}

static void follow_access(ObjectAccessType access, Oid class_id, Oid object, int sub_id, void *argument) {
    if (previous_hook != nullptr)
        previous_hook(access, class_id, object, sub_id, argument);
    if (class_id == RelationRelationId && sub_id == 0 &&
        (access == OAT_POST_CREATE || access == OAT_POST_ALTER))
        follow_option(object, access == OAT_POST_CREATE);
}

// The hook comes in time, because PostgreSQL loads the library to check an index's options before it sets
// them.
void follow_configuration_options() {
    previous_hook = object_access_hook;
    object_access_hook = follow_access;
}

// ---- configurations that are renamed ----------------------------------------------------------------------

// Returns the name that the option should have; nullptr where it is right.
static char *newer_name(Oid index, HeapTuple row, TupleDesc descriptor) {
    const uint32 hash = hash_configuration_name(configuration_name_in(row, descriptor));
    HeapTuple configuration = SearchSysCache1(TSCONFIGOID, ObjectIdGetDatum(find_dependency(index, hash)));
    if (!HeapTupleIsValid(configuration))
        return nullptr;
    const Name name = name_in(configuration);
    ReleaseSysCache(configuration);
    return hash_name(name) != hash ? quote_name(name) : nullptr;
}

static void rename_option(Relation catalog, Oid index) {
    HeapTuple row = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(index));
    if (!HeapTupleIsValid(row) || newer_name(index, row, RelationGetDescr(catalog)) == nullptr)
        return;
    // ALTER INDEX ... SET takes the first lock; under the second VACUUM changes the row where it is.
    LockRelationOid(index, ShareUpdateExclusiveLock);
    row = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(index));
    if (!HeapTupleIsValid(row))
        return;
    ItemPointerData place = row->t_self;
    LockTuple(catalog, &place, ExclusiveLock);
    AcceptInvalidationMessages();
    row = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(index));
    char *name = newer_name(index, row, RelationGetDescr(catalog));
    if (name != nullptr) {
        DefElem *option =
            makeDefElem(pstrdup("configuration"), reinterpret_cast<Node *>(makeString(name)), -1);
        Datum values[Natts_pg_class] = {};
        bool nulls[Natts_pg_class] = {};
        bool replaces[Natts_pg_class] = {};
        bool is_null;
        const Datum options = options_in(row, RelationGetDescr(catalog), &is_null);
        values[Anum_pg_class_reloptions - 1] = transformRelOptions(
            is_null ? Datum{0} : options, list_make1(option), nullptr, nullptr, false, false);
        replaces[Anum_pg_class_reloptions - 1] = true;
        row = heap_modify_tuple(row, RelationGetDescr(catalog), values, nulls, replaces);
        CatalogTupleUpdate(catalog, &row->t_self, row);
    }
    UnlockTuple(catalog, &place, ExclusiveLock);
    if (name != nullptr) {
        InvokeObjectPostAlterHook(RelationRelationId, index, 0);
        CommandCounterIncrement();
    }
}

// Returns the indexes that depend on configurations by a name.
static List *find_dependents() {
    Relation catalog = table_open(DependRelationId, AccessShareLock);
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(TSConfigRelationId));
    SysScanDesc scan = systable_beginscan(catalog, DependReferenceIndexId, true, nullptr, 1, &key);
    List *indexes = NIL;
    HeapTuple row;
    while (HeapTupleIsValid(row = systable_getnext(scan))) {
        const auto *entry = reinterpret_cast<FormData_pg_depend *>(GETSTRUCT(row));
        if (entry->classid == RelationRelationId && entry->refobjsubid != 0)
            indexes = lappend_oid(indexes, entry->objid);
    }
    systable_endscan(scan);
    table_close(catalog, AccessShareLock);
    list_sort(indexes, list_oid_cmp);
    list_deduplicate_oid(indexes);
    return indexes;
}

static void rename_options() {
    List *indexes = find_dependents();
    if (indexes == NIL)
        return;
    Relation catalog = table_open(RelationRelationId, RowExclusiveLock);
    ListCell *cell;
    foreach (cell, indexes) {
        CHECK_FOR_INTERRUPTS();
        rename_option(catalog, lfirst_oid(cell));
    }
    table_close(catalog, RowExclusiveLock);
}

}  // namespace pg_gpu::text

using namespace pg_gpu;

// The event trigger pg_gpu_configuration_renamed. A dump has options as they are written, so they follow the
// configuration to its new name. It doesn't ask for the version of the extension's objects: ALTER EXTENSION
// fires it, too.
Datum pg_gpu_configuration_renamed(PG_FUNCTION_ARGS) {
    if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
        ereport(ERROR, (errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
                        errmsg("function \"gpu.configuration_renamed\" was not called by an event trigger"),
                        errhint("CREATE EXTENSION makes its trigger, pg_gpu_configuration_renamed.")));
    text::rename_options();
    PG_RETURN_NULL();
}
