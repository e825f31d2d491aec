// Goes through the rows of a request's parts, a tile at a time, for answers of groups and of first rows.
#pragma once

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "gpu_engine/guard.h"
#include "host/column/aggregate/output.h"
#include "host/column/aggregate/tile.h"
#include "host/column/load/store.h"
#include "host/column/select/rows.h"
#include "host/column/select/tests.h"
#include "host/heap_blocks.h"
#include "host/parallel.h"

namespace gpu_engine::host {

// A result in the making. Finder makes a thread's Local, which has a tile, the keys of its rows and the
// number of its part; it begins a part for that, computes the tile's chosen rows, and takes them, sure or
// unresolved.
template <typename Finder, typename Local>
class TileWalk {
  public:
    TileWalk(HostEngine &engine, const Workers &workers, const AggregateRequest &request)
        : budget_(engine.memory()),
          engine_(engine),
          workers_(workers),
          request_(request),
          known_(request.blocks != nullptr ? &known_of(*request.blocks) : nullptr),
          result_(std::make_unique<HostAggregateOutput>(budget_, plan_aggregate(request),
                                                        AggregateOutcome::answered)),
          plan_(*result_->plan) {}

  protected:
    bool stopped() const noexcept {
        return has_failed_.load(std::memory_order_relaxed) || is_full_.load(std::memory_order_relaxed);
    }

    std::unique_ptr<AggregateOutput> give_result() {
        result_->result = has_failed_ ? AggregateOutcome::failed
                          : is_full_  ? AggregateOutcome::too_many_groups
                                      : AggregateOutcome::answered;
        return std::move(result_);
    }

    // Adds one tile of every so many.
    void add_part(std::size_t part, std::uint64_t every) {
        const AggregatePart &requested = request_.parts[part];
        const auto *store = dynamic_cast<const HostColumnStore *>(requested.store);
        if (store == nullptr) {
            throw Failure{make_status(StatusCode::invalid_argument, "the store is another engine's")};
        }
        const StoreParts &parts = store->parts();
        RowTests tests(engine_, parts, requested.tests, requested.test_count);
        const std::vector<bool> is_tested =
            tests.take_conditions(engine_, parts, plan_, plan_.inputs_of(part));
        const std::shared_ptr<const DeadBitmap> dead = store->dead();
        const std::uint64_t groups = tests.none_passes() ? 0 : packed_groups(parts.layout.rows);
        const std::uint64_t tiles = (groups + tile_groups - 1) / tile_groups;
        workers_.for_pieces(tiles / every, tiles_a_piece, [&](std::uint64_t first, std::uint64_t last) {
            Local &own = local();
            if (own.part != part) {
                own.part = part;
                own.tile.begin_part(parts, plan_.inputs_of(part), is_tested);
                finder().begin_part(own, parts, is_tested);
            }
            for (std::uint64_t tile = first; tile < last && !stopped(); ++tile) {
                const std::uint64_t begin = tile * every * tile_groups;
                const std::uint64_t some = std::min<std::uint64_t>(tile_groups, groups - begin);
                std::uint64_t selected[tile_groups];
                select_live(parts, dead.get(), begin, some, selected);
                tests.apply(begin, some, selected);
                if (std::any_of(selected, selected + some, [](std::uint64_t bits) { return bits != 0; })) {
                    finder().add_tile(own, parts, begin, static_cast<std::uint32_t>(some), selected);
                }
            }
        });
    }

    // Takes a tile's rows: the unresolved ones first, then those that are left.
    void add_rows_of_tile(Local &own, const StoreParts &parts, std::uint64_t first, std::uint32_t groups,
                          std::uint64_t *selected, bool lists_unresolved) {
        std::uint64_t unresolved[tile_groups];
        own.tile.begin(first, groups, selected);
        if (known_ != nullptr && split_unresolved(parts, *known_, first, groups, selected, unresolved) &&
            lists_unresolved) {
            own.tile.choose(unresolved);
            if (finder().compute(own)) {
                finder().list_unresolved(own);
            }
        }
        if (known_ != nullptr) {
            own.tile.choose(selected);
        }
        if (own.tile.count() > 0 && finder().compute(own)) {
            finder().add_rows(own);
        }
    }

    // Puts the keys of the computed rows together by add(key, step, count, words). False when no row is left.
    template <typename Add>
    bool make_keys(Local &own, Add add) {
        const AggregateProgram &program = plan_.program;
        const std::uint32_t count = own.tile.count();
        for (std::uint32_t word = 0; word < program.key_words; ++word) {
            std::fill_n(own.keys.data() + std::uint64_t(word) * tile_rows, count, 0);
        }
        for (std::uint32_t i = 0; i < program.key_count && count > 0; ++i) {
            const AggregateKey &key = program.key[i];
            add(key, own.tile.step(key.step), count, own.keys.data() + std::uint64_t(key.word) * tile_rows);
        }
        return count > 0;
    }

    static constexpr std::uint64_t tiles_a_piece = 64;

    MemoryBudget &budget_;
    HostEngine &engine_;
    const Workers &workers_;
    const AggregateRequest &request_;
    const KnownBlocks *known_;
    std::unique_ptr<HostAggregateOutput> result_;
    const AggregatePlan &plan_;
    tbb::enumerable_thread_specific<std::unique_ptr<Local>> locals_;
    std::atomic<bool> has_failed_{false};
    std::atomic<bool> is_full_{false};

  private:
    Finder &finder() noexcept { return static_cast<Finder &>(*this); }
    Local &local() {
        std::unique_ptr<Local> &local = locals_.local();
        if (local == nullptr) {
            local = finder().make_local();
        }
        return *local;
    }
};

}  // namespace gpu_engine::host
