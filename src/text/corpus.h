// A corpus is what one view of an index holds, opened for a query: the tail and sealed tails are tuples, and
// inverted runs have readers.
#pragma once

#include "text/query.h"
#include "text/reader.h"

namespace pg_gpu::text {

struct BatchTerms;

struct Corpus {
    Relation index;
    MemoryContext context;    // has everything below; ends with the corpus
    BlockNumber heap_blocks;  // number of the table's blocks as last looked at
    storage::View view;
    storage::Items *raws;
    int raw_count;
    RunReader *runs;
    int run_count;
    bool *is_local;                     // by run: it is read from pages beside requests to the others
    double *saves;                      // by run: as client::RunSet's
    BatchTerms *batch;                  // nullptr: the queries are no batch
    const storage::RunEntry *recycled;  // a sealed tail that could not be read
    // This is the number of entries that VACUUM has not removed, without those of NULLs.
    uint64 documents;
    uint64 length;
};

// Are dead entries told from others? An estimate doesn't read their bitmaps.
enum class DeadEntries { Told, Ignored };

// Opens views until `work` has gone through one of which no page was recycled meanwhile: it may run several
// times, and must leave nothing in memory of a run that was stale. Runs in the corpus's memory context.
template <typename Work>
void with_corpus(Relation index, Snapshot snapshot, Work work, DeadEntries dead = DeadEntries::Told);

// `cached` belongs to who opens another one when pages of this one are recycled.
Corpus *open_corpus(Relation index, Snapshot snapshot, storage::CachedRuns *cached, DeadEntries dead);
void close_corpus(Corpus *corpus);
// Is called after work on the corpus. Returns the run of which a page was recycled, and which page, or
// nullptr when none was.
const storage::RunEntry *recycled_run(const Corpus *corpus, uint32 *position);
inline bool is_stale(const Corpus *corpus) {
    uint32 position;
    return recycled_run(corpus, &position) != nullptr;
}
// Raises an error if that is damage.
void confirm_recycled(const Corpus *corpus, const storage::RunEntry &run, uint32 position);

template <typename Work>
void with_corpus(Relation index, Snapshot snapshot, Work work, DeadEntries dead) {
    storage::CachedRuns cached;
    storage::begin_cached(&cached);
    for (bool done = false; !done;) {
        Corpus *corpus = open_corpus(index, snapshot, &cached, dead);
        MemoryContext caller = MemoryContextSwitchTo(corpus->context);
        if (corpus->recycled == nullptr)
            work(corpus);
        MemoryContextSwitchTo(caller);
        uint32 position;
        const storage::RunEntry *recycled = recycled_run(corpus, &position);
        done = recycled == nullptr;
        if (!done)
            confirm_recycled(corpus, *recycled, position);
        close_corpus(corpus);
    }
    storage::end_cached(&cached);
}

// Calls visit(tuple) for each of the tuples that is not dead.
template <typename Visit>
void for_each_tail_tuple(const storage::Items &tail_tuples, Visit visit) {
    uint32 number = 0;
    for (uint32 at = 0; at < tail_tuples.bytes; number++) {
        const auto *tail_tuple = reinterpret_cast<const DocumentTuple *>(tail_tuples.tail_tuples + at);
        if (!storage::is_dead(tail_tuples, number))
            visit(tail_tuple);
        at += storage::tail_tuple_size(&tail_tuple->head);
    }
}

// These are the lists of the query's terms in a run, by term; a list is nullptr where the run has none.
ListCursor **open_lists(RunReader *reader, const Query &query);

bool has_prefixes(const Query &query);

// Counts the list's documents that are not dead, and goes back to its first block.
uint64 count_live(ListCursor *list);

// Counts the entries of each term that VACUUM has not removed, of a prefix those of all its lexemes. `lists`
// are the runs' lists.
void count_documents(Corpus *corpus, const Query &query, ListCursor ***lists, uint64 *frequencies);
// Adds the entries of the tail and of sealed tails to the counts.
void count_in_tuples(const Corpus *corpus, const Query &query, uint64 *frequencies);

// Opens the lists of all runs, by run.
ListCursor ***open_all_lists(Corpus *corpus, const Query &query);

// Works out BM25's weight of each ranked term from the counts: ln(1 + (N - df + 0.5) / (df + 0.5)) (k1 + 1).
void weigh_terms(uint64 document_count, double k1, const uint64 *frequencies, Query *query);

inline double average_length(uint64 documents, uint64 length) {
    return documents == 0 ? 0 : static_cast<double>(length) / static_cast<double>(documents);
}

inline double average_length(const Corpus *corpus) {
    return average_length(corpus->documents, corpus->length);
}

}  // namespace pg_gpu::text
