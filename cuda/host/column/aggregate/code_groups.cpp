#include "host/column/aggregate/code_groups.h"

#include <algorithm>
#include <bit>

#include "gpu_engine/packed_sums.h"
#include "host/column/select/unpack.h"

namespace gpu_engine::host {

using packing::group;

namespace {

// All slots of a thread stay in a processor's nearer cache.
constexpr std::uint32_t max_slot_bits = 12;
constexpr std::uint32_t max_copied_bits = 10;
// A slot pays only with so many rows or more, since all slots are gone through in the end.
constexpr std::uint64_t min_rows_per_slot = 16;

bool has_nulls(const StoreParts &parts, std::uint32_t column) {
    return parts.layout.column[column].null_bits.words > 0;
}

}  // namespace

CodeGroups::CodeGroups(MemoryBudget &budget, const AggregatePlan &plan)
    : plan_(plan),
      positions_(budget, tile_rows),
      keys_(budget, tile_rows),
      codes_(budget, tile_rows),
      unpacked_(budget, tile_rows) {}

const AggregateInput *CodeGroups::input_of(const AggregateInput *inputs, std::uint16_t step) const {
    const AggregateStep &computed = plan_.program.step[step];
    return computed.operation == AggregateOperation::input ? &inputs[computed.left] : nullptr;
}

bool CodeGroups::can_add(const StoreParts &parts, const AggregateInput *inputs) const {
    const AggregateProgram &program = plan_.program;
    for (std::uint32_t i = 0; i < program.key_count; ++i) {
        const AggregateInput *input = input_of(inputs, program.key[i].step);
        if (input == nullptr || input->column != input_of(inputs, program.key[0].step)->column ||
            has_nulls(parts, input->column)) {
            return false;
        }
        const std::uint32_t bits = parts.layout.column[input->column].bits;
        if (bits > max_slot_bits || parts.layout.rows >> bits < min_rows_per_slot) {
            return false;
        }
    }
    for (std::uint32_t i = 0; i < program.accumulator_count; ++i) {
        const Accumulator &accumulator = program.accumulator[i];
        if (accumulator.filter != no_aggregate_step) {
            return false;
        }
        if (accumulator.step == no_aggregate_step) {
            continue;
        }
        const AggregateInput *input = input_of(inputs, accumulator.step);
        if (input == nullptr || input->nulls != nullptr || has_nulls(parts, input->column)) {
            return false;
        }
        const std::uint32_t bits = parts.layout.column[input->column].bits;
        if (accumulator.kind != AccumulatorKind::count &&
            (!is_of_codes(accumulator.kind) || bits > 32 || !are_codes_with_offset(*input, bits))) {
            return false;
        }
    }
    return program.key_count > 0;
}

void CodeGroups::make_slots(std::uint32_t bits) {
    slots_ = std::uint64_t(1) << bits;
    apart_ = bits <= max_copied_bits ? slots_ : 0;
    const std::uint64_t places = slots_ + (slot_copies - 1) * apart_;
    counts_.assign(places, 0);
    sums_.clear();
    for (std::uint32_t i = 0; i < plan_.program.accumulator_count; ++i) {
        const Accumulator &accumulator = plan_.program.accumulator[i];
        if (accumulator.kind == AccumulatorKind::count) {
            continue;
        }
        const AggregateInput &input = *input_of(inputs_, accumulator.step);
        sums_.push_back({&accumulator, input.column, input.offset,
                         std::vector<std::uint64_t>(places, no_codes(accumulator.kind))});
    }
}

void CodeGroups::begin_part(const StoreParts &parts, const AggregateInput *inputs) {
    is_used_ = can_add(parts, inputs);
    if (!is_used_) {
        return;
    }
    parts_ = &parts;
    inputs_ = inputs;
    key_column_ = input_of(inputs, plan_.program.key[0].step)->column;
    make_slots(parts.layout.column[key_column_].bits);
}

void CodeGroups::read(std::uint32_t column, std::uint64_t first, std::uint32_t groups,
                      const std::uint64_t *selected, std::uint32_t *codes) {
    const std::uint64_t *words = parts_->words.data() + parts_->kept.column[column].codes;
    const std::uint32_t bits = parts_->layout.column[column].bits;
    std::uint32_t *const unpacked = all_ ? codes : unpacked_.data();
    for (std::uint32_t i = 0; i < groups; ++i) {
        if (selected[i] != 0) {
            unpack_group(words, first + i, bits, unpacked + i * group);
        }
    }
    for (std::uint32_t i = 0; i < count_ && !all_; ++i) {
        codes[i] = unpacked[positions_[i]];
    }
}

void CodeGroups::add(std::uint64_t first, std::uint32_t groups, const std::uint64_t *selected) {
    all_ = std::all_of(selected, selected + groups, [](std::uint64_t bits) { return bits == UINT64_MAX; });
    count_ = all_ ? groups * group : 0;
    for (std::uint32_t word = 0; word < groups && !all_; ++word) {
        for (std::uint64_t bits = selected[word]; bits != 0; bits &= bits - 1) {
            positions_[count_++] =
                static_cast<std::uint16_t>(word * group + static_cast<std::uint32_t>(std::countr_zero(bits)));
        }
    }
    read(key_column_, first, groups, selected, keys_.data());
    count_slots(keys_.data(), count_, apart_, counts_.data());
    for (Sum &sum : sums_) {
        read(sum.column, first, groups, selected, codes_.data());
        with_kind_of_codes(sum.accumulator->kind, [&](auto kind) {
            add_codes_by_slot<decltype(kind)::value>(keys_.data(), codes_.data(), count_, apart_,
                                                     sum.by_slot.data());
        });
    }
}

bool CodeGroups::give(const std::uint32_t *codes, std::uint32_t count, Groups *groups) {
    const AggregateProgram &program = plan_.program;
    std::vector<std::uint64_t> words(std::uint64_t(program.key_words) * tile_rows);
    std::int64_t values[tile_rows];
    std::uint8_t nulls[tile_rows];
    const std::uint64_t *keys[max_aggregate_keys];
    for (std::uint32_t word = 0; word < program.key_words; ++word) {
        keys[word] = words.data() + std::uint64_t(word) * tile_rows;
    }
    for (std::uint32_t i = 0; i < program.key_count; ++i) {
        const AggregateKey &key = program.key[i];
        const StepValues found =
            load_input_tile(*input_of(inputs_, key.step), codes, nullptr, nullptr, count, values, nulls);
        add_key_tile(key, found, count, words.data() + std::uint64_t(key.word) * tile_rows);
    }
    std::uint32_t numbers[tile_rows];
    if (!groups->find(keys, count, numbers)) {
        return false;
    }
    const TileGroups places = groups->tile_groups(numbers);
    for (std::uint32_t i = 0; i < count; ++i) {
        std::uint64_t *const record = places.values + numbers[i] * places.stride;
        const std::uint64_t rows = counts_[codes[i]];
        for (std::uint32_t j = 0; j < program.accumulator_count; ++j) {
            if (program.accumulator[j].kind == AccumulatorKind::count) {
                add_codes_to_group(program.accumulator[j], rows, 0, 0, record);
            }
        }
        for (const Sum &sum : sums_) {
            add_codes_to_group(*sum.accumulator, rows, sum.by_slot[codes[i]], sum.offset, record);
        }
    }
    return true;
}

bool CodeGroups::give(Groups *groups) {
    if (!is_used_) {
        return true;
    }
    is_used_ = false;
    join_copies<AccumulatorKind::sum>(slots_, apart_, counts_.data());
    for (Sum &sum : sums_) {
        with_kind_of_codes(sum.accumulator->kind, [&](auto kind) {
            join_copies<decltype(kind)::value>(slots_, apart_, sum.by_slot.data());
        });
    }
    std::uint32_t codes[tile_rows];
    std::uint32_t count = 0;
    bool has_room = true;
    for (std::uint64_t slot = 0; slot < slots_ && has_room; ++slot) {
        if (counts_[slot] > 0) {
            codes[count++] = static_cast<std::uint32_t>(slot);
        }
        if (count > 0 && (count == tile_rows || slot + 1 == slots_)) {
            has_room = give(codes, count, groups);
            count = 0;
        }
    }
    return has_room;
}

}  // namespace gpu_engine::host
