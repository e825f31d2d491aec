// Scaled numerics of a run as if they had a dictionary: which integers there are, each with a number, in
// their order. Expressions are evaluated once for each of them, and maps are by their numbers.
#pragma once

#include "column/format/format.h"

namespace pg_gpu::column {

struct ValueList {
    uint64 count;           // number of different values
    const uint32 *numbers;  // by row; rows without a value have any number up to the count
};

// The most bytes that a list takes; this is the size of one that there is no room to make.
inline constexpr size_t kNoList = SIZE_MAX;
size_t bytes_of_list(const ColumnHeader &header, uint64 rows);

// Returns the list of a column of scaled numerics. The session keeps it, if pg_gpu.map_memory has room;
// otherwise it is made in the current memory context, and takes so much of *memory. It is good until the
// transaction or the context ends. nullptr when there is no room. The list means nothing when the run is
// stale afterwards, but may be used.
const ValueList *list_values(RunReader *reader, int column, size_t *memory);

// Returns the codes by their numbers, in the current memory context. Lists don't keep them: of kept results
// nobody asks for the values. They mean nothing when the run is stale afterwards.
uint64 *codes_of_list(RunReader *reader, int column, const ValueList &list);

}  // namespace pg_gpu::column
