// Rows that are computed together, by columns.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "common/query/operation.h"
#include "host/buffer.h"

namespace gpu_engine::host {

using query::Int128;
using query::Truth;
using query::UInt128;
using query::ValueType;

inline constexpr std::uint32_t query_tile_rows = 1024;

constexpr std::uint32_t bytes_of(ValueType type) noexcept {
    return type == ValueType::boolean ? 1 : type == ValueType::int128 ? 16 : 8;
}

// Values of a tile's rows: Truth, int64, Int128 or double. Those of int128 are kept as int64 (`is_narrow`)
// where all of the tile have room there, since that is computed several times faster.
struct Vector {
    ValueType type;
    bool is_narrow;
    const void *values;
    const std::uint8_t *nulls;  // a byte a row, 0 or 1; nullptr: none is NULL

    template <typename Type>
    const Type *as() const noexcept {
        return static_cast<const Type *>(values);
    }
    // The type of what `values` has.
    ValueType stored() const noexcept { return is_narrow ? ValueType::int64 : type; }
};

// Where a vector's values and NULLs may be put.
struct VectorRoom {
    void *values;
    std::uint8_t *nulls;

    template <typename Type>
    Type *as() const noexcept {
        return static_cast<Type *>(values);
    }
};

// Calls visit(Type{}) for the type that values are stored as.
template <typename Visit>
auto with_stored(ValueType stored, Visit &&visit) {
    switch (stored) {
        case ValueType::boolean:
            return visit(Truth{});
        case ValueType::int128:
            return visit(Int128{});
        case ValueType::float64:
            return visit(double{});
        default:
            return visit(std::int64_t{});
    }
}

// A tile's rows: the source's rows from some place on, or those of them that are kept.
class TileInput {
  public:
    TileInput() = default;
    TileInput(const TileInput &) = delete;
    TileInput &operator=(const TileInput &) = delete;
    virtual ~TileInput() = default;

    std::uint32_t count() const noexcept { return count_; }
    // A column of the tile's rows; it may be put into `room`.
    virtual Vector load(std::uint32_t column, const VectorRoom &room) = 0;
    // How many rows each of the tile's stands for, put into `room`; nullptr: one.
    virtual const std::uint32_t *load_weights(std::uint32_t *) { return nullptr; }

    // Leaves these rows, of which `positions` are numbers that ascend.
    void keep(const std::uint16_t *positions, std::uint32_t count) noexcept {
        for (std::uint32_t i = 0; i < count; ++i) {
            positions_[i] = all_ ? positions[i] : positions_[positions[i]];
        }
        all_ = false;
        count_ = count;
    }
    void keep_first(std::uint32_t count) noexcept { count_ = count < count_ ? count : count_; }

  protected:
    void begin_all(std::uint32_t count) noexcept {
        all_ = true;
        count_ = count;
    }
    // Calls visit(i, row) for the tile's rows: row is a number among those that it began with.
    template <typename Visit>
    void for_rows(Visit visit) const {
        if (all_) {
            for (std::uint32_t i = 0; i < count_; ++i) {
                visit(i, i);
            }
            return;
        }
        for (std::uint32_t i = 0; i < count_; ++i) {
            visit(i, std::uint32_t{positions_[i]});
        }
    }

    bool all_ = true;
    std::uint32_t count_ = 0;
    std::uint16_t positions_[query_tile_rows];
};

// Copies the rows of a vector that `positions` says, or those of the vector's own room in place.
inline void gather_vector(const Vector &from, const std::uint16_t *positions, std::uint32_t count,
                          const VectorRoom &room) {
    with_stored(from.stored(), [&]<typename Type>(Type) {
        const Type *values = from.as<Type>();
        Type *gathered = room.as<Type>();
        for (std::uint32_t i = 0; i < count; ++i) {
            gathered[i] = values[positions[i]];
        }
    });
    if (from.nulls != nullptr) {
        for (std::uint32_t i = 0; i < count; ++i) {
            room.nulls[i] = from.nulls[positions[i]];
        }
    }
}

// The outputs of a program as a tile. Columns of its input that nothing was computed of may be loaded when
// they are asked for, of the rows that are left then; from that on no more rows are left out.
class VectorTile final : public TileInput {
  public:
    explicit VectorTile(std::size_t columns) : vectors_(columns), deferred_(columns) {}

    void begin(std::uint32_t count, TileInput *input) noexcept {
        begin_all(count);
        input_ = input;
        is_input_left_ = false;
    }
    void set(std::size_t column, const Vector &vector) noexcept { vectors_[column] = vector; }
    void defer(std::size_t column, std::uint32_t of_input) noexcept {
        vectors_[column] = {};
        deferred_[column] = of_input;
    }
    Vector load(std::uint32_t column, const VectorRoom &room) override {
        const Vector &vector = vectors_[column];
        if (vector.values == nullptr) {
            if (!all_ && !is_input_left_) {
                input_->keep(positions_, count_);
                is_input_left_ = true;
            }
            return input_->load(deferred_[column], room);
        }
        if (all_) {
            return vector;
        }
        gather_vector(vector, positions_, count_, room);
        return {vector.type, vector.is_narrow, room.values, vector.nulls != nullptr ? room.nulls : nullptr};
    }

  private:
    std::vector<Vector> vectors_;
    std::vector<std::uint32_t> deferred_;
    TileInput *input_ = nullptr;
    bool is_input_left_ = false;  // with the rows that this is left with
};

}  // namespace gpu_engine::host
