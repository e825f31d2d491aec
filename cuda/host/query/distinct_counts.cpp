#include "host/query/distinct_counts.h"

#include <algorithm>
#include <atomic>

#include "host/query/hash_parts.h"

namespace gpu_engine::host {
namespace {

// So few groups are counted by each thread apart: additions to the same word would wait for each other.
constexpr std::uint64_t few_groups = 4096;
constexpr std::uint64_t entries_ahead = 16;

class DistinctCounter {
  public:
    DistinctCounter(MemoryBudget &budget, const GroupPlan &plan, const query::RecordLayout &layout,
                    const std::vector<std::unique_ptr<Accumulating>> &locals, const MergedGroups &merged,
                    std::uint32_t set, RowParts *rows)
        : budget_(budget),
          locals_(locals),
          merged_(merged),
          set_(set),
          key_words_(1 + query::words_of(plan.value_sets[set].type)),
          rows_(*rows) {
        for (std::size_t i = 0; i < plan.accumulators.size(); ++i) {
            if (plan.accumulators[i].value_set == set) {
                words_.push_back(layout.words[plan.key_types.size() + i]);
            }
        }
    }

    void count(const Workers &workers) {
        const auto has_values = [this](const auto &local) { return local->set(set_).count() > 0; };
        if (std::count_if(locals_.begin(), locals_.end(), has_values) <= 1) {
            // A thread has each value once.
            const auto only = std::find_if(locals_.begin(), locals_.end(), has_values);
            if (only != locals_.end()) {
                const GroupTable &own = (*only)->set(set_);
                const auto &numbers = merged_.numbers[static_cast<std::size_t>(only - locals_.begin())];
                add_all(own.count(), [&](std::uint64_t entry) { return numbers[own.record(entry)[0]]; });
            }
            return;
        }
        std::vector<HashParts> order(locals_.size());
        workers.for_pieces(locals_.size(), 1, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t thread = first; thread < last; ++thread) {
                const GroupTable &own = locals_[thread]->set(set_);
                order[thread] = order_by_part(budget_, own.count(), [&](std::uint64_t entry) {
                    std::uint64_t key[3];
                    read_key(thread, own.record(entry), key);
                    return own.hash_of(key);
                });
            }
        });
        workers.for_pieces(hash_parts, 1, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t part = first; part < last; ++part) {
                count_part(order, part);
            }
        });
    }

  private:
    // A value's key, with the group's number in the result.
    void read_key(std::size_t thread, const std::uint64_t *record, std::uint64_t *key) const {
        key[0] = merged_.numbers[thread][record[0]];
        std::copy_n(record + 1, key_words_ - 1, key + 1);
    }

    void count_part(const std::vector<HashParts> &order, std::uint64_t part) {
        GroupTable values(budget_, key_words_, key_words_);
        for (std::size_t thread = 0; thread < locals_.size(); ++thread) {
            const GroupTable &own = locals_[thread]->set(set_);
            const HashParts &parts = order[thread];
            for (std::uint64_t i = parts.begin[part]; i < parts.begin[part + 1]; ++i) {
                if (i + entries_ahead < parts.begin[part + 1]) {
                    __builtin_prefetch(own.record(parts.entries[i + entries_ahead]));
                }
                std::uint64_t key[3];
                read_key(thread, own.record(parts.entries[i]), key);
                values.find_or_add(
                    values.hash_of(key), [&](std::uint32_t word) { return key[word]; },
                    [](std::uint64_t *) {});
            }
        }
        add_all(values.count(), [&](std::uint64_t i) { return values.record(i)[0]; });
    }

    // Counts one for the group of each of so many values.
    template <typename GroupOf>
    void add_all(std::uint64_t values, GroupOf group_of) {
        // Few groups are all in the first part of the result.
        const std::uint64_t groups = rows_.parts.size() == 1 ? rows_.parts[0].count() : UINT64_MAX;
        if (groups > few_groups) {
            for (std::uint64_t i = 0; i < values; ++i) {
                add(group_of(i), 1);
            }
            return;
        }
        std::vector<std::uint64_t> counts(groups);
        for (std::uint64_t i = 0; i < values; ++i) {
            ++counts[group_of(i)];
        }
        for (std::uint64_t group = 0; group < groups; ++group) {
            add(group, counts[group]);
        }
    }

    void add(std::uint64_t group, std::uint64_t count) {
        std::uint64_t *record = rows_.parts[group >> 32].record(group & UINT32_MAX);
        for (const std::uint32_t word : words_) {
            std::atomic_ref(record[word]).fetch_add(count, std::memory_order_relaxed);
        }
    }

    MemoryBudget &budget_;
    const std::vector<std::unique_ptr<Accumulating>> &locals_;
    const MergedGroups &merged_;
    std::uint32_t set_;
    std::uint32_t key_words_;
    RowParts &rows_;
    std::vector<std::uint32_t> words_;  // of a record: where the counts are
};

}  // namespace

bool only_counts_values(const GroupPlan &plan, std::uint32_t set) {
    return std::all_of(plan.accumulators.begin(), plan.accumulators.end(), [&](const AccumulatorPlan &own) {
        return own.value_set != set || own.requested.kind == query::AccumulatorKind::count;
    });
}

void write_distinct_counts(MemoryBudget &budget, const Workers &workers, const GroupPlan &plan,
                           const query::RecordLayout &layout,
                           const std::vector<std::unique_ptr<Accumulating>> &locals,
                           const MergedGroups &merged, std::uint32_t set, RowParts *rows) {
    DistinctCounter(budget, plan, layout, locals, merged, set, rows).count(workers);
}

}  // namespace gpu_engine::host
