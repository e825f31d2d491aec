#include "bench/query/rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "gpu_engine/guard.h"
#include "gpu_engine/packing.h"

namespace gpu_engine::bench {
namespace {

constexpr std::uint32_t page_bytes = 8192;
constexpr std::uint32_t first_byte = 24;
constexpr std::uint32_t page_words = 1019;
constexpr std::uint64_t rows_a_block = 64;
constexpr std::uint64_t pages_a_portion = 4096;

std::uint64_t mix(std::uint64_t number) {
    number += 0x9e3779b97f4a7c15;
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
    number = (number ^ number >> 27) * 0x94d049bb133111eb;
    return number ^ number >> 31;
}

// Hands words over page by page.
class Pages {
  public:
    Pages(ColumnLoader &loader, Stream &stream) : loader_(loader), stream_(stream) {
        images_.reserve(pages_a_portion * page_bytes);
    }

    void append(const std::uint64_t *words, std::uint64_t count) {
        while (count > 0) {
            if (used_ == page_words) {
                begin_page();
            }
            const std::uint64_t here = std::min<std::uint64_t>(count, page_words - used_);
            std::memcpy(images_.data() + images_.size() - page_bytes + first_byte + used_ * 8, words,
                        here * 8);
            used_ += here;
            words += here;
            count -= here;
        }
    }
    // Has the next bytes begin a page.
    void finish_page() { used_ = page_words; }
    void finish() {
        const auto pages = static_cast<std::uint32_t>(images_.size() / page_bytes);
        const Status status = loader_.append_pages(stream_, images_.data(), pages);
        if (!status.ok()) {
            throw Failure{status};
        }
        images_.clear();
    }

  private:
    void begin_page() {
        if (images_.size() == pages_a_portion * page_bytes) {
            finish();
        }
        images_.resize(images_.size() + page_bytes);
        used_ = 0;
    }

    ColumnLoader &loader_;
    Stream &stream_;
    std::vector<char> images_;
    std::uint64_t used_ = page_words;
};

// Appends blocks of consecutive TIDs.
void append_tids(Pages *pages, std::uint64_t rows) {
    const std::uint64_t blocks_a_page = page_words - 2;
    for (std::uint64_t first = 0; first < rows;) {
        std::vector<std::uint64_t> page(2);
        const std::uint64_t begin = first;
        while (first < rows && page.size() < blocks_a_page + 2) {
            const std::uint64_t here = std::min(rows_a_block, rows - first);
            page.push_back(first / rows_a_block | here << 32 | std::uint64_t(1) << 48);
            first += here;
        }
        page[0] = begin;
        page[1] = (first - begin) | (page.size() - 2) << 32;
        pages->finish_page();
        pages->append(page.data(), page.size());
    }
    pages->finish_page();
}

StoreLayout lay_out(std::uint64_t rows_here, std::uint64_t rows) {
    StoreLayout layout = {};
    layout.rows = rows_here;
    layout.columns = fact_columns;
    layout.page_bytes = page_bytes;
    layout.first_byte = first_byte;
    layout.page_words = page_words;
    const std::uint64_t blocks = (rows_here + rows_a_block - 1) / rows_a_block;
    layout.tid_pages = static_cast<std::uint32_t>((blocks + page_words - 3) / (page_words - 2));
    for (std::uint32_t c = 0; c < fact_columns; ++c) {
        StoredColumn &stored = layout.column[c];
        stored.encoding = ColumnEncoding::frame;
        stored.bits = static_cast<std::uint8_t>(bits_of(static_cast<FactColumn>(c), rows));
        const std::uint64_t words = (rows_here + packing::group - 1) / packing::group * stored.bits;
        stored.codes = {layout.stream_words, words};
        layout.stream_words += words;
    }
    return layout;
}

}  // namespace

std::uint64_t codes_of(FactColumn column, std::uint64_t rows) {
    const std::uint64_t scale = std::max<std::uint64_t>(rows / 6000000, 1);
    switch (column) {
        case discount:
            return 11;
        case tax:
            return 9;
        case priority:
            return 5;
        case quantity:
            return 50;
        case extended_price:
        case revenue:
            return std::uint64_t(1) << 24;
        case customer:
            return 30000 * scale;
        case part:
            return 200000 * scale;
        case order:
            return rows / 4 + 1;
        case supplier:
            return 2000 * scale;
        case date:
            return 2406;
        case line_number:
            return 7;
        case supply_cost:
            return std::uint64_t(1) << 17;
        default:
            return std::uint64_t(1) << 40;
    }
}

std::uint32_t bits_of(FactColumn column, std::uint64_t rows) {
    return static_cast<std::uint32_t>(std::bit_width(codes_of(column, rows) - 1));
}

std::uint64_t code_of(FactColumn column, std::uint64_t row, std::uint64_t rows) {
    if (column == order) {
        return row / 4;
    }
    const std::uint64_t random = mix(row * 16 + column);
    return column == wide_key ? mix(random % 1000000) >> 24 : random % codes_of(column, rows);
}

std::unique_ptr<ColumnStore> make_fact_run(Column &columns, Stream &stream, std::uint64_t first,
                                           std::uint64_t last, std::uint64_t rows) {
    static constexpr auto table = packing::packers(std::make_index_sequence<65>{});
    const StoreLayout layout = lay_out(last - first, rows);
    std::unique_ptr<ColumnLoader> loader;
    Status status = columns.open_loader(stream, layout, &loader);
    if (!status.ok()) {
        throw Failure{status};
    }
    Pages pages(*loader, stream);
    append_tids(&pages, last - first);
    for (std::uint32_t c = 0; c < fact_columns; ++c) {
        for (std::uint64_t begin = first; begin < last; begin += packing::group) {
            std::uint64_t values[packing::group] = {};
            std::uint64_t words[packing::group] = {};
            for (std::uint64_t i = 0; i < packing::group && begin + i < last; ++i) {
                values[i] = code_of(static_cast<FactColumn>(c), begin + i, rows);
            }
            table[layout.column[c].bits](values, words);
            pages.append(words, layout.column[c].bits);
        }
    }
    pages.finish();
    std::unique_ptr<ColumnStore> store;
    status = loader->finish(stream, &store);
    if (!status.ok()) {
        throw Failure{status};
    }
    return store;
}

}  // namespace gpu_engine::bench
