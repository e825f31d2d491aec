#include "grid/page_writer.h"

#include "progress.h"

namespace pg_gpu::grid {

static constexpr uint32 kMaxRows = storage::kMaxTidsPerPage;
static constexpr uint32 kPagesBetweenReports = 16;

void reset_bounds(const Format &format, uint64 *low, uint64 *high) {
    for (int i = 0; i < format.array_count; i++) {
        low[i] = PG_UINT64_MAX;
        high[i] = 0;
    }
}

void widen_bounds(const Format &format, const uint64 *rows, uint32 count, uint64 *low, uint64 *high) {
    const auto widen = [low, high](int array, uint64 value) {
        low[array] = Min(low[array], value);
        high[array] = Max(high[array], value);
    };
    for (uint32 i = 0; i < count; i++, rows += format.row_words) {
        const NullMask nulls = place_nulls(rows[0]);
        widen(kBlockArray, place_block(rows[0]));
        widen(kOffsetArray, place_offset(rows[0]));
        widen(kNullArray, nulls);
        for (int lane = 0; lane < format.lane_count; lane++)
            if (likely(nulls == 0) || !((nulls >> format.lanes[lane].column) & 1))
                widen(kFirstLaneArray + lane, rows[1 + lane]);
    }
}

static int width_between(uint64 low, uint64 high) {
    return low > high ? 0 : packed_width(high - low);
}

uint32 packed_bytes(const Format &format, uint32 count, const uint64 *low, const uint64 *high) {
    uint32 bytes = head_bytes(format.array_count);
    for (int i = 0; i < format.array_count; i++)
        bytes += array_bytes(count, width_between(low[i], high[i]));
    return bytes;
}

// Packs an array; `value_of` gives a row's value less the base.
template <typename ValueOf>
static void pack_array(uint32 count, int width, char *array, ValueOf value_of) {
    if (width == 0)
        return;
    uint64 word = 0;
    int filled = 0;
    for (uint32 i = 0; i < count; i++) {
        const uint64 value = value_of(i);
        word |= value << filled;
        filled += width;
        if (filled >= 64) {
            memcpy(array, &word, sizeof(word));
            array += sizeof(word);
            filled -= 64;
            word = filled > 0 ? value >> (width - filled) : 0;
        }
    }
    if (filled > 0)
        memcpy(array, &word, sizeof(word));
}

uint32 pack_rows(const Format &format, const uint64 *rows, uint32 count, uint64 first, const uint64 *low,
                 const uint64 *high, char *content) {
    const EntryPageHead head = {first, static_cast<uint16>(count), static_cast<uint16>(format.array_count),
                                0};
    const int words = format.row_words;
    memcpy(content, &head, sizeof(head));
    char *bases = content + sizeof(head);
    char *widths = bases + format.array_count * static_cast<int>(sizeof(uint64));
    memset(widths, 0, round_up_8(static_cast<uint32>(format.array_count)));
    uint32 at = head_bytes(format.array_count);
    for (int i = 0; i < format.array_count; i++) {
        const uint64 base = low[i] > high[i] ? 0 : low[i];
        const int width = width_between(low[i], high[i]);
        memcpy(bases + i * static_cast<int>(sizeof(uint64)), &base, sizeof(base));
        widths[i] = static_cast<char>(width);
        char *array = content + at;
        switch (i) {
            case kBlockArray:
                pack_array(count, width, array,
                           [=](uint32 row) { return place_block(rows[row * words]) - base; });
                break;
            case kOffsetArray:
                pack_array(count, width, array,
                           [=](uint32 row) { return place_offset(rows[row * words]) - base; });
                break;
            case kNullArray:
                pack_array(count, width, array,
                           [=](uint32 row) { return place_nulls(rows[row * words]) - base; });
                break;
            default: {
                const uint64 *lane = rows + 1 + i - kFirstLaneArray;
                if (high[kNullArray] == 0) {
                    pack_array(count, width, array, [=](uint32 row) { return lane[row * words] - base; });
                    break;
                }
                const int column = format.lanes[i - kFirstLaneArray].column;
                pack_array(count, width, array, [=](uint32 row) {
                    return (rows[row * words] >> column) & 1 ? 0 : lane[row * words] - base;
                });
            }
        }
        at += array_bytes(count, width);
    }
    return at;
}

void begin_pages(PageWriter *pages, const Format *format, storage::RunWriter *writer) {
    pages->pending.format = format;
    pages->pending.rows = allocate<uint64>(size_t{kMaxRows} * static_cast<size_t>(format->row_words));
    pages->pending.count = 0;
    reset_bounds(*format, pages->pending.low, pages->pending.high);
    pages->writer = writer;
    pages->flushed = 0;
    pages->pages = 0;
    reset_bounds(*format, pages->low, pages->high);
}

static void flush_page(PageWriter *pages) {
    PackedRows *pending = &pages->pending;
    const Format &format = *pending->format;
    Page page = storage::next_run_page(pages->writer);
    storage::set_content_length(page, pack_rows(format, pending->rows, pending->count, pages->flushed,
                                                pending->low, pending->high, storage::page_content(page)));
    for (int i = 0; i < format.array_count; i++) {
        pages->low[i] = Min(pages->low[i], pending->low[i]);
        pages->high[i] = Max(pages->high[i], pending->high[i]);
    }
    pages->flushed += pending->count;
    pages->pages++;
    if (pages->pages % kPagesBetweenReports == 0)
        set_progress(pages->flushed);
    pending->count = 0;
    reset_bounds(format, pending->low, pending->high);
}

// Adds the rows if the page holds them too.
static bool take_rows(PackedRows *pending, const uint64 *rows, uint32 count) {
    const Format &format = *pending->format;
    if (pending->count + count > kMaxRows)
        return false;
    uint64 low[kMaxArrays];
    uint64 high[kMaxArrays];
    memcpy(low, pending->low, sizeof(low));
    memcpy(high, pending->high, sizeof(high));
    widen_bounds(format, rows, count, low, high);
    if (packed_bytes(format, pending->count + count, low, high) > storage::kContentBytes)
        return false;
    memcpy(pending->low, low, sizeof(low));
    memcpy(pending->high, high, sizeof(high));
    memcpy(pending->rows + size_t{pending->count} * static_cast<size_t>(format.row_words), rows,
           size_t{count} * static_cast<size_t>(format.row_words) * sizeof(uint64));
    pending->count += count;
    return true;
}

void add_rows(PageWriter *pages, const uint64 *rows, uint64 count) {
    constexpr uint32 kStep = 32;
    const auto words = static_cast<size_t>(pages->pending.format->row_words);
    while (count > 0) {
        auto step = static_cast<uint32>(Min(count, uint64{kStep}));
        while (!take_rows(&pages->pending, rows, step)) {
            if (step > 1)
                step /= 2;
            else
                flush_page(pages);
        }
        rows += step * words;
        count -= step;
    }
}

void finish_pages(PageWriter *pages) {
    if (pages->pending.count > 0)
        flush_page(pages);
    pfree(pages->pending.rows);
}

}  // namespace pg_gpu::grid
