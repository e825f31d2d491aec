#include "compat.h"
#include "text/options.h"

namespace pg_gpu::text {

struct StoredOptions {
    storage::StorageOptions storage;
    int codec;
    double k1;
    double b;
    int configuration;  // where its name lies behind the other options
};

static constexpr char kDefaultConfiguration[] = "simple";
static constexpr Options kDefaults = {postings::Codec::Bitpack, 1.2, 0.75};
static relopt_kind option_kind;

static relopt_enum_elt_def codec_names[] = {
    {"bitpack", static_cast<int>(postings::Codec::Bitpack)},
    {"pfordelta", static_cast<int>(postings::Codec::PForDelta)},
    {"rice", static_cast<int>(postings::Codec::Rice)},
    {nullptr, 0},
};

// A name without a schema is looked for in pg_catalog alone: an index must mean the same under every search
// path, that of a restored dump, too.
static Oid find_configuration(const char *name, bool missing_ok) {
    List *names = read_qualified_name(name);
    if (list_length(names) == 1)
        names = lcons(makeString(pstrdup("pg_catalog")), names);
    const Oid found = get_ts_config_oid(names, true);
    if (!OidIsValid(found) && !missing_ok)
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                        errmsg("text search configuration \"%s\" does not exist", name),
                        errdetail("A name without a schema is looked for in pg_catalog."),
                        errhint("Write its schema, too; \\dF lists all configurations.")));
    return found;
}

// CREATE INDEX and ALTER INDEX say at once that there is no such configuration.
static void validate_configuration(const char *name) {
    if (name != nullptr)
        find_configuration(name, false);
}

void register_options() {
    option_kind = storage::add_storage_options();
    add_enum_reloption(option_kind, "codec", "How the gaps of inverted lists are coded", codec_names,
                       static_cast<int>(kDefaults.codec),
                       "Valid values are \"bitpack\", \"pfordelta\", and \"rice\".",
                       ShareUpdateExclusiveLock);
    add_real_reloption(option_kind, "k1", "BM25: how soon further occurrences of a lexeme count less",
                       kDefaults.k1, 0.0, 100.0, ShareUpdateExclusiveLock);
    add_real_reloption(option_kind, "b", "BM25: how much a document's length counts", kDefaults.b, 0.0, 1.0,
                       ShareUpdateExclusiveLock);
    // PostgreSQL validates the default at once, where no catalog can be read, but not if there is none.
    add_string_reloption(option_kind, "configuration",
                         "The text search configuration that makes words of text, from the next build on",
                         nullptr, validate_configuration, ShareUpdateExclusiveLock);
}

bytea *read_options(Datum options, bool validate) {
    static constexpr relopt_parse_elt elements[] = {
        parsed_option("fanout", RELOPT_TYPE_INT, offsetof(StoredOptions, storage.fanout)),
        parsed_option("codec", RELOPT_TYPE_ENUM, offsetof(StoredOptions, codec)),
        parsed_option("k1", RELOPT_TYPE_REAL, offsetof(StoredOptions, k1)),
        parsed_option("b", RELOPT_TYPE_REAL, offsetof(StoredOptions, b)),
        parsed_option("configuration", RELOPT_TYPE_STRING, offsetof(StoredOptions, configuration)),
    };
    return static_cast<bytea *>(build_reloptions(options, validate, option_kind, sizeof(StoredOptions),
                                                 elements, lengthof(elements)));
}

Options options_of(Relation index) {
    if (index->rd_options == nullptr)
        return kDefaults;
    const auto *stored = reinterpret_cast<const StoredOptions *>(index->rd_options);
    return {static_cast<postings::Codec>(stored->codec), stored->k1, stored->b};
}

Oid configuration_option(Relation index, bool missing_ok) {
    const auto *stored = reinterpret_cast<const StoredOptions *>(index->rd_options);
    const bool is_default = stored == nullptr || stored->configuration == 0;
    return find_configuration(
        is_default ? kDefaultConfiguration : reinterpret_cast<const char *>(stored) + stored->configuration,
        missing_ok);
}

}  // namespace pg_gpu::text
