#include "column/query/aggregate_filters.h"

#include "gpu_engine/aggregate_steps.h"

namespace pg_gpu::column {

using gpu_engine::AggregateProgram;

KnownFilter read_filter(const AggregateProgram &program, const AggregatePart &part, uint16 step) {
    uint16 conditions[gpu_engine::max_aggregate_steps];
    const uint32 count =
        step == gpu_engine::no_aggregate_step ? 0 : gpu_engine::list_conditions(program, step, conditions);
    KnownFilter filter = {step, allocate<const uint64 *>(count + 1), 0, allocate<uint16>(count + 1), 0};
    for (uint32 i = 0; i < count; i++) {
        const gpu_engine::AggregateStep &condition = program.step[conditions[i]];
        const uint64 *rows = condition.operation == gpu_engine::AggregateOperation::input
                                 ? true_rows_of(part, condition.left)
                                 : nullptr;
        if (rows == nullptr)
            filter.others[filter.other_count++] = conditions[i];
        else
            filter.rows[filter.row_count++] = rows;
    }
    return filter;
}

}  // namespace pg_gpu::column
