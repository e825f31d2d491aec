#include "column/build/page_sink.h"

#include "column/format/format.h"

namespace pg_gpu::column {

// ---- pages ------------------------------------------------------------------------------------------------

void begin_file_sink(PageSink *sink, BufFile *file) {
    *sink = {nullptr, file, 0, allocate_zeroed<char>(BLCKSZ), nullptr, 0, nullptr};
}

void begin_memory_sink(PageSink *sink) {
    constexpr uint32 kFirstRoom = 64;
    *sink = {nullptr, nullptr, 0, nullptr, allocate<char *>(kFirstRoom), kFirstRoom, CurrentMemoryContext};
}

static Page next_page_in_memory(PageSink *sink) {
    CHECK_FOR_INTERRUPTS();
    if (sink->begun > sink->room) {
        sink->room *= 2;
        sink->pages = reallocate(sink->pages, sink->room);
    }
    auto *page = static_cast<char *>(MemoryContextAlloc(sink->context, BLCKSZ));
    sink->pages[sink->begun - 1] = page;
    PageInit(page, BLCKSZ, sizeof(storage::PageStamp));
    return page;
}

void copy_pages(const PageSink &sink, storage::RunWriter *writer) {
    for (uint32 i = 0; i < sink.begun; i++) {
        Page page = storage::next_run_page(writer);
        const uint32 length = storage::content_length(sink.pages[i]);
        memcpy(storage::page_content(page), storage::page_content(sink.pages[i]), length);
        storage::set_content_length(page, length);
    }
}

Page next_page(PageSink *sink) {
    sink->begun++;
    if (sink->pages != nullptr)
        return next_page_in_memory(sink);
    if (sink->file == nullptr)
        return storage::next_run_page(sink->writer);
    CHECK_FOR_INTERRUPTS();
    if (sink->begun > 1)
        BufFileWrite(sink->file, sink->image, BLCKSZ);
    PageInit(sink->image, BLCKSZ, sizeof(storage::PageStamp));
    return sink->image;
}

void finish_sink(PageSink *sink) {
    if (sink->file == nullptr || sink->begun == 0)
        return;
    BufFileWrite(sink->file, sink->image, BLCKSZ);
    pfree(sink->image);
    sink->image = nullptr;
}

// ---- TIDs -------------------------------------------------------------------------------------------------

void begin_tids(TidWriter *writer, PageSink *sink) {
    *writer = {};
    writer->sink = sink;
    writer->spans = allocate<TidSpan>(kWordsPerPage);
    writer->words = allocate<uint64>(kWordsPerPage);
    writer->block = InvalidBlockNumber;
}

static constexpr uint32 kHeadWords = sizeof(TidPageHead) / sizeof(uint64);

static void write_tid_page(TidWriter *writer) {
    if (writer->on_page == 0)
        return;
    Page page = next_page(writer->sink);
    char *content = storage::page_content(page);
    const TidPageHead head = {writer->first, writer->on_page, writer->span_count};
    memcpy(content, &head, sizeof(head));
    memcpy(content + sizeof(head), writer->spans, writer->span_count * sizeof(TidSpan));
    memcpy(content + sizeof(head) + writer->span_count * sizeof(TidSpan), writer->words,
           writer->word_count * sizeof(uint64));
    storage::set_content_length(
        page, (kHeadWords + writer->span_count + writer->word_count) * static_cast<uint32>(sizeof(uint64)));
    writer->first += writer->on_page;
    writer->on_page = writer->span_count = writer->word_count = 0;
}

static void add_span(TidWriter *writer, const TidSpan &span, const uint64 *bitmap, uint32 words) {
    if (kHeadWords + writer->span_count + 1 + writer->word_count + words > kWordsPerPage ||
        writer->on_page + span.count > kMaxTidsOnPage)
        write_tid_page(writer);
    writer->spans[writer->span_count++] = span;
    for (uint32 i = 0; i < words; i++)
        writer->words[writer->word_count++] = bitmap[i];
    writer->on_page += span.count;
}

static void write_block(TidWriter *writer) {
    const uint32 count = writer->offset_count;
    if (count == 0)
        return;
    const OffsetNumber *offsets = writer->offsets;
    uint32 spans = 1;
    bool distinct = true;
    for (uint32 i = 1; i < count; i++) {
        spans += offsets[i] != offsets[i - 1] + 1 ? 1 : 0;
        distinct = distinct && offsets[i] != offsets[i - 1];
    }
    const uint32 words = (offsets[count - 1] + 63U) / 64;
    if (distinct && spans > 1 + words) {
        uint64 bitmap[kMaxBitmapWords] = {};
        for (uint32 i = 0; i < count; i++)
            bitmap[(offsets[i] - 1) / 64] |= UINT64CONST(1) << ((offsets[i] - 1) % 64);
        add_span(writer,
                 {writer->block, static_cast<uint16>(count), static_cast<uint16>(kBitmapFlag | words)},
                 bitmap, words);
    } else {
        for (uint32 i = 0; i < count;) {
            uint32 end = i + 1;
            while (end < count && offsets[end] == offsets[end - 1] + 1)
                end++;
            add_span(writer, {writer->block, static_cast<uint16>(end - i), offsets[i]}, nullptr, 0);
            i = end;
        }
    }
    writer->heap_blocks++;
    writer->offset_count = 0;
}

void add_tid(TidWriter *writer, uint64 place) {
    const auto block = static_cast<BlockNumber>(place >> 16);
    if (block != writer->block || writer->offset_count == MaxHeapTuplesPerPage) {
        write_block(writer);
        writer->block = block;
    }
    writer->offsets[writer->offset_count++] = static_cast<OffsetNumber>(place & 0xffff);
    writer->entries++;
}

void finish_tids(TidWriter *writer) {
    write_block(writer);
    write_tid_page(writer);
    pfree(writer->spans);
    pfree(writer->words);
}

uint32 max_tid_pages(uint64 entries, uint64 heap_blocks) {
    // A block takes no more than a span and a bitmap, and leaves no more than that free at a page's end.
    const uint64 block_words = 1 + kMaxBitmapWords;
    const uint64 words = Min(entries, heap_blocks * block_words);
    return static_cast<uint32>(words / (kWordsPerPage - kHeadWords - block_words) +
                               entries / (kMaxTidsOnPage - MaxHeapTuplesPerPage) + 2);
}

// ---- the stream -------------------------------------------------------------------------------------------

static void finish_stream_page(StreamWriter *stream) {
    if (stream->words == nullptr)
        return;
    Page page = reinterpret_cast<Page>(reinterpret_cast<char *>(stream->words) - storage::kContentStart);
    storage::set_content_length(page, stream->fill * static_cast<uint32>(sizeof(uint64)));
    stream->words = nullptr;
}

void append_words(StreamWriter *stream, const uint64 *words, uint64 count) {
    while (count > 0) {
        if (stream->words == nullptr) {
            stream->words = reinterpret_cast<uint64 *>(storage::page_content(next_page(stream->sink)));
            stream->fill = 0;
        }
        const auto take = static_cast<uint32>(Min(count, uint64{kWordsPerPage - stream->fill}));
        memcpy(stream->words + stream->fill, words, take * sizeof(uint64));
        stream->fill += take;
        stream->total += take;
        words += take;
        count -= take;
        if (stream->fill == kWordsPerPage)
            finish_stream_page(stream);
    }
}

void append_bytes(StreamWriter *stream, const void *bytes, size_t length) {
    const auto *from = static_cast<const char *>(bytes);
    while (length > 0) {
        const size_t take = Min(length, sizeof(stream->bytes) - stream->byte_count);
        memcpy(stream->bytes + stream->byte_count, from, take);
        stream->byte_count += static_cast<uint32>(take);
        from += take;
        length -= take;
        if (stream->byte_count == sizeof(stream->bytes))
            align_stream(stream);
    }
}

void align_stream(StreamWriter *stream) {
    if (stream->byte_count == 0)
        return;
    const uint64 words = (stream->byte_count + sizeof(uint64) - 1) / sizeof(uint64);
    memset(stream->bytes + stream->byte_count, 0, words * sizeof(uint64) - stream->byte_count);
    append_words(stream, reinterpret_cast<const uint64 *>(stream->bytes), words);
    stream->byte_count = 0;
}

void finish_stream(StreamWriter *stream) {
    align_stream(stream);
    finish_stream_page(stream);
}

void begin_packing(Packer *packer, StreamWriter *stream, uint32 bits) {
    packer->stream = stream;
    packer->bits = bits;
    packer->count = 0;
    packer->first_word = stream->total;
}

void flush_group(Packer *packer) {
    uint64 words[kGroup];
    pack(packer->bits, packer->values, words);
    append_words(packer->stream, words, packer->bits);
    packer->count = 0;
}

Area finish_packing(Packer *packer) {
    if (packer->count > 0) {
        while (packer->count < kGroup)
            packer->values[packer->count++] = 0;
        flush_group(packer);
    }
    return {packer->first_word, packer->stream->total - packer->first_word};
}

}  // namespace pg_gpu::column
