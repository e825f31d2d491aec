// Dictionaries of numbers on the processor: the ways to merge two, and the removal of duplicates.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "studies/column/host/studies.h"
#include "gpu_engine/guard.h"
#include "host/buffer.h"
#include "host/column/merge/dictionary_merge.h"
#include "host/engine.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t entries_a_piece = 1 << 16;
// How many entries of main a slice has.
constexpr std::uint64_t slice_entries = 1 << 13;

// What a merge works on.
template <typename Entry>
struct MergeCall {
    MemoryBudget &budget;
    const Workers &workers;
    Dictionary<Entry> main;
    Dictionary<Entry> delta;
    MergedDictionary<Entry> merged;

    std::uint64_t total() const { return main.count + delta.count; }
};

template <typename Entry>
std::uint64_t merge_slices(const MergeCall<Entry> &call) {
    const std::uint64_t slices =
        std::max<std::uint64_t>((call.main.count + slice_entries - 1) / slice_entries, 1);
    const auto delta_bound = [&](std::uint64_t i) -> std::uint64_t {
        if (i == 0) {
            return 0;
        }
        if (i >= call.main.count) {
            return call.delta.count;
        }
        return static_cast<std::uint64_t>(std::lower_bound(call.delta.entries,
                                                           call.delta.entries + call.delta.count,
                                                           call.main.entries[i]) -
                                          call.delta.entries);
    };
    NumberEntries<Entry> entries{call.main.entries, call.delta.entries, call.merged.entries};
    return merge_parts(call.workers, entries, call.total(), slices, slices, call.merged.main_map,
                       call.merged.delta_map, [&](std::uint64_t slice) {
                           const std::uint64_t first = slice * slice_entries;
                           const std::uint64_t last = std::min(first + slice_entries, call.main.count);
                           const std::uint64_t delta_first = delta_bound(first);
                           return MergePart{first, last, delta_first,
                                            std::max(delta_first, delta_bound(first + slice_entries))};
                       });
}

// Calls assign(i, code, is_first) for each entry of `sorted`: the code of its kind, and whether it is the
// kind's first. Returns the number of kinds.
template <typename Entry, typename Value, typename Assign>
std::uint64_t number_kinds(const Workers &workers, const Entry *sorted, std::uint64_t count, Value value_of,
                           Assign assign) {
    const std::uint64_t pieces = (count + entries_a_piece - 1) / entries_a_piece;
    std::vector<std::uint64_t> codes(pieces);
    const auto is_first = [&](std::uint64_t i) {
        return i == 0 || value_of(sorted[i]) != value_of(sorted[i - 1]);
    };
    workers.for_pieces(count, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        std::uint64_t kinds = 0;
        for (std::uint64_t i = first; i < last; ++i) {
            kinds += is_first(i) ? 1 : 0;
        }
        codes[first / entries_a_piece] = kinds;
    });
    std::uint64_t kinds = 0;
    for (std::uint64_t &code : codes) {
        kinds += std::exchange(code, kinds);
    }
    workers.for_pieces(count, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        // The code of the entry before the piece.
        std::uint64_t code = codes[first / entries_a_piece];
        for (std::uint64_t i = first; i < last; ++i) {
            const bool is_new = is_first(i);
            code += is_new ? 1 : 0;
            assign(i, code - 1, is_new);
        }
    });
    return kinds;
}

// Makes the union and the maps of all entries, which are sorted.
template <typename Entry>
std::uint64_t unique_and_map(const MergeCall<Entry> &call, const Buffer<Entry> &sorted) {
    Entry *const merged = call.merged.entries;
    const std::uint64_t count = number_kinds(
        call.workers, sorted.data(), call.total(), [](const Entry &entry) { return entry; },
        [&](std::uint64_t i, std::uint64_t code, bool is_new) {
            if (is_new) {
                merged[code] = sorted[i];
            }
        });
    const auto map = [&](const Dictionary<Entry> &own, std::uint32_t *codes) {
        call.workers.for_pieces(own.count, entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t i = first; i < last; ++i) {
                codes[i] = static_cast<std::uint32_t>(
                    std::lower_bound(merged, merged + count, own.entries[i]) - merged);
            }
        });
    };
    map(call.main, call.merged.main_map);
    map(call.delta, call.merged.delta_map);
    return count;
}

template <typename Entry>
std::uint64_t merge_unique_map(const MergeCall<Entry> &call) {
    Buffer<Entry> sorted(call.budget, call.total());
    const Entry *const a = call.main.entries;
    const Entry *const b = call.delta.entries;
    const auto split = [&](std::uint64_t diagonal) {
        return merge_path(call.main.count, call.delta.count, diagonal,
                          [&](std::uint64_t i, std::uint64_t j) { return b[j] < a[i]; });
    };
    call.workers.for_pieces(call.total(), entries_a_piece, [&](std::uint64_t first, std::uint64_t last) {
        // Entries that don't ascend could split anywhere, so a piece is merged with as many entries as it
        // has.
        std::uint64_t i = split(first);
        std::uint64_t j = first - i;
        for (std::uint64_t place = first; place < last; ++place) {
            const bool takes_main = j >= call.delta.count || (i < call.main.count && !(b[j] < a[i]));
            sorted[place] = takes_main ? a[i++] : b[j++];
        }
    });
    return unique_and_map(call, sorted);
}

template <typename Entry>
std::uint64_t sort_unique_map(const MergeCall<Entry> &call) {
    Buffer<Entry> sorted(call.budget, call.total());
    std::copy_n(call.main.entries, call.main.count, sorted.data());
    std::copy_n(call.delta.entries, call.delta.count, sorted.data() + call.main.count);
    check_cancelled(call.workers.stream);
    call.workers.sort(sorted.data(), sorted.data() + call.total(), std::less<>());
    return unique_and_map(call, sorted);
}

template <typename Entry>
Status merge_dictionaries(HostEngine &engine, Stream &stream, const Dictionary<Entry> &main,
                          const Dictionary<Entry> &delta, MergeWay way, MergedDictionary<Entry> *merged) {
    return guarded([&] {
        check_merged_entries(main.count, delta.count);
        const Workers workers = engine.workers(stream);
        const MergeCall<Entry> call{engine.memory(), workers, main, delta, *merged};
        switch (way) {
            case MergeWay::fused:
                merge_numbers(workers, main, delta, merged);
                return Status{};
            case MergeWay::merge_unique_map:
                merged->count = merge_unique_map(call);
                return Status{};
            case MergeWay::sort_unique_map:
                merged->count = sort_unique_map(call);
                return Status{};
            case MergeWay::slices:
                merged->count = merge_slices(call);
                return Status{};
        }
        return make_status(StatusCode::invalid_argument, "there is no such way to merge dictionaries");
    });
}

template <typename Entry>
struct Row {
    Entry value;
    std::uint32_t row;

    friend bool operator<(const Row &a, const Row &b) noexcept { return a.value < b.value; }
};

template <typename Entry>
Status build_dictionary(HostEngine &engine, Stream &stream, const Entry *values, std::uint64_t count,
                        Entry *entries, std::uint32_t *codes, std::uint64_t *distinct) {
    return guarded([&] {
        check_merged_entries(count, 0);
        const Workers workers = engine.workers(stream);
        const auto sort = [&](auto &sorted) {
            check_cancelled(stream);
            workers.sort(sorted.data(), sorted.data() + count, std::less<>());
        };
        if (codes == nullptr) {
            Buffer<Entry> sorted(engine.memory(), count);
            std::copy_n(values, count, sorted.data());
            sort(sorted);
            *distinct = number_kinds(
                workers, sorted.data(), count, [](const Entry &entry) { return entry; },
                [&](std::uint64_t i, std::uint64_t code, bool is_new) {
                    if (is_new) {
                        entries[code] = sorted[i];
                    }
                });
            return Status{};
        }
        Buffer<Row<Entry>> sorted(engine.memory(), count);
        for (std::uint64_t i = 0; i < count; ++i) {
            sorted[i] = {values[i], static_cast<std::uint32_t>(i)};
        }
        sort(sorted);
        *distinct = number_kinds(
            workers, sorted.data(), count, [](const Row<Entry> &row) { return row.value; },
            [&](std::uint64_t i, std::uint64_t code, bool is_new) {
                codes[sorted[i].row] = static_cast<std::uint32_t>(code);
                if (is_new) {
                    entries[code] = sorted[i].value;
                }
            });
        return Status{};
    });
}

}  // namespace

Status HostDictionaries::merge(Stream &stream, const Dictionary<std::uint32_t> &main,
                               const Dictionary<std::uint32_t> &delta, MergeWay way,
                               MergedDictionary<std::uint32_t> *merged) noexcept {
    return merge_dictionaries(engine_, stream, main, delta, way, merged);
}
Status HostDictionaries::merge(Stream &stream, const Dictionary<std::uint64_t> &main,
                               const Dictionary<std::uint64_t> &delta, MergeWay way,
                               MergedDictionary<std::uint64_t> *merged) noexcept {
    return merge_dictionaries(engine_, stream, main, delta, way, merged);
}
Status HostDictionaries::merge(Stream &stream, const Dictionary<Key128> &main,
                               const Dictionary<Key128> &delta, MergeWay way,
                               MergedDictionary<Key128> *merged) noexcept {
    return merge_dictionaries(engine_, stream, main, delta, way, merged);
}
Status HostDictionaries::build(Stream &stream, const std::uint32_t *values, std::uint64_t count,
                               std::uint32_t *entries, std::uint32_t *codes,
                               std::uint64_t *distinct) noexcept {
    return build_dictionary(engine_, stream, values, count, entries, codes, distinct);
}
Status HostDictionaries::build(Stream &stream, const std::uint64_t *values, std::uint64_t count,
                               std::uint64_t *entries, std::uint32_t *codes,
                               std::uint64_t *distinct) noexcept {
    return build_dictionary(engine_, stream, values, count, entries, codes, distinct);
}
Status HostDictionaries::build(Stream &stream, const Key128 *values, std::uint64_t count, Key128 *entries,
                               std::uint32_t *codes, std::uint64_t *distinct) noexcept {
    return build_dictionary(engine_, stream, values, count, entries, codes, distinct);
}

}  // namespace gpu_engine::host
