// What functions gave for values of a run's dictionary, which a session keeps for statements to come: runs
// don't change, and neither does what an immutable function gives.
#pragma once

#include "column/reader.h"

namespace pg_gpu::column {

// Results are told apart by the run, its column, what kind of results they are, and an expression.
struct KeptKey {
    const RunReader *reader;
    int column;
    int kind;
    const Node *expression;
};

// Of conditions; kinds of maps have other numbers.
inline constexpr int kKeptMatches = -1;

// May a function's results be kept? That is so where it is written in C: what one in another language does
// may depend on tables, whatever it is declared to be.
bool gives_lasting_results(Oid function);

// Results, as they were added; nullptr when there are none. Good until others are added.
const void *find_results(const KeptKey &key);

// Where results of so many bytes are to be put; nullptr when they would take more than pg_gpu.map_memory.
// Results that were not used for long give way.
MemoryContext make_room_for_results(size_t bytes);

// Keeps results that lie in such a context, with all that belongs to them.
void add_results(const KeptKey &key, MemoryContext context, const void *results, size_t bytes);

}  // namespace pg_gpu::column
