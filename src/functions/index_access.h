// SQL functions get at an index by these functions, which see to locks, validity and privileges (rule "SQL
// functions").
#pragma once

#include "storage/storage.h"

namespace pg_gpu::functions {

struct OpenIndex {
    Relation heap;
    Relation index;
};

// Locks the table, then the index, until the end of the transaction. Raises an ERROR for what is not a usable
// pg_gpu index.
OpenIndex open_index(Oid index_oid, LOCKMODE heap_lock, LOCKMODE index_lock);

// Is one of the index's columns found roughly, so that its entries answer nothing by themselves?
bool is_rough_index(const OpenIndex &open);

// May the caller SELECT the indexed columns, without row security?
bool may_read(const OpenIndex &open);

// Raises an ERROR unless the caller may SELECT the indexed columns and no row security applies to the caller.
void require_read_access(const OpenIndex &open);

// Raises an ERROR unless the caller owns the index or may maintain the table.
void require_maintenance(Oid index_oid);

// Takes predicate locks for a read of the whole index and table by a SERIALIZABLE transaction.
void lock_predicates(const OpenIndex &open, Snapshot snapshot);

// Closes both relations; the locks stay.
void close_index(const OpenIndex &open);

}  // namespace pg_gpu::functions
