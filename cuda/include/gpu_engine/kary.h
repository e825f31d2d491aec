// Sorted arrays of fixed-width keys with TIDs, as gpu_kary's runs hold them.
//
// Keys are std::uint32_t, std::uint64_t or Key128, compared as unsigned integers; equal keys are allowed. An
// array is ordered by (key, TID) and never changes, apart from its dead bitmap. Positions are entry numbers
// from 0. The keys lie dense; above them stand levels of separators without child pointers, built bottom-up:
// a separator's index is its child's number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "gpu_engine/engine.h"
#include "gpu_engine/entry.h"
#include "gpu_engine/status.h"

namespace gpu_engine {

// Positions first <= i < last.
struct alignas(8) KaryRange {
    std::uint32_t first;
    std::uint32_t last;
};

// The arrays that match() writes the entries to; those that are null are not written.
struct MatchPlaces {
    Tid *tids;
    std::uint32_t *items;
};

// All functions but the destructor may run on several streams at once. On a status that isn't ok the outputs
// hold nothing of use, unless said otherwise.
template <typename Key>
class KaryArray : public Store {
  public:
    // counts[i] = how many live entries have low[i] <= key <= high[i].
    virtual Status count(Stream &stream, const Key *low, const Key *high, std::uint64_t count,
                         std::uint32_t *counts) const noexcept = 0;

    // The TIDs of the live entries with each key, in order: those with keys[i] are tids[offsets[i]] to
    // tids[offsets[i + 1] - 1]. `offsets` has count + 1 places. When more than `capacity` TIDs match, the
    // status is insufficient_space and only `offsets` is filled.
    virtual Status lookup(Stream &stream, const Key *keys, std::uint64_t count, std::uint64_t *offsets,
                          Tid *tids, std::uint64_t capacity) const noexcept = 0;
    // Gives, for each i, the live entries with low[i] <= key <= high[i], as lookup gives them. `keys`
    // receives their keys and may be null.
    virtual Status range(Stream &stream, const Key *low, const Key *high, std::uint64_t count,
                         std::uint64_t *offsets, Key *keys, Tid *tids,
                         std::uint64_t capacity) const noexcept = 0;

    // counts[i] = how many live entries have low[i] <= key <= high[i] and, as far as `blocks` knows, a
    // visible row. The TIDs of live ones on unknown blocks are given as lookup does; when there are more than
    // `capacity`, only `counts` and `offsets` are of use.
    virtual Status count_on(Stream &stream, const Key *low, const Key *high, std::uint64_t count,
                            const HeapBlocks &blocks, std::uint64_t *counts, std::uint64_t *offsets,
                            Tid *tids, std::uint64_t capacity) const noexcept = 0;
};

// Images of pages first_page to first_page + pages - 1 of a run.
struct Pages {
    const void *images;
    std::uint64_t run_entries;  // entries of the whole run
    std::uint64_t run_first;    // the entry of the run that is the array's first
    std::uint32_t first_page;
    std::uint32_t pages;
    PageLayout layout;
};

// An array in the making: entries come page by page.
template <typename Key>
class KaryLoader : public Interface {
  public:
    // entries() is the number of entries it was begun with, and loaded() of those that have come.
    virtual std::uint64_t entries() const noexcept = 0;
    virtual std::uint64_t loaded() const noexcept = 0;

    // Takes the entries on the pages that belong to the array. The next entry must be on the first of them.
    // After a failure the loader is of no more use, apart from invalid_argument, which changes nothing.
    virtual Status append_pages(Stream &stream, const Pages &pages) noexcept = 0;
    // Makes the array of all entries, which must have come; the loader is then empty. `ordered` says whether
    // they ascend by (key, TID); when they don't, the status is invalid_argument.
    virtual Status finish(Stream &stream, bool *ordered, std::unique_ptr<KaryArray<Key>> *array) noexcept = 0;
};

// Makes arrays. One has at most `max_entries` entries, since positions have 32 bits; more are
// invalid_argument.
template <typename Key>
class Kary : public Interface {
  public:
    static constexpr std::uint64_t max_entries = UINT32_MAX;

    // Reserves the memory for the keys and TIDs of this many entries.
    virtual Status open_loader(Stream &stream, std::uint64_t entries,
                               std::unique_ptr<KaryLoader<Key>> *loader) noexcept = 0;
    // The bytes that an array of this many live entries takes of the engine's memory.
    virtual std::uint64_t array_bytes(std::uint64_t entries) const noexcept = 0;

    // Finds in each of `arrays`, which must be this engine's, the live entries whose key is one of `keys`,
    // key after key: the key of tids[j] is keys[items[j]]. There are at most `max_matched_keys` keys, since
    // `items` has 32 bits. Once it is known how many entries an array has, places(array, number) says where
    // they go, for one array after the other; when the call is repeated it is called again. All arrays
    // together are one call, since a device takes longer to be waited for than to find 100,000 keys in one of
    // them. Nothing here takes memory of the caller's for each key, as offsets do.
    static constexpr std::uint64_t max_matched_keys = UINT32_MAX;
    using PlacesFor = std::function<MatchPlaces(std::size_t array, std::uint64_t number)>;
    virtual Status match(Stream &stream, const KaryArray<Key> *const *arrays, std::size_t array_count,
                         const Key *keys, std::uint64_t count, const PlacesFor &places) noexcept = 0;
};

template <typename Key>
Kary<Key> &kary(Engine &engine) noexcept {
    if constexpr (sizeof(Key) == 4) {
        return engine.kary32();
    } else if constexpr (sizeof(Key) == 8) {
        return engine.kary64();
    } else {
        return engine.kary128();
    }
}

}  // namespace gpu_engine
