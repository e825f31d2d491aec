// The places of entries on a run's pages.
#pragma once

#include <cstdint>

#include "gpu_engine/kary.h"

namespace gpu_engine {

// The entries that append_pages copies: [first, last) of the run, page after page.
struct PageEntries {
    std::uint64_t first;
    std::uint64_t last;
};

inline std::uint64_t entries_on_page(const Pages &pages, std::uint64_t page) noexcept {
    const std::uint64_t first = page * pages.layout.per_page;
    const std::uint64_t rest = pages.run_entries - first;
    return rest < pages.layout.per_page ? rest : pages.layout.per_page;
}

// Fails for pages that can't have the next entries of an array, of whose `entries` entries `loaded` have
// come, and for layouts that reach beyond a page. All sums stay far below 2^64 once this has passed.
inline Status check_pages(const Pages &pages, std::uint32_t key_bytes, std::uint64_t entries,
                          std::uint64_t loaded, PageEntries *result) noexcept {
    constexpr std::uint64_t max_entries = std::uint64_t(1) << 40;
    constexpr std::uint32_t max_page_bytes = 65536;
    const PageLayout &layout = pages.layout;
    const bool right_width =
        layout.key_bytes == key_bytes || (key_bytes == sizeof(Key128) && layout.key_bytes == 12);
    if (!right_width || layout.page_bytes == 0 || layout.page_bytes > max_page_bytes ||
        layout.page_bytes % 8 != 0 || layout.first_byte % 8 != 0 || layout.first_byte > layout.page_bytes ||
        layout.per_page == 0 ||
        layout.per_page > (layout.page_bytes - layout.first_byte) / (layout.key_bytes + sizeof(Tid))) {
        return make_status(StatusCode::invalid_argument, "no page has this layout");
    }
    if (pages.run_entries > max_entries || pages.run_first > pages.run_entries ||
        entries > pages.run_entries - pages.run_first) {
        return make_status(StatusCode::invalid_argument, "the array has more entries than the run");
    }
    const std::uint64_t next = pages.run_first + loaded;
    const std::uint64_t page_first = std::uint64_t(pages.first_page) * layout.per_page;
    const std::uint64_t pages_last = (std::uint64_t(pages.first_page) + pages.pages) * layout.per_page;
    if (loaded >= entries || next < page_first || next - page_first >= layout.per_page || pages.pages == 0) {
        return make_status(StatusCode::invalid_argument, "the next entry isn't on the first of these pages");
    }
    const std::uint64_t end = pages.run_first + entries;
    *result = {next, pages_last < end ? pages_last : end};
    return {};
}

}  // namespace gpu_engine
