// The access methods of the library, found by their indexes.
#pragma once

#include "method.h"

namespace pg_gpu {

// Returns the access method of an index; nullptr for an index of another one.
const Method *find_access_method(Relation index);

// Does the same for an index that the planner sees.
const Method *find_access_method(const IndexOptInfo *index);

// Is one of an index's columns found roughly?
bool finds_roughly(const Method &method, const Oid *types, int column_count);

// Returns the kind of an index's runs; nullptr for an index of another access method.
inline const storage::RunKind *run_kind_of(Relation index) {
    const Method *method = find_access_method(index);
    return method != nullptr ? method->run_kind(index) : nullptr;
}

}  // namespace pg_gpu
