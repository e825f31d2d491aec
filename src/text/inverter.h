// The inverter turns documents into sorted lists, within a limit of memory. When the limit is reached, what
// has been collected goes to a temporary file, sorted by lexeme. The files are merged in the end.
#pragma once

#include "text/document.h"

namespace pg_gpu::text {

inline constexpr uint32 kMaxPostingBytes = 5 + 2;

// A term has a lexeme's postings so far: varints of ordinal gaps and term frequencies, and positions if they
// are kept, in a chain of pieces.
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
    uint32 last;   // ordinal
    uint64 bytes;  // bytes of all pieces
    PostingPiece *first;
    PostingPiece *current;
    char lexeme[FLEXIBLE_ARRAY_MEMBER];
};

struct Inverter {
    Relation index;  // index that is built
    size_t limit;
    SharedFileSet
        // A worker of a parallel build puts its files there, for the leader; nullptr: the files are its own.
        *shared;
    int participant;
    MemoryContext context;  // has terms and pieces
    char *block;
    size_t block_left;
    size_t used;
    Term **table;
    uint32 table_size;  // a power of 2
    uint32 term_count;
    BufFile **files;
    int file_count;
};

void begin_inverter(Inverter *inverter, Relation index, size_t limit, SharedFileSet *shared, int participant);
// Adds a posting, with `position_bytes` of positions. Ordinals must ascend.
void invert_lexeme(Inverter *inverter, const Lexeme &lexeme, uint32 ordinal, const uint8 *positions,
                   uint32 position_bytes);
// Writes a file when the limit is reached by what is in memory here and what the caller says is kept
// elsewhere; a quarter of the limit is used whatever that is. To be called between documents.
void spill_if_full(Inverter *inverter, size_t elsewhere);

// Writes what is in memory to a file too, and leaves all files to the leader.
void hand_over_lists(Inverter *inverter);

// A source is one sorted sequence of lists: that of a file, or what is in memory.
struct TermSource {
    Relation index;
    int participant;
    int number;  // in order of the participant's ordinals
    BufFile *file;
    Term **terms;
    uint32 left;
    char lexeme[kMaxLexemeBytes];
    uint32 length;
    uint64 bytes;         // bytes of its list that aren't read yet
    PostingPiece *piece;  // in memory
    uint32 piece_at;
};

// Opens what the build has collected, each source at its first lexeme: sorts what is in memory and rewinds
// the files. `handed_over` has the number of files of each participant but the leader, of which there is one
// in a serial build.
TermSource *open_sources(Inverter *inverter, SharedFileSet *shared, const uint64 *handed_over,
                         int participants, int *count);
// Goes to the next lexeme, once the list of the one before is read. Returns false at the end.
bool next_term(TermSource *source);
// Reads at most `room` bytes of the lexeme's list, varints of gaps and frequencies, and none at its end.
uint32 read_postings(TermSource *source, uint8 *out, uint32 room);
void close_sources(TermSource *sources, int count);

}  // namespace pg_gpu::text
