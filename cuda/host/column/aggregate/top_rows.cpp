// The first rows: each thread keeps the first ones of those that it has seen, and the first of all threads'
// are kept in the end. What rows must be better than is found from a sample of them, since rows that lie in
// the order that is asked for, the last one first, would otherwise all be among the first when they come.
#include "host/column/aggregate/top_rows.h"

#include <algorithm>

#include "gpu_engine/top_rows.h"
#include "host/column/aggregate/tile_walk.h"

namespace gpu_engine::host {
namespace {

// The sample has one of so many tiles.
constexpr std::uint64_t tiles_a_sample = 32;

// Rows with the memory that they lie in.
class KeptRows {
  public:
    KeptRows(MemoryBudget &budget, const AggregatePlan &plan, const AggregateTop &top)
        : budget_(&budget), rows_(begin_top_rows(plan.program, top)) {}

    const TopRows &rows() const noexcept { return rows_; }
    // Forgets the rows, and has only those kept that are within the bound of the sample.
    void begin_within(const TopRows &sample) noexcept {
        rows_.count = 0;
        rows_.has_bound = sample.has_bound;
        rows_.bound_is_enough = false;
        std::copy_n(sample.bound, rows_.key_words, rows_.bound);
    }
    // Makes room for so many more rows.
    void make_room(std::uint64_t more) {
        if (rows_.has_room(more)) {
            return;
        }
        leave_top_rows(&rows_);
        if (rows_.has_room(std::max(more, rows_.count))) {
            return;
        }
        const std::uint64_t capacity = larger_capacity(rows_, more);
        if (capacity > UINT32_MAX) {
            throw Failure{make_status(StatusCode::out_of_memory, "too many rows are among the first ones")};
        }
        Buffer<std::uint64_t> records(*budget_, capacity * rows_.words());
        std::copy_n(records_.data(), rows_.count * rows_.words(), records.data());
        records_ = std::move(records);
        order_ = Buffer<std::uint32_t>();
        order_ = Buffer<std::uint32_t>(*budget_, capacity);
        rows_.records = records_.data();
        rows_.order = order_.data();
        rows_.capacity = capacity;
    }
    void add(const std::uint64_t *key, std::uint64_t place) noexcept { add_top_row(&rows_, key, place); }
    void leave() { leave_top_rows(&rows_); }
    void merge(const KeptRows &others) { merge(others.rows_.records, others.rows_.count); }
    void merge(const std::uint64_t *records, std::uint64_t count) {
        make_room(count);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t *record = records + i * rows_.words();
            add(record, record[rows_.key_words]);
        }
    }

  private:
    MemoryBudget *budget_;
    TopRows rows_;
    Buffer<std::uint64_t> records_;
    Buffer<std::uint32_t> order_;
};

// Keeps an unresolved row that may be among the first. One that is like the last sure one needn't be.
void keep_unresolved(const TopRows &sure, const std::uint64_t *record, Records *kept) {
    if (sure.count < sure.wanted || is_within_bound(sure, record)) {
        // Behind the key and the place there is the TID.
        std::copy_n(record, sure.words() + 1, kept->add(1));
    }
}

// Returns false when there are more rows than the caller has room for.
bool give_rows(MemoryBudget &budget, const TopRows &rows, Records unresolved, std::uint64_t max_rows,
               HostAggregateOutput *output) {
    Records records(budget, rows.words());
    if (rows.count > 0) {
        std::copy_n(rows.records, rows.count * rows.words(),
                    records.add(static_cast<std::uint32_t>(rows.count)));
    }
    output->top_parts.push_back(std::move(records));
    output->unresolved_parts.push_back(std::move(unresolved));
    return output->groups() <= max_rows && output->unresolved() <= max_rows - output->groups();
}

// A thread's scratch memory, and its own rows.
struct Local {
    Tile tile;
    KeptRows kept;
    Records unresolved;
    std::size_t part = SIZE_MAX;
    Buffer<std::uint64_t> keys;  // keys of the tile's rows, a row's words one behind the other

    Local(MemoryBudget &budget, const AggregatePlan &plan, const AggregateTop &top)
        : tile(budget, plan),
          kept(budget, plan, top),
          unresolved(budget, plan.record_words() + 1),
          keys(budget, std::uint64_t(plan.program.key_words) * tile_rows) {}
};

class TopRowsFinder : public TileWalk<TopRowsFinder, Local> {
  public:
    TopRowsFinder(HostEngine &engine, const Workers &workers, const AggregateRequest &request)
        : TileWalk(engine, workers, request), bound_(budget_, plan_, request.top) {}

    std::unique_ptr<AggregateOutput> output() {
        take_sample();
        for (std::size_t part = 0; part < request_.part_count && !stopped(); ++part) {
            add_part(part, 1);
        }
        if (!stopped()) {
            finish();
        }
        return give_result();
    }

  private:
    friend TileWalk;

    // The first of the rows in some of the tiles are as many as are wanted, so the last one of them is a
    // bound.
    void take_sample() {
        is_sample_ = true;
        for (std::size_t part = 0; part < request_.part_count && !stopped(); ++part) {
            add_part(part, tiles_a_sample);
        }
        is_sample_ = false;
        for (const std::unique_ptr<Local> &own : locals_) {
            bound_.merge(own->kept);
        }
        bound_.leave();
        for (const std::unique_ptr<Local> &own : locals_) {
            own->kept.begin_within(bound_.rows());
        }
    }

    std::unique_ptr<Local> make_local() {
        auto local = std::make_unique<Local>(budget_, plan_, request_.top);
        local->kept.begin_within(bound_.rows());
        return local;
    }

    void begin_part(Local &, const StoreParts &, const std::vector<bool> &) {}

    void add_tile(Local &own, const StoreParts &parts, std::uint64_t first, std::uint32_t groups,
                  std::uint64_t *selected) {
        add_rows_of_tile(own, parts, first, groups, selected, !is_sample_);
    }

    // Computes the chosen rows' steps and keys. Returns false when no row is left.
    bool compute(Local &own) {
        const TopRows &rows = own.kept.rows();
        const FirstKeyBound bound =
            rows.has_bound ? first_key_bound(plan_.program.key[0], rows.bound[0]) : FirstKeyBound{};
        if (!own.tile.compute(bound)) {
            has_failed_ = true;
            return false;
        }
        return make_keys(own, [](const auto &...of_key) { add_order_tile(of_key...); });
    }

    // Calls visit(key's words, TID) for the computed rows within the bound.
    template <typename Visit>
    void for_rows(Local &own, Visit visit) {
        const std::uint32_t words = plan_.program.key_words;
        std::uint64_t key[max_aggregate_keys];
        const std::uint64_t *places = nullptr;
        for (std::uint32_t i = 0; i < own.tile.count(); ++i) {
            for (std::uint32_t word = 0; word < words; ++word) {
                key[word] = own.keys[std::uint64_t(word) * tile_rows + i];
            }
            if (is_within_bound(own.kept.rows(), key)) {
                places = places == nullptr ? own.tile.places() : places;
                visit(key, places[own.tile.row(i)]);
            }
        }
    }

    void add_rows(Local &own) {
        own.kept.make_room(own.tile.count());
        for_rows(own, [&](const std::uint64_t *key, std::uint64_t place) { own.kept.add(key, place); });
    }

    void list_unresolved(Local &own) {
        const std::uint32_t words = plan_.program.key_words;
        for_rows(own, [&](const std::uint64_t *key, std::uint64_t place) {
            std::uint64_t *record = own.unresolved.add(1);
            std::copy_n(key, words, record);
            record[words] = place;
            record[words + 1] = place;
        });
        if (own.unresolved.count() > request_.max_groups) {
            is_full_ = true;
        }
    }

    void finish() {
        KeptRows kept(budget_, plan_, request_.top);
        for (const std::unique_ptr<Local> &own : locals_) {
            own->kept.leave();
            kept.merge(own->kept);
        }
        kept.leave();
        Records unresolved(budget_, plan_.record_words() + 1);
        for (const std::unique_ptr<Local> &own : locals_) {
            for (std::uint64_t i = 0; i < own->unresolved.count(); ++i) {
                keep_unresolved(kept.rows(), own->unresolved.record(i), &unresolved);
            }
        }
        is_full_ =
            !give_rows(budget_, kept.rows(), std::move(unresolved), request_.max_groups, result_.get());
    }

    KeptRows bound_;
    bool is_sample_ = false;
};

}  // namespace

void merge_top_rows(MemoryBudget &budget, const AggregateMerge &merge, HostAggregateOutput *output) {
    KeptRows kept(budget, *output->plan, merge.top);
    for (std::size_t part = 0; part < merge.part_count; ++part) {
        kept.merge(merge.parts[part].group_records, merge.parts[part].groups);
    }
    kept.leave();
    const std::uint32_t words = output->plan->record_words() + 1;
    Records unresolved(budget, words);
    for (std::size_t part = 0; part < merge.part_count; ++part) {
        for (std::uint64_t i = 0; i < merge.parts[part].unresolved; ++i) {
            keep_unresolved(kept.rows(), merge.parts[part].unresolved_records + i * words, &unresolved);
        }
    }
    if (!give_rows(budget, kept.rows(), std::move(unresolved), merge.max_groups, output)) {
        output->result = AggregateOutcome::too_many_groups;
    }
}

std::unique_ptr<AggregateOutput> find_top_rows(HostEngine &engine, const Workers &workers,
                                               const AggregateRequest &request) {
    return TopRowsFinder(engine, workers, request).output();
}

}  // namespace gpu_engine::host
