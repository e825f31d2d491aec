#include <vector>

#include "gpu_engine/postings.h"

#include "targets.h"

namespace fuzz {

// First a block is read from the bytes; what can be read is written and read again. Then the bytes are taken
// as gaps, which must survive being written.
void postings(const std::uint8_t *data, std::size_t size) {
    namespace lists = gpu_engine::postings;
    Input input(data, size);
    const auto codec = static_cast<lists::Codec>(input.take<std::uint8_t>() % 3);
    const std::uint32_t count = input.take<std::uint8_t>();
    const auto parameter = input.take<std::uint8_t>();
    const auto frame_bits = input.take<std::uint8_t>() % 33U;
    // The block has exactly the size that it may be read to, so that a sanitizer sees reads beyond it.
    std::vector<std::uint8_t> block(input.left() + lists::kPadding);
    const auto bytes = static_cast<std::uint32_t>(input.take_bytes(block.data(), input.left()));

    std::vector<std::uint32_t> gaps(lists::kBlockPostings);
    std::vector<std::uint8_t> written(lists::kMaxGapBytes + lists::kPadding);
    const auto survives = [&](const std::vector<std::uint32_t> &values, std::uint32_t values_count) {
        std::uint8_t its_parameter = 0;
        const std::uint32_t its_bytes = lists::encode_gaps(codec, values.data(), values_count, frame_bits,
                                                           written.data(), &its_parameter);
        require(its_bytes <= lists::kMaxGapBytes, "a block takes more bytes than it may");
        std::vector<std::uint32_t> read(lists::kBlockPostings);
        require(
            lists::decode_gaps(codec, written.data(), its_bytes, values_count, its_parameter, read.data()),
            "what was written can't be read");
        require(std::memcmp(read.data(), values.data(), values_count * sizeof(std::uint32_t)) == 0,
                "what was written reads differently");
    };
    if (lists::decode_gaps(codec, block.data(), bytes, count, parameter, gaps.data())) {
        survives(gaps, count);
        std::vector<std::uint32_t> ordinals = gaps;
        if (lists::add_gaps(ordinals.data(), count, parameter)) {
            for (std::uint32_t i = 1; i < count; ++i) {
                require(ordinals[i - 1] < ordinals[i], "ordinals don't ascend");
            }
        }
    }
    const std::uint32_t own =
        bytes / 4 < lists::kBlockPostings ? bytes / 4 : static_cast<std::uint32_t>(lists::kBlockPostings);
    if (own > 0) {
        std::memcpy(gaps.data(), block.data(), own * sizeof(std::uint32_t));
        survives(gaps, own);
    }
}

}  // namespace fuzz
