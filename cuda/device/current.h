// Makes a device current for a thread that works on it outside of a Call.
#pragma once

#include "gpu_engine/memory.h"

namespace gpu_engine::device {

// An engine on this device counts its memory in this budget, from the one call to the other.
void note_device(int device, const MemoryBudget &budget) noexcept;
void forget_device(const MemoryBudget &budget) noexcept;

// Makes the device current whose memory the budget counts. Where all engines are on device 0 that is left
// alone: threads that have chosen no device have that one.
void make_current_for(const MemoryBudget &budget) noexcept;

}  // namespace gpu_engine::device
