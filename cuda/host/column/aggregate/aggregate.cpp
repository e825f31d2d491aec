// Groups of rows: each thread has groups of its own, which are put together in the end.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "host/column/aggregate/code_groups.h"
#include "host/column/aggregate/join_groups.h"
#include "host/column/aggregate/tile_walk.h"
#include "host/column/aggregate/top_rows.h"
#include "host/column/column.h"

namespace gpu_engine::host {
namespace {

// The number of dense groups that are joined before the next look whether the result is still wanted. Their
// records stay in a processor's cache meanwhile.
constexpr std::uint64_t numbers_a_piece = 1 << 13;
// The memory that all threads' groups may take together where they are numbered by their keys.
constexpr std::uint64_t max_dense_bytes = 512 << 20;

// A thread's scratch memory, and its own groups.
struct Local {
    Tile tile;
    Groups groups;
    CodeGroups by_code;
    Records unresolved;
    std::size_t part = SIZE_MAX;
    Buffer<std::uint64_t> keys;
    Buffer<std::uint32_t> numbers;
    Buffer<std::uint8_t> counted;

    Local(MemoryBudget &budget, const AggregatePlan &plan, std::uint64_t most, std::uint64_t dense_bytes)
        : tile(budget, plan),
          groups(budget, plan, most, dense_bytes),
          by_code(budget, plan),
          unresolved(budget, plan.record_words() + 1),
          keys(budget, std::uint64_t(plan.program.key_words) * tile_rows),
          numbers(budget, tile_rows),
          counted(budget, tile_rows) {}
};

class Aggregator : public TileWalk<Aggregator, Local> {
  public:
    using TileWalk::TileWalk;

    std::unique_ptr<AggregateOutput> output() {
        for (std::size_t part = 0; part < request_.part_count; ++part) {
            add_part(part, 1);
        }
        for (const std::unique_ptr<Local> &own : locals_) {
            give_by_code(*own);
        }
        if (!stopped()) {
            finish();
        }
        return give_result();
    }

  private:
    friend TileWalk;

    bool wants_top() const noexcept { return request_.top.count > 0; }
    bool only_counts() const noexcept { return wants_only_counts(request_); }
    // Returns how many groups may be found before any are left out of the result. Where the result has only
    // the first ones, memory alone bounds what is found.
    std::uint64_t max_found() const noexcept {
        return wants_top() || only_counts() ? UINT32_MAX : request_.max_groups;
    }

    // Returns how much memory the dense groups of one thread may take.
    std::uint64_t dense_bytes() const noexcept {
        return max_dense_bytes / static_cast<std::uint64_t>(std::max(workers_.arena.max_concurrency(), 1));
    }

    std::unique_ptr<Local> make_local() {
        return std::make_unique<Local>(budget_, plan_, max_found(), dense_bytes());
    }

    void give_by_code(Local &own) {
        if (!stopped() && !own.by_code.give(&own.groups)) {
            is_full_ = true;
        }
    }

    void begin_part(Local &own, const StoreParts &parts, const std::vector<bool> &is_tested) {
        give_by_code(own);
        if (known_ == nullptr && std::all_of(is_tested.begin(), is_tested.end(), std::identity())) {
            own.by_code.begin_part(parts, plan_.inputs_of(own.part));
        }
    }

    void add_tile(Local &own, const StoreParts &parts, std::uint64_t first, std::uint32_t groups,
                  std::uint64_t *selected) {
        if (own.by_code.is_used()) {
            own.by_code.add(first, groups, selected);
        } else {
            add_rows_of_tile(own, parts, first, groups, selected, true);
        }
    }

    // Computes the chosen rows' steps and keys. Returns false when no row is left.
    bool compute(Local &own) {
        if (!own.tile.compute()) {
            has_failed_ = true;
            return false;
        }
        return make_keys(own, [](const auto &...of_key) { add_key_tile(of_key...); });
    }

    void accumulate(Local &own, const TileGroups &groups) {
        static constexpr std::uint64_t nothing[2] = {};
        const AggregateProgram &program = plan_.program;
        for (std::uint32_t i = 0; i < program.accumulator_count; ++i) {
            const Accumulator &accumulator = program.accumulator[i];
            AccumulatorTile tile = {};
            if (accumulator.step != no_aggregate_step) {
                tile.argument = &own.tile.step(accumulator.step);
            }
            if (accumulator.filter != no_aggregate_step) {
                tile.filter = &own.tile.step(accumulator.filter);
            }
            if (const AggregateInput *input =
                    wide_input(program, plan_.inputs_of(own.part), accumulator.step)) {
                tile.map = input->places > 0 ? static_cast<const std::uint64_t *>(input->values) : nothing;
            }
            if (!accumulate_tile(accumulator, tile, own.tile.count(), groups, own.counted.data())) {
                has_failed_ = true;
            }
        }
    }

    void add_rows(Local &own) {
        const AggregateProgram &program = plan_.program;
        if (program.key_count == 0) {
            accumulate(own, own.groups.tile_groups(nullptr));
            return;
        }
        const std::uint64_t *keys[max_aggregate_keys];
        for (std::uint32_t word = 0; word < program.key_words; ++word) {
            keys[word] = own.keys.data() + std::uint64_t(word) * tile_rows;
        }
        if (!own.groups.find(keys, own.tile.count(), own.numbers.data())) {
            is_full_ = true;
            return;
        }
        accumulate(own, own.groups.tile_groups(own.numbers.data()));
    }

    void list_unresolved(Local &own) {
        const AggregateProgram &program = plan_.program;
        const std::uint32_t count = own.tile.count();
        if (unresolved_.fetch_add(count, std::memory_order_relaxed) + count > request_.max_groups) {
            is_full_ = true;
            return;
        }
        const std::uint32_t words = plan_.record_words() + 1;
        std::uint64_t *records = own.unresolved.add(count);
        const std::uint64_t *places = own.tile.places();
        for (std::uint32_t i = 0; i < count; ++i) {
            std::uint64_t *record = records + std::uint64_t(i) * words;
            for (std::uint32_t word = 0; word < program.key_words; ++word) {
                record[word] = own.keys[std::uint64_t(word) * tile_rows + i];
            }
            begin_group(program, record + program.key_words);
            record[words - 1] = places[own.tile.row(i)];
            own.numbers[i] = i;
        }
        accumulate(own, {records + program.key_words, words, own.numbers.data()});
    }

    // ---- putting together ---------------------------------------------------------------------------------

    void finish() {
        std::vector<Groups> all;
        for (const std::unique_ptr<Local> &own : locals_) {
            result_->unresolved_parts.push_back(std::move(own->unresolved));
            all.push_back(std::move(own->groups));
        }
        locals_.clear();
        if (all.empty()) {
            all.emplace_back(budget_, plan_, max_found(), dense_bytes());
        }
        // Unresolved rows may change the order, and belong to the same groups.
        GroupsLeft left(budget_, request_.top);
        GroupsLeft *const leaving =
            result_->unresolved() == 0 && (wants_top() || only_counts()) ? &left : nullptr;
        if (all.front().is_dense()) {
            join_dense(&all, leaving);
        } else {
            join_hashed(&all, leaving);
        }
        if (result_->groups() + result_->unresolved() > request_.max_groups) {
            is_full_ = true;
        }
    }

    // All threads have a group at the same place.
    void join_dense(std::vector<Groups> *all, GroupsLeft *leaving) {
        Groups &joined = all->front();
        const auto others = std::span<const Groups>(*all).subspan(1);
        const std::uint64_t numbers = joined.numbers();
        std::vector<RecordSpan> spans((numbers + numbers_a_piece - 1) / numbers_a_piece);
        workers_.for_pieces(numbers, numbers_a_piece, [&](std::uint64_t first, std::uint64_t last) {
            if (leaving == nullptr) {
                spans[first / numbers_a_piece] = joined.gather(first, last, others);
                return;
            }
            GroupsLeft::Local &left = leaving->local();
            joined.join(first, last, others, [&](const std::uint64_t *record) { left.see(record); });
        });
        if (leaving != nullptr) {
            leaving->give(result_.get());
            return;
        }
        all->erase(all->begin() + 1, all->end());
        result_->memory = std::move(*all);
        result_->group_parts = std::move(spans);
    }

    void join_hashed(std::vector<Groups> *all, GroupsLeft *leaving) {
        if (all->size() > 1) {
            std::vector<RecordSpan> found;
            for (const Groups &own : *all) {
                found.emplace_back(own.record(0), own.numbers(), plan_.record_words());
            }
            std::vector<Groups> joined;
            if (!join_groups(budget_, workers_, plan_, found, 0, max_found(), &joined)) {
                is_full_ = true;
                return;
            }
            *all = std::move(joined);
        }
        give_groups(workers_, std::move(*all), leaving, result_.get());
    }

    std::atomic<std::uint64_t> unresolved_{0};
};

}  // namespace

Status HostColumn::aggregate(Stream &stream, const AggregateRequest &request,
                             std::unique_ptr<AggregateOutput> *output) noexcept {
    return guarded([&] {
        const Workers workers = engine_.workers(stream);
        *output = request.top.of_rows != 0 && !wants_only_counts(request)
                      ? find_top_rows(engine_, workers, request)
                      : Aggregator(engine_, workers, request).output();
        return Status{};
    });
}

}  // namespace gpu_engine::host
