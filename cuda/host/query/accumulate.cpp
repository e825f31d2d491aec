#include "host/query/accumulate.h"

#include <algorithm>
#include <cstring>

#include "host/query/order_words.h"

namespace gpu_engine::host {

using query::AccumulatorKind;

namespace {

// Of equal values either may be taken, and so of NaNs. What has no branches is quicker.
template <typename Type>
bool comes_before(Type value, Type other) {
    if constexpr (std::is_same_v<Type, double>) {
        return static_cast<int>(value < other) | static_cast<int>(other != other);
    } else {
        return query::is_less(value, other);
    }
}
template <typename Type>
bool comes_behind(Type value, Type other) {
    if constexpr (std::is_same_v<Type, double>) {
        return static_cast<int>(value > other) | static_cast<int>(value != value);
    } else {
        return query::is_less(other, value);
    }
}

}  // namespace

Accumulating::Accumulating(MemoryBudget &budget, const GroupPlan &plan)
    : budget_(budget),
      plan_(plan),
      finder_(budget, plan),
      records_(budget, query_tile_rows),
      counted_(budget, query_tile_rows),
      all_seen_(plan.seen_words),
      set_keys_(budget, plan.value_sets.empty() ? 0 : 4 * query_tile_rows) {
    for (const ValueSetPlan &set : plan.value_sets) {
        const std::uint32_t words = 1 + query::words_of(set.type);
        has_bits_.push_back(plan.only_counts(static_cast<std::uint32_t>(sets_.size())));
        sets_.emplace_back(budget, words, words + 1);
        bits_.emplace_back(budget);
        lists_.emplace_back(budget, words);
        has_lists_.push_back(false);
        set_rows_.push_back(0);
    }
}

template <typename Add>
void Accumulating::for_counted(std::uint32_t word, std::uint32_t count, const std::uint8_t *counted,
                               Add add) const {
    std::uint64_t *const *records = records_.data();
    if (counted == nullptr) {
        for (std::uint32_t i = 0; i < count; ++i) {
            add(records[i] + word, i);
        }
        return;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        if (counted[i] != 0) {
            add(records[i] + word, i);
        }
    }
}

AddResult Accumulating::add(const Program &program, std::uint32_t count, const std::uint32_t *weights) {
    if (count == 0) {
        return AddResult::added;
    }
    weights_ = weights;
    finder_.find(program, count);
    numbers_ = finder_.numbers();
    groups_ = finder_.table().count();
    // Records stay where they are only while no group is added.
    for (std::uint32_t i = 0; i < count; ++i) {
        records_[i] = finder_.table().record(numbers_[i]);
    }
    if (are_few()) {
        count_few(count, nullptr, row_counts_);
    }
    std::fill(all_seen_.begin(), all_seen_.end(), 0);
    for (const AccumulatorPlan &accumulator : plan_.accumulators) {
        if (accumulator.words == 0) {
            continue;
        }
        const std::uint8_t *counted = find_counted(program, accumulator, count);
        if (accumulator.requested.kind == AccumulatorKind::count_rows ||
            accumulator.requested.kind == AccumulatorKind::count) {
            add_count(accumulator, count, counted);
            continue;
        }
        const AddResult result =
            add_argument(accumulator, program.step(accumulator.requested.argument), count, counted);
        if (result != AddResult::added) {
            return result;
        }
        mark_seen(accumulator.seen_bit, count, counted);
    }
    for (std::uint32_t word = 0; word < plan_.seen_words; ++word) {
        if (const std::uint64_t mask = all_seen_[word]; mask != 0) {
            for_counted(plan_.seen_at() + word, count, nullptr,
                        [mask](std::uint64_t *seen, std::uint32_t) { *seen |= mask; });
        }
    }
    for (std::size_t set = 0; set < sets_.size(); ++set) {
        add_values(program, set, count);
    }
    return AddResult::added;
}

// Says which rows an accumulator takes: a byte a row; nullptr means all of them.
const std::uint8_t *Accumulating::find_counted(const Program &program, const AccumulatorPlan &accumulator,
                                               std::uint32_t count) {
    return find_counted(program, accumulator.requested.argument,
                        query::takes_argument(accumulator.requested.kind), accumulator.requested.filter,
                        count);
}

const std::uint8_t *Accumulating::find_counted(const Program &program, std::uint16_t argument,
                                               bool takes_argument, std::uint16_t filter,
                                               std::uint32_t count) {
    const std::uint8_t *nulls = takes_argument ? program.step(argument).nulls : nullptr;
    if (nulls == nullptr && filter == query::no_step) {
        return nullptr;
    }
    std::uint8_t *counted = counted_.data();
    for (std::uint32_t i = 0; i < count; ++i) {
        counted[i] = nulls != nullptr ? nulls[i] ^ 1 : 1;
    }
    if (filter != query::no_step) {
        const Vector &truth = program.step(filter);
        for (std::uint32_t i = 0; i < count; ++i) {
            counted[i] &= truth.as<Truth>()[i];
        }
        for (std::uint32_t i = 0; truth.nulls != nullptr && i < count; ++i) {
            counted[i] &= truth.nulls[i] ^ 1;
        }
    }
    return counted;
}

void Accumulating::count_few(std::uint32_t count, const std::uint8_t *counted, std::uint64_t *counts) const {
    std::uint32_t by_lane[lanes][few_groups] = {};
    const std::uint32_t *numbers = numbers_;
    for (std::uint32_t i = 0; i < count; ++i) {
        by_lane[i % lanes][numbers[i]] += counted == nullptr ? 1 : counted[i];
    }
    for (std::uint32_t group = 0; group < groups_; ++group) {
        counts[group] = 0;
        for (const auto &lane : by_lane) {
            counts[group] += lane[group];
        }
    }
}

void Accumulating::add_count(const AccumulatorPlan &accumulator, std::uint32_t count,
                             const std::uint8_t *counted) {
    if (weights_ != nullptr) {
        for_counted(accumulator.word, count, counted,
                    [this](std::uint64_t *state, std::uint32_t i) { *state += weights_[i]; });
        return;
    }
    if (!are_few()) {
        for_counted(accumulator.word, count, counted, [](std::uint64_t *state, std::uint32_t) { ++*state; });
        return;
    }
    std::uint64_t counts[few_groups];
    if (counted != nullptr) {
        count_few(count, counted, counts);
    }
    for (std::uint32_t group = 0; group < groups_; ++group) {
        finder_.table().record(group)[accumulator.word] += (counted != nullptr ? counts : row_counts_)[group];
    }
}

// Adds the numbers of few groups up in words of 64 bits. Returns false where these might have no room.
bool Accumulating::add_sum_by_tile(const AccumulatorPlan &accumulator, const Vector &argument,
                                   std::uint32_t count, const std::uint8_t *counted) {
    const auto *values = argument.as<std::int64_t>();
    std::uint64_t bits = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        bits |= static_cast<std::uint64_t>(values[i] ^ values[i] >> 63);
    }
    // The sum of 1,024 smaller ones has room; but those of NULLs may be anything.
    if (bits >> 53 != 0) {
        return false;
    }
    std::int64_t sums[lanes][few_groups];
    for (auto &lane : sums) {
        std::fill_n(lane, groups_, 0);
    }
    const std::uint32_t *numbers = numbers_;
    if (groups_ == 1) {
        std::int64_t sum = 0;
        if (counted == nullptr) {
            for (std::uint32_t i = 0; i < count; ++i) {
                sum += values[i];
            }
        } else {
            for (std::uint32_t i = 0; i < count; ++i) {
                sum += values[i] & -std::int64_t{counted[i]};
            }
        }
        sums[0][0] = sum;
    } else if (counted == nullptr) {
        for (std::uint32_t i = 0; i < count; ++i) {
            sums[i % lanes][numbers[i]] += values[i];
        }
    } else {
        for (std::uint32_t i = 0; i < count; ++i) {
            sums[i % lanes][numbers[i]] += values[i] & -std::int64_t{counted[i]};
        }
    }
    for (std::uint32_t group = 0; group < groups_; ++group) {
        std::uint64_t *state = finder_.table().record(group) + accumulator.word;
        Int128 more = 0;
        for (const auto &lane : sums) {
            more += lane[group];
        }
        Int128 sum;
        has_room_ &= query::add_integers(query::Words<Int128>::read(state), more, &sum);
        query::Words<Int128>::write(sum, state);
    }
    return true;
}

template <typename Integer>
void Accumulating::add_sum(std::uint32_t word, const Integer *values, std::uint32_t count,
                           const std::uint8_t *counted) {
    bool has_room = true;
    const auto add_all = [&](auto addend) {
        for_counted(word, count, counted, [&](std::uint64_t *state, std::uint32_t i) {
            Int128 sum;
            has_room &= query::add_integers(query::Words<Int128>::read(state), addend(i), &sum);
            query::Words<Int128>::write(sum, state);
        });
    };
    if (weights_ == nullptr) {
        add_all([values](std::uint32_t i) { return static_cast<Int128>(values[i]); });
    } else {
        add_all([&](std::uint32_t i) {
            Int128 product;
            has_room &= query::multiply_integers(static_cast<Int128>(values[i]),
                                                 static_cast<Int128>(weights_[i]), &product);
            return product;
        });
    }
    has_room_ &= has_room;
}

template <typename Type>
void Accumulating::add_extreme(const AccumulatorPlan &accumulator, const Type *values, std::uint32_t count,
                               const std::uint8_t *counted) {
    const auto add_all = [&](auto is_better) {
        if (groups_ == 1) {
            std::uint64_t *state = finder_.table().record(0) + accumulator.word;
            Type best = query::Words<Type>::read(state);
            for (std::uint32_t i = 0; i < count; ++i) {
                const bool counts = counted == nullptr || counted[i] != 0;
                best = counts & is_better(values[i], best) ? values[i] : best;
            }
            query::Words<Type>::write(best, state);
            return;
        }
        for_counted(accumulator.word, count, counted, [=](std::uint64_t *state, std::uint32_t i) {
            const Type own = query::Words<Type>::read(state);
            query::Words<Type>::write(is_better(values[i], own) ? values[i] : own, state);
        });
    };
    if (accumulator.requested.kind == AccumulatorKind::least) {
        add_all([](Type value, Type own) { return comes_before(value, own); });
    } else {
        add_all([](Type value, Type own) { return comes_behind(value, own); });
    }
}

// The same for sums of floats. Returns false where what a tile's come to has no place in the sum.
bool Accumulating::add_floats_by_tile(const AccumulatorPlan &accumulator, const double *values,
                                      std::uint32_t count, const std::uint8_t *counted) {
    const query::SumScale scale = accumulator.scale;
    const std::int32_t end = scale.base + static_cast<std::int32_t>(scale.words) * 64 - carry_bits;
    const std::uint32_t *numbers = numbers_;
    const bool is_one = groups_ == 1;
    FloatChunks::Span span;
    bool has_place = true;
    const auto place = [&](std::uint32_t group, query::FloatParts parts) {
        const std::uint64_t size = query::magnitude(parts.mantissa);
        const std::int32_t below = scale.base - parts.exponent;
        if (parts.exponent + 64 - query::leading_zeros(size) > end ||
            (below > 0 && (below > 63 || (size & ((std::uint64_t(1) << below) - 1)) != 0))) {
            has_place = false;
            return;
        }
        query::add_parts(finder_.table().record(group) + accumulator.word, scale, parts);
    };
    const auto add_all = [&](auto counts) {
        for (std::uint32_t i = 0; i < count; ++i) {
            if (!counts(i)) {
                continue;
            }
            const std::uint32_t group = is_one ? 0 : numbers[i];
            if (const std::uint64_t flags = query::sum_flags(values[i]); flags != 0) {
                finder_.table().record(group)[accumulator.word + scale.words] |= flags;
            } else {
                chunks_.add(group * FloatChunks::lanes + i % FloatChunks::lanes, values[i], &span);
            }
        }
    };
    if (is_one && slices_.take(values, count, counted)) {
        slices_.add_up([&](query::FloatParts parts) { place(0, parts); },
                       [&](double value) { chunks_.add(0, value, &span); });
    } else if (counted == nullptr) {
        add_all([](std::uint32_t) { return true; });
    } else {
        add_all([counted](std::uint32_t i) { return counted[i] != 0; });
    }
    chunks_.take(static_cast<std::uint32_t>(groups_), span, place);
    return has_place;
}

// Returns false where a value has no place in the sum.
bool Accumulating::add_floats(const AccumulatorPlan &accumulator, const double *values, std::uint32_t count,
                              const std::uint8_t *counted) {
    if (groups_ <= FloatChunks::groups && weights_ == nullptr) {
        return add_floats_by_tile(accumulator, values, count, counted);
    }
    const query::SumScale scale = accumulator.scale;
    const std::int32_t end = scale.base + static_cast<std::int32_t>(scale.words) * 64 - carry_bits;
    bool has_place = true;
    for_counted(accumulator.word, count, counted, [&](std::uint64_t *state, std::uint32_t i) {
        const std::uint64_t flags = query::sum_flags(values[i]);
        if (flags != 0) {
            state[scale.words] |= flags;
            return;
        }
        const query::FloatParts parts = query::split_float(values[i]);
        const std::int32_t below = scale.base - parts.exponent;
        if (parts.mantissa != 0 &&
            (parts.exponent + 53 > end ||
             (below > 0 && (below > 52 || (parts.mantissa & ((std::int64_t(1) << below) - 1)) != 0)))) {
            has_place = false;
            return;
        }
        if (weights_ == nullptr) {
            query::add_parts(state, scale, parts);
        } else {
            query::add_float_times(state, scale, values[i], weights_[i]);
        }
    });
    return has_place;
}

AddResult Accumulating::add_argument(const AccumulatorPlan &accumulator, const Vector &argument,
                                     std::uint32_t count, const std::uint8_t *counted) {
    const std::uint32_t word = accumulator.word;
    const auto *integers = argument.as<std::int64_t>();
    switch (accumulator.requested.kind) {
        case AccumulatorKind::sum:
            if (argument.stored() == ValueType::int64) {
                if (!are_few() || !add_sum_by_tile(accumulator, argument, count, counted)) {
                    add_sum(word, integers, count, counted);
                }
            } else {
                add_sum(word, argument.as<Int128>(), count, counted);
            }
            return has_room_ ? AddResult::added : AddResult::overflows;
        case AccumulatorKind::sum_float:
            return add_floats(accumulator, argument.as<double>(), count, counted) ? AddResult::added
                                                                                  : AddResult::misfits;
        case AccumulatorKind::bit_and:
            for_counted(word, count, counted, [=](std::uint64_t *state, std::uint32_t i) {
                *state &= static_cast<std::uint64_t>(integers[i]);
            });
            break;
        case AccumulatorKind::bit_or:
            for_counted(word, count, counted, [=](std::uint64_t *state, std::uint32_t i) {
                *state |= static_cast<std::uint64_t>(integers[i]);
            });
            break;
        case AccumulatorKind::bit_xor:
            for_counted(word, count, counted, [=, this](std::uint64_t *state, std::uint32_t i) {
                *state ^= weight_of(i) % 2 != 0 ? static_cast<std::uint64_t>(integers[i]) : 0;
            });
            break;
        default: {
            // Those that keep a value. One of 128 bits is kept as such, however the tile has it.
            const bool is_any = accumulator.requested.kind == AccumulatorKind::any_value;
            const auto add_all = [&](auto *values) {
                using Type = std::remove_const_t<std::remove_reference_t<decltype(*values)>>;
                if (is_any) {
                    for_counted(word, count, counted, [=](std::uint64_t *state, std::uint32_t i) {
                        query::Words<Type>::write(values[i], state);
                    });
                } else {
                    add_extreme(accumulator, values, count, counted);
                }
            };
            if (argument.is_narrow) {
                Int128 wide[query_tile_rows];
                std::copy_n(integers, count, wide);
                add_all(static_cast<const Int128 *>(wide));
            } else {
                with_stored(argument.type, [&]<typename Type>(Type) { add_all(argument.as<Type>()); });
            }
        }
    }
    return AddResult::added;
}

void Accumulating::mark_seen(std::int32_t bit, std::uint32_t count, const std::uint8_t *counted) {
    const std::uint32_t word = plan_.seen_at() + static_cast<std::uint32_t>(bit) / 64;
    const std::uint64_t mask = std::uint64_t(1) << (bit % 64);
    if (are_few() && counted == nullptr) {
        for (std::uint32_t group = 0; group < groups_; ++group) {
            finder_.table().record(group)[word] |= row_counts_[group] > 0 ? mask : 0;
        }
        return;
    }
    if (groups_ == 1 && counted != nullptr) {
        const bool is_any = std::memchr(counted, 1, count) != nullptr;
        finder_.table().record(0)[word] |= is_any ? mask : 0;
        return;
    }
    // Those that take all rows are marked together.
    if (counted == nullptr) {
        all_seen_[static_cast<std::uint32_t>(bit) / 64] |= mask;
        return;
    }
    for_counted(word, count, counted, [mask](std::uint64_t *seen, std::uint32_t) { *seen |= mask; });
}

void Accumulating::add_values(const Program &program, std::size_t number, std::uint32_t count) {
    const ValueSetPlan &plan = plan_.value_sets[number];
    GroupTable &set = sets_[number];
    const Vector &argument = program.step(plan.argument);
    const std::uint8_t *counted = find_counted(program, plan.argument, true, plan.filter, count);
    if (has_bits_[number]) {
        if (bits_[number].add(argument, numbers_, groups_, count, counted)) {
            return;
        }
        replace_bits(number);
    }
    const std::uint32_t words = query::words_of(plan.type);
    std::uint64_t *keys = set_keys_.data();
    std::uint64_t *hashes = keys + 3 * query_tile_rows;
    std::uint32_t weights[query_tile_rows];
    // Calls use(row, the words that order its value).
    const auto for_values = [&](auto use) {
        with_stored(argument.stored(), [&]<typename Type>(Type) {
            const Type *values = argument.as<Type>();
            for (std::uint32_t i = 0; i < count; ++i) {
                if (counted != nullptr && counted[i] == 0) {
                    continue;
                }
                std::uint64_t value[2];
                if (argument.is_narrow) {
                    order_words(static_cast<Int128>(values[i]), value);
                } else {
                    order_words(values[i], value);
                }
                use(i, value);
            }
        });
    };
    if (has_lists_[number]) {
        for_values([&](std::uint32_t i, const std::uint64_t *value) {
            add_to_list(number, numbers_[i], value, weight_of(i));
        });
        return;
    }
    std::uint32_t added = 0;
    for_values([&](std::uint32_t i, const std::uint64_t *value) {
        std::uint64_t *key = keys + 3 * added;
        key[0] = numbers_[i];
        std::copy_n(value, words, key + 1);
        weights[added] = weight_of(i);
        hashes[added++] = set.hash_of(key);
    });
    for (std::uint32_t i = 0; i < added; ++i) {
        if (i + rows_ahead < added) {
            set.prefetch_slot(hashes[i + rows_ahead]);
        }
        if (i + rows_ahead / 2 < added) {
            set.prefetch_record(hashes[i + rows_ahead / 2]);
        }
        const std::uint64_t *key = keys + 3 * i;
        const std::uint32_t found = set.find_or_add(
            hashes[i], [key](std::uint32_t word) { return key[word]; },
            [words](std::uint64_t *record) { record[1 + words] = 0; });
        set.record(found)[1 + words] += weights[i];
    }
    set_rows_[number] += added;
    // Rows that come with how often each is there are few, however many they stand for.
    if (weights_ == nullptr && set.count() > few_values && set.count() > set_rows_[number] / 2 &&
        plan_.only_percentiles(static_cast<std::uint32_t>(number))) {
        list_values(number);
    }
}

void Accumulating::add_to_list(std::size_t number, std::uint64_t group, const std::uint64_t *value,
                               std::uint64_t times) {
    QueryRows &list = lists_[number];
    for (; times > 0; --times) {
        std::uint64_t *record = list.add();
        record[0] = group;
        std::copy_n(value, list.words() - 1, record + 1);
    }
}

// Puts a set's records into its list, from now on.
void Accumulating::list_values(std::size_t number) {
    if (has_lists_[number]) {
        return;
    }
    GroupTable &set = sets_[number];
    const std::uint32_t words = lists_[number].words();
    for (std::uint64_t i = 0; i < set.count(); ++i) {
        const std::uint64_t *record = set.record(i);
        add_to_list(number, record[0], record + 1, record[words]);
    }
    set = GroupTable(budget_, words, words + 1);
    has_lists_[number] = true;
}

// Puts a set's values into its records.
void Accumulating::replace_bits(std::size_t number) {
    GroupTable &set = sets_[number];
    const ValueType type = plan_.value_sets[number].type;
    const std::uint32_t words = query::words_of(type);
    bits_[number].for_all([&](std::uint64_t group, std::int64_t value) {
        std::uint64_t key[3] = {group, 0, 0};
        if (type == ValueType::int128) {
            order_words(static_cast<Int128>(value), key + 1);
        } else {
            order_words(value, key + 1);
        }
        set.find_or_add(
            set.hash_of(key), [&](std::uint32_t word) { return key[word]; },
            [words](std::uint64_t *record) { record[1 + words] = 1; });
    });
    bits_[number].clear();
    has_bits_[number] = false;
}

}  // namespace gpu_engine::host
