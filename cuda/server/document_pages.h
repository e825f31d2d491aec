// Documents of gpu_text as they lie on pages, for loaders.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "gpu_engine/text.h"

namespace gpu_engine::server {

// Pages as a loader takes them, which hold nothing else.
inline constexpr std::uint32_t posting_page_bytes = 65536;
inline constexpr std::uint32_t length_bytes = 3;
inline constexpr std::uint32_t documents_a_page = 7281;
inline constexpr std::uint32_t document_page_bytes = documents_a_page * (sizeof(Tid) + length_bytes);
static_assert(document_page_bytes <= posting_page_bytes);

inline std::uint32_t pages_for(std::uint64_t parts, std::uint64_t a_page) {
    return static_cast<std::uint32_t>((parts + a_page - 1) / a_page);
}

// Writes documents as they lie on pages.
inline void write_document_pages(const Tid *tids, const std::uint32_t *lengths, std::uint32_t count,
                                 char *pages) {
    for (std::uint32_t first = 0; first < count; first += documents_a_page, pages += document_page_bytes) {
        const std::uint32_t here = std::min(documents_a_page, count - first);
        std::memcpy(pages, tids + first, here * sizeof(Tid));
        auto *at = reinterpret_cast<unsigned char *>(pages + here * sizeof(Tid));
        for (std::uint32_t i = first; i < first + here; ++i, at += length_bytes) {
            at[0] = static_cast<unsigned char>(lengths[i]);
            at[1] = static_cast<unsigned char>(lengths[i] >> 8);
            at[2] = static_cast<unsigned char>(lengths[i] >> 16);
        }
    }
}

}  // namespace gpu_engine::server
