// The cuda engine: one device, its memory, and the parts it is made of.
#pragma once

#include <cuda_runtime_api.h>

#include "device/column/column.h"
#include "device/memory.h"
#include "device/query/query.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/grid.h"
#include "gpu_engine/kary.h"
#include "gpu_engine/text.h"

namespace gpu_engine::device {

class DeviceEngine;

class DeviceStream final : public Stream {
  public:
    explicit DeviceStream(DeviceEngine &engine);
    ~DeviceStream() override;

    DeviceEngine &engine() const noexcept { return engine_; }
    cudaStream_t cuda() const noexcept { return cuda_; }
    // Returns when the stream has done what it was given. Threads that wait so don't hinder others: they look
    // at memory, where asking the driver would take the lock that launches need.
    cudaError_t wait() noexcept;
    // Pinned memory that kernels reach under the same address, for the numbers that a call reads back: copies
    // to memory that isn't pinned wait in the driver, with its lock.
    std::uint64_t *result() const noexcept { return pinned_->result; }
    static constexpr std::size_t result_words = 72;
    // That of Call::read.
    void *read_place() const noexcept { return pinned_->read; }
    static constexpr std::size_t read_bytes = 4096;

  private:
    struct Pinned {
        std::uint64_t result[result_words];
        std::uint64_t read[read_bytes / sizeof(std::uint64_t)];
        std::uint64_t done;  // tells wait() that the work has ended
    };

    DeviceEngine &engine_;
    cudaStream_t cuda_ = nullptr;
    Pinned *pinned_ = nullptr;
    std::uint64_t waits_ = 0;
};

template <typename Key>
class DeviceKary final : public Kary<Key> {
  public:
    explicit DeviceKary(DeviceEngine &engine) : engine_(engine) {}

    Status open_loader(Stream &stream, std::uint64_t entries,
                       std::unique_ptr<KaryLoader<Key>> *loader) noexcept override;
    std::uint64_t array_bytes(std::uint64_t entries) const noexcept override;
    Status match(Stream &stream, const KaryArray<Key> *const *arrays, std::size_t array_count,
                 const Key *keys, std::uint64_t count,
                 const typename Kary<Key>::PlacesFor &places) noexcept override;

  private:
    DeviceEngine &engine_;
};

class DeviceGrid final : public Grid {
  public:
    explicit DeviceGrid(DeviceEngine &engine) : engine_(engine) {}

    Status build(Stream &stream, const GridEntries &entries, const GridOptions &options,
                 std::unique_ptr<GridFile> *file) noexcept override;
    Status open_loader(Stream &stream, const GridPageColumns &columns, std::uint64_t entries,
                       std::unique_ptr<GridLoader> *loader) noexcept override;

  private:
    DeviceEngine &engine_;
};

class DeviceText final : public Text {
  public:
    explicit DeviceText(DeviceEngine &engine) : engine_(engine) {}

    std::uint64_t index_bytes(const TextShape &shape) const noexcept override;
    Status open_loader(Stream &stream, const TextShape &shape,
                       std::unique_ptr<TextLoader> *loader) noexcept override;

  private:
    DeviceEngine &engine_;
};

class DeviceEngine final : public Engine {
  public:
    explicit DeviceEngine(const EngineOptions &options);
    ~DeviceEngine() override;

    const char *name() const noexcept override { return "cuda"; }
    MemoryBudget &memory() noexcept override { return memory_; }
    Status open_stream(std::unique_ptr<Stream> *stream) noexcept override;
    Status pin(void *memory, std::uint64_t bytes) noexcept override;
    void unpin(void *memory) noexcept override;
    Status keep_blocks(Stream &stream, const KnownBlocks &known,
                       std::unique_ptr<HeapBlocks> *blocks) noexcept override;
    Status describe(DeviceInfo *info) noexcept override;
    Status probe() noexcept override;
    Kary<std::uint32_t> &kary32() noexcept override { return kary32_; }
    Kary<std::uint64_t> &kary64() noexcept override { return kary64_; }
    Kary<Key128> &kary128() noexcept override { return kary128_; }
    Grid &grid() noexcept override { return grid_; }
    Column &column() noexcept override { return column_; }
    Text &text() noexcept override { return text_; }
    query::Queries &queries() noexcept override { return queries_; }

    std::uint64_t loading_bytes() const noexcept override { return std::uint64_t(2) << 20; }

    int device() const noexcept { return device_; }
    int multiprocessors() const noexcept { return multiprocessors_; }
    // Shared memory that a block may have.
    std::size_t shared_bytes() const noexcept { return static_cast<std::size_t>(shared_bytes_); }
    MemorySource source() noexcept { return MemorySource{&memory_, pool_}; }
    // Arrays give their memory back on this stream when their own has ended.
    cudaStream_t release_stream() const noexcept { return release_stream_; }

  private:
    MemoryBudget memory_;
    int device_;
    int multiprocessors_ = 0;
    int shared_bytes_ = 0;
    cudaMemPool_t pool_ = nullptr;
    cudaStream_t release_stream_ = nullptr;
    DeviceKary<std::uint32_t> kary32_{*this};
    DeviceKary<std::uint64_t> kary64_{*this};
    DeviceKary<Key128> kary128_{*this};
    DeviceGrid grid_{*this};
    DeviceColumn column_{*this};
    DeviceText text_{*this};
    DeviceQueries queries_{*this};
};

}  // namespace gpu_engine::device
