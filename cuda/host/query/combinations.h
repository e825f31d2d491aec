// Rows of a run that have the same codes in all columns that a query takes are the same to it. Where there
// are far fewer combinations of codes than rows, rows are only counted, and each combination is computed
// once.
#pragma once

#include <vector>

#include "host/query/scan.h"

namespace gpu_engine::host {

// Each combination has a place: the columns' codes as the digits of a number. NULL is a code behind the
// others.
class Combinations {
  public:
    // Of these columns of a scan.
    Combinations(const RunReader &reader, const std::vector<std::uint32_t> &columns);

    // Is it worth it? Else the object is good for nothing.
    bool are_few() const noexcept { return are_few_; }
    std::uint32_t places() const noexcept { return places_; }

    // The code that a place has for a column of the run, or how many codes that has: NULL.
    std::uint32_t code_at(std::uint32_t column, std::uint32_t place) const noexcept {
        const Digit &digit = digits_[digit_of_[column]];
        return place / digit.factor % (digit.codes + 1);
    }
    std::uint32_t codes_of(std::uint32_t column) const noexcept { return digits_[digit_of_[column]].codes; }

  private:
    friend class CombinationCounter;
    struct Digit {
        std::uint32_t column;  // of the run
        std::uint32_t codes;
        std::uint32_t factor;
        std::uint32_t bits;
        const std::uint64_t *words;  // packed codes
        const std::uint64_t *nulls;  // a bit a row; may be null
    };

    bool add(const RunReader &reader, std::uint32_t column);

    std::vector<Digit> digits_;
    std::vector<std::uint32_t> digit_of_;  // by column of the scan
    std::uint32_t places_ = 1;
    bool are_few_ = true;
};

// How many rows have each combination; a thread's.
class CombinationCounter {
  public:
    CombinationCounter(MemoryBudget &budget, const Combinations &combinations);

    // The selected rows of some groups of the run: no more than a tile has.
    void add(std::uint64_t first, std::uint32_t groups, const std::uint64_t *selected) noexcept;
    void add_to(std::uint32_t *counts) const noexcept;

  private:
    // Additions to the same place wait for each other, so of few places there are several.
    static constexpr std::uint32_t lanes = 4;
    static constexpr std::uint32_t places_in_lanes = 1024;

    void add_digit(const Combinations::Digit &digit, std::uint64_t first, std::uint32_t groups,
                   const std::uint64_t *selected, bool is_first) noexcept;

    const Combinations &combinations_;
    std::uint32_t lanes_;
    Buffer<std::uint32_t> counts_;
    std::uint32_t codes_[query_tile_rows];
    std::uint32_t places_[query_tile_rows];
};

}  // namespace gpu_engine::host
