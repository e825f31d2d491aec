#include "device/engine.h"

#include <algorithm>
#include <cstdio>

#include "device/cuda_status.h"
#include "device/current.h"
#include "device/describe.h"
#include "device/heap_blocks.h"
#include "device/wait.h"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {
namespace {

// The share of the device's memory, at most the limit, that the pool keeps for the next call when it was
// given back. Large calls would lose milliseconds if they took it from the driver anew.
constexpr std::uint64_t kept_share = 8;

__global__ void any_kernel() {}

// A device is of no use without code for its compute capability, and each call would find that out by itself.
void require_code(int device) {
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, any_kernel);
    if (error != cudaErrorNoKernelImageForDevice && error != cudaErrorInvalidDeviceFunction) {
        check(error, "cudaFuncGetAttributes");
        return;
    }
    static_cast<void>(cudaGetLastError());
    DeviceInfo info;
    require_ok(describe_device(device, &info));
    char message[Status::message_capacity];
    std::snprintf(message, sizeof(message), "pg_gpu was built without code for compute capability %d.%d",
                  info.compute_capability_major, info.compute_capability_minor);
    throw Failure{make_status(StatusCode::unavailable, message)};
}

}  // namespace

DeviceStream::DeviceStream(DeviceEngine &engine) : engine_(engine) {
    check(cudaSetDevice(engine.device()), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&cuda_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    const cudaError_t error =
        cudaHostAlloc(reinterpret_cast<void **>(&pinned_), sizeof(Pinned), cudaHostAllocPortable);
    if (error != cudaSuccess) {
        static_cast<void>(cudaStreamDestroy(cuda_));
        throw Failure{status_of(error, "cudaHostAlloc")};
    }
    *pinned_ = {};
}

DeviceStream::~DeviceStream() {
    static_cast<void>(cudaSetDevice(engine_.device()));
    static_cast<void>(wait_for(cuda_));
    static_cast<void>(cudaStreamDestroy(cuda_));
    static_cast<void>(cudaFreeHost(pinned_));
}

cudaError_t DeviceStream::wait() noexcept {
    return wait_for(cuda_, &pinned_->done, ++waits_);
}

DeviceEngine::DeviceEngine(const EngineOptions &options)
    : memory_(options.memory_limit), device_(options.device) {
    int present = 0;
    check(cudaGetDeviceCount(&present), "cudaGetDeviceCount");
    if (device_ < 0 || device_ >= present) {
        throw Failure{make_status(StatusCode::unavailable, "no device of this number is here")};
    }
    check(cudaInitDevice(device_, device_flags, cudaInitDeviceFlagsAreValid), "cudaInitDevice");
    check(cudaSetDevice(device_), "cudaSetDevice");
    require_code(device_);
    check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device_),
          "cudaDeviceGetAttribute");
    check(cudaDeviceGetAttribute(&shared_bytes_, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_),
          "cudaDeviceGetAttribute");
    shared_bytes_ = static_cast<int>(std::min<std::uint64_t>(shared_bytes_, options.shared_bytes));
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device_;
    check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
    std::size_t memory_free = 0;
    std::size_t memory_total = 0;
    cudaError_t error = cudaMemGetInfo(&memory_free, &memory_total);
    std::uint64_t threshold = std::min<std::uint64_t>(memory_total / kept_share, options.memory_limit);
    if (error == cudaSuccess) {
        error = cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold);
    }
    if (error == cudaSuccess) {
        error = cudaStreamCreateWithFlags(&release_stream_, cudaStreamNonBlocking);
    }
    if (error != cudaSuccess) {
        static_cast<void>(cudaMemPoolDestroy(pool_));
        throw Failure{status_of(error, "opening the device")};
    }
    note_device(device_, memory_);
}

DeviceEngine::~DeviceEngine() {
    static_cast<void>(cudaSetDevice(device_));
    static_cast<void>(wait_for(release_stream_));
    static_cast<void>(cudaStreamDestroy(release_stream_));
    static_cast<void>(cudaMemPoolDestroy(pool_));
    forget_device(memory_);
}

Status DeviceEngine::open_stream(std::unique_ptr<Stream> *stream) noexcept {
    return guarded([&] {
        *stream = std::make_unique<DeviceStream>(*this);
        return Status{};
    });
}

Status DeviceEngine::pin(void *memory, std::uint64_t bytes) noexcept {
    Status status = status_of(cudaSetDevice(device_), "cudaSetDevice");
    if (status.ok()) {
        status = status_of(cudaHostRegister(memory, bytes, cudaHostRegisterPortable), "cudaHostRegister");
    }
    return status;
}

void DeviceEngine::unpin(void *memory) noexcept {
    static_cast<void>(cudaSetDevice(device_));
    // This fails only on a device that is lost; the error must not stay for the next call to find.
    static_cast<void>(status_of(cudaHostUnregister(memory), "cudaHostUnregister"));
}

Status DeviceEngine::keep_blocks(Stream &stream, const KnownBlocks &known,
                                 std::unique_ptr<HeapBlocks> *blocks) noexcept {
    return guarded([&] {
        check_known_blocks(known);
        *blocks = std::make_unique<DeviceHeapBlocks>(Call(*this, stream), known);
        return Status{};
    });
}

Status DeviceEngine::describe(DeviceInfo *info) noexcept {
    return describe_device(device_, info);
}

Status DeviceEngine::probe() noexcept {
    Status status = status_of(cudaSetDevice(device_), "cudaSetDevice");
    if (status.ok()) {
        status = status_of(wait_for(release_stream_), "waiting for the device");
    }
    return status;
}

Status open_engine(const EngineOptions &options, std::unique_ptr<Engine> *engine) noexcept {
    return guarded([&] {
        *engine = std::make_unique<DeviceEngine>(options);
        return Status{};
    });
}

}  // namespace gpu_engine::device
