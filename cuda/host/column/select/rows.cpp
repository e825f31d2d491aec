#include "host/column/select/rows.h"

#include "host/column/select/tests.h"

namespace gpu_engine::host {

using packing::group;

void select_live(const StoreParts &parts, const DeadBitmap *dead, std::uint64_t first, std::uint64_t groups,
                 std::uint64_t *selected) {
    const std::uint64_t rows = parts.layout.rows;
    for (std::uint64_t i = 0; i < groups; ++i) {
        const std::uint64_t rest = rows - (first + i) * group;
        selected[i] = rest < group ? (std::uint64_t(1) << rest) - 1 : UINT64_MAX;
        if (dead != nullptr) {
            selected[i] &= ~dead->words[first + i];
        }
    }
}

namespace {

void set_bits(std::uint64_t *words, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t word = begin / 64; word * 64 < end; ++word) {
        std::uint64_t bits = UINT64_MAX;
        if (word == begin / 64) {
            bits <<= begin % 64;
        }
        if (end < word * 64 + 64) {
            bits &= (std::uint64_t(1) << (end % 64)) - 1;
        }
        words[word] |= bits;
    }
}

// Sets `count` bits, at most 64, from bit `first` on.
void add_bits(std::uint64_t *words, std::uint64_t first, std::uint32_t count, std::uint64_t bits) {
    bits &= low_bits(count);
    words[first / 64] |= bits << (first % 64);
    if (first % 64 + count > 64) {
        words[first / 64 + 1] |= bits >> (64 - first % 64);
    }
}

// Sets the bits of those rows [from, to) of a span on a known block that are visible; bit 0 is row
// `begin`.
void add_visible(const StoreParts &parts, const KnownBlocks &known, const Span &span,
                 const std::uint64_t *rows, std::uint64_t begin, std::uint64_t from, std::uint64_t to,
                 std::uint64_t *visible) {
    if (span.bitmap_words == 0) {
        for (std::uint64_t row = from; row < to; row += 64) {
            add_bits(visible, row - begin, static_cast<std::uint32_t>(std::min<std::uint64_t>(to - row, 64)),
                     rows_from(known, rows, span.first - 1U + static_cast<std::uint32_t>(row - span.row)));
        }
        return;
    }
    std::uint64_t row = span.row;
    for (std::uint32_t word = 0; word < span.bitmap_words && row < to; ++word) {
        const std::uint64_t places = parts.bitmaps[span.bitmap + word];
        const std::uint64_t next = row + count_bits(places);
        const std::uint64_t first = std::max(row, from);
        const std::uint64_t last = std::min(next, to);
        if (first < last) {
            const std::uint64_t bits = gather_bits(word < known.row_words ? rows[word] : 0, places);
            add_bits(visible, first - begin, static_cast<std::uint32_t>(last - first), bits >> (first - row));
        }
        row = next;
    }
}

// Finds which rows are visible, and which lie on blocks of which that isn't known.
void select_visible(const StoreParts &parts, const KnownBlocks &known, std::uint64_t first,
                    std::uint64_t groups, std::uint64_t *visible, std::uint64_t *unknown) {
    std::fill_n(visible, groups, 0);
    std::fill_n(unknown, groups, 0);
    const std::uint64_t begin = first * group;
    const std::uint64_t end = std::min(begin + groups * group, parts.layout.rows);
    for_spans(parts, begin, end, [&](const Span &span, std::uint64_t from, std::uint64_t to) {
        const BlockState state = state_of(known, span.block);
        if (state.rows != nullptr) {
            add_visible(parts, known, span, state.rows, begin, from, to, visible);
        } else {
            set_bits(state.all_visible ? visible : unknown, from - begin, to - begin);
        }
    });
}

}  // namespace

bool split_unresolved(const StoreParts &parts, const KnownBlocks &known, std::uint64_t first,
                      std::uint64_t groups, std::uint64_t *selected, std::uint64_t *unresolved) {
    std::uint64_t visible[batch_groups];
    select_visible(parts, known, first, groups, visible, unresolved);
    std::uint64_t any = 0;
    for (std::uint64_t i = 0; i < groups; ++i) {
        unresolved[i] &= selected[i];
        selected[i] &= visible[i];
        any |= unresolved[i];
    }
    return any != 0;
}

}  // namespace gpu_engine::host
