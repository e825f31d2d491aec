// LIKE by the bytes of strings, in encodings where a character is a byte or UTF-8's: in these no character's
// bytes begin within another one's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpu_engine::host {

class LikePattern {
  public:
    // Throws Failure for a pattern that ends with its escape character.
    LikePattern(std::string_view pattern, bool is_utf8);

    bool matches(std::string_view string) const noexcept;

    // Returns whether the pattern is a literal, or one and % behind it: a range of strings matches then.
    bool is_range() const noexcept;
    // Returns the literal of a range.
    std::string_view prefix() const noexcept;
    bool is_open() const noexcept { return ends_anywhere_; }

  private:
    // A piece is a number of characters that may be any, then a literal. A segment stands between two %.
    struct Piece {
        std::uint64_t skipped;
        std::string literal;
    };
    using Segment = std::vector<Piece>;

    bool skip(const char **at, const char *end, std::uint64_t characters) const noexcept;
    bool skip_back(const char *begin, const char **end, std::uint64_t characters) const noexcept;
    // Returns where the segment ends that begins at `at`; nullptr: it isn't there.
    const char *match(const Segment &segment, const char *at, const char *end) const noexcept;
    // Returns where the first one ends that begins at `at` or behind.
    const char *find(const Segment &segment, const char *at, const char *end) const noexcept;
    bool match_back(const Segment &segment, const char *begin, const char *end) const noexcept;

    std::vector<Segment> segments_;
    bool begins_anywhere_ = false;
    bool ends_anywhere_ = false;
    bool is_utf8_;
};

}  // namespace gpu_engine::host
