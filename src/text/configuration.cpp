#include "text/configuration.h"

#include "text/text.h"

namespace pg_gpu::text {

// Beside the weights, of which each takes five bits of its byte.
static constexpr uint64 kKeepsPositions = UINT64CONST(1) << 63;

// A hash of schema and name: unlike OIDs they outlive pg_upgrade. Names are quoted where they must be,
// whether the session quotes all or not.
static uint32 hash_name(Oid schema, const char *name) {
    const int nest_level = NewGUCNestLevel();
    if (unlikely(quote_all_identifiers))
        set_config_option("quote_all_identifiers", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
                          0, false);
    const char *whole = quote_qualified_identifier(get_namespace_name(schema), name);
    AtEOXact_GUC(false, nest_level);
    return DatumGetUInt32(
        hash_any(reinterpret_cast<const unsigned char *>(whole), static_cast<int>(strlen(whole))));
}

static uint32 hash_name(HeapTuple row) {
    const auto *form = reinterpret_cast<FormData_pg_ts_config *>(GETSTRUCT(row));
    return hash_name(form->cfgnamespace, NameStr(form->cfgname));
}

static uint32 name_of(Oid configuration) {
    HeapTuple row = SearchSysCache1(TSCONFIGOID, ObjectIdGetDatum(configuration));
    if (!HeapTupleIsValid(row))
        return 0;
    const uint32 hash = hash_name(row);
    ReleaseSysCache(row);
    return hash;
}

// Is asked only where an option has been changed since the index was built.
static Oid find_by_name(uint32 name) {
    Relation catalog = table_open(TSConfigRelationId, AccessShareLock);
    SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, nullptr, 0, nullptr);
    Oid found = InvalidOid;
    HeapTuple row;
    while (!OidIsValid(found) && HeapTupleIsValid(row = systable_getnext(scan)))
        if (hash_name(row) == name)
            found = reinterpret_cast<FormData_pg_ts_config *>(GETSTRUCT(row))->oid;
    systable_endscan(scan);
    table_close(catalog, AccessShareLock);
    return found;
}

DocumentSource source_to_build(Relation index) {
    const Oid type = index->rd_opcintype[0];
    const uint64 weights = weights_option(index);
    if (weights != 0 && type != TEXTARRAYOID)
        ereport(
            ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("option \"weights\" is for elements of text[]"),
             errdetail("Index \"%s\" is on %s.", RelationGetRelationName(index), format_type_be(type)),
             errhint("Several columns are indexed as an array: USING gpu_text ((ARRAY[title, body])).")));
    if (type == TSVECTOROID)
        return {type, InvalidOid, 0};
    return {type, configuration_option(index, false), weights};
}

void depend_on_configuration(Relation index) {
    const Oid configuration = source_to_build(index).configuration;
    const Oid oid = RelationGetRelid(index);
    // An earlier build may have had another one.
    deleteDependencyRecordsForClass(RelationRelationId, oid, TSConfigRelationId, DEPENDENCY_NORMAL);
    if (!OidIsValid(configuration))
        return;
    const ObjectAddress user = {RelationRelationId, oid, 0};
    const ObjectAddress used = {TSConfigRelationId, configuration, 0};
    recordDependencyOn(&user, &used, DEPENDENCY_NORMAL);
}

DocumentSource source_of(Relation index) {
    const Oid type = index->rd_opcintype[0];
    if (type == TSVECTOROID)
        return {type, InvalidOid, 0};
    const storage::BuiltWith with = storage::read_built_with(index, run_kind());
    const uint32 name = with.names;
    Oid configuration = configuration_option(index, true);
    if (!OidIsValid(configuration) || name_of(configuration) != name)
        configuration = find_by_name(name);
    if (!OidIsValid(configuration))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("the text search configuration of index \"%s\" is not there",
                               RelationGetRelationName(index)),
                        errdetail("It has been renamed since the index was built, or the index is damaged."),
                        errhint("Name it by ALTER INDEX ... SET (configuration = ...), then REINDEX.")));
    return {type, configuration, with.numbers & ~kKeepsPositions};
}

bool keeps_positions(Relation index) {
    return (storage::read_built_with(index, run_kind()).numbers & kKeepsPositions) != 0;
}

Options built_options(Relation index) {
    Options options = options_of(index);
    options.positions = keeps_positions(index);
    return options;
}

storage::BuiltWith built_with(Relation index) {
    const DocumentSource source = source_to_build(index);
    return {OidIsValid(source.configuration) ? name_of(source.configuration) : 0,
            source.weights | (options_of(index).positions ? kKeepsPositions : 0)};
}

// A lexeme that stands between elements until all are there, so that no phrase begins in one and ends in
// another. Parsers take this character for a blank.
static constexpr char kBetween[] = "\x01";

// The documents of the elements one behind the other, each as often as its weight says.
static Datum repeat_elements(const DocumentSource &source, Datum array) {
    Datum *elements;
    bool *nulls;
    int count;
    deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
    const Datum between = DirectFunctionCall1(tsvectorin, CStringGetDatum(psprintf("'%s':1", kBetween)));
    Datum whole = between;
    for (int i = 0; i < count; i++) {
        if (nulls[i])
            continue;
        const Datum words =
            DirectFunctionCall2(to_tsvector_byid, ObjectIdGetDatum(source.configuration), elements[i]);
        // Elements behind the last weight count once.
        const uint64 weight = i < kMaxWeights ? source.weights >> (8 * i) & 0xff : 0;
        for (uint64 copy = 0; copy < Max(weight, uint64{1}); copy++)
            whole = DirectFunctionCall2(tsvector_concat, DirectFunctionCall2(tsvector_concat, whole, words),
                                        between);
    }
    return DirectFunctionCall2(tsvector_delete_str, whole, CStringGetTextDatum(kBetween));
}

TSVector document_of_value(const DocumentSource &source, Datum value) {
    const Datum configuration = ObjectIdGetDatum(source.configuration);
    Datum words = value;
    switch (source.type) {
        case TSVECTOROID:
            return DatumGetTSVector(value);
        case JSONBOID:
            return DatumGetTSVector(DirectFunctionCall2(jsonb_string_to_tsvector_byid, configuration, value));
        case TEXTARRAYOID:
            if (source.weights != 0)
                return DatumGetTSVector(repeat_elements(source, value));
            words = OidFunctionCall2(F_ARRAY_TO_STRING_ANYARRAY_TEXT, value, CStringGetTextDatum("\n"));
            break;
        default:
            break;
    }
    return DatumGetTSVector(DirectFunctionCall2(to_tsvector_byid, configuration, words));
}

TSQuery typed_query(Oid configuration, Datum typed) {
    return DatumGetTSQuery(
        DirectFunctionCall2(websearch_to_tsquery_byid, ObjectIdGetDatum(configuration), typed));
}

}  // namespace pg_gpu::text
