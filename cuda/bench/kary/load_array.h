// Arrays of entries that the caller has, for benchmarks and tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "gpu_engine/kary.h"

namespace gpu_engine::bench {

// A layout of small pages.
template <typename Key>
constexpr PageLayout array_layout = {1024, 8, 1016 / (sizeof(Key) + sizeof(Tid)), sizeof(Key)};

// The entries as they lie on a run's pages, from the beginning of one on.
template <typename Key>
std::vector<char> page_images(const Key *keys, const Tid *tids, std::uint64_t count) {
    constexpr PageLayout layout = array_layout<Key>;
    std::vector<char> images((count + layout.per_page - 1) / layout.per_page * layout.page_bytes);
    for (std::uint64_t first = 0; first < count; first += layout.per_page) {
        const std::uint64_t on_page = std::min<std::uint64_t>(layout.per_page, count - first);
        char *content = images.data() + first / layout.per_page * layout.page_bytes + layout.first_byte;
        std::memcpy(content, keys + first, on_page * sizeof(Key));
        std::memcpy(content + on_page * sizeof(Key), tids + first, on_page * sizeof(Tid));
    }
    return images;
}

// Gives a loader of `entries` entries the next `count` of them, which end a page or the array.
template <typename Key>
Status append_entries(Stream &stream, KaryLoader<Key> &loader, const Key *keys, const Tid *tids,
                      std::uint64_t count) {
    constexpr PageLayout layout = array_layout<Key>;
    constexpr std::uint64_t at_once = std::uint64_t(layout.per_page) << 15;
    for (std::uint64_t done = 0; done < count; done += at_once) {
        const std::vector<char> images =
            page_images(keys + done, tids + done, std::min(at_once, count - done));
        const Status status = loader.append_pages(
            stream, {images.data(), loader.entries(), 0,
                     static_cast<std::uint32_t>(loader.loaded() / layout.per_page),
                     static_cast<std::uint32_t>(images.size() / layout.page_bytes), layout});
        if (!status.ok()) {
            return status;
        }
    }
    return {};
}

// Makes an array of entries that ascend by (key, TID).
template <typename Key>
Status load_array(Engine &engine, Stream &stream, const Key *keys, const Tid *tids, std::uint64_t count,
                  std::unique_ptr<KaryArray<Key>> *array) {
    std::unique_ptr<KaryLoader<Key>> loader;
    Status status = kary<Key>(engine).open_loader(stream, count, &loader);
    if (status.ok()) {
        status = append_entries(stream, *loader, keys, tids, count);
    }
    bool ordered = false;
    return status.ok() ? loader->finish(stream, &ordered, array) : status;
}

}  // namespace gpu_engine::bench
