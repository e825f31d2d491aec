// Groups that a result has in common with other engines' results, and what these must know of them.
#include "host/column/aggregate/output.h"
#include "host/column/aggregate/top_groups.h"

namespace gpu_engine::host {

template <typename Visit>
void HostAggregateOutput::for_groups(const Stream &stream, Visit visit) const {
    constexpr std::uint64_t groups_a_check = 1 << 16;
    const auto visit_part = [&](const auto &part) {
        for (std::uint64_t i = 0; i < part.count(); ++i) {
            if (i % groups_a_check == 0) {
                check_cancelled(stream);
            }
            visit(part.record(i));
        }
    };
    for (const RecordSpan &part : group_parts) {
        visit_part(part);
    }
    for (const Records &part : top_parts) {
        visit_part(part);
    }
}

Status HostAggregateOutput::mark_keys(Stream &stream, const AggregateProgram &program,
                                      KeyMarks *marks) const noexcept {
    return guarded([&] {
        *marks = {};
        for_groups(stream, [&](const std::uint64_t *record) {
            for (std::uint32_t k = 0; k < program.key_count; ++k) {
                const std::uint32_t span = key_span(program.key[k], record);
                marks->of_key[k][span / 64] |= std::uint64_t(1) << span % 64;
            }
        });
        return Status{};
    });
}

Status HostAggregateOutput::leave_out(Stream &stream, const AggregateProgram &program,
                                      const SharedKeys &shared, const AggregateTop &top,
                                      std::unique_ptr<AggregateOutput> *rest) const noexcept {
    return guarded([&] {
        check_leaving(program, top);
        const std::uint32_t words = plan->record_words();
        auto output = std::make_unique<HostAggregateOutput>(budget_, *plan, result);
        Records kept(budget_, words);
        TopGroups first(budget_, top.count);
        for_groups(stream, [&](const std::uint64_t *record) {
            if (is_marked(shared.marks, key_span(program.key[shared.key], record))) {
                std::copy_n(record, words, kept.add(1));
            } else if (top.count > 0) {
                const std::uint64_t high = top.is_wide != 0 ? record[top.word + 1] : 0;
                first.add(rank_in_order(top, record[top.word], high), record);
            } else {
                ++output->only_counted;
            }
        });
        first.leave();
        for (std::uint64_t i = 0; i < first.count(); ++i) {
            std::copy_n(first.record(i), words, kept.add(1));
        }
        output->top_parts.push_back(std::move(kept));
        *rest = std::move(output);
        return Status{};
    });
}

}  // namespace gpu_engine::host
