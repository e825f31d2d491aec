// Grid files in the making: entries from page images.
#include <vector>

#include "common/grid/pages.h"
#include "device/call.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {
namespace {

constexpr std::uint64_t piece_bytes = std::uint64_t(32) << 20;

// The fault that a kernel finds on pages.
constexpr std::uint32_t contradiction = 1;
constexpr std::uint32_t has_null = 2;

struct LoadedColumns {
    GridPageColumns columns;
    void *keys[max_grid_columns];
    std::uint8_t *nulls;
    Tid *tids;
};

__global__ void copy_heads_kernel(const unsigned char *contents, std::uint64_t page_bytes,
                                  std::uint32_t pages, GridPageHead *heads) {
    const std::uint32_t page = blockIdx.x * blockDim.x + threadIdx.x;
    if (page < pages) {
        heads[page] = *reinterpret_cast<const GridPageHead *>(contents + page * page_bytes);
    }
}

// A block takes one page, whose entries go to positions from begins[page] on.
__global__ void parse_grid_pages_kernel(const unsigned char *contents, std::uint64_t page_bytes,
                                        std::uint32_t words, const GridPageHead *heads,
                                        const std::uint32_t *begins, LoadedColumns loaded,
                                        std::uint32_t *findings) {
    __shared__ GridPageArrays page;
    __shared__ bool is_page;
    const auto *content = reinterpret_cast<const std::uint64_t *>(contents + blockIdx.x * page_bytes);
    const std::uint32_t count = heads[blockIdx.x].count;
    const std::uint32_t columns = loaded.columns.columns;
    if (threadIdx.x == 0) {
        is_page = open_grid_page(content, words, count, grid_page_keys + columns, &page);
        if (!is_page) {
            atomicOr(findings, contradiction);
        }
    }
    __syncthreads();
    if (!is_page) {
        return;
    }
    const std::uint64_t begin = begins[blockIdx.x];
    std::uint64_t excess = 0;
    std::uint32_t all_nulls = 0;
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
        const std::uint64_t block = grid_page_value(content, page, grid_page_blocks, i);
        const std::uint64_t offset = grid_page_value(content, page, grid_page_offsets, i);
        const std::uint64_t page_nulls = grid_page_value(content, page, grid_page_nulls, i);
        excess |= block >> 32 | offset >> 16 | page_nulls >> 8;
        loaded.tids[begin + i] = Tid{static_cast<std::uint16_t>(block >> 16),
                                     static_cast<std::uint16_t>(block), static_cast<std::uint16_t>(offset)};
        const std::uint8_t nulls = grid_null_mask(loaded.columns, page_nulls);
        loaded.nulls[begin + i] = nulls;
        all_nulls |= nulls;
        for (std::uint32_t c = 0; c < columns; ++c) {
            const std::uint64_t key = grid_page_value(content, page, grid_page_keys + c, i);
            if (loaded.columns.key_bytes[c] == 8) {
                static_cast<std::uint64_t *>(loaded.keys[c])[begin + i] = key;
            } else {
                // The key of an entry that is NULL may be anything.
                excess |= (nulls >> c & 1) != 0 ? 0 : key >> 32;
                static_cast<std::uint32_t *>(loaded.keys[c])[begin + i] = static_cast<std::uint32_t>(key);
            }
        }
    }
    if (excess != 0 || all_nulls != 0) {
        atomicOr(findings, (excess != 0 ? contradiction : 0U) | (all_nulls != 0 ? has_null : 0U));
    }
}

class DeviceGridLoader final : public GridLoader {
  public:
    DeviceGridLoader(const Call &call, const GridPageColumns &columns, std::uint64_t entries)
        : engine_(call.engine()),
          columns_(columns),
          entries_(entries),
          nulls_(call.buffer<std::uint8_t>(entries)),
          tids_(call.buffer<Tid>(entries)) {
        for (std::uint32_t c = 0; c < columns.columns; ++c) {
            keys_[c] = call.buffer<char>(entries * columns.key_bytes[c]);
        }
        call.wait();
        // The loader may outlive the stream.
        nulls_.set_stream(engine_.release_stream());
        tids_.set_stream(engine_.release_stream());
        for (Buffer<char> &keys : keys_) {
            keys.set_stream(engine_.release_stream());
        }
    }

    std::uint64_t entries() const noexcept override { return entries_; }
    std::uint64_t loaded() const noexcept override { return loaded_; }

    Status append_pages(Stream &stream, const GridPages &pages) noexcept override {
        return guarded([&] {
            require_ok(check_grid_pages(pages));
            const Call call(engine_, stream);
            std::uint64_t found = 0;
            const std::uint64_t piece_pages = piece_bytes / pages.page_bytes;
            const std::uint64_t bytes = std::uint64_t(pages.pages) * pages.page_bytes;
            const Input<unsigned char> input(call, static_cast<const unsigned char *>(pages.images), bytes,
                                             piece_pages * pages.page_bytes);
            const Buffer<GridPageHead> heads =
                call.buffer<GridPageHead>(pages.pages < piece_pages ? pages.pages : piece_pages);
            const Buffer<std::uint32_t> begins = call.buffer<std::uint32_t>(heads.size());
            const Buffer<std::uint32_t> findings = call.buffer<std::uint32_t>(1);
            call.fill(findings.data(), 0, sizeof(std::uint32_t));
            for (std::uint64_t first = 0; first < pages.pages; first += piece_pages) {
                const std::uint64_t size =
                    pages.pages - first < piece_pages ? pages.pages - first : piece_pages;
                const unsigned char *contents =
                    input.piece(first * pages.page_bytes, size * pages.page_bytes) + pages.first_byte;
                std::uint64_t here;
                parse_piece(call, contents, pages, size, heads.data(), begins.data(), found, findings.data(),
                            &here);
                found += here;
            }
            std::uint32_t result = 0;
            call.read(&result, findings.data(), 1);
            if ((result & contradiction) != 0) {
                return contradicted_by_page();
            }
            has_nulls_ = has_nulls_ || (result & has_null) != 0;
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
    // Parses pages; `before` entries of this call lie on pages before them. *found becomes the number of
    // entries on them.
    void parse_piece(const Call &call, const unsigned char *contents, const GridPages &pages,
                     std::uint64_t size, GridPageHead *heads, std::uint32_t *begins, std::uint64_t before,
                     std::uint32_t *findings, std::uint64_t *found) {
        const auto count = static_cast<std::uint32_t>(size);
        copy_heads_kernel<<<(count + threads_a_block - 1) / threads_a_block, threads_a_block, 0,
                            call.stream()>>>(contents, pages.page_bytes, count, heads);
        check_launch("copy_heads_kernel");
        std::vector<GridPageHead> host_heads(size);
        call.read(host_heads.data(), heads, size);
        std::vector<std::uint32_t> host_begins(size);
        require_ok(sum_grid_pages(host_heads.data(), size, grid_page_keys + columns_.columns,
                                  loaded_ + before, entries_, host_begins.data(), found));
        call.copy(begins, static_cast<const std::uint32_t *>(host_begins.data()), size);
        LoadedColumns loaded = {};
        loaded.columns = columns_;
        for (std::uint32_t c = 0; c < columns_.columns; ++c) {
            loaded.keys[c] = keys_[c].data();
        }
        loaded.nulls = nulls_.data();
        loaded.tids = tids_.data();
        parse_grid_pages_kernel<<<count, threads_a_block, 0, call.stream()>>>(
            contents, pages.page_bytes, (pages.page_bytes - pages.first_byte) / 8, heads, begins, loaded,
            findings);
        check_launch("parse_grid_pages_kernel");
        // The host's arrays end here, so the device must have read them.
        call.wait();
    }

    DeviceEngine &engine_;
    const GridPageColumns columns_;
    const std::uint64_t entries_;
    std::uint64_t loaded_ = 0;
    bool has_nulls_ = false;
    Buffer<char> keys_[max_grid_columns];
    Buffer<std::uint8_t> nulls_;
    Buffer<Tid> tids_;
};

}  // namespace

Status DeviceGrid::open_loader(Stream &stream, const GridPageColumns &columns, std::uint64_t entries,
                               std::unique_ptr<GridLoader> *loader) noexcept {
    return guarded([&] {
        const Status status = check_page_columns(columns, entries);
        if (status.ok()) {
            const Call call(engine_, stream);
            *loader = std::make_unique<DeviceGridLoader>(call, columns, entries);
        }
        return status;
    });
}

}  // namespace gpu_engine::device
