// What comes from a group's values in their order: each once, or with how often it came.
#include <algorithm>
#include <array>
#include <atomic>

#include "host/query/aggregation.h"
#include "host/query/distinct_counts.h"
#include "host/query/percentiles.h"
#include "host/query/value_lists.h"

namespace gpu_engine::host {
namespace {

using query::AccumulatorKind;

// A group's number, the words that order a value, and how often it came.
template <std::uint32_t value_words>
struct Entry {
    std::uint64_t group;
    std::array<std::uint64_t, value_words> value;
    std::uint64_t count;

    bool is_before(const Entry &other) const noexcept {
        return group != other.group ? group < other.group : value < other.value;
    }
    bool is_same(const Entry &other) const noexcept { return group == other.group && value == other.value; }
};

// The values of one group.
template <std::uint32_t value_words>
struct Values {
    const Entry<value_words> *first;
    const Entry<value_words> *end;

    std::uint64_t rows() const noexcept {
        std::uint64_t rows = 0;
        for (const auto *entry = first; entry != end; ++entry) {
            rows += entry->count;
        }
        return rows;
    }
    // The value of row `number` in their order.
    const std::uint64_t *value_at(std::uint64_t number) const noexcept {
        const auto *entry = first;
        for (; entry + 1 != end && number >= entry->count; ++entry) {
            number -= entry->count;
        }
        return entry->value.data();
    }
};

template <typename Type, typename Group>
bool sum_values(const Group &values, std::uint64_t *result) {
    if constexpr (std::is_same_v<Type, double>) {
        query::FloatSpan span = query::no_span;
        for (const auto *entry = values.first; entry != values.end; ++entry) {
            query::widen_span(&span, value_of_order<double>(entry->value.data()));
        }
        const query::SumScale scale =
            query::scale_of_span(span, static_cast<std::uint64_t>(values.end - values.first));
        std::uint64_t sum[query::max_sum_words + 1] = {};
        std::uint64_t flags = 0;
        for (const auto *entry = values.first; entry != values.end; ++entry) {
            const auto value = value_of_order<double>(entry->value.data());
            flags |= query::sum_flags(value);
            if (query::sum_flags(value) == 0) {
                query::add_float(sum, scale, value);
            }
        }
        double rounded;
        const bool has_room = query::round_sum(sum, scale, flags, &rounded);
        query::Words<double>::write(rounded, result);
        return has_room;
    } else {
        Int128 sum = 0;
        bool has_room = true;
        for (const auto *entry = values.first; entry != values.end; ++entry) {
            has_room &= query::add_integers(
                sum, static_cast<Int128>(value_of_order<Type>(entry->value.data())), &sum);
        }
        query::Words<Int128>::write(sum, result);
        return has_room;
    }
}

template <typename Type, typename Group>
bool write_result(const GroupPlan &plan, const AccumulatorPlan &accumulator, const Group &values,
                  std::uint64_t *result) {
    switch (accumulator.requested.kind) {
        case AccumulatorKind::count:
            *result = static_cast<std::uint64_t>(values.end - values.first);
            return true;
        case AccumulatorKind::sum:
        case AccumulatorKind::sum_float:
            return sum_values<Type>(values, result);
        case AccumulatorKind::mode: {
            const auto *best = values.first;
            for (const auto *entry = values.first; entry != values.end; ++entry) {
                best = entry->count > best->count ? entry : best;
            }
            query::Words<Type>::write(value_of_order<Type>(best->value.data()), result);
            return true;
        }
        default:
            find_percentile<Type>(
                accumulator, query::float_of_bits(plan.query.constants[accumulator.requested.detail].low),
                values, result);
            return true;
    }
}

template <typename Type>
class SetWriter {
  public:
    static constexpr std::uint32_t value_words = query::Words<Type>::count;
    using Own = Entry<value_words>;

    SetWriter(MemoryBudget &budget, const Workers &workers, const GroupPlan &plan,
              const query::RecordLayout &layout, std::uint32_t set)
        : budget_(budget), workers_(workers), plan_(plan), layout_(layout), set_(set) {}

    bool write(const std::vector<std::unique_ptr<Accumulating>> &locals, const MergedGroups &merged,
               RowParts *rows) {
        collect(locals, merged);
        const std::uint64_t count = unite();
        std::atomic<bool> has_room{true};
        workers_.for_pieces(count, 1 << 16, [&](std::uint64_t first, std::uint64_t last) {
            // A group belongs to the piece in which it begins.
            for (std::uint64_t i = first; i < last;) {
                std::uint64_t end = i + 1;
                while (end < count && entries_[end].group == entries_[i].group) {
                    ++end;
                }
                if (i == 0 || entries_[i - 1].group != entries_[i].group) {
                    if (!write_group({entries_.data() + i, entries_.data() + end}, rows)) {
                        has_room = false;
                    }
                }
                i = end;
            }
        });
        return has_room;
    }

  private:
    void collect(const std::vector<std::unique_ptr<Accumulating>> &locals, const MergedGroups &merged) {
        std::vector<std::uint64_t> first(1, 0);
        for (const auto &local : locals) {
            first.push_back(first.back() + local->set(set_).count());
        }
        entries_ = Buffer<Own>(budget_, first.back());
        for (std::size_t thread = 0; thread < locals.size(); ++thread) {
            const GroupTable &own = locals[thread]->set(set_);
            workers_.for_pieces(own.count(), 1 << 14, [&](std::uint64_t begin, std::uint64_t end) {
                for (std::uint64_t i = begin; i < end; ++i) {
                    const std::uint64_t *record = own.record(i);
                    Own &entry = entries_[first[thread] + i];
                    entry.group = merged.numbers[thread][record[0]];
                    std::copy_n(record + 1, value_words, entry.value.data());
                    entry.count = record[1 + value_words];
                }
            });
        }
        workers_.sort(entries_.data(), entries_.data() + entries_.size(),
                      [](const Own &a, const Own &b) { return a.is_before(b); });
    }

    // Threads may have had the same value. Returns how many are left.
    std::uint64_t unite() {
        std::uint64_t count = 0;
        for (std::uint64_t i = 0; i < entries_.size(); ++i) {
            if (count > 0 && entries_[count - 1].is_same(entries_[i])) {
                entries_[count - 1].count += entries_[i].count;
            } else {
                entries_[count++] = entries_[i];
            }
        }
        return count;
    }

    bool write_group(const Values<value_words> &values, RowParts *rows) {
        const std::uint64_t group = values.first->group;
        std::uint64_t *record = rows->parts[group >> 32].record(group & UINT32_MAX);
        bool has_room = true;
        for (std::size_t i = 0; i < plan_.accumulators.size(); ++i) {
            const AccumulatorPlan &accumulator = plan_.accumulators[i];
            if (accumulator.value_set != set_) {
                continue;
            }
            const std::size_t column = plan_.key_types.size() + i;
            record[column / 64] &= ~(std::uint64_t(1) << (column % 64));
            has_room &= write_result<Type>(plan_, accumulator, values, record + layout_.words[column]);
        }
        return has_room;
    }

    MemoryBudget &budget_;
    const Workers &workers_;
    const GroupPlan &plan_;
    const query::RecordLayout &layout_;
    std::uint32_t set_;
    Buffer<Own> entries_;
};

}  // namespace

bool write_value_sets(MemoryBudget &budget, const Workers &workers, const GroupPlan &plan,
                      const query::RecordLayout &layout,
                      const std::vector<std::unique_ptr<Accumulating>> &locals, const MergedGroups &merged,
                      RowParts *rows) {
    bool has_room = true;
    for (std::uint32_t set = 0; set < plan.value_sets.size(); ++set) {
        if (plan.only_counts(set)) {
            write_distinct_counts(budget, workers, plan, layout, locals, merged, set, rows);
            continue;
        }
        if (are_any_listed(locals, set)) {
            write_listed_percentiles(budget, workers, plan, layout, locals, merged, set, rows);
            continue;
        }
        has_room &= with_stored(plan.value_sets[set].type, [&]<typename Type>(Type) {
            return SetWriter<Type>(budget, workers, plan, layout, set).write(locals, merged, rows);
        });
    }
    return has_room;
}

}  // namespace gpu_engine::host
