// Index-only scans return tuples that are made here from codes.
#pragma once

#include "keys/column.h"

namespace pg_gpu::keys {

// The tuple's values are overwritten for each entry that has the same columns NULL.
struct IndexTupleTemplate {
    IndexTuple tuple;  // nullptr: none yet
    NullMask nulls;
    NullMask absent;  // NULL, or left NULL because codes don't tell the value: nobody asks for it
    uint16 offsets[INDEX_MAX_KEYS];
};

// Makes the tuple anew, in the current memory context. Columns that are not absent are of fixed length.
void make_tuple_template(TupleDesc descriptor, int column_count, NullMask nulls, NullMask absent,
                         IndexTupleTemplate *made);

}  // namespace pg_gpu::keys
