#include "host/query/distinct_counts.h"

#include <algorithm>
#include <atomic>

#include "host/query/hash_parts.h"

namespace gpu_engine::host {
namespace {

// So few groups are counted by each thread apart: additions to the same word would wait for each other.
constexpr std::uint64_t few_groups = 4096;
constexpr std::uint64_t entries_ahead = 16;
constexpr std::uint64_t words_a_piece = 1 << 14;

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
        if (count_bits(workers)) {
            return;
        }
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
    // Puts the threads' bits together, if all have bits. Returns false where the values are records now.
    bool count_bits(const Workers &workers) {
        ValueBits all(budget_);
        std::vector<std::uint64_t> first_of_part;
        std::uint64_t groups = 0;
        for (const QueryRows &part : rows_.parts) {
            first_of_part.push_back(groups);
            groups += part.count();
        }
        const auto has_room = [&](const auto &local) {
            const ValueBits &own = local->bits(set_);
            return local->has_bits(set_) && (own.words() == 0 || all.reach(own.least(), own.words(), groups));
        };
        if (!std::all_of(locals_.begin(), locals_.end(), has_room)) {
            for (const auto &local : locals_) {
                local->replace_bits(set_);
            }
            return false;
        }
        for (std::size_t thread = 0; thread < locals_.size(); ++thread) {
            const ValueBits &own = locals_[thread]->bits(set_);
            const Buffer<std::uint64_t> &numbers = merged_.numbers[thread];
            const std::uint64_t own_groups = std::min(own.groups(), numbers.size());
            workers.for_pieces(
                own_groups, pieces_of(own.words()), [&](std::uint64_t first, std::uint64_t end) {
                    for (std::uint64_t group = first; group < end; ++group) {
                        const std::uint64_t number = numbers[group];
                        all.add(first_of_part[number >> 32] + (number & UINT32_MAX), own, group);
                    }
                });
        }
        for (std::size_t part = 0; part < rows_.parts.size(); ++part) {
            workers.for_pieces(all.words() > 0 ? rows_.parts[part].count() : 0, pieces_of(all.words()),
                               [&](std::uint64_t first, std::uint64_t end) {
                                   for (std::uint64_t group = first; group < end; ++group) {
                                       add(std::uint64_t{part} << 32 | group,
                                           all.count(first_of_part[part] + group));
                                   }
                               });
        }
        return true;
    }
    // Groups that a thread takes at a time.
    static std::uint64_t pieces_of(std::uint64_t words) {
        return std::max<std::uint64_t>(1, words_a_piece / std::max<std::uint64_t>(words, 1));
    }

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

void write_distinct_counts(MemoryBudget &budget, const Workers &workers, const GroupPlan &plan,
                           const query::RecordLayout &layout,
                           const std::vector<std::unique_ptr<Accumulating>> &locals,
                           const MergedGroups &merged, std::uint32_t set, RowParts *rows) {
    DistinctCounter(budget, plan, layout, locals, merged, set, rows).count(workers);
}

}  // namespace gpu_engine::host
