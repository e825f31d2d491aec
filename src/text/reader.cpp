#include "text/reader.h"

#include <algorithm>

#include "table/visibility.h"

namespace pg_gpu::text {

void report_damage(const RunReader *reader, uint32 position, const char *detail) {
    storage::report_corruption(reader->index, storage::run_block(reader->run, position), detail);
}

// Share-locks a page of the run; nullptr when stale. unlock_page keeps the pin.
static Page lock_page(RunReader *reader, PinnedPage *pinned, uint32 position) {
    if (reader->stale)
        return nullptr;
    if (BufferIsValid(pinned->buffer)) {
        if (pinned->position == position) {
            LockBuffer(pinned->buffer, BUFFER_LOCK_SHARE);
            Page page = BufferGetPage(pinned->buffer);
            const storage::PageStamp *stamp = storage::page_stamp(page);
            if (likely(stamp->run_id == reader->run.run_id && stamp->position == position))
                return page;
            LockBuffer(pinned->buffer, BUFFER_LOCK_UNLOCK);
        }
        ReleaseBuffer(pinned->buffer);
    }
    pinned->buffer = storage::read_run_page(reader->index, reader->run, position, nullptr, &reader->near);
    pinned->position = position;
    if (BufferIsValid(pinned->buffer))
        return BufferGetPage(pinned->buffer);
    reader->stale = true;
    reader->stale_position = position;
    return nullptr;
}

static void unlock_page(const PinnedPage *pinned) {
    LockBuffer(pinned->buffer, BUFFER_LOCK_UNLOCK);
}

static void release_page(PinnedPage *pinned) {
    if (BufferIsValid(pinned->buffer))
        ReleaseBuffer(pinned->buffer);
    pinned->buffer = InvalidBuffer;
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

static uint32 dictionary_pages(const RunReader *reader) {
    return reader->run.sections[kDictionarySection].pages - 1;
}

static bool is_header_sound(const RunReader *reader, uint32 content_length) {
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
    reader->heap_blocks = InvalidBlockNumber;
    reader->lengths = allocate<uint8>(kLengthSlots * kDocumentsPerPage * kLengthBytes);
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
    if (length < sizeof(RunHeader) || length > storage::kContentBytes || !is_header_sound(reader, length))
        report_damage(reader, position, "The head of a run's dictionary is damaged.");
    if (run.dead > 0)
        read_dead(reader);
}

void release_postings(RunReader *reader) {
    for (PinnedPage &page : reader->posting_pages)
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
    if (reader->heap_blocks != InvalidBlockNumber &&
        unlikely(!table::is_tid_within(tid, reader->heap_blocks)))
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
    storage::prefetch_near(reader->index, block, reader->near,
                           content + at * static_cast<uint32>(sizeof(ItemPointerData)),
                           lengths + at * kLengthBytes);
}

// ---- dictionary ------------------------------------------------------------------------------------------

[[noreturn]] static void report_dictionary(const DictionaryCursor *cursor) {
    report_damage(cursor->reader, cursor->reader->run.sections[kDictionarySection].first_page + cursor->page,
                  "A page of the dictionary is damaged.");
}

// Reads the parts of an entry that do not depend on the one before: `suffix` points into the page.
struct EntryHead {
    uint64 shared;
    uint64 suffix_length;
    const uint8 *suffix;
};

static const uint8 *read_entry_head(const uint8 *in, const uint8 *end, EntryHead *head) {
    if (in >= end)
        return nullptr;
    head->shared = *in >> 4;
    head->suffix_length = *in & 15;
    in++;
    uint64 more;
    if (head->shared == 15) {
        in = read_varint(in, end, &more);
        if (in == nullptr || more > kMostLexemeBytes)
            return nullptr;
        head->shared += more;
    }
    if (head->suffix_length == 15) {
        in = read_varint(in, end, &more);
        if (in == nullptr || more > kMostLexemeBytes)
            return nullptr;
        head->suffix_length += more;
    }
    head->suffix = in;
    if (head->suffix_length > static_cast<uint64>(end - in) ||
        head->shared + head->suffix_length > kMostLexemeBytes)
        return nullptr;
    return in + head->suffix_length;
}

// Share-locks a page of the dictionary, before its first entry; nullptr, and the cursor at its end, when
// there is none or it is stale. unlock_page follows.
static const char *lock_dictionary_page(DictionaryCursor *cursor, uint32 page) {
    RunReader *reader = cursor->reader;
    cursor->page = page;
    cursor->end = true;
    if (page > dictionary_pages(reader))
        return nullptr;
    Page locked = lock_page(reader, &reader->dictionary_page,
                            reader->run.sections[kDictionarySection].first_page + page);
    if (locked == nullptr)
        return nullptr;
    cursor->end = false;
    const uint32 length = storage::content_length(locked);
    memcpy(&cursor->head, storage::page_content(locked), sizeof(DictionaryPage));
    const uint32 entries = cursor->head.entries;
    if (length <= sizeof(DictionaryPage) || length > storage::kContentBytes || entries == 0 ||
        entries > storage::kContentBytes ||
        restart_count(entries) * sizeof(Restart) >= length - sizeof(DictionaryPage))
        report_dictionary(cursor);
    cursor->entries_end = length - restart_count(entries) * static_cast<uint32>(sizeof(Restart));
    cursor->left = entries;
    cursor->at = sizeof(DictionaryPage);
    cursor->next_list = cursor->head.first_list;
    cursor->lexeme_length = 0;
    return storage::page_content(locked);
}

// Copies what lies between two places of a page, and the table behind the entries.
static void copy_entries(DictionaryCursor *cursor, const char *content, uint32 from, uint32 end) {
    memcpy(cursor->image.data + from, content + from, end - from);
    memcpy(cursor->image.data + cursor->entries_end, content + cursor->entries_end,
           restart_count(cursor->head.entries) * sizeof(Restart));
    cursor->copied_end = end;
}

static void load_dictionary_page(DictionaryCursor *cursor, uint32 page) {
    const char *content = lock_dictionary_page(cursor, page);
    if (content == nullptr)
        return;
    copy_entries(cursor, content, cursor->at, cursor->entries_end);
    unlock_page(&cursor->reader->dictionary_page);
}

// A search has copied no more than the entries up to the next restart, which mostly suffice.
static void copy_rest(DictionaryCursor *cursor) {
    const uint32 left = cursor->left;
    const uint32 at = cursor->at;
    const uint64 next_list = cursor->next_list;
    const uint32 lexeme_length = cursor->lexeme_length;
    const char *content = lock_dictionary_page(cursor, cursor->page);
    if (content == nullptr)
        return;
    copy_entries(cursor, content, at, cursor->entries_end);
    unlock_page(&cursor->reader->dictionary_page);
    cursor->left = left;
    cursor->at = at;
    cursor->next_list = next_list;
    cursor->lexeme_length = lexeme_length;
}

// Restart 0 is the page's first entry, which is not in the table.
static Restart restart_at(const DictionaryCursor *cursor, const char *content, uint32 number) {
    Restart restart = sizeof(DictionaryPage);
    if (number > 0)
        memcpy(&restart, content + cursor->entries_end + (number - 1) * sizeof(Restart), sizeof(restart));
    return restart;
}

static Restart here(const DictionaryCursor *cursor) {
    return (cursor->next_list - cursor->head.first_list) << kRestartPlaceBits | cursor->at;
}

// Goes to the next entry. The lexeme of one that shares more than `needed` bytes with the one before is left
// as it is.
static inline void advance(DictionaryCursor *cursor, uint32 needed) {
    if (cursor->end)
        return;
    if (cursor->left == 0) {
        load_dictionary_page(cursor, cursor->page + 1);
        if (cursor->end)
            return;
    }
    if (cursor->at == cursor->copied_end) {
        copy_rest(cursor);
        if (cursor->end)
            return;
    }
    RunReader *reader = cursor->reader;
    const auto *page = reinterpret_cast<const uint8 *>(cursor->image.data);
    const uint8 *end = page + cursor->copied_end;
    const uint32 number = cursor->head.entries - cursor->left;
    cursor->is_restart = number % kRestartInterval == 0;
    EntryHead head;
    const uint8 *in = read_entry_head(page + cursor->at, end, &head);
    if (in == nullptr || head.shared > cursor->lexeme_length || head.suffix_length == 0 ||
        (cursor->is_restart && (head.shared > 0 || restart_at(cursor, cursor->image.data,
                                                              number / kRestartInterval) != here(cursor))))
        report_dictionary(cursor);
    cursor->shared = static_cast<uint32>(head.shared);
    if (head.shared <= needed)
        memcpy(cursor->lexeme + head.shared, head.suffix, head.suffix_length);
    cursor->lexeme_length = static_cast<uint32>(head.shared + head.suffix_length);
    uint64 first = 0;
    uint64 second = 0;
    in = read_varint(in, end, &cursor->frequency);
    if (in != nullptr)
        in = read_varint(in, end, &first);
    if (in != nullptr && cursor->frequency == 1)
        in = read_varint(in, end, &second);
    if (in == nullptr || cursor->frequency == 0 || cursor->frequency > reader->run.entries)
        report_dictionary(cursor);
    cursor->list_start = cursor->next_list;
    cursor->list_bytes = 0;
    if (cursor->frequency == 1) {
        if (first >= reader->run.entries || second == 0 || second > UINT32_MAX)
            report_dictionary(cursor);
        cursor->ordinal = static_cast<uint32>(first);
        cursor->term_frequency = static_cast<uint32>(second);
    } else {
        if (cursor->list_start > reader->header.posting_bytes ||
            first > reader->header.posting_bytes - cursor->list_start)
            report_dictionary(cursor);
        cursor->list_bytes = first;
    }
    cursor->next_list = cursor->list_start + cursor->list_bytes;
    cursor->at = static_cast<uint32>(in - page);
    cursor->left--;
}

void next_entry(DictionaryCursor *cursor) {
    advance(cursor, kMostLexemeBytes);
}

void begin_dictionary(DictionaryCursor *cursor, RunReader *reader) {
    cursor->reader = reader;
    cursor->end = false;
    load_dictionary_page(cursor, 1);
    next_entry(cursor);
}

// Is the first lexeme of the page above?
static bool begins_above(DictionaryCursor *cursor, uint32 page, const char *lexeme, uint32 length) {
    RunReader *reader = cursor->reader;
    Page locked = lock_page(reader, &reader->dictionary_page,
                            reader->run.sections[kDictionarySection].first_page + page);
    if (locked == nullptr)
        return true;
    const auto *content = reinterpret_cast<const uint8 *>(storage::page_content(locked));
    const uint32 content_length = Min(storage::content_length(locked), storage::kContentBytes);
    EntryHead head;
    const bool sound =
        content_length > sizeof(DictionaryPage) &&
        read_entry_head(content + sizeof(DictionaryPage), content + content_length, &head) != nullptr;
    const bool above = sound && compare_lexemes(reinterpret_cast<const char *>(head.suffix),
                                                static_cast<uint32>(head.suffix_length), lexeme, length) > 0;
    unlock_page(&reader->dictionary_page);
    if (!sound) {
        cursor->page = page;
        report_dictionary(cursor);
    }
    return above;
}

namespace {

struct Fence {
    const char *bytes;
    uint32 length;
};

}  // namespace

// Of the locked header page.
static Fence fence_at(RunReader *reader, Page page, uint32 number) {
    const char *ends = storage::page_content(page) + sizeof(RunHeader);
    FenceEnd begin = 0;
    FenceEnd end;
    if (number > 0)
        memcpy(&begin, ends + (number - 1) * sizeof(FenceEnd), sizeof(begin));
    memcpy(&end, ends + number * sizeof(FenceEnd), sizeof(end));
    const char *fences = ends + reader->header.fences * sizeof(FenceEnd);
    const char *content_end = storage::page_content(page) + storage::content_length(page);
    if (begin > end || end > content_end - fences) {
        unlock_page(&reader->header_page);
        report_damage(reader, reader->header_page.position, "The head of a run's dictionary is damaged.");
    }
    return {fences + begin, static_cast<uint32>(end - begin)};
}

// The number of fences that the lexeme is not below.
static uint32 fences_below(RunReader *reader, const char *lexeme, uint32 length) {
    uint32 low = 0;
    uint32 high = reader->header.fences;
    if (high == 0)
        return 0;
    Page page = lock_page(reader, &reader->header_page, reader->run.sections[kDictionarySection].first_page);
    if (page == nullptr)
        return 0;
    while (low < high) {
        const uint32 middle = low + (high - low) / 2;
        const Fence fence = fence_at(reader, page, middle);
        if (compare_lexemes(fence.bytes, fence.length, lexeme, length) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    unlock_page(&reader->header_page);
    return low;
}

bool is_fence_right(RunReader *reader, uint32 page_number, const char *before, uint32 before_length,
                    const char *first, uint32 first_length) {
    if (page_number == 1 || (page_number - 1) % reader->header.fence_interval != 0)
        return true;
    Page page = lock_page(reader, &reader->header_page, reader->run.sections[kDictionarySection].first_page);
    if (page == nullptr)
        return true;
    const Fence fence = fence_at(reader, page, (page_number - 1) / reader->header.fence_interval - 1);
    const bool right = compare_lexemes(before, before_length, fence.bytes, fence.length) < 0 &&
                       compare_lexemes(fence.bytes, fence.length, first, first_length) <= 0;
    unlock_page(&reader->header_page);
    return right;
}

static EntryHead restart_head(const DictionaryCursor *cursor, const char *content, uint32 number) {
    const auto *page = reinterpret_cast<const uint8 *>(content);
    const uint32 place = restart_place(restart_at(cursor, content, number));
    EntryHead head;
    if (place < sizeof(DictionaryPage) || place >= cursor->entries_end ||
        read_entry_head(page + place, page + cursor->entries_end, &head) == nullptr)
        report_dictionary(cursor);
    return head;
}

// Goes to the last restart of a page that is not above, or the first.
static void seek_restart(DictionaryCursor *cursor, uint32 page, const char *lexeme, uint32 length) {
    const char *content = lock_dictionary_page(cursor, page);
    if (content == nullptr)
        return;
    const uint32 restarts = restart_count(cursor->head.entries) + 1;
    uint32 low = 0;
    uint32 high = restarts;
    while (high - low > 1) {
        const uint32 middle = low + (high - low) / 2;
        const EntryHead head = restart_head(cursor, content, middle);
        if (compare_lexemes(reinterpret_cast<const char *>(head.suffix),
                            static_cast<uint32>(head.suffix_length), lexeme, length) > 0)
            high = middle;
        else
            low = middle;
    }
    const Restart restart = restart_at(cursor, content, low);
    const uint32 end =
        low + 1 < restarts ? restart_place(restart_at(cursor, content, low + 1)) : cursor->entries_end;
    cursor->at = restart_place(restart);
    if (cursor->at < sizeof(DictionaryPage) || cursor->at >= end || end > cursor->entries_end)
        report_dictionary(cursor);
    copy_entries(cursor, content, cursor->at, end);
    unlock_page(&cursor->reader->dictionary_page);
    cursor->next_list = cursor->head.first_list + (restart >> kRestartPlaceBits);
    cursor->left = cursor->head.entries - low * kRestartInterval;
}

void seek_lexeme(DictionaryCursor *cursor, RunReader *reader, const char *lexeme, uint32 length) {
    cursor->reader = reader;
    cursor->end = false;
    // The last page that does not begin above.
    uint32 low = 1 + fences_below(reader, lexeme, length) * reader->header.fence_interval;
    uint32 high = static_cast<uint32>(
        Min(uint64{low} + reader->header.fence_interval, uint64{dictionary_pages(reader)} + 1));
    while (high - low > 1) {
        const uint32 middle = low + (high - low) / 2;
        if (begins_above(cursor, middle, lexeme, length))
            high = middle;
        else
            low = middle;
    }
    seek_restart(cursor, low, lexeme, length);
    // All entries so far are below, the last one having this many bytes in common with what is sought. One
    // that shares more with the last is below too, and one that shares less is above.
    uint32 common = 0;
    for (next_entry(cursor); !cursor->end; advance(cursor, common)) {
        if (cursor->is_restart)
            common = 0;
        else if (cursor->shared > common)
            continue;
        else if (cursor->shared < common)
            return;
        const uint32 most = Min(length, cursor->lexeme_length);
        while (common < most && cursor->lexeme[common] == lexeme[common])
            common++;
        if (common == length ||
            (common<cursor->lexeme_length &&static_cast<uint8>(cursor->lexeme[common])> static_cast<uint8>(
                lexeme[common])))
            return;
    }
}

bool find_lexeme(DictionaryCursor *cursor, RunReader *reader, const char *lexeme, uint32 length) {
    seek_lexeme(cursor, reader, lexeme, length);
    return !cursor->end && compare_lexemes(cursor->lexeme, cursor->lexeme_length, lexeme, length) == 0;
}

// ---- lists -----------------------------------------------------------------------------------------------

// Copies bytes of the list, from one on, which may lie on several pages. false when stale.
static bool copy_bytes(const ListCursor *list, uint64 from, uint64 length, void *to) {
    RunReader *reader = list->reader;
    from += list->start;
    auto *out = static_cast<char *>(to);
    while (length > 0) {
        const auto page = static_cast<uint32>(from / storage::kContentBytes);
        const auto at = static_cast<uint32>(from % storage::kContentBytes);
        const uint64 take = Min(length, uint64{storage::kContentBytes - at});
        Page locked = lock_page(reader, list->page, reader->run.sections[kPostingSection].first_page + page);
        if (locked == nullptr)
            return false;
        memcpy(out, storage::page_content(locked) + at, take);
        unlock_page(list->page);
        out += take;
        from += take;
        length -= take;
    }
    return true;
}

[[noreturn]] static void report_list(const ListCursor *list) {
    const RunReader *reader = list->reader;
    report_damage(reader,
                  reader->run.sections[kPostingSection].first_page +
                      static_cast<uint32>(list->start / storage::kContentBytes),
                  "An inverted list is damaged.");
}

ListCursor *open_list_in_memory(RunReader *reader, const uint32 *ordinals, const uint32 *frequencies,
                                uint32 count) {
    auto *list = allocate<ListCursor>(1);
    memset(list, 0, offsetof(ListCursor, ordinals));
    list->reader = reader;
    list->documents = count;
    list->blocks = block_count(count);
    list->memory_ordinals = ordinals;
    list->memory_frequencies = frequencies;
    list->heads = allocate_zeroed<postings::BlockHead>(list->blocks + 1);
    for (uint32 i = 0; i < list->blocks; i++)
        list->heads[i].last = ordinals[Min((i + 1) * postings::kBlockPostings, count) - 1];
    list->block = kNoBlock;
    return list;
}

ListCursor *open_list(RunReader *reader, const ListPlace &place) {
    if (place.documents == 0)
        return nullptr;
    if (place.documents == 1) {
        auto *one = allocate<uint32>(2);
        one[0] = place.ordinal;
        one[1] = place.term_frequency;
        return open_list_in_memory(reader, &one[0], &one[1], 1);
    }
    auto *list = allocate<ListCursor>(1);
    memset(list, 0, offsetof(ListCursor, ordinals));
    list->reader = reader;
    list->documents = static_cast<uint32>(place.documents);
    list->blocks = block_count(list->documents);
    list->start = place.start;
    list->data_bytes = place.bytes;
    list->page = &reader->posting_pages[reader->lists_opened++ % kPostingPages];
    list->block = kNoBlock;
    list->is_short = list->blocks == 1;
    list->heads = allocate_zeroed<postings::BlockHead>(list->blocks + 1);
    if (list->is_short) {
        uint8 head[kShortListHead] = {};
        if (list->data_bytes < kShortListHead)
            report_list(list);
        if (!copy_bytes(list, 0, sizeof(head), head))
            list->blocks = 0;
        list->heads[0] = {UINT32_MAX, kShortListHead, 0, head[0], head[1]};
        // Where it ends is known once it is read.
        if (load_block(list, 0))
            list->heads[0].last = list->ordinals[list->count - 1];
        return list;
    }
    const uint64 head_bytes = list->blocks * sizeof(postings::BlockHead);
    if (list->data_bytes < head_bytes)
        report_list(list);
    list->data_bytes -= head_bytes;
    if (!copy_bytes(list, list->data_bytes, head_bytes, list->heads))
        list->blocks = 0;
    for (uint32 i = 0; i < list->blocks; i++) {
        const postings::BlockHead &head = list->heads[i];
        if (head.last >= reader->run.entries || head.offset > list->data_bytes ||
            (i > 0 && (head.last <= list->heads[i - 1].last || head.offset < list->heads[i - 1].offset)))
            report_list(list);
    }
    return list;
}

void close_list(ListCursor *list) {
    pfree(list->heads);
    pfree(list);
}

static void pad_ordinals(ListCursor *list) {
    std::fill(list->ordinals + list->count, list->ordinals + postings::kBlockPostings, UINT32_MAX);
}

static void load_memory_block(ListCursor *list, uint32 block) {
    const uint32 first = block * postings::kBlockPostings;
    list->count = Min(list->documents - first, postings::kBlockPostings);
    memcpy(list->ordinals, list->memory_ordinals + first, list->count * sizeof(uint32));
}

bool load_block(ListCursor *list, uint32 block) {
    if (block != kNoBlock && block == list->block) {
        list->at = 0;
        return true;
    }
    list->block = Min(block, list->blocks);
    list->at = 0;
    list->count = 0;
    if (block >= list->blocks)
        return false;
    if (list->memory_ordinals != nullptr) {
        load_memory_block(list, block);
        pad_ordinals(list);
        return true;
    }
    const postings::BlockHead &head = list->heads[block];
    const uint64 end = block + 1 < list->blocks ? list->heads[block + 1].offset : list->data_bytes;
    const uint64 length = end - head.offset;
    const uint32 count = Min(list->documents - block * postings::kBlockPostings, postings::kBlockPostings);
    const uint32 frequency_bytes = postings::packed_bytes(count, head.frequency_bits);
    if (end < head.offset || length > postings::kMostBlockBytes || head.frequency_bits > 32 ||
        frequency_bytes > length)
        report_list(list);
    if (!copy_bytes(list, head.offset, length, list->bytes)) {
        list->block = list->blocks;
        return false;
    }
    list->frequency_offset = static_cast<uint32>(length) - frequency_bytes;
    const uint64 first = block == 0 ? 0 : uint64{list->heads[block - 1].last} + 1;
    if (!postings::decode_gaps(static_cast<postings::Codec>(list->reader->header.codec), list->bytes,
                               list->frequency_offset, count, head.parameter, list->ordinals) ||
        !postings::add_gaps(list->ordinals, count, first) ||
        list->ordinals[count - 1] >= list->reader->run.entries ||
        (!list->is_short && list->ordinals[count - 1] != head.last))
        report_list(list);
    list->count = count;
    pad_ordinals(list);
    return true;
}

uint32 find_block(const ListCursor *list, uint32 block, uint32 ordinal) {
    // Near blocks first: callers move forward by little mostly.
    uint32 step = 1;
    uint32 low = block;
    while (low < list->blocks && list->heads[low].last < ordinal) {
        block = low + 1;
        low += step;
        step *= 2;
    }
    const uint32 high = Min(low, list->blocks);
    const postings::BlockHead *found =
        std::lower_bound(list->heads + block, list->heads + high, ordinal,
                         [](const postings::BlockHead &head, uint32 wanted) { return head.last < wanted; });
    return static_cast<uint32>(found - list->heads);
}

static constexpr uint32 kNearPostings = 8;

bool seek_ordinal(ListCursor *list, uint32 ordinal) {
    if (list->block == kNoBlock || (list->block < list->blocks && list->heads[list->block].last < ordinal)) {
        if (!load_block(list, find_block(list, list->block == kNoBlock ? 0 : list->block, ordinal)))
            return false;
    } else if (at_end(list)) {
        return false;
    }
    // The next ones first: callers move forward by little mostly.
    const uint32 *at = list->ordinals + list->at;
    const uint32 *end = list->ordinals + list->count;
    for (const uint32 *near = Min(at + kNearPostings, end); at < near; at++)
        if (*at >= ordinal)
            break;
    if (at < end && *at < ordinal)
        at = std::lower_bound(at, end, ordinal);
    list->at = static_cast<uint32>(at - list->ordinals);
    return true;
}

}  // namespace pg_gpu::text
