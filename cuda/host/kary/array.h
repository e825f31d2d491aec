// A sorted array in the host's memory.
#pragma once

#include <cstdint>
#include <functional>

#include "gpu_engine/heap_blocks.h"
#include "gpu_engine/kary.h"
#include "host/kary/levels.h"
#include "host/store.h"

namespace gpu_engine::host {

template <typename Key>
class HostKaryArray final : public HostStore<KaryArray<Key>> {
  public:
    using HostStore<KaryArray<Key>>::dead;

    // `keys` has Levels<Key>::padded(entries) places, of which `entries` are filled.
    HostKaryArray(HostEngine &engine, const Workers &workers, Buffer<Key> keys, Buffer<Tid> tids,
                  std::uint64_t entries);

    std::uint64_t bytes() const noexcept override {
        return keys_.bytes() + levels_.bytes() + tids_.bytes() + this->dead_bytes();
    }
    Status count(Stream &stream, const Key *low, const Key *high, std::uint64_t count,
                 std::uint32_t *counts) const noexcept override;
    Status lookup(Stream &stream, const Key *keys, std::uint64_t count, std::uint64_t *offsets, Tid *tids,
                  std::uint64_t capacity) const noexcept override;
    // Does for one array what Kary::match does; places(number) says where its entries go. Throws Failure.
    void match(Stream &stream, const Key *keys, std::uint64_t count,
               const std::function<MatchPlaces(std::uint64_t number)> &places) const;
    Status range(Stream &stream, const Key *low, const Key *high, std::uint64_t count, std::uint64_t *offsets,
                 Key *keys, Tid *tids, std::uint64_t capacity) const noexcept override;
    Status count_on(Stream &stream, const Key *low, const Key *high, std::uint64_t count,
                    const HeapBlocks &blocks, std::uint64_t *counts, std::uint64_t *offsets, Tid *tids,
                    std::uint64_t capacity) const noexcept override;

  private:
    // Calls visit(i, range) for each key: where its entries lie. The array has entries.
    template <typename Visit>
    void search_piece(const Key *keys, std::uint64_t first, std::uint64_t last, Visit visit) const;
    void find_ranges(const Workers &workers, const Key *keys, std::uint64_t count, KaryRange *ranges) const;
    void find_bounds(const Key *low, const Key *high, std::uint64_t count, KaryRange *ranges) const;
    void find_bounds(const Workers &workers, const Key *low, const Key *high, std::uint64_t count,
                     KaryRange *ranges) const;
    // Counts the live entries before each range, and in all of them.
    void sum_live_entries(const Workers &workers, const KaryRange *ranges, std::uint64_t count,
                          const DeadBitmap *dead_entries, std::uint64_t *offsets, std::uint64_t *total) const;
    // Calls write(output, range, position) for each of the ranges' `total` live entries, of which begins[i]
    // come before range i.
    template <typename Write>
    void for_each_live(const Workers &workers, const KaryRange *ranges, std::uint64_t count,
                       const DeadBitmap *dead_entries, const std::uint64_t *begins, std::uint64_t total,
                       Write write) const;
    // `keys` may be null.
    Status gather_entries(const Workers &workers, const KaryRange *ranges, std::uint64_t count,
                          std::uint64_t *offsets, Key *keys, Tid *tids, std::uint64_t capacity) const;

    using HostStore<KaryArray<Key>>::engine_;
    using HostStore<KaryArray<Key>>::entries_;
    Buffer<Key> keys_;
    Buffer<Tid> tids_;
    Levels<Key> levels_;
};

}  // namespace gpu_engine::host
