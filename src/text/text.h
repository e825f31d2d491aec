// gpu_text: inverted lists with BM25 ranking.
#pragma once

#include "client/usage.h"
#include "text/document.h"

namespace pg_gpu::text {

const storage::RunKind *run_kind();

// Writes a document that is longer than a tail as a run of its own (runs.cpp).
void insert_long_document(Relation index, TSVector vector, const ItemPointerData &tid);

// ---- access method callbacks ------------------------------------------------------------------------------

IndexBuildResult *build(Relation heap, Relation index, IndexInfo *index_info);
void build_empty(Relation index);
bool insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation heap,
            IndexUniqueCheck unique, bool unchanged, IndexInfo *index_info);
IndexBulkDeleteResult *bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                                   IndexBulkDeleteCallback callback, void *callback_state);
IndexBulkDeleteResult *vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);
void estimate_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
                   Selectivity *selectivity, double *correlation, double *pages);
char *build_phase_name(int64 phase);
bool validate(Oid opclass);
IndexScanDesc begin_scan(Relation index, int key_count, int order_by_count);
void rescan(IndexScanDesc scan, ScanKey keys, int key_count, ScanKey order_bys, int order_by_count);
bool get_tuple(IndexScanDesc scan, ScanDirection direction);
int64 get_bitmap(IndexScanDesc scan, TIDBitmap *bitmap);
void end_scan(IndexScanDesc scan);
client::Usage scan_usage(IndexScanDesc scan);

// gpu.verify's part that knows lists and documents.
void verify_documents(Relation heap, Relation index, bool check_heap, storage::ProblemReporter report,
                      void *context);

}  // namespace pg_gpu::text
