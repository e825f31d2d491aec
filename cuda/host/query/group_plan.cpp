#include "host/query/group_plan.h"

#include <algorithm>
#include <limits>

#include "host/query/tile.h"

namespace gpu_engine::host {

using query::AccumulatorKind;

namespace {

std::uint32_t state_words(AccumulatorKind kind, ValueType type, const query::SumScale &scale) {
    switch (kind) {
        case AccumulatorKind::sum:
            return 2;
        case AccumulatorKind::sum_float:
            return scale.words + 1;
        case AccumulatorKind::least:
        case AccumulatorKind::greatest:
        case AccumulatorKind::any_value:
            return query::words_of(type);
        default:
            return 1;
    }
}

bool is_never_null(AccumulatorKind kind) {
    return kind == AccumulatorKind::count_rows || kind == AccumulatorKind::count;
}

// The state of which any value is less, or greater: or it is that value.
template <typename Type>
Type first_extreme(bool is_least) {
    if constexpr (sizeof(Type) == 16) {
        const Int128 least = query::least_integer<Int128>();
        return is_least ? ~least : least;
    } else if constexpr (std::is_same_v<Type, double>) {
        return is_least ? std::numeric_limits<double>::quiet_NaN() : -std::numeric_limits<double>::infinity();
    } else if constexpr (sizeof(Type) == 1) {
        return is_least ? 1 : 0;
    } else {
        return is_least ? INT64_MAX : INT64_MIN;
    }
}

}  // namespace

GroupPlan::GroupPlan(const query::Query &requested, const query::Node &aggregate,
                     const std::vector<query::SumScale> &scales)
    : query(requested), node(aggregate) {
    for (std::uint32_t i = 0; i < node.outputs.count; ++i) {
        key_types.push_back(step(query.outputs[node.outputs.first + i]).type);
        key_words += (i == 0 ? 1 : 0) + query::words_of(key_types.back());
    }
    std::int32_t seen = 0;
    for (std::uint32_t i = 0; i < node.accumulators.count; ++i) {
        AccumulatorPlan accumulator = {};
        accumulator.requested = query.accumulators[node.accumulators.first + i];
        const query::Accumulator &own = accumulator.requested;
        accumulator.type = query::takes_argument(own.kind) ? step(own.argument).type : ValueType::int64;
        const query::Operation operation =
            query::takes_argument(own.kind) ? step(own.argument).operation : query::Operation::null;
        accumulator.scale = !scales.empty()                               ? scales[i]
                            : operation == query::Operation::product_rest ? usual_rest_scale
                            : operation == query::Operation::multiply     ? usual_product_scale
                                                                          : usual_scale;
        accumulator.seen_bit = -1;
        accumulator.value_set = no_value_set;
        const std::uint32_t first = query::gathering(query.accumulators + node.accumulators.first, i);
        if (query::wants_values(own)) {
            const auto same = [&](const ValueSetPlan &set) {
                return set.argument == own.argument && set.filter == own.filter;
            };
            const auto set = std::find_if(value_sets.begin(), value_sets.end(), same);
            accumulator.value_set = static_cast<std::uint32_t>(set - value_sets.begin());
            if (set == value_sets.end()) {
                value_sets.push_back({own.argument, own.filter, accumulator.type});
            }
        } else if (first != i) {
            accumulator.seen_bit = accumulators[first].seen_bit;
            accumulator.scale = accumulators[first].scale;
        } else {
            accumulator.words = state_words(own.kind, accumulator.type, accumulator.scale);
            accumulator.seen_bit = is_never_null(own.kind) ? -1 : seen++;
        }
        accumulators.push_back(accumulator);
    }
    seen_words = static_cast<std::uint32_t>(seen + 63) / 64;
    record_words = key_words + seen_words;
    for (std::uint32_t i = 0; i < accumulators.size(); ++i) {
        const std::uint32_t first = query::gathering(query.accumulators + node.accumulators.first, i);
        accumulators[i].word = first == i ? record_words : accumulators[first].word;
        record_words += accumulators[i].words;
    }
    record_words = std::max(record_words, 1U);
}

bool GroupPlan::only_counts(std::uint32_t set) const noexcept {
    return std::all_of(accumulators.begin(), accumulators.end(), [&](const AccumulatorPlan &own) {
        return own.value_set != set || own.requested.kind == AccumulatorKind::count;
    });
}

bool GroupPlan::only_percentiles(std::uint32_t set) const noexcept {
    return std::all_of(accumulators.begin(), accumulators.end(), [&](const AccumulatorPlan &own) {
        return own.value_set != set || query::is_percentile(own.requested.kind);
    });
}

void GroupPlan::begin(std::uint64_t *record) const noexcept {
    std::fill(record + key_words, record + record_words, 0);
    for (const AccumulatorPlan &accumulator : accumulators) {
        std::uint64_t *state = record + accumulator.word;
        const AccumulatorKind kind = accumulator.requested.kind;
        if (kind == AccumulatorKind::bit_and) {
            *state = UINT64_MAX;
        } else if (kind == AccumulatorKind::least || kind == AccumulatorKind::greatest) {
            with_stored(accumulator.type, [&]<typename Type>(Type) {
                query::Words<Type>::write(first_extreme<Type>(kind == AccumulatorKind::least), state);
            });
        }
    }
}

bool GroupPlan::merge(std::uint64_t *record, const std::uint64_t *other) const noexcept {
    bool has_room = true;
    for (const AccumulatorPlan &accumulator : accumulators) {
        std::uint64_t *state = record + accumulator.word;
        const std::uint64_t *others = other + accumulator.word;
        if (accumulator.words == 0) {
            continue;
        }
        switch (accumulator.requested.kind) {
            case AccumulatorKind::sum: {
                Int128 sum;
                has_room &= query::add_integers(query::Words<Int128>::read(state),
                                                query::Words<Int128>::read(others), &sum);
                query::Words<Int128>::write(sum, state);
                break;
            }
            case AccumulatorKind::sum_float:
                query::add_sum(state, others, accumulator.scale.words);
                state[accumulator.scale.words] |= others[accumulator.scale.words];
                break;
            case AccumulatorKind::least:
            case AccumulatorKind::greatest:
                with_stored(accumulator.type, [&]<typename Type>(Type) {
                    const Type own = query::Words<Type>::read(state);
                    const Type their = query::Words<Type>::read(others);
                    const bool is_better = accumulator.requested.kind == AccumulatorKind::least
                                               ? query::is_less(their, own)
                                               : query::is_less(own, their);
                    query::Words<Type>::write(is_better ? their : own, state);
                });
                break;
            case AccumulatorKind::bit_and:
                *state &= *others;
                break;
            case AccumulatorKind::bit_or:
                *state |= *others;
                break;
            case AccumulatorKind::bit_xor:
                *state ^= *others;
                break;
            case AccumulatorKind::any_value:
                if ((other[seen_at() + accumulator.seen_bit / 64] >> (accumulator.seen_bit % 64) & 1) != 0) {
                    std::copy_n(others, accumulator.words, state);
                }
                break;
            default:
                *state += *others;
        }
    }
    for (std::uint32_t i = 0; i < seen_words; ++i) {
        record[seen_at() + i] |= other[seen_at() + i];
    }
    return has_room;
}

bool GroupPlan::finish(const std::uint64_t *record, const query::RecordLayout &layout,
                       std::uint64_t *result) const noexcept {
    bool has_room = true;
    std::fill_n(result, layout.words.empty() ? 0 : layout.words[0], 0);
    if (!key_types.empty()) {
        result[0] = record[0];
        std::copy_n(record + 1, key_words - 1, result + layout.words[0]);
    }
    for (std::size_t i = 0; i < accumulators.size(); ++i) {
        const AccumulatorPlan &accumulator = accumulators[i];
        const std::size_t column = key_types.size() + i;
        std::uint64_t *words = result + layout.words[column];
        const std::uint64_t *state = record + accumulator.word;
        if (accumulator.value_set != no_value_set) {
            const bool is_null = !is_never_null(accumulator.requested.kind);
            result[column / 64] |= std::uint64_t{is_null ? 1U : 0U} << (column % 64);
            std::fill_n(words, query::words_of(layout.types[column]), 0);
            continue;
        }
        const std::int32_t bit = accumulator.seen_bit;
        if (bit >= 0 && (record[seen_at() + bit / 64] >> (bit % 64) & 1) == 0) {
            result[column / 64] |= std::uint64_t(1) << (column % 64);
            std::fill_n(words, query::words_of(layout.types[column]), 0);
        } else if (accumulator.requested.kind == AccumulatorKind::sum_float) {
            std::uint64_t sum[max_scale_words];
            std::copy_n(state, accumulator.scale.words, sum);
            double part;
            has_room &= query::round_sum_part(sum, accumulator.scale, state[accumulator.scale.words],
                                              accumulator.requested.detail, &part);
            query::Words<double>::write(part, words);
        } else {
            std::copy_n(state, accumulator.words, words);
        }
    }
    return has_room;
}

}  // namespace gpu_engine::host
