#include "text/reader.h"

#include "table/table.h"

namespace pg_gpu::text {

bool is_possible_tid(Relation index, BlockNumber *heap_blocks, const ItemPointerData &tid) {
    if (likely(table::is_tid_within(tid, *heap_blocks)))
        return true;
    Relation heap = table_open(index->rd_index->indrelid, NoLock);
    const bool is_possible = table::is_possible_tid(heap, heap_blocks, tid);
    table_close(heap, NoLock);
    return is_possible;
}

void report_damage(const RunReader *reader, uint32 position, const char *detail) {
    storage::report_corruption(reader->index, storage::run_block(reader->run, position), detail);
}

Page lock_page(RunReader *reader, PinnedPage *pinned, uint32 position) {
    if (reader->stale)
        return nullptr;
    if (pinned->held.page != nullptr) {
        if (pinned->position == position && storage::lock_run_page_again(reader->run, position, pinned->held))
            return pinned->held.page;
        storage::unpin_run_page(&pinned->held);
    }
    pinned->held = storage::read_run_page(reader->index, reader->run, position, nullptr, &reader->nearby);
    pinned->position = position;
    if (pinned->held.page != nullptr)
        return pinned->held.page;
    reader->stale = true;
    reader->stale_position = position;
    return nullptr;
}

void unlock_page(const PinnedPage *pinned) {
    storage::unlock_run_page(pinned->held);
}

static void release_page(PinnedPage *pinned) {
    storage::unpin_run_page(&pinned->held);
}

static void read_dead(RunReader *reader) {
    const uint64 words = (reader->run.entries + 63) / 64;
    reader->dead = allocate_zeroed<uint64>(words);
    for (uint64 first = 0; first < reader->run.entries && !reader->stale;
         first += storage::kDeadBitsPerPage) {
        const auto count =
            static_cast<uint32>(Min(reader->run.entries - first, uint64{storage::kDeadBitsPerPage}));
        if (!storage::read_dead_bits(reader->index, reader->run, first, count, reader->dead + first / 64)) {
            reader->stale = true;
            reader->stale_position = reader->run.sections[storage::kDeadBitmapSection].first_page +
                                     static_cast<uint32>(first / storage::kDeadBitsPerPage);
        }
    }
}

bool copy_section_bytes(RunReader *reader, PinnedPage *pinned, const storage::Section &section, uint64 from,
                        uint64 length, void *to) {
    auto *out = static_cast<char *>(to);
    while (length > 0) {
        const auto page = static_cast<uint32>(from / storage::kContentBytes);
        const auto at = static_cast<uint32>(from % storage::kContentBytes);
        const uint64 take = Min(length, uint64{storage::kContentBytes - at});
        Page locked = lock_page(reader, pinned, section.first_page + page);
        if (locked == nullptr)
            return false;
        memcpy(out, storage::page_content(locked) + at, take);
        unlock_page(pinned);
        out += take;
        from += take;
        length -= take;
    }
    return true;
}

static bool is_header_valid(const RunReader *reader, uint32 content_length) {
    const RunHeader &header = reader->header;
    const uint64 room =
        static_cast<uint64>(reader->run.sections[kPostingSection].pages) * storage::kContentBytes;
    const uint32 pages = dictionary_pages(reader);
    return header.codec < postings::kCodecs && header.posting_bytes <= room &&
           header.null_documents <= reader->run.entries && header.fence_interval > 0 &&
           header.fences == (pages == 0 ? 0 : (pages - 1) / header.fence_interval) &&
           header.fences <= (content_length - sizeof(RunHeader)) / sizeof(FenceEnd);
}

void open_reader(RunReader *reader, Relation index, const storage::RunEntry &run) {
    *reader = {};
    reader->index = index;
    reader->run = run;
    reader->context = CurrentMemoryContext;
    for (uint32 &page : reader->length_pages)
        page = UINT32_MAX;
    const uint32 position = run.sections[kDictionarySection].first_page;
    Page page = lock_page(reader, &reader->header_page, position);
    if (page == nullptr)
        return;
    const uint32 length = storage::content_length(page);
    if (length >= sizeof(RunHeader))
        memcpy(&reader->header, storage::page_content(page), sizeof(RunHeader));
    unlock_page(&reader->header_page);
    reader->has_positions = (reader->header.codec & kHeaderHasPositions) != 0;
    reader->header.codec &= ~kHeaderHasPositions;
    if (length < sizeof(RunHeader) || length > storage::kContentBytes || !is_header_valid(reader, length))
        report_damage(reader, position, "The head of a run's dictionary is damaged.");
    if (run.dead > 0)
        read_dead(reader);
}

void release_postings(RunReader *reader) {
    for (PinnedPage &page : reader->posting_pages)
        release_page(&page);
    for (PinnedPage &page : reader->position_pages)
        release_page(&page);
}

void close_reader(RunReader *reader) {
    release_page(&reader->header_page);
    release_page(&reader->document_page);
    release_page(&reader->dictionary_page);
    release_postings(reader);
}

// ---- documents -------------------------------------------------------------------------------------------

// Share-locks a document page that is as long as it must be, and says how many are on it; nullptr when stale.
static Page lock_documents(RunReader *reader, uint32 page_number, uint32 *count) {
    const uint32 position = reader->run.sections[kDocumentSection].first_page + page_number;
    Page page = lock_page(reader, &reader->document_page, position);
    if (page == nullptr)
        return nullptr;
    *count = documents_on_page(reader->run.entries, page_number);
    if (storage::content_length(page) < *count * kDocumentBytes) {
        unlock_page(&reader->document_page);
        report_damage(reader, position, "A page of documents is shorter than they are.");
    }
    return page;
}

void load_lengths(RunReader *reader, uint32 page_number) {
    if (reader->lengths == nullptr)
        reader->lengths = static_cast<uint8 *>(
            MemoryContextAlloc(reader->context, kLengthSlots * kDocumentsPerPage * kLengthBytes));
    const uint32 slot = page_number % kLengthSlots;
    uint8 *lengths = reader->lengths + slot * kDocumentsPerPage * kLengthBytes;
    reader->length_pages[slot] = page_number;
    uint32 count;
    Page page = lock_documents(reader, page_number, &count);
    if (page == nullptr) {
        memset(lengths, 0, kDocumentsPerPage * kLengthBytes);
        return;
    }
    memcpy(lengths, storage::page_content(page) + count * sizeof(ItemPointerData), count * kLengthBytes);
    unlock_page(&reader->document_page);
}

static void check_tid(const RunReader *reader, const ItemPointerData &tid) {
    if (reader->heap_blocks != nullptr && unlikely(!is_possible_tid(reader->index, reader->heap_blocks, tid)))
        report_damage(reader, reader->document_page.position, "A document's TID lies outside the table.");
}

uint32 read_document_tids(RunReader *reader, uint32 page_number, ItemPointerData *tids) {
    uint32 count;
    Page page = lock_documents(reader, page_number, &count);
    if (page == nullptr)
        return 0;
    memcpy(tids, storage::page_content(page), count * sizeof(ItemPointerData));
    unlock_page(&reader->document_page);
    // VACUUM may have cut off the table's end, where rows of dead entries were.
    for (uint32 i = 0; i < count; i++)
        if (!is_dead(reader, page_number * kDocumentsPerPage + i))
            check_tid(reader, tids[i]);
    return count;
}

DocumentEntry read_document(RunReader *reader, uint32 ordinal) {
    DocumentEntry entry = {};
    ItemPointerSetInvalid(&entry.tid);
    uint32 count;
    Page page = lock_documents(reader, ordinal / kDocumentsPerPage, &count);
    if (page == nullptr)
        return entry;
    const char *tids = storage::page_content(page);
    const auto *lengths = reinterpret_cast<const uint8 *>(tids + count * sizeof(ItemPointerData));
    const uint32 at = ordinal % kDocumentsPerPage;
    memcpy(&entry.tid, tids + at * sizeof(ItemPointerData), sizeof(entry.tid));
    entry.length = read_length(lengths + at * kLengthBytes);
    unlock_page(&reader->document_page);
    if (!is_dead(reader, ordinal))
        check_tid(reader, entry.tid);
    return entry;
}

void prefetch_document(const RunReader *reader, uint32 ordinal) {
    const uint32 page = ordinal / kDocumentsPerPage;
    const BlockNumber block =
        storage::run_block(reader->run, reader->run.sections[kDocumentSection].first_page + page);
    const uint32 at = ordinal % kDocumentsPerPage;
    const auto content = static_cast<uint32>(SizeOfPageHeaderData);
    const auto lengths =
        content + documents_on_page(reader->run.entries, page) * static_cast<uint32>(sizeof(ItemPointerData));
    storage::prefetch_nearby(reader->index, block, reader->nearby,
                             content + at * static_cast<uint32>(sizeof(ItemPointerData)),
                             lengths + at * kLengthBytes);
}

}  // namespace pg_gpu::text
