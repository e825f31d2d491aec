// The steps of a node, computed for a tile of rows at a time.
#pragma once

#include <vector>

#include "common/query/plan.h"
#include "host/query/tile.h"

namespace gpu_engine::host {

// One thread's. Rows that fail the filter are left out before the rest is computed.
class Program {
  public:
    // Throws Failure when there is no memory. The query has to stay. With `defers`, columns of which nothing
    // is computed aren't loaded.
    Program(MemoryBudget &budget, const query::Query &query, const query::Node &node, bool defers = false);

    // Computes the steps of the rows that pass, which are those that `input` is left with. Returns false
    // where a step failed.
    bool compute(TileInput &input);

    // Steps, of the rows that are left: outputs, and an accumulator's argument and filter.
    const Vector &step(std::uint16_t number) const noexcept { return vectors_[number]; }
    // Such a column, which is its operand.
    bool is_deferred(std::uint16_t step) const noexcept { return is_deferred_[step]; }
    std::uint32_t column_of(std::uint16_t step) const noexcept { return steps_[step].left; }

  private:
    struct Register {
        VectorRoom room;
        bool is_constant;
        bool is_wide;  // its results had no room in 64 bits before
    };

    void defer_columns();
    void add_constant(std::uint16_t number);
    bool compute_steps(const std::vector<std::uint16_t> &steps, TileInput &input);
    bool compute_step(std::uint16_t number, TileInput &input);
    bool compute_wide_or_narrow(std::uint16_t number, std::uint32_t count);
    Vector widened(const Vector &vector, std::uint32_t count, int place);
    void leave_passing(const query::StepPass &pass, TileInput &input);

    const query::Query &query_;
    const query::Step *steps_;
    std::vector<query::StepPass> passes_;
    std::vector<bool> is_deferred_;
    std::vector<query::StepContext> contexts_;
    std::vector<Vector> vectors_;
    std::vector<Register> registers_;
    Buffer<char> memory_;
    Buffer<Int128> wide_[3];
};

}  // namespace gpu_engine::host
