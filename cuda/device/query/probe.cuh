// Steps of a program that look rows up in the build side of a join, and read its columns.
#pragma once

#include "device/query/join_table.cuh"
#include "device/query/slots.cuh"

namespace gpu_engine::query::on_device {

// The key of a row in slots, as join_table.cuh has keys.
struct SlotKey {
    const StepRoom &room;
    const Operand *operands;
    std::uint32_t row;

    __device__ std::uint64_t word(std::uint32_t key, std::uint32_t word) const {
        const Access from = access(room, operands[key]);
        const std::uint64_t *low = from.at + row * from.step;
        return word == 1 ? low[from.second] : key_word(operands[key].type, *low);
    }
};

// Finds for each of the `active` rows the row of the build side whose key is its own; NULL where there is
// none. It isn't unrolled, since warps would wait for its instructions longer than for the slots.
inline __device__ __noinline__ void probe_rows(const StepRoom &room, const ProgramView &program,
                                               const Instruction &step, std::uint32_t active) {
    const JoinTableView table = program.joins[step.detail];
    const Operand *operands = program.key_operands + step.list_first;
    std::uint32_t wanted = active;
    for (std::uint32_t k = 0; k < step.list_count; ++k) {
        wanted &= ~access(room, operands[k]).nulls;
    }
    std::uint32_t nulls = 0;
    std::uint64_t *to = room.slots.at(step.to);
    const bool is_dense = table.slots == nullptr;
    const Access number = access(room, operands[0]);
#pragma unroll 1
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        std::uint32_t found = no_row;
        if ((wanted >> i & 1) != 0) {
            found = is_dense ? find_dense(table, number.at[i * number.step]).row
                             : find_key(table, SlotKey{room, operands, i}).row;
        }
        to[i * room.slots.stride] = found;
        nulls |= (found == no_row ? 1U : 0U) << i;
    }
    *room.slots.nulls_at(step.to) = static_cast<std::uint8_t>(nulls);
}

// Reads a row of a column as the value of a thread's row `i`.
__device__ inline void read_row(const ArrayColumn &column, std::uint32_t row, std::uint32_t i,
                                Values *values) {
    const std::uint64_t first = row;
    const bool is_wide = column.type == ValueType::int128;
    values->low[i] = column.values[is_wide ? 2 * first : first];
    values->high[i] = is_wide ? column.values[2 * first + 1] : 0;
    if (column.nulls != nullptr) {
        values->nulls |= static_cast<std::uint32_t>(column.nulls[first / 64] >> (first % 64) & 1) << i;
    }
}

// Reads a column of the build side in the rows that were found.
inline __device__ __noinline__ void gather_rows(const StepRoom &room, const ProgramView &program,
                                                const Instruction &step, std::uint32_t active) {
    const ArrayColumn column = program.joins[step.detail].columns[step.list_first];
    const Access rows = access(room, step.left);
    const std::uint32_t wanted = active & ~rows.nulls;
    Values values = {};
    values.nulls = all_rows & ~wanted;
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        if ((wanted >> i & 1) != 0) {
            read_row(column, static_cast<std::uint32_t>(rows.at[i * rows.step]), i, &values);
        }
    }
    store(room.slots, step.to, step.type, values);
}

}  // namespace gpu_engine::query::on_device
