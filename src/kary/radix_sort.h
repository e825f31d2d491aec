// Radix sort of index entries by (key, TID). Plain C++, tested without PostgreSQL.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
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

// Least-significant-digit radix sort by the low `Bits` bits of an unsigned number, 11 bits a pass (LeBlanc
// and Barton's digit histogramming: all histograms in one read, passes whose digit never varies skipped).
// Stable. The result is in *entries, which may have changed places with *scratch.
template <int Bits, typename Element, typename NumberOf, typename BetweenPasses>
void radix_passes(Element **entries, Element **scratch, size_t count, NumberOf number_of,
                  BetweenPasses between_passes) {
    constexpr int kDigitBits = 11;
    constexpr int kBuckets = 1 << kDigitBits;
    constexpr int kPasses = (Bits + kDigitBits - 1) / kDigitBits;
    size_t histogram[kPasses][kBuckets];
    memset(histogram, 0, sizeof(histogram));

    for (size_t i = 0; i < count; i++)
        for (int pass = 0; pass < kPasses; pass++)
            histogram[pass][(number_of((*entries)[i]) >> (pass * kDigitBits)) & (kBuckets - 1)]++;

    for (int pass = 0; pass < kPasses && count > 0; pass++) {
        const int shift = pass * kDigitBits;
        size_t *buckets = histogram[pass];
        if (buckets[(number_of((*entries)[0]) >> shift) & (kBuckets - 1)] == count)
            continue;
        between_passes();
        size_t offset = 0;
        for (int i = 0; i < kBuckets; i++)
            offset += std::exchange(buckets[i], offset);
        Element *from = *entries;
        Element *to = *scratch;
        for (size_t i = 0; i < count; i++)
            to[buckets[(number_of(from[i]) >> shift) & (kBuckets - 1)]++] = from[i];
        std::swap(*entries, *scratch);
    }
}

// Stable insertion sort of what is almost sorted; false, with a part of it done, when that takes more than
// `moves` moves.
template <typename Element, typename Less>
bool insertion_sort_within(Element *entries, size_t count, size_t moves, Less less) {
    for (size_t i = 1; i < count; i++) {
        if (!less(entries[i], entries[i - 1]))
            continue;
        const Element moved = entries[i];
        size_t place = i;
        for (; place > 0 && less(moved, entries[place - 1]); place--)
            entries[place] = entries[place - 1];
        entries[place] = moved;
        if (i - place > moves)
            return false;
        moves -= i - place;
    }
    return true;
}

// Stable sort by key: radix passes over the 33 highest bits in which the keys differ at all, which leave
// little to do among keys that are spread well, and an insertion sort for the rest; when that gets long, all
// passes. `scratch` has room for `count` entries; the result is in the returned array, one of the two.
// `between_passes` is called before every pass, for cancellation.
template <typename Key, typename Element, typename KeyOf, typename BetweenPasses>
Element *radix_sort_by(Element *entries, Element *scratch, size_t count, KeyOf key_of,
                       BetweenPasses between_passes) {
    constexpr int kKeyBits = std::numeric_limits<Key>::digits;
    constexpr int kFirstBits = 33;
    constexpr size_t kMovesPerEntry = 4;
    Key varying = 0;
    for (size_t i = 1; i < count; i++)
        varying |= key_of(entries[i]) ^ key_of(entries[0]);
    const int varying_bits = std::bit_width(varying);
    const int shift = varying_bits > kFirstBits ? varying_bits - kFirstBits : 0;
    const auto less = [key_of](const Element &a, const Element &b) { return key_of(a) < key_of(b); };

    radix_passes<kFirstBits>(
        &entries, &scratch, count,
        [key_of, shift](const Element &entry) { return static_cast<uint64_t>(key_of(entry) >> shift); },
        between_passes);
    if (shift > 0 && !insertion_sort_within(entries, count, count * kMovesPerEntry, less))
        radix_passes<kKeyBits>(&entries, &scratch, count, key_of, between_passes);
    return entries;
}

// Entries given in TID order come out in (key, TID) order.
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
    insertion_sort_within(entries, count, std::numeric_limits<size_t>::max(), entry_less<Key>);
}

}  // namespace pg_gpu::kary
