#include "text/configuration.h"

#include "text/options.h"
#include "text/text.h"

namespace pg_gpu::text {

DocumentSource source_to_build(Relation index) {
    const Oid type = index->rd_opcintype[0];
    if (type == TSVECTOROID)
        return {type, InvalidOid};
    return {type, configuration_option(index)};
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
        return {type, InvalidOid};
    const Oid configuration = storage::read_built_with(index, run_kind());
    if (!SearchSysCacheExists1(TSCONFIGOID, ObjectIdGetDatum(configuration)))
        storage::report_corruption(index, storage::kMetaBlock,
                                   "The metapage names a text search configuration that is not there.");
    return {type, configuration};
}

uint32 configuration_to_build(Relation index) {
    return source_to_build(index).configuration;
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
