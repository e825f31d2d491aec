// Codes unpacked as the processor can do it best, and as any can.
#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "common/column/layout.h"
#include "host/column/select/unpack.h"

namespace {

using gpu_engine::packed_at;
using gpu_engine::packing::group;
namespace host = gpu_engine::host;

constexpr std::uint64_t groups = 3;
// A store has as many words behind its last codes.
constexpr std::uint64_t slack = 8;

// Groups of packed codes at random.
struct Packed {
    std::uint32_t bits;
    std::vector<std::uint64_t> words;

    Packed(std::uint32_t code_bits, std::mt19937_64 &random)
        : bits(code_bits), words(groups * code_bits + slack) {
        for (std::uint64_t &word : words) {
            word = random();
        }
    }
    std::uint64_t code(std::uint64_t number, std::uint32_t i) const {
        return packed_at(words.data(), number * group + i, bits);
    }
};

TEST(Unpack, GroupsOfAllWidths) {
    std::mt19937_64 random(1);
    for (std::uint32_t bits = 0; bits <= 64; ++bits) {
        const Packed packed(bits, random);
        for (std::uint64_t number = 0; number < groups; ++number) {
            std::uint64_t wide[group];
            host::unpack_group(packed.words.data(), number, bits, wide);
            std::uint32_t narrow[group] = {};
            std::uint32_t plain[group] = {};
            if (bits <= 32) {
                host::unpack_group(packed.words.data(), number, bits, narrow);
                host::plain::unpack_group(packed.words.data(), number, bits, plain);
            }
            for (std::uint32_t i = 0; i < group; ++i) {
                ASSERT_EQ(wide[i], packed.code(number, i)) << bits << " bits, code " << i;
                if (bits <= 32) {
                    ASSERT_EQ(narrow[i], packed.code(number, i)) << bits << " bits, code " << i;
                    ASSERT_EQ(plain[i], packed.code(number, i)) << bits << " bits, code " << i;
                }
            }
        }
    }
}

TEST(Unpack, CodesInARange) {
    std::mt19937_64 random(2);
    for (std::uint32_t bits = 0; bits <= 32; ++bits) {
        const Packed packed(bits, random);
        const std::uint64_t greatest = (std::uint64_t{1} << bits) - 1;
        for (std::uint32_t round = 0; round < 20; ++round) {
            const auto one = static_cast<std::uint32_t>(random() & greatest);
            const auto other = static_cast<std::uint32_t>(random() & greatest);
            const std::uint32_t low = std::min(one, other);
            const std::uint32_t width = round == 0   ? UINT32_MAX - low
                                        : round == 1 ? 0
                                                     : std::max(one, other) - low;
            for (std::uint64_t number = 0; number < groups; ++number) {
                std::uint64_t expected = 0;
                for (std::uint32_t i = 0; i < group; ++i) {
                    const std::uint64_t code = packed.code(number, i);
                    expected |= std::uint64_t{code >= low && code - low <= width} << i;
                }
                ASSERT_EQ(host::find_in_range(packed.words.data(), number, bits, low, width), expected)
                    << bits << " bits";
                ASSERT_EQ(host::plain::find_in_range(packed.words.data(), number, bits, low, width), expected)
                    << bits << " bits";
            }
        }
    }
}

}  // namespace
