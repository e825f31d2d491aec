// A reference for sorted arrays, which searches by std::partition_point, and the shapes of key sets they are
// tried with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "gpu_engine/kary.h"

namespace kary_test {

using gpu_engine::KaryRange;
using gpu_engine::Tid;

// ---- Keys as numbers ----------------------------------------------------------------------------

template <typename Key>
Key make_key(std::uint64_t high, std::uint64_t low) {
    if constexpr (sizeof(Key) == 16) {
        return Key{high, low};
    } else {
        return static_cast<Key>(low);
    }
}
template <typename Key>
Key highest() {
    return make_key<Key>(UINT64_MAX, UINT64_MAX);
}
template <typename Key>
Key successor(Key key) {
    if constexpr (sizeof(Key) == 16) {
        return Key{key.low == UINT64_MAX ? key.high + 1 : key.high, key.low + 1};
    } else {
        return static_cast<Key>(key + 1);
    }
}
template <typename Key>
Key predecessor(Key key) {
    if constexpr (sizeof(Key) == 16) {
        return Key{key.low == 0 ? key.high - 1 : key.high, key.low - 1};
    } else {
        return static_cast<Key>(key - 1);
    }
}

inline Tid make_tid(std::uint64_t number) {
    return Tid{static_cast<std::uint16_t>(number >> 32), static_cast<std::uint16_t>(number >> 16),
               static_cast<std::uint16_t>(number)};
}

// ---- Shapes of key sets -------------------------------------------------------------------------

template <typename Key>
struct Pattern {
    const char *name;
    std::function<std::vector<Key>(std::size_t, std::mt19937_64 &)> make;
};

template <typename Key>
std::vector<Pattern<Key>> patterns() {
    const auto each = [](auto key_of) {
        return [key_of](std::size_t count, std::mt19937_64 &random) {
            std::vector<Key> keys(count);
            for (std::size_t i = 0; i < count; ++i) {
                keys[i] = key_of(i, count, random);
            }
            return keys;
        };
    };
    using Random = std::mt19937_64;
    return {
        {"uniform", each([](std::size_t, std::size_t, Random &r) { return make_key<Key>(r(), r()); })},
        {"few distinct",
         each([](std::size_t, std::size_t, Random &r) { return make_key<Key>(r() % 3, r() % 7); })},
        {"all equal", each([](std::size_t, std::size_t, Random &) { return make_key<Key>(5, 77); })},
        {"all lowest", each([](std::size_t, std::size_t, Random &) { return Key{}; })},
        {"all highest", each([](std::size_t, std::size_t, Random &) { return highest<Key>(); })},
        {"ascending",
         each([](std::size_t i, std::size_t, Random &) { return make_key<Key>(i / 100, 3 * i); })},
        {"descending",
         each([](std::size_t i, std::size_t count, Random &) { return make_key<Key>(0, 2 * (count - i)); })},
        {"at the limits", each([](std::size_t, std::size_t, Random &r) {
             const std::uint64_t near = r() % 3;
             switch (r() % 4) {
                 case 0:
                     return make_key<Key>(0, near);
                 case 1:
                     return make_key<Key>(UINT64_MAX, UINT64_MAX - near);
                 case 2:
                     return make_key<Key>(std::uint64_t(1) << 63, (std::uint64_t(1) << 63) + near);
                 default:
                     return make_key<Key>(UINT64_MAX / 2, (std::uint64_t(1) << 31) - near);
             }
         })},
        // Clusters far apart, which separators cut to a few bits can't tell from each other.
        {"clusters", each([](std::size_t, std::size_t, Random &r) {
             const std::uint64_t cluster = r() % 11 * 0x1717171717171717ULL;
             return make_key<Key>(cluster, cluster + r() % 300);
         })},
        // Distances double, so that a node's keys differ by all magnitudes.
        {"powers", each([](std::size_t, std::size_t, Random &r) {
             return make_key<Key>(r() >> (r() % 64), r() >> (r() % 64));
         })},
        // One key far behind all others.
        {"outlier", each([](std::size_t i, std::size_t, Random &r) {
             return i == 0 ? highest<Key>() : make_key<Key>(0, r() % 100000);
         })},
    };
}

// ---- The reference ------------------------------------------------------------------------------

template <typename Key>
struct Reference {
    std::vector<std::pair<Key, Tid>> entries;
    std::vector<bool> dead;

    std::uint32_t rank(Key key) const {
        return static_cast<std::uint32_t>(std::partition_point(entries.begin(), entries.end(),
                                                               [&](const auto &e) { return e.first < key; }) -
                                          entries.begin());
    }
    KaryRange find(Key key) const {
        const auto end = std::partition_point(entries.begin(), entries.end(),
                                              [&](const auto &e) { return e.first <= key; });
        return {rank(key), static_cast<std::uint32_t>(end - entries.begin())};
    }
    std::vector<Tid> live(KaryRange range) const {
        std::vector<Tid> tids;
        for (std::uint32_t i = range.first; i < range.last; ++i) {
            if (dead.empty() || !dead[i]) {
                tids.push_back(entries[i].second);
            }
        }
        return tids;
    }
};

template <typename Key>
Reference<Key> reference_of(const std::vector<Key> &keys, const std::vector<Tid> &tids) {
    Reference<Key> reference;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        reference.entries.emplace_back(keys[i], tids[i]);
    }
    std::sort(reference.entries.begin(), reference.entries.end());
    return reference;
}

// Every key and its neighbours, the limits, and random ones: at most `limit`, and never none.
template <typename Key>
std::vector<Key> probes_of(const Reference<Key> &reference, std::size_t limit, std::mt19937_64 &random) {
    std::vector<Key> probes = {Key{}, highest<Key>(), successor(Key{}), predecessor(highest<Key>())};
    const std::size_t step = 1 + 3 * reference.entries.size() / limit;
    for (std::size_t i = 0; i < reference.entries.size(); i += step) {
        const Key key = reference.entries[i].first;
        probes.insert(probes.end(), {predecessor(key), key, successor(key)});
    }
    for (int i = 0; i < 50; ++i) {
        probes.push_back(make_key<Key>(random(), random()));
    }
    std::shuffle(probes.begin(), probes.end(), random);
    return probes;
}

}  // namespace kary_test
