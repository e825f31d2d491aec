#include "host/column/select/counter.h"

#include <algorithm>

#include "gpu_engine/guard.h"
#include "gpu_engine/packing.h"
#include "host/column/select/unpack.h"

namespace gpu_engine::host {
namespace {

using packing::group;

constexpr std::uint64_t max_copied_places = 1 << 12;
constexpr std::uint64_t max_copies = 4;
// Up to so many codes are counted one by one, and their slots are looked up afterwards.
constexpr std::uint64_t max_codes_counted = 1 << 16;
constexpr std::uint64_t codes_a_piece = 1 << 14;

}  // namespace

Counter::Counter(HostEngine &engine, const Workers &workers, const StoreParts &parts,
                 const ColumnTarget &target)
    : target_(target), locals_([this, &engine] {
          Local local;
          local.places = Buffer<std::uint64_t>(engine.memory(), places_ * copies_);
          std::fill_n(local.places.data(), local.places.size(), 0);
          return local;
      }) {
    require_ok(check_target(parts.layout, target));
    if (target.kind == TargetKind::rows) {
        return;
    }
    column_ = &parts.layout.column[target.column];
    const KeptColumn &kept = parts.kept.column[target.column];
    nulls_ = column_->null_bits.words > 0 ? parts.words.data() + kept.null_bits : nullptr;
    codes_ = parts.words.data() + kept.codes;
    dictionary_ = parts.words.data() + kept.dictionary;
    if (target.kind == TargetKind::bounds) {
        way_ = Way::bounds;
        return;
    }
    // Every code of so many bits may occur; on damaged pages some lie beyond the dictionary.
    const std::uint64_t codes =
        code_slots(*column_) > 0 || column_->bits == 0 ? std::uint64_t(1) << column_->bits : 0;
    if (target.kind == TargetKind::codes) {
        way_ = Way::codes;
        places_ = codes;
    } else {
        finder_ = make_slot_finder(target, &starts_);
        if (codes > 0) {
            slot_of_code_ = Buffer<std::uint32_t>(engine.memory(), codes);
            workers.for_pieces(codes, codes_a_piece, [&](std::uint64_t first, std::uint64_t last) {
                for (std::uint64_t code = first; code < last; ++code) {
                    slot_of_code_[code] = finder_.slot(value_of(code));
                }
            });
        }
        way_ = codes == 0 ? Way::values : codes <= max_codes_counted ? Way::codes : Way::table;
        places_ = way_ == Way::codes ? codes : target.slots;
    }
    copies_ = places_ <= max_copied_places ? max_copies : 1;
}

// A code beyond its dictionary, which is damage, has the value 0.
std::uint64_t Counter::value_of(std::uint64_t code) const {
    if (column_->encoding != ColumnEncoding::dictionary) {
        return column_->base + code;
    }
    return code < column_->distinct ? column_->base + packed_at(dictionary_, code, column_->entry_bits) : 0;
}

bool Counter::is_null(std::uint64_t row) const {
    return nulls_ != nullptr && (nulls_[row / 64] >> (row % 64) & 1) != 0;
}

template <typename Code, typename SlotOf>
void Counter::count_slots(Local &local, const Code *codes, std::uint64_t selected, SlotOf slot_of) const {
    std::uint64_t *places = local.places.data();
    if (selected == UINT64_MAX) {
        const std::uint64_t distance = copies_ > 1 ? places_ : 0;
        for (std::uint32_t i = 0; i < group; i += max_copies) {
            for (std::uint32_t copy = 0; copy < max_copies; ++copy) {
                ++places[copy * distance + slot_of(codes[i + copy])];
            }
        }
        return;
    }
    for (std::uint64_t bits = selected; bits != 0; bits &= bits - 1) {
        ++places[slot_of(codes[lowest_bit(bits)])];
    }
}

template <typename Code>
void Counter::count_group(Local &local, const Code *codes, std::uint64_t selected) const {
    switch (way_) {
        case Way::codes:
            count_slots(local, codes, selected, [](Code code) { return code; });
            break;
        case Way::table:
            count_slots(local, codes, selected, [this](Code code) { return slot_of_code_[code]; });
            break;
        case Way::values: {
            // The loops go over all 64 rows of the group, since loops of a fixed length are vectorised.
            const std::uint64_t base = column_->base;
            std::uint32_t slots[group];
            for (std::uint32_t i = 0; i < group; ++i) {
                slots[i] = finder_.guess(codes[i] + base);
            }
            for (std::uint32_t i = 0; i < group; ++i) {
                slots[i] = finder_.slot_from(slots[i], codes[i] + base);
            }
            count_slots(local, slots, selected, [](std::uint32_t slot) { return slot; });
            break;
        }
        default:
            for (std::uint64_t bits = selected; bits != 0; bits &= bits - 1) {
                const std::uint64_t code = codes[lowest_bit(bits)];
                local.least = std::min(local.least, code);
                local.greatest = std::max(local.greatest, code);
            }
    }
}

void Counter::count(std::uint64_t first, std::uint64_t groups, const std::uint64_t *selected) {
    Local &local = locals_.local();
    if (way_ == Way::rows) {
        for (std::uint64_t i = 0; i < groups; ++i) {
            local.rows += count_bits(selected[i]);
        }
        return;
    }
    with_code(column_->bits, [&]<typename Code>(Code) {
        Code codes[group];
        for (std::uint64_t i = 0; i < groups; ++i) {
            std::uint64_t bits = selected[i];
            if (nulls_ != nullptr) {
                local.nulls += count_bits(bits & nulls_[first + i]);
                bits &= ~nulls_[first + i];
            }
            if (bits == 0) {
                continue;
            }
            local.rows += count_bits(bits);
            unpack_group(codes_, first + i, column_->bits, codes);
            count_group(local, codes, bits);
        }
    });
}

bool Counter::wants(std::uint64_t row) const {
    return way_ != Way::bounds || !is_null(row);
}

std::uint64_t Counter::number(std::uint64_t row) const {
    if (way_ == Way::rows) {
        return 0;
    }
    if (is_null(row)) {
        return target_.kind == TargetKind::codes ? code_slots(*column_) : target_.slots;
    }
    const std::uint64_t code = packed_at(codes_, row, column_->bits);
    if (target_.kind == TargetKind::codes) {
        return code;
    }
    return way_ == Way::bounds        ? value_of(code)
           : slot_of_code_.size() > 0 ? slot_of_code_[code]
                                      : finder_.slot(value_of(code));
}

void Counter::finish(std::uint64_t *counts) const {
    std::uint64_t rows = 0;
    std::uint64_t nulls = 0;
    std::uint64_t least = UINT64_MAX;
    std::uint64_t greatest = 0;
    for (const Local &local : locals_) {
        rows += local.rows;
        nulls += local.nulls;
        least = std::min(least, local.least);
        greatest = std::max(greatest, local.greatest);
    }
    if (way_ == Way::rows) {
        counts[0] = rows;
        return;
    }
    if (way_ == Way::bounds) {
        counts[0] = rows;
        counts[1] = rows > 0 ? value_of(least) : 0;
        counts[2] = rows > 0 ? value_of(greatest) : 0;
        return;
    }
    const std::uint64_t slots = target_.kind == TargetKind::codes ? code_slots(*column_) : target_.slots;
    const bool folds = way_ == Way::codes && target_.kind == TargetKind::bins;
    std::fill_n(counts, slots + 1, 0);
    for (const Local &local : locals_) {
        for (std::uint64_t i = 0; i < local.places.size(); ++i) {
            const std::uint64_t place = i % places_;
            const std::uint64_t slot = folds ? slot_of_code_[place] : place;
            // A code that the dictionary hasn't got has no slot, so it isn't counted.
            if (slot < slots) {
                counts[slot] += local.places[i];
            }
        }
    }
    counts[slots] = nulls;
}

}  // namespace gpu_engine::host
