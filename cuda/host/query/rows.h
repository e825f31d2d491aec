// Records of a fixed number of words, which grow without being moved.
#pragma once

#include <algorithm>
#include <vector>

#include "gpu_engine/guard.h"
#include "host/buffer.h"

namespace gpu_engine::host {

class QueryRows {
  public:
    // The first piece is small, as there are often few rows.
    static constexpr std::uint32_t first_bits = 6;
    static constexpr std::uint32_t piece_bits = 13;

    QueryRows(MemoryBudget &budget, std::uint32_t words) : budget_(&budget), words_(words) {}

    std::uint32_t words() const noexcept { return words_; }
    std::uint64_t count() const noexcept { return count_; }
    std::uint64_t *record(std::uint64_t i) noexcept {
        return pieces_[i >> piece_bits].data() + (i & (piece_rows - 1)) * words_;
    }
    const std::uint64_t *record(std::uint64_t i) const noexcept {
        return pieces_[i >> piece_bits].data() + (i & (piece_rows - 1)) * words_;
    }

    // Adds a record, whose words mean nothing yet. Throws Failure when there is no memory.
    std::uint64_t *add() {
        if (count_ == capacity_) {
            grow();
        }
        return record(count_++);
    }
    // Adds up to `wanted` records that lie one behind the other; *got of them.
    std::uint64_t *add_some(std::uint64_t wanted, std::uint64_t *got) {
        if (count_ == capacity_) {
            grow();
        }
        *got = std::min(wanted, std::min(capacity_, ((count_ >> piece_bits) + 1) << piece_bits) - count_);
        std::uint64_t *first = record(count_);
        count_ += *got;
        return first;
    }
    void cut(std::uint64_t count) noexcept { count_ = std::min(count_, count); }

    // Calls visit(first record, how many) for spans of records that lie together, which are `most` or
    // less.
    template <typename Visit>
    void for_spans(std::uint64_t first, std::uint64_t end, std::uint64_t most, Visit visit) const {
        for (std::uint64_t i = first; i < end;) {
            const std::uint64_t here = std::min({end - i, most, piece_rows - (i & (piece_rows - 1))});
            visit(record(i), here);
            i += here;
        }
    }

  private:
    static constexpr std::uint64_t piece_rows = std::uint64_t(1) << piece_bits;

    void grow() {
        if (count_ > 0 && count_ < piece_rows) {
            // The only piece becomes larger.
            const std::uint64_t larger = std::min(count_ * 8, piece_rows);
            Buffer<std::uint64_t> piece(*budget_, larger * words_);
            std::copy_n(pieces_[0].data(), count_ * words_, piece.data());
            pieces_[0] = std::move(piece);
            capacity_ = larger;
            return;
        }
        const std::uint64_t rows = count_ == 0 ? std::uint64_t(1) << first_bits : piece_rows;
        pieces_.emplace_back(*budget_, rows * words_);
        capacity_ = count_ + rows;
    }

    MemoryBudget *budget_;
    std::uint32_t words_;
    std::uint64_t count_ = 0;
    std::uint64_t capacity_ = 0;
    std::vector<Buffer<std::uint64_t>> pieces_;
};

// Rows in several parts, as threads made them.
struct RowParts {
    std::vector<QueryRows> parts;

    std::uint64_t count() const noexcept {
        std::uint64_t rows = 0;
        for (const QueryRows &part : parts) {
            rows += part.count();
        }
        return rows;
    }
};

}  // namespace gpu_engine::host
