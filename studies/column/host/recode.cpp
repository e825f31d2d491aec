// Codes of main and delta written anew, with the width that the merged dictionary needs.
#include <algorithm>
#include <atomic>

#include "studies/column/common/codes.h"
#include "studies/column/host/studies.h"
#include "host/engine.h"

namespace gpu_engine::host {
namespace {

// This is a multiple of 32, so that pieces end with a word of the result.
constexpr std::uint64_t codes_a_piece = 1 << 16;

// Writes codes one behind the other, beginning with a whole word.
class CodeWriter {
  public:
    CodeWriter(std::uint32_t *words, std::uint32_t bits) : words_(words), bits_(bits) {}

    void write(std::uint32_t code) {
        window_ |= static_cast<std::uint64_t>(code) << filled_;
        filled_ += bits_;
        if (filled_ >= 32) {
            *words_++ = static_cast<std::uint32_t>(window_);
            window_ >>= 32;
            filled_ -= 32;
        }
    }
    void finish() {
        if (filled_ > 0) {
            *words_ = static_cast<std::uint32_t>(window_);
        }
    }

  private:
    std::uint32_t *words_;
    std::uint32_t bits_;
    std::uint32_t filled_ = 0;
    std::uint64_t window_ = 0;
};

}  // namespace

Status HostDictionaries::recode(Stream &stream, const MappedCodes &main, const MappedCodes &delta,
                                std::uint32_t bits, std::uint32_t *words) noexcept {
    return guarded([&] {
        if (bits > 32 || main.codes.bits > 32 || delta.codes.bits > 32) {
            return make_status(StatusCode::invalid_argument, "codes have at most 32 bits");
        }
        const std::uint64_t total = main.codes.count + delta.codes.count;
        const auto mask = static_cast<std::uint32_t>((std::uint64_t(1) << bits) - 1);
        std::atomic<bool> beyond = false;
        engine_.workers(stream).for_pieces(
            total, codes_a_piece, [&](std::uint64_t first, std::uint64_t last) {
                CodeWriter writer(words + first / 32 * bits, bits);
                bool beyond_here = false;
                const auto write = [&](const MappedCodes &source, std::uint64_t from, std::uint64_t to) {
                    for (std::uint64_t i = from; i < to; ++i) {
                        const std::uint32_t code = code_at(source.codes.words, i, source.codes.bits);
                        const bool is_there = code < source.map_entries;
                        const std::uint32_t mapped = is_there ? source.map[code] : 0;
                        beyond_here = beyond_here || !is_there || (mapped & ~mask) != 0;
                        writer.write(mapped & mask);
                    }
                };
                write(main, std::min(first, main.codes.count), std::min(last, main.codes.count));
                write(delta, std::max(first, main.codes.count) - main.codes.count,
                      std::max(last, main.codes.count) - main.codes.count);
                writer.finish();
                if (beyond_here) {
                    beyond.store(true, std::memory_order_relaxed);
                }
            });
        if (beyond) {
            return make_status(StatusCode::invalid_argument,
                               "a code lies beyond its map, or needs more bits");
        }
        return Status{};
    });
}

}  // namespace gpu_engine::host
