// Entries of a dictionary of strings, whose bytes nobody has looked at before: lengths are checked as they
// are read, and what contradicts itself throws Failure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpu_engine::host {

// A dictionary as a run's pages have it (gpu_engine/column.h).
struct StringArea {
    const std::uint8_t *bytes;
    std::uint64_t byte_count;
    const std::uint64_t *blocks;
    std::uint64_t entries;
};

[[noreturn]] void report_damaged_strings();

// Reads entries from one on, forward, and checks that they ascend.
class EntryCursor {
  public:
    EntryCursor() = default;
    // Stands in front of entry `first`.
    EntryCursor(const StringArea &area, std::uint64_t first);

    // Moves to the next entry, which there must be.
    void next();

    std::uint64_t code() const noexcept { return next_ - 1; }
    std::string_view entry() const noexcept { return entry_; }
    // Returns how many bytes the entry shares with the one before, all of them; 0 for the first one read.
    std::uint64_t shared() const noexcept { return shared_; }

  private:
    void read();

    StringArea area_{};
    std::uint64_t next_ = 0;
    bool is_behind_one_ = false;
    const std::uint8_t *at_ = nullptr;
    const std::uint8_t *end_ = nullptr;  // of the block
    std::uint64_t shared_ = 0;
    std::string entry_;
};

// Returns the first entry of a block, which lies there whole.
std::string_view first_of_block(const StringArea &area, std::uint64_t block);

// This is the first entry that isn't below a string, or the number of entries.
struct FoundEntry {
    std::uint64_t code;
    bool is_equal;  // it is the string itself
};
FoundEntry find_entry(const StringArea &area, std::string_view string);

}  // namespace gpu_engine::host
