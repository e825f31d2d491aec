#include "text/configuration.h"

#include "text/configuration_names.h"
#include "text/text.h"

namespace pg_gpu::text {

// Beside the weights, of which each takes five bits of its byte.
static constexpr uint64 kKeepsPositions = UINT64CONST(1) << 63;

[[noreturn]] static void report_lost_configuration(Relation index, const char *name) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                    errmsg("text search configuration \"%s\" of index \"%s\" does not exist", name,
                           RelationGetRelationName(index)),
                    errhint("Name another one by ALTER INDEX ... SET (configuration = ...), then REINDEX.")));
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
    const char *option = configuration_name(index->rd_options);
    const Oid configuration = configuration_known_as(RelationGetRelid(index), option);
    if (!OidIsValid(configuration))
        report_lost_configuration(index, option);
    return {type, configuration, weights};
}

DocumentSource source_of(Relation index) {
    const Oid type = index->rd_opcintype[0];
    if (type == TSVECTOROID)
        return {type, InvalidOid, 0};
    const storage::BuiltWith with = storage::read_built_with(index, run_kind());
    const char *option = configuration_name(index->rd_options);
    Oid configuration = configuration_known_as(RelationGetRelid(index), option);
    if (hash_configuration_name(option) != with.names)
        configuration = configuration_known_as(index, with.names, configuration);
    if (!OidIsValid(configuration))
        report_lost_configuration(index, option);
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
    return {
        OidIsValid(source.configuration) ? hash_configuration_name(configuration_name(index->rd_options)) : 0,
        source.weights | (options_of(index).positions ? kKeepsPositions : 0)};
}

// A lexeme that stands between elements until all are there, so that no phrase begins in one and ends in
// another. Parsers take this character for a blank.
static constexpr char kBetween[] = "\x01";

// Returns the documents of the elements one behind the other, each as often as its weight says.
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
