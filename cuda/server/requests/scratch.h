// Memory that a request needs while it is answered, counted in a budget.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu_engine/guard.h"
#include "gpu_engine/memory.h"

namespace gpu_engine::server {

// An array whose elements start uninitialised.
template <typename Element>
class Scratch {
  public:
    // Throws Failure when the budget is used up, std::bad_alloc when the machine's memory is.
    Scratch(MemoryBudget &budget, std::uint64_t size) : budget_(budget), bytes_(size * sizeof(Element)) {
        if (!budget_.reserve(bytes_)) {
            throw Failure{
                make_status(StatusCode::out_of_memory, "the limit of the host's memory is reached")};
        }
        data_.reset(new (std::nothrow) Element[size]);
        if (data_ == nullptr) {
            budget_.release(bytes_);
            throw std::bad_alloc();
        }
    }
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;
    ~Scratch() { budget_.release(bytes_); }

    Element *data() const noexcept { return data_.get(); }

  private:
    MemoryBudget &budget_;
    std::uint64_t bytes_;
    std::unique_ptr<Element[]> data_;
};

}  // namespace gpu_engine::server
