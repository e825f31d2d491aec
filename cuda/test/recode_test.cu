// Codes written anew by each form of main's map, whatever the map: where a form doesn't suit it, the map
// itself is read.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "device/column/code_map.cuh"
#include "device/column/recode.cuh"

#include "gpu_engine/boundary.h"

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

class RecodeForms : public testing::Test {
  protected:
    void SetUp() override {
        const Status opened = open_engine({}, &opened_);
        if (opened.code == StatusCode::unavailable) {
            GTEST_SKIP() << opened.message;
        }
        ASSERT_TRUE(opened.ok()) << opened.message;
        engine_ = static_cast<DeviceEngine *>(opened_.get());
        stream_ = std::make_unique<DeviceStream>(*engine_);
    }

    void expect_codes(const std::vector<std::uint32_t> &map, std::size_t rows) {
        const Call call(*engine_, *stream_);
        const std::uint32_t main_bits = bits_for(map.size());
        constexpr std::uint32_t bits = 24;
        std::vector<std::uint32_t> codes(rows);
        std::vector<std::uint32_t> right(rows);
        for (std::size_t i = 0; i < rows; ++i) {
            codes[i] = static_cast<std::uint32_t>(i < map.size() ? i : random_() % map.size());
            right[i] = map[codes[i]];
        }
        const std::vector<std::uint32_t> words = packed(codes, main_bits);
        const std::vector<std::uint32_t> right_words = packed(right, bits);
        const auto on_device = [&](const std::vector<std::uint32_t> &values) {
            Buffer<std::uint32_t> own = call.buffer<std::uint32_t>(values.size() + 1);
            call.copy(own.data(), values.data(), values.size());
            return own;
        };
        const Buffer<std::uint32_t> own_words = on_device(words);
        const Buffer<std::uint32_t> own_map = on_device(map);
        const Buffer<std::uint32_t> output = call.buffer<std::uint32_t>(right_words.size());
        const Buffer<RecodeProblem> problem = call.buffer<RecodeProblem>(1);
        const Recoding recoding{{{own_words.data(), rows, main_bits}, own_map.data(), map.size()},
                                {{nullptr, 0, 0}, nullptr, 0},
                                bits,
                                output.data(),
                                problem.data()};
        const std::uint32_t steps = steps_of_map(call, recoding);
        for (const MapForm form : map_forms) {
            // A list of more steps than there are codes is never chosen.
            if (form == MapForm::listed &&
                (steps > map.size() || StepList(map.size(), steps).bytes() > engine_->shared_bytes())) {
                continue;
            }
            call.fill(problem.data(), 0, sizeof(RecodeProblem));
            call.fill(output.data(), 0xee, output.bytes());
            launch_recode(call, recoding, form, steps);
            std::vector<std::uint32_t> found(right_words.size());
            RecodeProblem found_problem{};
            call.copy(found.data(), static_cast<const std::uint32_t *>(output.data()), found.size());
            call.copy(&found_problem, static_cast<const RecodeProblem *>(problem.data()), 1);
            call.wait();
            ASSERT_EQ(found_problem.beyond, 0U);
            ASSERT_TRUE(found == right_words) << "form " << static_cast<int>(form);
        }
    }

    std::mt19937_64 random_{20261121};
    std::unique_ptr<Engine> opened_;
    DeviceEngine *engine_ = nullptr;
    std::unique_ptr<DeviceStream> stream_;
};

TEST_F(RecodeForms, AllGiveTheSameCodes) {
    for (const std::size_t entries : {1, 2, 95, 96, 97, 255, 256, 257, 5000, 200001}) {
        // One code in so many has a step, of so many entries.
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
                expect_codes(map, entries + 3000);
                ASSERT_FALSE(HasFatalFailure());
            }
        }
    }
}

TEST_F(RecodeForms, TakeMapsThatDontAscend) {
    for (const std::size_t entries : {2, 300, 20000}) {
        std::vector<std::uint32_t> map(entries);
        for (std::uint32_t &code : map) {
            code = static_cast<std::uint32_t>(random_() % (2 * entries));
        }
        // The number of steps can't tell.
        map.back() = static_cast<std::uint32_t>(entries);
        expect_codes(map, entries + 1000);
    }
}

}  // namespace
}  // namespace gpu_engine::device
