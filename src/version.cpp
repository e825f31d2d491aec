#include "version.h"

#include "postgres_headers.h"

namespace pg_gpu {

// Returns pg_extension.extversion of pg_gpu; nullptr in a database without it.
static char *version_of_objects() {
    Relation extensions = table_open(ExtensionRelationId, AccessShareLock);
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ, CStringGetDatum("pg_gpu"));
    SysScanDesc scan = systable_beginscan(extensions, ExtensionNameIndexId, true, nullptr, 1, &key);
    HeapTuple tuple = systable_getnext(scan);
    char *version = nullptr;
    if (HeapTupleIsValid(tuple)) {
        bool is_null;
        const Datum value =
            heap_getattr(tuple, Anum_pg_extension_extversion, RelationGetDescr(extensions), &is_null);
        if (!is_null)
            version = TextDatumGetCString(value);
    }
    systable_endscan(scan);
    table_close(extensions, AccessShareLock);
    return version;
}

// Compares versions number by number: 1.10 comes after 1.9.
static bool is_older(const char *version, const char *other) {
    for (;;) {
        char *end;
        char *other_end;
        const long number = strtol(version, &end, 10);
        const long other_number = strtol(other, &other_end, 10);
        if (number != other_number)
            return number < other_number;
        if (*end != '.' || *other_end != '.')
            return *end == '\0' && *other_end == '.';
        version = end + 1;
        other = other_end + 1;
    }
}

void require_matching_objects() {
    // This is checked once a session: a library never changes under one, and objects seldom do.
    static bool matched = false;
    if (matched || creating_extension)
        return;
    const char *objects = version_of_objects();
    if (objects != nullptr && strcmp(objects, PG_GPU_VERSION) != 0)
        ereport(
            ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("pg_gpu's library has version %s, its SQL objects in database \"%s\" have version %s",
                    PG_GPU_VERSION, get_database_name(MyDatabaseId), objects),
             is_older(objects, PG_GPU_VERSION)
                 ? errhint("Run ALTER EXTENSION pg_gpu UPDATE in this database.")
                 : errhint("Reconnect, so that the session loads the library that is installed now. Where "
                           "shared_preload_libraries names pg_gpu, restart PostgreSQL.")));
    matched = true;
}

}  // namespace pg_gpu
