// This header says how an index's columns become lanes and dimensions, and which kind of run that makes.
#pragma once

#include "grid/page.h"
#include "keys/keys.h"
#include "storage/storage.h"

namespace pg_gpu::grid {

using namespace keys;

inline constexpr int kMaxColumns = 8;
inline constexpr int kEntrySection = storage::kEntrySection;
inline constexpr int kDirectorySection = 2;
inline constexpr uint32 kWordsPerPage = storage::kContentBytes / sizeof(uint64);

// These are the strategies of points, besides btree's, by which the corners of boxes are bounds.
inline constexpr StrategyNumber kContainedInBox = 6;
inline constexpr StrategyNumber kContainedInCircle = 7;
inline constexpr StrategyNumber kSamePoint = 8;
inline constexpr StrategyNumber kDistance = 15;

struct Conversion;

struct Column {
    KeyColumn key;
    uint8 first_lane;
    uint8 lane_count;
    bool is_point;
    Conversion *conversion;  // makes points of values (converted.h); nullptr: values are points
};

struct Lane {
    uint8 column;
    uint8 width;      // bits
    uint8 tail_byte;  // the byte at which it begins in a tail tuple
};

struct Format : storage::RunKind {
    int column_count;
    int lane_count;
    int dimension_count;
    int array_count;  // on an entry page
    int row_words;    // words of a row in memory
    NullMask all_null;
    NullMask rough;                              // columns of which codes don't tell the values
    NullMask dimension_columns[kMaxDimensions];  // the column's bit
    uint8 dimension_lanes[kMaxDimensions];
    uint8 tail_nulls;  // byte of a tail tuple that has the mask
    Column columns[kMaxColumns];
    Lane lanes[kMaxLanes];
};

// Returns the format of an index's runs, which is kept for the session. Raises an ERROR with a HINT when
// there are too many columns or dimensions.
const Format *format_of(Relation index);

// Do codes of the type, or of the points that its values become, not tell the values?
bool finds_roughly(Oid type);

// Returns the number of dimensions from the planner's description of an index.
int dimensions_of(const Oid *types, int column_count);

inline const Format *format_of(const storage::RunKind *kind) {
    return static_cast<const Format *>(kind);
}

inline const storage::RunKind *run_kind(Relation index) {
    return format_of(index);
}

// ---- rows in memory ---------------------------------------------------------------------------------------

// A row takes row_words words. The first says where the row is and which of its columns are NULL; the lanes
// follow, which are 0 where a column is NULL.

inline uint64 make_place(BlockNumber block, OffsetNumber offset, NullMask nulls) {
    return uint64{block} << 24 | uint64{offset} << 8 | nulls;
}

inline uint64 make_place(const ItemPointerData &tid, NullMask nulls) {
    return make_place(ItemPointerGetBlockNumberNoCheck(&tid), ItemPointerGetOffsetNumberNoCheck(&tid), nulls);
}

inline NullMask place_nulls(uint64 place) {
    return static_cast<NullMask>(place & 0xff);
}

inline OffsetNumber place_offset(uint64 place) {
    return static_cast<OffsetNumber>(place >> 8);
}

inline BlockNumber place_block(uint64 place) {
    return static_cast<BlockNumber>(place >> 24);
}

inline ItemPointerData place_tid(uint64 place) {
    ItemPointerData tid;
    ItemPointerSet(&tid, place_block(place), place_offset(place));
    return tid;
}

// Encodes the columns' values as a row. A converted value that lies nowhere is NULL there.
void encode_row(const Format &format, const Datum *values, const bool *is_null, const ItemPointerData &tid,
                uint64 *row);

// Returns a column's code in a row, as encode_exact gives it.
inline uint64 row_code(const Column &column, const uint64 *row) {
    return row[1 + column.first_lane];
}

inline Uint128 wide_row_code(const Column &column, const uint64 *row) {
    const uint64 *lanes = row + 1 + column.first_lane;
    return Uint128{lanes[0]} << 64 | lanes[1];
}

// ---- tail tuples
// -------------------------------------------------------------------------------------------

// Writes a row as a tail tuple of format.tail_tuple_bytes.
void put_tail_tuple(const Format &format, const uint64 *row, char *tail_tuple);
void read_tail_tuple(const Format &format, const char *tail_tuple, uint64 *row);

}  // namespace pg_gpu::grid
