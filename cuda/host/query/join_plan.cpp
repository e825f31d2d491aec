#include "host/query/join_plan.h"

namespace gpu_engine::host {

JoinPlan::JoinPlan(const query::Query &its_query, const query::Node &join)
    : query(its_query),
      node(join),
      kind(join.join),
      probed_types(query::column_types(its_query, join.input)),
      build(query::column_types(its_query, join.build)),
      outputs(its_query.outputs + join.outputs.first,
              its_query.outputs + join.outputs.first + join.outputs.count),
      is_taken(probed_types.size() + build.types.size()) {
    for (std::uint32_t i = 0; i < join.join_keys.count; i += 2) {
        const std::uint16_t *pair = its_query.outputs + join.join_keys.first + i;
        probed_keys.push_back(pair[0]);
        build_keys.push_back(pair[1]);
        key_types.push_back(probed_types[pair[0]]);
        key_words += query::words_of(key_types.back());
    }
    const auto read_bound = [&](const query::Span &bound) -> std::optional<JoinBound> {
        if (bound.count == 0) {
            return std::nullopt;
        }
        const std::uint16_t *pair = its_query.outputs + bound.first;
        return JoinBound{pair[0], pair[1], probed_types[pair[0]]};
    };
    at_most = read_bound(join.at_most);
    at_least = read_bound(join.at_least);
    for (const std::uint32_t column : outputs) {
        is_taken[column] = true;
    }
    for (const query::StepPass &pass : query::passes_of(its_query, join)) {
        for (const std::uint16_t number : pass.steps) {
            const query::Step &step = its_query.steps[join.steps.first + number];
            if (step.operation == query::Operation::column) {
                is_taken[step.left] = true;
            }
        }
    }
}

}  // namespace gpu_engine::host
