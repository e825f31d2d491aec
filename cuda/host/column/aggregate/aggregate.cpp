// Groups of rows: each thread has groups of its own, which are put together in the end.
#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gpu_engine/guard.h"
#include "host/column/aggregate/answer.h"
#include "host/column/aggregate/code_groups.h"
#include "host/column/column.h"
#include "host/column/aggregate/join_groups.h"
#include "host/column/select/rows.h"
#include "host/column/select/tests.h"
#include "host/column/aggregate/tile.h"
#include "host/column/aggregate/top_rows.h"
#include "host/heap_blocks.h"
#include "host/parallel.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t groups_a_piece = 64 * tile_groups;
// The number of dense groups that are joined before the next look whether the answer is still wanted. Their
// records stay in a processor's cache meanwhile.
constexpr std::uint64_t numbers_a_piece = 1 << 13;
// The memory that all threads' groups may take together where they are numbered by their keys.
constexpr std::uint64_t max_dense_bytes = 512 << 20;

// A thread's scratch memory, and its own groups.
struct Local {
    Tile tile;
    Groups groups;
    CodeGroups by_code;
    Records doubtful;
    std::size_t part = SIZE_MAX;
    Buffer<std::uint64_t> keys;
    Buffer<std::uint32_t> numbers;
    Buffer<std::uint8_t> counted;

    Local(MemoryBudget &budget, const AggregatePlan &plan, std::uint64_t most, std::uint64_t dense_bytes)
        : tile(budget, plan),
          groups(budget, plan, most, dense_bytes),
          by_code(budget, plan),
          doubtful(budget, plan.record_words() + 1),
          keys(budget, std::uint64_t(plan.program.key_words) * tile_rows),
          numbers(budget, tile_rows),
          counted(budget, tile_rows) {}
};

using Locals = tbb::enumerable_thread_specific<std::unique_ptr<Local>>;

// An answer in the making.
class Aggregator {
  public:
    Aggregator(HostEngine &engine, const Workers &workers, const AggregateQuestion &question)
        : budget_(engine.memory()),
          engine_(engine),
          workers_(workers),
          question_(question),
          known_(question.blocks != nullptr ? &known_of(*question.blocks) : nullptr),
          answer_(std::make_unique<HostAggregateAnswer>(budget_, plan_aggregate(question),
                                                        AggregateOutcome::answered)),
          plan_(*answer_->plan) {}

    std::unique_ptr<AggregateAnswer> answer() {
        for (std::size_t part = 0; part < question_.part_count; ++part) {
            add_part(part);
        }
        for (const std::unique_ptr<Local> &own : locals_) {
            give_by_code(*own);
        }
        if (!stopped()) {
            finish();
        }
        answer_->result = has_failed_ ? AggregateOutcome::failed
                          : is_full_  ? AggregateOutcome::too_many_groups
                                      : AggregateOutcome::answered;
        return std::move(answer_);
    }

  private:
    bool stopped() const noexcept {
        return has_failed_.load(std::memory_order_relaxed) || is_full_.load(std::memory_order_relaxed);
    }

    bool wants_top() const noexcept { return question_.top.count > 0; }
    bool only_counts() const noexcept { return wants_only_counts(question_); }
    // How many groups may be found before any are left out of the answer. Where the answer has only the first
    // ones, memory alone bounds what is found.
    std::uint64_t max_found() const noexcept {
        return wants_top() || only_counts() ? UINT32_MAX : question_.max_groups;
    }

    // How much memory the dense groups of one thread may take.
    std::uint64_t dense_bytes() const noexcept {
        return max_dense_bytes / static_cast<std::uint64_t>(std::max(workers_.arena.max_concurrency(), 1));
    }

    Local &local() {
        std::unique_ptr<Local> &local = locals_.local();
        if (local == nullptr) {
            local = std::make_unique<Local>(budget_, plan_, max_found(), dense_bytes());
        }
        return *local;
    }

    void give_by_code(Local &own) {
        if (!stopped() && !own.by_code.give(&own.groups)) {
            is_full_ = true;
        }
    }

    void add_part(std::size_t part) {
        const AggregatePart &asked = question_.parts[part];
        const auto *store = dynamic_cast<const HostColumnStore *>(asked.store);
        if (store == nullptr) {
            throw Failure{make_status(StatusCode::invalid_argument, "the store is another engine's")};
        }
        const StoreParts &parts = store->parts();
        RowTests tests(engine_, parts, asked.tests, asked.test_count);
        const std::vector<bool> is_tested =
            tests.take_conditions(engine_, parts, plan_, plan_.inputs_of(part));
        const bool are_all_tested = std::all_of(is_tested.begin(), is_tested.end(), std::identity());
        const std::shared_ptr<const DeadBitmap> dead = store->dead();
        const std::uint64_t groups = tests.none_passes() ? 0 : packed_groups(parts.layout.rows);
        workers_.for_pieces(groups, groups_a_piece, [&](std::uint64_t first, std::uint64_t last) {
            Local &own = local();
            if (own.part != part) {
                own.part = part;
                own.tile.begin_part(parts, plan_.inputs_of(part), is_tested);
                give_by_code(own);
                if (are_all_tested && known_ == nullptr) {
                    own.by_code.begin_part(parts, plan_.inputs_of(part));
                }
            }
            for (std::uint64_t begin = first; begin < last && !stopped(); begin += tile_groups) {
                const std::uint64_t some = std::min<std::uint64_t>(tile_groups, last - begin);
                std::uint64_t selected[tile_groups];
                select_live(parts, dead.get(), begin, some, selected);
                tests.apply(begin, some, selected);
                add_tile(own, parts, part, begin, static_cast<std::uint32_t>(some), selected);
            }
        });
    }

    void add_tile(Local &own, const StoreParts &parts, std::size_t part, std::uint64_t first,
                  std::uint32_t groups, std::uint64_t *selected) {
        if (std::all_of(selected, selected + groups, [](std::uint64_t bits) { return bits == 0; })) {
            return;
        }
        if (own.by_code.is_used()) {
            own.by_code.add(first, groups, selected);
            return;
        }
        std::uint64_t doubtful[tile_groups];
        own.tile.begin(first, groups, selected);
        if (known_ != nullptr && split_doubtful(parts, *known_, first, groups, selected, doubtful)) {
            own.tile.choose(doubtful);
            if (compute(own)) {
                list_doubtful(own, plan_.inputs_of(part));
            }
        }
        if (known_ != nullptr) {
            own.tile.choose(selected);
        }
        if (own.tile.count() > 0 && compute(own)) {
            add_rows(own, plan_.inputs_of(part));
        }
    }

    // Computes the chosen rows' steps and keys. Returns false when no row is left.
    bool compute(Local &own) {
        if (!own.tile.compute()) {
            has_failed_ = true;
            return false;
        }
        const AggregateProgram &program = plan_.program;
        const std::uint32_t count = own.tile.count();
        for (std::uint32_t word = 0; word < program.key_words; ++word) {
            std::fill_n(own.keys.data() + std::uint64_t(word) * tile_rows, count, 0);
        }
        for (std::uint32_t i = 0; i < program.key_count && count > 0; ++i) {
            const AggregateKey &key = program.key[i];
            add_key_tile(key, own.tile.step(key.step), count,
                         own.keys.data() + std::uint64_t(key.word) * tile_rows);
        }
        return count > 0;
    }

    void accumulate(Local &own, const AggregateInput *inputs, const TileGroups &groups) {
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
            if (const AggregateInput *input = wide_input(program, inputs, accumulator.step)) {
                tile.map = input->places > 0 ? static_cast<const std::uint64_t *>(input->values) : nothing;
            }
            if (!accumulate_tile(accumulator, tile, own.tile.count(), groups, own.counted.data())) {
                has_failed_ = true;
            }
        }
    }

    void add_rows(Local &own, const AggregateInput *inputs) {
        const AggregateProgram &program = plan_.program;
        if (program.key_count == 0) {
            accumulate(own, inputs, own.groups.tile_groups(nullptr));
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
        accumulate(own, inputs, own.groups.tile_groups(own.numbers.data()));
    }

    void list_doubtful(Local &own, const AggregateInput *inputs) {
        const AggregateProgram &program = plan_.program;
        const std::uint32_t count = own.tile.count();
        if (doubtful_.fetch_add(count, std::memory_order_relaxed) + count > question_.max_groups) {
            is_full_ = true;
            return;
        }
        const std::uint32_t words = plan_.record_words() + 1;
        std::uint64_t *records = own.doubtful.add(count);
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
        accumulate(own, inputs, {records + program.key_words, words, own.numbers.data()});
    }

    // ---- putting together ---------------------------------------------------------------------------------

    void finish() {
        std::vector<Groups> all;
        for (const std::unique_ptr<Local> &own : locals_) {
            answer_->doubtful_parts.push_back(std::move(own->doubtful));
            all.push_back(std::move(own->groups));
        }
        locals_.clear();
        if (all.empty()) {
            all.emplace_back(budget_, plan_, max_found(), dense_bytes());
        }
        // Doubtful rows may change the order, and belong to the same groups.
        GroupsLeft left(budget_, question_.top);
        GroupsLeft *const leaving =
            answer_->doubtful() == 0 && (wants_top() || only_counts()) ? &left : nullptr;
        if (all.front().is_dense()) {
            join_dense(&all, leaving);
        } else {
            join_hashed(&all, leaving);
        }
        if (answer_->groups() + answer_->doubtful() > question_.max_groups) {
            is_full_ = true;
        }
    }

    // All threads have a group at the same place.
    void join_dense(std::vector<Groups> *all, GroupsLeft *leaving) {
        Groups &joined = all->front();
        const auto others = std::span<const Groups>(*all).subspan(1);
        const std::uint64_t numbers = joined.numbers();
        std::vector<RecordStretch> stretches((numbers + numbers_a_piece - 1) / numbers_a_piece);
        workers_.for_pieces(numbers, numbers_a_piece, [&](std::uint64_t first, std::uint64_t last) {
            if (leaving == nullptr) {
                stretches[first / numbers_a_piece] = joined.gather(first, last, others);
                return;
            }
            GroupsLeft::Local &left = leaving->local();
            joined.join(first, last, others, [&](const std::uint64_t *record) { left.see(record); });
        });
        if (leaving != nullptr) {
            leaving->give(answer_.get());
            return;
        }
        all->erase(all->begin() + 1, all->end());
        answer_->memory = std::move(*all);
        answer_->group_parts = std::move(stretches);
    }

    void join_hashed(std::vector<Groups> *all, GroupsLeft *leaving) {
        if (all->size() > 1) {
            std::vector<RecordStretch> found;
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
        give_groups(workers_, std::move(*all), leaving, answer_.get());
    }

    MemoryBudget &budget_;
    HostEngine &engine_;
    const Workers &workers_;
    const AggregateQuestion &question_;
    const KnownBlocks *known_;
    std::unique_ptr<HostAggregateAnswer> answer_;
    const AggregatePlan &plan_;
    Locals locals_;
    std::atomic<bool> has_failed_{false};
    std::atomic<bool> is_full_{false};
    std::atomic<std::uint64_t> doubtful_{0};
};

}  // namespace

Status HostColumn::aggregate(Stream &stream, const AggregateQuestion &question,
                             std::unique_ptr<AggregateAnswer> *answer) noexcept {
    return guarded([&] {
        const Workers workers = engine_.workers(stream);
        *answer = question.top.of_rows != 0 && !wants_only_counts(question)
                      ? find_top_rows(engine_, workers, question)
                      : Aggregator(engine_, workers, question).answer();
        return Status{};
    });
}

}  // namespace gpu_engine::host
