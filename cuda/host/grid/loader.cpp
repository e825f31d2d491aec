// Grid files in the making: entries from page images.
#include <atomic>
#include <cstring>
#include <vector>

#include "common/grid/pages.h"
#include "gpu_engine/guard.h"
#include "host/engine.h"
#include "host/grid/file.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t pages_a_piece = 64;

class HostGridLoader final : public GridLoader {
  public:
    HostGridLoader(HostEngine &engine, const GridPageColumns &columns, std::uint64_t entries)
        : engine_(engine),
          columns_(columns),
          entries_(entries),
          nulls_(engine.memory(), entries),
          tids_(engine.memory(), entries) {
        for (std::uint32_t c = 0; c < columns.columns; ++c) {
            keys_[c] = Buffer<char>(engine.memory(), entries * columns.key_bytes[c]);
        }
    }

    std::uint64_t entries() const noexcept override { return entries_; }
    std::uint64_t loaded() const noexcept override { return loaded_; }

    Status append_pages(Stream &stream, const GridPages &pages) noexcept override {
        return guarded([&] {
            require_ok(check_grid_pages(pages));
            const char *content = static_cast<const char *>(pages.images) + pages.first_byte;
            std::vector<GridPageHead> heads(pages.pages);
            for (std::uint64_t i = 0; i < pages.pages; ++i) {
                std::memcpy(&heads[i], content + i * pages.page_bytes, sizeof(GridPageHead));
            }
            std::vector<std::uint32_t> begins(pages.pages);
            std::uint64_t found;
            require_ok(sum_grid_pages(heads.data(), pages.pages, arrays(), loaded_, entries_, begins.data(),
                                      &found));
            const std::uint32_t words = (pages.page_bytes - pages.first_byte) / 8;
            engine_.workers(stream).for_pieces(
                pages.pages, pages_a_piece, [&](std::uint64_t first, std::uint64_t last) {
                    for (std::uint64_t i = first; i < last; ++i) {
                        parse_page(reinterpret_cast<const std::uint64_t *>(content + i * pages.page_bytes),
                                   words, heads[i].count, begins[i]);
                    }
                });
            loaded_ += found;
            return Status{};
        });
    }

    Status finish(Stream &stream, const GridOptions &options,
                  std::unique_ptr<GridFile> *file) noexcept override {
        if (loaded_ != entries_) {
            return make_status(StatusCode::invalid_argument, "entries of the grid are missing");
        }
        const GridEntries entries =
            entries_of_arrays(columns_, keys_, has_nulls_ ? nulls_.data() : nullptr, tids_.data(), entries_);
        return engine_.grid().build(stream, entries, options, file);
    }

  private:
    std::uint32_t arrays() const noexcept { return grid_page_keys + columns_.columns; }

    // Throws Failure when the page cannot be one.
    void parse_page(const std::uint64_t *content, std::uint32_t words, std::uint32_t count,
                    std::uint64_t begin) {
        GridPageArrays page;
        if (!open_grid_page(content, words, count, arrays(), &page)) {
            throw Failure{contradicted_by_page()};
        }
        // These bits are set in some value, though no value may have them.
        std::uint64_t excess = 0;
        std::uint32_t all_nulls = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint64_t block = grid_page_value(content, page, grid_page_blocks, i);
            const std::uint64_t offset = grid_page_value(content, page, grid_page_offsets, i);
            const std::uint64_t nulls = grid_page_value(content, page, grid_page_nulls, i);
            excess |= block >> 32 | offset >> 16 | nulls >> 8;
            tids_[begin + i] = {static_cast<std::uint16_t>(block >> 16), static_cast<std::uint16_t>(block),
                                static_cast<std::uint16_t>(offset)};
            all_nulls |= nulls_[begin + i] = grid_null_mask(columns_, nulls);
        }
        if (all_nulls != 0) {
            has_nulls_.store(true, std::memory_order_relaxed);
        }
        for (std::uint32_t c = 0; c < columns_.columns; ++c) {
            if (columns_.key_bytes[c] == 8) {
                auto *keys = reinterpret_cast<std::uint64_t *>(keys_[c].data()) + begin;
                for (std::uint32_t i = 0; i < count; ++i) {
                    keys[i] = grid_page_value(content, page, grid_page_keys + c, i);
                }
                continue;
            }
            auto *keys = reinterpret_cast<std::uint32_t *>(keys_[c].data()) + begin;
            for (std::uint32_t i = 0; i < count; ++i) {
                const std::uint64_t key = grid_page_value(content, page, grid_page_keys + c, i);
                // The key of an entry that is NULL may be anything.
                excess |= (nulls_[begin + i] >> c & 1) != 0 ? 0 : key >> 32;
                keys[i] = static_cast<std::uint32_t>(key);
            }
        }
        if (excess != 0) {
            throw Failure{contradicted_by_page()};
        }
    }

    HostEngine &engine_;
    const GridPageColumns columns_;
    const std::uint64_t entries_;
    std::uint64_t loaded_ = 0;
    std::atomic<bool> has_nulls_ = false;
    Buffer<char> keys_[max_grid_columns];
    Buffer<std::uint8_t> nulls_;
    Buffer<Tid> tids_;
};

}  // namespace

Status HostGrid::open_loader(Stream &, const GridPageColumns &columns, std::uint64_t entries,
                             std::unique_ptr<GridLoader> *loader) noexcept {
    return guarded([&] {
        const Status status = check_page_columns(columns, entries);
        if (status.ok()) {
            *loader = std::make_unique<HostGridLoader>(engine_, columns, entries);
        }
        return status;
    });
}

}  // namespace gpu_engine::host
