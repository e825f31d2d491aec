#include "host/query/value_lists.h"

#include <algorithm>
#include <array>

#include "host/query/percentiles.h"

namespace gpu_engine::host {
namespace {

// The values of one group, in any order.
template <std::uint32_t value_words>
class ListedValues {
  public:
    using Value = std::array<std::uint64_t, value_words>;

    ListedValues(Value *first, Value *end) : first_(first), end_(end) {}

    std::uint64_t rows() const noexcept { return static_cast<std::uint64_t>(end_ - first_); }
    // The value of row `number` in their order. Those before it come first from then on.
    const std::uint64_t *value_at(std::uint64_t number) const noexcept {
        Value *wanted = first_ + number;
        if (selected_ != nullptr && wanted == selected_ + 1) {
            std::iter_swap(wanted, std::min_element(wanted, end_));
        } else if (wanted != selected_) {
            std::nth_element(first_, wanted, end_);
        }
        selected_ = wanted;
        return wanted->data();
    }

  private:
    Value *first_;
    Value *end_;
    mutable Value *selected_ = nullptr;
};

template <typename Type>
class ListWriter {
  public:
    static constexpr std::uint32_t value_words = query::Words<Type>::count;
    using Values = ListedValues<value_words>;

    ListWriter(MemoryBudget &budget, const Workers &workers, const GroupPlan &plan,
               const query::RecordLayout &layout, const std::vector<std::unique_ptr<Accumulating>> &locals,
               const MergedGroups &merged, std::uint32_t set, RowParts *rows)
        : budget_(budget),
          workers_(workers),
          plan_(plan),
          layout_(layout),
          locals_(locals),
          merged_(merged),
          set_(set),
          rows_(*rows) {
        for (const QueryRows &part : rows_.parts) {
            first_of_part_.push_back(groups_);
            groups_ += part.count();
        }
        for (const auto &local : locals_) {
            local->list_values(set_);
            values_ += local->list(set_).count();
        }
    }

    void write() {
        order_by_group();
        workers_.for_pieces(groups_, 64, [&](std::uint64_t first, std::uint64_t end) {
            for (std::uint64_t group = first; group < end; ++group) {
                if (ends_[group] > begin_of(group)) {
                    write_group(group);
                }
            }
        });
    }

  private:
    // Threads count and place values of their own rows, as long as the counts take less than the values.
    std::uint64_t count_pieces() const {
        constexpr std::uint64_t piece_values = 1 << 16;
        const std::uint64_t most = std::max<std::uint64_t>(1, values_ / std::max<std::uint64_t>(groups_, 1));
        return std::min({std::max<std::uint64_t>(1, values_ / piece_values), most, std::uint64_t{64}});
    }

    // Calls visit(group, record) for a piece's rows.
    template <typename Visit>
    void for_piece(std::uint64_t piece, std::uint64_t pieces, Visit visit) const {
        const std::uint64_t first = values_ / pieces * piece;
        const std::uint64_t end = piece + 1 == pieces ? values_ : first + values_ / pieces;
        std::uint64_t before = 0;
        for (std::size_t thread = 0; thread < locals_.size(); ++thread) {
            const QueryRows &list = locals_[thread]->list(set_);
            const std::uint64_t last = std::min(end, before + list.count());
            for (std::uint64_t i = std::max(first, before); i < last; ++i) {
                const std::uint64_t *record = list.record(i - before);
                const std::uint64_t group = merged_.numbers[thread][record[0]];
                visit(first_of_part_[group >> 32] + (group & UINT32_MAX), record);
            }
            before += list.count();
        }
    }

    void order_by_group() {
        const std::uint64_t pieces = count_pieces();
        Buffer<std::uint64_t> places(budget_, pieces * groups_);
        std::fill_n(places.data(), places.size(), 0);
        workers_.for_pieces(pieces, 1, [&](std::uint64_t first, std::uint64_t end) {
            for (std::uint64_t piece = first; piece < end; ++piece) {
                std::uint64_t *counts = places.data() + piece * groups_;
                for_piece(piece, pieces,
                          [&](std::uint64_t group, const std::uint64_t *) { ++counts[group]; });
            }
        });
        ends_ = Buffer<std::uint64_t>(budget_, groups_);
        std::uint64_t place = 0;
        for (std::uint64_t group = 0; group < groups_; ++group) {
            for (std::uint64_t piece = 0; piece < pieces; ++piece) {
                place += std::exchange(places[piece * groups_ + group], place);
            }
            ends_[group] = place;
        }
        ordered_ = Buffer<typename Values::Value>(budget_, values_);
        workers_.for_pieces(pieces, 1, [&](std::uint64_t first, std::uint64_t end) {
            for (std::uint64_t piece = first; piece < end; ++piece) {
                std::uint64_t *next = places.data() + piece * groups_;
                for_piece(piece, pieces, [&](std::uint64_t group, const std::uint64_t *record) {
                    std::copy_n(record + 1, value_words, ordered_[next[group]++].data());
                });
            }
        });
    }

    std::uint64_t begin_of(std::uint64_t group) const { return group == 0 ? 0 : ends_[group - 1]; }

    void write_group(std::uint64_t group) {
        const auto part = std::upper_bound(first_of_part_.begin(), first_of_part_.end(), group) - 1;
        std::uint64_t *record =
            rows_.parts[static_cast<std::size_t>(part - first_of_part_.begin())].record(group - *part);
        const Values values(ordered_.data() + begin_of(group), ordered_.data() + ends_[group]);
        for (std::size_t i = 0; i < plan_.accumulators.size(); ++i) {
            const AccumulatorPlan &accumulator = plan_.accumulators[i];
            if (accumulator.value_set != set_) {
                continue;
            }
            check_cancelled(workers_.stream);
            const std::size_t column = plan_.key_types.size() + i;
            record[column / 64] &= ~(std::uint64_t(1) << (column % 64));
            find_percentile<Type>(
                accumulator, query::float_of_bits(plan_.query.constants[accumulator.requested.detail].low),
                values, record + layout_.words[column]);
        }
    }

    MemoryBudget &budget_;
    const Workers &workers_;
    const GroupPlan &plan_;
    const query::RecordLayout &layout_;
    const std::vector<std::unique_ptr<Accumulating>> &locals_;
    const MergedGroups &merged_;
    std::uint32_t set_;
    RowParts &rows_;
    std::uint64_t groups_ = 0;
    std::uint64_t values_ = 0;
    std::vector<std::uint64_t> first_of_part_;  // groups are numbered through all parts
    Buffer<std::uint64_t> ends_;                // by group: where its values end
    Buffer<typename Values::Value> ordered_;    // by group
};

}  // namespace

bool are_any_listed(const std::vector<std::unique_ptr<Accumulating>> &locals, std::uint32_t set) {
    return std::any_of(locals.begin(), locals.end(),
                       [set](const auto &local) { return local->has_list(set); });
}

void write_listed_percentiles(MemoryBudget &budget, const Workers &workers, const GroupPlan &plan,
                              const query::RecordLayout &layout,
                              const std::vector<std::unique_ptr<Accumulating>> &locals,
                              const MergedGroups &merged, std::uint32_t set, RowParts *rows) {
    with_stored(plan.value_sets[set].type, [&]<typename Type>(Type) {
        ListWriter<Type>(budget, workers, plan, layout, locals, merged, set, rows).write();
    });
}

}  // namespace gpu_engine::host
