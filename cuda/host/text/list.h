// Reading inverted lists in the host's memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "common/text/text.h"
#include "gpu_engine/guard.h"
#include "host/text/index.h"

namespace gpu_engine::host {

// A list whose heads have been checked. Throws Failure when they contradict themselves.
class List {
  public:
    List(const TextParts &parts, const TextList &list);

    std::uint32_t documents() const noexcept { return list_.documents; }
    std::uint32_t blocks() const noexcept { return blocks_; }
    // Returns the last ordinal of a block. That of a list of one block is known once it has been decoded;
    // until then this is the highest that there can be.
    std::uint32_t last(std::uint32_t block) const noexcept {
        return heads_ == nullptr ? last_ordinal_ : head(block).last;
    }
    // Returns the first block from `block` on that reaches the ordinal; blocks() when there is none.
    std::uint32_t find_block(std::uint32_t block, std::uint32_t ordinal) const noexcept;
    // Returns the most a posting of the block contributes.
    std::int64_t most(std::uint32_t block, double weight, double shrink) const noexcept {
        if (shrink < 0 || heads_ == nullptr) {
            return static_cast<std::int64_t>(weight) + 2;
        }
        return postings::bound_contribution(weight, head(block).bound, shrink);
    }

  private:
    friend class Cursor;

    postings::BlockHead head(std::uint32_t block) const noexcept {
        postings::BlockHead head;
        std::memcpy(&head, heads_ + std::uint64_t(block) * sizeof(head), sizeof(head));
        return head;
    }

    TextList list_;
    postings::Codec codec_;
    std::uint32_t blocks_;
    std::uint32_t last_ordinal_;
    const std::uint8_t *data_ = nullptr;   // null where the posting is the caller's
    std::uint64_t data_bytes_ = 0;         // without the heads behind them
    const std::uint8_t *heads_ = nullptr;  // null where there is one block
};

// A list's postings, read forward a block at a time.
class Cursor {
  public:
    explicit Cursor(const List &list) : list_(&list) {}

    const List &list() const noexcept { return *list_; }
    bool at_end() const noexcept { return block_ >= list_->blocks(); }
    std::uint32_t block() const noexcept { return block_; }
    bool has_loaded() const noexcept { return block_ != none; }
    std::uint32_t count() const noexcept { return count_; }
    std::uint32_t at() const noexcept { return at_; }
    std::uint32_t ordinal(std::uint32_t at) const noexcept { return ordinals_[at]; }
    const std::uint32_t *ordinals() const noexcept { return ordinals_; }
    std::uint32_t ordinal() const noexcept { return ordinals_[at_]; }
    std::uint32_t frequency(std::uint32_t at) const noexcept {
        return frequencies_ == nullptr ? list_->list_.frequency
                                       : postings::unpack_one(frequencies_, at, frequency_bits_) + 1;
    }
    void move_to(std::uint32_t at) noexcept { at_ = at; }

    // Decodes a block and stands at its first posting. Returns false behind the last block. Throws Failure
    // when the block contradicts itself.
    bool load(std::uint32_t block);
    // Moves forward to the first posting that isn't below the ordinal. Returns false when there is none.
    bool seek(std::uint32_t ordinal) {
        if (block_ == none || (block_ < list_->blocks() && ordinals_[count_ - 1] < ordinal)) {
            if (!load(list_->find_block(block_ == none ? 0 : block_ + 1, ordinal))) {
                return false;
            }
        } else if (at_end()) {
            return false;
        }
        at_ = find(at_, ordinal);
        // All postings can be below only in a list of one block.
        return at_ < count_ || load(block_ + 1);
    }
    // The place of the block's first posting from `at` on that isn't below the ordinal; count() when there is
    // none.
    std::uint32_t find(std::uint32_t at, std::uint32_t ordinal) const noexcept {
        for (;;) {
            std::uint32_t below = 0;
            for (std::uint32_t i = 0; i < step; ++i) {
                below += ordinals_[at + i] < ordinal ? 1 : 0;
            }
            at += below;
            if (below < step) {
                return at;
            }
        }
    }

    // Returns the most that a posting of a document from `first` to below `end` contributes; 0 when there is
    // none. *near is a block of before, none of which reaches `first`, and becomes the first that does.
    std::int64_t max_between(std::uint32_t first, std::uint32_t end, std::uint32_t *near, double weight,
                             double shrink);

  private:
    static constexpr std::uint32_t none = UINT32_MAX;
    // Behind a block's ordinals stand so many of the highest ordinal, which no document has.
    static constexpr std::uint32_t step = 8;

    const List *list_;
    std::uint32_t block_ = none;
    std::uint32_t count_ = 0;
    std::uint32_t at_ = 0;
    const std::uint8_t *frequencies_ = nullptr;
    std::uint32_t frequency_bits_ = 0;
    std::uint32_t ordinals_[postings::kBlockPostings + step];
};

// Calls visit(place) for the block's places of postings of documents from `first` to below `end`. The
// cursor goes forward.
template <typename Visit>
void visit_between(Cursor *cursor, std::uint32_t first, std::uint32_t end, Visit visit) {
    for (bool more = cursor->seek(first); more && cursor->ordinal() < end;
         more = cursor->load(cursor->block() + 1)) {
        std::uint32_t at = cursor->at();
        for (; at < cursor->count() && cursor->ordinal(at) < end; ++at) {
            visit(at);
        }
        cursor->move_to(std::min(at, cursor->count() - 1));
        if (at < cursor->count()) {
            break;
        }
    }
}

// The number of documents that are gone through at a time.
inline constexpr std::uint32_t window_documents = 2048;

}  // namespace gpu_engine::host
