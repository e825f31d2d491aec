// Writes inverted lists as sessions do (src/text/run_builder.cpp), for tests and benchmarks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/text/text.h"

namespace gpu_engine {

struct TextPosting {
    std::uint32_t ordinal;
    std::uint32_t frequency;
};

// Appends a list to a posting section and names it. Blocks' bounds are written by `norms`; without `lengths`
// they bound nothing.
inline TextList append_text_list(postings::Codec codec, const TextPosting *list, std::uint32_t count,
                                 const postings::Norms &norms, const std::uint32_t *lengths,
                                 std::vector<std::uint8_t> *section) {
    TextList named = {};
    named.offset = section->size();
    named.documents = count;
    if (count == 1) {
        named.ordinal = list[0].ordinal;
        named.frequency = list[0].frequency;
        return named;
    }
    constexpr std::uint32_t frame_sample = 4096;
    std::vector<std::uint32_t> gaps(count);
    std::uint64_t next = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        gaps[i] = static_cast<std::uint32_t>(list[i].ordinal - next);
        next = std::uint64_t(list[i].ordinal) + 1;
    }
    const std::uint32_t frame = postings::choose_frame_bits(gaps.data(), std::min(count, frame_sample));
    std::vector<postings::BlockHead> heads;
    for (std::uint32_t first = 0; first < count; first += postings::kBlockPostings) {
        const std::uint32_t here = std::min(count - first, postings::kBlockPostings);
        std::uint8_t block[postings::kMaxBlockBytes];
        std::uint8_t parameter;
        std::uint32_t length =
            postings::encode_gaps(codec, gaps.data() + first, here, frame, block, &parameter);
        std::uint32_t frequencies[postings::kBlockPostings];
        double least = lengths == nullptr ? 0 : 1e300;
        for (std::uint32_t i = 0; i < here; ++i) {
            const TextPosting &posting = list[first + i];
            frequencies[i] = posting.frequency - 1;
            if (lengths != nullptr) {
                least = std::min(least, norms.of(lengths[posting.ordinal]) / posting.frequency);
            }
        }
        const std::uint32_t bits = postings::widest(frequencies, here);
        if (count <= postings::kBlockPostings) {
            section->push_back(parameter);
            section->push_back(static_cast<std::uint8_t>(bits));
        }
        heads.push_back({list[first + here - 1].ordinal,
                         static_cast<std::uint32_t>(section->size() - named.offset),
                         postings::encode_bound(least), parameter, static_cast<std::uint8_t>(bits)});
        postings::pack(frequencies, here, bits, block + length);
        length += postings::packed_bytes(here, bits);
        section->insert(section->end(), block, block + length);
    }
    if (heads.size() > 1) {
        const auto *bytes = reinterpret_cast<const std::uint8_t *>(heads.data());
        section->insert(section->end(), bytes, bytes + heads.size() * sizeof(postings::BlockHead));
    }
    named.bytes = section->size() - named.offset;
    return named;
}

}  // namespace gpu_engine
