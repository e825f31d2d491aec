// Rows that are collected as records, in no order or to be sorted.
#pragma once

#include <vector>

#include "host/parallel.h"
#include "host/query/rows.h"
#include "host/query/tile.h"

#include "common/query/plan.h"

namespace gpu_engine::host {

// How rows are sorted: words before a record compare as the rows do, the first one first.
struct SortPlan {
    std::vector<query::SortKey> keys;
    std::vector<std::uint32_t> words;  // by key: its first word, which says where NULLs are
    std::uint32_t key_words = 0;
    std::uint64_t limit = UINT64_MAX;

    SortPlan() = default;
    SortPlan(const query::Query &query, const query::Node &sort, const query::RecordLayout &layout);
};

// One thread's.
class RowCollector {
  public:
    // Without keys in `sort` rows are in no order, and there is no limit.
    RowCollector(MemoryBudget &budget, const query::RecordLayout &layout, const SortPlan &sort);

    // Adds a tile's rows. Of sorted ones those that can't be among the first are left out.
    void add(TileInput &input);
    QueryRows &rows() noexcept { return rows_; }

  private:
    void write_keys(std::uint32_t count);
    bool leave_candidates(TileInput *input);
    void leave_first();

    MemoryBudget &budget_;
    const query::RecordLayout &layout_;
    const SortPlan &sort_;
    QueryRows rows_;
    Buffer<char> memory_;
    std::vector<VectorRoom> rooms_;
    std::vector<Vector> vectors_;
    Buffer<std::uint64_t> keys_;        // of the tile, a row's words one behind the other
    std::vector<std::uint64_t> bound_;  // the key of the last one of the first rows; empty: none yet
};

// Leaves the first rows of all, in their order, without their keys.
QueryRows sort_rows(MemoryBudget &budget, const Workers &workers, const SortPlan &sort,
                    std::uint32_t record_words, const std::vector<QueryRows *> &parts);

}  // namespace gpu_engine::host
