#include "text/places.h"

#include "text/batch_terms.h"

namespace pg_gpu::text {

namespace {

struct GrowingPlaces {
    ListPlace *places;
    uint32 count;
    uint32 room;
};

}  // namespace

static void add_place(GrowingPlaces *found, const ListPlace &place) {
    if (found->count == found->room)
        found->places = reallocate(found->places, found->room *= 2);
    found->places[found->count++] = place;
}

static bool has_prefix(const DictionaryCursor *dictionary, const QueryTerm &term) {
    return !dictionary->end && dictionary->lexeme_length >= term.length &&
           memcmp(dictionary->lexeme, term.lexeme, term.length) == 0;
}

static void add_places_of(DictionaryCursor *dictionary, RunReader *reader, const QueryTerm &term, uint32 most,
                          GrowingPlaces *found) {
    if (!term.prefix) {
        if (find_lexeme(dictionary, reader, term.lexeme, term.length))
            add_place(found, encode_tid(dictionary));
        return;
    }
    for (seek_lexeme(dictionary, reader, term.lexeme, term.length);
         has_prefix(dictionary, term) && found->count <= most; next_entry(dictionary)) {
        CHECK_FOR_INTERRUPTS();
        add_place(found, encode_tid(dictionary));
    }
}

// Copies the places of all lexemes of a batch, which are known.
static RunPlaces *copy_places(const Corpus *corpus, const Query &query, const ListPlace *const *of_term) {
    const auto terms = static_cast<uint64>(query.term_count);
    const auto count = static_cast<uint64>(corpus->run_count);
    auto *runs = allocate<RunPlaces>(count + 1);
    auto *first = allocate<uint32>(count * (terms + 1) + 1);
    auto *places = allocate<ListPlace>(count * terms + 1);
    for (uint64 i = 0; i < count; i++) {
        uint32 found = 0;
        for (uint64 term = 0; term < terms; term++) {
            first[term] = found;
            if (of_term[term][i].documents > 0)
                places[found++] = of_term[term][i];
        }
        first[terms] = found;
        runs[i] = {places, first};
        first += terms + 1;
        places += found;
    }
    return runs;
}

static RunPlaces *find_known_places(Corpus *corpus, const Query &query, uint32 most) {
    if (corpus->batch == nullptr || static_cast<uint32>(query.term_count) > most)
        return nullptr;
    auto **of_term = allocate<const ListPlace *>(query.term_count + 1);
    for (int term = 0; term < query.term_count; term++) {
        of_term[term] = places_of_term(corpus, query.terms[term]);
        if (of_term[term] == nullptr)
            return nullptr;
    }
    return copy_places(corpus, query, of_term);
}

RunPlaces *find_places(Corpus *corpus, const Query &query, uint32 most) {
    RunPlaces *known = find_known_places(corpus, query, most);
    if (known != nullptr)
        return known;
    auto *runs = allocate<RunPlaces>(corpus->run_count + 1);
    auto *dictionary = allocate<DictionaryCursor>(1);
    bool fits = true;
    for (int i = 0; i < corpus->run_count && fits; i++) {
        RunReader *reader = &corpus->runs[i];
        const auto room = static_cast<uint32>(query.term_count + 1);
        GrowingPlaces found = {allocate<ListPlace>(room), 0, room};
        runs[i].first = allocate<uint32>(room);
        for (int term = 0; term < query.term_count; term++) {
            runs[i].first[term] = found.count;
            if (!reader->stale && found.count <= most)
                add_places_of(dictionary, reader, query.terms[term], most, &found);
        }
        runs[i].first[query.term_count] = found.count;
        runs[i].places = found.places;
        fits = found.count <= most;
    }
    pfree(dictionary);
    return fits ? runs : nullptr;
}

ListCursor ***open_lists_at(Corpus *corpus, const Query &query, const RunPlaces *places,
                            const bool *is_local) {
    auto ***lists = allocate<ListCursor **>(corpus->run_count + 1);
    for (int i = 0; i < corpus->run_count; i++) {
        lists[i] = nullptr;
        if (is_local != nullptr && !is_local[i])
            continue;
        if (has_prefixes(query)) {
            lists[i] = open_lists(&corpus->runs[i], query);
            continue;
        }
        lists[i] = allocate_zeroed<ListCursor *>(query.term_count + 1);
        for (int term = 0; term < query.term_count && !corpus->runs[i].stale; term++)
            if (has_places(places[i], term))
                lists[i][term] = open_list(&corpus->runs[i], places[i].places[places[i].first[term]]);
    }
    return lists;
}

}  // namespace pg_gpu::text
