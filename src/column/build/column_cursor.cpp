#include "column/build/column_cursor.h"

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
    uint64 first_row;  // first of the rows in hand
    TidCursor tids;
    uint64 span_places[MaxHeapTuplesPerPage];
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
        if (!next_span(&cursor->tids)) {
            if (cursor->input->reader->stale)
                report_stale(cursor->input->reader);
            return false;
        }
        OffsetNumber offsets[MaxHeapTuplesPerPage];
        cursor->count = span_offsets(&cursor->tids, offsets);
        for (uint64 i = 0; i < cursor->count; i++)
            cursor->span_places[i] = uint64{cursor->tids.block} << 16 | offsets[i];
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
    cursor->places = cursor->span_places;
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

void begin_column_cursor(ColumnCursor *column_cursor, const Input &input, int column) {
    *column_cursor = {};
    if (input.chunk != nullptr) {
        const ChunkColumn &from = input.chunk->column[column];
        column_cursor->numbers = from.raw ? nullptr : from.numbers;
        column_cursor->values = from.raw ? from.values : nullptr;
        column_cursor->end = input.chunk->rows;
        return;
    }
    column_cursor->from_run = true;
    const ColumnHeader &header = input.reader->header.column[column];
    const uint64 rows = input.reader->run.entries;
    if (is_dictionary(header)) {
        begin_codes(&column_cursor->number_cursor, input.reader, header.codes, header.bits, rows, true);
        column_cursor->numbers = column_cursor->number_cursor.values;
    } else {
        begin_codes(&column_cursor->value_cursor, input.reader, header.codes, header.bits, rows, true);
        column_cursor->values = column_cursor->value_cursor.values;
        column_cursor->base = header.base;
    }
}

static uint32 read_on(ColumnCursor *column_cursor) {
    const uint32 groups = column_cursor->numbers != nullptr ? next_groups(&column_cursor->number_cursor)
                                                            : next_groups(&column_cursor->value_cursor);
    if (groups == 0)
        report_stale(column_cursor->numbers != nullptr ? column_cursor->number_cursor.reader
                                                       : column_cursor->value_cursor.reader);
    return groups;
}

uint32 seek_column_cursor(ColumnCursor *column_cursor, uint64 row, uint32 wanted) {
    while (row >= column_cursor->end) {
        const uint32 groups = read_on(column_cursor);
        column_cursor->start = column_cursor->end;
        column_cursor->end += uint64{groups} * kGroup;
    }
    column_cursor->at = row - column_cursor->start;
    return static_cast<uint32>(Min(uint64{wanted}, column_cursor->end - row));
}

void end_column_cursor(ColumnCursor *column_cursor) {
    if (!column_cursor->from_run)
        return;
    if (column_cursor->numbers != nullptr)
        end_codes(&column_cursor->number_cursor);
    else
        end_codes(&column_cursor->value_cursor);
}

}  // namespace pg_gpu::column
