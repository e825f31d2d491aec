#include "host/blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "gpu_engine/kept_memory.h"
#include "gpu_engine/large_pages.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t cache_line = 64;
constexpr std::uint64_t page = 64 << 10;  // the largest that systems have
constexpr std::uint64_t large_page = 2 << 20;
// Blocks of a size class are of the same size: sixteen classes between a power of two and the next. What a
// block has more than its user wanted isn't counted, so it should be little.
constexpr std::uint32_t class_bits = 4;
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

// The reverse.
constexpr std::uint64_t bytes_of(std::uint32_t number) noexcept {
    const std::uint32_t power = least_power + (number >> class_bits);
    const std::uint64_t step = number & ((1U << class_bits) - 1);
    return ((std::uint64_t(1) << class_bits) + 1 + step) << (power - class_bits);
}

bool is_kept(std::uint64_t bytes) noexcept {
    return bytes >= least_kept_block && bytes <= greatest_kept_block;
}

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) noexcept {
    return (bytes + unit - 1) / unit * unit;
}

// Whole large pages need a begin of their own, so what is mapped around them goes again. The system begins a
// mapping on any page of its own, which may be a small one.
void *map(std::uint64_t bytes) noexcept {
    const std::uint64_t size = round_up(bytes, page);
    const std::uint64_t around = size >= large_page ? large_page : 0;
    void *mapped = mmap(nullptr, size + around, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        return nullptr;
    }
    auto *begin = static_cast<std::byte *>(mapped);
    if (around > 0) {
        const std::uint64_t before = -reinterpret_cast<std::uintptr_t>(begin) % large_page;
        if (before > 0) {
            munmap(begin, before);
        }
        begin += before;
        munmap(begin + size, around - before);
        use_large_pages(begin, bytes);
    }
    return begin;
}

void *allocate(std::uint64_t bytes) noexcept {
    return bytes < least_mapped_block ? std::aligned_alloc(cache_line, bytes) : map(bytes);
}

void give_back(void *block, std::uint64_t bytes) noexcept {
    if (bytes < least_mapped_block) {
        std::free(block);
    } else {
        munmap(block, round_up(bytes, page));
    }
}

class KeptBlocks {
  public:
    void *take(const SizeClass &own) noexcept {
        const std::lock_guard lock(mutex_);
        std::vector<void *> &blocks = blocks_[own.number];
        if (blocks.empty()) {
            return nullptr;
        }
        void *block = blocks.back();
        blocks.pop_back();
        bytes_ -= own.bytes;
        ++uses_;
        return block;
    }
    bool keep(const SizeClass &own, void *block, std::uint64_t room) noexcept {
        const std::lock_guard lock(mutex_);
        if (bytes_ + own.bytes > std::min(room, max_kept_bytes)) {
            return false;
        }
        try {
            blocks_[own.number].push_back(block);
        } catch (const std::bad_alloc &) {
            return false;
        }
        bytes_ += own.bytes;
        ++uses_;
        return true;
    }
    // Others may take blocks while the system takes one back, which is slow.
    void release(std::uint64_t left) noexcept {
        std::uint64_t bytes = 0;
        while (void *block = take_greatest(left, &bytes)) {
            give_back(block, bytes);
        }
    }
    std::uint64_t bytes() const noexcept { return bytes_; }
    std::uint64_t uses() const noexcept { return uses_; }

  private:
    // Returns nullptr where no more than `left` is kept.
    void *take_greatest(std::uint64_t left, std::uint64_t *bytes) noexcept {
        const std::lock_guard lock(mutex_);
        for (std::uint32_t number = classes; number > 0 && bytes_ > left; --number) {
            std::vector<void *> &blocks = blocks_[number - 1];
            if (!blocks.empty()) {
                void *block = blocks.back();
                blocks.pop_back();
                *bytes = bytes_of(number - 1);
                bytes_ -= *bytes;
                return block;
            }
        }
        return nullptr;
    }

    std::mutex mutex_;
    std::array<std::vector<void *>, classes> blocks_;
    // They are changed with the mutex held.
    std::atomic<std::uint64_t> bytes_{0};
    std::atomic<std::uint64_t> uses_{0};
};

// It outlives all buffers, those of static objects too.
KeptBlocks &kept_blocks() noexcept {
    alignas(KeptBlocks) static std::byte memory[sizeof(KeptBlocks)];
    static KeptBlocks *const blocks = new (memory) KeptBlocks;
    return *blocks;
}

}  // namespace

void *allocate_block(std::uint64_t bytes, std::uint64_t room) noexcept {
    const SizeClass own = is_kept(bytes) ? class_of(bytes) : SizeClass{0, bytes};
    void *kept = is_kept(bytes) ? kept_blocks().take(own) : nullptr;
    if (kept_blocks().bytes() > room) {
        kept_blocks().release(room);
    }
    return kept != nullptr ? kept : allocate(own.bytes);
}

void free_block(void *block, std::uint64_t bytes, std::uint64_t room) noexcept {
    if (!is_kept(bytes)) {
        give_back(block, bytes);
        return;
    }
    const SizeClass own = class_of(bytes);
    if (!kept_blocks().keep(own, block, room)) {
        give_back(block, own.bytes);
    }
}

std::uint64_t give_back_kept_memory() noexcept {
    static std::uint64_t seen_uses = 0;
    if (std::exchange(seen_uses, kept_blocks().uses()) == kept_blocks().uses()) {
        kept_blocks().release(max_idle_bytes);
    }
    return kept_blocks().bytes();
}

std::uint64_t kept_block_bytes() noexcept {
    return kept_blocks().bytes();
}

void release_kept_blocks(std::uint64_t left) noexcept {
    kept_blocks().release(left);
}

}  // namespace gpu_engine::host
