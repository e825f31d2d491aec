// Messages about columns (gpu_engine/column.h).
#pragma once

#include <cstdint>

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
                                    MergeColumnDictionaries, MergeColumnDictionariesReply>;

}  // namespace gpu_engine::protocol
