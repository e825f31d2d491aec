// This file makes the tuples that index-only scans return.
#include "grid/scan.h"

namespace pg_gpu::grid {

// -0 and 0 share a code, and so do all NaNs.
static bool stores_value(const Column &column, const uint64 *row) {
    if (column.key.encoding != Encoding::Float)
        return true;
    const uint64 zero = uint64{1} << (column.key.width - 1);
    for (int i = 0; i < column.lane_count; i++) {
        const uint64 code = row[1 + column.first_lane + i];
        if (code == zero || code == low_mask(column.key.width))
            return false;
    }
    return true;
}

// Expressions would have to be evaluated where codes don't tell the value.
static bool can_fetch(const Form_pg_index index, int column) {
    return AttributeNumberIsValid(index->indkey.values[column]);
}

bool can_return(Relation index, int column) {
    const Format *format = format_of(index);
    const Column &indexed = format->columns[column - 1];
    if ((format->rough >> (column - 1)) & 1)
        return false;
    return indexed.key.encoding != Encoding::Float || can_fetch(index->rd_index, column - 1);
}

static NullMask absent_columns(const Scan &scan, NullMask nulls) {
    const Format &format = *scan.format;
    NullMask absent = static_cast<NullMask>(nulls | format.rough);
    for (int i = 0; i < format.column_count; i++)
        if (format.columns[i].key.encoding == Encoding::Float &&
            !can_fetch(scan.descriptor->indexRelation->rd_index, i))
            absent |= static_cast<NullMask>(1U << i);
    return absent;
}

static void store_column(const Column &column, const uint64 *row, char *place) {
    if (column.is_point) {
        const Point point = point_of(column, row);
        memcpy(place, &point, sizeof(point));
    } else if (column.lane_count == 2) {
        store_code<Key128>(column.key, wide_row_code(column, row), place);
    } else {
        store_code<uint64>(column.key, row_code(column, row), place);
    }
}

// Writes these columns' values as the table has them. The row is visible to the scan's snapshot, so it is
// there.
static void store_fetched(Scan *scan, const uint64 *row, NullMask columns, char *bytes) {
    HeapProbe *probe = &scan->resolver.probe;
    const IndexTupleTemplate &made = scan->tuple;
    TupleTableSlot *slot = fetch_visible(probe, place_tid(row[0]));
    if (slot == nullptr)
        return;
    for (int i = 0; i < scan->format->column_count; i++) {
        if (!((columns >> i) & 1))
            continue;
        const Form_pg_attribute attribute = TupleDescAttr(scan->descriptor->xs_itupdesc, i);
        bool is_null;
        const Datum value =
            slot_getattr(slot, scan->descriptor->indexRelation->rd_index->indkey.values[i], &is_null);
        char *place = bytes + made.offsets[i];
        if (is_null)
            storage::report_corruption(scan->descriptor->indexRelation, storage::kMetaBlock,
                                       "An entry has a value where its row has none.");
        if (attribute->attbyval)
            store_att_byval(place, value, attribute->attlen);
        else
            memcpy(place, DatumGetPointer(value), static_cast<size_t>(attribute->attlen));
    }
    // An idle cursor must keep no heap page pinned.
    ExecClearTuple(slot);
    table_index_fetch_reset(probe->fetch);
}

IndexTuple make_index_tuple(Scan *scan, const uint64 *row) {
    const Format &format = *scan->format;
    IndexTupleTemplate *made = &scan->tuple;
    const NullMask nulls = place_nulls(row[0]);
    if (made->tuple == nullptr || made->nulls != nulls) {
        MemoryContext caller = MemoryContextSwitchTo(scan->context);
        make_tuple_template(scan->descriptor->xs_itupdesc, format.column_count, nulls,
                            absent_columns(*scan, nulls), made);
        MemoryContextSwitchTo(caller);
    }
    char *bytes = reinterpret_cast<char *>(made->tuple);
    NullMask fetched = 0;
    for (int i = 0; i < format.column_count; i++) {
        if ((made->absent >> i) & 1)
            continue;
        store_column(format.columns[i], row, bytes + made->offsets[i]);
        if (unlikely(!stores_value(format.columns[i], row)))
            fetched |= static_cast<NullMask>(1U << i);
    }
    if (unlikely(fetched != 0))
        store_fetched(scan, row, fetched, bytes);
    return made->tuple;
}

}  // namespace pg_gpu::grid
