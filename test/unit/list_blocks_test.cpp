// Lists that are written and read a block at a time.
#include <gtest/gtest.h>

#include <random>

#include "common/text/encoder.h"

namespace {

using namespace gpu_engine;
using Bytes = std::vector<std::uint8_t>;

std::vector<TextPosting> make_list(std::uint32_t count, std::uint32_t gap, std::mt19937_64 &random) {
    std::vector<TextPosting> list;
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto ordinal =
            static_cast<std::uint32_t>(next + random() % (random() % 60 == 0 ? 50 * gap : gap));
        const auto frequency = static_cast<std::uint32_t>(1 + (random() % 9 == 0 ? random() % 900 : 0));
        list.push_back({ordinal, frequency});
        next = ordinal + 1;
    }
    return list;
}

Bytes with_padding(Bytes bytes) {
    bytes.resize(bytes.size() + postings::kPadding, 0x5a);
    return bytes;
}

class Blocks : public testing::TestWithParam<postings::Codec> {};

TEST_P(Blocks, ReadWhatIsWritten) {
    std::mt19937_64 random(20261128);
    for (const std::uint32_t count :
         {2U, 3U, 127U, 128U, 129U, 256U, 257U, 4095U, 4096U, 4097U, 4224U, 4225U, 20000U}) {
        for (const std::uint32_t gap : {1U, 2U, 900U}) {
            SCOPED_TRACE(std::to_string(count) + " of every " + std::to_string(gap));
            const std::vector<TextPosting> list = make_list(count, gap, random);
            std::vector<std::uint32_t> lengths(list.back().ordinal + 1);
            for (std::uint32_t &length : lengths) {
                length = static_cast<std::uint32_t>(1 + random() % 200);
            }
            const postings::Norms norms = {0.3, 0.02};
            Bytes section(5, 0xee);
            const TextList named =
                append_text_list(GetParam(), list.data(), count, norms, lengths.data(), &section);
            ASSERT_EQ(named.offset, 5U);
            ASSERT_EQ(named.documents, count);
            ASSERT_EQ(named.bytes, section.size() - 5);
            const Bytes bytes = with_padding(section);
            ListBlocks blocks;
            ASSERT_TRUE(
                blocks.open(GetParam(), bytes.data() + 5, named.bytes, count, list.back().ordinal + 1));
            ASSERT_EQ(blocks.blocks(), (count + 127) / 128);
            std::uint32_t at = 0;
            for (std::uint32_t block = 0; block < blocks.blocks(); ++block) {
                ASSERT_EQ(blocks.find(list[at].ordinal), block);
                ASSERT_TRUE(blocks.decode(block));
                const double bound = std::bit_cast<float>(std::uint32_t{blocks.bound()} << 16);
                double least = 1e300;
                for (std::uint32_t i = 0; i < blocks.count(); ++i, ++at) {
                    ASSERT_EQ(blocks.ordinal(i), list[at].ordinal);
                    ASSERT_EQ(blocks.frequency(i), list[at].frequency);
                    least = std::min(least, norms.of(lengths[list[at].ordinal]) / list[at].frequency);
                }
                EXPECT_LE(bound, least);
                if (blocks.blocks() > 1) {
                    EXPECT_GT(bound, least * 0.99) << "it is near";
                }
            }
            ASSERT_EQ(at, count);
            EXPECT_EQ(blocks.find(list.back().ordinal + 1), blocks.blocks() == 1 ? 0U : blocks.blocks());
            // The last ordinal is beyond the run's.
            EXPECT_FALSE(blocks.open(GetParam(), bytes.data() + 5, named.bytes, count, list.back().ordinal) &&
                         blocks.decode(blocks.blocks() - 1));
        }
    }
}

TEST_P(Blocks, OneWriterWritesOneListAfterTheOther) {
    std::mt19937_64 random(7);
    Bytes together;
    Bytes alone;
    const auto take = [&together](const std::uint8_t *bytes, std::uint32_t count) {
        together.insert(together.end(), bytes, bytes + count);
    };
    const auto writer = std::make_unique<ListWriter<decltype(take)>>(GetParam(), take);
    for (const std::uint32_t count : {5000U, 1U, 2U, 0U, 128U, 129U, 9000U, 40U}) {
        const std::vector<TextPosting> list = make_list(count, 30, random);
        for (const TextPosting &posting : list) {
            writer->add(posting.ordinal, posting.frequency, 0);
        }
        const TextList own = writer->finish();
        const TextList named = append_text_list(GetParam(), list.data(), count, {1, 1}, nullptr, &alone);
        EXPECT_EQ(own.documents, count);
        EXPECT_EQ(own.bytes, named.bytes);
        EXPECT_EQ(own.ordinal, count == 1 ? list[0].ordinal : 0);
        EXPECT_EQ(own.frequency, count == 1 ? list[0].frequency : 0);
        ASSERT_EQ(together, alone);
    }
}

// Bounds that are no numbers bound nothing.
TEST_P(Blocks, OddBoundsAreNone) {
    std::mt19937_64 random(8);
    const std::vector<TextPosting> list = make_list(300, 3, random);
    for (const std::uint16_t odd : {0x7fc0, 0xffff, 0x8000, 0xbf80, 0}) {
        Bytes section;
        const TextList named = append_text_list(GetParam(), list.data(), 300, {1, 1}, nullptr, &section);
        postings::BlockHead head;
        std::uint8_t *at = section.data() + named.bytes - 2 * sizeof(head);
        std::memcpy(&head, at, sizeof(head));
        head.bound = odd;
        std::memcpy(at, &head, sizeof(head));
        const Bytes bytes = with_padding(section);
        ListBlocks blocks;
        ASSERT_TRUE(blocks.open(GetParam(), bytes.data(), named.bytes, 300, UINT32_MAX));
        ASSERT_TRUE(blocks.decode(1));
        EXPECT_EQ(blocks.bound(), 0U) << odd;
    }
}

TEST_P(Blocks, SurviveAnyBytes) {
    std::mt19937_64 random(9);
    for (int round = 0; round < 20000; ++round) {
        const auto count = static_cast<std::uint32_t>(2 + random() % 600);
        const std::vector<TextPosting> list = make_list(count, 10, random);
        Bytes section;
        TextList named = append_text_list(GetParam(), list.data(), count, {1, 1}, nullptr, &section);
        for (int i = 0; i < 4; ++i) {
            section[random() % section.size()] ^= static_cast<std::uint8_t>(1 << random() % 8);
        }
        named.bytes = random() % 4 == 0 ? random() % (named.bytes + 1) : named.bytes;
        named.documents = random() % 8 == 0 ? static_cast<std::uint32_t>(random()) : named.documents;
        // Of memory of its own, so that the sanitizers see what is read behind it.
        section.resize(named.bytes);
        const Bytes bytes = with_padding(section);
        ListBlocks blocks;
        if (!blocks.open(GetParam(), bytes.data(), named.bytes, named.documents, 1 << 20)) {
            continue;
        }
        for (std::uint32_t block = 0; block < blocks.blocks() && blocks.decode(block); ++block) {
            std::uint64_t next = 0;
            for (std::uint32_t i = 0; i < blocks.count(); ++i) {
                ASSERT_GE(blocks.ordinal(i), next);
                next = std::uint64_t(blocks.ordinal(i)) + 1;
                ASSERT_GE(blocks.frequency(i), 1U);
            }
            ASSERT_LE(next, 1U << 20);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Codecs, Blocks,
                         testing::Values(postings::Codec::Bitpack, postings::Codec::PForDelta,
                                         postings::Codec::Rice));

}  // namespace
