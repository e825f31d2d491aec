#include "device/current.h"

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>

namespace gpu_engine::device {
namespace {

struct Noted {
    std::atomic<const MemoryBudget *> budget{nullptr};
    std::atomic<int> device{0};
};

// A process has an engine for each of its devices, and a test a few more.
std::array<Noted, 64> noted_devices;
std::atomic<bool> has_choice{false};

}  // namespace

void note_device(int device, const MemoryBudget &budget) noexcept {
    if (device != 0) {
        has_choice = true;
    }
    for (Noted &noted : noted_devices) {
        const MemoryBudget *none = nullptr;
        if (noted.budget.compare_exchange_strong(none, &budget)) {
            noted.device = device;
            return;
        }
    }
}

void forget_device(const MemoryBudget &budget) noexcept {
    for (Noted &noted : noted_devices) {
        const MemoryBudget *its = &budget;
        noted.budget.compare_exchange_strong(its, nullptr);
    }
}

void make_current_for(const MemoryBudget &budget) noexcept {
    if (!has_choice.load(std::memory_order_relaxed)) {
        return;
    }
    for (const Noted &noted : noted_devices) {
        if (noted.budget.load(std::memory_order_acquire) == &budget) {
            // This fails only on a device that is lost; the error must not stay for the next call to find.
            if (cudaSetDevice(noted.device) != cudaSuccess) {
                static_cast<void>(cudaGetLastError());
            }
            return;
        }
    }
}

}  // namespace gpu_engine::device
