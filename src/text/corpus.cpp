#include "text/corpus.h"

#include <algorithm>
#include <cmath>

#include "sort.h"
#include "storage/storage.h"
#include "table/table.h"
#include "text/batch_terms.h"
#include "text/text.h"

namespace pg_gpu::text {

static void count_items(Corpus *corpus, const storage::Items &tail_tuples, BlockNumber index_block) {
    for_each_tail_tuple(tail_tuples, [corpus, index_block](const DocumentTuple *tail_tuple) {
        if (unlikely(!is_possible_tid(corpus->index, &corpus->heap_blocks, tail_tuple->head.tid)))
            storage::report_corruption(corpus->index, index_block,
                                       "A document's TID lies outside the table.");
        corpus->documents += is_null(tail_tuple) ? 0 : 1;
        corpus->length += tail_tuple->length;
    });
}

static void open_raw(Corpus *corpus, const storage::RunEntry &run) {
    storage::Items *tail_tuples = &corpus->raws[corpus->raw_count];
    if (!read_raw_tuples(corpus->index, run, tail_tuples)) {
        corpus->recycled = &run;
        return;
    }
    corpus->raw_count++;
    count_items(corpus, *tail_tuples, storage::run_block(run, 0));
}

// The totals of a run's dead documents. They stay as they are until VACUUM finds more, so a session looks at
// each of them once and not in every query.
struct DeadTotals {
    uint64 run_id;
    uint64 dead;  // number of the run's dead documents that the totals are of
    uint64 documents;
    uint64 length;
};

static DeadTotals add_up_dead(RunReader *reader, uint64 dead) {
    DeadTotals totals = {reader->run.run_id, dead, 0, 0};
    for (uint64 word = 0; word < (reader->run.entries + 63) / 64; word++) {
        if (word % 1024 == 0)
            CHECK_FOR_INTERRUPTS();
        for (uint64 bits = reader->dead[word]; bits != 0; bits &= bits - 1) {
            const uint64 ordinal = word * 64 + static_cast<uint64>(__builtin_ctzll(bits));
            const uint32 length = document_length(reader, static_cast<uint32>(ordinal));
            if (length == kNullLength)
                continue;
            totals.documents++;
            totals.length += length;
        }
    }
    return totals;
}

static DeadTotals dead_totals(RunReader *reader) {
    constexpr uint64 kRemembered = 256;
    static DeadTotals remembered[kRemembered];
    uint64 dead = 0;
    for (uint64 word = 0; word < (reader->run.entries + 63) / 64; word++)
        dead += static_cast<uint64>(__builtin_popcountll(reader->dead[word]));
    // Dead bits are never cleared: as many are the same ones.
    DeadTotals *known = &remembered[reader->run.run_id % kRemembered];
    if (known->run_id == reader->run.run_id && known->dead == dead)
        return *known;
    const DeadTotals totals = add_up_dead(reader, dead);
    if (!reader->stale)
        *known = totals;
    return totals;
}

static void open_run(Corpus *corpus, const storage::RunEntry &run, DeadEntries dead_entries) {
    RunReader *reader = &corpus->runs[corpus->run_count++];
    storage::RunEntry opened = run;
    if (dead_entries == DeadEntries::Ignored)
        opened.dead = 0;
    open_reader(reader, corpus->index, opened);
    reader->heap_blocks = &corpus->heap_blocks;
    corpus->documents += run.entries - reader->header.null_documents;
    corpus->length += total_length(run);
    if (reader->dead == nullptr)
        return;
    const DeadTotals dead = dead_totals(reader);
    corpus->documents -= dead.documents;
    corpus->length -= dead.length;
}

Corpus *open_corpus(Relation index, Snapshot snapshot, storage::CachedRuns *cached, DeadEntries dead) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_text corpus", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    auto *corpus = allocate_zeroed<Corpus>(1);
    corpus->index = index;
    corpus->context = context;
    corpus->view.cached = cached;
    storage::Items tail = {allocate<char>(storage::kContentBytes), 0};
    storage::take_view(index, run_kind(), snapshot, &corpus->view, storage::copy_tail, &tail);
    check_tail_tuples(index, storage::kTailBlock, tail);

    corpus->raws = allocate<storage::Items>(corpus->view.run_count + 1);
    corpus->runs = allocate<RunReader>(corpus->view.run_count + 1);
    corpus->is_local = allocate_zeroed<bool>(corpus->view.run_count + 1);
    corpus->saves = allocate_zeroed<double>(corpus->view.run_count + 1);
    corpus->raws[corpus->raw_count++] = tail;
    count_items(corpus, corpus->raws[0], storage::kTailBlock);
    for (int i = 0; i < corpus->view.run_count && corpus->recycled == nullptr; i++) {
        const storage::RunEntry &run = corpus->view.runs[i];
        if (layout_of(run) == Layout::Raw)
            open_raw(corpus, run);
        else
            open_run(corpus, run, dead);
    }
    MemoryContextSwitchTo(caller);
    return corpus;
}

void close_corpus(Corpus *corpus) {
    for (int i = 0; i < corpus->run_count; i++)
        close_reader(&corpus->runs[i]);
    MemoryContextDelete(corpus->context);
}

const storage::RunEntry *recycled_run(const Corpus *corpus, uint32 *position) {
    *position = 0;
    if (corpus->recycled != nullptr)
        return corpus->recycled;
    for (int i = 0; i < corpus->run_count; i++) {
        if (corpus->runs[i].stale) {
            *position = corpus->runs[i].stale_position;
            return &corpus->runs[i].run;
        }
    }
    return nullptr;
}

void confirm_recycled(const Corpus *corpus, const storage::RunEntry &run, uint32 position) {
    storage::confirm_recycled(corpus->index, run_kind(), corpus->view, run, position);
}

// ---- lists ------------------------------------------------------------------------------------------------

namespace {

struct PrefixPosting {
    uint32 ordinal;
    uint32 frequency;
};

}  // namespace

// Sorts postings and makes those of a document one; returns how many are left.
static uint64 join_postings(PrefixPosting *postings, uint64 count) {
    sort_interruptibly(postings, postings + count,
                       [](const PrefixPosting &a, const PrefixPosting &b) { return a.ordinal < b.ordinal; });
    uint64 cached = 0;
    for (uint64 i = 0; i < count; i++) {
        if (cached > 0 && postings[cached - 1].ordinal == postings[i].ordinal)
            postings[cached - 1].frequency += postings[i].frequency;
        else
            postings[cached++] = postings[i];
    }
    return cached;
}

// Opens the lists of all lexemes with a prefix as one list in memory.
static ListCursor *open_prefix(DictionaryCursor *dictionary, const QueryTerm &term) {
    uint64 count = 0;
    uint64 room = 1024;
    auto *found = allocate<PrefixPosting>(room);
    const auto add = [&](uint32 ordinal, uint32 frequency) {
        if (count == room) {
            // The array takes no more than twice the room of the documents.
            count = join_postings(found, count);
            if (count > room / 2)
                found = reallocate(found, room *= 2);
        }
        found[count++] = {ordinal, frequency};
    };
    for (; !dictionary->end && dictionary->lexeme_length >= term.length &&
           memcmp(dictionary->lexeme, term.lexeme, term.length) == 0;
         next_entry(dictionary)) {
        CHECK_FOR_INTERRUPTS();
        ListCursor *list = open_list(dictionary);
        for (uint32 block = 0; load_block(list, block); block++) {
            CHECK_FOR_INTERRUPTS();
            for (uint32 i = 0; i < list->count; i++)
                add(list->ordinals[i], frequency_at(list, i));
        }
        close_list(list);
    }
    if (count == 0) {
        pfree(found);
        return nullptr;
    }
    count = join_postings(found, count);
    auto *ordinals = allocate<uint32>(count);
    auto *frequencies = allocate<uint32>(count);
    for (uint64 i = 0; i < count; i++) {
        ordinals[i] = found[i].ordinal;
        frequencies[i] = found[i].frequency;
    }
    pfree(found);
    return open_list_in_memory(dictionary->reader, ordinals, frequencies, static_cast<uint32>(count));
}

ListCursor **open_lists(RunReader *reader, const Query &query) {
    auto **lists = allocate_zeroed<ListCursor *>(query.term_count + 1);
    auto *dictionary = allocate<DictionaryCursor>(1);
    for (int i = 0; i < query.term_count && !reader->stale; i++) {
        const QueryTerm &term = query.terms[i];
        if (!term.prefix) {
            if (find_lexeme(dictionary, reader, term.lexeme, term.length))
                lists[i] = open_list(dictionary);
            continue;
        }
        seek_lexeme(dictionary, reader, term.lexeme, term.length);
        lists[i] = open_prefix(dictionary, term);
    }
    pfree(dictionary);
    return lists;
}

bool has_prefixes(const Query &query) {
    return std::any_of(query.terms, query.terms + query.term_count,
                       [](const QueryTerm &term) { return term.prefix; });
}

ListCursor ***open_all_lists(Corpus *corpus, const Query &query) {
    auto ***lists = allocate<ListCursor **>(corpus->run_count + 1);
    for (int i = 0; i < corpus->run_count; i++)
        lists[i] = open_lists(&corpus->runs[i], query);
    return lists;
}

// ---- statistics -------------------------------------------------------------------------------------------

uint64 count_live(ListCursor *list) {
    const RunReader *reader = list->reader;
    if (reader->dead == nullptr)
        return list->documents;
    uint64 live = 0;
    for (uint32 block = 0; load_block(list, block); block++) {
        CHECK_FOR_INTERRUPTS();
        for (uint32 i = 0; i < list->count; i++)
            live += is_dead(reader, list->ordinals[i]) ? 0 : 1;
    }
    load_block(list, 0);
    return live;
}

// Counts the documents of each of a prefix's lexemes, so that one with two of them counts twice.
static uint64 count_prefix(RunReader *reader, const QueryTerm &term) {
    auto *dictionary = allocate<DictionaryCursor>(1);
    uint64 total = 0;
    for (seek_lexeme(dictionary, reader, term.lexeme, term.length);
         !dictionary->end && dictionary->lexeme_length >= term.length &&
         memcmp(dictionary->lexeme, term.lexeme, term.length) == 0;
         next_entry(dictionary)) {
        CHECK_FOR_INTERRUPTS();
        if (reader->dead == nullptr) {
            total += dictionary->frequency;
            continue;
        }
        ListCursor *list = open_list(dictionary);
        total += count_live(list);
        close_list(list);
    }
    pfree(dictionary);
    return total;
}

void count_in_tuples(const Corpus *corpus, const Query &query, uint64 *counts) {
    auto **terms = allocate<BatchTerm *>(query.term_count + 1);
    const bool known = find_terms_of_tuples(corpus, query, terms);
    for (int term = 0; known && term < query.term_count; term++)
        counts[term] += terms[term]->tail_tuples;
    pfree(terms);
    if (known)
        return;
    auto *ones = allocate<uint32>(query.term_count + 1);
    for (int i = 0; i < corpus->raw_count; i++) {
        for_each_tail_tuple(corpus->raws[i], [&](const DocumentTuple *tail_tuple) {
            // A lexeme counts once for itself, and once for each prefix it has.
            memset(ones, 0, query.term_count * sizeof(uint32));
            TupleReader reader = begin_tuple(tail_tuple);
            int next = 0;
            while (next_lexeme(&reader)) {
                const Lexeme once = {reader.lexeme.bytes, reader.lexeme.length, 1};
                add_frequency(query, once, &next, ones);
            }
            for (int term = 0; term < query.term_count; term++)
                counts[term] += ones[term];
        });
    }
    pfree(ones);
}

void count_documents(Corpus *corpus, const Query &query, ListCursor ***lists, uint64 *counts) {
    memset(counts, 0, query.term_count * sizeof(uint64));
    for (int term = 0; term < query.term_count; term++) {
        if (!query.terms[term].ranked)
            continue;
        for (int run = 0; run < corpus->run_count; run++) {
            if (query.terms[term].prefix)
                counts[term] += count_prefix(&corpus->runs[run], query.terms[term]);
            else if (lists[run][term] != nullptr)
                counts[term] += count_live(lists[run][term]);
        }
    }
    count_in_tuples(corpus, query, counts);
}

void weigh_terms(uint64 document_count, double k1, const uint64 *frequencies, Query *query) {
    const auto documents = static_cast<double>(document_count);
    for (int i = 0; i < query->term_count; i++) {
        // A prefix's lexemes can add up to more than all documents.
        const double frequency = Min(static_cast<double>(frequencies[i]), documents);
        const double idf = log(1.0 + (documents - frequency + 0.5) / (frequency + 0.5));
        query->terms[i].weight = query->terms[i].ranked ? idf * (k1 + 1.0) / postings::kScoreUnit : 0.0;
    }
}

}  // namespace pg_gpu::text
