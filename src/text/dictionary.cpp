// A run's dictionary consists of fences, restarts and entries.
#include "text/positions.h"
#include "text/reader.h"

namespace pg_gpu::text {

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
        if (in == nullptr || more > kMaxLexemeBytes)
            return nullptr;
        head->shared += more;
    }
    if (head->suffix_length == 15) {
        in = read_varint(in, end, &more);
        if (in == nullptr || more > kMaxLexemeBytes)
            return nullptr;
        head->suffix_length += more;
    }
    head->suffix = in;
    if (head->suffix_length > static_cast<uint64>(end - in) ||
        head->shared + head->suffix_length > kMaxLexemeBytes)
        return nullptr;
    return in + head->suffix_length;
}

// Share-locks a page of the dictionary, before its first entry. Returns nullptr, with the cursor at its end,
// when there is none or it is stale. The caller calls unlock_page.
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

// Reads what the entry of a single posting says of its positions; nullptr where that is damaged.
static const uint8 *read_single_positions(DictionaryCursor *cursor, const uint8 *in, const uint8 *end,
                                          uint64 frequency) {
    cursor->inline_positions = in;
    cursor->inline_position_bytes = 0;
    if (in < end && *in == kPositionsElsewhere)
        return read_varint(in + 1, end, &cursor->position_place);
    const uint8 *behind =
        frequency > MAXNUMPOS ? nullptr : skip_positions(in, end, static_cast<uint32>(frequency));
    if (behind == nullptr || behind - in > kInlinePositionBytes)
        return nullptr;
    cursor->inline_position_bytes = static_cast<uint32>(behind - in);
    return behind;
}

ListPlace encode_tid(const DictionaryCursor *dictionary) {
    ListPlace place = {};
    place.documents = dictionary->frequency;
    place.start = dictionary->list_start;
    place.bytes = dictionary->list_bytes;
    place.ordinal = dictionary->ordinal;
    place.term_frequency = dictionary->term_frequency;
    if (!dictionary->reader->has_positions)
        return place;
    if (place.documents > 1) {
        const uint32 behind = position_index_bytes(place.documents);
        if (place.bytes < behind)
            report_dictionary(dictionary);
        place.bytes -= behind;
        return place;
    }
    place.position_place = dictionary->position_place;
    place.inline_position_bytes = dictionary->inline_position_bytes;
    memcpy(place.inline_positions, dictionary->inline_positions, place.inline_position_bytes);
    return place;
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
    if (in != nullptr && cursor->frequency == 1 && reader->has_positions)
        in = read_single_positions(cursor, in, end, second);
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
    advance(cursor, kMaxLexemeBytes);
}

void begin_dictionary(DictionaryCursor *cursor, RunReader *reader) {
    cursor->reader = reader;
    cursor->end = false;
    load_dictionary_page(cursor, 1);
    next_entry(cursor);
}

// Says whether the first lexeme of the page is above the one that is sought.
static bool begins_above(DictionaryCursor *cursor, uint32 page, const char *lexeme, uint32 length) {
    RunReader *reader = cursor->reader;
    Page locked = lock_page(reader, &reader->dictionary_page,
                            reader->run.sections[kDictionarySection].first_page + page);
    if (locked == nullptr)
        return true;
    const auto *content = reinterpret_cast<const uint8 *>(storage::page_content(locked));
    const uint32 content_length = Min(storage::content_length(locked), storage::kContentBytes);
    EntryHead head;
    const bool valid =
        content_length > sizeof(DictionaryPage) &&
        read_entry_head(content + sizeof(DictionaryPage), content + content_length, &head) != nullptr;
    const bool above = valid && compare_lexemes(reinterpret_cast<const char *>(head.suffix),
                                                static_cast<uint32>(head.suffix_length), lexeme, length) > 0;
    unlock_page(&reader->dictionary_page);
    if (!valid) {
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

// Reads a fence of the header page, which must be locked.
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
        if (common == length)
            return;
        if (common < most && static_cast<uint8>(lexeme[common]) < static_cast<uint8>(cursor->lexeme[common]))
            return;
    }
}

bool find_lexeme(DictionaryCursor *cursor, RunReader *reader, const char *lexeme, uint32 length) {
    seek_lexeme(cursor, reader, lexeme, length);
    return !cursor->end && compare_lexemes(cursor->lexeme, cursor->lexeme_length, lexeme, length) == 0;
}

}  // namespace pg_gpu::text
