#include "host/query/group_finder.h"

#include <algorithm>
#include <cmath>

namespace gpu_engine::host {
namespace {

// So many places are always fine. Of more, there are so many for a group, and no more than the last number.
constexpr std::uint64_t few_places = 1 << 16;
constexpr std::uint64_t places_a_group = 8;
constexpr std::uint64_t max_places = 1 << 22;
// Rows whose slots, and then records, are fetched before they are looked at.
constexpr std::uint32_t rows_ahead = 128;

bool may_be_small(ValueType type) {
    return type == ValueType::boolean || type == ValueType::int64 || type == ValueType::int128 ||
           type == ValueType::float64;
}

// Are all floats that aren't NULL integers? Not those beyond any window, NaN and infinities.
bool are_integers(const Vector &vector, std::uint32_t count) {
    constexpr double most = 1 << 30;
    const auto *values = vector.as<double>();
    std::uint8_t others = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const bool is_near = std::fabs(values[i]) <= most;
        const bool is_one = is_near && static_cast<double>(static_cast<std::int64_t>(values[i])) == values[i];
        others |= !is_one && (vector.nulls == nullptr || vector.nulls[i] == 0) ? 1 : 0;
    }
    return others == 0;
}

// Calls visit(i, value) for the rows, each with a value of 64 bits.
template <typename Visit>
void for_small(const Vector &vector, std::uint32_t count, Visit visit) {
    with_stored(vector.stored(), [&]<typename Type>(Type) {
        const Type *values = vector.as<Type>();
        if constexpr (std::is_same_v<Type, double>) {
            // That of NULL may be anything.
            for (std::uint32_t i = 0; i < count; ++i) {
                visit(i, std::fabs(values[i]) < 0x1p62 ? static_cast<std::int64_t>(values[i]) : 0);
            }
        } else if constexpr (sizeof(Type) <= 8) {
            for (std::uint32_t i = 0; i < count; ++i) {
                visit(i, static_cast<std::int64_t>(values[i]));
            }
        }
    });
}

}  // namespace

GroupFinder::GroupFinder(MemoryBudget &budget, const GroupPlan &plan)
    : budget_(budget),
      plan_(plan),
      table_(budget, plan.key_words, plan.record_words),
      keys_(budget, std::uint64_t{plan.key_words} * query_tile_rows),
      hashes_(budget, query_tile_rows),
      numbers_(budget, query_tile_rows),
      places_(budget, query_tile_rows),
      are_small_(std::all_of(plan.key_types.begin(), plan.key_types.end(), may_be_small)),
      windows_(plan.key_types.size(), Window{0, 0}),
      needed_(plan.key_types.size()) {
    std::fill_n(numbers_.data(), query_tile_rows, 0);
    if (plan.key_types.empty()) {
        plan_.begin(table_.rows().add());
    }
}

void GroupFinder::find(const Program &program, std::uint32_t count) {
    if (plan_.key_types.empty()) {
        return;
    }
    if (are_small_ && number_keys(program, count)) {
        bool are_known = true;
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t found = by_place_[places_[i]];
            numbers_[i] = found - 1;
            are_known &= found != 0;
        }
        if (are_known) {
            return;
        }
        write_keys(program, count);
        for (std::uint32_t i = 0; i < count; ++i) {
            std::uint32_t &found = by_place_[places_[i]];
            if (found == 0) {
                found = add_row(i) + 1;
            }
            numbers_[i] = found - 1;
        }
        return;
    }
    write_keys(program, count);
    find_by_hash(count);
}

// Makes a number of each row's keys. Returns false where they have too large a range.
bool GroupFinder::number_keys(const Program &program, std::uint32_t count) {
    const std::uint64_t most =
        max_places_for(std::max<std::uint64_t>(plan_.node.expected_rows, table_.count() + count));
    for (std::uint32_t k = 0; k < windows_.size(); ++k) {
        const Vector &vector = key(program, k);
        if (vector.stored() == ValueType::int128 ||
            (vector.stored() == ValueType::float64 && !are_integers(vector, count))) {
            are_small_ = false;
            return false;
        }
        std::int64_t least = INT64_MAX;
        std::int64_t greatest = INT64_MIN;
        const std::uint8_t *nulls = vector.nulls;
        if (nulls == nullptr) {
            for_small(vector, count, [&](std::uint32_t, std::int64_t value) {
                least = std::min(least, value);
                greatest = std::max(greatest, value);
            });
        } else {
            for_small(vector, count, [&](std::uint32_t i, std::int64_t value) {
                least = std::min(least, nulls[i] != 0 ? INT64_MAX : value);
                greatest = std::max(greatest, nulls[i] != 0 ? INT64_MIN : value);
            });
        }
        const std::uint64_t width = static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least);
        // All may be NULL.
        needed_[k] = least > greatest ? Window{0, 0} : Window{least, std::max(width, width + 1)};
    }
    if (!fit_windows(needed_, most)) {
        are_small_ = false;
        return false;
    }
    std::uint64_t factor = 1;
    for (std::uint32_t k = 0; k < windows_.size(); ++k) {
        const Vector &vector = key(program, k);
        const auto least = static_cast<std::uint64_t>(windows_[k].least);
        const auto times = static_cast<std::uint32_t>(factor);
        const std::uint8_t *nulls = vector.nulls;
        std::uint32_t *places = places_.data();
        const bool is_first = k == 0;
        for_small(vector, count, [=](std::uint32_t i, std::int64_t value) {
            const auto place = static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) - least) + 1;
            const std::uint32_t part = (nulls != nullptr && nulls[i] != 0 ? 0 : place) * times;
            places[i] = is_first ? part : places[i] + part;
        });
        factor *= windows_[k].places + 1;
    }
    return true;
}

std::uint64_t GroupFinder::max_places_for(std::uint64_t groups) noexcept {
    return std::clamp(std::min(groups, max_places) * places_a_group, few_places, max_places);
}

std::uint64_t GroupFinder::places_of(const std::vector<Window> &windows, std::uint64_t most) noexcept {
    std::uint64_t places = 1;
    for (const Window &window : windows) {
        // None of both is more than `most`, which is less than 32 bits have.
        if (window.places >= most || places * (window.places + 1) > most) {
            return no_places;
        }
        places *= window.places + 1;
    }
    return places;
}

void GroupFinder::widen(std::vector<Window> *windows, const std::vector<Window> &others) noexcept {
    for (std::size_t k = 0; k < windows->size(); ++k) {
        Window &own = (*windows)[k];
        const Window &other = others[k];
        if (own.places == 0 || other.places == 0) {
            own = own.places == 0 ? other : own;
            continue;
        }
        const std::int64_t least = std::min(own.least, other.least);
        const std::int64_t last = std::max(last_of(own), last_of(other));
        const std::uint64_t width = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(least);
        own = {least, std::max(width, width + 1)};
    }
}

// Further tiles' keys most likely reach further, and each time all groups get other places. Keys that ascend
// reach further with each tile.
std::uint64_t GroupFinder::leave_margins(std::vector<Window> *windows, std::uint64_t places,
                                         std::uint64_t most) const {
    for (std::size_t k = 0; k < windows->size(); ++k) {
        Window &window = (*windows)[k];
        if (window.places == 0) {
            continue;
        }
        const bool grew = windows_[k].places > 0 && window.places > windows_[k].places;
        const std::uint64_t margin = grew ? window.places / 2 + 1 : window.places / 16 + 1;
        const std::uint64_t others = places / (window.places + 1);
        const bool has_room = window.least >= INT64_MIN + static_cast<std::int64_t>(margin) &&
                              last_of(window) <= INT64_MAX - static_cast<std::int64_t>(margin) &&
                              others * (window.places + 2 * margin + 1) <= most;
        if (has_room) {
            window.least -= static_cast<std::int64_t>(margin);
            window.places += 2 * margin;
            places = others * (window.places + 1);
        }
    }
    return places;
}

// Makes the windows larger where the tile's keys need that. Returns false where they have no room.
bool GroupFinder::fit_windows(const std::vector<Window> &needed, std::uint64_t most) {
    std::vector<Window> larger = windows_;
    widen(&larger, needed);
    const auto is_same = [](const Window &one, const Window &other) {
        return one.least == other.least && one.places == other.places;
    };
    if (by_place_.size() > 0 && std::equal(larger.begin(), larger.end(), windows_.begin(), is_same)) {
        return true;
    }
    std::uint64_t places = places_of(larger, most);
    if (places == no_places) {
        return false;
    }
    places = leave_margins(&larger, places, most);
    set_windows(larger, places);
    return true;
}

void GroupFinder::set_windows(const std::vector<Window> &windows, std::uint64_t places) {
    windows_ = windows;
    by_place_ = Buffer<std::uint32_t>();
    by_place_ = Buffer<std::uint32_t>(budget_, places);
    std::fill_n(by_place_.data(), places, 0);
    for (std::uint64_t group = 0; group < table_.count(); ++group) {
        by_place_[place_of(table_.record(group))] = static_cast<std::uint32_t>(group + 1);
    }
}

// The place of a group's key.
std::uint64_t GroupFinder::place_of(const std::uint64_t *record) const noexcept {
    std::uint64_t place = 0;
    std::uint64_t factor = 1;
    std::uint32_t word = 1;
    for (std::uint32_t k = 0; k < windows_.size(); ++k) {
        if ((record[0] >> k & 1) == 0) {
            const std::uint64_t value = plan_.key_types[k] == ValueType::float64
                                            ? static_cast<std::uint64_t>(static_cast<std::int64_t>(
                                                  query::float_of_bits(record[word])))
                                            : record[word];
            place += (value - static_cast<std::uint64_t>(windows_[k].least) + 1) * factor;
        }
        factor *= windows_[k].places + 1;
        word += query::words_of(plan_.key_types[k]);
    }
    return place;
}

void GroupFinder::write_keys(const Program &program, std::uint32_t count) {
    std::uint64_t *null_word = keys_.data();
    std::fill_n(null_word, count, 0);
    std::uint32_t word = 1;
    for (std::uint32_t k = 0; k < plan_.key_types.size(); ++k) {
        const Vector &vector = key(program, k);
        std::uint64_t *low = keys_.data() + std::uint64_t{word} * query_tile_rows;
        std::uint64_t *high = low + query_tile_rows;
        with_stored(vector.stored(), [&]<typename Type>(Type) {
            const Type *values = vector.as<Type>();
            for (std::uint32_t i = 0; i < count; ++i) {
                if constexpr (std::is_same_v<Type, double>) {
                    low[i] = query::bits_of_float(query::key_of_float(values[i]));
                } else {
                    low[i] = static_cast<std::uint64_t>(values[i]);
                }
            }
            if (plan_.key_types[k] == ValueType::int128) {
                for (std::uint32_t i = 0; i < count; ++i) {
                    high[i] = static_cast<std::uint64_t>(static_cast<Int128>(values[i]) >> 64);
                }
            }
        });
        const std::uint32_t words = query::words_of(plan_.key_types[k]);
        if (const std::uint8_t *nulls = vector.nulls; nulls != nullptr) {
            for (std::uint32_t i = 0; i < count; ++i) {
                null_word[i] |= std::uint64_t{nulls[i]} << k;
                low[i] = nulls[i] != 0 ? 0 : low[i];
            }
            for (std::uint32_t i = 0; words == 2 && i < count; ++i) {
                high[i] = nulls[i] != 0 ? 0 : high[i];
            }
        }
        word += words;
    }
}

std::uint32_t GroupFinder::add_row(std::uint32_t row) {
    const std::uint64_t *keys = keys_.data() + row;
    return table_.add([keys](std::uint32_t word) { return keys[std::uint64_t{word} * query_tile_rows]; },
                      [this](std::uint64_t *record) { plan_.begin(record); });
}

std::uint32_t GroupFinder::find_row(std::uint32_t row, std::uint64_t hash) {
    const std::uint64_t *keys = keys_.data() + row;
    return table_.find_or_add(
        hash, [keys](std::uint32_t word) { return keys[std::uint64_t{word} * query_tile_rows]; },
        [this](std::uint64_t *record) { plan_.begin(record); });
}

void GroupFinder::find_by_hash(std::uint32_t count) {
    std::uint64_t *hashes = hashes_.data();
    std::fill_n(hashes, count, 0);
    for (std::uint32_t word = 0; word < plan_.key_words; ++word) {
        const std::uint64_t *keys = keys_.data() + std::uint64_t{word} * query_tile_rows;
        for (std::uint32_t i = 0; i < count; ++i) {
            hashes[i] = mix_word(hashes[i], keys[i]);
        }
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        hashes[i] = finish_hash(hashes[i]);
    }
    for (std::uint32_t first = 0; first < count; first += rows_ahead) {
        const std::uint32_t end = std::min(first + rows_ahead, count);
        for (std::uint32_t i = first; i < end; ++i) {
            table_.prefetch_slot(hashes[i]);
        }
        for (std::uint32_t i = first; i < end; ++i) {
            table_.prefetch_record(hashes[i]);
        }
        for (std::uint32_t i = first; i < end; ++i) {
            numbers_[i] = find_row(i, hashes[i]);
        }
    }
}

}  // namespace gpu_engine::host
