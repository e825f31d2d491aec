// Arrays from pairs and from other arrays: both sort pieces and merge them.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "common/merge_path.h"
#include "gpu_engine/guard.h"
#include "host/engine.h"
#include "host/kary/array.h"

namespace gpu_engine::host {
namespace {

template <typename Key>
struct Entry {
    Key key;
    Tid tid;

    friend bool operator<(const Entry &a, const Entry &b) noexcept {
        return a.key < b.key || (a.key == b.key && a.tid < b.tid);
    }
};

constexpr std::uint64_t entries_a_piece = 1 << 16;

// Returns how many of the first `diagonal` entries of the merge of a and b come from a. Of equal entries a's
// are first.
template <typename Key>
std::uint64_t merge_path(const Entry<Key> *a, std::uint64_t a_count, const Entry<Key> *b,
                         std::uint64_t b_count, std::uint64_t diagonal) {
    return gpu_engine::merge_path(a_count, b_count, diagonal,
                                  [&](std::uint64_t i, std::uint64_t j) { return b[j] < a[i]; });
}

// Merges the sorted pieces entries[bounds[i]] to entries[bounds[i + 1] - 1] pairwise, pass by pass. The
// result is in `entries`; `scratch` is as large.
template <typename Key>
void merge_pieces(const Workers &workers, Buffer<Entry<Key>> &entries, Buffer<Entry<Key>> &scratch,
                  std::vector<std::uint64_t> bounds) {
    while (bounds.size() > 2) {
        std::vector<std::uint64_t> merged_bounds = {0};
        for (std::size_t i = 0; i + 1 < bounds.size(); i += 2) {
            merged_bounds.push_back(bounds[std::min(i + 2, bounds.size() - 1)]);
        }
        const std::uint64_t total = bounds.back();
        workers.for_pieces(total, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
            std::size_t pair = std::upper_bound(merged_bounds.begin(), merged_bounds.end(), first) -
                               merged_bounds.begin() - 1;
            for (std::uint64_t output = first; output < last; ++pair) {
                const std::uint64_t begin = bounds[2 * pair];
                const std::uint64_t middle = bounds[2 * pair + 1];
                const std::uint64_t end = merged_bounds[pair + 1];
                const std::uint64_t output_end = std::min(last, end);
                const Entry<Key> *a = entries.data() + begin;
                const Entry<Key> *b = entries.data() + middle;
                const std::uint64_t a_first = merge_path(a, middle - begin, b, end - middle, output - begin);
                const std::uint64_t a_last =
                    merge_path(a, middle - begin, b, end - middle, output_end - begin);
                std::merge(a + a_first, a + a_last, b + (output - begin - a_first),
                           b + (output_end - begin - a_last), scratch.data() + output);
                output = output_end;
            }
        });
        entries.swap(scratch);
        bounds = std::move(merged_bounds);
    }
}

template <typename Key>
std::unique_ptr<KaryArray<Key>> make_array(HostEngine &engine, const Workers &workers,
                                           const Buffer<Entry<Key>> &entries, std::uint64_t count) {
    Buffer<Key> keys(engine.memory(), Levels<Key>::padded(count));
    Buffer<Tid> tids(engine.memory(), count);
    workers.for_pieces(count, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t i = first; i < last; ++i) {
            keys[i] = entries[i].key;
            tids[i] = entries[i].tid;
        }
    });
    return std::make_unique<HostKaryArray<Key>>(engine, workers, std::move(keys), std::move(tids), count);
}

template <typename Key>
bool too_many(std::uint64_t count) {
    return count > Kary<Key>::max_entries;
}

Status too_many_entries() {
    return make_status(StatusCode::invalid_argument, "more entries than an array can hold");
}

}  // namespace

template <typename Key>
Status HostKary<Key>::build(Stream &stream, const Key *keys, const Tid *tids, std::uint64_t count,
                            std::unique_ptr<KaryArray<Key>> *array) noexcept {
    return guarded([&] {
        if (too_many<Key>(count)) {
            return too_many_entries();
        }
        const Workers workers = engine_.workers(stream);
        Buffer<Entry<Key>> entries(engine_.memory(), count);
        workers.for_pieces(count, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t i = first; i < last; ++i) {
                entries[i] = {keys[i], tids[i]};
            }
            std::sort(entries.data() + first, entries.data() + last);
        });
        std::vector<std::uint64_t> bounds;
        for (std::uint64_t bound = 0; bound < count; bound += entries_a_piece) {
            bounds.push_back(bound);
        }
        bounds.push_back(count);
        Buffer<Entry<Key>> scratch(engine_.memory(), bounds.size() > 2 ? count : 0);
        merge_pieces(workers, entries, scratch, std::move(bounds));
        scratch = {};
        *array = make_array(engine_, workers, entries, count);
        return Status{};
    });
}

template <typename Key>
Status HostKary<Key>::load(Stream &stream, const Key *keys, const Tid *tids, std::uint64_t count,
                           std::unique_ptr<KaryArray<Key>> *array) noexcept {
    return guarded([&] {
        if (too_many<Key>(count)) {
            return too_many_entries();
        }
        const Workers workers = engine_.workers(stream);
        Buffer<Key> own_keys(engine_.memory(), Levels<Key>::padded(count));
        Buffer<Tid> own_tids(engine_.memory(), count);
        std::atomic<bool> ordered = true;
        workers.for_pieces(count, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
            std::memcpy(own_keys.data() + first, keys + first, (last - first) * sizeof(Key));
            std::memcpy(own_tids.data() + first, tids + first, (last - first) * sizeof(Tid));
            for (std::uint64_t i = std::max<std::uint64_t>(first, 1); i < last; ++i) {
                if (Entry<Key>{keys[i], tids[i]} < Entry<Key>{keys[i - 1], tids[i - 1]}) {
                    ordered.store(false, std::memory_order_relaxed);
                }
            }
        });
        if (!ordered) {
            return make_status(StatusCode::invalid_argument, "the entries are not ordered by key and TID");
        }
        *array = std::make_unique<HostKaryArray<Key>>(engine_, workers, std::move(own_keys),
                                                      std::move(own_tids), count);
        return Status{};
    });
}

template <typename Key>
Status HostKary<Key>::merge(Stream &stream, const KaryArray<Key> *const *runs, std::size_t run_count,
                            std::unique_ptr<KaryArray<Key>> *array) noexcept {
    return guarded([&] {
        std::vector<const HostKaryArray<Key> *> arrays;
        std::vector<std::shared_ptr<const DeadBitmap>> dead;
        std::vector<std::uint64_t> bounds = {0};
        for (std::size_t i = 0; i < run_count; ++i) {
            const auto *run = dynamic_cast<const HostKaryArray<Key> *>(runs[i]);
            if (run == nullptr || &run->engine() != &engine_) {
                return make_status(StatusCode::invalid_argument, "a run to merge is another engine's");
            }
            arrays.push_back(run);
            dead.push_back(run->dead());
            bounds.push_back(bounds.back() + run->entries() - (dead.back() ? dead.back()->dead : 0));
        }
        const std::uint64_t count = bounds.back();
        if (too_many<Key>(count)) {
            return too_many_entries();
        }
        const Workers workers = engine_.workers(stream);
        Buffer<Entry<Key>> entries(engine_.memory(), count);
        for (std::size_t i = 0; i < arrays.size(); ++i) {
            const HostKaryArray<Key> &run = *arrays[i];
            workers.for_pieces(run.entries(), entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
                std::uint64_t output = bounds[i] + first - (dead[i] ? dead[i]->dead_before(first) : 0);
                for (std::uint64_t j = first; j < last; ++j) {
                    if (!dead[i] || !dead[i]->is_dead(j)) {
                        entries[output++] = {run.keys()[j], run.tids()[j]};
                    }
                }
            });
        }
        Buffer<Entry<Key>> scratch(engine_.memory(), run_count > 1 ? count : 0);
        merge_pieces(workers, entries, scratch, std::move(bounds));
        scratch = {};
        *array = make_array(engine_, workers, entries, count);
        return Status{};
    });
}

template class HostKary<std::uint32_t>;
template class HostKary<std::uint64_t>;
template class HostKary<Key128>;

}  // namespace gpu_engine::host
