// Device memory, counted in the engine's budget.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <utility>

#include "gpu_engine/memory.h"

namespace gpu_engine::device {

// The budget and the pool that device memory comes from and returns to.
struct MemorySource {
    MemoryBudget *budget;
    cudaMemPool_t pool;
};

// Bytes of device memory, taken and given back in the order of a stream's work.
class Memory {
  public:
    // The memory begins on a boundary of at least this many bytes, and so does what lies behind it.
    static constexpr std::uint64_t alignment = 256;

    Memory() = default;
    // Throws Failure when the budget or the device has no such memory.
    Memory(const MemorySource &source, std::uint64_t bytes, cudaStream_t stream);
    Memory(Memory &&other) noexcept { swap(other); }
    Memory &operator=(Memory &&other) noexcept {
        Memory taken(std::move(other));
        swap(taken);
        return *this;
    }
    ~Memory();

    void swap(Memory &other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        std::swap(budget_, other.budget_);
        std::swap(stream_, other.stream_);
    }
    // Memory that outlives the stream it was taken on is given back on another stream, in the order of that
    // one's work.
    void set_stream(cudaStream_t stream) noexcept { stream_ = stream; }

    void *data() const noexcept { return data_; }
    std::uint64_t bytes() const noexcept { return bytes_; }

  private:
    void *data_ = nullptr;
    std::uint64_t bytes_ = 0;
    MemoryBudget *budget_ = nullptr;
    cudaStream_t stream_ = nullptr;
};

template <typename Element>
class Buffer {
  public:
    Buffer() = default;
    Buffer(const MemorySource &source, std::uint64_t size, cudaStream_t stream)
        : memory_(source, size * sizeof(Element), stream), size_(size) {}

    Element *data() const noexcept { return static_cast<Element *>(memory_.data()); }
    std::uint64_t size() const noexcept { return size_; }
    std::uint64_t bytes() const noexcept { return memory_.bytes(); }
    void set_stream(cudaStream_t stream) noexcept { memory_.set_stream(stream); }

  private:
    Memory memory_;
    std::uint64_t size_ = 0;
};

}  // namespace gpu_engine::device
