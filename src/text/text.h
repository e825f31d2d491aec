// gpu_text: inverted lists with BM25 ranking.
#pragma once

#include "cost/usage.h"
#include "table/table.h"
#include "text/document.h"

namespace pg_gpu::text {

const storage::RunKind *run_kind();

// Writes a document that is longer than a tail as a run of its own (runs.cpp).
void insert_long_document(Relation index, TSVector vector, const ItemPointerData &tid);

// May it be said now that something is searched without an index? It is said once a statement, when it is
// planned or, if it isn't planned anew, when it is executed.
bool is_first_unindexed_search(bool is_planning);

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
bool get_tuple(IndexScanDesc scan, ScanDirection direction);
int64 get_bitmap(IndexScanDesc scan, TIDBitmap *bitmap);
void end_scan(IndexScanDesc scan);
client::Usage scan_usage(IndexScanDesc scan);

// Has an ordered scan return some rows only, where rows isn't nullptr, until the next rescan, to be called
// before the first row is asked for. The set must live as long. So many rows will be wanted, as far as that
// is known.
void restrict_scan(IndexScanDesc scan, const table::RowSet *rows, double wanted);

int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys, int key_count,
                     uint64 *heap_fetches);
bool fetches_all(const IndexPath *path);

// ---- entries that match -----------------------------------------------------------------------------------

// Takes entries; `reset` drops all that were taken, because they come again.
struct EntrySink {
    void *context;
    void (*reset)(void *context);
    void (*add)(void *context, const ItemPointerData *tids, uint32 count);
};

// Are entries that match the scan's keys only those whose rows may?
bool needs_rows_of(IndexScanDesc scan);

// Gives the sink all live entries that match the scan's keys. Returns false where some of them are only those
// whose rows may, although not all are.
bool visit_matches_of(IndexScanDesc scan, const EntrySink &sink);

}  // namespace pg_gpu::text
