// Functions that take an index of gpu_text share these.
#pragma once

#include "functions/index_access.h"
#include "text/gpu_text.h"

namespace pg_gpu::functions {

// Opens an index of gpu_text, or one of a partitioned table, for reading; raises an ERROR if it is none, or
// if the caller may not read it.
OpenIndex open_text_index(Oid oid);

// Calls visit(index) for the index, or for those of all partitions. Each is open, and read by the
// transaction.
template <typename Visit>
void for_each_leaf(const OpenIndex &open, Visit visit) {
    if (open.index->rd_rel->relkind != RELKIND_PARTITIONED_INDEX) {
        lock_predicates(open, GetActiveSnapshot());
        visit(open.index);
        return;
    }
    ListCell *cell;
    foreach (cell, find_all_inheritors(RelationGetRelid(open.index), AccessShareLock, nullptr)) {
        const Oid oid = lfirst_oid(cell);
        if (get_rel_relkind(oid) != RELKIND_INDEX)
            continue;
        const OpenIndex leaf = open_index(oid, AccessShareLock, AccessShareLock);
        lock_predicates(leaf, GetActiveSnapshot());
        visit(leaf.index);
        close_index(leaf);
    }
}

// Returns the call's second argument: a tsquery, whose words have been made already, or what was typed. That
// needs an index with a configuration.
TSQuery query_argument(FunctionCallInfo fcinfo, Relation index);

}  // namespace pg_gpu::functions
