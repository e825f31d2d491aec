// Memory of the host engine, counted in its budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "gpu_engine/guard.h"
#include "gpu_engine/memory.h"
#include "host/blocks.h"

namespace gpu_engine::host {

// An array that begins on a cache line and whose elements start uninitialised.
template <typename Element>
class Buffer {
    static_assert(std::is_trivially_copyable_v<Element>);

  public:
    static constexpr std::size_t alignment = 64;

    static constexpr std::uint64_t bytes_for(std::uint64_t size) noexcept {
        return (size * sizeof(Element) + alignment - 1) / alignment * alignment;
    }

    Buffer() = default;
    // Throws Failure when the budget or the machine has no such memory.
    Buffer(MemoryBudget &budget, std::uint64_t size) : size_(size) {
        const std::uint64_t bytes = bytes_for(size);
        if (bytes == 0) {
            return;
        }
        if (!budget.reserve(bytes)) {
            throw Failure{
                make_status(StatusCode::out_of_memory, "the limit of the host's memory is reached")};
        }
        // What is kept and what is used are within the limit together.
        data_ = static_cast<Element *>(allocate_block(bytes, budget.free_bytes()));
        if (data_ == nullptr) {
            budget.release(bytes);
            throw std::bad_alloc();
        }
        budget_ = &budget;
        bytes_ = bytes;
    }
    Buffer(Buffer &&other) noexcept { swap(other); }
    Buffer &operator=(Buffer &&other) noexcept {
        Buffer taken(std::move(other));
        swap(taken);
        return *this;
    }
    ~Buffer() {
        if (data_ != nullptr) {
            budget_->release(bytes_);
            free_block(data_, bytes_, budget_->free_bytes());
        }
    }

    void swap(Buffer &other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(bytes_, other.bytes_);
        std::swap(budget_, other.budget_);
    }

    Element *data() noexcept { return data_; }
    const Element *data() const noexcept { return data_; }
    std::uint64_t size() const noexcept { return size_; }
    std::uint64_t bytes() const noexcept { return bytes_; }
    Element &operator[](std::uint64_t i) noexcept { return data_[i]; }
    const Element &operator[](std::uint64_t i) const noexcept { return data_[i]; }

  private:
    Element *data_ = nullptr;
    std::uint64_t size_ = 0;
    std::uint64_t bytes_ = 0;
    MemoryBudget *budget_ = nullptr;
};

}  // namespace gpu_engine::host
