// Arrays, grid files, columns and inverted lists, and what they are made of, of any key width.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
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

// Sorted keys have their width; points, columns and lists have none, and numbers that are no width.
inline constexpr std::uint32_t point_bits = 0;
inline constexpr std::uint32_t column_bits = 1;
inline constexpr std::uint32_t text_bits = 2;

template <template <typename> typename Sorted, typename Points, typename Columns, typename Lists>
class OfAnyKind {
  public:
    OfAnyKind() = default;
    template <typename Object>
    explicit OfAnyKind(std::unique_ptr<Object> object) : object_(std::move(object)) {}

    explicit operator bool() const {
        return visit([](const auto *object) { return object != nullptr; });
    }
    std::uint32_t key_bits() const noexcept {
        constexpr std::uint32_t bits[] = {32, 64, 128, point_bits, column_bits, text_bits};
        return bits[object_.index()];
    }
    // Null when there is none, or one of another width.
    template <typename Key>
    Sorted<Key> *get() const noexcept {
        return get_object<Sorted<Key>>();
    }
    Points *points() const noexcept { return get_object<Points>(); }
    Columns *columns() const noexcept { return get_object<Columns>(); }
    Lists *lists() const noexcept { return get_object<Lists>(); }
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

    std::variant<std::unique_ptr<Sorted<std::uint32_t>>, std::unique_ptr<Sorted<std::uint64_t>>,
                 std::unique_ptr<Sorted<Key128>>, std::unique_ptr<Points>, std::unique_ptr<Columns>,
                 std::unique_ptr<Lists>>
        object_;
};

using AnyArray = OfAnyKind<KaryArray, GridFile, ColumnStore, TextIndex>;
using AnyLoader = OfAnyKind<KaryLoader, GridLoader, ColumnLoader, TextLoader>;

inline std::uint64_t bytes_of(const AnyArray &array) {
    return array.visit([](const auto *object) { return object->bytes(); });
}
inline std::uint64_t entries_of(const AnyArray &array) {
    return array.visit([]<typename Object>(const Object *object) -> std::uint64_t {
        if constexpr (std::is_same_v<Object, TextIndex>) {
            return object->shape().documents;
        } else {
            return object->entries();
        }
    });
}
inline std::uint64_t dead_version_of(const AnyArray &array) {
    return array.visit([](const auto *object) { return object->dead_version(); });
}

}  // namespace gpu_engine::server
