#include "host/text/list.h"

namespace gpu_engine::host {

List::List(const TextParts &parts, const TextList &list)
    : list_(list),
      codec_(parts.shape.codec),
      blocks_(text_blocks(list.documents)),
      last_ordinal_(parts.shape.documents - 1) {
    if (list.documents == 1) {
        last_ordinal_ = list.ordinal;
        return;
    }
    data_ = parts.postings.data() + list.offset;
    data_bytes_ = list.bytes;
    if (blocks_ == 1) {
        if (data_bytes_ < short_list_head) {
            throw Failure{contradicted_by_list()};
        }
        return;
    }
    const std::uint64_t head_bytes = std::uint64_t(blocks_) * sizeof(postings::BlockHead);
    if (data_bytes_ < head_bytes) {
        throw Failure{contradicted_by_list()};
    }
    data_bytes_ -= head_bytes;
    heads_ = data_ + data_bytes_;
    postings::BlockHead before = head(0);
    bool valid = before.offset <= data_bytes_;
    for (std::uint32_t i = 1; i < blocks_; ++i) {
        const postings::BlockHead here = head(i);
        valid = valid && here.last > before.last && here.offset >= before.offset;
        before = here;
    }
    if (!valid || before.last > last_ordinal_ || before.offset > data_bytes_) {
        throw Failure{contradicted_by_list()};
    }
}

std::uint32_t List::find_block(std::uint32_t block, std::uint32_t ordinal) const noexcept {
    // Near blocks are tried first, because callers mostly move forward by little.
    std::uint32_t step = 1;
    std::uint32_t low = block;
    std::uint32_t high = block;
    while (high < blocks_ && last(high) < ordinal) {
        low = high + 1;
        high = blocks_ - high > step ? high + step : blocks_;
        step *= 2;
    }
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (last(middle) < ordinal) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

std::int64_t Cursor::max_between(std::uint32_t first, std::uint32_t end, std::uint32_t *near, double weight,
                                 double shrink) {
    const List &list = *list_;
    *near = list.find_block(*near, first);
    if (*near >= list.blocks()) {
        return 0;
    }
    if (list.blocks() == 1 && !has_loaded()) {
        load(0);
    }
    if (block_ == *near) {
        // The block is decoded, so the postings themselves tell.
        const std::uint32_t place = find(at_, first);
        if (place < count_ ? ordinals_[place] >= end : list.blocks() == 1) {
            return 0;
        }
    }
    std::int64_t most = 0;
    for (std::uint32_t block = *near; block < list.blocks(); ++block) {
        if (block > 0 && list.last(block - 1) + 1 >= end) {
            break;
        }
        most = std::max(most, list.most(block, weight, shrink));
    }
    return most;
}

bool Cursor::load(std::uint32_t block) {
    if (block_ != none && block == block_) {
        at_ = 0;
        return true;
    }
    const List &list = *list_;
    block_ = std::min(block, list.blocks_);
    at_ = 0;
    count_ = 0;
    if (block >= list.blocks_) {
        return false;
    }
    const bool is_short = list.heads_ == nullptr;
    if (list.data_ == nullptr) {
        ordinals_[0] = list.list_.ordinal;
        count_ = 1;
    } else {
        constexpr std::uint32_t a_block = postings::kBlockPostings;
        const postings::BlockHead head =
            is_short ? postings::BlockHead{UINT32_MAX, short_list_head, 0, list.data_[0], list.data_[1]}
                     : list.head(block);
        const std::uint64_t end = block + 1 < list.blocks_ ? list.head(block + 1).offset : list.data_bytes_;
        const std::uint64_t bytes = end - head.offset;
        const std::uint32_t count = std::min(list.list_.documents - block * a_block, a_block);
        const std::uint64_t first = block == 0 ? 0 : std::uint64_t(list.last(block - 1)) + 1;
        frequency_bits_ = head.frequency_bits;
        const std::uint32_t frequency_bytes = postings::packed_bytes(count, frequency_bits_);
        if (bytes > postings::kMaxBlockBytes || frequency_bits_ > 31 || frequency_bytes > bytes) {
            throw Failure{contradicted_by_list()};
        }
        const std::uint8_t *data = list.data_ + head.offset;
        const auto gap_bytes = static_cast<std::uint32_t>(bytes) - frequency_bytes;
        frequencies_ = data + gap_bytes;
        if (!postings::decode_gaps(list.codec_, data, gap_bytes, count, head.parameter, ordinals_) ||
            !postings::add_gaps(ordinals_, count, first) || ordinals_[count - 1] > list.last_ordinal_ ||
            (!is_short && ordinals_[count - 1] != head.last)) {
            throw Failure{contradicted_by_list()};
        }
        count_ = count;
    }
    std::fill_n(ordinals_ + count_, step, UINT32_MAX);
    return true;
}

}  // namespace gpu_engine::host
