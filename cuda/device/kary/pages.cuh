// Entries from page images to dense arrays.
#pragma once

#include <cstdint>

#include "common/pages.h"
#include "device/call.h"

namespace gpu_engine::device {

// Key of PageKeyBytes at an address that is a multiple of 4, and of 8 unless they are 12 or 4.
template <typename Key, int PageKeyBytes>
__device__ __forceinline__ Key page_key(const unsigned char *address) {
    if constexpr (PageKeyBytes == 12) {
        const auto *words = reinterpret_cast<const std::uint32_t *>(address);
        return Key{words[2], words[0] | static_cast<std::uint64_t>(words[1]) << 32};
    } else {
        return *reinterpret_cast<const Key *>(address);
    }
}

// A block takes one page; `images` begins with page `first_page`. Neighbouring threads copy neighbouring
// keys, and then neighbouring thirds of TIDs.
template <typename Key, int PageKeyBytes>
__global__ void parse_pages_kernel(const unsigned char *images, Pages pages, std::uint64_t first_page,
                                   PageEntries wanted, Key *keys, Tid *tids) {
    const std::uint64_t per_page = pages.layout.per_page;
    const std::uint64_t page_first = (first_page + blockIdx.x) * per_page;
    const std::uint64_t rest = pages.run_entries - page_first;
    const std::uint64_t on_page = rest < per_page ? rest : per_page;
    const std::uint64_t first = wanted.first > page_first ? wanted.first : page_first;
    const std::uint64_t last = wanted.last < page_first + on_page ? wanted.last : page_first + on_page;
    if (first >= last) {
        return;
    }
    const unsigned char *page_keys =
        images + static_cast<std::uint64_t>(blockIdx.x) * pages.layout.page_bytes + pages.layout.first_byte;
    const auto size = static_cast<std::uint32_t>(last - first);
    const unsigned char *from_keys = page_keys + (first - page_first) * PageKeyBytes;
    Key *to_keys = keys + (first - pages.run_first);
    for (std::uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        to_keys[i] = page_key<Key, PageKeyBytes>(from_keys + static_cast<std::uint64_t>(i) * PageKeyBytes);
    }
    const auto *from_tids = reinterpret_cast<const std::uint16_t *>(page_keys + on_page * PageKeyBytes) +
                            (first - page_first) * 3;
    auto *to_tids = reinterpret_cast<std::uint16_t *>(tids + (first - pages.run_first));
    for (std::uint32_t i = threadIdx.x; i < 3 * size; i += blockDim.x) {
        to_tids[i] = from_tids[i];
    }
}

// Copies the wanted entries of a run's pages, which check_pages found good, to where they belong in the
// array. Pages in the host's memory pass through a copy of bounded size. Waits for the device.
template <typename Key>
void parse_pages(const Call &call, const Pages &pages, const PageEntries &wanted, Key *keys, Tid *tids) {
    constexpr int threads = 256;
    constexpr std::uint64_t piece_bytes = std::uint64_t(32) << 20;
    const std::uint64_t page_bytes = pages.layout.page_bytes;
    const std::uint64_t used_pages = (wanted.last - 1) / pages.layout.per_page - pages.first_page + 1;
    const std::uint64_t piece_pages = piece_bytes / page_bytes;
    const Input<unsigned char> input(call, static_cast<const unsigned char *>(pages.images),
                                     used_pages * page_bytes, piece_pages * page_bytes);
    for (std::uint64_t first = 0; first < used_pages; first += piece_pages) {
        const std::uint64_t size = used_pages - first < piece_pages ? used_pages - first : piece_pages;
        const unsigned char *images = input.piece(first * page_bytes, size * page_bytes);
        const auto blocks = static_cast<unsigned>(size);
        const std::uint64_t first_page = pages.first_page + first;
        if (pages.layout.key_bytes == sizeof(Key)) {
            parse_pages_kernel<Key, sizeof(Key)>
                <<<blocks, threads, 0, call.stream()>>>(images, pages, first_page, wanted, keys, tids);
        } else if constexpr (sizeof(Key) == sizeof(Key128)) {
            parse_pages_kernel<Key, 12>
                <<<blocks, threads, 0, call.stream()>>>(images, pages, first_page, wanted, keys, tids);
        }
        check_launch("parse_pages_kernel");
        call.wait();
    }
}

}  // namespace gpu_engine::device
