#include "column/format/reader.h"

#include "column/format/packing.h"
#include "column/format/scaled_numeric.h"
#include "temporary_file.h"
#include "varint.h"

namespace pg_gpu::column {

void report_damage(const RunReader *reader, int section, const char *detail) {
    storage::report_corruption(
        reader->index, storage::run_block(reader->run, reader->run.sections[section].first_page), detail);
}

static uint32 copy_content(const char *page, uint32 offset, uint32 bytes, void *content) {
    const uint32 length = Min(storage::content_length(const_cast<char *>(page)), storage::kContentBytes);
    const uint32 copied = offset < length ? Min(bytes, length - offset) : 0;
    memcpy(content, page + storage::kContentStart + offset, copied);
    return copied;
}

bool read_page(RunReader *reader, uint32 position, uint32 offset, uint32 bytes, void *content,
               uint32 *copied) {
    *copied = 0;
    if (reader->stale)
        return false;
    if (reader->file != nullptr) {
        PGAlignedBlock image;
        seek_file_block(reader->file, position, reader->index);
        read_file(reader->file, image.data, BLCKSZ, reader->index);
        *copied = copy_content(image.data, offset, bytes, content);
        return true;
    }
    const storage::RunPage page =
        storage::read_run_page(reader->index, reader->run, position, nullptr, &reader->nearby);
    if (page.page == nullptr) {
        reader->stale = true;
        reader->stale_position = position;
        return false;
    }
    *copied = copy_content(static_cast<char *>(page.page), offset, bytes, content);
    storage::release_run_page(page);
    return true;
}

static bool is_area_within(const RunReader *reader, const Area &area, uint64 words) {
    const uint64 total = stream_words(reader->run);
    return area.words == words && area.first_word <= total && area.words <= total - area.first_word;
}

static bool is_column_valid(const RunReader *reader, const ColumnType &type, const ColumnHeader &column) {
    const uint64 groups = groups_of(reader->run.entries);
    if (column.bits > 64 || column.entry_bits > 64 || column.nulls > reader->run.entries ||
        !is_area_within(reader, column.codes, groups * column.bits) ||
        !is_area_within(reader, column.null_bits, column.nulls > 0 ? groups : 0))
        return false;
    if (is_scaled(column))
        return type.base_type == NUMERICOID && column.scale <= kMaxScaledDigits &&
               column.bits >= kLeastScaledBits && column.base <= column.highest;
    if (column.scale != 0)
        return false;
    if (!is_dictionary(column))
        return type.is_integer && (column.encoding == static_cast<uint8>(Encoding::Frame) ||
                                   column.encoding == static_cast<uint8>(Encoding::Plain));
    if (column.distinct > reader->run.entries || column.bits != bits_for_entries(column.distinct))
        return false;
    if (type.is_integer)
        return is_area_within(reader, column.dictionary, groups_of(column.distinct) * column.entry_bits);
    return is_area_within(reader, column.dictionary, (column.dictionary_bytes + 7) / 8) &&
           is_area_within(reader, column.blocks, (column.distinct + kDictionaryBlock - 1) / kDictionaryBlock);
}

static void read_header(RunReader *reader, const Format &format) {
    const int columns = format.columns;
    uint32 length;
    if (!read_page(reader, reader->run.sections[kHeaderSection].first_page, 0, sizeof(RunHeader),
                   &reader->header, &length))
        return;
    bool valid = reader->header.entries == reader->run.entries &&
                 reader->header.columns == static_cast<uint32>(columns) &&
                 length >= offsetof(RunHeader, column) + static_cast<uint32>(columns) * sizeof(ColumnHeader);
    for (int i = 0; valid && i < columns; i++)
        valid = is_column_valid(reader, format.types[i], reader->header.column[i]);
    if (!valid)
        report_damage(reader, kHeaderSection, "The header of a run is damaged.");
}

void open_header(RunReader *reader, Relation index, const storage::RunEntry &run, const Format &format) {
    *reader = {};
    reader->index = index;
    reader->run = run;
    read_header(reader, format);
}

void open_reader(RunReader *reader, Relation index, const storage::RunEntry &run, const Format &format) {
    open_header(reader, index, run, format);
    read_dead(reader);
}

void read_dead(RunReader *reader) {
    const storage::RunEntry &run = reader->run;
    if (run.dead == 0 || reader->stale)
        return;
    reader->dead = allocate<uint64>((run.entries + 63) / 64);
    if (!storage::read_dead_bits(reader->index, run, 0, static_cast<uint32>(run.entries), reader->dead)) {
        reader->stale = true;
        reader->stale_position = run.sections[storage::kDeadBitmapSection].first_page;
    }
}

void open_file_reader(RunReader *reader, Relation index, const storage::RunEntry &run, BufFile *file,
                      const Format &format) {
    *reader = {};
    reader->index = index;
    reader->run = run;
    reader->file = file;
    read_header(reader, format);
}

void read_words(RunReader *reader, uint64 first, uint64 count, uint64 *words) {
    while (count > 0) {
        const auto page = static_cast<uint32>(first / kWordsPerPage);
        const auto at = static_cast<uint32>(first % kWordsPerPage);
        const auto take = static_cast<uint32>(Min(count, uint64{kWordsPerPage - at}));
        const auto bytes = static_cast<uint32>(take * sizeof(uint64));
        uint32 copied;
        if (!read_page(reader, reader->run.sections[kStreamSection].first_page + page,
                       static_cast<uint32>(at * sizeof(uint64)), bytes, words, &copied)) {
            memset(words, 0, count * sizeof(uint64));
            return;
        }
        if (unlikely(copied < bytes))
            report_damage(reader, kStreamSection, "A page of a column is shorter than its values.");
        words += take;
        first += take;
        count -= take;
    }
}

// ---- TIDs -------------------------------------------------------------------------------------------------

static constexpr uint32 kHeadWords = sizeof(TidPageHead) / sizeof(uint64);

static const TidSpan *spans_of(const uint64 *content) {
    return reinterpret_cast<const TidSpan *>(content + kHeadWords);
}

static uint32 bitmap_words(const TidSpan &span) {
    return (span.first & kBitmapFlag) != 0 ? span.first & ~uint32{kBitmapFlag} : 0;
}

const char *find_tid_page_problem(const uint64 *content, uint32 words) {
    static const char *const problem = "A page of TIDs is damaged.";
    if (words < kHeadWords)
        return problem;
    const auto *head = reinterpret_cast<const TidPageHead *>(content);
    if (head->spans > words - kHeadWords || head->entries > kMaxTidsOnPage)
        return problem;
    uint32 word = kHeadWords + head->spans;
    uint64 entries = 0;
    for (uint32 i = 0; i < head->spans; i++) {
        const TidSpan &span = spans_of(content)[i];
        if (span.count == 0 || span.count > MaxHeapTuplesPerPage)
            return problem;
        if ((span.first & kBitmapFlag) == 0) {
            if (span.first == 0 || span.first + span.count - 1U > MaxHeapTuplesPerPage)
                return problem;
        } else {
            const uint32 here = bitmap_words(span);
            if (here > kMaxBitmapWords || here > words - word)
                return problem;
            int bits = 0;
            for (uint32 j = 0; j < here; j++)
                bits += __builtin_popcountll(content[word + j]);
            if (bits != span.count)
                return problem;
            word += here;
        }
        entries += span.count;
    }
    return entries == head->entries ? nullptr : problem;
}

uint32 read_page_tids(const uint64 *content, ItemPointerData *tids) {
    const auto *head = reinterpret_cast<const TidPageHead *>(content);
    uint32 word = kHeadWords + head->spans;
    uint32 count = 0;
    for (uint32 i = 0; i < head->spans; i++) {
        const TidSpan &span = spans_of(content)[i];
        if ((span.first & kBitmapFlag) == 0) {
            for (uint32 j = 0; j < span.count; j++, count++)
                ItemPointerSet(&tids[count], span.block, static_cast<OffsetNumber>(span.first + j));
            continue;
        }
        for (uint32 j = 0; j < bitmap_words(span); j++, word++)
            for (uint64 bits = content[word]; bits != 0; bits &= bits - 1, count++)
                ItemPointerSet(
                    &tids[count], span.block,
                    static_cast<OffsetNumber>(j * 64 + static_cast<uint32>(__builtin_ctzll(bits)) + 1));
    }
    return count;
}

void begin_tid_cursor(TidCursor *cursor, RunReader *reader) {
    *cursor = {};
    cursor->reader = reader;
    cursor->content = allocate<uint64>(kWordsPerPage);
}

static bool read_tid_page(TidCursor *cursor) {
    RunReader *reader = cursor->reader;
    const storage::Section &section = reader->run.sections[kTidSection];
    if (cursor->page == section.pages) {
        if (cursor->next_ordinal != reader->run.entries)
            report_damage(reader, kTidSection, "A run has fewer TIDs than entries.");
        return false;
    }
    uint32 length;
    if (!read_page(reader, section.first_page + cursor->page, 0, storage::kContentBytes, cursor->content,
                   &length))
        return false;
    cursor->content_words = length / sizeof(uint64);
    const char *problem = find_tid_page_problem(cursor->content, cursor->content_words);
    if (problem == nullptr) {
        memcpy(&cursor->head, cursor->content, sizeof(TidPageHead));
        if (cursor->head.first != cursor->next_ordinal ||
            cursor->head.entries > reader->run.entries - cursor->next_ordinal)
            problem = "A page of TIDs does not continue the one before.";
    }
    if (problem != nullptr)
        storage::report_corruption(
            reader->index, storage::run_block(reader->run, section.first_page + cursor->page), problem);
    cursor->page++;
    cursor->at = 0;
    cursor->word = kHeadWords + cursor->head.spans;
    return true;
}

bool next_span(TidCursor *cursor) {
    while (cursor->at == cursor->head.spans) {
        CHECK_FOR_INTERRUPTS();
        if (!read_tid_page(cursor))
            return false;
    }
    const TidSpan &span = spans_of(cursor->content)[cursor->at++];
    cursor->ordinal = cursor->next_ordinal;
    cursor->block = span.block;
    cursor->count = span.count;
    cursor->first = span.first;
    cursor->bitmap = nullptr;
    uint32 last = span.first + span.count - 1U;
    if ((span.first & kBitmapFlag) != 0) {
        cursor->bitmap = cursor->content + cursor->word;
        cursor->first = static_cast<OffsetNumber>(bitmap_words(span));
        cursor->word += cursor->first;
        last = cursor->first * 64U;
        for (uint32 i = cursor->first; i > 0; i--, last -= 64)
            if (cursor->bitmap[i - 1] != 0) {
                last -= static_cast<uint32>(__builtin_clzll(cursor->bitmap[i - 1]));
                break;
            }
    }
    if (unlikely(last > MaxHeapTuplesPerPage))
        report_damage(cursor->reader, kTidSection, "An entry's TID can't be a row's.");
    cursor->next_ordinal += span.count;
    return true;
}

// Passes over pages that end before an entry. False when stale.
static bool skip_tid_pages(TidCursor *cursor, uint64 ordinal) {
    RunReader *reader = cursor->reader;
    const storage::Section &section = reader->run.sections[kTidSection];
    uint32 low = cursor->page;
    uint64 first = cursor->head.first + cursor->head.entries;
    for (uint32 high = section.pages; low + 1 < high;) {
        const uint32 middle = low + (high - low) / 2;
        TidPageHead head = {};
        uint32 length;
        if (!read_page(reader, section.first_page + middle, 0, sizeof(head), &head, &length))
            return false;
        if (head.first > ordinal) {
            high = middle;
        } else {
            low = middle;
            first = head.first;
        }
    }
    cursor->page = low;
    cursor->next_ordinal = first;
    return true;
}

bool find_span(TidCursor *cursor, uint64 ordinal) {
    while (cursor->next_ordinal <= ordinal) {
        if (cursor->head.first + cursor->head.entries <= ordinal) {
            cursor->at = cursor->head.spans;
            if (!skip_tid_pages(cursor, ordinal))
                return false;
        }
        if (!next_span(cursor))
            return false;
    }
    return true;
}

// ---- columns ----------------------------------------------------------------------------------------------

template <typename Value>
void begin_codes(CodeCursor<Value> *cursor, RunReader *reader, const Area &area, uint32 bits, uint64 values,
                 bool few) {
    const uint64 groups = groups_of(values);
    const uint64 room = few ? Min(groups, uint64{kBatchGroups}) + 1 : kBatchGroups;
    *cursor = {reader,
               area,
               bits,
               groups,
               0,
               allocate<uint64>(room * Max(bits, 1U) + 1),
               allocate<Value>(room * kGroup)};
}

template <typename Value>
uint32 next_packed_groups(CodeCursor<Value> *cursor) {
    const auto groups = static_cast<uint32>(Min(cursor->groups - cursor->group, uint64{kBatchGroups}));
    if (groups == 0 || cursor->reader->stale)
        return 0;
    CHECK_FOR_INTERRUPTS();
    read_words(cursor->reader, cursor->area.first_word + cursor->group * cursor->bits,
               uint64{groups} * cursor->bits, cursor->words);
    if (cursor->reader->stale)
        return 0;
    cursor->group += groups;
    return groups;
}

template <typename Value>
uint32 next_groups(CodeCursor<Value> *cursor) {
    const uint32 groups = next_packed_groups(cursor);
    if (groups > 0)
        unpack(cursor->bits, cursor->words, groups, cursor->values);
    return groups;
}

template void begin_codes(CodeCursor<uint32> *, RunReader *, const Area &, uint32, uint64, bool);
template void begin_codes(CodeCursor<uint64> *, RunReader *, const Area &, uint32, uint64, bool);
template uint32 next_packed_groups(CodeCursor<uint32> *);
template uint32 next_packed_groups(CodeCursor<uint64> *);
template uint32 next_groups(CodeCursor<uint32> *);
template uint32 next_groups(CodeCursor<uint64> *);

uint64 *read_null_bits(RunReader *reader, int column) {
    const Area &area = reader->header.column[column].null_bits;
    if (area.words == 0)
        return nullptr;
    auto *bits = allocate<uint64>(area.words);
    read_words(reader, area.first_word, area.words, bits);
    return bits;
}

uint64 *read_integer_dictionary(RunReader *reader, int column) {
    const ColumnHeader &header = reader->header.column[column];
    const uint64 room = Max(UINT64CONST(1) << header.bits, groups_of(header.distinct) * kGroup);
    auto *entries = allocate_zeroed<uint64>(room);
    CodeCursor<uint64> cursor;
    begin_codes(&cursor, reader, header.dictionary, header.entry_bits, header.distinct, true);
    uint64 at = 0;
    while (const uint32 groups = next_groups(&cursor))
        for (uint32 i = 0; i < groups * kGroup && at < header.distinct; i++)
            entries[at++] = cursor.values[i] + header.base;
    end_codes(&cursor);
    return entries;
}

// ---- dictionaries of strings ------------------------------------------------------------------------------

static constexpr size_t kWindow = 32 * 1024;

void begin_strings(StringCursor *cursor, RunReader *reader, int column) {
    *cursor = {};
    cursor->reader = reader;
    cursor->column = &reader->header.column[column];
    cursor->left = cursor->column->distinct;
    // Up to a word of it lies before the place that is wanted.
    cursor->window_room = Min(kWindow, cursor->column->dictionary_bytes) + 2 * sizeof(uint64);
    cursor->window = allocate<char>(cursor->window_room);
}

void end_strings(StringCursor *cursor) {
    if (cursor->window != nullptr)
        pfree(cursor->window);
    if (cursor->entry != nullptr)
        pfree(cursor->entry);
    *cursor = {};
}

// Makes the window hold `wanted` bytes from the current place on, or all there are.
static void fill_window(StringCursor *cursor, size_t wanted) {
    const uint64 total = cursor->column->dictionary_bytes;
    uint64 start = cursor->next - (cursor->filled - cursor->at);
    const uint64 end = Min(start + Max(wanted, kWindow), total);
    const uint64 skip = start % sizeof(uint64);
    const uint64 first_word = start / sizeof(uint64);
    const uint64 words = (end + sizeof(uint64) - 1) / sizeof(uint64) - first_word;
    if (words * sizeof(uint64) > cursor->window_room) {
        pfree(cursor->window);
        cursor->window_room = words * sizeof(uint64);
        cursor->window = allocate<char>(cursor->window_room);
    }
    CHECK_FOR_INTERRUPTS();
    read_words(cursor->reader, cursor->column->dictionary.first_word + first_word, words,
               reinterpret_cast<uint64 *>(cursor->window));
    cursor->at = skip;
    cursor->filled = end - first_word * sizeof(uint64);
    cursor->next = end;
}

static constexpr size_t kMaxHeadBytes = 20;

bool next_string(StringCursor *cursor) {
    if (cursor->left == 0 || cursor->reader->stale)
        return false;
    if (cursor->filled - cursor->at < kMaxHeadBytes && cursor->next < cursor->column->dictionary_bytes)
        fill_window(cursor, kWindow);
    const auto *start = reinterpret_cast<const uint8 *>(cursor->window + cursor->at);
    const auto *end = reinterpret_cast<const uint8 *>(cursor->window + cursor->filled);
    uint64 shared = 0;
    uint64 suffix = 0;
    const uint8 *at = read_varint(start, end, &shared);
    if (at != nullptr)
        at = read_varint(at, end, &suffix);
    const uint64 rest = cursor->column->dictionary_bytes - cursor->next + (cursor->filled - cursor->at);
    if (cursor->reader->stale)
        return false;
    if (at == nullptr || shared > cursor->value.length || suffix > rest || shared + suffix > MaxAllocHugeSize)
        report_damage(cursor->reader, kStreamSection, "A dictionary of strings is damaged.");
    cursor->at += static_cast<size_t>(at - start);
    if (suffix > cursor->filled - cursor->at)
        fill_window(cursor, suffix);
    if (suffix > cursor->filled - cursor->at)
        report_damage(cursor->reader, kStreamSection, "A dictionary of strings is damaged.");
    const size_t length = shared + suffix;
    if (length > cursor->entry_room || cursor->entry == nullptr) {
        cursor->entry_room = Max(length * 2, size_t{256});
        cursor->entry = cursor->entry == nullptr ? allocate<char>(cursor->entry_room)
                                                 : reallocate(cursor->entry, cursor->entry_room);
    }
    memcpy(cursor->entry + shared, cursor->window + cursor->at, suffix);
    cursor->at += suffix;
    cursor->ordinal = cursor->column->distinct - cursor->left;
    cursor->left--;
    cursor->value = {cursor->entry, length};
    return !cursor->reader->stale;
}

}  // namespace pg_gpu::column
