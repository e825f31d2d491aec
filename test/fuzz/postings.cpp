#include <memory>
#include <vector>

#include "gpu_engine/list_blocks.h"

#include "targets.h"

namespace fuzz {
namespace {

// What can be read of a list is written as a list of its own, which reads the same.
void list_of_blocks(gpu_engine::postings::Codec codec, const std::vector<std::uint8_t> &padded,
                    std::uint32_t documents) {
    using gpu_engine::ListBlocks;
    namespace lists = gpu_engine::postings;
    const auto blocks = std::make_unique<ListBlocks>();
    if (!blocks->open(codec, padded.data(), padded.size() - lists::kPadding, documents, UINT32_MAX)) {
        return;
    }
    std::vector<std::uint8_t> written;
    const auto take = [&written](const std::uint8_t *bytes, std::uint32_t count) {
        written.insert(written.end(), bytes, bytes + count);
    };
    const auto writer = std::make_unique<gpu_engine::ListWriter<decltype(take)>>(codec, take);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> postings;
    for (std::uint32_t block = 0; block < blocks->blocks() && blocks->decode(block); ++block) {
        for (std::uint32_t i = 0; i < blocks->count(); ++i) {
            require(postings.empty() || postings.back().first < blocks->ordinal(i), "ordinals don't ascend");
            postings.emplace_back(blocks->ordinal(i), blocks->frequency(i));
            writer->add(blocks->ordinal(i), blocks->frequency(i), blocks->bound());
        }
    }
    const gpu_engine::TextList list = writer->finish();
    require(list.documents == postings.size(), "a list has other postings than it was given");
    if (list.documents < 2) {
        return;
    }
    require(list.bytes == written.size(), "a list has other bytes than were written");
    written.resize(written.size() + lists::kPadding);
    require(blocks->open(codec, written.data(), list.bytes, list.documents, UINT32_MAX),
            "a list that was written can't be read");
    std::size_t at = 0;
    for (std::uint32_t block = 0; block < blocks->blocks(); ++block) {
        require(blocks->decode(block), "a block that was written can't be read");
        for (std::uint32_t i = 0; i < blocks->count(); ++i, ++at) {
            require(postings[at] == std::pair(blocks->ordinal(i), blocks->frequency(i)),
                    "a list that was written reads differently");
        }
    }
}

}  // namespace

// First a block is read from the bytes; what can be read is written and read again. Then the bytes are taken
// as gaps, which must survive being written, and as a list.
void postings(const std::uint8_t *data, std::size_t size) {
    namespace lists = gpu_engine::postings;
    Input input(data, size);
    const auto codec = static_cast<lists::Codec>(input.take<std::uint8_t>() % 3);
    const std::uint32_t count = input.take<std::uint8_t>();
    const auto parameter = input.take<std::uint8_t>();
    const auto frame_bits = input.take<std::uint8_t>() % 33U;
    // Of exactly the size it may be read to, so that a sanitizer sees what goes beyond.
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
    list_of_blocks(codec, block, count + 128U * (parameter % 3U));
}

}  // namespace fuzz
