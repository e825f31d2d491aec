#include "host/query/join.h"

#include <atomic>

namespace gpu_engine::host {

using query::JoinKind;

namespace {

// Rooms for vectors of these types, as many bytes as `memory` gets.
std::vector<VectorRoom> make_rooms(MemoryBudget &budget, const std::vector<ValueType> &types,
                                   const std::vector<bool> &is_needed, Buffer<char> *memory) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < types.size(); ++i) {
        bytes += is_needed[i] ? std::uint64_t{query_tile_rows} * (bytes_of(types[i]) + 1) : 0;
    }
    *memory = Buffer<char>(budget, bytes);
    char *at = memory->data();
    std::vector<VectorRoom> rooms(types.size());
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (is_needed[i]) {
            const std::uint64_t value_bytes = std::uint64_t{query_tile_rows} * bytes_of(types[i]);
            rooms[i] = {at, reinterpret_cast<std::uint8_t *>(at) + value_bytes};
            at += value_bytes + query_tile_rows;
        }
    }
    return rooms;
}

}  // namespace

// ---- joined rows ------------------------------------------------------------------------------------------

JoinedTile::JoinedTile(MemoryBudget &budget, const JoinTable &table)
    : table_(table),
      rooms_(make_rooms(budget, table.plan().probed_types, table.plan().is_taken, &memory_)),
      probed_columns_(table.plan().probed_columns()),
      is_loaded_(table.plan().probed_columns()) {}

void JoinedTile::begin_probed(TileInput *probed) noexcept {
    probed_ = probed;
    is_loaded_.assign(is_loaded_.size(), false);
}

void JoinedTile::begin(const std::uint16_t *positions, const std::uint64_t *rows,
                       std::uint32_t count) noexcept {
    pair_positions_ = positions;
    rows_ = rows;
    begin_all(count);
}

const Vector &JoinedTile::probed_column(std::uint32_t column) {
    if (!is_loaded_[column]) {
        probed_columns_[column] = probed_->load(column, rooms_[column]);
        is_loaded_[column] = true;
    }
    return probed_columns_[column];
}

Vector JoinedTile::load_probed(std::uint32_t column, const VectorRoom &room) {
    if (probed_ == nullptr) {
        const ValueType type = table_.plan().probed_types[column];
        std::memset(room.values, 0, std::size_t{count_} * bytes_of(type));
        std::fill_n(room.nulls, count_, 1);
        return {type, false, room.values, room.nulls};
    }
    const Vector &vector = probed_column(column);
    if (pair_positions_ == nullptr && all_) {
        return vector;
    }
    std::uint16_t positions[query_tile_rows];
    for_rows([&](std::uint32_t i, std::uint32_t row) {
        positions[i] = static_cast<std::uint16_t>(probed_of(row));
    });
    gather_vector(vector, positions, count_, room);
    return {vector.type, vector.is_narrow, room.values, vector.nulls != nullptr ? room.nulls : nullptr};
}

Vector JoinedTile::load(std::uint32_t column, const VectorRoom &room) {
    const JoinPlan &plan = table_.plan();
    const std::uint32_t joined = shows_outputs_ ? plan.outputs[column] : column;
    if (joined < plan.probed_columns()) {
        return load_probed(joined, room);
    }
    return table_.load(joined - plan.probed_columns(), count_, room,
                       [this](std::uint32_t i) { return rows_[all_ ? i : positions_[i]]; });
}

// ---- probing ----------------------------------------------------------------------------------------------

JoinProbe::JoinProbe(MemoryBudget &budget, const Workers &workers, const JoinTable &table,
                     std::uint8_t *marks)
    : workers_(workers),
      table_(table),
      plan_(table.plan()),
      marks_(marks),
      joined_(budget, table),
      key_rooms_(
          make_rooms(budget, plan_.key_types, std::vector<bool>(plan_.key_types.size(), true), &key_memory_)),
      bound_rooms_(make_rooms(budget, {ValueType::int64, ValueType::int64},
                              {plan_.at_most.has_value(), plan_.at_least.has_value()}, &bound_memory_)),
      bounds_{{budget, plan_.has_bounds() ? query_tile_rows : 0},
              {budget, plan_.has_bounds() ? query_tile_rows : 0}},
      keys_(budget, std::uint64_t{plan_.key_words} * query_tile_rows),
      matches_(budget, query_tile_rows),
      rows_(budget, query_tile_rows) {
    if (plan_.has_filter()) {
        filter_ = std::make_unique<Program>(budget, plan_.query, plan_.node);
    }
}

void JoinProbe::find_matches(TileInput &input) {
    const std::uint32_t count = input.count();
    wants_more_ = true;
    std::uint8_t nulls[query_tile_rows];
    bool has_nulls = false;
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < plan_.key_types.size(); ++k) {
        const Vector vector = input.load(plan_.probed_keys[k], key_rooms_[k]);
        with_stored(vector.stored(), [&]<typename Type>(Type) {
            const Type *values = vector.as<Type>();
            std::uint64_t *words = keys_.data() + word;
            for (std::uint32_t i = 0; i < count; ++i, words += plan_.key_words) {
                if (vector.is_narrow) {
                    write_key(static_cast<Int128>(values[i]), words);
                } else {
                    write_key(values[i], words);
                }
            }
        });
        if (vector.nulls != nullptr) {
            for (std::uint32_t i = 0; i < count; ++i) {
                nulls[i] = static_cast<std::uint8_t>((has_nulls ? nulls[i] : 0) | vector.nulls[i]);
            }
            has_nulls = true;
        }
        word += query::words_of(plan_.key_types[k]);
    }
    table_.find(keys_.data(), count, matches_.data());
    if (plan_.kind == JoinKind::anti_null) {
        // What isn't given is said to have a match.
        const bool is_excluded = table_.has_null_key();
        for (std::uint32_t i = 0; table_.has_rows() && i < count; ++i) {
            if (is_excluded || (has_nulls && nulls[i] != 0)) {
                matches_[i] = {0, 1};
            }
        }
        return;
    }
    for (std::uint32_t i = 0; has_nulls && i < count; ++i) {
        if (nulls[i] != 0) {
            matches_[i] = {0, 0};
        }
    }
    if (plan_.has_bounds() && !table_.is_unique()) {
        narrow_matches(input);
    }
}

// Reads a bound of the probed rows. Rows where it is NULL have no matches.
void JoinProbe::read_bound(TileInput &input, const JoinBound &bound, int number) {
    const Vector vector = input.load(bound.probed, bound_rooms_[static_cast<std::size_t>(number)]);
    std::int64_t *to = bounds_[number].data();
    for (std::uint32_t i = 0; i < input.count(); ++i) {
        to[i] = bound.type == ValueType::float64 ? bound_of(vector.as<double>()[i])
                                                 : bound_of(vector.as<std::int64_t>()[i]);
        if (vector.nulls != nullptr && vector.nulls[i] != 0) {
            matches_[i] = {0, 0};
        }
    }
}

// Leaves the matches that are within the join's bounds.
void JoinProbe::narrow_matches(TileInput &input) {
    if (plan_.at_most) {
        read_bound(input, *plan_.at_most, 0);
    }
    if (plan_.at_least) {
        read_bound(input, *plan_.at_least, 1);
    }
    for (std::uint32_t i = 0; i < input.count(); ++i) {
        if (matches_[i].first < matches_[i].end) {
            matches_[i] = table_.narrow(matches_[i], bounds_[0][i], bounds_[1][i]);
        }
    }
}

// Leaves the probed rows that have a match, or those that have none.
void JoinProbe::leave_probed(TileInput &input) {
    const std::uint32_t count = input.count();
    const bool leaves_matched = plan_.kind == JoinKind::semi;
    std::uint32_t left = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const bool is_matched =
            plan_.has_filter() ? is_matched_[i] != 0 : matches_[i].first < matches_[i].end;
        positions_[left] = static_cast<std::uint16_t>(i);
        left += is_matched == leaves_matched ? 1 : 0;
    }
    if (left < count) {
        input.keep(positions_, left);
    }
}

// The pairs of rows that have one match at most. Probed rows that aren't given are left out before more of
// them is loaded.
void JoinProbe::pair_each(TileInput &input) {
    const std::uint32_t count = input.count();
    const bool keeps_probed = query::keeps_probed(plan_.kind);
    count_ = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const bool is_matched = matches_[i].first < matches_[i].end;
        positions_[count_] = static_cast<std::uint16_t>(i);
        rows_[count_] = is_matched ? matches_[i].first : JoinTable::no_row;
        count_ += is_matched || keeps_probed ? 1 : 0;
    }
    for (std::uint32_t i = 0; marks_ != nullptr && i < count_; ++i) {
        if (rows_[i] != JoinTable::no_row) {
            std::atomic_ref(marks_[rows_[i]]).store(1, std::memory_order_relaxed);
        }
    }
    if (count_ < count) {
        input.keep(positions_, count_);
    }
    joined_.begin_probed(&input);
    is_each_ = true;
}

void JoinProbe::pair_unmatched(std::uint32_t count) {
    count_ = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        positions_[count_] = static_cast<std::uint16_t>(i);
        rows_[count_] = JoinTable::no_row;
        count_ += is_matched_[i] ^ 1;
    }
    is_each_ = false;
}

std::uint64_t JoinProbe::list_unmarked(std::uint64_t first, std::uint64_t end) {
    for (count_ = 0; first < end && count_ < query_tile_rows; ++first) {
        rows_[count_] = first;
        count_ += marks_[first] ^ 1;
    }
    return first;
}

bool JoinProbe::filter_pairs() {
    if (filter_ != nullptr && !filter_->compute(joined_)) {
        return false;
    }
    if (marks_ == nullptr && plan_.kind == JoinKind::inner) {
        return true;
    }
    joined_.for_pairs([this](std::uint32_t probed, std::uint64_t row) {
        is_matched_[probed] = 1;
        if (marks_ != nullptr) {
            std::atomic_ref(marks_[row]).store(1, std::memory_order_relaxed);
        }
    });
    return true;
}

}  // namespace gpu_engine::host
