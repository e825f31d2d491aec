// Dictionaries of strings in the making: page images of a run, whose other pages are left out.
#include <cstring>
#include <vector>

#include "gpu_engine/guard.h"
#include "host/engine.h"
#include "host/strings/run_strings.h"

namespace gpu_engine::host {
namespace {

class HostStringsLoader final : public StringsLoader {
  public:
    HostStringsLoader(HostEngine &engine, const StoreLayout &layout)
        : layout_(layout), kept_(keep_strings(layout)), words_(engine.memory(), kept_.words) {}

    Status append_pages(const void *images, std::uint32_t pages) noexcept override {
        return guarded([&] {
            if (pages > layout_.pages() - loaded_) {
                return make_status(StatusCode::invalid_argument, "the run has fewer pages");
            }
            const std::uint64_t tid_pages =
                loaded_ < layout_.tid_pages ? std::min<std::uint64_t>(pages, layout_.tid_pages - loaded_) : 0;
            const char *content =
                static_cast<const char *>(images) + tid_pages * layout_.page_bytes + layout_.first_byte;
            for (const KeptPiece &piece : pieces_of_pages(
                     layout_, kept_, loaded_ + tid_pages - layout_.tid_pages, pages - tid_pages)) {
                std::memcpy(words_.data() + piece.to,
                            content + std::uint64_t(piece.page) * layout_.page_bytes +
                                piece.at * sizeof(std::uint64_t),
                            piece.words * sizeof(std::uint64_t));
            }
            loaded_ += pages;
            return Status{};
        });
    }

    Status finish(std::shared_ptr<const RunStrings> *strings) noexcept override {
        return guarded([&] {
            if (loaded_ != layout_.pages()) {
                return make_status(StatusCode::invalid_argument, "pages of the run are missing");
            }
            *strings = std::make_shared<const HostRunStrings>(layout_, kept_, std::move(words_));
            return Status{};
        });
    }

  private:
    const StoreLayout layout_;
    const KeptStream kept_;
    Buffer<std::uint64_t> words_;
    std::uint64_t loaded_ = 0;
};

}  // namespace

std::uint64_t HostStrings::bytes_of(const StoreLayout &layout) const noexcept {
    std::uint64_t bytes = 0;
    static_cast<void>(guarded([&] {
        const Status status = check_store_layout(layout);
        if (status.ok()) {
            bytes = Buffer<std::uint64_t>::bytes_for(keep_strings(layout).words);
        }
        return status;
    }));
    return bytes;
}

Status HostStrings::open_loader(const StoreLayout &layout, std::unique_ptr<StringsLoader> *loader) noexcept {
    return guarded([&] {
        const Status status = check_store_layout(layout);
        if (status.ok()) {
            *loader = std::make_unique<HostStringsLoader>(engine_, layout);
        }
        return status;
    });
}

}  // namespace gpu_engine::host
