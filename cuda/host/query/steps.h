// A step of a query's program, computed for a tile.
#pragma once

#include "common/query/operation.h"
#include "host/query/tile.h"

namespace gpu_engine::host {

struct StepOperands {
    const Vector *operand[3];
    const Vector *guard;  // nullptr: none
};

// Computes an operation whose operands are stored as the types that it takes, `operand` being the first
// one's, or for `choose` the second one's. NULLs go to the room where there are any: *has_nulls. Returns
// false where a step fails.
bool compute_operation(query::Operation operation, ValueType operand, const query::StepContext &context,
                       const StepOperands &operands, std::uint32_t count, const VectorRoom &room,
                       bool *has_nulls);

}  // namespace gpu_engine::host
