// A session's transfer buffer: the memfd that it shares, mapped here.
#pragma once

#include <cstdint>

#include "gpu_engine/engine.h"
#include "gpu_engine/guard.h"
#include "gpu_engine/memory.h"
#include "gpu_engine/protocol.h"
#include "server/net/descriptor.h"

namespace gpu_engine::server {

// The session may change its content at any time. Seals make sure that its size doesn't change.
class TransferBuffer {
  public:
    TransferBuffer() = default;
    TransferBuffer(const TransferBuffer &) = delete;
    TransferBuffer &operator=(const TransferBuffer &) = delete;
    ~TransferBuffer() { detach(); }

    // Maps the memfd in place of the one mapped before, and counts its size in `budget`, which outlives this.
    Status attach(const Descriptor &memfd, std::uint64_t bytes, MemoryBudget &budget) noexcept;
    void detach() noexcept;
    // Pins the buffer for the engine, which outlives this, unless it is pinned already. Failing to do so only
    // makes transfers slower.
    void pin(Engine &engine) noexcept;

    std::uint64_t bytes() const noexcept { return bytes_; }

    // Returns `count` elements at `offset`. Throws Failure when they don't lie within the buffer.
    template <typename Element>
    Element *part(std::uint64_t offset, std::uint64_t count) const {
        if (offset > bytes_ || offset % protocol::buffer_alignment != 0 ||
            count > (bytes_ - offset) / sizeof(Element)) {
            throw Failure{make_status(StatusCode::invalid_argument,
                                      "a part of the request lies outside the transfer buffer")};
        }
        return reinterpret_cast<Element *>(data_ + offset);
    }

  private:
    char *data_ = nullptr;
    std::uint64_t bytes_ = 0;
    MemoryBudget *budget_ = nullptr;
    Engine *pinned_by_ = nullptr;
    bool pinning_failed_ = false;
};

}  // namespace gpu_engine::server
