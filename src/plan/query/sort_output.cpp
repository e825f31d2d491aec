#include "plan/query/sort_output.h"

#include "column/query/top_rows.h"
#include "plan/query/sort_keys.h"
#include "request_kinds.h"

namespace pg_gpu::plan {

using gpu_engine::AggregateOutcome;
using gpu_engine::AggregateTop;

static AggregateTop order_of_rows(const AggregateRequest &request, const CompiledAggregate &compiled) {
    AggregateTop top = {};
    top.count = request.rows;
    top.of_rows =
        static_cast<uint16>(gpu_engine::top_of_rows | (request.with_ties ? gpu_engine::top_with_ties : 0) |
                            (compiled.sorts_by_inputs ? gpu_engine::top_by_first_key : 0));
    return top;
}

static void take_rows(const AggregateRequest &request, column::KeptRows *kept, AggregateOutput *output) {
    gpu_engine::sort_top_rows(&kept->rows);
    output->row_count = kept->rows.count;
    output->rows =
        static_cast<uint64 *>(MemoryContextAllocHuge(request.keep, (kept->rows.count + 1) * sizeof(uint64)));
    for (uint64 i = 0; i < kept->rows.count; i++)
        output->rows[i] = kept->rows.record(kept->rows.order[i])[kept->rows.key_words];
}

const char *find_rows(const AggregateRequest &request, const InputBuilder &builder,
                      CompiledAggregate *compiled, AggregateOutput *output) {
    const char *problem = lay_out_sort_keys(builder, compiled);
    if (problem != nullptr)
        return problem;
    const AggregateTop top = order_of_rows(request, *compiled);
    column::KeptRows kept = column::begin_cached_rows(compiled->program, top, builder.memory);
    switch (column::add_top_rows(*builder.parts, compiled->program, builder.inputs, top, &kept)) {
        case AggregateOutcome::answered:
            take_rows(request, &kept, output);
            return nullptr;
        case AggregateOutcome::failed:
            return "an expression overflows or divides by zero";
        default:
            return "work_mem has no room for the rows";
    }
}

bool find_rows_on_server(const AggregateRequest &request, column::RemoteRows *rows,
                         const InputBuilder &builder, CompiledAggregate *compiled, AggregateOutput *output) {
    const char *problem = lay_out_sort_keys(builder, compiled);
    if (problem != nullptr) {
        client::decline(client::RequestKind::AggregateColumn, rows->choice, problem);
        return false;
    }
    const AggregateTop top = order_of_rows(request, *compiled);
    column::KeptRows kept = column::begin_cached_rows(compiled->program, top, builder.memory);
    const uint64 expected = Min(top.count, static_cast<uint64>(Max(request.groups, 1.0)));
    if (!column::find_top_rows_on_server(rows, *builder.parts, compiled->program, builder.inputs, top,
                                         expected, &kept))
        return false;
    take_rows(request, &kept, output);
    return true;
}

}  // namespace pg_gpu::plan
