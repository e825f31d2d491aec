// Values for an index's columns out of SQL arrays and records.
#pragma once

#include "kary/gpu_kary.h"

namespace pg_gpu::functions {

// A ColumnValues has one value for each of the first `count` columns of an index of any access method.
struct ColumnValues {
    int count;
    Datum values[INDEX_MAX_KEYS];
    Oid types[INDEX_MAX_KEYS];  // types by which the columns' operator families know the values
    bool nulls[INDEX_MAX_KEYS];
};

// Returns the type under which the column's operator family compares values of `type`. Raises an error with a
// HINT when it doesn't compare them.
Oid comparable_type(Relation index, int column, Oid type);

bool is_record_type(Oid type);

// Fields of a record, the first column's first. ERROR when there are more than the index has columns, or one
// cannot be compared with its column.
void read_record(Relation index, HeapTupleHeader record, ColumnValues *values);

// Elements of an array of any type, dimensions ignored; both arrays are palloc'd.
struct Elements {
    Datum *values;
    bool *nulls;
    int count;
};
Elements read_elements(ArrayType *array);

// Does the same for `count` elements.
void read_columns(Relation index, Oid type, const Datum *elements, const bool *nulls, int count,
                  ColumnValues *values);

}  // namespace pg_gpu::functions
