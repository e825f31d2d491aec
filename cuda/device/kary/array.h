// A sorted array in a device's memory.
#pragma once

#include <cstdint>

#include "device/heap_blocks.h"
#include "device/kary/tree.h"
#include "device/kary/tree_memory.h"
#include "device/store.h"
#include "gpu_engine/kary.h"

namespace gpu_engine::device {

template <typename Key>
class DeviceKaryArray final : public DeviceStore<KaryArray<Key>> {
  public:
    using DeviceStore<KaryArray<Key>>::dead;

    // `keys` has padded_keys places, of which `entries` are filled. Waits for the device.
    DeviceKaryArray(const Call &call, Buffer<Key> keys, Buffer<Tid> tids, std::uint64_t entries);

    std::uint64_t bytes() const noexcept override {
        return keys_.bytes() + tree_memory_.bytes() + tids_.bytes() + this->dead_bytes();
    }
    Status count(Stream &stream, const Key *low, const Key *high, std::uint64_t count,
                 std::uint32_t *counts) const noexcept override;
    Status lookup(Stream &stream, const Key *keys, std::uint64_t count, std::uint64_t *offsets, Tid *tids,
                  std::uint64_t capacity) const noexcept override;
    Status range(Stream &stream, const Key *low, const Key *high, std::uint64_t count, std::uint64_t *offsets,
                 Key *keys, Tid *tids, std::uint64_t capacity) const noexcept override;
    Status count_on(Stream &stream, const Key *low, const Key *high, std::uint64_t count,
                    const HeapBlocks &blocks, std::uint64_t *counts, std::uint64_t *offsets, Tid *tids,
                    std::uint64_t capacity) const noexcept override;

    const Key *keys() const noexcept { return keys_.data(); }
    // Returns the tree of an array with entries.
    const Tree<Key> &tree() const noexcept { return tree_; }
    const Tid *tids() const noexcept { return tids_.data(); }

  private:
    // Finds where low[i] to high[i] lie. The ranges stay on the device.
    Buffer<KaryRange> bounds(const Call &call, const Key *low, const Key *high, std::uint64_t count) const;
    // Gives the live entries of ranges on the device. `keys` may be null.
    Status give(const Call &call, const KaryRange *ranges, std::uint64_t count, const DeadView &dead,
                std::uint64_t *offsets, Key *keys, Tid *tids, std::uint64_t capacity) const;

    using DeviceStore<KaryArray<Key>>::engine_;
    using DeviceStore<KaryArray<Key>>::entries_;
    Buffer<Key> keys_;
    Buffer<Tid> tids_;
    TreeMemory tree_memory_;
    Tree<Key> tree_ = {};
};

// ---- The parts, each in a file of its own -------------------------------------------------------

// Builds the tree above an array's keys, for which there are padded_keys places; there is at least one key.
// Waits for the device.
template <typename Key>
Tree<Key> build_array_tree(const Call &call, Key *keys, std::uint64_t entries, TreeMemory *memory);

// Searches for one piece of a batch. All arrays are on the device, and the tree has entries.
template <typename Key>
void find_piece(const Call &call, const Tree<Key> &tree, const Key *keys, std::uint64_t count,
                KaryRange *ranges);
template <typename Key>
void bounds_piece(const Call &call, const Tree<Key> &tree, const Key *low, const Key *high,
                  std::uint64_t count, KaryRange *ranges);

// Does what KaryArray::lookup does for at most max_few_lookups keys of an array with entries. Returns false
// when there are more results than this is for, or than `capacity`; then nothing was written.
inline constexpr std::uint32_t max_few_lookups = 64;
template <typename Key>
bool look_up_few(const Call &call, const Key *array_keys, const Tid *array_tids, std::uint64_t entries,
                 const DeadView &dead, const Key *keys, std::uint64_t count, std::uint64_t *offsets,
                 Tid *tids, std::uint64_t capacity);

// Sets counts[i] to the number of live entries of ranges[i].
void count_live(const Call &call, const KaryRange *ranges, std::uint64_t count, const DeadView &dead,
                std::uint32_t *counts);

// The places where the live entries of each of `count` ranges go: those of range i to offsets[i] - first.
// There are count + 1 offsets.
struct Places {
    const std::uint64_t *offsets;
    std::uint64_t first;
    std::uint64_t total;
};
struct Gathered {
    Buffer<std::uint64_t> offsets;
    std::uint64_t total = 0;

    Places places() const noexcept { return {offsets.data(), 0, total}; }
};
// Waits for the device.
Gathered measure_ranges(const Call &call, const KaryRange *ranges, std::uint64_t count, const DeadView &dead);
// Writes the sizes of `count` ranges of an array, and 0 behind them; their sums then say where entries go.
void measure_sizes(const Call &call, const KaryRange *ranges, std::uint64_t count, const DeadView &dead,
                   std::uint64_t *sizes);
// Copies the live entries' elements, from an array's keys or TIDs to the caller, who waits for the device.
template <typename Element>
void gather_elements(const Call &call, const KaryRange *ranges, std::uint64_t count, const DeadView &dead,
                     const Element *from, const Places &places, Element *to);

// Gathers in the same way, for each of the live entries, the number of the range that it belongs to.
void gather_ranges(const Call &call, std::uint64_t count, const Places &places, std::uint32_t *to);

// Does what KaryArray::count_on does, with ranges on the device and everything else the caller's.
Status count_ranges_on(const Call &call, const KaryRange *ranges, std::uint64_t count, const DeadView &dead,
                       const Tid *array_tids, const KnownBlocks &known, std::uint64_t *counts,
                       std::uint64_t *offsets, Tid *tids, std::uint64_t capacity);

}  // namespace gpu_engine::device
