#include "column/build/feed.h"

namespace pg_gpu::column {

uint64 input_rows(const Input &input) {
    return input.chunk != nullptr ? input.chunk->rows : input.reader->run.entries;
}

// ---- order ------------------------------------------------------------------------------------------------

namespace {

// An input's places, forward.
struct PlaceCursor {
    const Input *input;
    const uint64 *places;  // in hand
    uint64 count;
    uint64 at;
    uint64 first_row;  // of those in hand
    TidCursor tids;
    uint64 stretch_places[MaxHeapTuplesPerPage];
};

}  // namespace

// Goes to the next row that isn't dropped; false at the end.
static bool settle(PlaceCursor *cursor) {
    for (;;) {
        while (cursor->at < cursor->count && is_dropped(*cursor->input, cursor->first_row + cursor->at))
            cursor->at++;
        if (cursor->at < cursor->count)
            return true;
        if (cursor->input->chunk != nullptr)
            return false;
        if (!next_stretch(&cursor->tids)) {
            if (cursor->input->reader->stale)
                report_stale(cursor->input->reader);
            return false;
        }
        OffsetNumber offsets[MaxHeapTuplesPerPage];
        cursor->count = stretch_offsets(&cursor->tids, offsets);
        for (uint64 i = 0; i < cursor->count; i++)
            cursor->stretch_places[i] = uint64{cursor->tids.block} << 16 | offsets[i];
        cursor->first_row = cursor->tids.ordinal;
        cursor->at = 0;
    }
}

static void begin_places(PlaceCursor *cursor, const Input *input) {
    *cursor = {};
    cursor->input = input;
    if (input->chunk != nullptr) {
        cursor->places = input->chunk->places;
        cursor->count = input->chunk->rows;
        return;
    }
    begin_tid_cursor(&cursor->tids, input->reader);
    cursor->places = cursor->stretch_places;
}

static void add_row_to_order(RowOrder *order, uint32 input, uint64 row) {
    order->rows++;
    if (order->count > 0) {
        Segment *last = &order->segments[order->count - 1];
        if (last->input == input && uint64{last->first} + last->count == row) {
            last->count++;
            return;
        }
    }
    if (order->count == order->room) {
        order->room *= 2;
        order->segments = reallocate(order->segments, order->room);
    }
    order->segments[order->count++] = {input, static_cast<uint32>(row), 1};
}

void merge_places(const Input *inputs, int count, TidWriter *tids, RowOrder *order) {
    *order = {};
    order->room = 1024;
    order->segments = allocate<Segment>(order->room);
    auto *cursors = allocate<PlaceCursor>(count);
    auto *live = allocate<int>(count);
    int live_count = 0;
    for (int i = 0; i < count; i++) {
        begin_places(&cursors[i], &inputs[i]);
        if (settle(&cursors[i]))
            live[live_count++] = i;
    }
    while (live_count > 0) {
        // The least goes on for as long as it is below the others.
        int least = 0;
        uint64 limit = PG_UINT64_MAX;
        for (int i = 1; i < live_count; i++) {
            const uint64 mine = cursors[live[i]].places[cursors[live[i]].at];
            const uint64 best = cursors[live[least]].places[cursors[live[least]].at];
            if (mine < best) {
                limit = Min(limit, best);
                least = i;
            } else {
                limit = Min(limit, mine);
            }
        }
        PlaceCursor *cursor = &cursors[live[least]];
        bool more = true;
        do {
            add_tid(tids, cursor->places[cursor->at]);
            add_row_to_order(order, static_cast<uint32>(live[least]), cursor->first_row + cursor->at);
            cursor->at++;
            more = settle(cursor);
        } while (more && cursor->places[cursor->at] <= limit);
        if (!more)
            live[least] = live[--live_count];
    }
    for (int i = 0; i < count; i++)
        if (inputs[i].chunk == nullptr)
            pfree(cursors[i].tids.content);
    pfree(cursors);
    pfree(live);
}

// ---- codes ------------------------------------------------------------------------------------------------

void begin_feed(Feed *feed, const Input &input, int column) {
    *feed = {};
    if (input.chunk != nullptr) {
        const ChunkColumn &from = input.chunk->column[column];
        feed->numbers = from.raw ? nullptr : from.numbers;
        feed->values = from.raw ? from.values : nullptr;
        feed->end = input.chunk->rows;
        return;
    }
    feed->from_run = true;
    const ColumnHeader &header = input.reader->header.column[column];
    const uint64 rows = input.reader->run.entries;
    if (is_dictionary(header)) {
        begin_codes(&feed->number_cursor, input.reader, header.codes, header.bits, rows, true);
        feed->numbers = feed->number_cursor.values;
    } else {
        begin_codes(&feed->value_cursor, input.reader, header.codes, header.bits, rows, true);
        feed->values = feed->value_cursor.values;
        feed->base = header.base;
    }
}

static uint32 read_on(Feed *feed) {
    const uint32 groups =
        feed->numbers != nullptr ? next_groups(&feed->number_cursor) : next_groups(&feed->value_cursor);
    if (groups == 0)
        report_stale(feed->numbers != nullptr ? feed->number_cursor.reader : feed->value_cursor.reader);
    return groups;
}

uint32 seek_feed(Feed *feed, uint64 row, uint32 wanted) {
    while (row >= feed->end) {
        const uint32 groups = read_on(feed);
        feed->start = feed->end;
        feed->end += uint64{groups} * kGroup;
    }
    feed->at = row - feed->start;
    return static_cast<uint32>(Min(uint64{wanted}, feed->end - row));
}

void end_feed(Feed *feed) {
    if (!feed->from_run)
        return;
    if (feed->numbers != nullptr)
        end_codes(&feed->number_cursor);
    else
        end_codes(&feed->value_cursor);
}

}  // namespace pg_gpu::column
