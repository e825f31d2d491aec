#include "host/query/value_bits.h"

#include <algorithm>

namespace gpu_engine::host {
namespace {

// Beyond so many, a hash table of the values is smaller, or as quick.
constexpr std::uint64_t max_words = 1 << 20;
constexpr std::int64_t max_value = INT64_MAX / 4;

}  // namespace

bool ValueBits::reach(std::int64_t least, std::uint64_t words, std::uint64_t groups) {
    if (words == 0 || words > max_words) {
        return false;
    }
    std::int64_t first = least;
    std::int64_t last = least + static_cast<std::int64_t>(words * 64 - 1);
    const std::int64_t own_last = least_ + static_cast<std::int64_t>(words_ * 64) - 1;
    if (words_ > 0) {
        first = std::min(first, least_);
        last = std::max(last, own_last);
    }
    std::uint64_t wanted = static_cast<std::uint64_t>(last - first) / 64 + 1;
    if (wanted > max_words || groups > max_words / wanted) {
        return false;
    }
    if (wanted == words_ && groups <= this->groups()) {
        return true;
    }
    // There will most likely be more groups, and values that reach further.
    const std::uint64_t had = this->groups();
    const std::uint64_t rows =
        groups > had ? std::max(groups, std::min(groups * 2, max_words / wanted)) : had;
    if (const std::uint64_t more = wanted / 2;
        words_ > 0 && wanted > words_ && rows <= max_words / (wanted + more)) {
        first -= last > own_last ? 0 : static_cast<std::int64_t>(more * 64);
        wanted += more;
    }
    Buffer<std::uint64_t> bits(*budget_, rows * wanted);
    std::fill_n(bits.data(), bits.size(), 0);
    const std::uint64_t shift = words_ > 0 ? static_cast<std::uint64_t>(least_ - first) / 64 : 0;
    for (std::uint64_t group = 0; group < had; ++group) {
        std::copy_n(bits_.data() + group * words_, words_, bits.data() + group * wanted + shift);
    }
    bits_ = std::move(bits);
    words_ = wanted;
    least_ = first;
    return true;
}

bool ValueBits::add(const Vector &values, const std::uint32_t *numbers, std::uint64_t groups,
                    std::uint32_t count, const std::uint8_t *counted) {
    if (values.stored() != ValueType::int64) {
        return false;
    }
    const auto *integers = values.as<std::int64_t>();
    std::int64_t least = INT64_MAX;
    std::int64_t greatest = INT64_MIN;
    for (std::uint32_t i = 0; i < count; ++i) {
        const bool counts = counted == nullptr || counted[i] != 0;
        least = std::min(least, counts ? integers[i] : INT64_MAX);
        greatest = std::max(greatest, counts ? integers[i] : INT64_MIN);
    }
    if (least > greatest) {
        return true;
    }
    // Differences of the others have room.
    if (least < -max_value || greatest > max_value) {
        return false;
    }
    const std::int64_t first = least & ~std::int64_t{63};
    const std::uint64_t words = static_cast<std::uint64_t>(greatest - first) / 64 + 1;
    if (!reach(first, words, groups)) {
        return false;
    }
    std::uint64_t *bits = bits_.data();
    const auto add_all = [&](auto counts) {
        for (std::uint32_t i = 0; i < count; ++i) {
            if (counts(i)) {
                const auto place = static_cast<std::uint64_t>(integers[i] - least_);
                bits[numbers[i] * words_ + place / 64] |= std::uint64_t(1) << (place % 64);
            }
        }
    };
    if (counted == nullptr) {
        add_all([](std::uint32_t) { return true; });
    } else {
        add_all([counted](std::uint32_t i) { return counted[i] != 0; });
    }
    return true;
}

}  // namespace gpu_engine::host
