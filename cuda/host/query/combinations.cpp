#include "host/query/combinations.h"

#include <algorithm>

#include "common/bits.h"
#include "host/column/select/unpack.h"

namespace gpu_engine::host {

using packing::group;

namespace {

// A combination costs as much as so many rows that are counted.
constexpr std::uint64_t rows_a_place = 8;
// Beyond so many places, counts aren't near.
constexpr std::uint64_t max_places = 1 << 20;

}  // namespace

Combinations::Combinations(const RunReader &reader, const std::vector<std::uint32_t> &columns)
    : digit_of_(reader.columns().size(), 0) {
    are_few_ = reader.parts().layout.rows <= UINT32_MAX;
    for (std::size_t i = 0; i < columns.size() && are_few_; ++i) {
        are_few_ = add(reader, columns[i]);
    }
}

bool Combinations::add(const RunReader &reader, std::uint32_t column) {
    const RunReader::Column &read = reader.columns()[column];
    if (read.requested.form == query::ColumnForm::constant) {
        return true;
    }
    if (read.requested.form == query::ColumnForm::row) {
        return false;
    }
    const std::uint32_t stored = read.requested.column;
    const auto same = std::find_if(digits_.begin(), digits_.end(),
                                   [&](const Digit &digit) { return digit.column == stored; });
    digit_of_[column] = static_cast<std::uint32_t>(same - digits_.begin());
    if (same != digits_.end()) {
        return true;
    }
    const StoredColumn &layout = reader.parts().layout.column[stored];
    const std::uint64_t codes = layout.encoding == ColumnEncoding::dictionary ? layout.distinct
                                : read.bits < 32                              ? std::uint64_t(1) << read.bits
                                                                              : UINT32_MAX;
    const std::uint64_t most = std::min(reader.parts().layout.rows / rows_a_place, max_places);
    if (codes >= most || places_ * (codes + 1) > most) {
        return false;
    }
    digits_.push_back(
        {stored, static_cast<std::uint32_t>(codes), places_, read.bits, read.codes, read.nulls});
    places_ *= static_cast<std::uint32_t>(codes + 1);
    return true;
}

CombinationCounter::CombinationCounter(MemoryBudget &budget, const Combinations &combinations)
    : combinations_(combinations),
      lanes_(combinations.places() <= places_in_lanes ? lanes : 1),
      counts_(budget, std::uint64_t{combinations.places()} * lanes_) {
    std::fill_n(counts_.data(), counts_.size(), 0);
    std::fill_n(places_, query_tile_rows, 0);
}

// Makes codes a digit of the places of the selected rows' groups. Rows that aren't selected get any.
void CombinationCounter::add_digit(const Combinations::Digit &digit, std::uint64_t first,
                                   std::uint32_t groups, const std::uint64_t *selected,
                                   bool is_first) noexcept {
    for (std::uint32_t i = 0; i < groups; ++i) {
        if (selected[i] == 0) {
            continue;
        }
        std::uint32_t *codes = codes_ + i * group;
        std::uint32_t *places = places_ + i * group;
        unpack_group(digit.words, first + i, digit.bits, codes);
        const std::uint64_t nulls = digit.nulls != nullptr ? digit.nulls[first + i] : 0;
        for (std::uint64_t bits = nulls; bits != 0; bits &= bits - 1) {
            codes[lowest_bit(bits)] = digit.codes;
        }
        const std::uint32_t null = digit.codes;
        const std::uint32_t factor = digit.factor;
        if (is_first) {
            for (std::uint32_t row = 0; row < group; ++row) {
                places[row] = std::min(codes[row], null);
            }
        } else {
            for (std::uint32_t row = 0; row < group; ++row) {
                places[row] += std::min(codes[row], null) * factor;
            }
        }
    }
}

void CombinationCounter::add(std::uint64_t first, std::uint32_t groups,
                             const std::uint64_t *selected) noexcept {
    bool is_first = true;
    for (const Combinations::Digit &digit : combinations_.digits_) {
        add_digit(digit, first, groups, selected, is_first);
        is_first = false;
    }
    std::uint32_t *counts = counts_.data();
    if (is_first) {
        for (std::uint32_t i = 0; i < groups; ++i) {
            counts[0] += static_cast<std::uint32_t>(__builtin_popcountll(selected[i]));
        }
        return;
    }
    const std::uint32_t lane_places = lanes_ > 1 ? combinations_.places() : 0;
    for (std::uint32_t i = 0; i < groups; ++i) {
        const std::uint32_t *places = places_ + i * group;
        if (selected[i] == UINT64_MAX) {
            for (std::uint32_t row = 0; row < group; row += lanes) {
                ++counts[places[row]];
                ++counts[lane_places + places[row + 1]];
                ++counts[2 * lane_places + places[row + 2]];
                ++counts[3 * lane_places + places[row + 3]];
            }
            continue;
        }
        for (std::uint64_t bits = selected[i]; bits != 0; bits &= bits - 1) {
            ++counts[places[lowest_bit(bits)]];
        }
    }
}

void CombinationCounter::add_to(std::uint32_t *counts) const noexcept {
    const std::uint32_t places = combinations_.places();
    for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
        const std::uint32_t *own = counts_.data() + std::uint64_t{lane} * places;
        for (std::uint32_t place = 0; place < places; ++place) {
            counts[place] += own[place];
        }
    }
}

}  // namespace gpu_engine::host
