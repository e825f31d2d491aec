// The merge of two dictionaries along the merge path, union and both maps at once, for entries of any kind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/merge_path.h"
#include "gpu_engine/column_dictionary.h"
#include "host/parallel.h"

namespace gpu_engine::host {

inline constexpr std::uint64_t merged_a_piece = 1 << 15;
// Pieces are first counted and then written. So many are counted at once that they are still in a cache when
// they are written.
inline constexpr std::uint64_t pieces_a_wave = 16;

inline constexpr char not_sorted[] = "the entries of a dictionary don't ascend";

inline void check_merged_entries(std::uint64_t main_count, std::uint64_t delta_count) {
    if (main_count > max_dictionary_entries || delta_count > max_dictionary_entries - main_count) {
        throw Failure{
            make_status(StatusCode::invalid_argument, "more entries than a merged dictionary can hold")};
    }
}

// A part of both dictionaries. Entries of delta's that equal main's last entry before the part belong to it
// too.
struct MergePart {
    std::uint64_t main_first;
    std::uint64_t main_last;
    std::uint64_t delta_first;
    std::uint64_t delta_last;
};

// Merges a part. `entries` compares delta's entry j with main's entry i: before(j, i), same(j, i). It calls
// take_main(i, code) and take_delta(j, code, is_new) with codes from `code` on, and returns the code behind
// the last.
template <typename Entries, typename TakeMain, typename TakeDelta>
std::uint64_t merge_part(const Entries &entries, const MergePart &part, std::uint64_t code,
                         TakeMain take_main, TakeDelta take_delta) {
    std::uint64_t i = part.main_first;
    std::uint64_t j = part.delta_first;
    while (i < part.main_last && j < part.delta_last) {
        if (!entries.before(j, i)) {
            take_main(i++, code++);
        } else if (i > 0 && entries.same(j, i - 1)) {
            take_delta(j++, code - 1, false);
        } else {
            take_delta(j++, code++, true);
        }
    }
    while (i < part.main_last) {
        take_main(i++, code++);
    }
    if (j < part.delta_last && i > 0 && entries.same(j, i - 1)) {
        take_delta(j++, code - 1, false);
    }
    while (j < part.delta_last) {
        take_delta(j++, code++, true);
    }
    return code;
}

template <typename Entries>
std::uint64_t count_part(const Entries &entries, const MergePart &part) {
    const auto nothing = [](auto...) {};
    return merge_part(entries, part, 0, nothing, nothing);
}

// Writes the maps, and by entries.emit_main(i, code) and entries.emit_delta(j, code) the union.
template <typename Entries>
void write_part(Entries &entries, const MergePart &part, std::uint64_t code, std::uint32_t *main_map,
                std::uint32_t *delta_map) {
    merge_part(
        entries, part, code,
        [&](std::uint64_t i, std::uint64_t new_code) {
            main_map[i] = static_cast<std::uint32_t>(new_code);
            entries.emit_main(i, new_code);
        },
        [&](std::uint64_t j, std::uint64_t new_code, bool is_new) {
            delta_map[j] = static_cast<std::uint32_t>(new_code);
            if (is_new) {
                entries.emit_delta(j, new_code);
            }
        });
}

// Counts and writes `parts` parts of `total` entries in waves; part_of(p) is part p. Returns the number of
// entries of the union.
template <typename Entries, typename PartOf>
std::uint64_t merge_parts(const Workers &workers, Entries &entries, std::uint64_t total, std::uint64_t parts,
                          std::uint64_t parts_a_wave, std::uint32_t *main_map, std::uint32_t *delta_map,
                          PartOf part_of) {
    std::vector<MergePart> wave(std::min(parts, parts_a_wave));
    std::vector<std::uint64_t> codes(wave.size());
    std::uint64_t code = 0;
    std::uint64_t left = total;
    for (std::uint64_t begin = 0; begin < parts; begin += parts_a_wave) {
        const std::uint64_t size = std::min(parts_a_wave, parts - begin);
        workers.for_pieces(size, 1, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t p = first; p < last; ++p) {
                wave[p] = part_of(begin + p);
                codes[p] = count_part(entries, wave[p]);
            }
        });
        for (std::uint64_t p = 0; p < size; ++p) {
            code += std::exchange(codes[p], code);
            const std::uint64_t length =
                wave[p].main_last - wave[p].main_first + wave[p].delta_last - wave[p].delta_first;
            if (length > left) {
                throw Failure{make_status(StatusCode::invalid_argument, not_sorted)};
            }
            left -= length;
        }
        workers.for_pieces(size, 1, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t p = first; p < last; ++p) {
                write_part(entries, wave[p], codes[p], main_map, delta_map);
            }
        });
    }
    return code;
}

template <typename Entries>
std::uint64_t merge_fused(const Workers &workers, Entries &entries, std::uint64_t main_count,
                          std::uint64_t delta_count, std::uint32_t *main_map, std::uint32_t *delta_map) {
    const std::uint64_t total = main_count + delta_count;
    const auto split = [&](std::uint64_t diagonal) {
        return merge_path(main_count, delta_count, std::min(diagonal, total),
                          [&](std::uint64_t i, std::uint64_t j) { return entries.before(j, i); });
    };
    return merge_parts(workers, entries, total, (total + merged_a_piece - 1) / merged_a_piece, pieces_a_wave,
                       main_map, delta_map, [&](std::uint64_t piece) {
                           const std::uint64_t first = piece * merged_a_piece;
                           const std::uint64_t last = std::min(first + merged_a_piece, total);
                           const std::uint64_t main_first = split(first);
                           // The part lies within both dictionaries even where these are not sorted.
                           const std::uint64_t main_last = std::max(main_first, split(last));
                           return MergePart{main_first, main_last, first - main_first,
                                            std::max(first - main_first, last - main_last)};
                       });
}

template <typename Entry>
struct NumberEntries {
    const Entry *main;
    const Entry *delta;
    Entry *merged;

    bool before(std::uint64_t j, std::uint64_t i) const { return delta[j] < main[i]; }
    bool same(std::uint64_t j, std::uint64_t i) const { return delta[j] == main[i]; }
    void emit_main(std::uint64_t i, std::uint64_t code) { merged[code] = main[i]; }
    void emit_delta(std::uint64_t j, std::uint64_t code) { merged[code] = delta[j]; }
};

template <typename Entry>
void merge_numbers(const Workers &workers, const Dictionary<Entry> &main, const Dictionary<Entry> &delta,
                   MergedDictionary<Entry> *merged) {
    NumberEntries<Entry> entries{main.entries, delta.entries, merged->entries};
    merged->count =
        merge_fused(workers, entries, main.count, delta.count, merged->main_map, merged->delta_map);
}

}  // namespace gpu_engine::host
