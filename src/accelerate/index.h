// The indexes that were made here: how they are found again, what they are called, and the commands that make
// and drop them.
#pragma once

#include "accelerate/choice.h"
#include "column/gpu_column.h"

namespace pg_gpu::accelerate {

using column::Maker;

// An index that was made here.
struct MadeIndex {
    Oid index;
    Maker maker;
    bool is_valid;
    plan::Proposal columns;
};

// Returns a list of MadeIndexes of a table, without those that belong to a partitioned one's.
List *find_made_indexes(Relation table);

// Are all columns of `columns` in the index?
bool has_columns(const plan::Proposal &index, const plan::Proposal &columns);

// The qualified name of a relation, quoted.
const char *name_of(Oid relation);

// Returns a name that is free in the table's schema.
const char *choose_name(Oid table);

// Parent: of a partitioned table alone, whose partitions' indexes are attached later.
enum class Way { AtOnce, Concurrent, Parent };
const char *create_command(const plan::Proposal &columns, Maker maker, const char *name, Way way);

// Names of columns, separated by commas, quoted. Those that are gone by now are left out, here and below.
const char *list_columns(const plan::Proposal &columns);

// Returns the columns as a partition of the table has them, or the table itself.
plan::Proposal on_member(const plan::Proposal &columns, Oid member);

// Returns what an index would take, no less than what is built; to be called in work of plan::with_catalogs.
int64 expect_bytes(const plan::Proposal &columns);

// What an index takes, with all of a partitioned one's parts.
struct IndexSize {
    int64 bytes;
    double rows;
};
// To be called in work of plan::with_catalogs.
IndexSize measure_index(Oid index);

}  // namespace pg_gpu::accelerate
