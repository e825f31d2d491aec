// Columns that are encoded by their values' 64-bit hashes: the extended hash function of the type's default
// hash operator class, with the column's collation, so that what the type's `=` calls equal has one code.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::kary {

struct ColumnHash {
    TypeCacheEntry *type;  // type of the column, domains aside
    Oid collation;
    // The hash function for the right side of the operator last asked for.
    Oid operator_function;
    FmgrInfo *right;  // nullptr: its equality is not the one that the column's hash keeps
    // The hash function of the other type last asked for.
    Oid other_type;
    FmgrInfo other;
};

// Says how a column of this type and collation is hashed. The result is palloc'd. It is an ERROR when the
// type cannot be hashed.
ColumnHash *column_hash(Oid type, Oid collation);

uint64 hash_value(const ColumnHash &hash, Datum value);
uint64 hash_value_with(FmgrInfo *function, const ColumnHash &hash, Datum value);

// Returns the type under which hash operator families know a type; InvalidOid when none does.
Oid hashed_type(Oid type);

// Returns the hash function for the right side of an operator, given its function: equal values have the same
// hash on both sides. nullptr when it doesn't compare as the column's hash operator family does:
// `text_column::char(n) = constant` matches the index too, but ignores blanks at the end, which the hash of
// text doesn't.
FmgrInfo *hash_for_operator(ColumnHash *hash, Oid operator_function);

// Returns the hash function for a value of another type that the hash operator family compares the column
// with, and nullptr for other types.
FmgrInfo *hash_for_type(ColumnHash *hash, Oid type);

// Says whether the operator's function compares a column of the type as its hash does.
bool is_hashed_equality(Oid type, Oid operator_function);

}  // namespace pg_gpu::kary
