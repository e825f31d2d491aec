// How groups of an aggregate are kept: a record has the words of the key (one of NULL bits, then those of the
// values), words of bits that say which accumulators have seen a value, and the accumulators' states.
#pragma once

#include <vector>

#include "common/query/plan.h"
#include "common/query/sum_float.h"

namespace gpu_engine::host {

using query::ValueType;

inline constexpr std::uint32_t no_value_set = UINT32_MAX;

struct AccumulatorPlan {
    query::Accumulator requested;
    ValueType type;           // of the argument
    std::uint32_t word;       // of its state in the record
    std::uint32_t words;      // 0 where it has no state of its own
    std::int32_t seen_bit;    // -1: it is never NULL, or knows from its values
    std::uint32_t value_set;  // that the result comes from; no_value_set: from the state
    query::SumScale scale;    // of sum_float: its state is the sum's words and one of flags
};

// Values of an argument by group, each with how often it came. Accumulators may share one.
struct ValueSetPlan {
    std::uint16_t argument;
    std::uint16_t filter;
    ValueType type;
};

struct GroupPlan {
    const query::Query &query;
    const query::Node &node;
    std::vector<ValueType> key_types;
    std::uint32_t key_words = 0;
    std::uint32_t seen_words = 0;
    std::uint32_t record_words = 0;
    std::vector<AccumulatorPlan> accumulators;
    std::vector<ValueSetPlan> value_sets;

    // `scales` has a scale for each accumulator that sums floats, others' are ignored. Empty: the usual ones.
    GroupPlan(const query::Query &requested, const query::Node &aggregate,
              const std::vector<query::SumScale> &scales);

    const query::Step &step(std::uint16_t number) const noexcept {
        return query.steps[node.steps.first + number];
    }
    // Do all accumulators of a set of values only count them?
    bool only_counts(std::uint32_t set) const noexcept;
    // Are they all percentiles, which don't ask how often a value came?
    bool only_percentiles(std::uint32_t set) const noexcept;
    std::uint32_t seen_at() const noexcept { return key_words; }
    // Sets the words of a record behind the key, as those of a group without rows.
    void begin(std::uint64_t *record) const noexcept;
    // Adds a group's states to those of another record of it. Returns false where a sum has no room.
    bool merge(std::uint64_t *record, const std::uint64_t *other) const noexcept;
    // Writes the group as a record of the result, apart from what comes from sets of values. Returns false
    // where a result has no room.
    bool finish(const std::uint64_t *record, const query::RecordLayout &layout,
                std::uint64_t *result) const noexcept;
};

// Most sums of floats have room between these exponents, those of products, and those of what products lack
// that are rounded.
inline constexpr query::SumScale usual_scale = {-90, 3};
inline constexpr query::SumScale usual_product_scale = {-130, 4};
inline constexpr query::SumScale usual_rest_scale = {-190, 4};
// Bits of a sum that are left for carries.
inline constexpr std::int32_t carry_bits = 41;
// Of the words of a sum that has room for any floats.
inline constexpr std::uint32_t max_scale_words = 36;

}  // namespace gpu_engine::host
