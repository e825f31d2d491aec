// Counting rows by an index without making tuples of its entries: a custom scan in place of an aggregate over
// an index scan.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// What an access method offers: the number of rows a snapshot sees that match scan keys, exactly.
// *heap_fetches is how many entries had to be looked up in the heap.
struct CountingMethod {
    amcostestimate_function estimate_cost;  // tells the access method's indexes from others
    int64 (*count)(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys, int key_count,
                   uint64 *heap_fetches);
    // Does it look up every entry in the heap to count by this path's conditions?
    bool (*fetches_all)(const IndexPath *path);
};

// Called from _PG_init, once for each access method. The planner then weighs a count scan wherever a query
// without groups only counts the rows of one table, and index conditions alone decide which.
void register_counting_method(const CountingMethod *method);

void register_count_scan();

}  // namespace pg_gpu::plan
