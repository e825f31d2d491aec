// Columns in the making: page images of a run.
#include <cstring>
#include <vector>

#include "gpu_engine/guard.h"
#include "host/column/load/store.h"
#include "host/engine.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t pieces_at_once = 32;

class HostColumnLoader final : public ColumnLoader {
  public:
    HostColumnLoader(HostEngine &engine, const StoreLayout &layout)
        : engine_(engine), parts_(engine.memory(), layout), page_(layout.page_words) {}

    const StoreLayout &layout() const noexcept override { return parts_.layout; }
    std::uint64_t loaded_pages() const noexcept override { return loaded_; }

    Status append_pages(Stream &stream, const void *images, std::uint32_t pages) noexcept override {
        const SpanCount count = parts_.count;
        const Status status = guarded([&] {
            const StoreLayout &layout = parts_.layout;
            if (pages > layout.pages() - loaded_) {
                return make_status(StatusCode::invalid_argument, "the run has fewer pages");
            }
            check_cancelled(stream);
            const char *content = static_cast<const char *>(images) + layout.first_byte;
            const auto words_at = [&](std::uint64_t page) {
                return reinterpret_cast<const std::uint64_t *>(content + page * layout.page_bytes);
            };
            std::uint64_t done = 0;
            for (; done < pages && loaded_ + done < layout.tid_pages; ++done) {
                const Status parsed = parse_tid_page(
                    words_at(done), layout.page_words, layout.rows, page_.data(), &parts_.count,
                    parts_.spans.data() + parts_.count.spans, parts_.bitmaps.data() + parts_.count.words);
                if (!parsed.ok()) {
                    return parsed;
                }
            }
            const std::vector<KeptPiece> pieces =
                pieces_of_pages(layout, parts_.kept, loaded_ + done - layout.tid_pages, pages - done);
            engine_.workers(stream).for_pieces(
                pieces.size(), pieces_at_once, [&](std::uint64_t first, std::uint64_t last) {
                    for (std::uint64_t i = first; i < last; ++i) {
                        const KeptPiece &piece = pieces[i];
                        std::memcpy(parts_.words.data() + piece.to, words_at(done + piece.page) + piece.at,
                                    piece.words * sizeof(std::uint64_t));
                    }
                });
            loaded_ += pages;
            return Status{};
        });
        // The caller may try the same pages again when memory was lacking, and they go to the same places.
        if (!status.ok()) {
            parts_.count = count;
        }
        return status;
    }

    Status finish(Stream &, std::unique_ptr<ColumnStore> *store) noexcept override {
        return guarded([&] {
            if (loaded_ != parts_.layout.pages() || parts_.count.rows != parts_.layout.rows) {
                return make_status(StatusCode::invalid_argument, "pages of the run are missing");
            }
            *store = std::make_unique<HostColumnStore>(engine_, std::move(parts_));
            return Status{};
        });
    }

  private:
    HostEngine &engine_;
    StoreParts parts_;
    std::vector<std::uint64_t> page_;
    std::uint64_t loaded_ = 0;
};

}  // namespace

Status HostColumn::open_loader(Stream &, const StoreLayout &layout,
                               std::unique_ptr<ColumnLoader> *loader) noexcept {
    return guarded([&] {
        const Status status = check_store_layout(layout);
        if (status.ok()) {
            *loader = std::make_unique<HostColumnLoader>(engine_, layout);
        }
        return status;
    });
}

std::uint64_t HostColumn::store_bytes(const StoreLayout &layout) const noexcept {
    std::uint64_t bytes = 0;
    static_cast<void>(guarded([&] {
        const Status status = check_store_layout(layout);
        if (status.ok()) {
            bytes = Buffer<std::uint64_t>::bytes_for(keep_stream(layout).words) +
                    Buffer<Span>::bytes_for(max_span_words(layout)) +
                    Buffer<std::uint64_t>::bytes_for(max_span_words(layout));
        }
        return status;
    }));
    return bytes;
}

}  // namespace gpu_engine::host
