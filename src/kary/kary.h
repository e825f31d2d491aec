// gpu_kary: sorted runs of fixed-width keys with separator levels.
#pragma once

#include "cost/usage.h"
#include "kary/layout.h"
#include "keys/keys.h"
#include "table/table.h"

namespace pg_gpu::kary {

using namespace table;

template <typename Key>
const storage::RunKind *run_kind_of(bool composite);
const storage::RunKind *run_kind(Relation index);

// ---- writing runs (run_builder.cpp) -----------------------------------------------------------------------

// Takes entries in run order (by mask, key, TID) and writes leaves, separators and the partition table.
template <typename Key>
struct RunBuilder {
    storage::RunWriter *writer;
    storage::RunEntry *entry;
    bool composite;
    NullMask all_null;
    uint64 flushed;  // entries on pages already written
    uint32 on_leaf;
    uint32 partition_start;  // place on the leaf where the last partition goes on
    Partition *partitions;
    uint32 partition_count;
    uint32 partition_room;
    Key *separators;  // level 0 of all partitions
    uint32 separator_count;
    uint32 separator_room;
    Key leaf_key_buffer[kLeafCapacity<Key>];
    ItemPointerData leaf_tid_buffer[kLeafCapacity<Key>];
};

template <typename Key>
void begin_run_builder(RunBuilder<Key> *builder, const KeyFormat &format, storage::RunWriter *writer,
                       storage::RunEntry *entry);
template <typename Key>
void begin_partition(RunBuilder<Key> *builder, NullMask nulls);
template <typename Key>
void flush_leaf(RunBuilder<Key> *builder);
template <typename Key>
void finish_run_builder(RunBuilder<Key> *builder);

template <typename Key>
inline void add_entry(RunBuilder<Key> *builder, Key key, NullMask nulls, const ItemPointerData &tid) {
    if (unlikely(nulls != builder->partitions[builder->partition_count - 1].nulls))
        begin_partition(builder, nulls);
    const uint32 place = builder->on_leaf++;
    builder->leaf_key_buffer[place] = key;
    builder->leaf_tid_buffer[place] = tid;
    if (builder->on_leaf == kLeafCapacity<Key>)
        flush_leaf(builder);
}

// ---- searching runs (run_search.cpp) ----------------------------------------------------------------------

// A run's partitions that have entries, in order. The result is palloc'd. false when a page was recycled;
// *position is then that page's.
template <typename Key>
bool read_partitions(Relation index, const KeyFormat &format, const storage::RunEntry &run,
                     Partition **partitions, int *count, uint32 *position);

enum class Bound { Lower, Upper };

// Number of the first of the partition's leaf pages whose last key is not below (Lower) or above (Upper)
// `key`; leaf_end when there is none. false when a page was recycled.
template <typename Key>
bool find_leaf(Relation index, const storage::RunEntry &run, const Partition &partition, Key key, Bound bound,
               uint32 *leaf, uint32 *position);

// Finds the ordinal of the partition's first entry not below (Lower) or above (Upper) `key`.
template <typename Key>
bool find_ordinal(Relation index, const storage::RunEntry &run, const Partition &partition, Key key,
                  Bound bound, uint64 *ordinal, uint32 *position);

// Finds the ordinal of the partition's entry with this key and TID, dead or not, if there is one.
template <typename Key>
bool find_entry(Relation index, const storage::RunEntry &run, const Partition &partition, Key key,
                const ItemPointerData &tid, bool *found, uint64 *ordinal, uint32 *position);

// Share-locks a leaf page after checking that its content is as long as its entries need; without a page when
// recycled.
template <typename Key>
storage::RunPage read_leaf(Relation index, const storage::RunEntry &run, uint32 leaf);

// ---- the method's parts (method.h) ------------------------------------------------------------------------

const BuildSteps *build_steps(Relation index);
const VerifySteps *verify_steps(Relation index);

// ---- access method callbacks ------------------------------------------------------------------------------

bool insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation heap,
            IndexUniqueCheck unique, bool unchanged, IndexInfo *index_info);
bool can_return(Relation index, int column);
void estimate_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
                   Selectivity *selectivity, double *correlation, double *pages);
bool property(Oid index, int column, IndexAMProperty requested, const char *name, bool *result,
              bool *is_null);
bool validate(Oid opclass);
IndexScanDesc begin_scan(Relation index, int key_count, int order_by_count);
void rescan(IndexScanDesc scan, ScanKey keys, int key_count, ScanKey order_bys, int order_by_count);
bool get_tuple(IndexScanDesc scan, ScanDirection direction);
int64 get_bitmap(IndexScanDesc scan, TIDBitmap *bitmap);
void end_scan(IndexScanDesc scan);
client::Usage scan_usage(IndexScanDesc scan);
void mark_position(IndexScanDesc scan);
void restore_position(IndexScanDesc scan);

// Returns the number of rows that the snapshot sees and that match scan keys; *heap_fetches of their entries
// were looked up in the heap.
int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys, int key_count,
                     uint64 *heap_fetches);

// counts[i]: the same for each range.
void count_batch(Relation heap, Relation index, Snapshot snapshot, const RangeReader &reader, int64 *counts);

// Does the path compare columns whose keys don't tell their values?
bool has_lossy_conditions(const IndexPath *path);

}  // namespace pg_gpu::kary
