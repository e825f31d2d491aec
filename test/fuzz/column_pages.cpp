#include <memory>
#include <vector>

#include "gpu_engine/column.h"

#include "engine.h"

namespace fuzz {
namespace {

using namespace gpu_engine;

constexpr std::uint32_t first_byte = 24;
constexpr std::uint32_t special_bytes = 16;

// The places of the stream's areas, one behind the other.
WordArea next_area(std::uint64_t words, StoreLayout *layout) {
    const WordArea area{layout->stream_words, words};
    layout->stream_words += words;
    return area;
}

// Columns that are sound, but for one number now and then.
StoreLayout compose_layout(Input &input) {
    StoreLayout layout{};
    layout.rows = 1 + input.take<std::uint16_t>() % 2000;
    layout.columns = 1 + input.take<std::uint8_t>() % 3;
    layout.page_words = 16 + input.take<std::uint8_t>() % 48;
    layout.first_byte = first_byte;
    layout.page_bytes = first_byte + layout.page_words * 8 + special_bytes;
    layout.tid_pages = 1 + input.take<std::uint8_t>() % 6;
    const std::uint64_t groups = packed_groups(layout.rows);
    for (std::uint32_t c = 0; c < layout.columns; ++c) {
        StoredColumn &column = layout.column[c];
        column.encoding = static_cast<ColumnEncoding>(1 + input.take<std::uint8_t>() % 3);
        column.bits = input.take<std::uint8_t>() % 65;
        const auto flags = input.take<std::uint8_t>();
        column.null_bits = next_area((flags & 1) != 0 ? groups : 0, &layout);
        if (column.encoding == ColumnEncoding::dictionary) {
            column.strings = (flags & 2) != 0 ? 1 : 0;
            column.distinct = input.take<std::uint16_t>() % (layout.rows + 1);
            column.bits = 0;
            while (column.distinct > 1 && (column.distinct - 1) >> column.bits != 0) {
                ++column.bits;
            }
            column.entry_bits = input.take<std::uint8_t>() % 65;
            column.dictionary = next_area(
                column.strings != 0 ? 0 : packed_groups(column.distinct) * column.entry_bits, &layout);
        }
        if (column.encoding != ColumnEncoding::plain) {
            column.base = input.take<std::uint64_t>();
        }
        column.codes = next_area(groups * column.bits, &layout);
        switch (flags >> 4) {
            case 1:
                column.bits = input.take<std::uint8_t>();
                break;
            case 2:
                column.codes.first = input.take<std::uint64_t>();
                break;
            case 3:
                column.distinct = input.take<std::uint64_t>();
                break;
            case 4:
                column.dictionary.words = input.take<std::uint64_t>();
                break;
            default:
                break;
        }
    }
    return layout;
}

// Pages of TIDs that hold all rows, a block for each span, as far as the pages go.
void write_tids(const StoreLayout &layout, std::uint64_t *images) {
    constexpr std::uint64_t most = 100;  // of a span
    std::uint64_t row = 0;
    for (std::uint32_t page = 0; page < layout.tid_pages; ++page) {
        std::uint64_t *content = images + (std::uint64_t(page) * layout.page_bytes + first_byte) / 8;
        const std::uint64_t first = row;
        std::uint64_t spans = 0;
        for (; row < layout.rows && 2 + spans < layout.page_words; ++spans) {
            const std::uint64_t count = layout.rows - row < most ? layout.rows - row : most;
            // The block, the count, and the first offset number.
            content[2 + spans] = (row / most) | count << 32 | std::uint64_t(1) << 48;
            row += count;
        }
        content[0] = first;
        content[1] = (row - first) | spans << 32;
    }
}

// Requests that must be answered, whatever the pages' codes say.
void submit(Stream &stream, const ColumnStore &store, Input &input) {
    const std::uint64_t rows = store.entries();
    ColumnTarget target{};
    target.kind = TargetKind::rows;
    std::uint64_t found = 0;
    std::vector<std::uint64_t> counts(2);
    require(store.count(stream, nullptr, 0, target, nullptr, counts.data(), nullptr, 0, &found).ok(),
            "no count");
    require(counts[0] == rows && found == 0, "the count of everything lacks rows");
    std::vector<Tid> tids(rows);
    require(store.match(stream, nullptr, 0, tids.data(), rows, &found).ok() && found == rows,
            "what matches everything lacks rows");

    const std::uint64_t words[2] = {input.take<std::uint64_t>(), input.take<std::uint64_t>()};
    const ValueRange range{words[0] < words[1] ? words[0] : words[1],
                           words[0] < words[1] ? words[1] : words[0]};
    const BlockGroup group{input.take<std::uint8_t>(), input.take<std::uint8_t>(), 0};
    const std::uint64_t seen[4] = {words[0], words[1], UINT64_MAX, 0};
    std::unique_ptr<HeapBlocks> blocks;
    require(host_engine().keep_blocks(stream, {&group, 1, seen, 4, 1}, &blocks).ok(), "no heap blocks");
    std::vector<UnresolvedRow> unresolved(rows);
    for (std::uint32_t c = 0; c < store.layout().columns; ++c) {
        for (const TestKind kind :
             {TestKind::is_null, TestKind::is_value, TestKind::ranges, TestKind::codes}) {
            const ColumnTest test{kind, c, &range, words, kind == TestKind::ranges ? 1U : 2U};
            for (const TargetKind counted :
                 {TargetKind::rows, TargetKind::bins, TargetKind::codes, TargetKind::bounds}) {
                target = {counted, c, 3, ValueScale::integers, &range.low, 2, 0};
                const std::uint64_t places = store.places(target);
                counts.assign(places + 1, 0);
                const Status status = store.count(stream, &test, 1, target, blocks.get(), counts.data(),
                                                  unresolved.data(), rows, &found);
                require(!status.ok() || found <= rows, "more rows than there are");
                require(status.ok() || status.code == StatusCode::invalid_argument, status.message);
            }
            const Status status = store.match(stream, &test, 1, tids.data(), rows, &found);
            require(!status.ok() || found <= rows, "more rows than there are");
        }
    }
}

}  // namespace

void column_pages(const std::uint8_t *data, std::size_t size) {
    const std::unique_ptr<Stream> stream = host_stream();

    Input input(data, size);
    const StoreLayout layout = compose_layout(input);
    const bool valid_tids = input.take<std::uint8_t>() % 4 != 0;
    Input requests(data, size);
    std::unique_ptr<ColumnLoader> loader;
    if (!host_engine().column().open_loader(*stream, layout, &loader).ok()) {
        return;
    }
    const std::uint64_t pages = layout.pages();
    std::vector<std::uint64_t> images(pages * layout.page_bytes / 8);
    input.take_bytes(images.data(), images.size() * 8);
    if (valid_tids) {
        write_tids(layout, images.data());
    }
    std::unique_ptr<ColumnStore> store;
    if (!loader->append_pages(*stream, images.data(), static_cast<std::uint32_t>(pages)).ok() ||
        !loader->finish(*stream, &store).ok()) {
        return;
    }
    require(store->entries() == layout.rows, "rows were lost");
    submit(*stream, *store, requests);
}

}  // namespace fuzz
