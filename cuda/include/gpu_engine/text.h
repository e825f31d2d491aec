// Inverted lists of a run of gpu_text: ranked search (BM25) and intersection.
//
// Documents are numbered in the order of their TIDs. Lists are kept as they lie on the run's pages
// (src/text/README.md): compressed in blocks of 128 postings, the blocks' heads behind them. There is no
// dictionary here: the caller finds a lexeme's list in the run's and names it by its place in the posting
// section. What the lists hold is checked as it is read; one that contradicts itself ends a call with
// invalid_argument, whoever wrote it.
//
// A query asks for documents in one of its lists, in all of them, or for those that a program of steps
// matches: AND, OR and NOT over terms, each of which is a list or, as a prefix is, several. Phrases and
// weights are the caller's: there is no call for them.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu_engine/engine.h"
#include "gpu_engine/entry.h"
#include "gpu_engine/postings.h"
#include "gpu_engine/status.h"

namespace gpu_engine {

inline constexpr std::uint32_t max_text_terms = 1024;  // most terms of a query
// The most lists of a query with steps. A prefix is one term and may have any number of these lists.
inline constexpr std::uint32_t max_text_lists = 32768;
inline constexpr std::uint32_t max_text_steps = 4096;
inline constexpr std::uint32_t max_text_depth = 32;
inline constexpr std::uint32_t max_text_hits = 10000;  // most hits of a query
inline constexpr std::uint32_t max_text_queries = 1 << 16;

// The length that marks an entry which is no document (a NULL). No list has such an entry.
inline constexpr std::uint32_t null_text_length = 0xffffff;

// The greatest weight, in units (postings::kScoreUnit). Sums of max_text_terms of them stay below 2^63.
inline constexpr double max_text_weight = 0x1p52;

struct TextShape {
    std::uint64_t posting_bytes;  // bytes of the posting section
    std::uint32_t documents;      // entries of the run, those of NULLs too
    postings::Codec codec;
};

// Page images in order, `content_bytes` of each from `first_byte` on. Pages of documents hold
// content_bytes / 9 each: TIDs, then lengths of three bytes; the last page has the rest of both.
struct TextPages {
    const void *images;
    std::uint32_t pages;
    std::uint32_t page_bytes;
    std::uint32_t first_byte;
    std::uint32_t content_bytes;
};

// A list. One of a single posting, which a run keeps in its dictionary, is given by `ordinal` and
// `frequency`, and `offset` and `bytes` aren't read; with more postings it is the other way about.
struct TextList {
    std::uint64_t offset;  // in the posting section
    std::uint64_t bytes;
    std::uint32_t documents;  // postings, at least 1
    std::uint32_t ordinal;
    std::uint32_t frequency;
    std::uint32_t reserved;
};
static_assert(sizeof(TextList) == 32);

struct TextTerm {
    TextList list;
    double weight;  // idf (k1 + 1) / postings::kScoreUnit, from 0 to max_text_weight
    // With `steps` alone: which of the query's terms it is, counted from 0. Lists of the same term follow one
    // another and have its weight; a document's frequencies in them are added before they are weighed.
    std::uint32_t number;
    std::uint32_t scored;  // with `steps` alone: 0 where the term has no part in scores
};
static_assert(sizeof(TextTerm) == 48);

enum class TextMode : std::uint32_t {
    any,    // documents in one list at least
    all,    // documents in every list
    steps,  // documents for which the steps leave `true`
};

// The steps of a query work on a stack of truth values of one document: the first three put a value there,
// the others take two and put what comes of them. In the end there is one. NOT stands before terms only.
enum class TextStepKind : std::uint32_t {
    has,     // the document is in one of the term's lists
    lacks,   // it is in none of them
    every,   // true
    both,    // AND
    either,  // OR
};

struct TextStep {
    TextStepKind kind;
    std::uint32_t term;  // term that `has` and `lacks` are about
};
static_assert(sizeof(TextStep) == 8);

// The query's terms are terms[first_term] and the following, in ascending order of their numbers. A lexeme
// that the run doesn't have is left out by the caller; with `all` the caller leaves out the whole query.
// Without terms there are no hits, but for steps that match documents which lack them.
struct TextQuery {
    std::uint32_t first_term;
    std::uint32_t terms;
    TextMode mode;
    std::uint32_t k;           // hits wanted, 1 to max_text_hits
    std::uint32_t first_step;  // with `steps`
    std::uint32_t steps;
    // Hits come behind this score and TID, if `resumes` isn't 0.
    std::int64_t score;
    Tid tid;
    std::uint16_t resumes;
};
static_assert(sizeof(TextQuery) == 40);

// The queries of one call. They may have the same terms, and the same steps.
struct TextBatch {
    const TextQuery *queries;
    std::uint32_t query_count;
    const TextTerm *terms;
    std::uint32_t term_count;
    const TextStep *steps;
    std::uint32_t step_count;
};

// The ranking that all queries of a call share.
struct TextRanking {
    postings::Norms norms;  // both from 0 to 2^60
    // How much less lengths weigh than when the blocks' bounds were written, 0 to 1; negative when those are
    // of no use, because k1 or b were others (postings::bound_contribution).
    double shrink;
};

// A live document that matches. Its score is the sum of postings::contribution over the query's terms that it
// has: the same bits on every path.
struct TextHit {
    std::int64_t score;
    std::uint32_t ordinal;
    Tid tid;
    std::uint16_t reserved[3];  // 0
};
static_assert(sizeof(TextHit) == 24);

// All functions but the destructor may run on several streams at once. On a status that isn't ok the outputs
// hold nothing of use.
class TextIndex : public Store {
  public:
    virtual const TextShape &shape() const noexcept = 0;

    // documents[i] = how many live documents lists[i] has: BM25's document frequencies.
    virtual Status count_documents(Stream &stream, const TextList *lists, std::uint32_t count,
                                   std::uint32_t *documents) const noexcept = 0;

    // The best k of each query, by score, then by TID. Query i's hits begin at hits[sum of the k of those
    // before] and there are counts[i] of them, fewer than k when no more match.
    virtual Status search(Stream &stream, const TextRanking &ranking, const TextBatch &batch, TextHit *hits,
                          std::uint32_t *counts) const noexcept = 0;

    // TIDs of the live documents that are in all lists, 1 to max_text_terms of them, ascending. *found says
    // how many; when they are more than `capacity` the status is insufficient_space and only *found is of
    // use.
    virtual Status intersect(Stream &stream, const TextList *lists, std::uint32_t count, Tid *tids,
                             std::uint64_t capacity, std::uint64_t *found) const noexcept = 0;
};

// A text index in the making. Both sections come piece by piece, each in the order of its pages; which one
// first is up to the caller.
class TextLoader : public Interface {
  public:
    // Returns how many documents have come.
    virtual std::uint32_t loaded_documents() const noexcept = 0;

    // Takes the next pages of a section. More of them than the shape has are invalid_argument, and so are
    // TIDs that descend. After a failure none of them has been taken.
    virtual Status append_postings(Stream &stream, const TextPages &pages) noexcept = 0;
    virtual Status append_documents(Stream &stream, const TextPages &pages) noexcept = 0;

    // Makes the index. All pages must have come, and the loader is empty afterwards.
    virtual Status finish(Stream &stream, std::unique_ptr<TextIndex> *index) noexcept = 0;
};

class Text : public Interface {
  public:
    // The bytes that an index without dead documents takes of the engine's memory.
    virtual std::uint64_t index_bytes(const TextShape &shape) const noexcept = 0;
    // Reserves that memory.
    virtual Status open_loader(Stream &stream, const TextShape &shape,
                               std::unique_ptr<TextLoader> *loader) noexcept = 0;
};

}  // namespace gpu_engine
