// Arrays and loaders of any key width.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <variant>

#include "gpu_engine/guard.h"
#include "gpu_engine/kary.h"

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

template <template <typename> typename Class>
class OfAnyWidth {
  public:
    OfAnyWidth() = default;
    template <typename Key>
    explicit OfAnyWidth(std::unique_ptr<Class<Key>> object) : object_(std::move(object)) {}

    explicit operator bool() const {
        return visit([](const auto *object) { return object != nullptr; });
    }
    std::uint32_t key_bits() const noexcept {
        return object_.index() == 0 ? 32 : object_.index() == 1 ? 64 : 128;
    }
    // Null when there is none, or one of another width.
    template <typename Key>
    Class<Key> *get() const noexcept {
        const auto *object = std::get_if<std::unique_ptr<Class<Key>>>(&object_);
        return object != nullptr ? object->get() : nullptr;
    }
    // Calls visitor(Class<Key> *), which is null when there is none.
    template <typename Visitor>
    auto visit(Visitor &&visitor) const {
        return std::visit([&](const auto &object) { return visitor(object.get()); }, object_);
    }

  private:
    std::variant<std::unique_ptr<Class<std::uint32_t>>, std::unique_ptr<Class<std::uint64_t>>,
                 std::unique_ptr<Class<Key128>>>
        object_;
};

using AnyArray = OfAnyWidth<KaryArray>;
using AnyLoader = OfAnyWidth<KaryLoader>;

inline std::uint64_t bytes_of(const AnyArray &array) {
    return array.visit([](const auto *kary) { return kary->bytes(); });
}
inline std::uint64_t entries_of(const AnyArray &array) {
    return array.visit([](const auto *kary) { return kary->entries(); });
}
inline std::uint64_t dead_version_of(const AnyArray &array) {
    return array.visit([](const auto *kary) { return kary->dead_version(); });
}

}  // namespace gpu_engine::server
