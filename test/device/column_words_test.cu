// Tests that a kernel's warps go over each lot of a selection once, however many of them read at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "device/column/select/codes.cuh"
#include "device/cuda_status.h"

#include "device_test.h"

namespace gpu_engine::device {
namespace {

__global__ void visit_kernel(const std::uint64_t *selected, std::uint64_t words, std::uint32_t step,
                             std::uint32_t *rows, std::uint32_t *lots) {
    const std::uint32_t lane = threadIdx.x % 32;
    for_words(
        selected, words,
        [&](std::uint64_t first, const std::uint32_t *bits) {
            for (std::uint32_t i = 0; i < words_a_warp; ++i) {
                atomicAdd(rows + first + i * 32 + lane, bits[i] >> lane & 1);
            }
            if (lane == 0) {
                atomicAdd(lots + (blockIdx.x * blockDim.x + threadIdx.x) / 32, 1U);
            }
        },
        step);
}

class ColumnWords : public DeviceTest {
  protected:
    void expect_visits(std::uint64_t lots, std::uint32_t step, unsigned blocks, unsigned threads) {
        const std::uint64_t words = lots * (rows_a_warp / 64);
        const std::uint64_t warps = std::uint64_t(blocks) * threads / 32;
        std::vector<std::uint64_t> selected(words);
        for (std::uint64_t word = 0; word < words; ++word) {
            // Spans of empty, sparse and full words.
            const std::uint64_t kind = word / 37 % 4;
            selected[word] = kind == 0   ? 0
                             : kind == 1 ? std::uint64_t(1) << random_() % 64 & random_()
                             : kind == 2 ? random_()
                                         : UINT64_MAX;
        }
        const Call call(*engine_, *stream_);
        const Buffer<std::uint64_t> on_device = call.buffer<std::uint64_t>(words);
        const Buffer<std::uint32_t> rows = call.buffer<std::uint32_t>(words * 64);
        const Buffer<std::uint32_t> by_warp = call.buffer<std::uint32_t>(warps);
        call.copy(on_device.data(), static_cast<const std::uint64_t *>(selected.data()), words);
        call.fill(rows.data(), 0, rows.bytes());
        call.fill(by_warp.data(), 0, by_warp.bytes());
        visit_kernel<<<blocks, threads, 0, call.stream()>>>(on_device.data(), words, step, rows.data(),
                                                            by_warp.data());
        check_launch("visit_kernel");
        std::vector<std::uint32_t> visited(words * 64);
        std::vector<std::uint32_t> taken(warps);
        call.copy(visited.data(), static_cast<const std::uint32_t *>(rows.data()), visited.size());
        call.copy(taken.data(), static_cast<const std::uint32_t *>(by_warp.data()), taken.size());
        call.wait();
        for (std::uint64_t row = 0; row < visited.size(); ++row) {
            const bool is_wanted =
                row / rows_a_warp % step == 0 && (selected[row / 64] >> (row % 64) & 1) != 0;
            ASSERT_EQ(visited[row], is_wanted ? 1U : 0U) << "row " << row;
        }
        ASSERT_LE(*std::max_element(taken.begin(), taken.end()),
                  max_lots_a_warp((lots + step - 1) / step, warps));
    }

    std::mt19937_64 random_{20261124};
};

TEST_F(ColumnWords, EachLotIsVisitedOnce) {
    for (const std::uint64_t lots : {1, 3, 8, 9, 31, 32, 33, 255, 256, 257, 700, 2048, 5001}) {
        for (const std::uint32_t step : {1U, 3U, 16U}) {
            for (const unsigned threads : {32U, 64U, 256U}) {
                SCOPED_TRACE(testing::Message()
                             << lots << " lots, step " << step << ", " << threads << " threads");
                expect_visits(lots, step, 1, threads);
                ASSERT_FALSE(HasFatalFailure());
                expect_visits(lots, step, 3, threads);
                ASSERT_FALSE(HasFatalFailure());
            }
        }
    }
}

}  // namespace
}  // namespace gpu_engine::device
