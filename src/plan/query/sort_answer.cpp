#include "plan/query/sort_answer.h"

#include "column/query/top_rows.h"
#include "plan/query/sort_keys.h"
#include "request_kinds.h"

namespace pg_gpu::plan {

using gpu_engine::AggregateOutcome;
using gpu_engine::AggregateTop;

static AggregateTop order_of_rows(const AggregateQuestion &question, const CompiledAggregate &compiled) {
    AggregateTop top = {};
    top.count = question.rows;
    top.of_rows =
        static_cast<uint16>(gpu_engine::top_of_rows | (question.with_ties ? gpu_engine::top_with_ties : 0) |
                            (compiled.sorts_by_inputs ? gpu_engine::top_by_first_key : 0));
    return top;
}

static void take_rows(const AggregateQuestion &question, column::KeptRows *kept, AggregateAnswer *answer) {
    gpu_engine::sort_top_rows(&kept->rows);
    answer->row_count = kept->rows.count;
    answer->rows =
        static_cast<uint64 *>(MemoryContextAllocHuge(question.keep, (kept->rows.count + 1) * sizeof(uint64)));
    for (uint64 i = 0; i < kept->rows.count; i++)
        answer->rows[i] = kept->rows.record(kept->rows.order[i])[kept->rows.key_words];
}

const char *find_rows(const AggregateQuestion &question, const InputMaker &maker, CompiledAggregate *compiled,
                      AggregateAnswer *answer) {
    const char *problem = lay_out_sort_keys(maker, compiled);
    if (problem != nullptr)
        return problem;
    const AggregateTop top = order_of_rows(question, *compiled);
    column::KeptRows kept = column::begin_kept_rows(compiled->program, top, maker.memory);
    switch (column::add_top_rows(*maker.parts, compiled->program, maker.inputs, top, &kept)) {
        case AggregateOutcome::answered:
            take_rows(question, &kept, answer);
            return nullptr;
        case AggregateOutcome::failed:
            return "an expression overflows or divides by zero";
        default:
            return "work_mem has no room for the rows";
    }
}

bool find_rows_on_server(const AggregateQuestion &question, column::RemoteRows *rows, const InputMaker &maker,
                         CompiledAggregate *compiled, AggregateAnswer *answer) {
    const char *problem = lay_out_sort_keys(maker, compiled);
    if (problem != nullptr) {
        client::decline(client::RequestKind::AggregateColumn, rows->choice, problem);
        return false;
    }
    const AggregateTop top = order_of_rows(question, *compiled);
    column::KeptRows kept = column::begin_kept_rows(compiled->program, top, maker.memory);
    const uint64 expected = Min(top.count, static_cast<uint64>(Max(question.groups, 1.0)));
    if (!column::find_top_rows_on_server(rows, *maker.parts, compiled->program, maker.inputs, top, expected,
                                         &kept))
        return false;
    take_rows(question, &kept, answer);
    return true;
}

}  // namespace pg_gpu::plan
