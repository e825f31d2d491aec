// Lists and documents for the benchmark of inverted lists, made from a seed.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/text/encoder.h"

namespace gpu_engine::bench {

// Makes about `count` postings of a list that comes in bursts, as words do: gaps are geometric, and every 64
// postings their mean changes by a factor of a log-normal distribution.
std::vector<TextPosting> make_list(std::uint64_t seed, std::uint32_t documents, std::uint32_t count);

// Lists of one codec in one posting section, encoded by all processors.
struct Lists {
    postings::Codec codec;
    std::uint32_t documents;
    std::vector<std::uint8_t> section;
    std::vector<TextList> lists;

    TextShape shape() const { return {section.size(), documents, codec}; }
};
Lists make_lists(postings::Codec codec, std::uint32_t documents, const std::vector<std::uint32_t> &counts,
                 const postings::Norms &norms, const std::uint32_t *lengths);

// Makes lengths of documents, which are log-normal about `mean`.
std::vector<std::uint32_t> make_lengths(std::uint32_t documents, std::uint32_t mean);

// Makes an index of the lists in which each TID has a document; the engine gets page images.
Status load_corpus(Engine &engine, Stream &stream, const Lists &lists,
                   const std::vector<std::uint32_t> &lengths, std::unique_ptr<TextIndex> *index);

// Queries over the lists, by BM25 with the usual parameters.
struct Queries {
    std::vector<TextTerm> terms;
    std::vector<TextQuery> queries;
};
// Makes queries of so many lists; for 0, of 2 to 5, which are as frequent as in web search: 40, 30, 20, 10 %.
Queries make_queries(const Lists &lists, std::uint32_t count, TextMode mode, std::uint32_t k,
                     std::uint32_t lists_a_query);

}  // namespace gpu_engine::bench
