// Results of several engines put together.
#include <algorithm>

#include "common/column/aggregate.h"
#include "gpu_engine/aggregate_merge.h"
#include "gpu_engine/guard.h"
#include "host/column/aggregate/output.h"
#include "host/column/aggregate/join_groups.h"
#include "host/column/aggregate/top_rows.h"
#include "host/engine.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t records_a_span = 1 << 15;

// A request that failed in one of its parts has failed.
AggregateOutcome outcome_of(const AggregateMerge &merge) {
    AggregateOutcome outcome = AggregateOutcome::answered;
    for (std::size_t part = 0; part < merge.part_count; ++part) {
        const AggregateOutcome its = merge.parts[part].outcome;
        if (its != AggregateOutcome::answered && outcome != AggregateOutcome::failed) {
            outcome = its;
        }
    }
    return outcome;
}

void merge_groups(HostEngine &engine, const Workers &workers, const AggregateMerge &merge,
                  HostAggregateOutput *output) {
    const std::uint32_t words = output->plan->record_words();
    std::vector<RecordSpan> found;
    std::uint64_t expected = 0;
    Records unresolved(engine.memory(), words + 1);
    for (std::size_t part = 0; part < merge.part_count; ++part) {
        const AggregateRecords &records = merge.parts[part];
        expected = std::max(expected, records.groups);
        // All threads share out the groups of few results.
        for (std::uint64_t first = 0; first < records.groups; first += records_a_span) {
            found.emplace_back(records.group_records + first * words,
                               std::min(records_a_span, records.groups - first), words);
        }
        for (std::uint64_t i = 0; i < records.unresolved; ++i) {
            std::copy_n(records.unresolved_records + i * (words + 1), words + 1, unresolved.add(1));
        }
    }
    // Memory alone bounds the groups that are found, if the result has only the first ones, or their number.
    const bool wants_less = merge.top.count > 0 || wants_only_counts(merge.top);
    std::vector<Groups> joined;
    if (!join_groups(engine.memory(), workers, *output->plan, found, expected,
                     wants_less ? UINT32_MAX : merge.max_groups, &joined)) {
        output->result = AggregateOutcome::too_many_groups;
        return;
    }
    // Unresolved rows may change the order, and belong to the same groups.
    GroupsLeft left(engine.memory(), merge.top);
    give_groups(workers, std::move(joined), wants_less && unresolved.count() == 0 ? &left : nullptr, output);
    for (std::size_t part = 0; part < merge.part_count; ++part) {
        output->only_counted += merge.parts[part].counted;
    }
    output->unresolved_parts.push_back(std::move(unresolved));
    if (output->groups() + output->unresolved() > merge.max_groups) {
        output->result = AggregateOutcome::too_many_groups;
    }
}

}  // namespace

Status merge_outputs(Engine &engine, Stream &stream, const AggregateMerge &merge,
                     std::unique_ptr<AggregateOutput> *output) noexcept {
    return guarded([&] {
        auto &host = dynamic_cast<HostEngine &>(engine);
        check_top(*merge.program, merge.top);
        AggregatePlan plan;
        plan.program = *merge.program;
        auto merged =
            std::make_unique<HostAggregateOutput>(host.memory(), std::move(plan), outcome_of(merge));
        if (merged->result == AggregateOutcome::answered) {
            if (merge.top.of_rows != 0 && !wants_only_counts(merge.top)) {
                merge_top_rows(host.memory(), merge, merged.get());
            } else {
                merge_groups(host, host.workers(stream), merge, merged.get());
            }
        }
        *output = std::move(merged);
        return Status{};
    });
}

}  // namespace gpu_engine::host
