// gpu_kary: sorted runs of fixed-width keys with separator levels.
#pragma once

#include "kary/layout.h"

namespace pg_gpu::kary {

// How an index's column becomes keys.
struct KeyFormat {
    Oid type;          // the opclass's input type
    bool descending;   // keys are stored complemented
    bool nulls_first;  // in index order
};

KeyFormat key_format(Relation index);
bool has_wide_keys(Relation index);  // 64-bit keys; else 32-bit

template <typename Key>
const storage::RunKind *run_kind_of();
const storage::RunKind *run_kind(Relation index);

template <typename Key>
Key encode_datum(Datum value, const KeyFormat &format) {
    const auto integer = static_cast<typename SignedOf<Key>::type>(sizeof(Key) == 4 ? DatumGetInt32(value)
                                                                                    : DatumGetInt64(value));
    return encode_integer<Key>(integer, format.descending);
}

template <typename Key>
Datum decode_datum(Key key, const KeyFormat &format) {
    const auto integer = decode_integer<Key>(key, format.descending);
    return sizeof(Key) == 4 ? Int32GetDatum(static_cast<int32>(integer))
                            : Int64GetDatum(static_cast<int64>(integer));
}

// ---- writing runs (run_builder.cpp)
// -------------------------------------------------------------------------

// Takes entries in run order (keyed by (key, TID), then NULLs by TID) and writes leaves and separators.
template <typename Key>
struct RunBuilder {
    storage::RunWriter *writer;
    storage::RunEntry *entry;
    Page leaf;
    uint32 on_leaf;
    uint64 total;
    uint64 keyed;
    Key last_key;
    Key *separators;
    uint32 separator_count;
    uint32 separator_room;
    Key leaf_key_buffer[kLeafCapacity<Key>];
    ItemPointerData leaf_tid_buffer[kLeafCapacity<Key>];
};

template <typename Key>
void begin_run_builder(RunBuilder<Key> *builder, storage::RunWriter *writer, storage::RunEntry *entry);
template <typename Key>
void flush_leaf(RunBuilder<Key> *builder);
template <typename Key>
void finish_run_builder(RunBuilder<Key> *builder);

template <typename Key>
inline void add_entry(RunBuilder<Key> *builder, Key key, bool is_null, const ItemPointerData &tid) {
    const uint32 place = builder->on_leaf++;
    builder->leaf_key_buffer[place] = key;
    builder->leaf_tid_buffer[place] = tid;
    if (!is_null) {
        builder->keyed++;
        builder->last_key = key;
    }
    if (builder->on_leaf == kLeafCapacity<Key>)
        flush_leaf(builder);
}

// ---- searching runs (run_search.cpp)
// ------------------------------------------------------------------------

enum class Bound { Lower, Upper };

// Number of the first leaf page whose last key is not below (Lower) or above (Upper) `key`; the number of
// leaf pages with keyed entries when there is none. false when a page was recycled; *position is then that
// page's.
template <typename Key>
bool find_leaf(Relation index, const storage::RunEntry &run, Key key, Bound bound, uint32 *leaf,
               uint32 *position);

// Ordinal of the first keyed entry not below (Lower) or above (Upper) `key`.
template <typename Key>
bool find_ordinal(Relation index, const storage::RunEntry &run, Key key, Bound bound, uint64 *ordinal,
                  uint32 *position);

// Share-locks a leaf page after checking that its content is as long as its entries need; InvalidBuffer when
// recycled.
template <typename Key>
Buffer read_leaf(Relation index, const storage::RunEntry &run, uint32 leaf);

// ---- access method callbacks
// --------------------------------------------------------------------------------

IndexBuildResult *build(Relation heap, Relation index, IndexInfo *index_info);
void build_empty(Relation index);
bool insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation heap,
            IndexUniqueCheck unique, bool unchanged, IndexInfo *index_info);
IndexBulkDeleteResult *bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                                   IndexBulkDeleteCallback callback, void *callback_state);
IndexBulkDeleteResult *vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);
bool can_return(Relation index, int column);
void estimate_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
                   Selectivity *selectivity, double *correlation, double *pages);
char *build_phase_name(int64 phase);
bool validate(Oid opclass);
IndexScanDesc begin_scan(Relation index, int key_count, int order_by_count);
void rescan(IndexScanDesc scan, ScanKey keys, int key_count, ScanKey order_bys, int order_by_count);
bool get_tuple(IndexScanDesc scan, ScanDirection direction);
int64 get_bitmap(IndexScanDesc scan, TIDBitmap *bitmap);
void end_scan(IndexScanDesc scan);
void mark_position(IndexScanDesc scan);
void restore_position(IndexScanDesc scan);

// Rows the snapshot sees that match scan keys; *heap_fetches of their entries were looked up in the heap.
int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys, int key_count,
                     uint64 *heap_fetches);

}  // namespace pg_gpu::kary
