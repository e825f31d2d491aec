// Runs of columns for tests: rows, page images as src/column/format/format.h lays them out, and a plain
// reference.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "bench/strings/front_coding.h"
#include "gpu_engine/column.h"

namespace column_test {

using gpu_engine::ColumnEncoding;
using gpu_engine::StoredColumn;
using gpu_engine::StoreLayout;
using gpu_engine::Tid;
using Random = std::mt19937_64;

inline constexpr std::uint32_t page_bytes = 8192;
inline constexpr std::uint32_t first_byte = 24;
inline constexpr std::uint32_t page_words = 1019;

// A column of a run: its values (of strings: their places), nothing for NULL.
struct Column {
    ColumnEncoding encoding = ColumnEncoding::frame;
    bool strings = false;
    std::vector<std::optional<std::uint64_t>> values;
    // Of strings: what is at these places, in order. Empty: nobody wants them.
    std::vector<std::string> entries = {};
};

struct ColumnRun {
    std::vector<Column> columns;
    std::vector<std::uint64_t> places;  // heap block << 16 | offset number, ascending
    std::vector<bool> dead;

    std::size_t rows() const { return places.size(); }
    bool is_dead(std::size_t row) const { return !dead.empty() && dead[row]; }
};

inline std::uint32_t bits_for(std::uint64_t highest) {
    return highest == 0 ? 0 : static_cast<std::uint32_t>(64 - __builtin_clzll(highest));
}

inline std::uint64_t place_of(const Tid &tid) {
    return (std::uint64_t(tid.block_high) << 16 | tid.block_low) << 16 | tid.offset;
}

// Heap blocks with gaps; some full, others with some of their rows.
inline std::vector<std::uint64_t> make_places(std::size_t rows, Random &random) {
    std::vector<std::uint64_t> places;
    for (std::uint64_t block = random() % 3; places.size() < rows;
         block += 1 + (random() % 4 == 0 ? random() % 5 : 0)) {
        const std::uint64_t some = random() % 4;
        const std::uint64_t offsets = 1 + random() % 226;
        for (std::uint64_t offset = 1 + random() % 3; offset <= offsets && places.size() < rows; ++offset) {
            if (some != 0 || random() % 3 == 0) {
                places.push_back(block << 16 | offset);
            }
        }
    }
    return places;
}

// Its values in order, each once.
inline std::vector<std::uint64_t> distinct_values(const Column &column) {
    std::vector<std::uint64_t> values;
    for (const auto &value : column.values) {
        if (value) {
            values.push_back(*value);
        }
    }
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

// Codes of all rows.
inline std::vector<std::uint64_t> codes_of(const Column &column, const StoredColumn &stored) {
    std::vector<std::uint64_t> sorted;
    if (column.encoding == ColumnEncoding::dictionary) {
        sorted = distinct_values(column);
    }
    std::vector<std::uint64_t> codes;
    for (const auto &value : column.values) {
        codes.push_back(!value ? 0
                        : column.encoding == ColumnEncoding::dictionary
                            ? static_cast<std::uint64_t>(
                                  std::lower_bound(sorted.begin(), sorted.end(), *value) - sorted.begin())
                            : *value - stored.base);
    }
    return codes;
}

// A dictionary of strings, which the stream grows by.
inline void store_strings(const std::vector<std::string> &entries, StoredColumn *stored,
                          std::vector<std::uint64_t> *stream) {
    gpu_engine::bench::FrontCoded coded = gpu_engine::bench::front_code(entries);
    stored->string_bytes = coded.bytes.size();
    coded.bytes.resize((coded.bytes.size() + 7) / 8 * 8);
    stored->dictionary = {stream->size(), coded.bytes.size() / 8};
    stream->resize(stream->size() + stored->dictionary.words);
    std::memcpy(stream->data() + stored->dictionary.first, coded.bytes.data(), coded.bytes.size());
    stored->blocks = {stream->size(), coded.blocks.size()};
    stream->insert(stream->end(), coded.blocks.begin(), coded.blocks.end());
}

// A column's words of the stream, which grows by them.
inline StoredColumn store_column(const Column &column, std::vector<std::uint64_t> *stream) {
    const auto append_packed = [stream](std::vector<std::uint64_t> values, std::uint32_t bits) {
        static constexpr auto table = gpu_engine::packing::packers(std::make_index_sequence<65>{});
        gpu_engine::WordArea area = {stream->size(), gpu_engine::packed_groups(values.size()) * bits};
        values.resize(gpu_engine::packed_groups(values.size()) * 64);
        stream->resize(stream->size() + area.words + 64);
        for (std::size_t group = 0; group * 64 < values.size(); ++group) {
            table[bits](values.data() + group * 64, stream->data() + area.first + group * bits);
        }
        stream->resize(area.first + area.words);
        return area;
    };
    StoredColumn stored = {};
    stored.encoding = column.encoding;
    stored.strings = column.strings ? 1 : 0;
    const std::vector<std::uint64_t> sorted = distinct_values(column);
    const std::uint64_t least = sorted.empty() ? 0 : sorted.front();
    const std::uint64_t greatest = sorted.empty() ? 0 : sorted.back();
    stored.base = column.encoding == ColumnEncoding::plain || column.strings ? 0 : least;
    if (column.encoding == ColumnEncoding::dictionary) {
        stored.distinct = sorted.size();
        stored.bits = static_cast<std::uint8_t>(sorted.size() <= 1 ? 0 : bits_for(sorted.size() - 1));
        if (!column.strings) {
            stored.entry_bits = static_cast<std::uint8_t>(bits_for(greatest - least));
            std::vector<std::uint64_t> entries = sorted;
            for (std::uint64_t &entry : entries) {
                entry -= least;
            }
            stored.dictionary = append_packed(entries, stored.entry_bits);
        } else if (!column.entries.empty()) {
            store_strings(column.entries, &stored, stream);
        } else {
            // Strings, which a store leaves out.
            stored.dictionary = {stream->size(), 37};
            stream->resize(stream->size() + 37, 0x5a5a5a5a5a5a5a5a);
        }
    } else {
        stored.bits = static_cast<std::uint8_t>(
            column.encoding == ColumnEncoding::plain ? 64 : bits_for(greatest - least));
    }
    std::vector<std::uint64_t> nulls((column.values.size() + 63) / 64);
    for (std::size_t i = 0; i < column.values.size(); ++i) {
        nulls[i / 64] |= std::uint64_t(!column.values[i]) << (i % 64);
    }
    if (std::any_of(nulls.begin(), nulls.end(), [](std::uint64_t word) { return word != 0; })) {
        stored.null_bits = {stream->size(), nulls.size()};
        stream->insert(stream->end(), nulls.begin(), nulls.end());
    }
    stored.codes = append_packed(codes_of(column, stored), stored.bits);
    return stored;
}

struct Pages {
    StoreLayout layout = {};
    std::vector<char> images;

    std::uint64_t *content(std::size_t page) {
        return reinterpret_cast<std::uint64_t *>(images.data() + page * page_bytes + first_byte);
    }
    std::size_t count() const { return images.size() / page_bytes; }
};

// Spans of consecutive TIDs or bitmaps of one block each, as many as fit on a page.
inline std::vector<std::vector<std::uint64_t>> make_tid_pages(const ColumnRun &run) {
    std::vector<std::vector<std::uint64_t>> pages;
    std::vector<std::uint64_t> spans;
    std::vector<std::uint64_t> bitmaps;
    std::uint64_t first = 0;
    std::uint64_t entries = 0;
    const auto finish_page = [&] {
        std::vector<std::uint64_t> page = {first, entries | std::uint64_t(spans.size()) << 32};
        page.insert(page.end(), spans.begin(), spans.end());
        page.insert(page.end(), bitmaps.begin(), bitmaps.end());
        pages.push_back(page);
        first += entries;
        entries = 0;
        spans.clear();
        bitmaps.clear();
    };
    for (std::size_t row = 0; row < run.rows();) {
        const std::uint64_t block = run.places[row] >> 16;
        std::size_t end = row;
        while (end < run.rows() && run.places[end] >> 16 == block) {
            ++end;
        }
        const std::uint64_t low = run.places[row] & 0xffff;
        const std::uint64_t high = run.places[end - 1] & 0xffff;
        std::vector<std::uint64_t> bitmap;
        std::uint64_t number = low;
        if (high - low + 1 != end - row) {
            bitmap.resize((high + 63) / 64);
            for (std::size_t i = row; i < end; ++i) {
                const std::uint64_t bit = (run.places[i] & 0xffff) - 1;
                bitmap[bit / 64] |= std::uint64_t(1) << (bit % 64);
            }
            number = 0x8000 | bitmap.size();
        }
        if (2 + spans.size() + 1 + bitmaps.size() + bitmap.size() > page_words) {
            finish_page();
        }
        spans.push_back(block | std::uint64_t(end - row) << 32 | number << 48);
        bitmaps.insert(bitmaps.end(), bitmap.begin(), bitmap.end());
        entries += end - row;
        row = end;
    }
    finish_page();
    return pages;
}

inline Pages make_pages(const ColumnRun &run) {
    Pages pages;
    std::vector<std::uint64_t> stream;
    pages.layout.rows = run.rows();
    pages.layout.columns = static_cast<std::uint32_t>(run.columns.size());
    for (std::size_t c = 0; c < run.columns.size(); ++c) {
        pages.layout.column[c] = store_column(run.columns[c], &stream);
    }
    std::vector<std::vector<std::uint64_t>> contents = make_tid_pages(run);
    pages.layout.tid_pages = static_cast<std::uint32_t>(contents.size());
    pages.layout.stream_words = stream.size();
    pages.layout.page_bytes = page_bytes;
    pages.layout.first_byte = first_byte;
    pages.layout.page_words = page_words;
    for (std::size_t at = 0; at < stream.size(); at += page_words) {
        contents.emplace_back(stream.begin() + static_cast<std::ptrdiff_t>(at),
                              stream.begin() + static_cast<std::ptrdiff_t>(
                                                   std::min<std::size_t>(at + page_words, stream.size())));
    }
    pages.images.resize(contents.size() * page_bytes);
    for (std::size_t i = 0; i < contents.size(); ++i) {
        std::memcpy(pages.content(i), contents[i].data(), contents[i].size() * sizeof(std::uint64_t));
    }
    return pages;
}

// Columns of all encodings.
inline ColumnRun make_run(std::size_t rows, Random &random, bool with_nulls = true) {
    ColumnRun run;
    run.places = make_places(rows, random);
    const auto add = [&](ColumnEncoding encoding, bool strings, auto value) {
        Column column{encoding, strings, {}};
        for (std::size_t i = 0; i < rows; ++i) {
            if (with_nulls && run.columns.size() % 2 == 1 && random() % 9 == 0) {
                column.values.emplace_back();
            } else {
                column.values.emplace_back(value());
            }
        }
        run.columns.push_back(column);
    };
    add(ColumnEncoding::frame, false, [&] { return 1000 + random() % 700; });
    add(ColumnEncoding::dictionary, false, [&] { return (random() % 300) * 0x123456789abcd + 17; });
    add(ColumnEncoding::dictionary, true, [&] { return random() % 50; });
    add(ColumnEncoding::frame, false,
        [&] { return (std::uint64_t(1) << 63) + random() % (std::uint64_t(1) << 29); });
    add(ColumnEncoding::plain, false, [&] { return random(); });
    add(ColumnEncoding::frame, false, [&] { return std::uint64_t(42); });
    add(ColumnEncoding::frame, false, [&] { return random() % (std::uint64_t(1) << 41); });
    add(ColumnEncoding::dictionary, false, [&] { return random() % rows * 3; });
    add(ColumnEncoding::dictionary, false, [&] { return std::uint64_t(7); });
    return run;
}

inline std::vector<std::uint64_t> kill_some(ColumnRun *run, Random &random) {
    std::vector<std::uint64_t> words((run->rows() + 63) / 64);
    run->dead.assign(run->rows(), false);
    for (std::size_t i = 0; i < run->rows(); ++i) {
        if (random() % 6 == 0) {
            run->dead[i] = true;
            words[i / 64] |= std::uint64_t(1) << (i % 64);
        }
    }
    return words;
}

// ---- requests -------------------------------------------------------------------------------------------

struct RowTest {
    gpu_engine::TestKind kind;
    std::uint32_t column;
    std::vector<gpu_engine::ValueRange> ranges;
    std::vector<std::uint64_t> codes;

    gpu_engine::ColumnTest view() const {
        return {kind, column, ranges.data(), codes.data(),
                kind == gpu_engine::TestKind::ranges ? ranges.size() : codes.size()};
    }
};

inline bool passes(const RowTest &test, const std::optional<std::uint64_t> &value, std::uint64_t code) {
    switch (test.kind) {
        case gpu_engine::TestKind::is_null:
            return !value;
        case gpu_engine::TestKind::is_value:
            return value.has_value();
        case gpu_engine::TestKind::ranges:
            return value && std::any_of(test.ranges.begin(), test.ranges.end(), [&](const auto &range) {
                       return *value >= range.low && *value <= range.high;
                   });
        default:
            return value && code / 64 < test.codes.size() && (test.codes[code / 64] >> (code % 64) & 1) != 0;
    }
}

}  // namespace column_test
