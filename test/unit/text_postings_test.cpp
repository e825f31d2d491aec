// The codecs of inverted lists: decoding gives what was encoded, and no bytes make a decoder leave its
// bounds.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gpu_engine/postings.h"

using namespace gpu_engine::postings;

class Codecs : public testing::TestWithParam<Codec> {};

static std::string codec_name(const testing::TestParamInfo<Codec> &info) {
    constexpr std::array<const char *, kCodecs> names = {"Bitpack", "PForDelta", "Rice"};
    return names[static_cast<size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(All, Codecs, testing::Values(Codec::Bitpack, Codec::PForDelta, Codec::Rice),
                         codec_name);

static std::vector<uint32_t> gaps_of(const std::vector<uint32_t> &ordinals) {
    std::vector<uint32_t> gaps;
    uint64_t next = 0;
    for (const uint32_t ordinal : ordinals) {
        gaps.push_back(static_cast<uint32_t>(ordinal - next));
        next = uint64_t{ordinal} + 1;
    }
    return gaps;
}

// A whole list, block by block, with a b of its own for PForDelta.
static void expect_round_trip(Codec codec, const std::vector<uint32_t> &ordinals) {
    const std::vector<uint32_t> gaps = gaps_of(ordinals);
    const uint32_t frame_bits = choose_frame_bits(gaps.data(), static_cast<uint32_t>(gaps.size()));
    uint64_t next = 0;
    for (size_t first = 0; first < gaps.size(); first += kBlockPostings) {
        const auto count = static_cast<uint32_t>(std::min<size_t>(gaps.size() - first, kBlockPostings));
        std::vector<uint8_t> bytes(kMaxGapBytes, 0xaa);
        uint8_t parameter;
        const uint32_t length =
            encode_gaps(codec, gaps.data() + first, count, frame_bits, bytes.data(), &parameter);
        ASSERT_LE(length, kMaxGapBytes);
        // No more than plain packing takes.
        ASSERT_LE(length, packed_bytes(count, widest(gaps.data() + first, count)));
        bytes.resize(length);
        bytes.resize(length + kPadding, 0x55);
        std::vector<uint32_t> decoded(count);
        ASSERT_TRUE(decode_gaps(codec, bytes.data(), length, count, parameter, decoded.data()));
        ASSERT_TRUE(add_gaps(decoded.data(), count, next));
        for (uint32_t i = 0; i < count; i++)
            ASSERT_EQ(decoded[i], ordinals[first + i]) << first + i;
        next = uint64_t{decoded.back()} + 1;
        // A byte less or more is no encoding.
        if (length > 0) {
            ASSERT_FALSE(decode_gaps(codec, bytes.data(), length - 1, count, parameter, decoded.data()));
        }
        ASSERT_FALSE(decode_gaps(codec, bytes.data(), length + 1, count, parameter, decoded.data()));
    }
}

static std::vector<uint32_t> ordinals_with(size_t count, auto gap) {
    std::vector<uint32_t> ordinals;
    uint64_t next = 0;
    for (size_t i = 0; i < count; i++) {
        next += gap(i);
        if (next > std::numeric_limits<uint32_t>::max())
            break;
        ordinals.push_back(static_cast<uint32_t>(next));
        next++;
    }
    return ordinals;
}

static constexpr std::array<size_t, 9> kLengths = {1, 2, 127, 128, 129, 511, 512, 513, 1000};

TEST_P(Codecs, RunsOfNeighbours) {
    for (const size_t length : kLengths)
        expect_round_trip(GetParam(), ordinals_with(length, [](size_t) { return 0; }));
}

TEST_P(Codecs, OneHugeGap) {
    for (const size_t length : kLengths)
        for (const size_t place : {size_t{0}, length / 2, length - 1})
            expect_round_trip(GetParam(), ordinals_with(length, [place](size_t i) {
                                  return i == place ? uint64_t{4294966000} : 0;
                              }));
}

TEST_P(Codecs, TheLastOrdinalThereIs) {
    expect_round_trip(GetParam(), {std::numeric_limits<uint32_t>::max()});
    expect_round_trip(GetParam(), {0, std::numeric_limits<uint32_t>::max()});
    std::vector<uint32_t> ordinals = ordinals_with(512, [](size_t i) { return i % 3; });
    ordinals.push_back(std::numeric_limits<uint32_t>::max() - 1);
    ordinals.push_back(std::numeric_limits<uint32_t>::max());
    expect_round_trip(GetParam(), ordinals);
}

TEST_P(Codecs, RandomLists) {
    std::mt19937_64 random(8);
    for (int round = 0; round < 300; round++) {
        const size_t length = kLengths[random() % kLengths.size()];
        // Geometric gaps of a mean of their own, and now and then an outlier of any width.
        const double mean = std::exp2(static_cast<double>(random() % 20));
        std::exponential_distribution<double> gap(1.0 / mean);
        const uint64_t rare = 2 + random() % 200;
        expect_round_trip(GetParam(), ordinals_with(length, [&](size_t) -> uint64_t {
                              if (random() % rare == 0)
                                  return random() >> (32 + random() % 32);
                              return static_cast<uint64_t>(gap(random));
                          }));
    }
}

// Whatever the bytes are, the decoder ends, stays within them, and answers.
TEST_P(Codecs, RandomBytes) {
    std::mt19937_64 random(9);
    uint64_t accepted = 0;
    for (int round = 0; round < 200000; round++) {
        const auto length = static_cast<uint32_t>(random() % (round % 2 ? 24 : kMaxGapBytes));
        const auto count = static_cast<uint32_t>(1 + random() % kBlockPostings);
        // On the heap, so that sanitizers see every byte beyond.
        std::vector<uint8_t> bytes(length + kPadding);
        const bool sparse = random() % 2;
        for (auto &byte : bytes)
            byte = static_cast<uint8_t>(sparse && random() % 4 ? 0 : random());
        std::vector<uint32_t> decoded(kBlockPostings);
        accepted += decode_gaps(GetParam(), bytes.data(), length, count, static_cast<uint8_t>(random()),
                                decoded.data());
    }
    EXPECT_LT(accepted, 200000u);
}

// A sound block with one byte changed is refused, or read as some postings, and never read beyond its end.
TEST_P(Codecs, DamagedBlocks) {
    std::mt19937_64 random(10);
    for (int round = 0; round < 20000; round++) {
        std::vector<uint32_t> gaps(1 + random() % kBlockPostings);
        for (auto &gap : gaps)
            gap = static_cast<uint32_t>(random() >> (32 + random() % 32));
        const auto count = static_cast<uint32_t>(gaps.size());
        std::vector<uint8_t> encoded(kMaxGapBytes);
        uint8_t parameter;
        const uint32_t length =
            encode_gaps(GetParam(), gaps.data(), count, choose_frame_bits(gaps.data(), count), encoded.data(),
                        &parameter);
        std::vector<uint8_t> bytes(encoded.begin(), encoded.begin() + length);
        bytes.resize(length + kPadding);
        if (length > 0)
            bytes[random() % length] ^= static_cast<uint8_t>(1 + random() % 255);
        std::vector<uint32_t> decoded(kBlockPostings);
        decode_gaps(GetParam(), bytes.data(), length, count, parameter, decoded.data());
        decode_gaps(GetParam(), bytes.data(), length, count,
                    static_cast<uint8_t>(parameter ^ (1u << random() % 8)), decoded.data());
    }
}

TEST(Packing, EveryValueAlone) {
    std::mt19937_64 random(11);
    for (uint32_t bits = 0; bits <= 32; bits++) {
        std::vector<uint32_t> values(kBlockPostings);
        for (auto &value : values)
            value = bits == 0 ? 0 : static_cast<uint32_t>(random() >> 32) >> (32 - bits);
        std::vector<uint8_t> bytes(packed_bytes(kBlockPostings, bits) + kPadding);
        pack(values.data(), kBlockPostings, bits, bytes.data());
        for (uint32_t i = 0; i < kBlockPostings; i++)
            ASSERT_EQ(unpack_one(bytes.data(), i, bits), values[i]);
    }
}

TEST(Scores, BoundsAreNotBelowContributions) {
    std::mt19937_64 random(12);
    const auto uniform = [&random](double low, double high) {
        return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
    };
    for (int round = 0; round < 100000; round++) {
        const double k1 = uniform(0, 3);
        const double b = uniform(0, 1);
        const double written_average = uniform(1, 500);
        const double average = uniform(1, 500);
        const Norms written = {k1 * (1 - b), k1 * b / written_average};
        const Norms now = {k1 * (1 - b), k1 * b / average};
        const auto length = static_cast<uint32_t>(random() % 2000);
        const auto frequency = static_cast<uint32_t>(1 + random() % 256);
        const double weight = uniform(1e-6, 30) / kScoreUnit;
        const uint16_t bound = encode_bound(written.of(length) / frequency);
        const double shrink = written.slope > 0 ? std::min(now.slope / written.slope, 1.0) : 1.0;
        ASSERT_GE(bound_contribution(weight, bound, shrink), contribution(weight, now.of(length), frequency));
    }
}

TEST(Scores, EveryMatchCounts) {
    EXPECT_EQ(contribution(1e-3, 1.0, 1), 1);
}
