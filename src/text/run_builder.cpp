#include "text/run_builder.h"

namespace pg_gpu::text {

// Returns the memory in which dictionary and documents of small runs stay.
static size_t spool_memory() {
    constexpr size_t kMax = 4 * 1024 * 1024;
    return Min(kMax, static_cast<size_t>(maintenance_work_mem) * 1024 / 8);
}

void begin_run_builder(RunBuilder *builder, Relation index, const Options &options) {
    *builder = {};
    builder->index = index;
    builder->options = options;
    begin_spool(&builder->document_spool, index, spool_memory());
    begin_spool(&builder->dictionary_spool, index, spool_memory());
    begin_spool(&builder->position_spool, index, spool_memory());
    builder->document_room = 1024;
    builder->short_lengths = allocate<uint16>(builder->document_room);
}

void add_document(RunBuilder *builder, const ItemPointerData &tid, uint32 length) {
    if (builder->documents == UINT32_MAX)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                        errmsg("a run of index \"%s\" cannot hold more than %u documents",
                               RelationGetRelationName(builder->index), UINT32_MAX),
                        errhint("Partition the table.")));
    if (builder->documents == builder->document_room) {
        builder->document_room *= 2;
        builder->short_lengths = reallocate(builder->short_lengths, builder->document_room);
    }
    uint8 record[kDocumentBytes];
    memcpy(record, &tid, sizeof(tid));
    write_length(record + sizeof(tid), length);
    append_to_spool(&builder->document_spool, record, sizeof(record));
    if (length == kNullLength) {
        builder->null_documents++;
        length = 0;
    }
    builder->short_lengths[builder->documents++] = static_cast<uint16>(Min(length, uint32{PG_UINT16_MAX}));
    builder->length += length;
}

size_t documents_memory(const RunBuilder *builder) {
    return builder->document_room * sizeof(*builder->short_lengths) + builder->document_spool.limit;
}

void begin_lists(RunBuilder *builder, storage::RunWriter *writer, storage::RunEntry *entry) {
    builder->writer = writer;
    builder->entry = entry;
    const uint64 counted = builder->documents - builder->null_documents;
    builder->average_length =
        counted == 0 ? 0 : static_cast<double>(builder->length) / static_cast<double>(counted);
    builder->norms = norms_for(builder->options, builder->average_length);
    builder->ordinals = allocate<uint32>(kSamplePostings);
    builder->frequencies = allocate<uint32>(kSamplePostings);
    builder->head_room = 64;
    builder->heads = allocate<postings::BlockHead>(builder->head_room);
    builder->dictionary_page = allocate_zeroed<uint8>(storage::kContentBytes);
    builder->fence_ends = allocate<FenceEnd>(kFenceRoom / sizeof(FenceEnd));
    builder->fences = allocate<uint8>(kFenceRoom);
    builder->fence_interval = 1;
    builder->restarts = allocate<Restart>(storage::kContentBytes / sizeof(Restart));
    builder->positions_room = 64 * 1024;
    builder->positions = allocate<uint8>(builder->positions_room);
    builder->position_lengths = allocate<uint32>(kSamplePostings);
    builder->position_ends = allocate<PositionEnd>(builder->head_room);
}

// ---- lists -----------------------------------------------------------------------------------------------

static void append_bytes(RunBuilder *builder, const void *bytes, size_t length) {
    const auto *from = static_cast<const char *>(bytes);
    builder->posting_bytes += length;
    while (length > 0) {
        if (builder->page == nullptr || builder->page_fill == storage::kContentBytes) {
            builder->page = storage::next_run_page(builder->writer);
            builder->page_fill = 0;
        }
        const auto take =
            static_cast<uint32>(Min(length, size_t{storage::kContentBytes - builder->page_fill}));
        memcpy(storage::page_content(builder->page) + builder->page_fill, from, take);
        builder->page_fill += take;
        storage::set_content_length(builder->page, builder->page_fill);
        from += take;
        length -= take;
    }
}

struct EncodedBlock {
    uint8 bytes[postings::kMaxBlockBytes];
    uint32 length;
    uint8 parameter;
    uint8 frequency_bits;
};

// Encodes `count` buffered postings from `first` on; `next` is the least ordinal the first of them can have.
static void encode_block(RunBuilder *builder, uint32 first, uint32 count, uint64 next, EncodedBlock *block) {
    Assert(count > 0);
    uint32 gaps[postings::kBlockPostings] = {};
    uint32 frequencies[postings::kBlockPostings];
    for (uint32 i = 0; i < count; i++) {
        const uint32 ordinal = builder->ordinals[first + i];
        gaps[i] = static_cast<uint32>(ordinal - next);
        next = uint64{ordinal} + 1;
        frequencies[i] = builder->frequencies[first + i] - 1;
    }
    block->length = postings::encode_gaps(builder->options.codec, gaps, count, builder->frame_bits,
                                          block->bytes, &block->parameter);
    const uint32 bits = postings::widest(frequencies, count);
    block->frequency_bits = static_cast<uint8>(bits);
    postings::pack(frequencies, count, bits, block->bytes + block->length);
    block->length += postings::packed_bytes(count, bits);
}

static uint16 block_bound(const RunBuilder *builder, uint32 first, uint32 count) {
    double least = HUGE_VAL;
    for (uint32 i = first; i < first + count; i++)
        least = Min(least, builder->norms.of(builder->short_lengths[builder->ordinals[i]]) /
                               static_cast<double>(builder->frequencies[i]));
    return postings::encode_bound(least);
}

static void choose_list_bits(RunBuilder *builder) {
    if (builder->has_frame_bits || builder->options.codec != postings::Codec::PForDelta)
        return;
    uint32 *gaps = allocate<uint32>(builder->buffered);
    uint64 next = 0;
    for (uint32 i = 0; i < builder->buffered; i++) {
        gaps[i] = static_cast<uint32>(builder->ordinals[i] - next);
        next = uint64{builder->ordinals[i]} + 1;
    }
    builder->frame_bits = postings::choose_frame_bits(gaps, builder->buffered);
    builder->has_frame_bits = true;
    pfree(gaps);
}

void begin_list(RunBuilder *builder) {
    builder->list_start = builder->posting_bytes;
    builder->frequency = 0;
    builder->buffered = 0;
    builder->any_written = false;
    builder->has_frame_bits = false;
    builder->head_count = 0;
    builder->position_start = builder->position_bytes;
    builder->positions_filled = 0;
}

// ---- positions -------------------------------------------------------------------------------------------

void add_positions(RunBuilder *builder, const uint8 *bytes, uint32 length) {
    if (builder->positions_filled + length > builder->positions_room) {
        builder->positions_room *= 2;
        builder->positions = reallocate(builder->positions, builder->positions_room);
    }
    memcpy(builder->positions + builder->positions_filled, bytes, length);
    builder->positions_filled += length;
    builder->position_lengths[builder->buffered - 1] = length;
}

[[noreturn]] static void report_long_list(const RunBuilder *builder) {
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("an inverted list of index \"%s\" cannot take more than 4 GB",
                           RelationGetRelationName(builder->index)),
                    errhint("Partition the table.")));
}

// Writes the positions of the buffered postings, which are of one block or of several, from the list's block
// `block` on.
static void flush_positions(RunBuilder *builder, uint32 block) {
    if (!builder->options.positions || builder->buffered == 0)
        return;
    append_to_spool(&builder->position_spool, builder->positions, builder->positions_filled);
    for (uint32 i = 0; i < builder->buffered; i++) {
        builder->position_bytes += builder->position_lengths[i];
        builder->position_ends[block + i / postings::kBlockPostings] =
            static_cast<PositionEnd>(builder->position_bytes - builder->position_start);
    }
    builder->positions_filled = 0;
    if (builder->position_bytes - builder->position_start > PG_UINT32_MAX)
        report_long_list(builder);
    if (builder->position_bytes > kMaxPositionStart)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                        errmsg("the positions of a run of index \"%s\" cannot take more than 1 TB",
                               RelationGetRelationName(builder->index)),
                        errhint("Partition the table.")));
}

static void append_position_index(RunBuilder *builder, uint32 blocks) {
    if (!builder->options.positions)
        return;
    uint8 start[kPositionStartBytes];
    for (uint32 i = 0; i < kPositionStartBytes; i++)
        start[i] = static_cast<uint8>(builder->position_start >> (8 * i));
    append_bytes(builder, start, sizeof(start));
    append_bytes(builder, builder->position_ends, blocks * sizeof(PositionEnd));
}

// Writes what a dictionary's entry says of a single posting's positions; returns how many bytes.
static uint32 write_single_positions(RunBuilder *builder, uint8 *out) {
    if (!builder->options.positions)
        return 0;
    const uint32 length = builder->positions_filled;
    if (length > kInlinePositionBytes) {
        flush_positions(builder, 0);
        out[0] = kPositionsElsewhere;
        return 1 + write_varint(out + 1, builder->position_start);
    }
    memcpy(out, builder->positions, length);
    return length;
}

static void write_position_pages(RunBuilder *builder) {
    rewind_spool(&builder->position_spool);
    for (uint64 left = builder->position_bytes; left > 0;) {
        const auto take = static_cast<uint32>(Min(left, uint64{storage::kContentBytes}));
        Page page = storage::next_run_page(builder->writer);
        read_spool(&builder->position_spool, storage::page_content(page), take);
        storage::set_content_length(page, take);
        left -= take;
    }
    end_spool(&builder->position_spool);
}

// Writes what is buffered as blocks of a list of several; only a list's last one may be short.
void flush_postings(RunBuilder *builder) {
    choose_list_bits(builder);
    EncodedBlock block;
    const uint32 first_block = builder->head_count;
    for (uint32 first = 0; first < builder->buffered; first += postings::kBlockPostings) {
        const uint32 count = Min(builder->buffered - first, postings::kBlockPostings);
        encode_block(builder, first, count, builder->any_written ? uint64{builder->last_written} + 1 : 0,
                     &block);
        builder->last_written = builder->ordinals[first + count - 1];
        builder->any_written = true;
        const uint64 offset = builder->posting_bytes - builder->list_start;
        if (offset > UINT32_MAX - postings::kMaxBlockBytes)
            report_long_list(builder);
        if (builder->head_count == builder->head_room) {
            builder->head_room *= 2;
            builder->heads = reallocate(builder->heads, builder->head_room);
            builder->position_ends = reallocate(builder->position_ends, builder->head_room);
        }
        builder->heads[builder->head_count++] = {builder->last_written, static_cast<uint32>(offset),
                                                 block_bound(builder, first, count), block.parameter,
                                                 block.frequency_bits};
        append_bytes(builder, block.bytes, block.length);
    }
    flush_positions(builder, first_block);
    builder->buffered = 0;
    CHECK_FOR_INTERRUPTS();
}

// ---- dictionary ------------------------------------------------------------------------------------------

static void flush_dictionary_page(RunBuilder *builder) {
    if (builder->dictionary_fill == 0)
        return;
    const auto *head = reinterpret_cast<const DictionaryPage *>(builder->dictionary_page);
    const uint32 table_bytes = restart_count(head->entries) * sizeof(Restart);
    memcpy(builder->dictionary_page + builder->dictionary_fill, builder->restarts, table_bytes);
    builder->dictionary_fill += table_bytes;
    memset(builder->dictionary_page + builder->dictionary_fill, 0,
           storage::kContentBytes - builder->dictionary_fill);
    append_to_spool(&builder->dictionary_spool, &builder->dictionary_fill, sizeof(builder->dictionary_fill));
    append_to_spool(&builder->dictionary_spool, builder->dictionary_page, storage::kContentBytes);
    builder->dictionary_fill = 0;
    builder->dictionary_pages++;
}

static uint32 fence_bytes(const RunBuilder *builder) {
    return builder->fence_count == 0 ? 0 : builder->fence_ends[builder->fence_count - 1];
}

static void drop_every_other_fence(RunBuilder *builder) {
    uint32 kept = 0;
    uint32 end = 0;
    for (uint32 i = 1; i < builder->fence_count; i += 2) {
        const uint32 begin = builder->fence_ends[i - 1];
        const uint32 length = builder->fence_ends[i] - begin;
        memmove(builder->fences + end, builder->fences + begin, length);
        end += length;
        builder->fence_ends[kept++] = static_cast<FenceEnd>(end);
    }
    builder->fence_count = kept;
    builder->fence_interval *= 2;
}

// Returns the shortest beginning of the page's first lexeme that the last lexeme before the page is below.
static void add_fence(RunBuilder *builder, const char *lexeme, uint32 length) {
    const uint32 pages_before = builder->dictionary_pages;
    uint32 needed = 0;
    while (needed < builder->previous_length && lexeme[needed] == builder->previous[needed])
        needed++;
    needed = Min(needed + 1, length);
    while (pages_before % builder->fence_interval == 0 &&
           fence_bytes(builder) + needed + (builder->fence_count + 1) * sizeof(FenceEnd) > kFenceRoom)
        drop_every_other_fence(builder);
    if (pages_before == 0 || pages_before % builder->fence_interval != 0)
        return;
    const uint32 begin = fence_bytes(builder);
    memcpy(builder->fences + begin, lexeme, needed);
    builder->fence_ends[builder->fence_count++] = static_cast<FenceEnd>(begin + needed);
}

static uint32 write_length_nibble(uint8 *rest, uint32 value) {
    return value < 15 ? 0 : write_varint(rest, value - 15);
}

// An entry is lexeme and frequency, then for a list of one posting its ordinal and term frequency, else its
// bytes.
static void add_to_dictionary(RunBuilder *builder, const char *lexeme, uint32 length, uint64 first,
                              uint64 second) {
    uint8 entry[kMaxLexemeBytes + 6 * kMaxVarintBytes + 2];
    uint8 positions[Max(kInlinePositionBytes, kMaxVarintBytes + 1)];
    const uint32 position_bytes = builder->frequency == 1 ? write_single_positions(builder, positions) : 0;
    auto *head = reinterpret_cast<DictionaryPage *>(builder->dictionary_page);
    for (;;) {
        const bool is_new = builder->dictionary_fill == 0;
        const uint32 number = is_new ? 0 : head->entries;
        uint32 shared = 0;
        if (number % kRestartInterval != 0) {
            const uint32 most = Min(length, builder->previous_length);
            while (shared < most && lexeme[shared] == builder->previous[shared])
                shared++;
        }
        const uint32 suffix = length - shared;
        uint32 bytes = 1;
        entry[0] = static_cast<uint8>(Min(shared, 15u) << 4 | Min(suffix, 15u));
        bytes += write_length_nibble(entry + bytes, shared);
        bytes += write_length_nibble(entry + bytes, suffix);
        memcpy(entry + bytes, lexeme + shared, suffix);
        bytes += suffix;
        bytes += write_varint(entry + bytes, builder->frequency);
        bytes += write_varint(entry + bytes, first);
        if (builder->frequency == 1)
            bytes += write_varint(entry + bytes, second);
        memcpy(entry + bytes, positions, position_bytes);
        bytes += position_bytes;

        if (is_new) {
            add_fence(builder, lexeme, length);
            *head = {builder->list_start, 0, 0};
            builder->dictionary_fill = sizeof(*head);
        } else if (builder->dictionary_fill + bytes + restart_count(number + 1) * sizeof(Restart) >
                   storage::kContentBytes) {
            flush_dictionary_page(builder);
            continue;
        }
        if (number > 0 && number % kRestartInterval == 0)
            builder->restarts[restart_count(number + 1) - 1] =
                (builder->list_start - head->first_list) << kRestartPlaceBits | builder->dictionary_fill;
        memcpy(builder->dictionary_page + builder->dictionary_fill, entry, bytes);
        builder->dictionary_fill += bytes;
        head->entries++;
        break;
    }
    memcpy(builder->previous, lexeme, length);
    builder->previous_length = length;
    builder->lexemes++;
}

void finish_list(RunBuilder *builder, const char *lexeme, uint32 length) {
    if (builder->frequency == 0)
        return;
    builder->posting_total += builder->frequency;
    if (builder->frequency == 1) {
        add_to_dictionary(builder, lexeme, length, builder->ordinals[0], builder->frequencies[0]);
        return;
    }
    if (builder->frequency <= postings::kBlockPostings) {
        choose_list_bits(builder);
        EncodedBlock block;
        encode_block(builder, 0, builder->buffered, 0, &block);
        const uint8 head[kShortListHead] = {block.parameter, block.frequency_bits};
        append_bytes(builder, head, sizeof(head));
        append_bytes(builder, block.bytes, block.length);
        flush_positions(builder, 0);
    } else {
        flush_postings(builder);
        append_bytes(builder, builder->heads, builder->head_count * sizeof(postings::BlockHead));
    }
    append_position_index(builder, block_count(builder->frequency));
    add_to_dictionary(builder, lexeme, length, builder->posting_bytes - builder->list_start, 0);
}

// ---- the end ---------------------------------------------------------------------------------------------

static void write_dictionary(RunBuilder *builder) {
    flush_dictionary_page(builder);
    rewind_spool(&builder->dictionary_spool);
    storage::Section *section = &builder->entry->sections[kDictionarySection];
    section->first_page = storage::pages_begun(builder->writer);
    section->pages = 1 + builder->dictionary_pages;

    Page page = storage::next_run_page(builder->writer);
    const uint32 codec =
        static_cast<uint32>(builder->options.codec) | (builder->options.positions ? kHeaderHasPositions : 0);
    const RunHeader header = {
        builder->lexemes,       builder->posting_bytes, builder->null_documents, codec,
        builder->options.k1,    builder->options.b,     builder->average_length, builder->fence_count,
        builder->fence_interval};
    char *content = storage::page_content(page);
    const uint32 ends_bytes = builder->fence_count * sizeof(FenceEnd);
    memcpy(content, &header, sizeof(header));
    memcpy(content + sizeof(header), builder->fence_ends, ends_bytes);
    memcpy(content + sizeof(header) + ends_bytes, builder->fences, fence_bytes(builder));
    storage::set_content_length(page,
                                static_cast<uint32>(sizeof(header)) + ends_bytes + fence_bytes(builder));
    for (uint32 i = 0; i < builder->dictionary_pages; i++) {
        uint32 fill;
        page = storage::next_run_page(builder->writer);
        read_spool(&builder->dictionary_spool, &fill, sizeof(fill));
        read_spool(&builder->dictionary_spool, storage::page_content(page), storage::kContentBytes);
        storage::set_content_length(page, fill);
    }
    end_spool(&builder->dictionary_spool);
}

static void write_documents(RunBuilder *builder) {
    rewind_spool(&builder->document_spool);
    storage::Section *section = &builder->entry->sections[kDocumentSection];
    section->first_page = storage::pages_begun(builder->writer);
    section->pages = document_pages(builder->documents);
    for (uint32 i = 0; i < section->pages; i++) {
        Page page = storage::next_run_page(builder->writer);
        const uint32 count = documents_on_page(builder->documents, i);
        char *tids = storage::page_content(page);
        char *lengths = tids + count * sizeof(ItemPointerData);
        for (uint32 j = 0; j < count; j++) {
            char record[kDocumentBytes];
            read_spool(&builder->document_spool, record, sizeof(record));
            memcpy(tids + j * sizeof(ItemPointerData), record, sizeof(ItemPointerData));
            memcpy(lengths + j * kLengthBytes, record + sizeof(ItemPointerData), kLengthBytes);
        }
        storage::set_content_length(page, count * kDocumentBytes);
    }
    end_spool(&builder->document_spool);
}

void finish_run_builder(RunBuilder *builder) {
    builder->entry->sections[kPostingSection] = {0, storage::pages_begun(builder->writer)};
    write_position_pages(builder);
    write_dictionary(builder);
    write_documents(builder);
    builder->entry->entries = builder->documents;
    set_run_data(builder->entry, Layout::Inverted, builder->length, builder->posting_total);
    pfree(builder->dictionary_page);
    pfree(builder->position_ends);
    pfree(builder->position_lengths);
    pfree(builder->positions);
    pfree(builder->heads);
    pfree(builder->frequencies);
    pfree(builder->ordinals);
    pfree(builder->short_lengths);
}

}  // namespace pg_gpu::text
