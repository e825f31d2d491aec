#include "host/strings/entries.h"

#include <algorithm>
#include <cstring>

#include "gpu_engine/column.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::host {
namespace {

const std::uint8_t *read_varint(const std::uint8_t *at, const std::uint8_t *end, std::uint64_t *value) {
    if (at < end && *at < 0x80) {
        *value = *at;
        return at + 1;
    }
    *value = 0;
    for (std::uint32_t shift = 0; shift < 64 && at < end; shift += 7) {
        const std::uint8_t byte = *at++;
        *value |= std::uint64_t(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return at;
        }
    }
    report_damaged_strings();
}

struct BlockBytes {
    const std::uint8_t *begin;
    const std::uint8_t *end;
};

BlockBytes bytes_of_block(const StringArea &area, std::uint64_t block) {
    const std::uint64_t begin = area.blocks[block];
    const std::uint64_t end =
        (block + 1) * string_block < area.entries ? area.blocks[block + 1] : area.byte_count;
    if (begin > end || end > area.byte_count) {
        report_damaged_strings();
    }
    return {area.bytes + begin, area.bytes + end};
}

std::uint64_t common_bytes(const char *one, const char *other, std::uint64_t length) {
    std::uint64_t i = 0;
    for (; i + sizeof(std::uint64_t) <= length; i += sizeof(std::uint64_t)) {
        std::uint64_t words[2];
        std::memcpy(words, one + i, sizeof(std::uint64_t));
        std::memcpy(words + 1, other + i, sizeof(std::uint64_t));
        if (words[0] != words[1]) {
            return i + static_cast<std::uint64_t>(__builtin_ctzll(words[0] ^ words[1])) / 8;
        }
    }
    while (i < length && one[i] == other[i]) {
        ++i;
    }
    return i;
}

}  // namespace

void report_damaged_strings() {
    throw Failure{make_status(StatusCode::invalid_argument, "a dictionary of strings is damaged")};
}

EntryCursor::EntryCursor(const StringArea &area, std::uint64_t first)
    : area_(area), next_(first / string_block * string_block) {
    while (next_ < first) {
        read();
    }
    is_behind_one_ = false;
}

void EntryCursor::next() {
    read();
}

void EntryCursor::read() {
    const bool begins_block = next_ % string_block == 0;
    if (begins_block) {
        const BlockBytes block = bytes_of_block(area_, next_ / string_block);
        at_ = block.begin;
        end_ = block.end;
    }
    std::uint64_t shared = 0;
    std::uint64_t suffix = 0;
    at_ = read_varint(at_, end_, &shared);
    at_ = read_varint(at_, end_, &suffix);
    if (shared > (begins_block ? 0 : entry_.size()) || suffix > static_cast<std::uint64_t>(end_ - at_)) {
        report_damaged_strings();
    }
    const char *rest = reinterpret_cast<const char *>(at_);
    at_ += suffix;
    shared_ = 0;
    if (is_behind_one_) {
        const std::uint64_t both = std::min(entry_.size() - shared, suffix);
        shared_ = shared + common_bytes(entry_.data() + shared, rest, both);
        const std::uint64_t further = shared_ - shared;
        const bool ascends = further < both
                                 ? static_cast<std::uint8_t>(rest[further]) >
                                       static_cast<std::uint8_t>(entry_[static_cast<std::size_t>(shared_)])
                                 : suffix > both;
        if (!ascends) {
            report_damaged_strings();
        }
    }
    entry_.resize(shared);
    entry_.append(rest, suffix);
    is_behind_one_ = true;
    ++next_;
    const bool ends_block = next_ % string_block == 0 || next_ == area_.entries;
    if (ends_block && at_ != end_) {
        report_damaged_strings();
    }
}

std::string_view first_of_block(const StringArea &area, std::uint64_t number) {
    const BlockBytes block = bytes_of_block(area, number);
    std::uint64_t shared = 0;
    std::uint64_t length = 0;
    const std::uint8_t *at = read_varint(block.begin, block.end, &shared);
    at = read_varint(at, block.end, &length);
    if (shared != 0 || length > static_cast<std::uint64_t>(block.end - at)) {
        report_damaged_strings();
    }
    return {reinterpret_cast<const char *>(at), static_cast<std::size_t>(length)};
}

FoundEntry find_entry(const StringArea &area, std::string_view string) {
    // How many blocks begin with an entry that isn't above the string: in the last of them it would be.
    std::uint64_t low = 0;
    std::uint64_t high = (area.entries + string_block - 1) / string_block;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (first_of_block(area, middle) <= string) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return {0, false};
    }
    const std::uint64_t end = std::min(low * string_block, area.entries);
    EntryCursor cursor(area, (low - 1) * string_block);
    for (std::uint64_t code = (low - 1) * string_block; code < end; ++code) {
        cursor.next();
        const int order = cursor.entry().compare(string);
        if (order >= 0) {
            return {code, order == 0};
        }
    }
    return {end, false};
}

}  // namespace gpu_engine::host
