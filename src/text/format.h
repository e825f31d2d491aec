// The layout of gpu_text's run pages and tail. README.md beside this file draws the whole.
#pragma once

#include "gpu_engine/postings.h"

#include "storage/storage.h"
#include "varint.h"

namespace pg_gpu::text {

namespace postings = gpu_engine::postings;

inline constexpr uint32 kRunKindId = 0x74780001;

// Sections of an inverted run; section 0 is storage's dead bitmap.
inline constexpr int kDocumentSection = storage::kEntrySection;
inline constexpr int kDictionarySection = 2;
inline constexpr int kPostingSection = 3;

// ---- the directory entry's words --------------------------------------------------------------------------

// A raw run is a sealed tail: one page with the tuples as they arrived. An inverted run has a dictionary,
// lists and documents. Layout 2 was an inverted run without restarts and fences in its dictionary.
enum class Layout : uint8 { Raw = 1, Inverted = 3 };

inline constexpr int kLayoutShift = 56;

inline Layout layout_of(const storage::RunEntry &run) {
    return static_cast<Layout>(run.access_method_data[0] >> kLayoutShift);
}

// Returns the sum of all documents' lengths, of dead ones too.
inline uint64 total_length(const storage::RunEntry &run) {
    return run.access_method_data[0] & ((UINT64CONST(1) << kLayoutShift) - 1);
}

inline uint64 posting_count(const storage::RunEntry &run) {
    return run.access_method_data[1];
}

inline void set_run_data(storage::RunEntry *run, Layout layout, uint64 length, uint64 posting_total) {
    run->access_method_data[0] = uint64{static_cast<uint8>(layout)} << kLayoutShift | length;
    run->access_method_data[1] = posting_total;
}

// ---- documents --------------------------------------------------------------------------------------------

// A tsvector has less than 2^20 positions. The highest length says that the column is NULL: such rows are
// entries, for ordered scans return all rows, but no documents.
inline constexpr uint32 kLengthBytes = 3;
inline constexpr uint32 kNullLength = 0xffffff;

inline constexpr uint32 kDocumentBytes = sizeof(ItemPointerData) + kLengthBytes;
inline constexpr uint32 kDocumentsPerPage = storage::kContentBytes / kDocumentBytes;

inline uint32 document_pages(uint64 documents) {
    return static_cast<uint32>((documents + kDocumentsPerPage - 1) / kDocumentsPerPage);
}

inline uint32 documents_on_page(uint64 documents, uint32 page) {
    const uint64 before = static_cast<uint64>(page) * kDocumentsPerPage;
    return static_cast<uint32>(Min(documents - before, uint64{kDocumentsPerPage}));
}

inline uint32 read_length(const uint8 *bytes) {
    return bytes[0] | uint32{bytes[1]} << 8 | uint32{bytes[2]} << 16;
}

inline void write_length(uint8 *bytes, uint32 length) {
    bytes[0] = static_cast<uint8>(length);
    bytes[1] = static_cast<uint8>(length >> 8);
    bytes[2] = static_cast<uint8>(length >> 16);
}

// ---- positions --------------------------------------------------------------------------------------------

// The pages of positions lie between those of postings and of the dictionary. They hold the postings' bytes
// of positions.h back to back, in order of lexeme and document.
inline storage::Section position_section(const storage::RunEntry &run) {
    const storage::Section &posting = run.sections[kPostingSection];
    const uint32 first = posting.first_page + posting.pages;
    return {first, run.sections[kDictionarySection].first_page - first};
}

// The places of a list's positions stand behind each list of several postings: first the byte at which the
// list's positions begin, then for each block of postings where its positions end, counted from the list's.
inline constexpr uint32 kPositionStartBytes = 5;
inline constexpr uint64 kMaxPositionStart = (UINT64CONST(1) << (8 * kPositionStartBytes)) - 1;
using PositionEnd = uint32;

// A single posting's positions lie in the dictionary's entry when they are few bytes. Else this byte, which
// positions don't begin with, and a varint say at which byte they lie among the others'.
inline constexpr uint32 kInlinePositionBytes = 8;
inline constexpr uint8 kPositionsElsewhere = 255;

// ---- dictionary -------------------------------------------------------------------------------------------

// The head of the first page of the dictionary section. Fences follow, which divide the further pages in
// groups of fence_interval: no lexeme of the pages before a group is as high as its fence, and none of the
// group is below. The first group has no fence. The places at which fences end come first, of 16 bits each,
// and then the fences.
struct RunHeader {
    uint64 lexemes;
    uint64 posting_bytes;
    uint32 null_documents;
    uint32 codec;  // and kHeaderHasPositions
    // The parameter with which the blocks' bounds were worked out.
    double k1;
    double b;
    double average_length;
    uint32 fences;
    uint32 fence_interval;
};
static_assert(sizeof(RunHeader) == 56);

inline constexpr uint32 kHeaderHasPositions = UINT32_C(1) << 31;

inline constexpr uint32 kFenceRoom = storage::kContentBytes - sizeof(RunHeader);
using FenceEnd = uint16;

// Head of every further page. Entries follow, each: shared and suffix length (4 bits each in one byte; 15 and
// more go on as varints), the suffix, document frequency; with frequency 1 ordinal and term frequency, and
// positions if the run has them, else the bytes of the list, as varints. Each kRestartInterval-th entry of a
// page, from the first on, is a restart: it shares nothing, so that a search can begin there.
struct DictionaryPage {
    uint64 first_list;  // byte of the posting section at which the page's first list begins
    uint32 entries;
    uint32 reserved;
};
static_assert(sizeof(DictionaryPage) == 16);

inline constexpr uint32 kRestartInterval = 16;

// A page ends with a table of its restarts but the first: the place of the entry in the low 16 bits, above
// them the bytes of the page's lists before its own.
using Restart = uint64;
inline constexpr int kRestartPlaceBits = 16;

// Returns how many restarts the table of a page with so many entries has; there is at least one entry.
inline uint32 restart_count(uint32 entries) {
    return (entries - 1) / kRestartInterval;
}

inline uint32 restart_place(Restart restart) {
    return static_cast<uint32>(restart & PG_UINT16_MAX);
}

inline constexpr uint32 kMaxLexemeBytes = 2047;

// A list of one block begins with the block's parameter and its frequencies' width, and the block follows. A
// longer list has its blocks first, and then their heads.
inline constexpr uint32 kShortListHead = 2;

// PForDelta counts a block's exceptions in a byte, and searches keep places in a block in one.
static_assert(postings::kBlockPostings <= PG_UINT8_MAX);

inline uint32 block_count(uint64 documents) {
    return static_cast<uint32>((documents + postings::kBlockPostings - 1) / postings::kBlockPostings);
}

// Returns the bytes that a list of so many documents takes for the places of its positions.
inline uint32 position_index_bytes(uint64 documents) {
    return kPositionStartBytes + block_count(documents) * static_cast<uint32>(sizeof(PositionEnd));
}

// ---- tail tuples
// -------------------------------------------------------------------------------------------

// A tuple of the tail and of raw runs; the lexemes follow in order, each: length, bytes, term frequency, and
// where the tuple has them, positions (positions.h). The flag storage::kTailTupleFlag says that the column is
// NULL.
struct DocumentTuple {
    storage::TailTuple head;
    uint32 length;
    uint32 lexemes;  // number of lexemes, and kTupleHasPositions
};
static_assert(sizeof(DocumentTuple) == 16);

inline constexpr uint32 kTupleHasPositions = UINT32_C(1) << 31;

// This leaves room for the dead bitmap of as many tuples as can be there.
inline constexpr uint32 kTailCapacity =
    (storage::kContentBytes - 8) * 8 * sizeof(DocumentTuple) / (8 * sizeof(DocumentTuple) + 1) / 8 * 8;
static_assert(kTailCapacity + 8 + (kTailCapacity / sizeof(DocumentTuple) + 63) / 64 * 8 <=
              storage::kContentBytes);

inline int compare_lexemes(const char *a, uint32 a_length, const char *b, uint32 b_length) {
    const int order = memcmp(a, b, Min(a_length, b_length));
    if (order != 0)
        return order;
    return a_length < b_length ? -1 : a_length > b_length ? 1 : 0;
}

}  // namespace pg_gpu::text
