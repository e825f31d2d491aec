// Where a thread has the values of its rows.
#pragma once

#include "common/query/operation.h"
#include "device/column/select/codes.cuh"
#include "device/query/program.h"

namespace gpu_engine::query::on_device {

// So many rows a thread has at a time. Row i counts if bit i of `active` is set.
inline constexpr std::uint32_t rows_a_thread = device::words_a_warp;
inline constexpr std::uint32_t all_rows = (1U << rows_a_thread) - 1;

// Where results of steps are: in the block's shared memory, or in device memory where that has no room. Other
// threads don't look at a thread's slots.
struct SlotRoom {
    std::uint64_t *values;
    std::uint8_t *nulls;   // a bit a row
    std::uint32_t stride;  // threads that have slots there
    std::uint32_t own;     // this thread's number

    static constexpr std::size_t slot_bytes = rows_a_thread * sizeof(std::uint64_t) + 1;

    GPU_ENGINE_BOTH std::uint64_t *at(std::uint32_t slot) const {
        return values + static_cast<std::size_t>(slot) * rows_a_thread * stride + own;
    }
    GPU_ENGINE_BOTH std::uint8_t *nulls_at(std::uint32_t slot) const {
        return nulls + static_cast<std::size_t>(slot) * stride + own;
    }
};

// Values of a thread's rows.
struct Values {
    std::uint64_t low[rows_a_thread];
    std::uint64_t high[rows_a_thread];  // of int128 only
    std::uint32_t nulls;
};

// What steps that aren't sources compute with.
struct StepRoom {
    SlotRoom slots;
    const Constant *constants;
    const Zone *zones;
};

// An operand in memory: word w of row i is at[i * step + w * second].
struct Access {
    const std::uint64_t *at;
    std::uint32_t step;
    std::uint32_t second;
    std::uint32_t nulls;

    template <typename Type>
    GPU_ENGINE_BOTH Type read(std::uint32_t i) const {
        std::uint64_t words[2] = {at[i * step], 0};
        if constexpr (Words<Type>::count == 2) {
            words[1] = at[i * step + second];
        }
        return Words<Type>::read(words);
    }
    GPU_ENGINE_BOTH bool is_null(std::uint32_t i) const { return (nulls >> i & 1) != 0; }
};

GPU_ENGINE_BOTH Access access(const StepRoom &room, Operand operand) {
    const SlotRoom &slots = room.slots;
    switch (operand.source) {
        case Source::slot:
            return {slots.at(operand.number), slots.stride, rows_a_thread * slots.stride,
                    *slots.nulls_at(operand.number)};
        case Source::constant:
            return {&room.constants[operand.number].low, 0, 1, 0};
        default:
            // What a NULL's value is doesn't matter: any words of this thread's will do.
            return {slots.at(0), 0, 0, all_rows};
    }
}
__device__ inline std::uint32_t true_rows(const Access &truth) {
    std::uint32_t rows = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        rows |= (truth.read<Truth>(i) != 0 ? 1U : 0U) << i;
    }
    return rows & ~truth.nulls;
}

__device__ inline void store(const SlotRoom &slots, std::uint32_t to, ValueType type, const Values &values) {
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        slots.at(to)[i * slots.stride] = values.low[i];
        if (type == ValueType::int128) {
            slots.at(to)[(rows_a_thread + i) * slots.stride] = values.high[i];
        }
    }
    *slots.nulls_at(to) = static_cast<std::uint8_t>(values.nulls);
}

}  // namespace gpu_engine::query::on_device
