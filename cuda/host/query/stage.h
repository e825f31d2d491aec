// A stage of a query: rows of a scan, or of the stage before, through computations into what must see all of
// them (an aggregate, a sort, a window) or into the result.
#pragma once

#include <tbb/enumerable_thread_specific.h>

#include <atomic>
#include <memory>
#include <vector>

#include "host/query/aggregation.h"
#include "host/query/collect.h"
#include "host/query/combinations.h"
#include "host/query/join.h"

namespace gpu_engine::host {

// What a query has come to, for all stages.
struct RunState {
    std::atomic<bool> has_failed{false};
    std::atomic<bool> is_full{false};        // there are more than max_rows
    std::atomic<bool> is_unresolved{false};  // rows on unknown blocks pass

    // Nothing more is computed then; unresolved rows are still looked for.
    bool stopped() const noexcept {
        return has_failed.load(std::memory_order_relaxed) || is_full.load(std::memory_order_relaxed) ||
               is_unresolved.load(std::memory_order_relaxed);
    }
};

class Stage {
  public:
    // By node: of joins, whose build sides are there before.
    using JoinTables = std::vector<std::unique_ptr<JoinTable>>;

    // `nodes` are computations and joins, and perhaps an aggregate, a sort or a window behind them. `input`
    // is the node that gives the rows, and `is_last` is whether the result is the query's.
    Stage(HostEngine &engine, const Workers &workers, const query::Query &query, const JoinTables &tables,
          std::uint32_t input, std::vector<std::uint32_t> nodes, bool is_last,
          const std::vector<query::SumScale> &scales, RunState *state);

    // The rows' sources, one after the other. A scan's rows that are unresolved are put into these.
    void add_run(const query::RunSource &run, const KnownBlocks *known);
    void add_input(const query::InputSource &input);
    void add_rows(const RowParts &rows, const query::RecordLayout &layout);
    // Behind them, the build rows that joins give without a match.
    void add_unmatched();

    // The result. Sets what the query has come to where there is none.
    RowParts finish();
    RowParts take_unresolved();

    // Sums of floats had no place for a value: the stage has to be run once more, first to find the spans of
    // the values.
    bool misfits() const noexcept { return misfits_; }
    void only_find_spans() noexcept { finds_spans_ = true; }
    // The scales that its sums need, by accumulator.
    std::vector<query::SumScale> needed_scales();

    const query::RecordLayout &layout() const noexcept { return layout_; }

  private:
    // A thread's.
    struct Local {
        // By operator.
        std::vector<std::unique_ptr<Program>> programs;
        std::vector<std::unique_ptr<VectorTile>> tiles;
        std::vector<std::unique_ptr<JoinProbe>> joins;
        std::unique_ptr<Program> aggregate;
        std::unique_ptr<Accumulating> groups;
        std::unique_ptr<RowCollector> collector;
        std::unique_ptr<RunTile> run_tile;
        std::unique_ptr<QueryRows> unresolved;
        std::vector<query::FloatSpan> spans;
        std::uint64_t rows = 0;
    };

    const query::Node &node(std::uint32_t number) const noexcept { return query_.nodes[number]; }
    bool ends_with(query::NodeKind kind) const noexcept {
        return !nodes_.empty() && node(nodes_.back()).kind == kind;
    }
    // Are its rows collected to be sorted?
    bool is_sorted() const noexcept {
        return ends_with(query::NodeKind::sort) || ends_with(query::NodeKind::window);
    }
    Local &local();
    std::vector<std::uint32_t> taken_columns() const;
    void add_combinations(const RunReader &reader, const query::RunSource &run, const KnownBlocks *known,
                          const Combinations &combinations);
    template <typename Visit>
    void for_run(const RunReader &reader, const query::RunSource &run, const KnownBlocks *known, Visit visit);
    void add_tile(Local &own, TileInput &tile) { add_to(own, 0, tile); }
    void add_to(Local &own, std::size_t place, TileInput &tile);
    TileInput *compute(Local &own, std::size_t place, TileInput &input);
    void collect(Local &own, TileInput &input);
    bool is_join(std::size_t place) const noexcept {
        return node(operators_[place]).kind == query::NodeKind::join;
    }
    const JoinTable &table(std::size_t place) const noexcept { return *tables_[operators_[place]]; }
    void add_to_groups(Local &own, TileInput &tile);
    void find_spans(Local &own, std::uint32_t count);
    std::uint32_t claim(std::size_t place, std::uint32_t count);
    // Is a computation's limit reached?
    bool has_enough() const noexcept;
    void note_count(std::uint64_t count);
    RowParts finish_groups();

    HostEngine &engine_;
    const Workers &workers_;
    const query::Query &query_;
    const JoinTables &tables_;
    std::uint32_t input_;
    std::vector<std::uint32_t> nodes_;
    std::vector<std::uint32_t> operators_;  // computations and joins
    bool is_last_;
    RunState *state_;
    query::RecordLayout layout_;     // of the result
    query::RecordLayout collected_;  // of rows that are collected
    SortPlan sort_;
    std::unique_ptr<GroupPlan> plan_;
    std::vector<std::atomic<std::uint64_t>> left_;  // by operator, of a computation's limit
    std::vector<Buffer<std::uint8_t>> marks_;       // by operator: which build rows have had a match
    std::atomic<std::uint64_t> collected_rows_{0};
    std::atomic<bool> misfits_{false};
    bool finds_spans_ = false;
    tbb::enumerable_thread_specific<std::unique_ptr<Local>> locals_;
};

}  // namespace gpu_engine::host
