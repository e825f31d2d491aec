#include "compat.h"
#include "text/configuration_names.h"
#include "text/options.h"

namespace pg_gpu::text {

struct StoredOptions {
    storage::StorageOptions storage;
    int codec;
    double k1;
    double b;
    int configuration;  // place of its name behind the other options
    int weights;        // likewise
    bool positions;
    int long_documents;
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

static relopt_enum_elt_def long_document_names[] = {
    {"error", static_cast<int>(LongDocuments::Error)},
    {"truncate", static_cast<int>(LongDocuments::Truncate)},
    {"skip", static_cast<int>(LongDocuments::Skip)},
    {nullptr, 0},
};

// CREATE INDEX and ALTER INDEX say at once that there is no such configuration.
static void validate_configuration(const char *name) {
    if (name != nullptr)
        find_configuration(name);
}

static constexpr long kLargestWeight = 16;

// Returns the weights packed; false: they can't be read.
static bool read_weights(const char *text, uint64 *weights) {
    *weights = 0;
    if (*text++ != '{')
        return false;
    for (int i = 0; i < kMaxWeights; i++) {
        char *end;
        const long weight = strtol(text, &end, 10);
        if (end == text || weight < 1 || weight > kLargestWeight)
            return false;
        *weights |= static_cast<uint64>(weight) << (8 * i);
        if (strcmp(end, "}") == 0)
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
    return false;
}

static void validate_weights(const char *text) {
    uint64 weights;
    if (text != nullptr && !read_weights(text, &weights))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("invalid value for option \"weights\": \"%s\"", text),
                        errdetail("It is a list of 1 to %d integers from 1 to %ld, one for each element.",
                                  kMaxWeights, kLargestWeight),
                        errhint("An example is '{2,1}'.")));
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
    add_string_reloption(option_kind, "weights",
                         "How often the elements of a text[] count, from the next build on", nullptr,
                         validate_weights, ShareUpdateExclusiveLock);
    add_bool_reloption(option_kind, "positions",
                       "Keeps words' positions for phrases and weights, from the next build on",
                       kDefaults.positions, ShareUpdateExclusiveLock);
    add_enum_reloption(option_kind, "long_documents",
                       "What is done with documents of more than a megabyte of words, from the next build on",
                       long_document_names, static_cast<int>(LongDocuments::Error),
                       "Valid values are \"error\", \"truncate\", and \"skip\".", ShareUpdateExclusiveLock);
}

bytea *read_options(Datum options, bool validate) {
    static constexpr relopt_parse_elt elements[] = {
        parsed_option("fanout", RELOPT_TYPE_INT, offsetof(StoredOptions, storage.fanout)),
        parsed_option("codec", RELOPT_TYPE_ENUM, offsetof(StoredOptions, codec)),
        parsed_option("k1", RELOPT_TYPE_REAL, offsetof(StoredOptions, k1)),
        parsed_option("b", RELOPT_TYPE_REAL, offsetof(StoredOptions, b)),
        parsed_option("configuration", RELOPT_TYPE_STRING, offsetof(StoredOptions, configuration)),
        parsed_option("weights", RELOPT_TYPE_STRING, offsetof(StoredOptions, weights)),
        parsed_option("positions", RELOPT_TYPE_BOOL, offsetof(StoredOptions, positions)),
        parsed_option("long_documents", RELOPT_TYPE_ENUM, offsetof(StoredOptions, long_documents)),
    };
    return static_cast<bytea *>(build_reloptions(options, validate, option_kind, sizeof(StoredOptions),
                                                 elements, lengthof(elements)));
}

Options options_of(Relation index) {
    if (index->rd_options == nullptr)
        return kDefaults;
    const auto *stored = reinterpret_cast<const StoredOptions *>(index->rd_options);
    return {static_cast<postings::Codec>(stored->codec), stored->k1, stored->b, stored->positions};
}

uint64 weights_option(Relation index) {
    const auto *stored = reinterpret_cast<const StoredOptions *>(index->rd_options);
    uint64 weights = 0;
    if (stored != nullptr && stored->weights != 0)
        read_weights(reinterpret_cast<const char *>(stored) + stored->weights, &weights);
    return weights;
}

LongDocuments long_documents_option(Relation index) {
    const auto *stored = reinterpret_cast<const StoredOptions *>(index->rd_options);
    return stored == nullptr ? LongDocuments::Error : static_cast<LongDocuments>(stored->long_documents);
}

const char *configuration_name(const bytea *options) {
    const auto *stored = reinterpret_cast<const StoredOptions *>(options);
    const bool is_default = stored == nullptr || stored->configuration == 0;
    return is_default ? kDefaultConfiguration
                      : reinterpret_cast<const char *>(stored) + stored->configuration;
}

}  // namespace pg_gpu::text
