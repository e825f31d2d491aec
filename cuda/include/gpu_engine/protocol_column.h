// Messages about columns (gpu_engine/column.h).
#pragma once

#include <cstdint>

#include "gpu_engine/aggregate.h"
#include "gpu_engine/column.h"
#include "gpu_engine/protocol_common.h"

namespace gpu_engine::protocol {

// Reserves memory for columns, which have a name, as BeginKary does for an array. All pages come, in order:
// those of TIDs, then those of the stream.
struct BeginColumn {
    RequestHeader header;
    RunName name;
    Holder holder;
    StoreLayout layout;
};

// A test of rows (ColumnTest), for all runs or for one of them by its place in the request: sets of codes
// mean a run's own dictionary. At `offset` lie `count` ValueRanges, or words of a set.
inline constexpr std::uint32_t all_runs = UINT32_MAX;
struct ColumnTestPlace {
    std::uint32_t kind;  // TestKind
    std::uint32_t column;
    std::uint32_t run;
    std::uint32_t reserved;
    std::uint64_t offset;
    std::uint64_t count;
};
inline constexpr std::uint32_t max_tests = 4096;

// count_column, count_column_values: rows that pass all tests, counted in each run by itself
// (ColumnStore::count). match_column: their TIDs (ColumnStore::match); no blocks and no target then.
struct QueryColumn {
    RequestHeader header;
    std::uint64_t tests;  // offset of ColumnTestPlaces
    std::uint32_t test_count;
    std::uint32_t target;  // TargetKind
    std::uint32_t column;
    std::uint32_t slots;
    std::uint64_t starts;  // offset, of slots - 1 values
    std::uint32_t scale;   // ValueScale
    std::uint32_t even;
    BlocksPlace blocks;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t reserved;
    std::uint32_t runs;
    RunUse run[max_runs];
};

// Says for each run where its counts lie (ColumnStore::places), how many rows were found, and where they lie:
// UnresolvedRows, or Tids for match_rows.
struct ColumnReply {
    ReplyHeader header;
    std::uint64_t needed;
    std::uint64_t rows;  // found in all runs
    std::uint64_t counts_at[max_runs];
    std::uint64_t found[max_runs];
    std::uint64_t found_at[max_runs];
};

// A program's input in one run (AggregateInput); maps lie in the buffer.
struct AggregateInputPlace {
    std::uint8_t kind;  // AggregateInputKind
    std::uint8_t column_null_is_null;
    std::uint16_t reserved;
    std::uint32_t column;
    std::uint64_t offset;
    std::uint64_t places;
    std::uint64_t values;  // offset, of maps and ranges
    std::uint64_t nulls;   // offset, of maps and ranges; nowhere: none is NULL
    std::int64_t of_column_null;
};

// Groups of the rows that pass all tests, of all runs together (Column::aggregate). At `program` lies an
// AggregateProgram, at `inputs` an AggregateInputPlace for each of its inputs in the first run, then those in
// the second, and so on.
struct AggregateColumn {
    RequestHeader header;
    std::uint64_t program;
    std::uint64_t inputs;
    std::uint64_t tests;  // offset of ColumnTestPlaces
    std::uint32_t test_count;
    std::uint32_t reserved;
    BlocksPlace blocks;
    std::uint64_t max_groups;  // in the result, unresolved rows among them
    AggregateTop top;
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint32_t padding;
    std::uint32_t runs;
    RunUse run[max_runs];
};

// The records of groups and of unresolved rows (AggregateOutput); none unless the outcome is answered. Groups
// come first, and as many records as there is room for. The rest of them the server keeps for read_groups,
// until the connection asks for anything else, or for nothing for a while.
struct AggregateReply {
    ReplyHeader header;
    std::uint64_t needed;           // bytes of the records here
    std::uint64_t groups;           // in all
    std::uint64_t unresolved;       // in all
    std::uint64_t counted;          // AggregateOutput::counted
    std::uint64_t groups_here;      // records of groups in the buffer now
    std::uint64_t unresolved_here;  // and of unresolved rows
    std::uint64_t groups_at;
    std::uint64_t unresolved_at;
    std::uint32_t outcome;  // AggregateOutcome
    std::uint32_t reserved;
};

// The next records of what aggregate_column found, on the same engine. The reply is an AggregateReply, too.
struct ReadGroups {
    RequestHeader header;
    std::uint64_t results;
    std::uint64_t capacity;
};

// Merges two sorted dictionaries of 64-bit integers (Column::merge_dictionaries). At `entries` the server
// writes their union, for which there is room for as many entries as both have together, and to each map a
// code of 32 bits for each entry of that dictionary.
struct MergeColumnDictionaries {
    RequestHeader header;
    std::uint64_t main;
    std::uint64_t main_count;
    std::uint64_t delta;
    std::uint64_t delta_count;
    std::uint64_t entries;
    std::uint64_t main_map;
    std::uint64_t delta_map;
};

struct MergeColumnDictionariesReply {
    ReplyHeader header;
    std::uint64_t count;  // number of entries of the union
};

using ColumnStructures = Structures<BeginColumn, ColumnTestPlace, ValueRange, QueryColumn, ColumnReply,
                                    AggregateInputPlace, AggregateColumn, AggregateReply, ReadGroups,
                                    AggregateProgram, MergeColumnDictionaries, MergeColumnDictionariesReply>;

}  // namespace gpu_engine::protocol
