// Arrays in the making: entries from page images.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "common/pages.h"
#include "gpu_engine/guard.h"
#include "host/engine.h"
#include "host/kary/array.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t entries_a_piece = 1 << 16;
constexpr std::uint64_t pages_a_piece = 64;

template <typename Key>
class HostKaryLoader final : public KaryLoader<Key> {
  public:
    HostKaryLoader(HostEngine &engine, std::uint64_t entries)
        : engine_(engine),
          entries_(entries),
          keys_(engine.memory(), Levels<Key>::padded(entries)),
          tids_(engine.memory(), entries) {}

    std::uint64_t entries() const noexcept override { return entries_; }
    std::uint64_t loaded() const noexcept override { return loaded_; }

    Status append_pages(Stream &stream, const Pages &pages) noexcept override {
        return guarded([&] {
            PageEntries wanted;
            require_ok(check_pages(pages, sizeof(Key), entries_, loaded_, &wanted));
            const PageLayout &layout = pages.layout;
            const std::uint64_t used_pages = (wanted.last - 1) / layout.per_page - pages.first_page + 1;
            engine_.workers(stream).for_pieces(used_pages, pages_a_piece,
                                               [&](std::uint64_t first, std::uint64_t last) {
                                                   for (std::uint64_t i = first; i < last; ++i) {
                                                       copy_page(pages, wanted, i);
                                                   }
                                               });
            loaded_ += wanted.last - wanted.first;
            return Status{};
        });
    }

    Status finish(Stream &stream, bool *ordered, std::unique_ptr<KaryArray<Key>> *array) noexcept override {
        *ordered = true;
        return guarded([&] {
            if (loaded_ != entries_) {
                return make_status(StatusCode::invalid_argument, "entries of the array are missing");
            }
            const Workers workers = engine_.workers(stream);
            std::atomic<bool> ascending = true;
            workers.for_pieces(entries_, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
                for (std::uint64_t i = std::max<std::uint64_t>(first, 1); i < last; ++i) {
                    if (keys_[i] < keys_[i - 1] || (keys_[i] == keys_[i - 1] && tids_[i] < tids_[i - 1])) {
                        ascending.store(false, std::memory_order_relaxed);
                    }
                }
            });
            if (!ascending) {
                *ordered = false;
                return make_status(StatusCode::invalid_argument,
                                   "the entries are not ordered by key and TID");
            }
            *array = std::make_unique<HostKaryArray<Key>>(engine_, workers, std::move(keys_),
                                                          std::move(tids_), entries_);
            return Status{};
        });
    }

  private:
    void copy_page(const Pages &pages, const PageEntries &wanted, std::uint64_t i) noexcept {
        const PageLayout &layout = pages.layout;
        const std::uint64_t page = pages.first_page + i;
        const std::uint64_t page_first = page * layout.per_page;
        const std::uint64_t on_page = entries_on_page(pages, page);
        const std::uint64_t begin = std::max(wanted.first, page_first);
        const std::uint64_t end = std::min(wanted.last, page_first + on_page);
        const char *keys =
            static_cast<const char *>(pages.images) + i * layout.page_bytes + layout.first_byte;
        const char *tids = keys + on_page * layout.key_bytes;
        Key *own_keys = keys_.data() + (begin - pages.run_first);
        if (sizeof(Key) == layout.key_bytes) {
            std::memcpy(own_keys, keys + (begin - page_first) * sizeof(Key), (end - begin) * sizeof(Key));
        } else if constexpr (sizeof(Key) == sizeof(Key128)) {
            for (std::uint64_t j = begin; j < end; ++j) {
                const char *key = keys + (j - page_first) * layout.key_bytes;
                Key &own = own_keys[j - begin];
                std::uint32_t high;
                std::memcpy(&own.low, key, sizeof(own.low));
                std::memcpy(&high, key + sizeof(own.low), sizeof(high));
                own.high = high;
            }
        }
        std::memcpy(tids_.data() + (begin - pages.run_first), tids + (begin - page_first) * sizeof(Tid),
                    (end - begin) * sizeof(Tid));
    }

    HostEngine &engine_;
    std::uint64_t entries_;
    std::uint64_t loaded_ = 0;
    Buffer<Key> keys_;
    Buffer<Tid> tids_;
};

}  // namespace

template <typename Key>
Status HostKary<Key>::open_loader(Stream &, std::uint64_t entries,
                                  std::unique_ptr<KaryLoader<Key>> *loader) noexcept {
    return guarded([&] {
        if (entries > Kary<Key>::max_entries) {
            return make_status(StatusCode::invalid_argument, "more entries than an array can hold");
        }
        *loader = std::make_unique<HostKaryLoader<Key>>(engine_, entries);
        return Status{};
    });
}

template <typename Key>
std::uint64_t HostKary<Key>::array_bytes(std::uint64_t entries) const noexcept {
    return Buffer<Key>::bytes_for(Levels<Key>::padded(entries)) +
           Buffer<Key>::bytes_for(Levels<Key>::separators_above(entries)) + Buffer<Tid>::bytes_for(entries);
}

template class HostKary<std::uint32_t>;
template class HostKary<std::uint64_t>;
template class HostKary<Key128>;

}  // namespace gpu_engine::host
