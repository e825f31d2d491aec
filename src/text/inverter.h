// Turns documents into sorted lists, within a limit of memory: when it is reached, what has been collected
// goes to a temporary file, sorted by lexeme, and the files are merged in the end.
#pragma once

#include "text/document.h"

namespace pg_gpu::text {

// A lexeme's postings so far: varints of ordinal gaps and term frequencies, in a chain of pieces.
struct PostingPiece {
    PostingPiece *next;
    uint32 room;
    uint32 filled;
    uint8 bytes[FLEXIBLE_ARRAY_MEMBER];
};

struct Term {
    uint32 hash;
    uint32 length;
    uint32 frequency;
    uint32 last;  // ordinal
    uint32 bytes;
    PostingPiece *first;
    PostingPiece *current;
    char lexeme[FLEXIBLE_ARRAY_MEMBER];
};

struct Inverter {
    size_t limit;
    MemoryContext context;  // of terms and pieces
    char *block;
    size_t block_left;
    size_t used;
    Term **table;
    uint32 table_size;  // a power of 2
    uint32 term_count;
    BufFile **files;
    int file_count;
};

void begin_inverter(Inverter *inverter, size_t limit);
// Ordinals ascend.
void invert_lexeme(Inverter *inverter, const Lexeme &lexeme, uint32 ordinal);
// Between documents: writes a file when the limit is reached, counting what is kept elsewhere; a quarter of
// it is used whatever that is.
void spill_if_full(Inverter *inverter, size_t elsewhere);

// One sorted sequence of lists: a file's or what is in memory.
struct TermSource {
    int number;  // in order of ordinals
    BufFile *file;
    Term **terms;
    uint32 left;
    char lexeme[kMostLexemeBytes];
    uint32 length;
    uint32 frequency;
    uint32 bytes;
    uint8 *buffer;  // the list's varints
    uint32 buffer_room;
};

// Sorts what is in memory and rewinds the files; returns the sources, each at its first lexeme.
TermSource *open_sources(Inverter *inverter, int *count);
// false at the end.
bool next_term(TermSource *source);
void close_sources(TermSource *sources, int count);

}  // namespace pg_gpu::text
