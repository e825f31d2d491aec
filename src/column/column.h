// gpu_column: dictionary-compressed columns.
#pragma once

#include "cost/usage.h"
#include "column/scan/condition.h"
#include "column/tail_tuple.h"
#include "keys/keys.h"
#include "storage/storage.h"
#include "table/table.h"

namespace pg_gpu::column {

const storage::RunKind *run_kind();

// ---- options ----------------------------------------------------------------------------------------------

void register_options();
// Reads reloptions.
bytea *options(Datum options, bool validate);
// Whoever made the index. What gpu.accelerate and its worker have made, they may drop (accelerate/).
enum class Maker : int { User, Accelerate, Worker };
Maker maker_of(Relation index);
// May runs have numerics as integers (scaled_numeric.h)?
bool scales_numerics(Relation index);
// Returns how many different numerics of a run have a dictionary in any case: few, but a part of all rows
// where the option leaves the choice to each run. nullptr: as the option's default has it.
uint64 max_listed_numerics(Relation index, uint64 rows, uint64 few);

// ---- runs -------------------------------------------------------------------------------------------------

// Copies a raw run's tuples, palloc'd; false when the page was recycled.
inline bool read_raw_tuples(Relation index, const storage::RunEntry &run, storage::Items *items) {
    return storage::read_sealed_tuples(index, run_kind(), run, kLeastTailTuple, items);
}

// Writes a row that is longer than a tail as a run of its own (runs.cpp).
void insert_long_row(Relation index, const Format &format, const Datum *values, const bool *nulls,
                     const ItemPointerData &tid);

// ---- rows that wait (storage/pending_rows.h) --------------------------------------------------------------

struct PendingColumns;

PendingColumns *begin_pending_columns(Relation index, const Format &format);
// Detoasted values are palloc'd.
void add_pending_row(Relation index, PendingColumns *pending, const Datum *values, const bool *nulls,
                     const ItemPointerData &tid);

// ---- the method's parts (method.h) ------------------------------------------------------------------------

const table::BuildSteps *build_steps(Relation index);
const table::VerifySteps *verify_steps(Relation index);

// ---- access method callbacks ------------------------------------------------------------------------------

bool insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation heap,
            IndexUniqueCheck unique, bool unchanged, IndexInfo *index_info);
void estimate_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
                   Selectivity *selectivity, double *correlation, double *pages);
bool validate(Oid opclass);
IndexScanDesc begin_scan(Relation index, int key_count, int order_by_count);
void rescan(IndexScanDesc scan, ScanKey keys, int key_count, ScanKey order_bys, int order_by_count);
int64 get_bitmap(IndexScanDesc scan, TIDBitmap *bitmap);
void end_scan(IndexScanDesc scan);
client::Usage scan_usage(IndexScanDesc scan);

// ---- for functions ----------------------------------------------------------------------------------------

// Returns the number of rows that the snapshot sees and that match scan keys. *heap_fetches of them were
// looked up in the heap.
int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys, int key_count,
                     uint64 *heap_fetches);
// Does the same by a condition.
uint64 count_rows(Relation heap, Relation index, Snapshot snapshot, const Format &format,
                  const Condition &condition, uint64 *heap_fetches);
void count_batch(Relation heap, Relation index, Snapshot snapshot, const keys::RangeReader &reader,
                 int64 *counts);

}  // namespace pg_gpu::column
