// Reading runs of columns. When a page turns out to belong to something else by now (rule "Recycled pages"),
// the reader is stale from then on: everything reads as empty or zero, and the caller starts again with a new
// view.
#pragma once

#include "column/format/value.h"

namespace pg_gpu::column {

struct RunReader {
    Relation index;
    storage::RunEntry run;
    BufFile *file;  // file of a run that a build has put aside; nullptr for one of the index
    RunHeader header;
    bool stale;
    uint32 stale_position;
    uint64 *dead;  // a bit an entry; nullptr when none is dead
    storage::NearbyBuffer nearby;
};

// Reads and checks the header, for who needs neither TIDs nor codes.
void open_header(RunReader *reader, Relation index, const storage::RunEntry &run, const Format &format);
// Reads the dead bits, once the header has been read.
void read_dead(RunReader *reader);
// Does both.
void open_reader(RunReader *reader, Relation index, const storage::RunEntry &run, const Format &format);
void open_file_reader(RunReader *reader, Relation index, const storage::RunEntry &run, BufFile *file,
                      const Format &format);

// Copies `bytes` bytes of a page's content from `offset` on, or as many as there are: *copied. False when
// stale.
bool read_page(RunReader *reader, uint32 position, uint32 offset, uint32 bytes, void *content,
               uint32 *copied);

[[noreturn]] void report_damage(const RunReader *reader, int section, const char *detail);
// A merge reports a stale reader as damage, because nobody else may recycle its runs.
[[noreturn]] inline void report_stale(const RunReader *reader) {
    storage::report_foreign_page(reader->index, reader->run, reader->stale_position);
}

// Words [first, first + count) of the stream, which must have them.
void read_words(RunReader *reader, uint64 first, uint64 count, uint64 *words);

inline bool is_dead(const RunReader *reader, uint64 ordinal) {
    return reader->dead != nullptr && ((reader->dead[ordinal / 64] >> (ordinal % 64)) & 1);
}

// ---- TIDs -------------------------------------------------------------------------------------------------

// A TidCursor reads one span of TIDs after the other.
struct TidCursor {
    RunReader *reader;
    uint32 page;  // next of section 1
    uint32 at;    // next span of the page
    uint32 word;  // its bitmap, if it has one
    TidPageHead head;
    uint64 *content;
    uint32 content_words;
    // The current span.
    uint64 ordinal;  // ordinal of its first entry
    BlockNumber block;
    uint32 count;
    const uint64 *bitmap;  // nullptr: consecutive
    OffsetNumber first;
    uint64 next_ordinal;
};

void begin_tid_cursor(TidCursor *cursor, RunReader *reader);
// Moves on to the next span; returns false at the end and when stale.
bool next_span(TidCursor *cursor);

// Moves on to the span that has an entry, unless the current one does: entries are looked for in their order.
// Pages between are passed over. False when stale.
bool find_span(TidCursor *cursor, uint64 ordinal);

// ERROR unless the current span's block is one of the table's: to be called where a row is alive. Dead
// rows' blocks may have gone.
inline void check_span(const TidCursor *cursor, BlockNumber heap_blocks) {
    if (unlikely(cursor->block >= heap_blocks))
        report_damage(cursor->reader, kTidSection, "An entry's TID lies outside the table.");
}

// Writes the offset numbers of the current span, and returns how many there are.
inline uint32 span_offsets(const TidCursor *cursor, OffsetNumber *offsets) {
    if (cursor->bitmap == nullptr) {
        for (uint32 i = 0; i < cursor->count; i++)
            offsets[i] = static_cast<OffsetNumber>(cursor->first + i);
        return cursor->count;
    }
    uint32 count = 0;
    for (uint32 word = 0; word < cursor->first; word++)
        for (uint64 bits = cursor->bitmap[word]; bits != 0; bits &= bits - 1)
            offsets[count++] =
                static_cast<OffsetNumber>(word * 64 + static_cast<uint32>(__builtin_ctzll(bits)) + 1);
    return count;
}

// Returns in words what is wrong with a page of TIDs; nullptr when nothing is. `content` has `words` words.
const char *find_tid_page_problem(const uint64 *content, uint32 words);

// Writes the TIDs of a page, as RunKind::read_tids does, and returns how many there are.
uint32 read_page_tids(const uint64 *content, ItemPointerData *tids);

// ---- columns ----------------------------------------------------------------------------------------------

inline constexpr uint32 kBatchGroups = 64;
inline constexpr uint32 kBatch = kBatchGroups * kGroup;

inline bool is_dictionary(const ColumnHeader &column) {
    return column.encoding == static_cast<uint8>(Encoding::Dictionary);
}

inline bool is_any_set(const uint64 *bits, uint64 words) {
    uint64 any = 0;
    for (uint64 word = 0; word < words; word++)
        any |= bits[word];
    return any != 0;
}

// Returns the bits of a group's codes.
inline uint64 bits_of_codes(const uint32 *codes, const uint64 *bits) {
    uint64 found = 0;
    for (uint32 i = 0; i < kGroup; i++)
        found |= (bits[codes[i] / 64] >> (codes[i] % 64) & 1) << i;
    return found;
}

inline bool is_scaled(const ColumnHeader &column) {
    return column.encoding == static_cast<uint8>(Encoding::Scaled);
}

// A CodeCursor reads a run's codes, a batch after the other.
template <typename Value>
struct CodeCursor {
    RunReader *reader;
    Area area;
    uint32 bits;
    uint64 groups;  // in all
    uint64 group;   // next to be read
    uint64 *words;
    Value *values;  // kBatch
};

// The cursor has room for a batch, or for no more than there is (`few`), which in small runs is much less.
template <typename Value>
void begin_codes(CodeCursor<Value> *cursor, RunReader *reader, const Area &area, uint32 bits, uint64 values,
                 bool few = false);
// Reads the next groups' values, at most kBatchGroups, and returns the number of groups; 0 at the end and
// when stale.
template <typename Value>
uint32 next_groups(CodeCursor<Value> *cursor);
// Does the same, but values stay packed: cursor->words has them, and one word more that means nothing.
template <typename Value>
uint32 next_packed_groups(CodeCursor<Value> *cursor);
// Does what next_groups does, but batches of which no row is selected, a bit each, are passed over;
// cursor->group says behind which group the values end.
template <typename Value>
uint32 next_selected_groups(CodeCursor<Value> *cursor, const uint64 *selected) {
    for (; cursor->group < cursor->groups; cursor->group += kBatchGroups) {
        const uint64 left = cursor->groups - cursor->group;
        if (is_any_set(selected + cursor->group, Min(left, uint64{kBatchGroups})))
            return next_groups(cursor);
    }
    return 0;
}
template <typename Value>
void end_codes(CodeCursor<Value> *cursor) {
    pfree(cursor->words);
    pfree(cursor->values);
}

// Returns NULL bits, a bit an entry, palloc'd; nullptr without NULLs.
uint64 *read_null_bits(RunReader *reader, int column);

// Returns the dictionary's integers in order, palloc'd, with places for 2^bits codes: what a damaged code
// could name is 0.
uint64 *read_integer_dictionary(RunReader *reader, int column);

// The dictionary's strings, one after the other.
struct StringCursor {
    RunReader *reader;
    const ColumnHeader *column;
    uint64 left;
    uint64 ordinal;  // ordinal of the current entry
    // Bytes of the dictionary read ahead.
    uint64 next;  // byte of the dictionary behind the window
    char *window;
    size_t window_room;
    size_t at;
    size_t filled;
    // The current entry.
    char *entry;
    size_t entry_room;
    Bytes value;
};

void begin_strings(StringCursor *cursor, RunReader *reader, int column);
// Moves on to the next string; returns false at the end and when stale.
bool next_string(StringCursor *cursor);
void end_strings(StringCursor *cursor);

}  // namespace pg_gpu::column
