// Columns in the making: page images of a run. TIDs are taken apart by the processor, which they keep busy
// for a tenth of a byte a row; the stream's words are moved to their places by the device.
#include <algorithm>
#include <vector>

#include "device/column/load/store.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {
namespace {

constexpr std::uint64_t piece_bytes = std::uint64_t(32) << 20;

// A block copies one piece.
__global__ void keep_pieces_kernel(const std::uint64_t *contents, std::uint64_t page_words,
                                   const KeptPiece *pieces, std::uint64_t *words) {
    const KeptPiece piece = pieces[blockIdx.x];
    const std::uint64_t *from = contents + piece.page * page_words + piece.at;
    for (std::uint32_t i = threadIdx.x; i < piece.words; i += blockDim.x) {
        words[piece.to + i] = from[i];
    }
}

class DeviceColumnLoader final : public ColumnLoader {
  public:
    DeviceColumnLoader(const Call &call, const StoreLayout &layout)
        : engine_(call.engine()), parts_(call, layout), page_(layout.page_words) {
        call.fill(parts_.words.data(), 0, parts_.words.size() * sizeof(std::uint64_t));
        call.wait();
        // The loader may outlive the stream.
        parts_.words.set_stream(engine_.release_stream());
        parts_.spans.set_stream(engine_.release_stream());
        parts_.bitmaps.set_stream(engine_.release_stream());
    }

    const StoreLayout &layout() const noexcept override { return parts_.layout; }
    std::uint64_t loaded_pages() const noexcept override { return loaded_; }

    Status append_pages(Stream &stream, const void *images, std::uint32_t pages) noexcept override {
        const SpanCount count = parts_.count;
        const std::uint64_t loaded = loaded_;
        const Status status = guarded([&] {
            const StoreLayout &layout = parts_.layout;
            if (pages > layout.pages() - loaded_) {
                return make_status(StatusCode::invalid_argument, "the run has fewer pages");
            }
            const Call call(engine_, stream);
            const auto *bytes = static_cast<const unsigned char *>(images);
            const std::uint64_t tid_pages =
                loaded_ < layout.tid_pages ? std::min<std::uint64_t>(pages, layout.tid_pages - loaded_) : 0;
            parse_tids(call, bytes, tid_pages);
            loaded_ += tid_pages;
            const std::uint64_t rest = pages - tid_pages;
            const std::uint64_t piece_pages = piece_bytes / layout.page_bytes;
            const Input<unsigned char> input(call, bytes + tid_pages * layout.page_bytes,
                                             rest * layout.page_bytes, piece_pages * layout.page_bytes);
            for (std::uint64_t first = 0; first < rest; first += piece_pages) {
                const std::uint64_t size = std::min(rest - first, piece_pages);
                keep_stream_pages(call, input.piece(first * layout.page_bytes, size * layout.page_bytes),
                                  size);
                loaded_ += size;
            }
            return Status{};
        });
        // The caller may try the same pages again when memory was lacking, and they go to the same places.
        if (!status.ok()) {
            parts_.count = count;
            loaded_ = loaded;
        }
        return status;
    }

    Status finish(Stream &, std::unique_ptr<ColumnStore> *store) noexcept override {
        return guarded([&] {
            if (loaded_ != parts_.layout.pages() || parts_.count.rows != parts_.layout.rows) {
                return make_status(StatusCode::invalid_argument, "pages of the run are missing");
            }
            *store = std::make_unique<DeviceColumnStore>(engine_, std::move(parts_));
            return Status{};
        });
    }

  private:
    void parse_tids(const Call &call, const unsigned char *bytes, std::uint64_t pages) {
        if (pages == 0) {
            return;
        }
        const StoreLayout &layout = parts_.layout;
        const SpanCount before = parts_.count;
        std::vector<Span> spans(pages * layout.page_words);
        std::vector<std::uint64_t> bitmaps(pages * layout.page_words);
        for (std::uint64_t page = 0; page < pages; ++page) {
            require_ok(parse_tid_page(
                reinterpret_cast<const std::uint64_t *>(bytes + page * layout.page_bytes + layout.first_byte),
                layout.page_words, layout.rows, page_.data(), &parts_.count,
                spans.data() + (parts_.count.spans - before.spans),
                bitmaps.data() + (parts_.count.words - before.words)));
        }
        call.copy(parts_.spans.data() + before.spans, static_cast<const Span *>(spans.data()),
                  parts_.count.spans - before.spans);
        call.copy(parts_.bitmaps.data() + before.words, static_cast<const std::uint64_t *>(bitmaps.data()),
                  parts_.count.words - before.words);
        call.wait();
    }

    // Keeps pages that lie on the device, the next of the stream.
    void keep_stream_pages(const Call &call, const unsigned char *bytes, std::uint64_t pages) {
        const StoreLayout &layout = parts_.layout;
        const std::vector<KeptPiece> pieces =
            pieces_of_pages(layout, parts_.kept, loaded_ - layout.tid_pages, pages);
        if (!pieces.empty()) {
            const Buffer<KeptPiece> device_pieces = call.buffer<KeptPiece>(pieces.size());
            call.copy(device_pieces.data(), pieces.data(), pieces.size());
            keep_pieces_kernel<<<static_cast<unsigned>(pieces.size()), threads_a_block, 0, call.stream()>>>(
                reinterpret_cast<const std::uint64_t *>(bytes + layout.first_byte), layout.page_bytes / 8,
                device_pieces.data(), parts_.words.data());
            check_launch("keep_pieces_kernel");
        }
        // The processor's array ends here, and the next pages take these pages' place.
        call.wait();
    }

    DeviceEngine &engine_;
    StoreParts parts_;
    std::vector<std::uint64_t> page_;
    std::uint64_t loaded_ = 0;
};

}  // namespace

Status DeviceColumn::open_loader(Stream &stream, const StoreLayout &layout,
                                 std::unique_ptr<ColumnLoader> *loader) noexcept {
    return guarded([&] {
        const Status status = check_store_layout(layout);
        if (status.ok()) {
            const Call call(engine_, stream);
            *loader = std::make_unique<DeviceColumnLoader>(call, layout);
        }
        return status;
    });
}

std::uint64_t DeviceColumn::store_bytes(const StoreLayout &layout) const noexcept {
    std::uint64_t bytes = 0;
    static_cast<void>(guarded([&] {
        const Status status = check_store_layout(layout);
        if (status.ok()) {
            bytes = keep_stream(layout).words * sizeof(std::uint64_t) +
                    max_span_words(layout) * (sizeof(Span) + sizeof(std::uint64_t)) + 3 * Memory::alignment;
        }
        return status;
    }));
    return bytes;
}

}  // namespace gpu_engine::device
