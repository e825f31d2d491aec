// Whole lists decoded in both forms, compared with the gaps that they were made from, and with
// postings::decode_gaps where bytes are damaged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "bench/text/encoder.h"
#include "device/text/damage.h"
#include "device/text/decode_list.cuh"

#include "device_test.h"

namespace gpu_engine::device {
namespace {

using postings::Codec;
constexpr Codec codecs[] = {Codec::Bitpack, Codec::PForDelta, Codec::Rice};
constexpr DecodeForm forms[] = {DecodeForm::warp_a_block, DecodeForm::lane_a_block};

struct Decoded {
    std::vector<std::uint32_t> values;
    bool damaged;
};

// Decodes a list of several blocks, one after the other. Its section must have postings::kPadding bytes more.
Decoded decode_here(Codec codec, const std::vector<std::uint8_t> &section, const TextList &list,
                    std::uint32_t documents) {
    constexpr std::uint32_t a_block = postings::kBlockPostings;
    const std::uint32_t blocks = text_blocks(list.documents);
    const std::uint64_t data_bytes = list.bytes - blocks * sizeof(postings::BlockHead);
    const auto head_of = [&](std::uint32_t block) {
        postings::BlockHead head;
        std::memcpy(&head, section.data() + list.offset + data_bytes + block * sizeof(head), sizeof(head));
        return head;
    };
    Decoded decoded = {std::vector<std::uint32_t>(list.documents), false};
    std::int64_t before = -1;
    for (std::uint32_t block = 0; block < blocks; ++block) {
        const postings::BlockHead head = head_of(block);
        const std::uint64_t end = block + 1 < blocks ? head_of(block + 1).offset : data_bytes;
        const std::uint32_t count = std::min(list.documents - block * a_block, a_block);
        const std::uint32_t frequency_bytes =
            head.frequency_bits < 32 ? postings::packed_bytes(count, head.frequency_bits) : UINT32_MAX;
        std::uint32_t *values = decoded.values.data() + block * a_block;
        bool valid = end >= head.offset && end <= data_bytes &&
                     end - head.offset <= postings::kMaxBlockBytes && frequency_bytes <= end - head.offset &&
                     head.last < documents && head.last > before;
        valid =
            valid && postings::decode_gaps(codec, section.data() + list.offset + head.offset,
                                           static_cast<std::uint32_t>(end - head.offset) - frequency_bytes,
                                           count, head.parameter, values);
        std::int64_t ordinal = before;
        for (std::uint32_t i = 0; valid && i < count; ++i) {
            ordinal += std::int64_t{1} + values[i];
            valid = ordinal <= head.last;
            values[i] = static_cast<std::uint32_t>(ordinal);
        }
        if (!valid || ordinal != head.last) {
            decoded.damaged = true;
            return decoded;
        }
        before = head.last;
    }
    return decoded;
}

class DecodedLists : public DeviceTest {
  protected:
    Decoded decode(Codec codec, const std::vector<std::uint8_t> &section, const TextList &list,
                   std::uint32_t documents, DecodeForm form, bool sums) {
        const Call call(*engine_, *stream_);
        const Buffer<char> bytes = call.buffer<char>(section.size() + posting_padding);
        call.copy(bytes.data(), reinterpret_cast<const char *>(section.data()), section.size());
        const TextView view = {reinterpret_cast<const std::uint32_t *>(bytes.data()),
                               nullptr,
                               nullptr,
                               nullptr,
                               documents,
                               codec,
                               {}};
        const ListView lying = view_of({section.size(), documents, codec}, list);
        const Buffer<std::uint32_t> out = call.buffer<std::uint32_t>(list.documents);
        const Buffer<std::uint32_t> damaged = call.buffer<std::uint32_t>(1);
        call.fill(out.data(), 0, out.bytes());
        call.fill(damaged.data(), 0, damaged.bytes());
        if (sums) {
            decode_list(call, view, lying, out.data(), damaged.data(), form);
        } else {
            whole_lists::launch_decode<false>(call, view, lying, out.data(), damaged.data(), form);
        }
        Decoded decoded = {std::vector<std::uint32_t>(list.documents), false};
        std::uint32_t found = 0;
        call.copy(decoded.values.data(), static_cast<const std::uint32_t *>(out.data()), list.documents);
        call.copy(&found, static_cast<const std::uint32_t *>(damaged.data()), 1);
        call.wait();
        decoded.damaged = found != 0;
        return decoded;
    }

    // Makes gaps about a mean that changes, and now and then far longer ones, for which exceptions are
    // nested.
    std::vector<TextPosting> make_list(std::uint32_t count, std::uint32_t max_bits, std::uint32_t burst) {
        std::vector<TextPosting> list;
        std::uint64_t next = 0;
        std::uint32_t bits = 0;
        while (list.size() < count) {
            if (list.size() % burst == 0) {
                bits = static_cast<std::uint32_t>(random_() % (max_bits + 1));
            }
            const auto longer = static_cast<std::uint32_t>(random_() % 16 == 0 ? random_() % 8 : 0);
            const std::uint64_t at = next + (random_() & ((std::uint64_t{1} << (bits + longer)) - 1));
            if (at >= UINT32_MAX) {
                break;
            }
            list.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(1 + random_() % 3)});
            next = at + 1;
        }
        return list;
    }

    std::mt19937 random_{17};
};

TEST_F(DecodedLists, AreWhatWasEncoded) {
    for (const Codec codec : codecs) {
        for (const std::uint32_t count : {2U, 127U, 128U, 129U, 4096U, 4097U, 5000U, 100000U}) {
            for (const std::uint32_t max_bits : {0U, 3U, 9U, 15U, 23U}) {
                for (const std::uint32_t burst : {1U, 13U, 64U, 1000U}) {
                    const std::vector<TextPosting> list = make_list(count, max_bits, burst);
                    // Lists may begin at any byte.
                    std::vector<std::uint8_t> section(random_() % 16);
                    const TextList named =
                        append_text_list(codec, list.data(), static_cast<std::uint32_t>(list.size()), {1, 1},
                                         nullptr, &section);
                    const std::uint32_t documents = list.back().ordinal + 1;
                    for (const DecodeForm form : forms) {
                        const Decoded ordinals = decode(codec, section, named, documents, form, true);
                        const Decoded gaps = decode(codec, section, named, documents, form, false);
                        ASSERT_FALSE(ordinals.damaged || gaps.damaged) << count << ' ' << max_bits;
                        for (std::size_t i = 0; i < list.size(); ++i) {
                            const std::uint32_t before = i > 0 ? list[i - 1].ordinal + 1 : 0;
                            ASSERT_EQ(ordinals.values[i], list[i].ordinal) << i << " of " << count;
                            ASSERT_EQ(gaps.values[i], list[i].ordinal - before) << i << " of " << count;
                        }
                    }
                }
            }
        }
    }
}

TEST_F(DecodedLists, FindDamage) {
    int damaged = 0;
    int valid = 0;
    for (int round = 0; round < 600; ++round) {
        const Codec codec = round % 6 < 4 ? Codec::PForDelta : codecs[round % 3];
        const std::vector<TextPosting> list =
            make_list(9000, static_cast<std::uint32_t>(3 + random_() % 8), 64);
        std::vector<std::uint8_t> section(random_() % 16);
        const TextList named = append_text_list(codec, list.data(), static_cast<std::uint32_t>(list.size()),
                                                {1, 1}, nullptr, &section);
        const std::uint32_t documents = list.back().ordinal + 1;
        const std::size_t heads = text_blocks(named.documents) * sizeof(postings::BlockHead);
        const std::size_t begin = round % 4 == 0 ? section.size() - heads : named.offset;
        const std::size_t changes = round % 16 == 15 ? section.size() : 1 + random_() % 3;
        for (std::size_t i = 0; i < changes; ++i) {
            std::uint8_t &byte = section[begin + random_() % (section.size() - begin)];
            byte = static_cast<std::uint8_t>(round % 2 == 0 ? random_() : byte ^ 1U << random_() % 8);
        }
        std::vector<std::uint8_t> padded = section;
        padded.resize(section.size() + postings::kPadding);
        const Decoded right = decode_here(codec, padded, named, documents);
        for (const DecodeForm form : forms) {
            const Decoded found = decode(codec, section, named, documents, form, true);
            ASSERT_EQ(found.damaged, right.damaged) << "round " << round;
            if (!right.damaged) {
                ASSERT_EQ(found.values, right.values) << "round " << round;
            }
        }
        (right.damaged ? damaged : valid)++;
    }
    EXPECT_GT(damaged, 0);
    EXPECT_GT(valid, 0);
}

}  // namespace
}  // namespace gpu_engine::device
