// Writes inverted lists as sessions do (src/text/run_builder.cpp), for tests and benchmarks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/text/text.h"
#include "gpu_engine/list_blocks.h"

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
    const std::uint64_t offset = section->size();
    const auto take = [section](const std::uint8_t *bytes, std::uint32_t length) {
        section->insert(section->end(), bytes, bytes + length);
    };
    const auto writer = std::make_unique<ListWriter<decltype(take)>>(codec, take);
    for (std::uint32_t i = 0; i < count; ++i) {
        const double least = lengths == nullptr ? 0 : norms.of(lengths[list[i].ordinal]) / list[i].frequency;
        writer->add(list[i].ordinal, list[i].frequency, postings::encode_bound(least));
    }
    TextList named = writer->finish();
    named.offset = offset;
    return named;
}

}  // namespace gpu_engine
