#include <algorithm>
#include <memory>
#include <vector>

#include "gpu_engine/grid.h"

#include "engine.h"

namespace fuzz {
namespace {

constexpr std::uint32_t page_bytes = 512;

}  // namespace

// A run of small pages with as many entries as their heads say; what is accepted is built and asked.
void grid_pages(const std::uint8_t *data, std::size_t size) {
    using namespace gpu_engine;
    const std::unique_ptr<Stream> stream = host_stream();

    Input input(data, size);
    GridPageColumns columns{};
    columns.columns = 1 + input.take<std::uint8_t>() % max_grid_columns;
    const auto widths = input.take<std::uint8_t>();
    for (std::uint32_t c = 0; c < columns.columns; ++c) {
        columns.key_bytes[c] = (widths >> c & 1) != 0 ? 8 : 4;
        columns.null_bit[c] = c;
    }
    GridOptions options;
    options.bucket = 1 + input.take<std::uint8_t>() % 32;
    options.unsplit = input.take<std::uint8_t>();
    const std::uint32_t pages = 1 + input.take<std::uint8_t>() % 4;
    std::vector<std::uint64_t> images(pages * page_bytes / 8);
    input.take_bytes(images.data(), images.size() * 8);
    // Entries are as many as the heads claim, so that inputs come past the first check.
    std::uint64_t entries = 0;
    for (std::uint32_t page = 0; page < pages; ++page) {
        std::uint16_t count;
        std::memcpy(&count, reinterpret_cast<const char *>(images.data()) + page * page_bytes + 24 + 8, 2);
        entries += count;
    }
    entries = std::min<std::uint64_t>(entries, 10000);

    std::unique_ptr<GridLoader> loader;
    if (!host_engine().grid().open_loader(*stream, columns, entries, &loader).ok()) {
        return;
    }
    const GridPages run{images.data(), pages, page_bytes, 24};
    if (!loader->append_pages(*stream, run).ok()) {
        require(loader->loaded() == 0, "pages were refused, and entries have come");
        return;
    }
    require(loader->loaded() <= entries, "more has come than there is");
    std::unique_ptr<GridFile> file;
    if (loader->loaded() != entries || !loader->finish(*stream, options, &file).ok()) {
        return;
    }
    require(file->entries() == entries, "entries were lost");
    // A box that takes everything.
    GridBoxes boxes{};
    const std::uint8_t open = 0xff;
    boxes.open = &open;
    std::uint64_t keys[max_grid_columns] = {};
    for (std::uint32_t c = 0; c < columns.columns; ++c) {
        boxes.low[c] = &keys[c];
        boxes.high[c] = &keys[c];
    }
    std::uint32_t count = 0;
    require(file->count(*stream, boxes, 1, &count).ok(), "no count");
    require(count == entries, "the box of everything lacks entries");
    std::uint64_t offsets[2];
    std::vector<Tid> tids(entries);
    require(file->search(*stream, boxes, 1, offsets, tids.data(), entries).ok(), "no search");
    require(offsets[1] == entries, "the search lacks entries");
}

}  // namespace fuzz
