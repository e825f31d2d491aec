#include "host/query/stage.h"

#include <algorithm>

#include "gpu_engine/guard.h"
#include "host/column/select/rows.h"
#include "host/column/select/tests.h"
#include "host/heap_blocks.h"
#include "host/query/window.h"

namespace gpu_engine::host {

using query::NodeKind;

namespace {

constexpr std::uint64_t tile_groups_of_query = query_tile_rows / packing::group;
// Tiles that a thread takes at a time.
constexpr std::uint64_t tiles_a_piece = 4;
// What several threads have computed must be put together again, so that fewer combinations are for one.
constexpr std::uint64_t combinations_a_piece = 64 * query_tile_rows;

}  // namespace

Stage::Stage(HostEngine &engine, const Workers &workers, const query::Query &query, const JoinTables &tables,
             std::uint32_t input, std::vector<std::uint32_t> nodes, bool is_last,
             const std::vector<query::SumScale> &scales, RunState *state)
    : engine_(engine),
      workers_(workers),
      query_(query),
      tables_(tables),
      input_(input),
      nodes_(std::move(nodes)),
      is_last_(is_last),
      state_(state),
      layout_(query::column_types(query, nodes_.empty() ? input : nodes_.back())),
      collected_(layout_) {
    for (const std::uint32_t number : nodes_) {
        if (node(number).kind == NodeKind::compute || node(number).kind == NodeKind::join) {
            operators_.push_back(number);
        }
    }
    if (ends_with(NodeKind::window)) {
        collected_ = query::RecordLayout(query::column_types(query, node(nodes_.back()).input));
    }
    if (is_sorted()) {
        sort_ = SortPlan(query, node(nodes_.back()), collected_);
        sort_.limit = ends_with(NodeKind::window) ? UINT64_MAX : sort_.limit;
    } else if (ends_with(NodeKind::aggregate)) {
        plan_ = std::make_unique<GroupPlan>(query, node(nodes_.back()), scales);
    }
    left_ = std::vector<std::atomic<std::uint64_t>>(operators_.size());
    marks_.resize(operators_.size());
    for (std::size_t i = 0; i < operators_.size(); ++i) {
        left_[i] = is_join(i) ? UINT64_MAX : node(operators_[i]).limit;
        if (is_join(i) && query::keeps_build(node(operators_[i]).join)) {
            marks_[i] = Buffer<std::uint8_t>(engine_.memory(), table(i).rows());
            std::fill_n(marks_[i].data(), marks_[i].size(), 0);
        }
    }
}

Stage::Local &Stage::local() {
    std::unique_ptr<Local> &local = locals_.local();
    if (local == nullptr) {
        local = std::make_unique<Local>();
        local->programs.resize(operators_.size());
        local->tiles.resize(operators_.size());
        local->joins.resize(operators_.size());
        for (std::size_t i = 0; i < operators_.size(); ++i) {
            const query::Node &own = node(operators_[i]);
            if (is_join(i)) {
                local->joins[i] =
                    std::make_unique<JoinProbe>(engine_.memory(), workers_, table(i), marks_[i].data());
            } else {
                // Few of the rows that are sorted are among the first.
                const bool defers = i + 1 == operators_.size() && ends_with(NodeKind::sort);
                local->programs[i] = std::make_unique<Program>(engine_.memory(), query_, own, defers);
                local->tiles[i] = std::make_unique<VectorTile>(own.outputs.count);
            }
        }
        if (plan_ != nullptr) {
            local->aggregate = std::make_unique<Program>(engine_.memory(), query_, plan_->node);
            local->groups = std::make_unique<Accumulating>(engine_.memory(), *plan_);
            local->spans.assign(plan_->accumulators.size(), query::no_span);
        } else {
            local->collector = std::make_unique<RowCollector>(engine_.memory(), collected_, sort_);
        }
        local->run_tile = std::make_unique<RunTile>(engine_.memory());
        local->unresolved = std::make_unique<QueryRows>(engine_.memory(), 1);
    }
    return *local;
}

// ---- sources ----------------------------------------------------------------------------------------------

// Calls visit(a thread's own, first group, groups, selected bits) for a tile of the run's rows that count.
template <typename Visit>
void Stage::for_run(const RunReader &reader, const query::RunSource &run, const KnownBlocks *known,
                    Visit visit) {
    const StoreParts &parts = reader.parts();
    RowTests tests(engine_, parts, run.tests, run.test_count);
    const std::shared_ptr<const DeadBitmap> dead = reader.store().dead();
    const std::uint64_t groups = tests.none_passes() ? 0 : packed_groups(parts.layout.rows);
    workers_.for_pieces(
        groups, tiles_a_piece * tile_groups_of_query, [&](std::uint64_t begin, std::uint64_t end) {
            Local &own = local();
            for (std::uint64_t first = begin; first < end; first += tile_groups_of_query) {
                if (has_enough() || (state_->stopped() && known == nullptr)) {
                    return;
                }
                const std::uint64_t some = std::min(tile_groups_of_query, end - first);
                std::uint64_t selected[tile_groups_of_query];
                std::uint64_t unresolved[tile_groups_of_query] = {};
                select_live(parts, dead.get(), first, some, selected);
                tests.apply(first, some, selected);
                if (known != nullptr && split_unresolved(parts, *known, first, some, selected, unresolved)) {
                    state_->is_unresolved = true;
                    for_selected(parts, first, some, unresolved, [&](std::uint64_t, const Tid &tid) {
                        std::memcpy(own.unresolved->add(), &tid, sizeof(tid));
                    });
                }
                if (state_->stopped() ||
                    std::all_of(selected, selected + some, [](std::uint64_t bits) { return bits == 0; })) {
                    continue;
                }
                visit(own, first, static_cast<std::uint32_t>(some), selected);
            }
        });
}

void Stage::add_run(const query::RunSource &run, const KnownBlocks *known) {
    const RunReader reader(engine_.memory(), query_, node(input_), run);
    if (plan_ != nullptr && operators_.empty()) {
        const Combinations combinations(reader, taken_columns());
        if (combinations.are_few()) {
            add_combinations(reader, run, known, combinations);
            return;
        }
    }
    for_run(reader, run, known,
            [&](Local &own, std::uint64_t first, std::uint32_t groups, const std::uint64_t *selected) {
                own.run_tile->begin(reader, first, groups, selected);
                add_tile(own, *own.run_tile);
            });
}

// The columns that the aggregate's steps take.
std::vector<std::uint32_t> Stage::taken_columns() const {
    std::vector<std::uint32_t> columns;
    for (const query::StepPass &pass : query::passes_of(query_, plan_->node)) {
        for (const std::uint16_t step : pass.steps) {
            if (plan_->step(step).operation == query::Operation::column) {
                columns.push_back(plan_->step(step).left);
            }
        }
    }
    return columns;
}

void Stage::add_combinations(const RunReader &reader, const query::RunSource &run, const KnownBlocks *known,
                             const Combinations &combinations) {
    tbb::enumerable_thread_specific<std::unique_ptr<CombinationCounter>> counters;
    for_run(reader, run, known,
            [&](Local &, std::uint64_t first, std::uint32_t groups, const std::uint64_t *selected) {
                std::unique_ptr<CombinationCounter> &counter = counters.local();
                if (counter == nullptr) {
                    counter = std::make_unique<CombinationCounter>(engine_.memory(), combinations);
                }
                counter->add(first, groups, selected);
            });
    if (state_->stopped() || counters.empty()) {
        return;
    }
    Buffer<std::uint32_t> weights(engine_.memory(), combinations.places());
    std::fill_n(weights.data(), weights.size(), 0);
    for (const std::unique_ptr<CombinationCounter> &counter : counters) {
        counter->add_to(weights.data());
    }
    Buffer<std::uint32_t> places(engine_.memory(), combinations.places());
    std::uint32_t count = 0;
    for (std::uint32_t place = 0; place < combinations.places(); ++place) {
        places[count] = place;
        weights[count] = weights[place];
        count += weights[count] != 0 ? 1 : 0;
    }
    workers_.for_pieces(count, combinations_a_piece, [&](std::uint64_t begin, std::uint64_t end) {
        Local &own = local();
        for (std::uint64_t first = begin; first < end && !state_->stopped(); first += query_tile_rows) {
            own.run_tile->begin(
                reader, combinations, places.data() + first, weights.data() + first,
                static_cast<std::uint32_t>(std::min<std::uint64_t>(query_tile_rows, end - first)));
            add_tile(own, *own.run_tile);
        }
    });
}

void Stage::add_input(const query::InputSource &input) {
    const ValueType *types = query_.types + node(input_).types.first;
    workers_.for_pieces(
        input.rows, tiles_a_piece * query_tile_rows, [&](std::uint64_t begin, std::uint64_t end) {
            Local &own = local();
            InputTile tile(input, types);
            for (std::uint64_t first = begin; first < end && !state_->stopped() && !has_enough();
                 first += query_tile_rows) {
                tile.begin(first,
                           static_cast<std::uint32_t>(std::min<std::uint64_t>(query_tile_rows, end - first)));
                add_tile(own, tile);
            }
        });
}

void Stage::add_rows(const RowParts &rows, const query::RecordLayout &layout) {
    // Parts are often smaller than what a thread takes at a time.
    struct Piece {
        const QueryRows *part;
        std::uint64_t first;
        std::uint64_t end;
    };
    constexpr std::uint64_t piece_rows = tiles_a_piece * query_tile_rows;
    std::vector<Piece> pieces;
    for (const QueryRows &part : rows.parts) {
        for (std::uint64_t first = 0; first < part.count(); first += piece_rows) {
            pieces.push_back({&part, first, std::min(part.count(), first + piece_rows)});
        }
    }
    workers_.for_pieces(pieces.size(), 1, [&](std::uint64_t begin, std::uint64_t end) {
        Local &own = local();
        RecordTile tile(layout);
        for (std::uint64_t i = begin; i < end; ++i) {
            pieces[i].part->for_spans(pieces[i].first, pieces[i].end, query_tile_rows,
                                      [&](const std::uint64_t *records, std::uint64_t some) {
                                          if (!state_->stopped() && !has_enough()) {
                                              tile.begin(records, static_cast<std::uint32_t>(some));
                                              add_tile(own, tile);
                                          }
                                      });
        }
    });
}

// ---- rows -------------------------------------------------------------------------------------------------

// How many of so many rows a computation's limit still lets through.
std::uint32_t Stage::claim(std::size_t place, std::uint32_t count) {
    std::uint64_t left = left_[place].load(std::memory_order_relaxed);
    if (left == UINT64_MAX) {
        return count;
    }
    std::uint64_t some = 0;
    do {
        some = std::min<std::uint64_t>(left, count);
    } while (!left_[place].compare_exchange_weak(left, left - some, std::memory_order_relaxed));
    return static_cast<std::uint32_t>(some);
}

bool Stage::has_enough() const noexcept {
    return std::any_of(left_.begin(), left_.end(),
                       [](const auto &left) { return left.load(std::memory_order_relaxed) == 0; });
}

void Stage::note_count(std::uint64_t count) {
    if (is_last_ && count > query_.max_rows) {
        state_->is_full = true;
    }
}

void Stage::add_to(Local &own, std::size_t place, TileInput &tile) {
    TileInput *input = &tile;
    for (; place < operators_.size(); ++place) {
        if (is_join(place)) {
            const bool is_fine = own.joins[place]->probe(*input, [&](TileInput &joined) {
                add_to(own, place + 1, joined);
                return !state_->stopped() && !has_enough();
            });
            if (!is_fine) {
                state_->has_failed = true;
            }
            return;
        }
        input = compute(own, place, *input);
        if (input == nullptr) {
            return;
        }
    }
    collect(own, *input);
}

// The outputs of a computation; nullptr where there is none.
TileInput *Stage::compute(Local &own, std::size_t place, TileInput &input) {
    const query::Node &computed = node(operators_[place]);
    if (!own.programs[place]->compute(input)) {
        state_->has_failed = true;
        return nullptr;
    }
    const std::uint32_t count = claim(place, input.count());
    if (count == 0) {
        return nullptr;
    }
    VectorTile &outputs = *own.tiles[place];
    input.keep_first(count);
    outputs.begin(count, &input);
    const Program &program = *own.programs[place];
    for (std::uint32_t k = 0; k < computed.outputs.count; ++k) {
        const std::uint16_t step = query_.outputs[computed.outputs.first + k];
        if (program.is_deferred(step)) {
            outputs.defer(k, program.column_of(step));
        } else {
            outputs.set(k, program.step(step));
        }
    }
    return &outputs;
}

void Stage::collect(Local &own, TileInput &input) {
    if (plan_ != nullptr) {
        add_to_groups(own, input);
    } else if (input.count() > 0) {
        own.collector->add(input);
        if (!is_sorted()) {
            note_count(collected_rows_ += input.count());
        }
    }
}

// Those of the first join go through the others, which they may match.
void Stage::add_unmatched() {
    for (std::size_t place = 0; place < operators_.size(); ++place) {
        if (marks_[place].size() == 0) {
            continue;
        }
        workers_.for_pieces(table(place).rows(), tiles_a_piece * query_tile_rows,
                            [&](std::uint64_t first, std::uint64_t end) {
                                Local &own = local();
                                if (state_->stopped() || has_enough()) {
                                    return;
                                }
                                own.joins[place]->give_unmarked(first, end, [&](TileInput &joined) {
                                    add_to(own, place + 1, joined);
                                    return !state_->stopped() && !has_enough();
                                });
                            });
    }
}

void Stage::add_to_groups(Local &own, TileInput &tile) {
    if (!own.aggregate->compute(tile)) {
        state_->has_failed = true;
        return;
    }
    if (misfits_) {
        return;
    }
    if (finds_spans_) {
        find_spans(own, tile.count());
        return;
    }
    std::uint32_t weights[query_tile_rows];
    const AddResult result = own.groups->add(*own.aggregate, tile.count(), tile.load_weights(weights));
    if (result == AddResult::overflows) {
        state_->has_failed = true;
    } else if (result == AddResult::misfits) {
        misfits_ = true;
    }
    note_count(own.groups->table().count());
}

void Stage::find_spans(Local &own, std::uint32_t count) {
    own.rows += count;
    for (std::size_t i = 0; i < plan_->accumulators.size(); ++i) {
        const query::Accumulator &accumulator = plan_->accumulators[i].requested;
        if (accumulator.kind != query::AccumulatorKind::sum_float || plan_->accumulators[i].words == 0) {
            continue;
        }
        const Vector &argument = own.aggregate->step(accumulator.argument);
        // A value that isn't added makes a sum's room larger at most.
        for (std::uint32_t row = 0; row < count; ++row) {
            if (argument.nulls == nullptr || argument.nulls[row] == 0) {
                query::widen_span(&own.spans[i], argument.as<double>()[row]);
            }
        }
    }
}

std::vector<query::SumScale> Stage::needed_scales() {
    std::vector<query::SumScale> scales;
    for (std::size_t i = 0; i < plan_->accumulators.size(); ++i) {
        query::FloatSpan span = query::no_span;
        for (const std::unique_ptr<Local> &own : locals_) {
            span.low = std::min(span.low, own->spans[i].low);
            span.high = std::max(span.high, own->spans[i].high);
        }
        query::SumScale scale = query::scale_of_span(span, UINT64_MAX);
        // Values are placed as if they all had 53 bits.
        if (span.low <= span.high) {
            scale.words =
                static_cast<std::uint32_t>(std::max(span.high - span.low, 53) + carry_bits + 64 + 63) / 64;
        }
        scales.push_back(scale);
    }
    return scales;
}

// ---- results ----------------------------------------------------------------------------------------------

RowParts Stage::take_unresolved() {
    RowParts tids;
    for (const std::unique_ptr<Local> &own : locals_) {
        tids.parts.push_back(std::move(*own->unresolved));
    }
    return tids;
}

RowParts Stage::finish() {
    if (state_->stopped() || misfits_ || finds_spans_) {
        return {};
    }
    if (plan_ != nullptr) {
        return finish_groups();
    }
    RowParts rows;
    if (!is_sorted()) {
        for (const std::unique_ptr<Local> &own : locals_) {
            rows.parts.push_back(std::move(own->collector->rows()));
        }
        return rows;
    }
    std::vector<QueryRows *> parts;
    for (const std::unique_ptr<Local> &own : locals_) {
        parts.push_back(&own->collector->rows());
    }
    rows.parts.push_back(sort_rows(engine_.memory(), workers_, sort_, collected_.record_words, parts));
    if (ends_with(NodeKind::window)) {
        rows.parts.back() = add_functions(engine_.memory(), workers_, query_, node(nodes_.back()), collected_,
                                          layout_, rows.parts.back());
    }
    note_count(rows.count());
    return rows;
}

RowParts Stage::finish_groups() {
    RowParts rows;
    std::vector<std::unique_ptr<Accumulating>> groups;
    for (const std::unique_ptr<Local> &own : locals_) {
        groups.push_back(std::move(own->groups));
    }
    if (groups.empty()) {
        groups.push_back(std::make_unique<Accumulating>(engine_.memory(), *plan_));
    }
    MergedGroups merged;
    const bool has_room =
        merge_groups(engine_.memory(), workers_, *plan_, &groups, &merged) &&
        write_groups(engine_.memory(), workers_, *plan_, layout_, &merged, &rows) &&
        write_value_sets(engine_.memory(), workers_, *plan_, layout_, groups, merged, &rows);
    if (!has_room) {
        state_->has_failed = true;
        return {};
    }
    note_count(rows.count());
    return rows;
}

}  // namespace gpu_engine::host
