// Orders of rows by words.
#pragma once

#include "device/query/program.h"

namespace gpu_engine::query::on_device {

// Rows in an order: place i has row rows()[i]. It is refined from the last key to the first one.
class RowOrder {
  public:
    // Of rows 0 to count - 1.
    RowOrder(const Call &call, std::uint64_t count);
    // Of these rows.
    RowOrder(const Call &call, Buffer<std::uint32_t> rows);

    // Orders rows by a word that each of them has; where these are equal the order so far stays.
    void order_by(const std::uint64_t *words);

    const std::uint32_t *rows() const noexcept { return rows_.data(); }
    std::uint64_t count() const noexcept { return count_; }

  private:
    const Call &call_;
    std::uint64_t count_;
    bool is_as_numbered_;  // place i has row i
    Buffer<std::uint32_t> rows_;
    Buffer<std::uint32_t> other_rows_;
    Buffer<std::uint64_t> keys_;
    Buffer<std::uint64_t> other_keys_;
    Buffer<unsigned long long> differences_;
};

// Rows among which are the first `wanted` ones in an order by these words, whatever else decides among equal
// ones; none where it isn't worth while to find them.
Buffer<std::uint32_t> find_first_rows(const Call &call, const std::uint64_t *words, std::uint64_t count,
                                      std::uint64_t wanted);

// to[i] = from[rows[i]], of elements of `words` words.
void gather_words(const Call &call, const std::uint64_t *from, const std::uint32_t *rows, std::uint64_t count,
                  std::uint32_t words, std::uint64_t *to);

}  // namespace gpu_engine::query::on_device
