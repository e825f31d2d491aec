#include "compat.h"
#include "text/options.h"

namespace pg_gpu::text {

struct StoredOptions {
    storage::StorageOptions storage;
    int codec;
    double k1;
    double b;
};

static constexpr Options kDefaults = {postings::Codec::Bitpack, 1.2, 0.75};
static relopt_kind option_kind;

static relopt_enum_elt_def codec_names[] = {
    {"bitpack", static_cast<int>(postings::Codec::Bitpack)},
    {"pfordelta", static_cast<int>(postings::Codec::PForDelta)},
    {"rice", static_cast<int>(postings::Codec::Rice)},
    {nullptr, 0},
};

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
}

bytea *read_options(Datum options, bool validate) {
    static constexpr relopt_parse_elt elements[] = {
        parsed_option("fanout", RELOPT_TYPE_INT, offsetof(StoredOptions, storage.fanout)),
        parsed_option("codec", RELOPT_TYPE_ENUM, offsetof(StoredOptions, codec)),
        parsed_option("k1", RELOPT_TYPE_REAL, offsetof(StoredOptions, k1)),
        parsed_option("b", RELOPT_TYPE_REAL, offsetof(StoredOptions, b)),
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

}  // namespace pg_gpu::text
