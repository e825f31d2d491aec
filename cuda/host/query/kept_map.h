// Maps of codes that the host engine keeps between queries.
#pragma once

#include "gpu_engine/query/query.h"
#include "host/buffer.h"

namespace gpu_engine::host {

class HostKeptMap final : public query::KeptMap {
  public:
    // Throws Failure when there is no memory.
    HostKeptMap(MemoryBudget &budget, const query::MapValues &values);

    std::uint64_t bytes() const noexcept override { return values_.bytes() + nulls_.bytes(); }
    // Two words a value, of which the second only repeats the first one's sign.
    bool is_narrow() const noexcept { return is_narrow_; }
    std::uint64_t places() const noexcept { return places_; }
    std::uint32_t words() const noexcept { return words_; }
    const std::uint64_t *values() const noexcept { return values_.data(); }
    const std::uint64_t *nulls() const noexcept { return nulls_.data(); }

  private:
    const std::uint64_t places_;
    const std::uint32_t words_;
    Buffer<std::uint64_t> values_;
    Buffer<std::uint64_t> nulls_;  // empty: none is NULL
    bool is_narrow_;
};

// Do all values of two words have room in one?
bool are_narrow(const std::uint64_t *values, std::uint64_t places);

// Puts the values of a column's kept map, if it has one, in place of those that were given. Throws Failure
// for another engine's, and for one of values of another size.
void take_kept_map(std::uint32_t words, query::RunColumn *column);

}  // namespace gpu_engine::host
