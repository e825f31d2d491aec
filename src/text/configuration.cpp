#include "text/configuration.h"

#include "text/configuration_names.h"
#include "text/text.h"

namespace pg_gpu::text {

// Beside the weights, of which each takes five bits of its byte.
static constexpr uint64 kKeepsPositions = UINT64CONST(1) << 63;
static constexpr int kLongDocumentsShift = 61;
static constexpr uint64 kLongDocumentsMask = UINT64CONST(3) << kLongDocumentsShift;

[[noreturn]] static void report_lost_configuration(Relation index, const char *name) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                    errmsg("text search configuration \"%s\" of index \"%s\" does not exist", name,
                           RelationGetRelationName(index)),
                    errhint("Name another one by ALTER INDEX ... SET (configuration = ...), then REINDEX.")));
}

// A copy: reading catalogs may have the relation's options made anew.
static const char *copy_configuration_name(Relation index) {
    return pstrdup(configuration_name(index->rd_options));
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
        return {type, InvalidOid, 0, LongDocuments::Error};
    const char *option = copy_configuration_name(index);
    const Oid configuration = configuration_known_as(RelationGetRelid(index), option);
    if (!OidIsValid(configuration))
        report_lost_configuration(index, option);
    return {type, configuration, weights, long_documents_option(index)};
}

DocumentSource source_of(Relation index) {
    const Oid type = index->rd_opcintype[0];
    if (type == TSVECTOROID)
        return {type, InvalidOid, 0, LongDocuments::Error};
    // An index of a partitioned table has no pages that could say what it was built with.
    if (index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
        return source_to_build(index);
    if (const void *note = storage::read_note(index))
        return *static_cast<const DocumentSource *>(note);
    const storage::BuiltWith with = storage::read_built_with(index, run_kind());
    const char *option = copy_configuration_name(index);
    bool is_recorded;
    Oid configuration = configuration_known_as(RelationGetRelid(index), option, &is_recorded);
    if (hash_configuration_name(option) != with.names) {
        configuration = configuration_known_as(index, with.names, configuration);
        is_recorded = false;
    }
    if (!OidIsValid(configuration))
        report_lost_configuration(index, option);
    const DocumentSource source = {
        type, configuration, with.numbers & ~(kKeepsPositions | kLongDocumentsMask),
        static_cast<LongDocuments>((with.numbers & kLongDocumentsMask) >> kLongDocumentsShift)};
    if (is_recorded)
        storage::write_note(index, &source, sizeof(source));
    return source;
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
    return {OidIsValid(source.configuration) ? hash_configuration_name(copy_configuration_name(index)) : 0,
            source.weights | (options_of(index).positions ? kKeepsPositions : 0) |
                static_cast<uint64>(source.long_documents) << kLongDocumentsShift};
}

}  // namespace pg_gpu::text
