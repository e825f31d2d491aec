// Reloptions: how lists are coded, BM25's parameters, and storage's fan-out.
#pragma once

#include "text/format.h"

namespace pg_gpu::text {

struct Options {
    postings::Codec codec;
    double k1;
    double b;
    bool positions = false;
};

void register_options();
bytea *read_options(Datum options, bool validate);
// Returns the options that a build goes by.
Options options_of(Relation index);

// Returns the text search configuration's name, as what read_options() has made has it.
const char *configuration_name(const bytea *options);

// What is done with a document whose words take more room than a tsvector has.
enum class LongDocuments : uint8 { Error, Truncate, Skip };

// Returns the option `long_documents`.
LongDocuments long_documents_option(Relation index);

inline constexpr int kMaxWeights = 8;

// Returns the option `weights` as DocumentSource has it.
uint64 weights_option(Relation index);

inline postings::Norms norms_for(const Options &options, double average_length) {
    return {options.k1 * (1.0 - options.b),
            average_length > 0 ? options.k1 * options.b / average_length : 0.0};
}

}  // namespace pg_gpu::text
