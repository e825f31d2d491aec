// Inverted runs are read by this reader: dictionary, lists, documents. When a page turns out to belong to
// something else by now (rule "Recycled pages"), the reader is stale from then on. Everything reads as empty,
// and the caller starts again with a new view.
#pragma once

#include "text/format.h"

namespace pg_gpu::text {

inline constexpr uint32 kLengthSlots = 8;
inline constexpr uint32 kPostingPages = 4;

// This is a page that stays pinned between reads.
struct PinnedPage {
    storage::RunPage held;
    uint32 position;
};

struct RunReader {
    Relation index;
    storage::RunEntry run;
    RunHeader header;  // its codec without kHeaderHasPositions
    bool has_positions;
    BlockNumber *heap_blocks;  // number of the table's blocks as last looked at, beyond which TIDs are
                               // damage; nullptr: whoever reads them looks
    PinnedPage header_page;
    PinnedPage document_page;
    PinnedPage dictionary_page;
    // Lists are read side by side, and take turns.
    PinnedPage posting_pages[kPostingPages];
    PinnedPage position_pages[kPostingPages];
    uint32 lists_opened;
    storage::NearbyBuffer nearby;
    bool stale;
    uint32 stale_position;
    // Lengths of the document pages last asked for: page p in slot p % kLengthSlots. Queries go forward.
    // There is no room for them until the first is asked for.
    MemoryContext context;
    uint8 *lengths;
    uint32 length_pages[kLengthSlots];
    uint64 *dead;  // a bit a document; nullptr when none is dead
};

// Reads header and dead bits.
void open_reader(RunReader *reader, Relation index, const storage::RunEntry &run);
void close_reader(RunReader *reader);
// Unpins the pages of lists, until one is read again.
void release_postings(RunReader *reader);

[[noreturn]] void report_damage(const RunReader *reader, uint32 position, const char *detail);

// Can this be the TID of a row of the index's table, whose lock the caller holds? The table is looked at
// where it lies beyond the blocks that it had when it was looked at last.
bool is_possible_tid(Relation index, BlockNumber *heap_blocks, const ItemPointerData &tid);

// Share-locks a page of the run and returns it, or nullptr when the reader is stale. unlock_page keeps the
// pin.
Page lock_page(RunReader *reader, PinnedPage *pinned, uint32 position);
void unlock_page(const PinnedPage *pinned);

// Copies bytes of a section that is one stream, which may lie on several pages. false when stale.
bool copy_section_bytes(RunReader *reader, PinnedPage *pinned, const storage::Section &section, uint64 from,
                        uint64 length, void *to);

inline uint32 dictionary_pages(const RunReader *reader) {
    return reader->run.sections[kDictionarySection].pages - 1;
}

// ---- documents -------------------------------------------------------------------------------------------

void load_lengths(RunReader *reader, uint32 page);

// Returns 0 when the reader is stale.
inline uint32 document_length(RunReader *reader, uint32 ordinal) {
    const uint32 page = ordinal / kDocumentsPerPage;
    const uint32 slot = page % kLengthSlots;
    if (unlikely(reader->length_pages[slot] != page))
        load_lengths(reader, page);
    return read_length(reader->lengths +
                       (slot * kDocumentsPerPage + ordinal % kDocumentsPerPage) * kLengthBytes);
}

inline bool is_dead(const RunReader *reader, uint32 ordinal) {
    return reader->dead != nullptr && ((reader->dead[ordinal / 64] >> (ordinal % 64)) & 1);
}

// Copies the TIDs of one document page, and returns how many there are: 0 when the reader is stale.
uint32 read_document_tids(RunReader *reader, uint32 page, ItemPointerData *tids);

struct DocumentEntry {
    ItemPointerData tid;
    uint32 length;
};

// Reads one document's entry. Stale readers return an invalid TID.
DocumentEntry read_document(RunReader *reader, uint32 ordinal);

// Says that the document will be read soon.
void prefetch_document(const RunReader *reader, uint32 ordinal);

inline ItemPointerData document_tid(RunReader *reader, uint32 ordinal) {
    return read_document(reader, ordinal).tid;
}

// ---- dictionary ------------------------------------------------------------------------------------------

struct DictionaryCursor {
    RunReader *reader;
    uint32 page;  // page of the dictionary section, from 1
    uint32 left;  // entries on it not yet read
    uint32 at;
    uint32 entries_end;
    uint32 copied_end;  // the bytes from here on are not in `image` yet
    DictionaryPage head;
    uint64 next_list;
    bool end;
    // The current entry.
    uint32 shared;    // with the one before
    bool is_restart;  // shares nothing whatever the one before is
    char lexeme[kMaxLexemeBytes];
    uint32 lexeme_length;
    uint64 frequency;
    uint64 list_start;
    uint64 list_bytes;
    uint32 ordinal;  // ordinal of the only posting
    uint32 term_frequency;
    // The only posting's positions: their bytes, or where these begin among the others'.
    const uint8 *inline_positions;
    uint32 inline_position_bytes;
    uint64 position_place;
    PGAlignedBlock image;
};

// Goes to the first lexeme, or to `end` when there is none.
void begin_dictionary(DictionaryCursor *cursor, RunReader *reader);
// Goes to the first lexeme that is not below.
void seek_lexeme(DictionaryCursor *cursor, RunReader *reader, const char *lexeme, uint32 length);
// Does the same, and says whether it is the lexeme itself.
bool find_lexeme(DictionaryCursor *cursor, RunReader *reader, const char *lexeme, uint32 length);
void next_entry(DictionaryCursor *cursor);

// Does the fence before a dictionary page, if there is one, lie between the last lexeme before the page and
// its first?
bool is_fence_right(RunReader *reader, uint32 page_number, const char *before, uint32 before_length,
                    const char *first, uint32 first_length);

// ---- lists -----------------------------------------------------------------------------------------------

inline constexpr uint32 kNoBlock = UINT32_MAX;

// A list cursor reads one lexeme's postings in one run, forward. Lists of one posting, and those merged of
// several lexemes with a prefix, lie in memory.
struct ListCursor {
    RunReader *reader;
    uint32 documents;
    uint32 blocks;
    postings::BlockHead *heads;
    uint64 start;
    uint64 data_bytes;  // without the heads behind them
    PinnedPage *page;
    bool is_short;
    const uint32 *memory_ordinals;
    const uint32 *memory_frequencies;
    // The block being read.
    uint32 block;
    uint32 count;
    uint32 at;
    uint32 frequency_offset;
    uint32 ordinals[postings::kBlockPostings];  // behind the count the highest, which no document has
    uint8 bytes[postings::kMaxBlockBytes + postings::kPadding];
};

// This says where a lexeme's list lies in a run, as the dictionary has it.
struct ListPlace {
    uint64 documents;  // 0: the run has no such lexeme
    uint64 start;      // of a list of more than one document: its first byte in the posting section
    uint64 bytes;      // without those behind the list that say where its positions are
    uint32 ordinal;    // of a list of a single document: the posting's ordinal
    uint32 term_frequency;
    // Its positions, as the dictionary's cursor has them. Those of more documents are said behind the list.
    uint64 position_place;
    uint32 inline_position_bytes;
    uint8 inline_positions[kInlinePositionBytes];
};

// Returns the place of the list of the dictionary's current entry.
ListPlace encode_tid(const DictionaryCursor *dictionary);

// Returns nullptr where there is none.
ListCursor *open_list(RunReader *reader, const ListPlace &place);
inline ListCursor *open_list(const DictionaryCursor *dictionary) {
    return open_list(dictionary->reader, encode_tid(dictionary));
}
void close_list(ListCursor *list);
ListCursor *open_list_in_memory(RunReader *reader, const uint32 *ordinals, const uint32 *frequencies,
                                uint32 count);
// Reads and checks a block, and goes to its first posting. Returns false past the last block and when stale.
bool load_block(ListCursor *list, uint32 block);

inline bool at_end(const ListCursor *list) {
    return list->block >= list->blocks;
}

inline uint32 current_ordinal(const ListCursor *list) {
    return list->ordinals[list->at];
}

inline uint32 frequency_at(const ListCursor *list, uint32 at) {
    if (list->memory_frequencies != nullptr)
        return list->memory_frequencies[list->block * postings::kBlockPostings + at];
    return postings::unpack_one(list->bytes + list->frequency_offset, at,
                                list->heads[list->block].frequency_bits) +
           1;
}

inline bool next_posting(ListCursor *list) {
    if (++list->at < list->count)
        return true;
    return load_block(list, list->block + 1);
}

// Returns the first block from `block` on whose last ordinal is not below, or the number of blocks when there
// is none.
uint32 find_block(const ListCursor *list, uint32 block, uint32 ordinal);

// Returns the place of the block's first posting that is not below. The last posting must not be below.
inline uint32 find_place(const ListCursor *list, uint32 ordinal) {
    // It takes as many steps whatever is found, and none waits for a branch, so that several searches
    // overlap.
    uint32 place = 0;
    for (uint32 half = postings::kBlockPostings / 2; half > 0; half /= 2)
        place += list->ordinals[place + half - 1] < ordinal ? half : 0;
    return place;
}

// Moves forward to the first posting that is not below. Returns false at the end.
bool seek_ordinal(ListCursor *list, uint32 ordinal);

}  // namespace pg_gpu::text
