// Messages about inverted lists (gpu_engine/text.h).
#pragma once

#include <cstdint>

#include "gpu_engine/protocol_common.h"
#include "gpu_engine/text.h"

namespace gpu_engine::protocol {

// Reserves memory for a run's inverted lists, as BeginKary does for an array. Their pages come by
// append_pages only, numbered through both sections: those of documents, then those of postings, all of them
// and in order.
struct BeginText {
    RequestHeader header;
    RunName name;
    Holder holder;
    std::uint64_t posting_bytes;
    std::uint32_t documents;
    std::uint32_t codec;          // postings::Codec
    std::uint32_t content_bytes;  // content bytes of each page
    std::uint32_t reserved;
};

// Ranks documents. Query i of run r is queries[r * count + i] (TextQuery), and the run's terms (TextTerm) are
// terms[first_term[r]] to terms[first_term[r + 1] - 1], which the query counts from 0. The steps (TextStep)
// are those of all runs' queries. At `results` lie for each run counts[count] of 32 bits, at offsets_at, and
// hits (TextHit), at tids_at: those of query i begin behind as many as the run's queries before have k,
// together.
struct SearchText {
    RequestHeader header;
    std::uint64_t queries;  // offset
    std::uint64_t count;
    std::uint64_t terms;  // offset
    std::uint64_t steps;  // offset
    std::uint64_t step_count;
    std::uint64_t results;
    std::uint64_t capacity;
    postings::Norms norms;
    std::uint32_t runs;
    std::uint32_t first_term[max_runs + 1];
    double shrink[max_runs];
    RunUse run[max_runs];
};

// Lists (TextList) of the runs: those of run r are lists[first[r]] to lists[first[r + 1] - 1].
struct ListsPlace {
    std::uint64_t lists;  // offset
    std::uint32_t first[max_runs + 1];
    std::uint32_t reserved;
};

// The results at `results` are 32-bit numbers: the i-th is the number of live documents of list i.
struct CountText {
    RequestHeader header;
    ListsPlace lists;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t runs;
    std::uint32_t reserved;
    RunUse run[max_runs];
};

// There is one item: the entries of a run that are in all of its lists.
struct IntersectText {
    RequestHeader header;
    ListsPlace lists;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t runs;
    std::uint32_t reserved;
    RunUse run[max_runs];
};

using TextStructures = Structures<BeginText, TextQuery, TextTerm, TextStep, TextHit, TextList, SearchText,
                                  ListsPlace, CountText, IntersectText>;

}  // namespace gpu_engine::protocol
