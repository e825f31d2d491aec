// The access methods of the library, told apart for what is asked of any of their indexes.
#pragma once

#include "client/usage.h"
#include "keys/range_reader.h"
#include "storage/storage.h"
#include "table/lookup.h"

namespace pg_gpu {

struct AccessMethod {
    const char *name;
    ambuild_function build;  // tells its indexes from others
    const storage::RunKind *(*run_kind)(Relation index);

    // Rows the snapshot sees that match scan keys; nullptr, as the next one, where bounds mean nothing.
    // *heap_fetches of their entries were looked up in the heap.
    int64 (*count_matching)(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys,
                            int key_count, uint64 *heap_fetches);
    // counts[i]: the same for each range.
    void (*count_batch)(Relation heap, Relation index, Snapshot snapshot, const keys::RangeReader &reader,
                        int64 *counts);
    // gpu.lookup: the entries of all keys, in one view; NULLs and values outside the columns' types match
    // nothing. All memory is palloc'd; what `keys` refers to must live as long as the result. nullptr where
    // there are no keys.
    table::LookupResult (*look_up)(Relation heap, Relation index, Snapshot snapshot,
                                   const table::LookupKeys &keys);
    // gpu.verify, behind storage's part.
    void (*verify)(Relation heap, Relation index, bool check_heap, storage::ProblemReporter report,
                   void *context);
    // What an index scan has asked so far, rescans included.
    client::Usage (*scan_usage)(IndexScanDesc scan);
    // How runs are mirrored in the server process; returns nullptr where they are not.
    const client::MirrorFormat *(*mirror_format)(Relation index);
};

extern const AccessMethod gpu_kary;
extern const AccessMethod gpu_grid;
extern const AccessMethod gpu_text;
extern const AccessMethod gpu_column;

// nullptr for an index of another access method.
const AccessMethod *find_access_method(Relation index);

// The kind of an index's runs; nullptr for an index of another access method.
inline const storage::RunKind *run_kind_of(Relation index) {
    const AccessMethod *method = find_access_method(index);
    return method != nullptr ? method->run_kind(index) : nullptr;
}

}  // namespace pg_gpu
