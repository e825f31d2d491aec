// Whatever an engine holds of a run: a sorted array, a grid file, columns or inverted lists; and the loaders
// that make them.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>

#include "gpu_engine/column.h"
#include "gpu_engine/grid.h"
#include "gpu_engine/guard.h"
#include "gpu_engine/kary.h"
#include "gpu_engine/text.h"

namespace gpu_engine::server {

// Calls a function with a key of the width. Throws Failure when there is no such width.
template <typename Function>
auto with_key(std::uint32_t key_bits, Function &&function) {
    switch (key_bits) {
        case 32:
            return function(std::uint32_t{});
        case 64:
            return function(std::uint64_t{});
        case 128:
            return function(Key128{});
        default:
            throw Failure{make_status(StatusCode::invalid_argument, "keys have 32, 64 or 128 bits")};
    }
}

// Objects of kary are distinguished by the width of their keys. Those of grid, column and text have numbers
// that are no width.
inline constexpr std::uint32_t grid_bits = 0;
inline constexpr std::uint32_t column_bits = 1;
inline constexpr std::uint32_t text_bits = 2;

template <template <typename> typename Kary, typename Grid, typename Column, typename Text>
class OfAnyKind {
  public:
    OfAnyKind() = default;
    template <typename Object>
    explicit OfAnyKind(std::unique_ptr<Object> object) : object_(std::move(object)) {}

    explicit operator bool() const {
        return visit([](const auto *object) { return object != nullptr; });
    }
    std::uint32_t key_bits() const noexcept {
        constexpr std::uint32_t bits[] = {32, 64, 128, grid_bits, column_bits, text_bits};
        return bits[object_.index()];
    }
    // Returns null when there is no object, or one of another width.
    template <typename Key>
    Kary<Key> *get() const noexcept {
        return get_object<Kary<Key>>();
    }
    Grid *grid() const noexcept { return get_object<Grid>(); }
    Column *column() const noexcept { return get_object<Column>(); }
    Text *text() const noexcept { return get_object<Text>(); }
    // Calls visitor with a pointer to the object, which is null when there is none.
    template <typename Visitor>
    auto visit(Visitor &&visitor) const {
        return std::visit([&](const auto &object) { return visitor(object.get()); }, object_);
    }

  private:
    template <typename Object>
    Object *get_object() const noexcept {
        const auto *object = std::get_if<std::unique_ptr<Object>>(&object_);
        return object != nullptr ? object->get() : nullptr;
    }

    std::variant<std::unique_ptr<Kary<std::uint32_t>>, std::unique_ptr<Kary<std::uint64_t>>,
                 std::unique_ptr<Kary<Key128>>, std::unique_ptr<Grid>, std::unique_ptr<Column>,
                 std::unique_ptr<Text>>
        object_;
};

using AnyObject = OfAnyKind<KaryArray, GridFile, ColumnStore, TextIndex>;
using AnyLoader = OfAnyKind<KaryLoader, GridLoader, ColumnLoader, TextLoader>;

// Returns the object as a store; null when there is none.
inline Store *store_of(const AnyObject &object) {
    return object.visit([](auto *store) -> Store * { return store; });
}

}  // namespace gpu_engine::server
