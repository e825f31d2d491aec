// Finds the slots of a histogram for values, the same way on the processor and on a device.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "gpu_engine/both.h"
#include "gpu_engine/column.h"

namespace gpu_engine {

// Returns the double of a float's code as gpu_column orders them: of negative floats all bits were flipped,
// of others the sign's.
GPU_ENGINE_BOTH double double_of_value(std::uint64_t value) {
    const std::uint64_t is_negative = (value >> 63) - 1;
    const std::uint64_t bits = value ^ (is_negative | std::uint64_t(1) << 63);
    double number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}
GPU_ENGINE_BOTH double float_of_value(std::uint64_t value) {
    const auto half = static_cast<std::uint32_t>(value);
    const std::uint32_t bits = half ^ (((half >> 31) - 1) | 0x80000000U);
    float number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

// Finds a value's slot, which is the number of starts that aren't above it. The distance between starts gives
// a guess, which is tried with its neighbours; where these don't have the value all starts are searched.
struct SlotFinder {
    const std::uint64_t *starts;
    std::uint32_t slots;  // one more than there are starts
    ValueScale scale;
    std::uint64_t origin;
    double low;
    double factor;  // 0: no guess is worth it
    double most;    // the highest guess

    GPU_ENGINE_BOTH double position(std::uint64_t value) const {
        switch (scale) {
            case ValueScale::float4:
                return (float_of_value(value) - low) * factor + 1.0;
            case ValueScale::float8:
                return (double_of_value(value) - low) * factor + 1.0;
            default:
                return value < origin ? 0.0 : static_cast<double>(value - origin) * factor + 1.0;
        }
    }
    GPU_ENGINE_BOTH std::uint32_t guess(std::uint64_t value) const {
        const double at = position(value);
        // A NaN becomes 0.
        const double positive = at > 0.0 ? at : 0.0;
        return static_cast<std::uint32_t>(positive < most ? positive : most);
    }
    GPU_ENGINE_BOTH bool is_slot(std::uint32_t slot, std::uint64_t value) const {
        return (slot == 0 || value >= starts[slot - 1]) && (slot + 1 == slots || value < starts[slot]);
    }
    GPU_ENGINE_BOTH std::uint32_t slot_from(std::uint32_t start, std::uint64_t value) const {
        if (is_slot(start, value)) {
            return start;
        }
        if (start + 1 < slots && is_slot(start + 1, value)) {
            return start + 1;
        }
        if (start > 0 && is_slot(start - 1, value)) {
            return start - 1;
        }
        std::uint32_t low_slot = 0;
        std::uint32_t high_slot = slots - 1;
        while (low_slot < high_slot) {
            const std::uint32_t middle = low_slot + (high_slot - low_slot) / 2;
            if (value >= starts[middle]) {
                low_slot = middle + 1;
            } else {
                high_slot = middle;
            }
        }
        return low_slot;
    }
    GPU_ENGINE_BOTH std::uint32_t slot(std::uint64_t value) const { return slot_from(guess(value), value); }
};

// Makes the finder of a target's starts. The caller may change them meanwhile, so `starts` gets a copy, which
// the finder refers to. Throws Failure when they don't ascend.
SlotFinder make_slot_finder(const ColumnTarget &target, std::vector<std::uint64_t> *starts);

}  // namespace gpu_engine
