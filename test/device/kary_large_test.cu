// Arrays of more than 2^31 entries, whose positions no signed 32-bit number holds. They need tens of
// gigabytes of device memory, and are left out where that isn't there.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "bench/kary/load_array.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/kary.h"

namespace gpu_engine {
namespace {

constexpr std::uint64_t entries = (std::uint64_t(1) << 31) + (std::uint64_t(1) << 26) + 12'345;
constexpr std::uint64_t piece = std::uint64_t(bench::array_layout<std::uint32_t>.per_page) << 19;

// Each key comes twice.
std::uint32_t key_at(std::uint64_t position) {
    return static_cast<std::uint32_t>(position / 2);
}

Tid tid_at(std::uint64_t position) {
    const std::uint64_t block = position / 2;
    return {static_cast<std::uint16_t>(block >> 16), static_cast<std::uint16_t>(block),
            static_cast<std::uint16_t>(1 + position % 2)};
}

std::uint64_t place_of(const Tid &tid) {
    return (std::uint64_t(tid.block_high) << 32) | (std::uint64_t(tid.block_low) << 16) | tid.offset;
}

bool is_dead(std::uint64_t position) {
    return position % 1024 == 1023;
}

class LargeKaryArray : public testing::Test {
  protected:
    void SetUp() override {
        const Status opened = device::open_engine({}, &engine_);
        if (opened.code == StatusCode::unavailable) {
            GTEST_SKIP() << opened.message;
        }
        ASSERT_TRUE(opened.ok()) << opened.message;
        ASSERT_TRUE(engine_->open_stream(&stream_).ok());
    }

    void load() {
        std::unique_ptr<KaryLoader<std::uint32_t>> loader;
        Status status = engine_->kary32().open_loader(*stream_, entries, &loader);
        if (status.code == StatusCode::out_of_memory) {
            GTEST_SKIP() << status.message;
        }
        ASSERT_TRUE(status.ok()) << status.message;
        std::vector<std::uint32_t> keys(piece);
        std::vector<Tid> tids(piece);
        for (std::uint64_t first = 0; first < entries; first += piece) {
            const std::uint64_t count = std::min(piece, entries - first);
            for (std::uint64_t i = 0; i < count; ++i) {
                keys[i] = key_at(first + i);
                tids[i] = tid_at(first + i);
            }
            status = bench::append_entries(*stream_, *loader, keys.data(), tids.data(), count);
            ASSERT_TRUE(status.ok()) << status.message;
        }
        bool ordered = false;
        status = loader->finish(*stream_, &ordered, &array_);
        if (status.code == StatusCode::out_of_memory) {
            GTEST_SKIP() << status.message;
        }
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_TRUE(ordered);
        ASSERT_EQ(array_->entries(), entries);
    }

    // Some keys from the beginning to beyond the end, and those around 2^31.
    static std::vector<std::uint32_t> probes() {
        std::vector<std::uint32_t> keys = {0, 1, key_at(entries - 1), key_at(entries - 1) + 1, UINT32_MAX};
        for (std::uint32_t near = 0; near < 2000; ++near) {
            keys.push_back((std::uint32_t(1) << 30) - 1000 + near);
        }
        std::mt19937_64 random(1);
        for (int i = 0; i < 100'000; ++i) {
            keys.push_back(static_cast<std::uint32_t>(random() % (entries / 2 + 100)));
        }
        return keys;
    }

    void expect_results(bool with_dead) {
        const std::vector<std::uint32_t> keys = probes();
        std::vector<std::uint64_t> offsets(keys.size() + 1);
        std::vector<Tid> tids(2 * keys.size());
        ASSERT_TRUE(
            array_->lookup(*stream_, keys.data(), keys.size(), offsets.data(), tids.data(), tids.size())
                .ok());
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const std::uint64_t first = std::min(std::uint64_t(keys[i]) * 2, entries);
            const std::uint64_t last = std::min(std::uint64_t(keys[i]) * 2 + 2, entries);
            std::uint64_t at = offsets[i];
            for (std::uint64_t position = first; position < last; ++position) {
                if (with_dead && is_dead(position)) {
                    continue;
                }
                ASSERT_LT(at, offsets[i + 1]) << keys[i];
                ASSERT_EQ(place_of(tids[at]), place_of(tid_at(position))) << keys[i];
                ++at;
            }
            ASSERT_EQ(at, offsets[i + 1]) << keys[i];
        }
        const std::uint32_t low = 0;
        const std::uint32_t high = UINT32_MAX;
        std::uint32_t count = 0;
        ASSERT_TRUE(array_->count(*stream_, &low, &high, 1, &count).ok());
        ASSERT_EQ(count, with_dead ? entries - entries / 1024 : entries);
    }

    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Stream> stream_;
    std::unique_ptr<KaryArray<std::uint32_t>> array_;
};

TEST_F(LargeKaryArray, AnswersAfterLoading) {
    ASSERT_NO_FATAL_FAILURE(load());
    if (IsSkipped()) {
        return;
    }
    ASSERT_NO_FATAL_FAILURE(expect_results(false));
    std::vector<std::uint64_t> dead((entries + 63) / 64);
    for (std::uint64_t position = 1023; position < entries; position += 1024) {
        dead[position / 64] |= std::uint64_t(1) << position % 64;
    }
    ASSERT_TRUE(array_->set_dead(*stream_, dead.data(), 1).ok());
    EXPECT_EQ(array_->dead_entries(), entries / 1024);
    ASSERT_NO_FATAL_FAILURE(expect_results(true));
}

}  // namespace
}  // namespace gpu_engine
