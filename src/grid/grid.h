// gpu_grid: points in a hierarchical grid file.
#pragma once

#include "cost/usage.h"
#include "grid/condition.h"
#include "grid/scales.h"
#include "keys/keys.h"
#include "table/table.h"

namespace pg_gpu::grid {

// ---- the method's parts (method.h) ------------------------------------------------------------------------

const table::BuildSteps *build_steps(Relation index);
const table::VerifySteps *verify_steps(Relation index);

// ---- access method callbacks ------------------------------------------------------------------------------

bool insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation heap,
            IndexUniqueCheck unique, bool unchanged, IndexInfo *index_info);
bool can_return(Relation index, int column);
void estimate_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
                   Selectivity *selectivity, double *correlation, double *pages);
bytea *options(Datum options, bool validate);
bool property(Oid index, int column, IndexAMProperty requested, const char *name, bool *result,
              bool *is_null);
bool validate(Oid opclass);
IndexScanDesc begin_scan(Relation index, int key_count, int order_by_count);
void rescan(IndexScanDesc scan, ScanKey keys, int key_count, ScanKey order_bys, int order_by_count);
bool get_tuple(IndexScanDesc scan, ScanDirection direction);
int64 get_bitmap(IndexScanDesc scan, TIDBitmap *bitmap);
void end_scan(IndexScanDesc scan);
client::Usage scan_usage(IndexScanDesc scan);

// ---- options ----------------------------------------------------------------------------------------------

void register_options();
SplitRule split_rule_of(Relation index);
// Returns how many entries a cell of the server's grid has on average.
uint32 bucket_of(Relation index);

// ---- functions --------------------------------------------------------------------------------------------

// Returns the number of rows that the snapshot sees and that match scan keys; *heap_fetches of their entries
// were looked up in the heap.
int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys, int key_count,
                     uint64 *heap_fetches);

// counts[i]: the same for each box.
void count_batch(Relation heap, Relation index, Snapshot snapshot, const RangeReader &boxes, int64 *counts);

// Returns the entries that equal each of the keys, in one view (access_methods.h).
table::LookupResult look_up(Relation heap, Relation index, Snapshot snapshot, const table::LookupKeys &keys);

// Returns whether no condition of the path needs the heap.
bool fetches_all(const IndexPath *path);

}  // namespace pg_gpu::grid
