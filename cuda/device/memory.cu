#include "device/memory.h"

#include "device/cuda_status.h"
#include "device/current.h"

namespace gpu_engine::device {

Memory::Memory(const MemorySource &source, std::uint64_t bytes, cudaStream_t stream) {
    if (bytes == 0) {
        return;
    }
    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (!source.budget->reserve(bytes)) {
        throw Failure{make_status(StatusCode::out_of_memory, "the limit of the device's memory is reached")};
    }
    const cudaError_t error = cudaMallocFromPoolAsync(&data_, bytes, source.pool, stream);
    if (error != cudaSuccess) {
        source.budget->release(bytes);
        data_ = nullptr;
        throw Failure{status_of(error, "cudaMallocFromPoolAsync")};
    }
    bytes_ = bytes;
    budget_ = source.budget;
    stream_ = stream;
}

Memory::~Memory() {
    if (data_ != nullptr) {
        // The thread that drops the last share of an array may have worked on another device before.
        make_current_for(*budget_);
        // This fails only on a device that is lost, and its memory is lost with it.
        static_cast<void>(cudaFreeAsync(data_, stream_));
        budget_->release(bytes_);
    }
}

}  // namespace gpu_engine::device
