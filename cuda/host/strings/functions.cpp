// Functions of a code space's entries, on all threads.
#include <algorithm>
#include <atomic>
#include <utility>

#include "gpu_engine/guard.h"
#include "host/engine.h"
#include "host/strings/code_space.h"
#include "host/strings/like.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t codes_a_piece = 64 * string_block;

std::uint32_t characters_of(std::string_view string, bool is_utf8) {
    if (!is_utf8) {
        return static_cast<std::uint32_t>(string.size());
    }
    return static_cast<std::uint32_t>(std::count_if(string.begin(), string.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    }));
}

void set_bits(std::uint64_t *bits, std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t i = first; i < end; ++i) {
        bits[i / 64] |= std::uint64_t(1) << (i % 64);
    }
}

}  // namespace

class HostStringResult final : public StringResult {
  public:
    HostStringResult(Buffer<std::uint64_t> bits, Buffer<std::uint32_t> words)
        : bits_(std::move(bits)), words_(std::move(words)) {}

    std::uint64_t bytes() const noexcept override { return bits_.bytes() + words_.bytes(); }
    const std::uint64_t *bits() const noexcept override { return bits_.data(); }
    const std::uint32_t *words() const noexcept override { return words_.data(); }

  private:
    const Buffer<std::uint64_t> bits_;
    const Buffer<std::uint32_t> words_;
};

template <typename Visit>
void HostCodeSpace::visit_entries(const Stream &stream, Visit visit) const {
    for (std::size_t member = 0; member < areas_.size(); ++member) {
        const StringArea &area = areas_[member];
        const std::uint32_t *numbers = this->numbers(member);
        const auto is_read_here = [&](std::uint64_t number) {
            return is_single() || united_.member[number] == member;
        };
        engine_.workers(stream).for_pieces(
            area.entries, codes_a_piece, [&](std::uint64_t first, std::uint64_t last) {
                EntryCursor cursor(area, first);
                for (std::uint64_t code = first; code < last; ++code) {
                    cursor.next();
                    const std::uint64_t number = numbers == nullptr ? code : numbers[code];
                    if (is_read_here(number)) {
                        visit(number, cursor.entry());
                    }
                }
            });
    }
}

std::shared_ptr<const HostStringResult> HostCodeSpace::compute(Stream &stream,
                                                               const StringFunction &function) const {
    MemoryBudget &memory = engine_.memory();
    if (function.kind != StringFunctionKind::like) {
        Buffer<std::uint32_t> words(memory, std::max<std::uint64_t>(entries(), 1));
        const bool is_utf8 = function.kind == StringFunctionKind::characters && function.is_utf8;
        visit_entries(stream, [&](std::uint64_t number, std::string_view entry) {
            words[number] = characters_of(entry, is_utf8);
        });
        return std::make_shared<const HostStringResult>(Buffer<std::uint64_t>(), std::move(words));
    }
    const LikePattern pattern(function.pattern, function.is_utf8);
    const std::uint64_t bit_words = entries() / 64 + 1;
    Buffer<std::uint64_t> bits(memory, bit_words);
    std::fill_n(bits.data(), bit_words, 0);
    if (pattern.is_range()) {
        check_cancelled(stream);
        std::string behind(pattern.prefix());
        const Place first = place_of(behind);
        while (!behind.empty() && behind.back() == '\xff') {
            behind.pop_back();
        }
        if (!pattern.is_open()) {
            set_bits(bits.data(), first.below, first.below + (first.is_entry ? 1 : 0));
        } else if (behind.empty()) {
            set_bits(bits.data(), first.below, entries());
        } else {
            behind.back() = static_cast<char>(static_cast<unsigned char>(behind.back()) + 1);
            set_bits(bits.data(), first.below, place_of(behind).below);
        }
    } else {
        // Threads may have entries of the same word.
        visit_entries(stream, [&](std::uint64_t number, std::string_view entry) {
            if (pattern.matches(entry)) {
                std::atomic_ref(bits[number / 64])
                    .fetch_or(std::uint64_t(1) << (number % 64), std::memory_order_relaxed);
            }
        });
    }
    return std::make_shared<const HostStringResult>(std::move(bits), Buffer<std::uint32_t>());
}

std::uint64_t HostCodeSpace::bytes() const noexcept {
    std::uint64_t bytes = united_.member.bytes();
    for (const Buffer<std::uint32_t> &numbers : united_.numbers) {
        bytes += numbers.bytes();
    }
    const std::lock_guard lock(mutex_);
    for (const Cached &cached : cached_) {
        bytes += cached.result->bytes();
    }
    return bytes;
}

std::shared_ptr<const HostStringResult> HostCodeSpace::find_cached(const StringFunction &function) const {
    const std::lock_guard lock(mutex_);
    for (auto i = cached_.begin(); i != cached_.end(); ++i) {
        if (i->kind == function.kind && i->is_utf8 == function.is_utf8 && i->pattern == function.pattern) {
            cached_.splice(cached_.begin(), cached_, i);
            return i->result;
        }
    }
    return nullptr;
}

void HostCodeSpace::cache(const StringFunction &function,
                          std::shared_ptr<const HostStringResult> result) const {
    std::list<Cached> added;
    added.push_back({function.kind, function.is_utf8, std::string(function.pattern), std::move(result)});
    std::list<Cached> dropped;
    const std::lock_guard lock(mutex_);
    cached_.splice(cached_.begin(), added);
    if (cached_.size() > max_cached) {
        dropped.splice(dropped.begin(), cached_, std::prev(cached_.end()));
    }
}

Status HostCodeSpace::evaluate(Stream &stream, const StringFunction &function,
                               std::shared_ptr<const StringResult> *result) const noexcept {
    return guarded([&] {
        if (function.kind < StringFunctionKind::like || function.kind > StringFunctionKind::characters) {
            return make_status(StatusCode::invalid_argument, "there is no such function of strings");
        }
        std::shared_ptr<const HostStringResult> found = find_cached(function);
        if (found == nullptr) {
            found = compute(stream, function);
            cache(function, found);
        }
        *result = std::move(found);
        return Status{};
    });
}

}  // namespace gpu_engine::host
