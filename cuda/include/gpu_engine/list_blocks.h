// Inverted lists as they lie in a posting section: read a block at a time, and written. Whoever divides a run
// reads lists and writes parts of them.
//
// A list of one block begins with the block's parameter and its frequencies' width, a byte each, and the
// block follows. A longer list has its blocks first, and then their heads.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gpu_engine/postings.h"
#include "gpu_engine/text.h"

namespace gpu_engine {

// A list that is read. Its bytes aren't trusted.
class ListBlocks {
  public:
    // `data` has the list's bytes, and postings::kPadding more that may be read; `documents` is how many
    // postings it has, at least 2, and all of their ordinals are below `end`. Returns false for what no
    // encoder writes.
    bool open(postings::Codec codec, const std::uint8_t *data, std::uint64_t bytes, std::uint32_t documents,
              std::uint32_t end) noexcept {
        codec_ = codec;
        data_ = data;
        data_bytes_ = bytes;
        documents_ = documents;
        end_ = end;
        blocks_ = documents / postings::kBlockPostings + (documents % postings::kBlockPostings != 0 ? 1 : 0);
        heads_ = nullptr;
        if (blocks_ <= 1) {
            return documents > 0 && bytes >= short_head;
        }
        const std::uint64_t head_bytes = std::uint64_t(blocks_) * sizeof(postings::BlockHead);
        if (bytes < head_bytes) {
            return false;
        }
        data_bytes_ -= head_bytes;
        heads_ = data + data_bytes_;
        postings::BlockHead before = head(0);
        bool sound = before.offset <= data_bytes_;
        for (std::uint32_t i = 1; i < blocks_; ++i) {
            const postings::BlockHead here = head(i);
            sound = sound && here.last > before.last && here.offset >= before.offset;
            before = here;
        }
        return sound && before.last < end && before.offset <= data_bytes_;
    }

    std::uint32_t blocks() const noexcept { return blocks_; }
    // The first block that reaches the ordinal, blocks() when there is none. That of a list of one block may
    // not reach it.
    std::uint32_t find(std::uint32_t ordinal) const noexcept {
        std::uint32_t low = 0;
        std::uint32_t high = heads_ == nullptr ? 0 : blocks_;
        while (low < high) {
            const std::uint32_t middle = low + (high - low) / 2;
            if (head(middle).last < ordinal) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
    // Returns false when the block contradicts itself. What follows is of the block decoded last.
    bool decode(std::uint32_t block) noexcept {
        const postings::BlockHead here =
            heads_ == nullptr ? postings::BlockHead{0, short_head, 0, data_[0], data_[1]} : head(block);
        const std::uint64_t end = block + 1 < blocks_ ? head(block + 1).offset : data_bytes_;
        const std::uint64_t bytes = end - here.offset;
        const std::uint64_t first = block == 0 ? 0 : std::uint64_t(head(block - 1).last) + 1;
        count_ =
            std::min(documents_ - block * postings::kBlockPostings, std::uint32_t(postings::kBlockPostings));
        bound_ = here.bound;
        frequency_bits_ = here.frequency_bits;
        const std::uint32_t frequency_bytes = postings::packed_bytes(count_, frequency_bits_);
        if (bytes > postings::kMaxBlockBytes || frequency_bits_ > 31 || frequency_bytes > bytes) {
            return false;
        }
        const auto gap_bytes = static_cast<std::uint32_t>(bytes) - frequency_bytes;
        frequencies_ = data_ + here.offset + gap_bytes;
        return postings::decode_gaps(codec_, data_ + here.offset, gap_bytes, count_, here.parameter,
                                     ordinals_) &&
               postings::add_gaps(ordinals_, count_, first) && ordinals_[count_ - 1] < end_ &&
               (heads_ == nullptr || ordinals_[count_ - 1] == here.last);
    }
    std::uint32_t count() const noexcept { return count_; }
    std::uint32_t ordinal(std::uint32_t at) const noexcept { return ordinals_[at]; }
    std::uint32_t frequency(std::uint32_t at) const noexcept {
        return postings::unpack_one(frequencies_, at, frequency_bits_) + 1;
    }
    // A bound that stands for a number, also where the block has none: 0, which bounds nothing.
    std::uint16_t bound() const noexcept {
        const float value = std::bit_cast<float>(std::uint32_t{bound_} << 16);
        return heads_ != nullptr && value > 0 ? bound_ : std::uint16_t{0};
    }

  private:
    static constexpr std::uint32_t short_head = 2;

    postings::BlockHead head(std::uint32_t block) const noexcept {
        postings::BlockHead head;
        std::memcpy(&head, heads_ + std::uint64_t(block) * sizeof(head), sizeof(head));
        return head;
    }

    postings::Codec codec_ = postings::Codec::Bitpack;
    const std::uint8_t *data_ = nullptr;
    std::uint64_t data_bytes_ = 0;         // without the heads behind them
    const std::uint8_t *heads_ = nullptr;  // null where there is one block
    std::uint32_t documents_ = 0;
    std::uint32_t end_ = 0;
    std::uint32_t blocks_ = 0;
    std::uint32_t count_ = 0;
    std::uint16_t bound_ = 0;
    std::uint32_t frequency_bits_ = 0;
    const std::uint8_t *frequencies_ = nullptr;
    std::uint32_t ordinals_[postings::kBlockPostings];
};

// Writes lists, one after the other. `take(bytes, count)` gets what is written, in order.
template <typename Take>
class ListWriter {
  public:
    ListWriter(postings::Codec codec, Take take) : codec_(codec), take_(take) {}

    // Ordinals ascend. The bound is at most the posting's norm / frequency, as encode_bound has it.
    void add(std::uint32_t ordinal, std::uint32_t frequency, std::uint16_t bound) {
        ordinals_[pending_] = ordinal;
        frequencies_[pending_] = frequency - 1;
        bounds_[pending_] = bound;
        ++pending_;
        if (pending_ == (has_frame_ ? postings::kBlockPostings : frame_sample)) {
            write_pending();
        }
    }
    // Ends the list, and begins the next one. Without postings there is no list, and one is named by itself.
    // Else its bytes have been taken; its offset is the caller's to say. Bytes of blocks beyond 32 bits can't
    // be named: such a list has no bytes.
    TextList finish() {
        TextList list = {};
        list.documents = documents_ + pending_;
        if (list.documents == 1) {
            list.ordinal = ordinals_[0];
            list.frequency = frequencies_[0] + 1;
        } else if (list.documents > 1) {
            is_short_ = list.documents <= postings::kBlockPostings;
            write_pending();
            if (heads_.size() > 1) {
                take_(reinterpret_cast<const std::uint8_t *>(heads_.data()),
                      static_cast<std::uint32_t>(heads_.size() * sizeof(postings::BlockHead)));
                written_ += heads_.size() * sizeof(postings::BlockHead);
            }
            list.bytes = heads_.back().offset == last_offset_ ? written_ : 0;
        }
        heads_.clear();
        pending_ = 0;
        documents_ = 0;
        next_ = 0;
        written_ = 0;
        last_offset_ = 0;
        has_frame_ = false;
        is_short_ = false;
        return list;
    }

  private:
    // The codec's parameter of the whole list is chosen from so many postings.
    static constexpr std::uint32_t frame_sample = 4096;
    static_assert(frame_sample % postings::kBlockPostings == 0);

    void write_pending() {
        std::uint64_t next = next_;
        for (std::uint32_t i = 0; i < pending_; ++i) {
            gaps_[i] = static_cast<std::uint32_t>(ordinals_[i] - next);
            next = std::uint64_t(ordinals_[i]) + 1;
        }
        next_ = next;
        if (!has_frame_) {
            // To choose takes as long as to write a short list.
            frame_ = codec_ == postings::Codec::PForDelta ? postings::choose_frame_bits(gaps_, pending_) : 0;
            has_frame_ = true;
        }
        for (std::uint32_t first = 0; first < pending_; first += postings::kBlockPostings) {
            write_block(first, std::min(pending_ - first, std::uint32_t(postings::kBlockPostings)));
        }
        documents_ += pending_;
        pending_ = 0;
    }
    void write_block(std::uint32_t first, std::uint32_t count) {
        std::uint8_t block[short_head + postings::kMaxBlockBytes];
        std::uint8_t *out = block + short_head;
        std::uint8_t parameter = 0;
        std::uint32_t length = postings::encode_gaps(codec_, gaps_ + first, count, frame_, out, &parameter);
        const std::uint32_t bits = postings::widest(frequencies_ + first, count);
        postings::pack(frequencies_ + first, count, bits, out + length);
        length += postings::packed_bytes(count, bits);
        if (is_short_) {
            block[0] = parameter;
            block[1] = static_cast<std::uint8_t>(bits);
            take_(block, short_head + length);
            written_ += short_head;
        } else {
            take_(out, length);
        }
        last_offset_ = is_short_ ? short_head : written_;
        heads_.push_back({ordinals_[first + count - 1], static_cast<std::uint32_t>(last_offset_),
                          *std::min_element(bounds_ + first, bounds_ + first + count), parameter,
                          static_cast<std::uint8_t>(bits)});
        written_ += length;
    }

    static constexpr std::uint32_t short_head = 2;

    const postings::Codec codec_;
    Take take_;
    std::uint32_t pending_ = 0;
    std::uint32_t documents_ = 0;  // before those that are pending
    std::uint64_t next_ = 0;       // the least ordinal that may follow
    std::uint64_t written_ = 0;
    std::uint64_t last_offset_ = 0;
    std::uint32_t frame_ = 0;
    bool has_frame_ = false;
    bool is_short_ = false;
    std::vector<postings::BlockHead> heads_;
    std::uint32_t ordinals_[frame_sample];
    std::uint32_t gaps_[frame_sample];
    std::uint32_t frequencies_[frame_sample];
    std::uint16_t bounds_[frame_sample];
};

}  // namespace gpu_engine
