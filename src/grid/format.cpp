// The columns that can be indexed, and rows to and from their codes.
#include "grid/format.h"

#include "grid/converted.h"
#include "grid/runs.h"

namespace pg_gpu::grid {

static constexpr uint32 kRunKindBase = 0x67720000;  // and a hash of the columns' types

bool finds_roughly(Oid type) {
    return type != POINTOID && is_lossy(encoding_of(type));
}

static bool becomes_point(Oid type) {
    return type == POINTOID || is_converted(type);
}

static int lanes_of(Oid type) {
    return becomes_point(type) || code_of(type).width == 128 ? 2 : 1;
}

int dimensions_of(const Oid *types, int column_count) {
    int count = 0;
    for (int i = 0; i < column_count; i++)
        count += becomes_point(types[i]) ? 2 : 1;
    return count;
}

static void require_few_dimensions(Relation index, int columns, int dimensions) {
    const char *name = RelationGetRelationName(index);
    if (columns <= kMaxColumns && dimensions <= kMaxDimensions)
        return;
    ereport(ERROR,
            (errcode(ERRCODE_TOO_MANY_COLUMNS),
             columns > kMaxColumns ? errmsg("index \"%s\" has %d columns, and gpu_grid takes at most %d",
                                            name, columns, kMaxColumns)
                                   : errmsg("index \"%s\" has %d dimensions, and gpu_grid takes at most %d",
                                            name, dimensions, kMaxDimensions),
             errhint("Leave out columns that are seldom asked for.")));
}

static void require_known_type(Relation index, int column) {
    const Oid type = index->rd_opcintype[column];
    if (!is_converted(type) ||
        OidIsValid(index_getprocid(index, static_cast<AttrNumber>(column + 1), kPointFunction)))
        return;
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("column \"%s\" of index \"%s\" has type %s, which gpu_grid cannot index",
                           NameStr(TupleDescAttr(RelationGetDescr(index), column)->attname),
                           RelationGetRelationName(index), format_type_be(type)),
                    errhint("Use one of the operator classes in schema gpu.")));
}

static void lay_out_columns(const Oid *types, int count, Format *format) {
    format->column_count = count;
    format->all_null = static_cast<NullMask>((1U << count) - 1);
    uint32 byte = sizeof(storage::TailTuple);
    for (int i = 0; i < count; i++) {
        const bool is_point = becomes_point(types[i]);
        const TypeCode code = is_point ? TypeCode{Encoding::Float, 64} : code_of(types[i]);
        Column *column = &format->columns[i];
        column->key.type = types[i];
        column->key.encoding = code.encoding;
        column->key.width = code.width;
        column->first_lane = static_cast<uint8>(format->lane_count);
        column->lane_count = static_cast<uint8>(lanes_of(types[i]));
        column->is_point = is_point;
        for (int j = 0; j < column->lane_count; j++) {
            if (j == 0 || is_point) {
                format->dimension_columns[format->dimension_count] = static_cast<NullMask>(1U << i);
                format->dimension_lanes[format->dimension_count++] = static_cast<uint8>(format->lane_count);
            }
            const auto width = static_cast<uint8>(Min(code.width, 64));
            format->lanes[format->lane_count++] = {static_cast<uint8>(i), width, static_cast<uint8>(byte)};
            byte += width / 8;
        }
    }
    format->tail_nulls = static_cast<uint8>(byte);
    format->tail_tuple_bytes = (byte + 1 + 3) & ~3U;
    format->array_count = kFirstLaneArray + format->lane_count;
    format->row_words = 1 + format->lane_count;
    // A full tail is packed into one page, at the widest, together with its dead bitmap.
    uint32 bits = 32 + 16 + 8;
    for (int i = 0; i < format->lane_count; i++)
        bits += format->lanes[i].width > kWidestPacked ? 64 : format->lanes[i].width;
    const uint32 fixed = head_bytes(format->array_count) + static_cast<uint32>(format->array_count) * 8 + 16;
    const uint32 packed = (storage::kContentBytes - fixed) * 8 / (bits + 1);
    const uint32 fitting = storage::kContentBytes / format->tail_tuple_bytes;
    format->tail_capacity = Min(packed, fitting) * format->tail_tuple_bytes;
    format->id = kRunKindBase | (hash_bytes(reinterpret_cast<const unsigned char *>(types),
                                            count * static_cast<int>(sizeof(Oid))) &
                                 0xffff);
}

namespace {

struct KnownFormat {
    KnownFormat *next;
    Oid types[kMaxColumns];
    Oid functions[kMaxColumns];  // functions that make points of values
    Format format;
};

}  // namespace

static bool is_format_of(const KnownFormat &known, Relation index, int count) {
    if (known.format.column_count != count ||
        memcmp(known.types, index->rd_opcintype, static_cast<size_t>(count) * sizeof(Oid)) != 0)
        return false;
    for (int i = 0; i < count; i++)
        if (known.functions[i] != index_getprocid(index, static_cast<AttrNumber>(i + 1), kPointFunction))
            return false;
    return true;
}

const Format *format_of(Relation index) {
    static KnownFormat *known = nullptr;
    const int count = IndexRelationGetNumberOfKeyAttributes(index);
    const Oid *types = index->rd_opcintype;
    for (const KnownFormat *candidate = known; candidate != nullptr; candidate = candidate->next)
        if (is_format_of(*candidate, index, count))
            return &candidate->format;

    require_few_dimensions(index, count, dimensions_of(types, count));
    for (int i = 0; i < count; i++)
        require_known_type(index, i);
    auto *made = static_cast<KnownFormat *>(MemoryContextAllocZero(TopMemoryContext, sizeof(KnownFormat)));
    memcpy(made->types, types, static_cast<size_t>(count) * sizeof(Oid));
    set_run_callbacks(&made->format);
    lay_out_columns(types, count, &made->format);
    for (int i = 0; i < count; i++) {
        made->functions[i] = index_getprocid(index, static_cast<AttrNumber>(i + 1), kPointFunction);
        if (finds_roughly(types[i]))
            made->format.rough |= static_cast<NullMask>(1U << i);
        if (is_converted(types[i]))
            made->format.columns[i].conversion = make_conversion(index, i);
    }
    made->next = known;
    known = made;
    return &made->format;
}

void encode_row(const Format &format, const Datum *values, const bool *is_null, const ItemPointerData &tid,
                uint64 *row) {
    NullMask nulls = 0;
    uint64 *lane = row + 1;
    for (int i = 0; i < format.column_count; i++) {
        const Column &column = format.columns[i];
        Point made;
        if (unlikely(is_null[i]) || (column.conversion != nullptr && !make_point(column, values[i], &made))) {
            nulls |= static_cast<NullMask>(1U << i);
            for (int j = 0; j < column.lane_count; j++)
                *lane++ = 0;
        } else if (column.is_point) {
            const Point *point = column.conversion != nullptr ? &made : DatumGetPointP(values[i]);
            *lane++ = encode_float(point->x);
            *lane++ = encode_float(point->y);
        } else if (column.lane_count == 2) {
            const Uint128 code = encode_exact<Key128>(column.key, values[i]);
            *lane++ = static_cast<uint64>(code >> 64);
            *lane++ = static_cast<uint64>(code);
        } else {
            *lane++ = encode_exact<uint64>(column.key, values[i]);
        }
    }
    row[0] = make_place(tid, nulls);
}

void put_tail_tuple(const Format &format, const uint64 *row, char *tail_tuple) {
    storage::TailTuple head;
    head.tid = place_tid(row[0]);
    head.info = static_cast<uint16>(format.tail_tuple_bytes);
    memset(tail_tuple, 0, format.tail_tuple_bytes);
    memcpy(tail_tuple, &head, sizeof(head));
    // A word is little-endian, so that its lower bytes come first.
    for (int i = 0; i < format.lane_count; i++)
        memcpy(tail_tuple + format.lanes[i].tail_byte, &row[1 + i], format.lanes[i].width / 8);
    tail_tuple[format.tail_nulls] = static_cast<char>(place_nulls(row[0]));
}

void read_tail_tuple(const Format &format, const char *tail_tuple, uint64 *row) {
    const auto *head = reinterpret_cast<const storage::TailTuple *>(tail_tuple);
    row[0] = make_place(head->tid, static_cast<uint8>(tail_tuple[format.tail_nulls]));
    for (int i = 0; i < format.lane_count; i++) {
        row[1 + i] = 0;
        memcpy(&row[1 + i], tail_tuple + format.lanes[i].tail_byte, format.lanes[i].width / 8);
    }
}

}  // namespace pg_gpu::grid
