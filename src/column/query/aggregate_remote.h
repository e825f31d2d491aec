// The server process's result of a request of aggregates: it computes groups of the runs' rows, and the
// session adds what only it can tell: rows whose visibility the table must decide, runs that it reads at
// home, and loose rows.
#pragma once

#include "column/query/aggregate_groups.h"
#include "column/query/aggregate_parts.h"
#include "column/query/aggregate_request.h"
#include "column/scan/mirror.h"

namespace pg_gpu::column {

// Computes the groups of the view's rows that pass its tests and the program's filter, in the current memory
// context. `parts` are the view's, and inputs[part] theirs. Groups take `memory` bytes at most, and about
// `expected` of them are; `top` may leave some out. With top_only_counts *counted becomes how many there are,
// or kNotCounted where they had to be found themselves. False: the session must look through the runs, and
// gpu.stat reports why.
inline constexpr uint64 kNotCounted = PG_UINT64_MAX;
bool aggregate_on_server(RemoteRows *rows, const AggregateParts &parts,
                         const gpu_engine::AggregateProgram &program,
                         const gpu_engine::AggregateInput *const *inputs, size_t memory, uint64 expected,
                         const gpu_engine::AggregateTop &top, gpu_engine::GroupTable *groups,
                         uint64 *counted = nullptr);

// ---- what such results are made of ------------------------------------------------------------------------

// What the server has found, copied out of the transfer buffer: groups, then unresolved rows.
struct FoundRecords {
    uint32 words;
    uint64 groups;
    uint64 unresolved;
    uint64 counted;  // groups without records, where only their number was asked for
    uint64 *group_records;
    uint64 *unresolved_records;  // a word more each
};
// Asks for them, in the current memory context. False: it isn't answered, and gpu.stat reports why.
bool submit_records(RemoteRows *rows, const gpu_engine::AggregateProgram &program,
                    const gpu_engine::AggregateInput *const *inputs, size_t memory, uint64 expected,
                    const gpu_engine::AggregateTop &top, FoundRecords *found);
// Moves the records of unresolved rows that are visible to the front; their number.
uint64 keep_visible(RemoteRows *rows, const FoundRecords &found);

// The parts that the session looks through: local runs, and loose rows.
struct OwnParts {
    AggregateParts parts;
    const gpu_engine::AggregateInput **inputs;  // by part
    bool any;                                   // rows
};
OwnParts find_own_parts(const RemoteRows &rows, const AggregateParts &parts,
                        const gpu_engine::AggregateInput *const *inputs);

// ---- codes ------------------------------------------------------------------------------------------------

// Marks the codes that a column has in a run of the server's, in visible rows that pass the view's tests, as
// `mark_codes` does of a run that the session looks through. False: it can't be told. The first call for a
// column asks.
struct RemoteCodes {
    RemoteRows *rows;
    RemoteCounts *counted[kMaxColumns];  // by run; nullptr until asked for
};
bool mark_remote_codes(RemoteCodes *codes, int run, int column, uint8 *marks, bool *any_null);

}  // namespace pg_gpu::column
