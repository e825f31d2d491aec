// Writing a run: its pages, its TIDs, its stream of words.
#pragma once

#include "column/format/format.h"

namespace pg_gpu::column {

// The destination of a run's pages: the index, a temporary file while a build collects, or memory, for
// callers that want to know how many there are before they write to the index.
struct PageSink {
    storage::RunWriter *writer;
    BufFile *file;
    uint32 begun;
    char *image;   // the file's page being filled
    char **pages;  // in memory, allocated in `context`
    uint32 room;
    MemoryContext context;
};

void begin_file_sink(PageSink *sink, BufFile *file);
inline void begin_index_sink(PageSink *sink, storage::RunWriter *writer) {
    *sink = {writer, nullptr, 0, nullptr, nullptr, 0, nullptr};
}
void begin_memory_sink(PageSink *sink);
Page next_page(PageSink *sink);
// Writes the last page.
void finish_sink(PageSink *sink);
// Hands over what was written to memory, page by page.
void copy_pages(const PageSink &sink, storage::RunWriter *writer);

// ---- TIDs -------------------------------------------------------------------------------------------------

struct TidWriter {
    PageSink *sink;
    uint64 entries;
    uint64 heap_blocks;
    // The page being filled.
    uint64 first;
    uint32 on_page;
    uint32 span_count;
    uint32 word_count;
    TidSpan *spans;
    uint64 *words;
    // The heap block whose TIDs are being collected.
    BlockNumber block;
    uint32 offset_count;
    OffsetNumber offsets[MaxHeapTuplesPerPage];
};

void begin_tids(TidWriter *writer, PageSink *sink);
// TIDs are added in order. A place is heap block << 16 | offset number.
void add_tid(TidWriter *writer, uint64 place);
void finish_tids(TidWriter *writer);

// Returns the most pages that TIDs of so many entries on so many heap blocks take.
uint32 max_tid_pages(uint64 entries, uint64 heap_blocks);

// ---- the stream -------------------------------------------------------------------------------------------

struct StreamWriter {
    PageSink *sink;
    uint64 *words;  // words of the page being filled; nullptr before the first
    uint32 fill;
    uint64 total;
    // Bytes that aren't on a page yet.
    uint32 byte_count;
    alignas(uint64) char bytes[512];
};

inline void begin_stream(StreamWriter *stream, PageSink *sink) {
    stream->sink = sink;
    stream->words = nullptr;
    stream->fill = 0;
    stream->total = 0;
    stream->byte_count = 0;
}
void append_words(StreamWriter *stream, const uint64 *words, uint64 count);
void append_bytes(StreamWriter *stream, const void *bytes, size_t length);
// Fills the last word of bytes up.
void align_stream(StreamWriter *stream);
void finish_stream(StreamWriter *stream);

// Packs values one behind the other.
struct Packer {
    StreamWriter *stream;
    uint32 bits;
    uint32 count;
    uint64 values[kGroup];
    uint64 first_word;
};

void begin_packing(Packer *packer, StreamWriter *stream, uint32 bits);
void flush_group(Packer *packer);
Area finish_packing(Packer *packer);

// Packs value_of(0), … value_of(count - 1).
template <typename ValueOf>
void pack_values(Packer *packer, uint32 count, ValueOf value_of) {
    for (uint32 done = 0; done < count;) {
        const uint32 take = Min(count - done, kGroup - packer->count);
        uint64 *values = packer->values + packer->count;
        for (uint32 i = 0; i < take; i++)
            values[i] = value_of(done + i);
        done += take;
        packer->count += take;
        if (packer->count == kGroup)
            flush_group(packer);
    }
}

inline void pack_value(Packer *packer, uint64 value) {
    packer->values[packer->count++] = value;
    if (packer->count == kGroup)
        flush_group(packer);
}

}  // namespace pg_gpu::column
