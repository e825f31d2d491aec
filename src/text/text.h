// gpu_text: inverted lists with BM25 ranking.
#pragma once

#include "client/usage.h"
#include "table/build.h"
#include "table/verify.h"
#include "text/document.h"

namespace pg_gpu::text {

const storage::RunKind *run_kind();

// Writes a document that is longer than a tail as a run of its own (runs.cpp).
void insert_long_document(Relation index, TSVector vector, const ItemPointerData &tid);

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

}  // namespace pg_gpu::text
