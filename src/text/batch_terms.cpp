#include "text/batch_terms.h"

namespace pg_gpu::text {

namespace {

// The beginning of the table's entries.
struct TermKey {
    const char *lexeme;
    uint32 length;
};
static_assert(offsetof(BatchTerm, lexeme) == offsetof(TermKey, lexeme) &&
              offsetof(BatchTerm, length) == offsetof(TermKey, length));

}  // namespace

// Frequencies of all lexemes in all tuples, and places of all lexemes in all runs, are no more than these. Of
// a batch that has more, each query looks for its own.
static constexpr uint64 kMaxFrequencies = uint64{4} << 20;
static constexpr uint64 kMaxPlaces = uint64{1} << 18;

static uint32 hash_term(const void *key, Size) {
    const auto *term = static_cast<const TermKey *>(key);
    return DatumGetUInt32(
        hash_any(reinterpret_cast<const unsigned char *>(term->lexeme), static_cast<int>(term->length)));
}

static int compare_terms(const void *a, const void *b, Size) {
    const auto *one = static_cast<const TermKey *>(a);
    const auto *other = static_cast<const TermKey *>(b);
    return one->length == other->length && memcmp(one->lexeme, other->lexeme, one->length) == 0 ? 0 : 1;
}

static BatchTerm *look_up(HTAB *terms, const char *lexeme, uint32 length, HASHACTION action, bool *found) {
    const TermKey key = {lexeme, length};
    return static_cast<BatchTerm *>(hash_search(terms, &key, action, found));
}

// All lexemes are counted in one walk through the tuples.
static void count_lexemes(BatchTerms *batch) {
    for (uint32 i = 0; i < batch->item_count; i++) {
        CHECK_FOR_INTERRUPTS();
        TupleReader reader = begin_tuple(batch->tail_tuples[i]);
        while (next_lexeme(&reader)) {
            BatchTerm *term =
                look_up(batch->terms, reader.lexeme.bytes, reader.lexeme.length, HASH_FIND, nullptr);
            if (term == nullptr)
                continue;
            term->frequencies[i] += reader.lexeme.frequency;
            term->tail_tuples++;
        }
    }
}

static void list_items(const Corpus *corpus, BatchTerms *batch) {
    uint32 count = 0;
    for (int i = 0; i < corpus->raw_count; i++)
        for_each_tail_tuple(corpus->raws[i], [&](const DocumentTuple *) { count++; });
    if (static_cast<uint64>(hash_get_num_entries(batch->terms)) * count > kMaxFrequencies)
        return;
    batch->tail_tuples = allocate<const DocumentTuple *>(count + 1);
    for (int i = 0; i < corpus->raw_count; i++)
        for_each_tail_tuple(corpus->raws[i], [&](const DocumentTuple *tail_tuple) {
            batch->tail_tuples[batch->item_count++] = tail_tuple;
        });
    HASH_SEQ_STATUS all;
    hash_seq_init(&all, batch->terms);
    while (auto *term = static_cast<BatchTerm *>(hash_seq_search(&all)))
        term->frequencies = allocate_zeroed<uint32>(count + 1);
    count_lexemes(batch);
}

void begin_batch(Corpus *corpus, const Query *queries, int count) {
    MemoryContext caller = MemoryContextSwitchTo(corpus->context);
    HASHCTL control = {};
    control.keysize = sizeof(TermKey);
    control.entrysize = sizeof(BatchTerm);
    control.hash = hash_term;
    control.match = compare_terms;
    control.hcxt = corpus->context;
    auto *batch = allocate_zeroed<BatchTerms>(1);
    batch->terms =
        hash_create("gpu_text batch", 256, &control, HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < queries[i].term_count; j++) {
            const QueryTerm &requested = queries[i].terms[j];
            if (requested.prefix)
                continue;
            bool found;
            BatchTerm *term = look_up(batch->terms, requested.lexeme, requested.length, HASH_ENTER, &found);
            if (!found) {
                term->queries = 0;
                term->places = nullptr;
                term->frequencies = nullptr;
                term->tail_tuples = 0;
            }
            term->queries++;
        }
    }
    list_items(corpus, batch);
    corpus->batch = batch;
    MemoryContextSwitchTo(caller);
}

// Returns nullptr where the term isn't known: for a prefix, and where the queries are no batch.
static BatchTerm *find_term(const Corpus *corpus, const QueryTerm &term) {
    return corpus->batch == nullptr || term.prefix
               ? nullptr
               : look_up(corpus->batch->terms, term.lexeme, term.length, HASH_FIND, nullptr);
}

bool find_terms_of_tuples(const Corpus *corpus, const Query &query, BatchTerm **terms) {
    if (corpus->batch == nullptr || corpus->batch->tail_tuples == nullptr)
        return false;
    for (int i = 0; i < query.term_count; i++) {
        terms[i] = find_term(corpus, query.terms[i]);
        if (terms[i] == nullptr)
            return false;
    }
    return true;
}

const ListPlace *places_of_term(Corpus *corpus, const QueryTerm &requested) {
    BatchTerm *term = find_term(corpus, requested);
    // A list of places for each run is kept only where it is used again.
    if (term == nullptr || term->queries < 2 ||
        static_cast<uint64>(hash_get_num_entries(corpus->batch->terms)) *
                static_cast<uint64>(corpus->run_count) >
            kMaxPlaces)
        return nullptr;
    if (term->places != nullptr)
        return term->places;
    MemoryContext caller = MemoryContextSwitchTo(corpus->context);
    term->places = allocate_zeroed<ListPlace>(corpus->run_count + 1);
    auto *dictionary = allocate<DictionaryCursor>(1);
    for (int i = 0; i < corpus->run_count; i++) {
        CHECK_FOR_INTERRUPTS();
        RunReader *reader = &corpus->runs[i];
        if (!reader->stale && find_lexeme(dictionary, reader, term->lexeme, term->length))
            term->places[i] = encode_tid(dictionary);
    }
    pfree(dictionary);
    MemoryContextSwitchTo(caller);
    return term->places;
}

}  // namespace pg_gpu::text
