// A Call is one call of an entry point: it makes the device current, and has the stream's work and the arrays
// of the caller.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/cancel.h"
#include "device/cuda_status.h"
#include "device/engine.h"
#include "device/memory.h"
#include "device/wait.h"

namespace gpu_engine::device {

class Call {
  public:
    // Throws Failure when the stream is another engine's, or cancelled.
    Call(DeviceEngine &engine, Stream &stream) : engine_(engine) {
        auto *own = dynamic_cast<DeviceStream *>(&stream);
        if (own == nullptr || &own->engine() != &engine) {
            throw Failure{make_status(StatusCode::invalid_argument, "the stream is another engine's")};
        }
        stream_ = own;
        check_cancelled(stream);
        check(cudaSetDevice(engine.device()), "cudaSetDevice");
    }

    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;
    // However the call ends, the device no longer works on the caller's arrays afterwards, nor on what is
    // kept.
    ~Call() { static_cast<void>(wait_for(stream())); }

    DeviceEngine &engine() const noexcept { return engine_; }
    cudaStream_t stream() const noexcept { return stream_->cuda(); }

    // Returns the place of a result (DeviceStream::answer), which is read after wait().
    volatile std::uint64_t *result() const noexcept { return stream_->result(); }

    // Keeps a part of an array, which others may replace and so let go of, until the device has finished.
    // Objects that the caller has declared after the call go before that, when a later step fails.
    template <typename Part>
    const Part *keep(std::shared_ptr<const Part> part) const {
        const Part *kept = part.get();
        if (kept != nullptr) {
            kept_.push_back(std::move(part));
        }
        return kept;
    }
    template <typename Element>
    Buffer<Element> buffer(std::uint64_t size) const {
        return Buffer<Element>(engine_.source(), size, stream());
    }
    // Waits for the work so far. A cancellation point.
    void wait() const {
        check(stream_->wait(), "waiting for the device");
        check_cancelled(*stream_);
    }
    template <typename Element>
    void copy(Element *to, const Element *from, std::uint64_t count) const {
        if (count > 0) {
            check(cudaMemcpyAsync(to, from, count * sizeof(Element), cudaMemcpyDefault, stream()),
                  "cudaMemcpyAsync");
        }
    }
    // Brings the caller elements of the device's, and waits for them.
    template <typename Element>
    void read(Element *to, const std::type_identity_t<Element> *from, std::uint64_t count) const {
        const std::uint64_t bytes = count * sizeof(Element);
        void *place = bytes <= DeviceStream::read_bytes ? stream_->read_place() : to;
        if (bytes > 0) {
            check(cudaMemcpyAsync(place, from, bytes, cudaMemcpyDefault, stream()), "cudaMemcpyAsync");
        }
        wait();
        if (place != to) {
            std::memcpy(to, place, bytes);
        }
    }
    void fill(void *to, int byte, std::uint64_t bytes) const {
        if (bytes > 0) {
            check(cudaMemsetAsync(to, byte, bytes, stream()), "cudaMemsetAsync");
        }
    }

  private:
    DeviceEngine &engine_;
    DeviceStream *stream_;
    mutable std::vector<std::shared_ptr<const void>> kept_;
};

// A kernel's blocks have so many threads where nothing speaks for more or fewer.
inline constexpr unsigned threads_a_block = 256;
inline constexpr unsigned warps_a_block = threads_a_block / 32;

// Blocks of a launch in which each thread has one of `count`.
inline unsigned blocks_for(std::uint64_t count, unsigned threads = threads_a_block) {
    return static_cast<unsigned>((count + threads - 1) / threads);
}

// Returns the address under which a kernel reaches a caller's array; null when only a copy will do. Pinned
// memory is reached directly where `direct_pinned` says that little of it is touched, and only once.
void *device_address(const void *array, bool direct_pinned);

inline constexpr std::uint64_t direct_bytes = 1 << 16;

// A caller's array that is read piece by piece: directly when the device can reach it, otherwise through a
// copy.
template <typename Element>
class Input {
  public:
    Input(const Call &call, const Element *array, std::uint64_t count, std::uint64_t piece)
        : call_(call), array_(array) {
        if (count > 0) {
            direct_ =
                static_cast<const Element *>(device_address(array, count * sizeof(Element) <= direct_bytes));
            if (direct_ == nullptr) {
                copy_ = call.buffer<Element>(count < piece ? count : piece);
            }
        }
    }
    // Returns the elements from `first` on. They are valid until the next call.
    const Element *piece(std::uint64_t first, std::uint64_t count) const {
        if (direct_ != nullptr) {
            return direct_ + first;
        }
        call_.copy(copy_.data(), array_ + first, count);
        return copy_.data();
    }

  private:
    const Call &call_;
    const Element *array_;
    const Element *direct_ = nullptr;
    Buffer<Element> copy_;
};

// A caller's array that is written in the same way.
template <typename Element>
class Output {
  public:
    Output(const Call &call, Element *array, std::uint64_t count, std::uint64_t piece)
        : call_(call), array_(array) {
        if (count > 0) {
            direct_ = static_cast<Element *>(device_address(array, count * sizeof(Element) <= direct_bytes));
            if (direct_ == nullptr) {
                copy_ = call.buffer<Element>(count < piece ? count : piece);
            }
        }
    }
    Element *piece(std::uint64_t first) const { return direct_ != nullptr ? direct_ + first : copy_.data(); }
    // Brings what was written to piece(first) to the caller.
    void flush(std::uint64_t first, std::uint64_t count) const {
        if (direct_ == nullptr) {
            call_.copy(array_ + first, static_cast<const Element *>(copy_.data()), count);
        }
    }

  private:
    const Call &call_;
    Element *array_;
    Element *direct_ = nullptr;
    Buffer<Element> copy_;
};

}  // namespace gpu_engine::device
