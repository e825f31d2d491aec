#include "host/blocks.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "gpu_engine/large_pages.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t cache_line = 64;
constexpr std::uint64_t large_page = 2 << 20;
// Blocks of a size class are of the same size: eight classes between a power of two and the next.
constexpr std::uint32_t class_bits = 3;
constexpr std::uint32_t least_power = std::bit_width(least_kept_block - 1) - 1;
constexpr std::uint32_t classes = (std::bit_width(greatest_kept_block - 1) - least_power) << class_bits;

struct SizeClass {
    std::uint32_t number;
    std::uint64_t bytes;
};

SizeClass class_of(std::uint64_t bytes) noexcept {
    const auto power = static_cast<std::uint32_t>(std::bit_width(bytes - 1)) - 1;
    const std::uint32_t shift = power - class_bits;
    const std::uint64_t steps = ((bytes - 1) >> shift) + 1;
    // From 2^power on: steps are more than 2^class_bits, and twice as many at most.
    const auto step = static_cast<std::uint32_t>(steps - (std::uint64_t(1) << class_bits) - 1);
    return {((power - least_power) << class_bits) + step, steps << shift};
}

bool is_kept(std::uint64_t bytes) noexcept {
    return bytes >= least_kept_block && bytes <= greatest_kept_block;
}

void *allocate(std::uint64_t bytes) noexcept {
    if (bytes < large_page) {
        return std::aligned_alloc(cache_line, bytes);
    }
    void *block = std::aligned_alloc(large_page, (bytes + large_page - 1) / large_page * large_page);
    if (block != nullptr) {
        use_large_pages(block, bytes);
    }
    return block;
}

class KeptBlocks {
  public:
    void *take(std::uint32_t number, std::uint64_t bytes) noexcept {
        const std::lock_guard lock(mutex_);
        std::vector<void *> &blocks = blocks_[number];
        if (blocks.empty()) {
            return nullptr;
        }
        void *block = blocks.back();
        blocks.pop_back();
        bytes_ -= bytes;
        return block;
    }
    bool keep(std::uint32_t number, void *block, std::uint64_t bytes) noexcept {
        const std::lock_guard lock(mutex_);
        if (bytes_ + bytes > max_kept_bytes) {
            return false;
        }
        try {
            blocks_[number].push_back(block);
        } catch (const std::bad_alloc &) {
            return false;
        }
        bytes_ += bytes;
        return true;
    }
    std::uint64_t bytes() noexcept {
        const std::lock_guard lock(mutex_);
        return bytes_;
    }

  private:
    std::mutex mutex_;
    std::array<std::vector<void *>, classes> blocks_;
    std::uint64_t bytes_ = 0;
};

// It outlives all buffers, those of static objects too.
KeptBlocks &kept_blocks() noexcept {
    alignas(KeptBlocks) static std::byte memory[sizeof(KeptBlocks)];
    static KeptBlocks *const blocks = new (memory) KeptBlocks;
    return *blocks;
}

}  // namespace

void *allocate_block(std::uint64_t bytes) noexcept {
    if (!is_kept(bytes)) {
        return allocate(bytes);
    }
    const SizeClass own = class_of(bytes);
    void *kept = kept_blocks().take(own.number, own.bytes);
    return kept != nullptr ? kept : allocate(own.bytes);
}

void free_block(void *block, std::uint64_t bytes) noexcept {
    if (is_kept(bytes)) {
        const SizeClass own = class_of(bytes);
        if (kept_blocks().keep(own.number, block, own.bytes)) {
            return;
        }
    }
    std::free(block);
}

std::uint64_t kept_block_bytes() noexcept {
    return kept_blocks().bytes();
}

}  // namespace gpu_engine::host
