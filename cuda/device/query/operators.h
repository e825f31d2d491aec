// The operators of a query that make a table of rows.
#pragma once

#include <deque>

#include "device/query/join_table.h"

namespace gpu_engine::query::on_device {

// Thrown where a step fails in a row that counts.
struct StepFailed {};

// A column of a table as kernels write it. `nulls` is null where no row can be NULL.
struct OutputView {
    std::uint64_t *values;
    std::uint64_t *nulls;
};
inline OutputView view_of(const Table::Column &column) {
    return {column.values.data(), column.nulls.size() > 0 ? column.nulls.data() : nullptr};
}

// The composer's columns, of the rows of all sources that pass its filters: `limit` of them at most. Rows
// keep their order.
Table list_rows(const Call &call, const QueryData &data, const Composer &composer,
                const std::deque<RowSource> &sources, std::uint64_t limit);

// Which rows of a source pass a composer's filters, by lots of device::rows_a_warp.
struct Passed {
    Buffer<uint4> rows;            // a bit a row
    Buffer<std::uint64_t> places;  // how many pass in the lots before
    std::uint64_t count = 0;
};
// Of a composer that has a filter.
Passed select_passing(const Call &call, const QueryData &data, const Composer &composer,
                      const RowSource &source);

// The joined rows of a join that can't be probed: their columns are those of the probed table, then of the
// build one. The tables, and the join's, stay as long as the sources.
std::deque<RowSource> join_rows(const Call &call, const Query &query, const QueryData &data, const Node &join,
                                const Table &probed, const Table &build, JoinTable &table);

// The groups of these rows.
Table aggregate(const Call &call, const Query &query, const QueryData &data, const Node &node,
                Composer &composer, const std::deque<RowSource> &sources);

Table sort(const Call &call, const Query &query, const Node &node, const Table &rows);

// The rows in a window's order, with its functions behind their columns.
Table add_functions(const Call &call, const Query &query, const Node &window, const Table &rows);

// The rows as an answer has them: records of words.
Buffer<std::uint64_t> make_records(const Call &call, const Table &table);

}  // namespace gpu_engine::query::on_device
