// Writing a run from rows in memory and from other runs: TIDs are merged, then, column by column,
// dictionaries, and codes are written anew.
#pragma once

#include "cost/cost.h"
#include "column/build/chunk.h"
#include "column/build/page_sink.h"
#include "column/format/format.h"

namespace pg_gpu::column {

// An input is a chunk or a run; the other pointer is nullptr. Rows lie in the order of their places, and dead
// ones are left out.
struct Input {
    Chunk *chunk;
    RunReader *reader;
};

inline Relation index_of(const Input &input) {
    return input.chunk != nullptr ? input.chunk->index : input.reader->index;
}

// The time that each step of this session's last write_run took, for gpu.merge to report. column: -1 for
// none.
struct MergeStep {
    const char *name;
    int column;
    uint64 entries;
    uint64 bytes;
    double milliseconds;
    client::Path path;
};
const MergeStep *last_merge_steps(int *count);

// ERROR when a run can't have so many rows.
void check_run_rows(Relation index, uint64 rows);

// Sets the entry's sections, access_method_data and `entries`. Nothing is written when no row is live.
void write_run(Relation index, const Format &format, const Input *inputs, int count, PageSink *sink,
               storage::RunEntry *entry);

// Tells whether a dictionary, whose entries have so many bits, takes less with its codes than integers by
// themselves.
inline bool is_dictionary_cheaper(uint64 rows, uint64 distinct, uint32 range_bits, uint32 entry_bits) {
    const auto share = [](uint64 values, uint32 bits) { return groups_of(values) * bits; };
    return share(rows, bits_for_entries(distinct)) + share(distinct, entry_bits) < share(rows, range_bits);
}

// Bits of an entry of a dictionary of numerics, its place among blocks included, if it shares no byte.
inline uint32 bits_of_formatted(size_t bytes) {
    constexpr size_t lengths = 2;
    return static_cast<uint32>((bytes + lengths) * 8 + 1);
}

}  // namespace pg_gpu::column
