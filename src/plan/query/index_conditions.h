// Conditions that an index tests by codes: a column, and what it is compared with.
#pragma once

#include "column/format/format.h"

namespace pg_gpu::plan {

// The columns that expressions are over.
struct IndexColumns {
    const Oid *families;
    const Oid *collations;
};

struct IndexCondition {
    int column;
    Oid operator_oid;  // of column and argument, in this order
    Oid collation;
    Expr *argument;  // nullptr: IS [NOT] NULL
    bool is_array;
    bool is_null;  // IS NULL
};
bool read_index_condition(Node *condition, const IndexColumns &columns, IndexCondition *read);

// The scan key that a condition is. False: what a column is compared with raised an error.
bool make_scan_key(ExprContext *context, const IndexColumns &columns, const IndexCondition &condition,
                   ScanKeyData *key);

}  // namespace pg_gpu::plan
