// Arrays in the making: entries from page images and from plain arrays.
#pragma once

#include "device/kary/array.cuh"
#include "device/kary/pages.cuh"
#include "device/kary/shapes.h"

namespace gpu_engine::device {

template <typename Key>
class DeviceKaryLoader final : public KaryLoader<Key> {
  public:
    DeviceKaryLoader(const Call &call, std::uint64_t entries)
        : engine_(call.engine()), entries_(entries), pairs_(make_pairs<Key>(call, entries)) {
        call.wait();
        // The loader may outlive the stream.
        pairs_.keys.set_stream(engine_.release_stream());
        pairs_.tids.set_stream(engine_.release_stream());
    }

    std::uint64_t entries() const noexcept override { return entries_; }
    std::uint64_t loaded() const noexcept override { return loaded_; }

    Status append_pages(Stream &stream, const Pages &pages) noexcept override {
        return guarded([&] {
            PageEntries wanted;
            require_ok(check_pages(pages, sizeof(Key), entries_, loaded_, &wanted));
            const Call call(engine_, stream);
            parse_pages(call, pages, wanted, pairs_.keys.data(), pairs_.tids.data());
            loaded_ += wanted.last - wanted.first;
            return Status{};
        });
    }

    Status append(Stream &stream, const Key *keys, const Tid *tids, std::uint64_t count) noexcept override {
        return guarded([&] {
            if (count > entries_ - loaded_) {
                return make_status(StatusCode::invalid_argument,
                                   "more entries than the array was begun with");
            }
            const Call call(engine_, stream);
            call.copy(pairs_.keys.data() + loaded_, keys, count);
            call.copy(pairs_.tids.data() + loaded_, tids, count);
            call.wait();
            loaded_ += count;
            return Status{};
        });
    }

    Status finish(Stream &stream, bool sort, bool *ordered,
                  std::unique_ptr<KaryArray<Key>> *array) noexcept override {
        *ordered = true;
        return guarded([&] {
            if (loaded_ != entries_) {
                return make_status(StatusCode::invalid_argument, "entries of the array are missing");
            }
            const Call call(engine_, stream);
            if (sort) {
                Pairs<Key> sorted = sort_pairs(call, pairs_.keys.data(), pairs_.tids.data(), entries_);
                pairs_ = {};
                pairs_ = std::move(sorted);
            } else if (!pairs_ascend(call, pairs_)) {
                *ordered = false;
                return make_status(StatusCode::invalid_argument,
                                   "the entries are not ordered by key and TID");
            }
            *array = std::make_unique<DeviceKaryArray<Key>>(call, std::move(pairs_.keys),
                                                            std::move(pairs_.tids), entries_);
            return Status{};
        });
    }

  private:
    DeviceEngine &engine_;
    std::uint64_t entries_;
    std::uint64_t loaded_ = 0;
    Pairs<Key> pairs_;
};

template <typename Key>
Status DeviceKary<Key>::open_loader(Stream &stream, std::uint64_t entries,
                                    std::unique_ptr<KaryLoader<Key>> *loader) noexcept {
    return guarded([&] {
        if (entries > Kary<Key>::max_entries) {
            return too_many_entries();
        }
        const Call call(engine_, stream);
        *loader = std::make_unique<DeviceKaryLoader<Key>>(call, entries);
        return Status{};
    });
}

template <typename Key>
std::uint64_t DeviceKary<Key>::array_bytes(std::uint64_t entries) const noexcept {
    const std::uint64_t tree_bytes = with_shape<Key>(entries, [&]<typename Shape>(std::type_identity<Shape>) {
        const TreeSizes<Shape> sizes(entries);
        return sizes.codes * sizeof(typename Shape::Code) + all_prefixes(sizes) * sizeof(Prefix);
    });
    return padded_keys<Key>(entries) * sizeof(Key) + tree_bytes + entries * sizeof(Tid) +
           4 * Memory::alignment;
}

}  // namespace gpu_engine::device
