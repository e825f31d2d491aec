// Text indexes in the making: sections of a run from page images.
#include <atomic>
#include <cstring>

#include "common/text/text.h"
#include "gpu_engine/guard.h"
#include "host/engine.h"
#include "host/text/index.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint64_t pages_a_piece = 64;

class HostTextLoader final : public TextLoader {
  public:
    HostTextLoader(HostEngine &engine, const TextShape &shape) : engine_(engine) {
        parts_.shape = shape;
        parts_.postings = Buffer<std::uint8_t>(engine.memory(), shape.posting_bytes + postings::kPadding);
        std::memset(parts_.postings.data() + shape.posting_bytes, 0, postings::kPadding);
        parts_.lengths = Buffer<std::uint32_t>(engine.memory(), shape.documents);
        parts_.tids = Buffer<Tid>(engine.memory(), shape.documents);
    }

    std::uint32_t loaded_documents() const noexcept override {
        return static_cast<std::uint32_t>(loaded_documents_);
    }

    Status append_postings(Stream &stream, const TextPages &pages) noexcept override {
        return guarded([&] {
            std::uint64_t count;
            require_ok(check_text_pages(pages, pages.content_bytes, parts_.shape.posting_bytes, loaded_bytes_,
                                        &count));
            for_each_page(stream, pages, pages.content_bytes, count,
                          [&](const std::uint8_t *content, std::uint64_t first, std::uint64_t here) {
                              std::memcpy(parts_.postings.data() + loaded_bytes_ + first, content, here);
                          });
            loaded_bytes_ += count;
            return Status{};
        });
    }

    Status append_documents(Stream &stream, const TextPages &pages) noexcept override {
        return guarded([&] {
            const std::uint64_t a_page = pages.content_bytes / text_document_bytes;
            std::uint64_t count;
            require_ok(check_text_pages(pages, a_page, parts_.shape.documents, loaded_documents_, &count));
            for_each_page(stream, pages, a_page, count,
                          [&](const std::uint8_t *content, std::uint64_t first, std::uint64_t here) {
                              read_documents(content, loaded_documents_ + first, here);
                          });
            std::atomic<bool> descend = false;
            const std::uint64_t first = loaded_documents_ > 0 ? loaded_documents_ : 1;
            const std::uint64_t end = loaded_documents_ + count;
            constexpr std::uint64_t grain = 1 << 18;
            engine_.workers(stream).for_pieces(end > first ? end - first : 0, grain,
                                               [&](std::uint64_t from, std::uint64_t to) {
                                                   for (std::uint64_t i = first + from; i < first + to; ++i) {
                                                       if (parts_.tids[i] < parts_.tids[i - 1]) {
                                                           descend.store(true, std::memory_order_relaxed);
                                                       }
                                                   }
                                               });
            if (descend) {
                return tids_descend();
            }
            loaded_documents_ = end;
            return Status{};
        });
    }

    Status finish(Stream &, std::unique_ptr<TextIndex> *index) noexcept override {
        return guarded([&] {
            if (loaded_bytes_ != parts_.shape.posting_bytes || loaded_documents_ != parts_.shape.documents) {
                return make_status(StatusCode::invalid_argument, "parts of the run are missing");
            }
            *index = std::make_unique<HostTextIndex>(engine_, std::move(parts_));
            return Status{};
        });
    }

  private:
    // Calls take(content, first, count) for each page; `first` of the `count` parts of all pages came before
    // it.
    template <typename Take>
    void for_each_page(const Stream &stream, const TextPages &pages, std::uint64_t a_page,
                       std::uint64_t count, const Take &take) {
        const auto *content = static_cast<const std::uint8_t *>(pages.images) + pages.first_byte;
        engine_.workers(stream).for_pieces(
            pages.pages, pages_a_piece, [&](std::uint64_t first, std::uint64_t last) {
                for (std::uint64_t i = first; i < last; ++i) {
                    const std::uint64_t before = i * a_page;
                    take(content + i * pages.page_bytes, before, std::min(a_page, count - before));
                }
            });
    }

    void read_documents(const std::uint8_t *content, std::uint64_t first, std::uint64_t count) {
        std::memcpy(parts_.tids.data() + first, content, count * sizeof(Tid));
        const std::uint8_t *lengths = content + count * sizeof(Tid);
        for (std::uint64_t i = 0; i < count; ++i, lengths += text_length_bytes) {
            parts_.lengths[first + i] = static_cast<std::uint32_t>(lengths[0]) |
                                        static_cast<std::uint32_t>(lengths[1]) << 8 |
                                        static_cast<std::uint32_t>(lengths[2]) << 16;
        }
    }

    HostEngine &engine_;
    TextParts parts_;
    std::uint64_t loaded_bytes_ = 0;
    std::uint64_t loaded_documents_ = 0;
};

}  // namespace

std::uint64_t HostText::index_bytes(const TextShape &shape) const noexcept {
    return Buffer<std::uint8_t>::bytes_for(shape.posting_bytes + postings::kPadding) +
           Buffer<std::uint32_t>::bytes_for(shape.documents) + Buffer<Tid>::bytes_for(shape.documents);
}

Status HostText::open_loader(Stream &, const TextShape &shape, std::unique_ptr<TextLoader> *loader) noexcept {
    return guarded([&] {
        const Status status = check_text_shape(shape);
        if (status.ok()) {
            *loader = std::make_unique<HostTextLoader>(engine_, shape);
        }
        return status;
    });
}

}  // namespace gpu_engine::host
