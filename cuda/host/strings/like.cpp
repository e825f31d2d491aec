#include "host/strings/like.h"

#include <cstring>

#include "gpu_engine/find_literal.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::host {
namespace {

bool is_within_character(char byte) noexcept {
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

bool begins_with(const char *at, const char *end, const std::string &literal) noexcept {
    return static_cast<std::size_t>(end - at) >= literal.size() &&
           std::memcmp(at, literal.data(), literal.size()) == 0;
}

}  // namespace

LikePattern::LikePattern(std::string_view pattern, bool is_utf8) : is_utf8_(is_utf8) {
    Segment segment;
    const auto literal_piece = [&segment]() -> std::string & {
        if (segment.empty()) {
            segment.push_back({0, {}});
        }
        return segment.back().literal;
    };
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char byte = pattern[i];
        ends_anywhere_ = byte == '%';
        if (byte == '%') {
            begins_anywhere_ = begins_anywhere_ || i == 0;
            if (!segment.empty()) {
                segments_.push_back(std::move(segment));
                segment.clear();
            }
        } else if (byte == '_') {
            if (segment.empty() || !segment.back().literal.empty()) {
                segment.push_back({0, {}});
            }
            ++segment.back().skipped;
        } else if (byte != '\\') {
            literal_piece() += byte;
        } else if (++i < pattern.size()) {
            literal_piece() += pattern[i];
        } else {
            throw Failure{make_status(StatusCode::invalid_argument, "the pattern ends with its escape")};
        }
    }
    if (!segment.empty()) {
        segments_.push_back(std::move(segment));
    }
}

bool LikePattern::is_range() const noexcept {
    return !begins_anywhere_ &&
           (segments_.empty() || (segments_.size() == 1 && segments_.front().size() == 1 &&
                                  segments_.front().front().skipped == 0));
}

std::string_view LikePattern::prefix() const noexcept {
    return segments_.empty() ? std::string_view() : segments_.front().front().literal;
}

bool LikePattern::skip(const char **at, const char *end, std::uint64_t characters) const noexcept {
    for (; characters > 0; --characters) {
        if (*at == end) {
            return false;
        }
        do {
            ++*at;
        } while (is_utf8_ && *at < end && is_within_character(**at));
    }
    return true;
}

bool LikePattern::skip_back(const char *begin, const char **end, std::uint64_t characters) const noexcept {
    for (; characters > 0; --characters) {
        if (*end == begin) {
            return false;
        }
        do {
            --*end;
        } while (is_utf8_ && *end > begin && is_within_character(**end));
    }
    return true;
}

const char *LikePattern::match(const Segment &segment, const char *at, const char *end) const noexcept {
    for (const Piece &piece : segment) {
        if (!skip(&at, end, piece.skipped) || !begins_with(at, end, piece.literal)) {
            return nullptr;
        }
        at += piece.literal.size();
    }
    return at;
}

// The first of several places leaves most for the segments behind. A literal is found where a character
// begins, since it begins with one.
const char *LikePattern::find(const Segment &segment, const char *at, const char *end) const noexcept {
    const Piece &first = segment.front();
    if (!skip(&at, end, first.skipped)) {
        return nullptr;
    }
    if (first.literal.empty()) {
        return at;
    }
    for (;; ++at) {
        at = find_literal(at, end, first.literal.data(), first.literal.size());
        if (at == nullptr) {
            return nullptr;
        }
        const char *behind = at + first.literal.size();
        std::size_t i = 1;
        for (; i < segment.size(); ++i) {
            if (!skip(&behind, end, segment[i].skipped) || !begins_with(behind, end, segment[i].literal)) {
                break;
            }
            behind += segment[i].literal.size();
        }
        if (i == segment.size()) {
            return behind;
        }
    }
}

bool LikePattern::match_back(const Segment &segment, const char *begin, const char *end) const noexcept {
    for (auto piece = segment.rbegin(); piece != segment.rend(); ++piece) {
        const std::size_t length = piece->literal.size();
        if (static_cast<std::size_t>(end - begin) < length ||
            !begins_with(end - length, end, piece->literal)) {
            return false;
        }
        end -= length;
        if (!skip_back(begin, &end, piece->skipped)) {
            return false;
        }
    }
    return true;
}

bool LikePattern::matches(std::string_view string) const noexcept {
    const char *at = string.data();
    const char *const end = at + string.size();
    std::size_t first = 0;
    std::size_t last = segments_.size();
    if (!begins_anywhere_) {
        if (last == 0) {
            return string.empty() || ends_anywhere_;
        }
        at = match(segments_[first++], at, end);
        if (at == nullptr || (first == last && !ends_anywhere_)) {
            return at != nullptr && at == end;
        }
    }
    if (!ends_anywhere_ && first < last) {
        --last;
    }
    for (; first < last; ++first) {
        at = find(segments_[first], at, end);
        if (at == nullptr) {
            return false;
        }
    }
    return ends_anywhere_ || match_back(segments_[last], at, end);
}

}  // namespace gpu_engine::host
