// Writes codes anew by each form of main's map, whatever the map. Where a form doesn't suit the map, the map
// itself is read.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "studies/column/device/code_map.cuh"
#include "studies/column/device/recode.cuh"

#include "test/device/device_test.h"

namespace gpu_engine::device {
namespace {

std::vector<std::uint32_t> packed(const std::vector<std::uint32_t> &codes, std::uint32_t bits) {
    std::vector<std::uint32_t> words(packed_words(codes.size(), bits));
    for (std::size_t i = 0; bits > 0 && i < codes.size(); ++i) {
        const std::size_t at = i * bits;
        words[at / 32] |= codes[i] << (at % 32);
        if (at % 32 + bits > 32) {
            words[at / 32 + 1] |= codes[i] >> (32 - at % 32);
        }
    }
    return words;
}

class RecodeForms : public DeviceTest {
  protected:
    struct Rows {
        std::vector<std::uint32_t> codes;
        std::vector<std::uint32_t> words;
        std::uint32_t bits;
    };
    // Makes rows that have each code first, as far as there are rows, and then random codes.
    Rows rows_of(std::size_t entries, std::size_t count) {
        Rows rows{std::vector<std::uint32_t>(count), {}, bits_for(entries)};
        for (std::size_t i = 0; i < count; ++i) {
            rows.codes[i] = static_cast<std::uint32_t>(i < entries ? i : random_() % entries);
        }
        rows.words = packed(rows.codes, rows.bits);
        return rows;
    }

    void expect_codes(const std::vector<std::uint32_t> &map, std::size_t main_rows, std::size_t delta_rows) {
        const Call call(*engine_, *stream_);
        const Rows main = rows_of(map.size(), main_rows);
        std::vector<std::uint32_t> delta_map(999);
        for (std::uint32_t &code : delta_map) {
            code = map[random_() % map.size()];
        }
        const Rows delta = rows_of(delta_map.size(), delta_rows);
        std::vector<std::uint32_t> right;
        for (const std::uint32_t code : main.codes) {
            right.push_back(map[code]);
        }
        for (const std::uint32_t code : delta.codes) {
            right.push_back(delta_map[code]);
        }
        const auto on_device = [&](const std::vector<std::uint32_t> &values) {
            Buffer<std::uint32_t> own = call.buffer<std::uint32_t>(values.size() + 1);
            call.copy(own.data(), values.data(), values.size());
            return own;
        };
        const Buffer<std::uint32_t> main_words = on_device(main.words);
        const Buffer<std::uint32_t> delta_words = on_device(delta.words);
        const Buffer<std::uint32_t> own_map = on_device(map);
        const Buffer<std::uint32_t> own_delta_map = on_device(delta_map);
        const std::uint64_t steps = map.back() - (map.size() - 1);
        const std::uint32_t least_bits =
            bits_for(std::uint64_t(*std::max_element(map.begin(), map.end())) + 1);
        for (const std::uint32_t bits : {least_bits, std::max(least_bits, 17U)}) {
            const std::vector<std::uint32_t> right_words = packed(right, bits);
            const Buffer<std::uint32_t> output = call.buffer<std::uint32_t>(right_words.size() + 1);
            // A map has at most as many steps as delta has entries. Only the first of these numbers occur.
            for (const std::uint64_t max_steps :
                 {std::max<std::uint64_t>(steps, delta_map.size()), std::uint64_t(delta_map.size())}) {
                const Recoding recoding{
                    {{main_words.data(), main_rows, main.bits}, own_map.data(), map.size()},
                    {{delta_words.data(), delta_rows, delta.bits}, own_delta_map.data(), max_steps},
                    bits,
                    output.data(),
                    call.result()};
                for (const MapForm form : map_forms) {
                    *call.result() = 0;
                    call.fill(output.data(), 0xee, output.bytes());
                    launch_recode(call, recoding, form);
                    std::vector<std::uint32_t> found(right_words.size());
                    call.copy(found.data(), static_cast<const std::uint32_t *>(output.data()), found.size());
                    call.wait();
                    ASSERT_EQ(*call.result(), 0U);
                    ASSERT_TRUE(found == right_words) << "form " << static_cast<int>(form) << ", " << bits
                                                      << " bits, at most " << max_steps << " steps";
                }
            }
        }
    }

    std::mt19937_64 random_{20261121};
};

TEST_F(RecodeForms, AllGiveTheSameCodes) {
    for (const std::size_t entries : {1, 2, 95, 96, 97, 255, 256, 257, 5000, 200001}) {
        // Of so many entries, one in `distance` has a step.
        for (const std::uint64_t distance : {1, 2, 20, 67, 1000}) {
            for (const std::uint32_t step : {1, 2, 13, 3000}) {
                std::vector<std::uint32_t> map(entries);
                std::uint32_t code = 0;
                for (std::size_t i = 0; i < entries; ++i, ++code) {
                    code += random_() % distance == 0 && code < 8000000 ? step : 0;
                    map[i] = code;
                }
                SCOPED_TRACE(std::to_string(entries) + " entries, " + std::to_string(step) + " at one in " +
                             std::to_string(distance));
                expect_codes(map, entries + 3000, 2000);
                ASSERT_FALSE(HasFatalFailure());
            }
        }
    }
}

// The more entries there are, the more codes a cell has.
TEST_F(RecodeForms, HaveCellsOfEachLength) {
    for (const std::size_t entries : {1500001, 3000001, 6000001, 12000001}) {
        std::vector<std::uint32_t> map(entries);
        std::uint32_t code = 0;
        for (std::size_t i = 0; i < entries; ++i, ++code) {
            code += random_() % 67 == 0 ? static_cast<std::uint32_t>(1 + random_() % 7 / 5) : 0;
            map[i] = code;
        }
        SCOPED_TRACE(entries);
        expect_codes(map, entries + 1, 1000);
        ASSERT_FALSE(HasFatalFailure());
    }
}

TEST_F(RecodeForms, TakeMapsThatDontAscend) {
    for (const std::size_t entries : {2, 300, 20000}) {
        std::vector<std::uint32_t> map(entries);
        for (std::uint32_t &code : map) {
            code = static_cast<std::uint32_t>(random_() % (2 * entries));
        }
        // Here the number of steps can't tell that the map doesn't ascend.
        map.back() = static_cast<std::uint32_t>(entries);
        expect_codes(map, entries + 1000, 1);
    }
}

}  // namespace
}  // namespace gpu_engine::device
