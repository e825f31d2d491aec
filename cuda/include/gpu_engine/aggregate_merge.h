// Results of one request about groups, of several engines that had some of its parts each, put together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gpu_engine/aggregate.h"
#include "gpu_engine/aggregate_top.h"
#include "gpu_engine/column.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/status.h"

namespace gpu_engine {

// The records that AggregateOutput gives, of some of a request's parts.
struct AggregateRecords {
    AggregateOutcome outcome;
    std::uint64_t groups;
    const std::uint64_t *group_records;
    std::uint64_t unresolved;
    const std::uint64_t *unresolved_records;
    std::uint64_t counted = 0;
};

// Only all results together tell which groups are the first ones, so that the results must have all groups.
// Left out may be those that no other result has and that aren't among the first ones of their own
// (AggregateOutput::leave_out), and, where the request is about rows (top_of_rows), those that aren't among
// the first of their part.
struct AggregateMerge {
    const AggregateProgram *program;
    std::uint64_t max_groups;  // that of the request, as is its top
    AggregateTop top;
    const AggregateRecords *parts;
    std::size_t part_count;
};

// The same results where they were found.
struct AggregateOutputs {
    const AggregateProgram *program;
    std::uint64_t max_groups;
    AggregateTop top;
    const AggregateOutput *const *parts;
    std::size_t part_count;
};

namespace host {
// Has a host engine compute the result, which is then in its memory. Any stream may cancel that, and read the
// answer.
Status merge_outputs(Engine &engine, Stream &stream, const AggregateMerge &merge,
                     std::unique_ptr<AggregateOutput> *output) noexcept;
}  // namespace host

// This function exists only in builds with PG_GPU_HAVE_CUDA.
namespace device {
// Has a cuda engine compute the result of groups that lie on devices, its own or others; groups go from
// device to device. `unavailable` where that isn't for it, which host::merge_outputs then does: a part is no
// device's or has no answer, there are no keys, the request is about rows. Waits.
Status merge_outputs(Engine &engine, Stream &stream, const AggregateOutputs &merge,
                     std::unique_ptr<AggregateOutput> *output) noexcept;
}  // namespace device

}  // namespace gpu_engine
