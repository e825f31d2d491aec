// Requests of gpu_text to the server process about inverted lists.
#pragma once

#include "gpu_engine/text.h"
#include "residency/residency.h"

namespace pg_gpu::text {

// Inverted lists, with documents in storage::kEntrySection: all pages of both sections.
extern const client::MirrorKind text_mirror;
struct TextMirror : client::MirrorFormat {
    int posting_section;
    // Reads the run's shape from its own pages; false when one was recycled.
    bool (*read_shape)(Relation index, const storage::RunEntry &run, gpu_engine::TextShape *shape);
};

extern const client::RequestCost search_text_cost;
extern const client::RequestCost text_lists_cost;

// Sets of runs with documents only.

struct TextSearch {
    const gpu_engine::TextQuery *queries;  // query i of run r is queries[r * count + i]
    uint64 count;
    // Those of run r are terms[first_term[r]] and the following, which its queries, in order, count from 0.
    const gpu_engine::TextTerm *terms;
    const uint32 *first_term;
    // Those of all queries, in order. A query has the same ones in all runs.
    const gpu_engine::TextStep *steps;
    uint32 step_count;
    gpu_engine::postings::Norms norms;
    const double *shrink;     // by run
    client::Request request;  // the request by which the path was chosen
};

// The hits of query i, counted from the first one that was asked: counts[i] of each run, which begin behind
// as many as the queries before have k, together.
struct TextHits {
    uint64 queries;  // so many are answered; ask again for the others
    const uint32 *counts[client::kMaxRuns];
    const gpu_engine::TextHit *hits[client::kMaxRuns];
};

// Finds the best live documents for queries from number `first` on, by score, then by TID.
bool search_text(const client::RunSet &set, const client::Choice &choice, const TextSearch &search,
                 uint64 first, TextHits *hits);

// Lists of run r are lists[first[r]] to lists[first[r + 1] - 1].
struct TextLists {
    const gpu_engine::TextList *lists;
    const uint32 *first;
    client::Request request;
};

// Counts the live documents of each list; *documents has the numbers.
bool count_text(const client::RunSet &set, const client::Choice &choice, const TextLists &lists,
                const uint32 **documents);

// Live documents that are in all of a run's lists: one tuple.
bool intersect_text(const client::RunSet &set, const client::Choice &choice, const TextLists &lists,
                    client::EntriesResult *result);

}  // namespace pg_gpu::text
