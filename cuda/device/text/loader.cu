// Text indexes in the making: sections of a run from page images.
#include "device/text/index.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {
namespace {

constexpr std::uint64_t piece_bytes = std::uint64_t(32) << 20;

// Reads `count` documents, `a_page` on each page but the last.
__global__ void read_documents_kernel(const unsigned char *contents, std::uint64_t page_bytes,
                                      std::uint32_t a_page, std::uint32_t count, Tid *tids,
                                      std::uint32_t *lengths, std::uint16_t *short_lengths) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const std::uint32_t page = i / a_page;
    const std::uint32_t at = i % a_page;
    const std::uint32_t here = min(count - page * a_page, a_page);
    const unsigned char *content = contents + page * page_bytes;
    const unsigned char *tid = content + at * sizeof(Tid);
    const auto half = [tid](int byte) { return static_cast<std::uint16_t>(tid[byte] | tid[byte + 1] << 8); };
    tids[i] = Tid{half(0), half(2), half(4)};
    const unsigned char *length = content + here * sizeof(Tid) + at * text_length_bytes;
    const std::uint32_t whole = static_cast<std::uint32_t>(length[0]) |
                                static_cast<std::uint32_t>(length[1]) << 8 |
                                static_cast<std::uint32_t>(length[2]) << 16;
    lengths[i] = whole;
    short_lengths[i] = static_cast<std::uint16_t>(min(whole, highest_short_length));
}

// Checks the order of the documents from `first` on, and of the one before them.
__global__ void check_order_kernel(const Tid *tids, std::uint32_t first, std::uint32_t end,
                                   std::uint32_t *descend) {
    const std::uint32_t i = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < end && tid_number(tids[i]) < tid_number(tids[i - 1])) {
        *descend = 1;
    }
}

class DeviceTextLoader final : public TextLoader {
  public:
    DeviceTextLoader(const Call &call, const TextShape &shape) : engine_(call.engine()) {
        parts_.shape = shape;
        parts_.postings = call.buffer<char>(shape.posting_bytes + posting_padding);
        parts_.lengths = call.buffer<std::uint32_t>(shape.documents);
        parts_.short_lengths = call.buffer<std::uint16_t>(shape.documents);
        parts_.tids = call.buffer<Tid>(shape.documents);
        call.fill(parts_.postings.data() + shape.posting_bytes, 0, posting_padding);
        call.wait();
        // The loader may outlive the stream.
        parts_.postings.set_stream(engine_.release_stream());
        parts_.lengths.set_stream(engine_.release_stream());
        parts_.short_lengths.set_stream(engine_.release_stream());
        parts_.tids.set_stream(engine_.release_stream());
    }

    std::uint32_t loaded_documents() const noexcept override { return loaded_documents_; }

    Status append_postings(Stream &stream, const TextPages &pages) noexcept override {
        return guarded([&] {
            std::uint64_t count;
            require_ok(check_text_pages(pages, pages.content_bytes, parts_.shape.posting_bytes, loaded_bytes_,
                                        &count));
            const Call call(engine_, stream);
            const char *content = static_cast<const char *>(pages.images) + pages.first_byte;
            char *to = parts_.postings.data() + loaded_bytes_;
            const std::uint64_t whole = count / pages.content_bytes;
            const std::uint64_t piece = piece_bytes / pages.page_bytes;
            for (std::uint64_t first = 0; first < whole; first += piece) {
                const std::uint64_t size = whole - first < piece ? whole - first : piece;
                check(cudaMemcpy2DAsync(to + first * pages.content_bytes, pages.content_bytes,
                                        content + first * pages.page_bytes, pages.page_bytes,
                                        pages.content_bytes, size, cudaMemcpyDefault, call.stream()),
                      "cudaMemcpy2DAsync");
                call.wait();
            }
            call.copy(to + whole * pages.content_bytes, content + whole * pages.page_bytes,
                      count % pages.content_bytes);
            call.wait();
            loaded_bytes_ += count;
            return Status{};
        });
    }

    Status append_documents(Stream &stream, const TextPages &pages) noexcept override {
        return guarded([&] {
            const std::uint64_t a_page = pages.content_bytes / text_document_bytes;
            std::uint64_t count;
            require_ok(check_text_pages(pages, a_page, parts_.shape.documents, loaded_documents_, &count));
            const Call call(engine_, stream);
            const std::uint64_t bytes = std::uint64_t(pages.pages) * pages.page_bytes;
            const std::uint64_t piece = piece_bytes / pages.page_bytes;
            const Input<unsigned char> input(call, static_cast<const unsigned char *>(pages.images), bytes,
                                             piece * pages.page_bytes);
            for (std::uint64_t first = 0; first < pages.pages; first += piece) {
                const std::uint64_t size = pages.pages - first < piece ? pages.pages - first : piece;
                const unsigned char *contents =
                    input.piece(first * pages.page_bytes, size * pages.page_bytes) + pages.first_byte;
                const std::uint64_t before = first * a_page;
                const std::uint64_t here = count - before < size * a_page ? count - before : size * a_page;
                const std::uint64_t to = loaded_documents_ + before;
                read_documents_kernel<<<blocks_for(here), threads_a_block, 0, call.stream()>>>(
                    contents, pages.page_bytes, static_cast<std::uint32_t>(a_page),
                    static_cast<std::uint32_t>(here), parts_.tids.data() + to, parts_.lengths.data() + to,
                    parts_.short_lengths.data() + to);
                check_launch("read_documents_kernel");
                call.wait();
            }
            const Buffer<std::uint32_t> descend = call.buffer<std::uint32_t>(1);
            call.fill(descend.data(), 0, sizeof(std::uint32_t));
            if (count > 0) {
                check_order_kernel<<<blocks_for(count), threads_a_block, 0, call.stream()>>>(
                    parts_.tids.data(), loaded_documents_,
                    static_cast<std::uint32_t>(loaded_documents_ + count), descend.data());
                check_launch("check_order_kernel");
            }
            std::uint32_t found = 0;
            call.read(&found, descend.data(), 1);
            if (found != 0) {
                return tids_descend();
            }
            loaded_documents_ += static_cast<std::uint32_t>(count);
            return Status{};
        });
    }

    Status finish(Stream &stream, std::unique_ptr<TextIndex> *index) noexcept override {
        return guarded([&] {
            if (loaded_bytes_ != parts_.shape.posting_bytes || loaded_documents_ != parts_.shape.documents) {
                return make_status(StatusCode::invalid_argument, "parts of the run are missing");
            }
            const Call call(engine_, stream);
            call.wait();
            *index = std::make_unique<DeviceTextIndex>(engine_, std::move(parts_));
            return Status{};
        });
    }

  private:
    DeviceEngine &engine_;
    TextParts parts_;
    std::uint64_t loaded_bytes_ = 0;
    std::uint32_t loaded_documents_ = 0;
};

std::uint64_t taken(std::uint64_t bytes) {
    return (bytes + Memory::alignment - 1) / Memory::alignment * Memory::alignment;
}

}  // namespace

std::uint64_t DeviceText::index_bytes(const TextShape &shape) const noexcept {
    return taken(shape.posting_bytes + posting_padding) +
           taken(shape.documents * std::uint64_t(sizeof(std::uint32_t))) +
           taken(shape.documents * std::uint64_t(sizeof(std::uint16_t))) +
           taken(shape.documents * std::uint64_t(sizeof(Tid)));
}

Status DeviceText::open_loader(Stream &stream, const TextShape &shape,
                               std::unique_ptr<TextLoader> *loader) noexcept {
    return guarded([&] {
        const Status status = check_text_shape(shape);
        if (status.ok()) {
            const Call call(engine_, stream);
            *loader = std::make_unique<DeviceTextLoader>(call, shape);
        }
        return status;
    });
}

}  // namespace gpu_engine::device
