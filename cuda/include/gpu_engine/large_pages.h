// Large pages for tables that are gone through in no order.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace gpu_engine {

// Rows are added to groups all over a large table. In pages of this size, where the system has them, most
// places need no walk through the page tables, and 512 first touches are one. Memory that has been touched
// already stays as it is.
inline void use_large_pages(void *table, std::size_t bytes) noexcept {
    constexpr std::uintptr_t page = 2 << 20;
    const auto at = reinterpret_cast<std::uintptr_t>(table);
    const std::uintptr_t begin = (at + page - 1) / page * page;
    const std::uintptr_t end = (at + bytes) / page * page;
    if (begin < end) {
        // It is no more than a wish, so it doesn't matter whether it is granted.
        static_cast<void>(madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE));
    }
}

}  // namespace gpu_engine
