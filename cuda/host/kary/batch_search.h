// Searches for the keys of a batch, which go on from one another where the keys ascend and lie close
// together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/kary/levels.h"

namespace gpu_engine::host {

// Searches one piece of a batch; several threads can't share it.
template <typename Key>
class BatchSearch {
  public:
    // `keys` are the sorted ones, padded as the levels have them; at least one.
    BatchSearch(const Levels<Key> &levels, const Key *keys, std::uint64_t entries) noexcept
        : levels_(levels), keys_(keys), padded_(Levels<Key>::padded(entries)) {}

    // Makes ranks[i] the number of keys below wanted[i], for i < count <= Levels<Key>::batch.
    void rank(const Key *wanted, std::uint64_t count, std::uint32_t *ranks) noexcept {
        const bool ascending = std::is_sorted(wanted, wanted + count) && !(wanted[0] < last_);
        if (ascending && dense_) {
            std::uint64_t lost = 0;
            for (std::uint64_t i = 0; i < count; ++i) {
                if (!follow(wanted[i])) {
                    at_ = levels_.rank(wanted[i]);
                    ++lost;
                }
                ranks[i] = at_;
            }
            dense_ = lost * 8 <= count;
        } else {
            levels_.rank([&](std::uint64_t i) { return wanted[i]; }, count, ranks);
            at_ = ranks[count - 1];
            dense_ = ascending && at_ - ranks[0] <= count * near;
        }
        last_ = wanted[count - 1];
    }

  private:
    // The average number of entries between two keys up to which going on from one key to the next beats a
    // search that shares its cache misses with others.
    static constexpr std::uint64_t near = 24;
    // Keys compared at once, without a branch. There are so many that most searches need no second look,
    // since the processor would mispredict whether one is needed.
    static constexpr std::uint64_t window = sizeof(Key) <= 8 ? 16 : 8;
    static constexpr int max_windows = 4;
    // Keys are fetched so far ahead, which is farther than the processor fetches by itself between two
    // searches that wait for each other.
    static constexpr std::uint64_t ahead = 1024 / sizeof(Key);

    // Goes on from the rank of a key that isn't greater. Returns false when the next rank is far away.
    bool follow(Key key) noexcept {
        for (int look = 0; look < max_windows; ++look) {
            if (at_ + window > padded_) {
                return false;
            }
            __builtin_prefetch(keys_ + at_ + ahead);
            std::uint32_t below = 0;
            for (std::uint64_t i = 0; i < window; ++i) {
                below += keys_[at_ + i] < key ? 1 : 0;
            }
            at_ += below;
            if (below < window) {
                return true;
            }
        }
        return false;
    }

    const Levels<Key> &levels_;
    const Key *keys_;
    std::uint64_t padded_;
    Key last_{};
    std::uint32_t at_ = 0;
    bool dense_ = false;
};

}  // namespace gpu_engine::host
