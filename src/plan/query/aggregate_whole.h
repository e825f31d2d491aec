// One node over all of a table's members: its partitions, or itself and its inheritance children. Their
// groups are put together by codes that they have in common, without transition states.
#pragma once

#include "plan/query/aggregate_path.h"

namespace pg_gpu::plan {

// Why there is no such node whatever is asked; nullptr: there may be one.
const char *refuse_whole(const List *members);

// Offers a path to table.output if each of table.members has an index that can answer, with the same columns.
// False: there is none. *refused tells why, if that hasn't been noted.
bool consider_whole(const TableAggregate &table, const char **refused);

}  // namespace pg_gpu::plan
