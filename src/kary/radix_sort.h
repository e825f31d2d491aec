// Radix sort of index entries by (key, TID). Plain C++, tested without PostgreSQL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace pg_gpu::kary {

// An entry while it is being sorted.
template <typename Key>
struct SortEntry {
    Key key;
    uint32_t block;
    uint16_t offset;
    uint16_t reserved;
};
static_assert(sizeof(SortEntry<uint32_t>) == 12);
static_assert(sizeof(SortEntry<uint64_t>) == 16);

template <typename Key>
inline bool entry_less(const SortEntry<Key> &a, const SortEntry<Key> &b) {
    if (a.key != b.key)
        return a.key < b.key;
    if (a.block != b.block)
        return a.block < b.block;
    return a.offset < b.offset;
}

// Least-significant-digit radix sort by key, 11 bits a pass (LeBlanc and Barton's digit histogramming: all
// histograms in one read, passes whose digit never varies skipped). Stable: entries given in TID order come
// out in (key, TID) order. `scratch` has room for `count` entries; the result is in the returned array, one
// of the two. `between_passes` is called before every pass, for cancellation.
template <typename Key, typename Element, typename KeyOf, typename BetweenPasses>
Element *radix_sort_by(Element *entries, Element *scratch, size_t count, KeyOf key_of,
                       BetweenPasses between_passes) {
    constexpr int kDigitBits = 11;
    constexpr int kBuckets = 1 << kDigitBits;
    constexpr int kPasses = (static_cast<int>(sizeof(Key)) * 8 + kDigitBits - 1) / kDigitBits;
    size_t histogram[kPasses][kBuckets];
    memset(histogram, 0, sizeof(histogram));

    for (size_t i = 0; i < count; i++)
        for (int pass = 0; pass < kPasses; pass++)
            histogram[pass][(key_of(entries[i]) >> (pass * kDigitBits)) & (kBuckets - 1)]++;

    for (int pass = 0; pass < kPasses && count > 0; pass++) {
        const int shift = pass * kDigitBits;
        size_t *buckets = histogram[pass];
        if (buckets[(key_of(entries[0]) >> shift) & (kBuckets - 1)] == count)
            continue;
        between_passes();
        size_t offset = 0;
        for (int i = 0; i < kBuckets; i++)
            offset += std::exchange(buckets[i], offset);
        for (size_t i = 0; i < count; i++)
            scratch[buckets[(key_of(entries[i]) >> shift) & (kBuckets - 1)]++] = entries[i];
        std::swap(entries, scratch);
    }
    return entries;
}

template <typename Key, typename BetweenPasses>
SortEntry<Key> *radix_sort(SortEntry<Key> *entries, SortEntry<Key> *scratch, size_t count,
                           BetweenPasses between_passes) {
    return radix_sort_by<Key>(
        entries, scratch, count, [](const SortEntry<Key> &entry) { return entry.key; }, between_passes);
}

// Puts entries with equal keys, which are almost in TID order, into TID order: rows updated in place (HOT)
// are indexed under their chain's first line pointer, so within a heap page TIDs can arrive out of order.
template <typename Key>
void order_tids_within_keys(SortEntry<Key> *entries, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (entry_less(entries[i], entries[i - 1])) {
            const SortEntry<Key> moved = entries[i];
            size_t place = i;
            for (; place > 0 && entry_less(moved, entries[place - 1]); place--)
                entries[place] = entries[place - 1];
            entries[place] = moved;
        }
    }
}

}  // namespace pg_gpu::kary
