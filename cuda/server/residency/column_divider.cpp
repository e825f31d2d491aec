#include "server/residency/column_divider.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "gpu_engine/guard.h"
#include "gpu_engine/tid_pages.h"

namespace gpu_engine::server {
namespace {

constexpr std::uint32_t head_words = sizeof(TidPageHead) / sizeof(std::uint64_t);

[[noreturn]] void contradict(const char *message) {
    throw Failure{make_status(StatusCode::invalid_argument, message)};
}

// The words that the values of rows from `first` on have in an area of a whole run's.
WordArea area_of_rows(const WordArea &area, std::uint64_t first, std::uint64_t rows,
                      std::uint64_t words_a_group) {
    const std::uint64_t words = packed_groups(rows) * words_a_group;
    return words == 0 ? WordArea{0, 0} : WordArea{area.first + first / packing::group * words_a_group, words};
}

// Returns a part's columns; areas are still those of the run's stream.
StoreLayout columns_of_rows(const StoreLayout &run, std::uint64_t first, std::uint64_t rows) {
    StoreLayout layout = run;
    layout.rows = rows;
    layout.stream_words = 0;
    for (std::uint32_t c = 0; c < run.columns; ++c) {
        StoredColumn &column = layout.column[c];
        column.codes = area_of_rows(column.codes, first, rows, column.bits);
        column.null_bits = area_of_rows(column.null_bits, first, rows, column.null_bits.words > 0 ? 1 : 0);
        if (column.encoding != ColumnEncoding::dictionary || column.strings != 0 ||
            column.dictionary.words == 0) {
            column.dictionary = {0, 0};
        }
        // The whole run's strings are kept once, whoever has its rows.
        column.string_bytes = 0;
        column.blocks = {0, 0};
        layout.stream_words += column.codes.words + column.null_bits.words + column.dictionary.words;
    }
    return layout;
}

}  // namespace

StoreLayout layout_of_rows(const StoreLayout &run, std::uint64_t rows) {
    StoreLayout layout = columns_of_rows(run, 0, std::max<std::uint64_t>(rows, 1));
    const double share = static_cast<double>(layout.rows) / static_cast<double>(run.rows);
    layout.tid_pages = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(static_cast<std::uint64_t>(run.tid_pages * share) + 1, layout.rows));
    // Only the sizes count here, so that the areas need no places of their own.
    for (std::uint32_t c = 0; c < layout.columns; ++c) {
        StoredColumn &column = layout.column[c];
        for (WordArea *area : {&column.codes, &column.null_bits, &column.dictionary}) {
            area->first = 0;
        }
    }
    return layout;
}

ColumnDivider::ColumnDivider(MemoryBudget &memory, const StoreLayout &run,
                             const std::vector<RunShare> &shares)
    : memory_(memory),
      counted_(std::uint64_t(run.tid_pages) * run.page_bytes +
               shares.size() * 2 * std::uint64_t(run.page_bytes)),
      run_(run),
      parts_(shares.size()) {
    for (std::size_t i = 0; i < shares.size(); ++i) {
        lay_out(shares[i], &parts_[i]);
    }
    if (!memory_.reserve(counted_)) {
        throw Failure{make_status(StatusCode::out_of_memory,
                                  "the limit of transfer buffers leaves no room for a run's TIDs")};
    }
}

ColumnDivider::~ColumnDivider() {
    memory_.release(counted_);
}

// Areas lie in a part's stream as in the run's, without what belongs to others. The part's words are made in
// that order.
void ColumnDivider::lay_out(const RunShare &share, Part *part) {
    part->first = share.first;
    part->layout = columns_of_rows(run_, share.first, share.entries);
    part->layout.tid_pages = 0;
    std::vector<WordArea *> areas;
    for (std::uint32_t c = 0; c < run_.columns; ++c) {
        StoredColumn &column = part->layout.column[c];
        for (WordArea *area : {&column.codes, &column.null_bits, &column.dictionary}) {
            if (area->words > 0) {
                areas.push_back(area);
            }
        }
    }
    std::sort(areas.begin(), areas.end(),
              [](const WordArea *one, const WordArea *other) { return one->first < other->first; });
    std::uint64_t to = 0;
    std::uint64_t end = 0;
    for (WordArea *area : areas) {
        if (area->first < end) {
            contradict("columns overlap");
        }
        end = area->first + area->words;
        part->areas.push_back({area->first, area->words});
        area->first = to;
        to += area->words;
    }
    part->page.resize(run_.page_bytes);
}

// ---- TIDs -------------------------------------------------------------------------------------------------

void ColumnDivider::take_tids(const char *images, std::uint32_t pages) {
    std::vector<std::uint64_t> words(run_.page_words);
    for (std::uint32_t page = 0; page < pages; ++page) {
        // The session may change the page meanwhile, so it is copied before it is looked at.
        std::memcpy(words.data(), images + std::uint64_t(page) * run_.page_bytes + run_.first_byte,
                    words.size() * sizeof(std::uint64_t));
        take_page_of_tids(words.data());
        ++tid_pages_;
    }
    if (has_all_tids() && rows_ != run_.rows) {
        contradict("a page of TIDs contradicts its run");
    }
}

void ColumnDivider::take_page_of_tids(const std::uint64_t *words) {
    constexpr char wrong[] = "a page of TIDs contradicts its run";
    TidPageHead head{};
    if (run_.page_words < head_words) {
        contradict(wrong);
    }
    std::memcpy(&head, words, sizeof(head));
    if (head.first != rows_ || head.entries > run_.rows - rows_ ||
        head.spans > run_.page_words - head_words) {
        contradict(wrong);
    }
    const std::uint64_t end = rows_ + head.entries;
    std::uint32_t word = head_words + head.spans;
    for (std::uint32_t i = 0; i < head.spans; ++i) {
        TidSpan span{};
        std::memcpy(&span, words + head_words + i, sizeof(span));
        const bool has_bitmap = (span.first & tid_bitmap_flag) != 0;
        const std::uint32_t bitmap_words = has_bitmap ? span.first & ~std::uint32_t(tid_bitmap_flag) : 0;
        if (span.count == 0 || span.count > end - rows_ || bitmap_words > run_.page_words - word) {
            contradict(wrong);
        }
        std::uint64_t bits = 0;
        for (std::uint32_t j = 0; j < bitmap_words; ++j) {
            bits += static_cast<std::uint64_t>(std::popcount(words[word + j]));
        }
        if (has_bitmap ? bits != span.count : span.first + span.count > tid_bitmap_flag) {
            contradict(wrong);
        }
        take_span(rows_, words[head_words + i], words + word, bitmap_words);
        word += bitmap_words;
        rows_ += span.count;
    }
    if (rows_ != end) {
        contradict(wrong);
    }
    // A part's rows of this page fit onto a page of its own.
    for (Part &part : parts_) {
        end_page_of_tids(&part);
    }
}

// Gives each part those of a span's rows that are its own.
void ColumnDivider::take_span(std::uint64_t row, std::uint64_t span, const std::uint64_t *bitmap,
                              std::uint32_t bitmap_words) {
    TidSpan whole{};
    std::memcpy(&whole, &span, sizeof(whole));
    for (Part &part : parts_) {
        const std::uint64_t from = std::max(row, part.first);
        const std::uint64_t to = std::min(row + whole.count, part.first + part.layout.rows);
        if (from >= to) {
            continue;
        }
        TidSpan own = whole;
        own.count = static_cast<std::uint16_t>(to - from);
        if ((whole.first & tid_bitmap_flag) == 0) {
            own.first = static_cast<std::uint16_t>(whole.first + (from - row));
        } else {
            std::uint64_t rank = row;
            for (std::uint32_t word = 0; word < bitmap_words; ++word) {
                std::uint64_t cached = 0;
                for (std::uint64_t bits = bitmap[word]; bits != 0; bits &= bits - 1, ++rank) {
                    cached |= rank >= from && rank < to ? bits & -bits : 0;
                }
                part.bitmaps.push_back(cached);
            }
        }
        std::uint64_t packed = 0;
        std::memcpy(&packed, &own, sizeof(own));
        part.spans.push_back(packed);
        part.page_rows += own.count;
    }
}

void ColumnDivider::end_page_of_tids(Part *part) {
    if (part->page_rows == 0) {
        return;
    }
    const TidPageHead head = {part->tid_rows, static_cast<std::uint32_t>(part->page_rows),
                              static_cast<std::uint32_t>(part->spans.size())};
    const std::size_t at = part->tids.size();
    part->tids.resize(at + run_.page_bytes);
    char *content = part->tids.data() + at + run_.first_byte;
    std::memcpy(content, &head, sizeof(head));
    content += sizeof(head);
    for (const std::vector<std::uint64_t> *words : {&part->spans, &part->bitmaps}) {
        if (!words->empty()) {
            std::memcpy(content, words->data(), words->size() * sizeof(std::uint64_t));
            content += words->size() * sizeof(std::uint64_t);
        }
    }
    part->tid_rows += part->page_rows;
    part->page_rows = 0;
    part->spans.clear();
    part->bitmaps.clear();
    ++part->layout.tid_pages;
}

std::vector<char> ColumnDivider::give_tids(std::size_t part) {
    return std::exchange(parts_[part].tids, {});
}

// ---- the stream -------------------------------------------------------------------------------------------

std::vector<char> ColumnDivider::cut(std::size_t part_number, const char *images, std::uint64_t first,
                                     std::uint32_t pages) {
    Part &part = parts_[part_number];
    std::vector<char> full;
    for (std::uint32_t page = 0; page < pages; ++page) {
        const std::uint64_t begin = (first + page) * run_.page_words;
        const std::uint64_t end = begin + run_.page_words;
        const char *content = images + std::uint64_t(page) * run_.page_bytes + run_.first_byte;
        for (const Area &area : part.areas) {
            const std::uint64_t from = std::max(area.first, begin);
            const std::uint64_t to = std::min(area.first + area.words, end);
            if (from < to) {
                append_words(&part, content + (from - begin) * sizeof(std::uint64_t), to - from, &full);
            }
        }
    }
    return full;
}

void ColumnDivider::append_words(Part *part, const char *words, std::uint64_t count,
                                 std::vector<char> *full) const {
    while (count > 0) {
        const std::uint64_t at = part->words % run_.page_words;
        const std::uint64_t here = std::min(count, run_.page_words - at);
        std::memcpy(part->page.data() + run_.first_byte + at * sizeof(std::uint64_t), words,
                    here * sizeof(std::uint64_t));
        words += here * sizeof(std::uint64_t);
        count -= here;
        part->words += here;
        if (at + here == run_.page_words || part->words == part->layout.stream_words) {
            full->insert(full->end(), part->page.begin(), part->page.end());
        }
    }
}

}  // namespace gpu_engine::server
