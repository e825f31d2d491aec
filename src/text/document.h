// A document is what is indexed of a tsvector. This header says how it lies in the tail.
#pragma once

#include "storage/storage.h"
#include "text/format.h"
#include "text/positions.h"

namespace pg_gpu::text {

struct Lexeme {
    const char *bytes;
    uint32 length;
    uint32 frequency;
    // The tsvector's entry, where the lexeme comes from one, and is there once.
    const WordEntry *entry = nullptr;
};

inline Positions positions_of(TSVector vector, const Lexeme &lexeme) {
    return lexeme.entry == nullptr ? kUnknownPositions : positions_of(vector, lexeme.entry);
}

inline uint32 lexeme_frequency(TSVector vector, const WordEntry *entry) {
    return Max(static_cast<uint32>(POSDATALEN(vector, entry)), 1u);
}

// Calls visit(Lexeme) for each lexeme in order; returns the document's length, the sum of frequencies. A
// value that came in binary may hold a lexeme several times, one behind the other: it is one, as often as
// they are together.
template <typename Visit>
uint32 for_each_lexeme(TSVector vector, Visit visit) {
    const WordEntry *entries = ARRPTR(vector);
    const char *strings = STRPTR(vector);
    uint32 length = 0;
    for (int32 i = 0; i < vector->size;) {
        const WordEntry &entry = entries[i];
        const int32 first = i;
        uint32 frequency = 0;
        do
            frequency += lexeme_frequency(vector, &entries[i++]);
        while (i < vector->size && entries[i].len == entry.len &&
               memcmp(strings + entries[i].pos, strings + entry.pos, entry.len) == 0);
        frequency = Min(frequency, MAXNUMPOS);
        length += frequency;
        visit(Lexeme{strings + entry.pos, entry.len, frequency, i - first == 1 ? &entry : nullptr});
    }
    return length;
}

// Walks a tuple's lexemes. `failed` is set when its bytes are no lexemes in order.
struct TupleReader {
    const uint8 *at;
    const uint8 *end;
    uint32 left;
    bool has_positions;
    bool failed;
    Lexeme lexeme;
    const uint8 *positions;  // positions of the lexeme, up to `at`; nullptr where the tuple has none
};

TupleReader begin_tuple(const DocumentTuple *tail_tuple);
// Returns false at the end, and when the rest cannot be read.
bool next_lexeme(TupleReader *reader);

// Raises an ERROR when one of the tuples, which take `bytes` bytes, is not sound.
void check_tail_tuples(Relation index, BlockNumber block, const storage::Items &tail_tuples);

inline uint32 lexeme_count(const DocumentTuple *tail_tuple) {
    return tail_tuple->lexemes & ~kTupleHasPositions;
}

inline bool is_null(const DocumentTuple *tail_tuple) {
    return (tail_tuple->head.info & storage::kTailTupleFlag) != 0;
}

// Copies a raw run's tuples, palloc'd, which it has checked; false when the page was recycled.
bool read_raw_tuples(Relation index, const storage::RunEntry &run, storage::Items *tail_tuples);

// Returns the palloc'd tuple of a tsvector, with or without positions, where nullptr stands for NULL. Returns
// nullptr when the tuple would be longer than a tail.
DocumentTuple *make_tail_tuple(TSVector vector, const ItemPointerData &tid, bool with_positions);

}  // namespace pg_gpu::text
