// Radix sort of index entries by (key, TID). Plain C++, tested without PostgreSQL.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "keys/key.h"

namespace pg_gpu::keys {

// An entry while it is being sorted.
template <typename Key>
struct SortEntry {
    Key key;
    uint32_t block;
    uint16_t offset;
    uint16_t nulls;  // a bit a column, the first column's lowest
};
static_assert(sizeof(SortEntry<uint32_t>) == 12);
static_assert(sizeof(SortEntry<uint64_t>) == 16);
static_assert(sizeof(SortEntry<Key96>) == 20);
static_assert(sizeof(SortEntry<Key128>) == 24);

template <typename Key>
inline bool entry_less(const SortEntry<Key> &a, const SortEntry<Key> &b) {
    if (a.nulls != b.nulls)
        return a.nulls < b.nulls;
    if (a.key != b.key)
        return a.key < b.key;
    if (a.block != b.block)
        return a.block < b.block;
    return a.offset < b.offset;
}

inline constexpr int kDigitBits = 11;
template <typename Number>
inline constexpr int kMaxDigits = (static_cast<int>(sizeof(Number)) * 8 + kDigitBits - 1) / kDigitBits;

// Returns how many bits a number takes.
template <typename Number>
constexpr int bit_length(Number number) {
    if constexpr (sizeof(Number) == 16) {
        const auto high = static_cast<uint64_t>(number >> 64);
        return high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(number));
    } else {
        return std::bit_width(number);
    }
}

// Returns how many digits cover the bits set in `varying`, and where they begin, the highest first.
template <typename Number>
int choose_digits(Number varying, int *shifts) {
    int count = 0;
    while (varying != 0) {
        const int length = bit_length(varying);
        const int shift = length > kDigitBits ? length - kDigitBits : 0;
        shifts[count++] = shift;
        varying &= static_cast<Number>((Number{1} << shift) - 1);
    }
    return count;
}

// Sorts by the given digits of a number, 11 bits each, the least significant first (LeBlanc and Barton's
// digit histogramming: all histograms in one read). The sort is stable. The result is in *entries, which may
// have changed places with *scratch.
template <int Most, typename Element, typename NumberOf, typename BetweenPasses>
void radix_passes(Element **entries, Element **scratch, size_t count, const int *shifts, int digits,
                  NumberOf number_of, BetweenPasses between_passes) {
    constexpr int kBuckets = 1 << kDigitBits;
    size_t histogram[Most][kBuckets];
    memset(histogram, 0, static_cast<size_t>(digits) * sizeof(histogram[0]));
    const auto digit_of = [number_of](const Element &entry, int shift) {
        return static_cast<uint32_t>(number_of(entry) >> shift) & (kBuckets - 1);
    };

    for (size_t i = 0; i < count; i++)
        for (int digit = 0; digit < digits; digit++)
            histogram[digit][digit_of((*entries)[i], shifts[digit])]++;

    for (int digit = digits - 1; digit >= 0; digit--) {
        between_passes();
        const int shift = shifts[digit];
        size_t *buckets = histogram[digit];
        size_t offset = 0;
        for (int i = 0; i < kBuckets; i++)
            offset += std::exchange(buckets[i], offset);
        Element *from = *entries;
        Element *to = *scratch;
        for (size_t i = 0; i < count; i++)
            to[buckets[digit_of(from[i], shift)]++] = from[i];
        std::swap(*entries, *scratch);
    }
}

// Sorts what is almost sorted by a stable insertion sort. Returns false, with a part of it done, when that
// takes more than `moves` moves.
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

// Stable sort by key: radix passes over the three highest digits (of fewer keys two) among the bits in which
// the keys differ at all, which leave little to do among keys that are spread well, and an insertion sort for
// the rest; when that gets long, passes over all digits. `scratch` has room for `count` entries; the result
// is in the returned array, one of the two. `between_passes` is called before every pass, for cancellation.
template <typename Key, typename Element, typename KeyOf, typename BetweenPasses>
Element *radix_sort_by(Element *entries, Element *scratch, size_t count, KeyOf key_of,
                       BetweenPasses between_passes) {
    constexpr int kFirstDigits = 3;
    // With so few keys two digits tell almost all of them apart.
    constexpr size_t kFewKeys = size_t{1} << (2 * kDigitBits - 3);
    constexpr size_t kMovesPerEntry = 4;
    const auto number_of = [key_of](const Element &entry) { return bits_of<Key>(key_of(entry)); };
    const auto less = [key_of](const Element &a, const Element &b) { return key_of(a) < key_of(b); };
    Bits<Key> varying = 0;
    for (size_t i = 1; i < count; i++)
        varying |= number_of(entries[i]) ^ number_of(entries[0]);
    int shifts[kMaxDigits<Key>];
    const int digits = choose_digits(varying, shifts);

    if (digits <= kFirstDigits) {
        radix_passes<kFirstDigits>(&entries, &scratch, count, shifts, digits, number_of, between_passes);
        return entries;
    }
    radix_passes<kFirstDigits>(&entries, &scratch, count, shifts, count <= kFewKeys ? 2 : kFirstDigits,
                               number_of, between_passes);
    if (!insertion_sort_within(entries, count, count * kMovesPerEntry, less))
        radix_passes<kMaxDigits<Key>>(&entries, &scratch, count, shifts, digits, number_of, between_passes);
    return entries;
}

// Sorts entries by key; those given in TID order come out in (key, TID) order.
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

}  // namespace pg_gpu::keys
