// Requests of gpu_column to the server process: filters, counts, and merges of dictionaries.
#pragma once

#include "gpu_engine/column.h"
#include "residency/residency.h"

namespace pg_gpu::column {

// Columns of rows (src/column/format/format.h): all pages of the first two sections.
extern const client::MirrorKind column_mirror;
struct ColumnMirror : client::MirrorFormat {
    // Finds where a run's columns lie. False when a page was recycled.
    bool (*describe)(Relation index, const storage::RunEntry &run, gpu_engine::StoreLayout *layout);
    // Returns the bytes of the stream, which fills its pages without gaps.
    uint64 (*stream_bytes)(const storage::RunEntry &run);
};

extern const client::RequestCost count_rows_cost;
extern const client::RequestCost match_rows_cost;
extern const client::RequestCost merge_dictionaries_cost;
// Returns the microseconds of reading the codes of columns of all entries, and of handling the results.
double row_microseconds(const client::Request &request, client::Path path);

// A test of rows; of one run of the set, or of all (kAllRuns).
inline constexpr int kAllRuns = -1;
struct RowTest {
    gpu_engine::ColumnTest test;
    int run;
};

struct RowTests {
    const RowTest *tests;
    int count;
};

// The counts of one run, as the target has them (gpu_engine::ColumnStore::places), and the rows on
// unknown blocks. All is empty for a run that isn't mirrored.
struct ColumnCounts {
    const uint64 *counts;
    const gpu_engine::UnresolvedRow *unresolved;
    uint64 found;
};

struct ColumnsResult {
    ColumnCounts runs[client::kMaxRuns];
};

// Counts live rows that pass all tests, in each run: CountRows for a target of rows, else CountValues.
// `places[i]` is the number of places of run i's counts.
bool count_column(const client::RunSet &set, const client::Choice &choice, const RowTests &tests,
                  const gpu_engine::ColumnTarget &target, const uint64 *places,
                  const client::VisibleBlocks &visible, ColumnsResult *result);

struct RowsResult {
    const ItemPointerData *tids[client::kMaxRuns];
    uint64 found[client::kMaxRuns];
};

// Finds the TIDs of such rows, in no certain order.
bool match_column(const client::RunSet &set, const client::Choice &choice, const RowTests &tests,
                  RowsResult *result);

// Makes the union of two sorted dictionaries without duplicates: *count entries, and for each entry of theirs
// its place among them. Results lie in the transfer buffer, and have been looked through.
bool merge_column_dictionaries(const client::Choice &choice, const uint64 *main, uint64 main_count,
                               const uint64 *delta, uint64 delta_count, const uint64 **entries, uint64 *count,
                               const uint32 **main_map, const uint32 **delta_map);

}  // namespace pg_gpu::column
