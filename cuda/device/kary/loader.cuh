// Arrays in the making: entries from page images.
#pragma once

#include "device/kary/array.cuh"
#include "device/kary/key.cuh"
#include "device/kary/pages.cuh"
#include "device/kary/shapes.h"

namespace gpu_engine::device {

__device__ __forceinline__ std::uint64_t tid_value(const Tid &tid) {
    return static_cast<std::uint64_t>(tid.block_high) << 32 |
           static_cast<std::uint32_t>(tid.block_low) << 16 | tid.offset;
}

template <typename Key>
__global__ void ascend_kernel(const Key *keys, const Tid *tids, std::uint64_t count, std::uint32_t *descend) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i > 0 && i < count &&
        (less(keys[i], keys[i - 1]) ||
         (equal(keys[i], keys[i - 1]) && tid_value(tids[i]) < tid_value(tids[i - 1])))) {
        *descend = 1;
    }
}

// Do the entries ascend by (key, TID)? Waits for the device.
template <typename Key>
bool entries_ascend(const Call &call, const Key *keys, const Tid *tids, std::uint64_t count) {
    if (count < 2) {
        return true;
    }
    constexpr int threads = 256;
    const Buffer<std::uint32_t> descend = call.buffer<std::uint32_t>(1);
    call.fill(descend.data(), 0, sizeof(std::uint32_t));
    ascend_kernel<<<blocks_for(count, threads), threads, 0, call.stream()>>>(keys, tids, count,
                                                                             descend.data());
    check_launch("ascend_kernel");
    std::uint32_t result = 0;
    call.read(&result, descend.data(), 1);
    return result == 0;
}

template <typename Key>
class DeviceKaryLoader final : public KaryLoader<Key> {
  public:
    DeviceKaryLoader(const Call &call, std::uint64_t entries)
        : engine_(call.engine()),
          entries_(entries),
          keys_(call.buffer<Key>(padded_keys<Key>(entries))),
          tids_(call.buffer<Tid>(entries)) {
        call.wait();
        // The loader may outlive the stream.
        keys_.set_stream(engine_.release_stream());
        tids_.set_stream(engine_.release_stream());
    }

    std::uint64_t entries() const noexcept override { return entries_; }
    std::uint64_t loaded() const noexcept override { return loaded_; }

    Status append_pages(Stream &stream, const Pages &pages) noexcept override {
        return guarded([&] {
            PageEntries wanted;
            require_ok(check_pages(pages, sizeof(Key), entries_, loaded_, &wanted));
            const Call call(engine_, stream);
            parse_pages(call, pages, wanted, keys_.data(), tids_.data());
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
            const Call call(engine_, stream);
            if (!entries_ascend(call, keys_.data(), tids_.data(), entries_)) {
                *ordered = false;
                return make_status(StatusCode::invalid_argument,
                                   "the entries are not ordered by key and TID");
            }
            *array =
                std::make_unique<DeviceKaryArray<Key>>(call, std::move(keys_), std::move(tids_), entries_);
            return Status{};
        });
    }

  private:
    DeviceEngine &engine_;
    std::uint64_t entries_;
    std::uint64_t loaded_ = 0;
    Buffer<Key> keys_;
    Buffer<Tid> tids_;
};

template <typename Key>
Status DeviceKary<Key>::open_loader(Stream &stream, std::uint64_t entries,
                                    std::unique_ptr<KaryLoader<Key>> *loader) noexcept {
    return guarded([&] {
        if (entries > Kary<Key>::max_entries) {
            return make_status(StatusCode::invalid_argument, "more entries than an array can hold");
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
