#include "host/query/aggregation.h"

#include <algorithm>
#include <atomic>

#include "host/query/hash_parts.h"

namespace gpu_engine::host {
namespace {

// So few groups are put together by one thread.
constexpr std::uint64_t few_groups = 4096;
constexpr std::uint64_t groups_ahead = 16;

// Adds a group to a table, where it has a number. Returns false where a sum has no room.
bool merge_one(const GroupPlan &plan, const std::uint64_t *record, GroupTable *table, std::uint32_t *number) {
    bool is_new = false;
    *number = table->find_or_add(
        table->hash_of(record), [record](std::uint32_t word) { return record[word]; },
        [&](std::uint64_t *added) {
            is_new = true;
            std::copy_n(record + plan.key_words, plan.record_words - plan.key_words, added + plan.key_words);
        });
    return is_new || plan.merge(table->record(*number), record);
}

// Has all threads' groups by the same places, if they all have places. Returns how many these are, or
// GroupFinder::no_places.
std::uint64_t agree_on_places(const Workers &workers, std::uint64_t groups,
                              std::vector<std::unique_ptr<Accumulating>> *locals) {
    if (!std::all_of(locals->begin(), locals->end(),
                     [](const auto &local) { return local->finder().has_places(); })) {
        return GroupFinder::no_places;
    }
    std::vector<GroupFinder::Window> windows = (*locals)[0]->finder().windows();
    for (const auto &local : *locals) {
        GroupFinder::widen(&windows, local->finder().windows());
    }
    const std::uint64_t places = GroupFinder::places_of(windows, GroupFinder::max_places_for(groups));
    if (places != GroupFinder::no_places) {
        workers.for_pieces(locals->size(), 1, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t thread = first; thread < last; ++thread) {
                (*locals)[thread]->finder().set_windows(windows, places);
            }
        });
    }
    return places;
}

// Puts groups with the same place together, of all places before `end` from `first` on. Returns false where
// a sum has no room.
template <typename Note>
bool merge_places(const GroupPlan &plan, std::vector<std::unique_ptr<Accumulating>> *locals,
                  std::uint64_t first, std::uint64_t end, GroupTable *table, Note note) {
    bool has_room = true;
    for (std::uint64_t place = first; place < end; ++place) {
        std::uint64_t *merged = nullptr;
        for (std::size_t thread = 0; thread < locals->size(); ++thread) {
            GroupFinder &finder = (*locals)[thread]->finder();
            const GroupTable &own = finder.table();
            const std::uint32_t *by_place = finder.by_place();
            if (place + groups_ahead < end && by_place[place + groups_ahead] != 0) {
                __builtin_prefetch(own.record(by_place[place + groups_ahead] - 1));
            }
            if (by_place[place] == 0) {
                continue;
            }
            const std::uint32_t group = by_place[place] - 1;
            const std::uint64_t *record = own.record(group);
            if (merged == nullptr) {
                merged = table->rows().add();
                std::copy_n(record, plan.record_words, merged);
            } else {
                has_room &= plan.merge(merged, record);
            }
            note(thread, group, table->count() - 1);
        }
    }
    return has_room;
}

}  // namespace

bool merge_groups(MemoryBudget &budget, const Workers &workers, const GroupPlan &plan,
                  std::vector<std::unique_ptr<Accumulating>> *locals, MergedGroups *merged) {
    const std::size_t threads = locals->size();
    std::uint64_t groups = 0;
    for (const auto &local : *locals) {
        groups += local->table().count();
        if (!plan.value_sets.empty()) {
            merged->numbers.emplace_back(budget, local->table().count());
        }
    }
    const auto note = [&](std::size_t thread, std::uint64_t group, std::uint64_t number) {
        if (!merged->numbers.empty()) {
            merged->numbers[thread][group] = number;
        }
    };
    std::atomic<bool> has_room{true};
    // Without keys there is one group, which all threads have.
    if (threads == 1 || groups <= few_groups || plan.key_words == 0) {
        auto table = std::make_unique<GroupTable>(budget, plan.key_words, plan.record_words);
        std::swap(*table, (*locals)[0]->table());
        for (std::uint64_t i = 0; i < table->count(); ++i) {
            note(0, i, i);
        }
        for (std::size_t thread = 1; thread < threads; ++thread) {
            const GroupTable &own = (*locals)[thread]->table();
            for (std::uint64_t i = 0; i < own.count(); ++i) {
                std::uint32_t number = 0;
                if (plan.key_words == 0) {
                    has_room = plan.merge(table->record(0), own.record(0)) && has_room;
                } else {
                    has_room = merge_one(plan, own.record(i), table.get(), &number) && has_room;
                }
                note(thread, i, number);
            }
        }
        table->drop_slots();
        merged->tables.push_back(std::move(table));
        return has_room;
    }
    const std::uint64_t places = agree_on_places(workers, groups, locals);
    if (places != GroupFinder::no_places) {
        const std::uint64_t part_places = std::max(places / hash_parts + 1, few_groups);
        merged->tables.resize((places + part_places - 1) / part_places);
        workers.for_pieces(merged->tables.size(), 1, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t part = first; part < last; ++part) {
                auto table = std::make_unique<GroupTable>(budget, plan.key_words, plan.record_words);
                const std::uint64_t begin = part * part_places;
                const bool is_fine =
                    merge_places(plan, locals, begin, std::min(places, begin + part_places), table.get(),
                                 [&](std::size_t thread, std::uint64_t group, std::uint64_t number) {
                                     note(thread, group, part << 32 | number);
                                 });
                if (!is_fine) {
                    has_room = false;
                }
                merged->tables[part] = std::move(table);
            }
        });
        return has_room;
    }
    std::vector<HashParts> by_part(threads);
    workers.for_pieces(threads, 1, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t thread = first; thread < last; ++thread) {
            (*locals)[thread]->table().drop_slots();
            const GroupTable &table = (*locals)[thread]->table();
            by_part[thread] = order_by_part(budget, table.count(), [&](std::uint64_t group) {
                return table.hash_of(table.record(group));
            });
        }
    });
    merged->tables.resize(hash_parts);
    workers.for_pieces(hash_parts, 1, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t part = first; part < last; ++part) {
            auto table = std::make_unique<GroupTable>(budget, plan.key_words, plan.record_words);
            for (std::size_t thread = 0; thread < threads; ++thread) {
                const GroupTable &own = (*locals)[thread]->table();
                const HashParts &order = by_part[thread];
                for (std::uint64_t i = order.begin[part]; i < order.begin[part + 1]; ++i) {
                    if (i + groups_ahead < order.begin[part + 1]) {
                        __builtin_prefetch(own.record(order.entries[i + groups_ahead]));
                    }
                    std::uint32_t number;
                    if (!merge_one(plan, own.record(order.entries[i]), table.get(), &number)) {
                        has_room = false;
                    }
                    note(thread, order.entries[i], part << 32 | number);
                }
            }
            table->drop_slots();
            merged->tables[part] = std::move(table);
        }
    });
    return has_room;
}

bool write_groups(MemoryBudget &budget, const Workers &workers, const GroupPlan &plan,
                  const query::RecordLayout &layout, MergedGroups *merged, RowParts *rows) {
    std::atomic<bool> has_room{true};
    for (std::size_t part = 0; part < merged->tables.size(); ++part) {
        rows->parts.emplace_back(budget, layout.record_words);
    }
    workers.for_pieces(merged->tables.size(), 1, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t part = first; part < last; ++part) {
            GroupTable &table = *merged->tables[part];
            for (std::uint64_t i = 0; i < table.count(); ++i) {
                if (!plan.finish(table.record(i), layout, rows->parts[part].add())) {
                    has_room = false;
                }
            }
            merged->tables[part] = nullptr;
        }
    });
    return has_room;
}

}  // namespace gpu_engine::host
