#include "host/column/aggregate/tile.h"

#include <algorithm>

#include "gpu_engine/guard.h"
#include "gpu_engine/packing.h"
#include "host/column/select/rows.h"
#include "host/column/select/unpack.h"

namespace gpu_engine::host {

using packing::group;

namespace {

constexpr std::uint32_t no_slot = UINT32_MAX;
// Codes are read one by one in a group that has no more rows than this on the average.
constexpr std::uint32_t few_rows = 6;

}  // namespace

Tile::Tile(MemoryBudget &budget, const AggregatePlan &plan)
    : plan_(plan),
      positions_(budget, tile_rows),
      places_(budget, tile_rows),
      slot_(plan.program.step_count, no_slot),
      results_(plan.program.step_count),
      is_computed_(plan.program.step_count) {
    std::uint32_t slots = 0;
    for (const auto *steps : {&plan.steps.filter, &plan.steps.rest}) {
        for (const std::uint16_t step : *steps) {
            if (slot_[step] == no_slot) {
                slot_[step] = slots++;
            }
        }
    }
    values_ = Buffer<std::int64_t>(budget, std::uint64_t(slots) * tile_rows);
    nulls_ = Buffer<std::uint8_t>(budget, std::uint64_t(slots) * tile_rows);
    for (std::uint32_t column = 0; column < max_store_columns; ++column) {
        for (const AggregateInput &input : plan.inputs) {
            codes_[column].is_used |= input.column == column;
        }
        if (codes_[column].is_used) {
            codes_[column].room = Buffer<std::uint64_t>(budget, tile_rows);
            std::fill_n(codes_[column].room.data(), tile_rows, 0);
        }
    }
}

void Tile::begin_part(const StoreParts &parts, const AggregateInput *inputs,
                      const std::vector<bool> &is_tested) {
    parts_ = &parts;
    inputs_ = inputs;
    is_tested_ = &is_tested;
    make_guides();
}

void Tile::make_guides() {
    guides_.resize(plan_.program.input_count);
    for (std::uint32_t i = 0; i < plan_.program.input_count; ++i) {
        guides_[i].reset();
        if (wants_range_guide(inputs_[i], parts_->layout.rows)) {
            guides_[i] = std::make_unique<RangeGuide>();
            make_range_guide(inputs_[i], guides_[i].get());
        }
    }
}

void Tile::begin(std::uint64_t first, std::uint32_t groups, const std::uint64_t *selected) {
    first_ = first;
    groups_ = groups;
    has_places_ = false;
    for (Codes &codes : codes_) {
        codes.are_read = CodesOf::no_row;
    }
    std::copy_n(selected, groups, selected_);
    choose(selected);
}

void Tile::choose(const std::uint64_t *selected) {
    forget();
    for (Codes &codes : codes_) {
        codes.are_read = codes.are_read == CodesOf::chosen_rows ? CodesOf::no_row : codes.are_read;
    }
    all_ = std::all_of(selected, selected + groups_, [](std::uint64_t bits) { return bits == UINT64_MAX; });
    if (all_) {
        count_ = groups_ * group;
        return;
    }
    count_ = 0;
    for (std::uint32_t word = 0; word < groups_; ++word) {
        for (std::uint64_t bits = selected[word]; bits != 0; bits &= bits - 1) {
            positions_[count_++] = static_cast<std::uint16_t>(word * group + lowest_bit(bits));
        }
    }
}

void Tile::forget() {
    is_computed_.assign(is_computed_.size(), false);
}

template <typename ForRows>
void Tile::leave(ForRows for_rows) {
    std::uint32_t passing = 0;
    for_rows([&](std::uint32_t i, bool is_kept) {
        positions_[passing] = static_cast<std::uint16_t>(row(i));
        passing += is_kept ? 1 : 0;
    });
    if (passing < count_) {
        count_ = passing;
        all_ = false;
        forget();
    }
}

bool Tile::compute(const FirstKeyBound &bound) {
    for (std::size_t i = 0; i < plan_.steps.conditions.size(); ++i) {
        const AggregateCondition &condition = plan_.steps.conditions[i];
        if (count_ == 0) {
            return true;
        }
        if ((*is_tested_)[i]) {
            continue;
        }
        if (!compute_steps(condition.steps)) {
            return false;
        }
        leave([&](auto take) {
            for (std::uint32_t row = 0; row < count_; ++row) {
                take(row, is_true_at(results_[condition.step], row));
            }
        });
    }
    if (bound.is_set && !plan_.steps.first.empty() && count_ > 0) {
        if (!compute_steps(plan_.steps.first)) {
            return false;
        }
        leave([&](auto take) { for_rows_within(bound, results_[plan_.program.key[0].step], count_, take); });
    }
    return count_ == 0 || compute_steps(plan_.steps.rest);
}

bool Tile::compute_steps(const std::vector<std::uint16_t> &steps) {
    for (const std::uint16_t number : steps) {
        if (is_computed_[number]) {
            continue;
        }
        is_computed_[number] = true;
        const AggregateStep &step = plan_.program.step[number];
        if (step.operation == AggregateOperation::input) {
            load_input(number, step.left);
            continue;
        }
        if (step.operation == AggregateOperation::place) {
            load_places(number);
            continue;
        }
        // A step without operands ignores these, so any results will do.
        const StepValues &left =
            results_[takes_one(step.operation) || takes_two(step.operation) ? step.left : 0];
        const StepValues &right = results_[takes_two(step.operation) ? step.right : 0];
        const std::uint64_t at = std::uint64_t(slot_[number]) * tile_rows;
        if (!compute_tile(step, count_, left, right, values_.data() + at, nulls_.data() + at,
                          &results_[number])) {
            return false;
        }
    }
    return true;
}

void Tile::read_codes(std::uint32_t column) {
    Codes &codes = codes_[column];
    // The chosen rows have only become fewer since.
    if (codes.are_read != CodesOf::no_row) {
        return;
    }
    const bool are_few = !all_ && count_ <= groups_ * few_rows;
    codes.are_read = are_few ? CodesOf::chosen_rows : CodesOf::selected_rows;
    const std::uint64_t *words = parts_->words.data() + parts_->kept.column[column].codes;
    const std::uint32_t bits = parts_->layout.column[column].bits;
    with_code(bits, [&]<typename Code>(Code) {
        auto *values = reinterpret_cast<Code *>(codes.room.data());
        if (are_few) {
            for (std::uint32_t i = 0; i < count_; ++i) {
                values[positions_[i]] =
                    static_cast<Code>(packed_at(words, first_ * group + positions_[i], bits));
            }
            return;
        }
        for (std::uint32_t i = 0; i < groups_; ++i) {
            if (selected_[i] != 0) {
                unpack_group(words, first_ + i, bits, values + i * group);
            }
        }
    });
}

void Tile::load_input(std::uint16_t number, std::uint32_t input_number) {
    const AggregateInput &input = inputs_[input_number];
    const RangeGuide *guide = guides_[input_number].get();
    read_codes(input.column);
    const StoredColumn &column = parts_->layout.column[input.column];
    const std::uint64_t *nulls =
        column.null_bits.words > 0
            ? parts_->words.data() + parts_->kept.column[input.column].null_bits + first_
            : nullptr;
    const std::uint64_t at = std::uint64_t(slot_[number]) * tile_rows;
    with_code(column.bits, [&]<typename Code>(Code) {
        const auto *codes = reinterpret_cast<const Code *>(codes_[input.column].room.data());
        std::uint32_t ranges[tile_rows];
        results_[number] = guide != nullptr
                               ? load_range_tile(input, *guide, codes, nulls, positions(), count_,
                                                 values_.data() + at, nulls_.data() + at, ranges)
                               : load_input_tile(input, codes, nulls, positions(), count_,
                                                 values_.data() + at, nulls_.data() + at);
    });
}

const std::uint64_t *Tile::places() {
    if (!has_places_) {
        has_places_ = true;
        for_selected(*parts_, first_, groups_, selected_, [&](std::uint64_t row, const Tid &tid) {
            places_[row - first_ * group] = encode_tid(tid);
        });
    }
    return places_.data();
}

void Tile::load_places(std::uint16_t number) {
    const std::uint64_t *places = this->places();
    std::int64_t *values = values_.data() + std::uint64_t(slot_[number]) * tile_rows;
    for_tile_rows(positions(), count_, [&](std::uint32_t i, std::uint32_t row) {
        values[i] = static_cast<std::int64_t>(places[row]);
    });
    results_[number] = {values, nullptr};
}

}  // namespace gpu_engine::host
