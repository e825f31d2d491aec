// Codes unpacked as the processor can do it best, and as any can.
#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "common/column/layout.h"
#include "host/column/unpack.h"

namespace {

using gpu_engine::packed_at;
using gpu_engine::packing::group;
namespace host = gpu_engine::host;

constexpr std::uint64_t groups = 3;
// A store has as many words behind its last codes.
constexpr std::uint64_t slack = 8;

class UnpackTest : public testing::TestWithParam<std::uint32_t> {
  protected:
    UnpackTest() : words_(groups * GetParam() + slack) {
        for (std::uint64_t &word : words_) {
            word = random_();
        }
    }
    std::uint64_t code(std::uint64_t number, std::uint32_t i) const {
        return packed_at(words_.data(), number * group + i, GetParam());
    }

    std::mt19937_64 random_{GetParam()};
    std::vector<std::uint64_t> words_;
};

TEST_P(UnpackTest, UnpacksGroups) {
    const std::uint32_t bits = GetParam();
    for (std::uint64_t number = 0; number < groups; ++number) {
        std::uint64_t wide[group];
        host::unpack_group(words_.data(), number, bits, wide);
        std::uint32_t narrow[group] = {};
        std::uint32_t plain[group] = {};
        if (bits <= 32) {
            host::unpack_group(words_.data(), number, bits, narrow);
            host::plain::unpack_group(words_.data(), number, bits, plain);
        }
        for (std::uint32_t i = 0; i < group; ++i) {
            ASSERT_EQ(wide[i], code(number, i)) << "code " << i;
            if (bits <= 32) {
                ASSERT_EQ(narrow[i], code(number, i)) << "code " << i;
                ASSERT_EQ(plain[i], code(number, i)) << "code " << i;
            }
        }
    }
}

TEST_P(UnpackTest, FindsCodesInARange) {
    const std::uint32_t bits = GetParam();
    if (bits > 32) {
        return;
    }
    const std::uint64_t greatest = (std::uint64_t{1} << bits) - 1;
    const auto draw = [&] { return static_cast<std::uint32_t>(random_() & greatest); };
    for (std::uint32_t round = 0; round < 20; ++round) {
        const std::uint32_t one = draw();
        const std::uint32_t other = draw();
        const std::uint32_t low = std::min(one, other);
        const std::uint32_t width = round == 0   ? UINT32_MAX - low
                                    : round == 1 ? 0
                                                 : std::max(one, other) - low;
        for (std::uint64_t number = 0; number < groups; ++number) {
            std::uint64_t expected = 0;
            for (std::uint32_t i = 0; i < group; ++i) {
                const std::uint64_t distance = code(number, i) - low;
                expected |= std::uint64_t{code(number, i) >= low && distance <= width} << i;
            }
            ASSERT_EQ(host::find_in_range(words_.data(), number, bits, low, width), expected);
            ASSERT_EQ(host::plain::find_in_range(words_.data(), number, bits, low, width), expected);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Widths, UnpackTest, testing::Range(0U, 65U));

}  // namespace
