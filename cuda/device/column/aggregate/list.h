// Listing the groups of a table that have rows.
#pragma once

#include "device/column/aggregate/table.cuh"
#include "device/call.h"
#include "gpu_engine/aggregate_keys.h"
#include "gpu_engine/aggregate_top.h"

namespace gpu_engine::device {

// A key of groups that are listed or dense. Of dense ones the code is number / factor % codes, which have 32
// bits, since dense groups do.
struct GroupKey {
    AggregateKey key;
    std::uint32_t factor;
    std::uint32_t codes;
};

// Only groups whose code of the key is in a marked span count. Without marks all groups do.
struct MarkedView {
    const std::uint64_t *marks;
    GroupKey key;
};

// A table and what its records are. A listed record has `words` words: those of the key, then the
// accumulators' without any that was added to the program on the device.
struct FilledTable {
    TableView table;
    std::uint64_t records;
    std::uint32_t rows_word;  // where groups are dense: the word that is 0 without rows
    std::uint32_t key_words;  // words of a listed record's key
    std::uint32_t words;
    MarkedView marked = {};
    // All records are listed groups already, of the same words.
    bool is_list = false;
};

// Returns how many groups there are. Throws Failure.
std::uint64_t count_groups(const Call &call, const FilledTable &filled);
// Does the same without waiting: *number, which is pinned, is right once the device has been waited for.
void count_groups_later(const Call &call, const FilledTable &filled, volatile std::uint64_t *number);
// Besides, marks which spans of the keys' codes groups have. `marks` is on the device.
void mark_groups_later(const Call &call, const FilledTable &filled, const AggregateProgram &program,
                       KeyMarks *marks, volatile std::uint64_t *number);
// Returns a key of the program with its place in the numbers of dense groups.
GroupKey key_of(const AggregateProgram &program, std::uint32_t number);

// Lists all groups, in no certain order: `groups` of them, which is the result of count_groups.
Buffer<std::uint64_t> list_groups(const Call &call, const FilledTable &filled, const ProgramView &program,
                                  std::uint64_t groups);

// All groups of a table that is so small that they needn't be counted first: there is room for as many as the
// table has places. *number, which is pinned, is how many there are once the device has been waited for.
Buffer<std::uint64_t> list_small_table(const Call &call, const FilledTable &filled,
                                       const ProgramView &program, volatile std::uint64_t *number);

// Those that can be among the first top.count, and maybe others. `is_narrow`: they are ordered by a narrow
// sum. *groups becomes how many are listed.
Buffer<std::uint64_t> list_first_groups(const Call &call, const FilledTable &filled,
                                        const ProgramView &program, const AggregateTop &top, bool is_narrow,
                                        std::uint64_t *groups);

}  // namespace gpu_engine::device
