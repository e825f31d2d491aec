#include "text/position_match.h"

#include <algorithm>

#include "sort.h"
#include "text/position_list.h"
#include "text/rows.h"

namespace pg_gpu::text {

namespace {

// The positions that a document has of a term.
struct Evidence {
    const QueryTerm *term;
    bool present;
    Positions positions;
};

// The positions of a prefix's lexemes together, which may be more than a lexeme has.
struct PositionSet {
    uint64 *keys;  // the document's number above the position and its weight
    uint64 count;
    uint64 room;
};

struct Decision {
    TSQuery text;
    Evidence *evidence;  // by term of the node, in order of lexeme
    int terms;
    MemoryContext context;  // has what PostgreSQL allocates on the way
    char *vector;
    size_t vector_room;
};

}  // namespace

// ---- evaluating -------------------------------------------------------------------------------------------

static void mark_terms(const QueryNode *node, bool *wanted) {
    check_stack_depth();
    if (node->kind == QueryNode::Kind::Term)
        wanted[node->term] = true;
    for (int i = 0; i < node->child_count; i++)
        mark_terms(node->children[i], wanted);
}

static void begin_decision(Decision *decision, const Query &query, const QueryNode *node) {
    *decision = {};
    decision->text = text_of(query, node);
    decision->evidence = allocate_zeroed<Evidence>(query.term_count + 1);
    decision->context = AllocSetContextCreate(CurrentMemoryContext, "gpu_text phrase", ALLOCSET_SMALL_SIZES);
    auto *wanted = allocate_zeroed<bool>(query.term_count + 1);
    mark_terms(node, wanted);
    for (int i = 0; i < query.term_count; i++)
        if (wanted[i])
            decision->evidence[decision->terms++].term = &query.terms[i];
    pfree(wanted);
}

static void end_decision(Decision *decision) {
    MemoryContextDelete(decision->context);
}

// A prefix's lexemes become one that no text has, behind the prefix itself and before all longer lexemes.
static uint32 name_bytes(const QueryTerm &term) {
    return term.length + (term.prefix ? 1 : 0);
}

// Returns nullptr where a tsvector can't hold it.
static TSVector make_vector(Decision *decision) {
    int entries = 0;
    size_t string_bytes = 0;
    for (int i = 0; i < decision->terms; i++) {
        const Evidence &evidence = decision->evidence[i];
        if (!evidence.present)
            continue;
        entries++;
        string_bytes = SHORTALIGN(string_bytes + name_bytes(*evidence.term));
        if (name_bytes(*evidence.term) > kMaxLexemeBytes || string_bytes > MAXSTRPOS ||
            evidence.positions.count > PG_UINT16_MAX)
            return nullptr;
        string_bytes += sizeof(uint16) + evidence.positions.count * sizeof(WordEntryPos);
    }
    const size_t bytes = DATAHDRSIZE + entries * sizeof(WordEntry) + string_bytes;
    if (bytes > decision->vector_room) {
        decision->vector_room = bytes * 2;
        if (decision->vector != nullptr)
            pfree(decision->vector);
        decision->vector = allocate<char>(decision->vector_room);
    }
    memset(decision->vector, 0, bytes);
    auto *vector = reinterpret_cast<TSVector>(decision->vector);
    SET_VARSIZE(vector, bytes);
    vector->size = entries;
    WordEntry *entry = ARRPTR(vector);
    char *strings = STRPTR(vector);
    size_t at = 0;
    for (int i = 0; i < decision->terms; i++) {
        const Evidence &evidence = decision->evidence[i];
        if (!evidence.present)
            continue;
        const uint32 length = name_bytes(*evidence.term);
        entry->haspos = evidence.positions.state == PositionState::Known;
        entry->len = length;
        entry->pos = static_cast<uint32>(at);
        entry++;
        memcpy(strings + at, evidence.term->lexeme, evidence.term->length);
        at = SHORTALIGN(at + length);
        const auto count = static_cast<uint16>(evidence.positions.count);
        memcpy(strings + at, &count, sizeof(count));
        at += sizeof(count);
        if (count > 0)
            memcpy(strings + at, evidence.positions.at, count * sizeof(WordEntryPos));
        at += count * sizeof(WordEntryPos);
    }
    return vector;
}

static Match decide(Decision *decision) {
    for (int i = 0; i < decision->terms; i++)
        if (decision->evidence[i].present && decision->evidence[i].positions.state == PositionState::Unknown)
            return Match::Maybe;
    TSVector vector = make_vector(decision);
    if (vector == nullptr)
        return Match::Maybe;
    MemoryContext caller = MemoryContextSwitchTo(decision->context);
    const bool matches = vector_matches(vector, decision->text);
    MemoryContextSwitchTo(caller);
    return matches ? Match::Yes : Match::No;
}

bool matches_without_lexemes(const Query &query, const QueryNode *node) {
    Decision decision;
    begin_decision(&decision, query, node);
    const Match match = decide(&decision);
    end_decision(&decision);
    return match == Match::Yes;
}

// ---- prefixes ---------------------------------------------------------------------------------------------

static void add_key(PositionSet *set, uint64 document, WordEntryPos position) {
    if (set->count == set->room) {
        set->room = Max(set->room * 2, uint64{256});
        set->keys = set->keys == nullptr ? allocate<uint64>(set->room) : reallocate(set->keys, set->room);
    }
    set->keys[set->count++] =
        document << 16 | static_cast<uint64>(WEP_GETPOS(position) << 2 | WEP_GETWEIGHT(position));
}

static void sort_keys(PositionSet *set) {
    sort_interruptibly(set->keys, set->keys + set->count, [](uint64 a, uint64 b) { return a < b; });
    set->count = static_cast<uint64>(std::unique(set->keys, set->keys + set->count) - set->keys);
}

static WordEntryPos position_of_key(uint64 key) {
    return static_cast<WordEntryPos>((key & 3) << 14 | (key >> 2 & (MAXENTRYPOS - 1)));
}

// Joins what another of a prefix's lexemes has in a document. PostgreSQL, too, finds the prefix without a
// position where one of its lexemes has none.
static PositionState join_states(PositionState a, PositionState b) {
    if (a == PositionState::Unknown || b == PositionState::Unknown)
        return PositionState::Unknown;
    return a == PositionState::None || b == PositionState::None ? PositionState::None : PositionState::Known;
}

namespace {

// A prefix in the documents of a chunk.
struct PrefixChunk {
    PositionSet set;
    uint64 next;
    bool *present;  // by document
    PositionState *states;
    WordEntryPos *positions;  // positions of the document that is decided
    uint32 positions_room;
};

// The source of a term's evidence in a run.
struct Source {
    ListCursor *list;  // nullptr: the run doesn't have the lexeme, or it is a prefix
    PositionList *positions;
    PrefixChunk prefix;
    WordEntryPos room[MAXNUMPOS];
};

}  // namespace

static constexpr uint32 kChunk = 32 * 1024;

static bool has_prefix(const char *lexeme, uint32 length, const QueryTerm &term) {
    return length >= term.length && memcmp(lexeme, term.lexeme, term.length) == 0;
}

// Reads a posting's positions; the bytes have been checked.
static Positions decode(const PositionBytes &bytes, uint32 frequency, WordEntryPos *room) {
    Positions positions;
    read_positions(bytes.bytes, bytes.bytes + bytes.length, frequency, room, &positions);
    return positions;
}

static void collect_list(PrefixChunk *chunk, ListCursor *list, const ListPlace &place, const uint32 *ordinals,
                         uint32 count) {
    PositionList *positions = open_positions(list, place);
    WordEntryPos room[MAXNUMPOS];
    load_block(list, 0);
    for (const uint32 *wanted = ordinals; wanted < ordinals + count && !at_end(list);) {
        if (!seek_ordinal(list, *wanted))
            break;
        const uint32 ordinal = current_ordinal(list);
        if (ordinal != *wanted) {
            wanted = std::lower_bound(wanted, ordinals + count, ordinal);
            continue;
        }
        const Positions found = decode(position_bytes(positions), frequency_at(list, list->at), room);
        const auto document = static_cast<uint32>(wanted - ordinals);
        chunk->states[document] =
            chunk->present[document] ? join_states(chunk->states[document], found.state) : found.state;
        chunk->present[document] = true;
        for (uint32 i = 0; i < found.count; i++)
            add_key(&chunk->set, document, found.at[i]);
        wanted++;
    }
    close_positions(positions);
}

static void collect_prefix(RunReader *reader, const QueryTerm &term, const uint32 *ordinals, uint32 count,
                           PrefixChunk *chunk) {
    if (chunk->present == nullptr) {
        chunk->present = allocate<bool>(kChunk);
        chunk->states = allocate<PositionState>(kChunk);
    }
    memset(chunk->present, 0, count * sizeof(bool));
    chunk->set.count = 0;
    chunk->next = 0;
    auto *dictionary = allocate<DictionaryCursor>(1);
    for (seek_lexeme(dictionary, reader, term.lexeme, term.length);
         !dictionary->end && has_prefix(dictionary->lexeme, dictionary->lexeme_length, term);
         next_entry(dictionary)) {
        CHECK_FOR_INTERRUPTS();
        const ListPlace place = encode_tid(dictionary);
        ListCursor *list = open_list(reader, place);
        collect_list(chunk, list, place, ordinals, count);
        close_list(list);
    }
    pfree(dictionary);
    sort_keys(&chunk->set);
}

static void find_prefix(PrefixChunk *chunk, uint32 document, Evidence *evidence) {
    evidence->present = chunk->present[document];
    evidence->positions = {chunk->states[document], 0, nullptr};
    const PositionSet &set = chunk->set;
    const uint64 first = chunk->next;
    while (chunk->next < set.count && set.keys[chunk->next] >> 16 == document)
        chunk->next++;
    const auto found = static_cast<uint32>(chunk->next - first);
    if (!evidence->present || evidence->positions.state != PositionState::Known)
        return;
    if (found > chunk->positions_room) {
        chunk->positions_room = found * 2;
        chunk->positions = allocate<WordEntryPos>(chunk->positions_room);
    }
    for (uint32 i = 0; i < found; i++)
        chunk->positions[i] = position_of_key(set.keys[first + i]);
    evidence->positions = {PositionState::Known, found, chunk->positions};
}

// ---- documents of a run -----------------------------------------------------------------------------------

static void find_evidence(Source *source, uint32 ordinal, uint32 document, Evidence *evidence) {
    if (evidence->term->prefix) {
        find_prefix(&source->prefix, document, evidence);
        return;
    }
    ListCursor *list = source->list;
    evidence->present = list != nullptr && seek_ordinal(list, ordinal) && current_ordinal(list) == ordinal;
    if (evidence->present)
        evidence->positions =
            decode(position_bytes(source->positions), frequency_at(list, list->at), source->room);
}

static void open_source(RunReader *reader, const QueryTerm &term, Source *source) {
    if (term.prefix)
        return;
    auto *dictionary = allocate<DictionaryCursor>(1);
    if (find_lexeme(dictionary, reader, term.lexeme, term.length)) {
        const ListPlace place = encode_tid(dictionary);
        source->list = open_list(reader, place);
        source->positions = open_positions(source->list, place);
    }
    pfree(dictionary);
}

void decide_documents(RunReader *reader, const Query &query, const QueryNode *node, const uint32 *ordinals,
                      uint32 count, Match *decided) {
    constexpr uint32 kBetweenChecks = 256;
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_text positions", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    Decision decision;
    begin_decision(&decision, query, node);
    auto *sources = allocate_zeroed<Source>(decision.terms + 1);
    for (int i = 0; i < decision.terms; i++)
        open_source(reader, *decision.evidence[i].term, &sources[i]);
    for (uint32 first = 0; first < count; first += kChunk) {
        const uint32 end = Min(first + kChunk, count);
        for (int i = 0; i < decision.terms; i++)
            if (decision.evidence[i].term->prefix)
                collect_prefix(reader, *decision.evidence[i].term, ordinals + first, end - first,
                               &sources[i].prefix);
        for (uint32 at = first; at < end; at++) {
            if (at % kBetweenChecks == 0) {
                CHECK_FOR_INTERRUPTS();
                MemoryContextReset(decision.context);
            }
            for (int i = 0; i < decision.terms; i++)
                find_evidence(&sources[i], ordinals[at], at - first, &decision.evidence[i]);
            decided[at] = reader->stale ? Match::Maybe : decide(&decision);
        }
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
}

// ---- tuples
// ------------------------------------------------------------------------------------------------

Match decide_tail_tuple(const Query &query, const DocumentTuple *tail_tuple) {
    if ((tail_tuple->lexemes & kTupleHasPositions) == 0)
        return Match::Maybe;
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_text tuple", ALLOCSET_SMALL_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    Decision decision;
    begin_decision(&decision, query, query.root);
    auto *sets = allocate_zeroed<PositionSet>(decision.terms + 1);
    TupleReader reader = begin_tuple(tail_tuple);
    while (next_lexeme(&reader)) {
        for (int i = 0; i < decision.terms; i++) {
            Evidence *evidence = &decision.evidence[i];
            const QueryTerm &term = *evidence->term;
            if (!has_prefix(reader.lexeme.bytes, reader.lexeme.length, term) ||
                (!term.prefix && reader.lexeme.length != term.length))
                continue;
            WordEntryPos room[MAXNUMPOS];
            const Positions found = decode(position_bytes(reader), reader.lexeme.frequency, room);
            evidence->positions.state =
                evidence->present ? join_states(evidence->positions.state, found.state) : found.state;
            evidence->present = true;
            for (uint32 j = 0; j < found.count; j++)
                add_key(&sets[i], 0, found.at[j]);
        }
    }
    for (int i = 0; i < decision.terms; i++) {
        Evidence *evidence = &decision.evidence[i];
        if (!evidence->present || evidence->positions.state != PositionState::Known)
            continue;
        sort_keys(&sets[i]);
        auto *positions = allocate<WordEntryPos>(sets[i].count);
        for (uint64 j = 0; j < sets[i].count; j++)
            positions[j] = position_of_key(sets[i].keys[j]);
        evidence->positions = {PositionState::Known, static_cast<uint32>(sets[i].count), positions};
    }
    const Match match = decide(&decision);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return match;
}

}  // namespace pg_gpu::text
