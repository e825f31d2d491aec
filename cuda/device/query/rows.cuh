// A program's steps for the rows of a warp: each thread computes those of its own rows, a few at a time, so
// that an instruction is decoded once for all of them.
#pragma once

#include "common/column/slots.h"
#include "common/query/dispatch.h"
#include "device/query/probe.cuh"
#include "device/query/source.h"

namespace gpu_engine::query::on_device {

// Operations so short and frequent that they are computed for all of a thread's rows side by side.
template <typename Class>
inline constexpr bool is_unrolled = false;
template <>
inline constexpr bool is_unrolled<Add<std::int64_t>> = true;
template <>
inline constexpr bool is_unrolled<Subtract<std::int64_t>> = true;
template <>
inline constexpr bool is_unrolled<Multiply<std::int64_t>> = true;
template <>
inline constexpr bool is_unrolled<Equal<std::int64_t>> = true;
template <>
inline constexpr bool is_unrolled<Less<std::int64_t>> = true;
template <>
inline constexpr bool is_unrolled<LessOrEqual<std::int64_t>> = true;
template <>
inline constexpr bool is_unrolled<Add<double>> = true;
template <>
inline constexpr bool is_unrolled<Multiply<double>> = true;
template <>
inline constexpr bool is_unrolled<Less<double>> = true;
template <>
inline constexpr bool is_unrolled<Widen<std::int64_t>> = true;
template <>
inline constexpr bool is_unrolled<Join<0>> = true;
template <>
inline constexpr bool is_unrolled<Join<1>> = true;

// Computes a step by the class that means its operation.
struct StepRunner {
    const StepRoom &room;
    const Instruction &step;
    const StepContext &context;
    std::uint32_t wanted;  // rows that count
    std::uint32_t nulls = 0;
    std::uint32_t failed = 0;

    // Only a device calls it, but with_operation is for both.
    template <typename Class>
    GPU_ENGINE_BOTH bool operator()(Class) {
#ifdef __CUDA_ARCH__
        run<Class>();
#endif
        return true;
    }

  private:
    template <typename Class>
    __device__ void run() {
        using Result = typename Class::Result;
        constexpr int unrolled = is_unrolled<Class> ? static_cast<int>(rows_a_thread) : 1;
        const Access left = access(room, step.left);
        const Access right = access(room, step.right);
        const Access third = access(room, step.third);
        std::uint64_t *to = room.slots.at(step.to);
        if constexpr (!Class::sees_nulls) {
            nulls = left.nulls | (Class::operands > 1 ? right.nulls : 0) |
                    (Class::operands > 2 ? third.nulls : 0);
            wanted &= ~nulls;
        }
#pragma unroll unrolled
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            Result result{};
            if (is_unrolled<Class> || (wanted >> i & 1) != 0) {
                result = compute<Class>(i, left, right, third);
            }
            std::uint64_t words[2];
            Words<Result>::write(result, words);
            to[i * room.slots.stride] = words[0];
            if constexpr (Words<Result>::count == 2) {
                to[(rows_a_thread + i) * room.slots.stride] = words[1];
            }
        }
        failed &= wanted;
    }

    template <typename Class>
    __device__ typename Class::Result compute(std::uint32_t i, const Access &left, const Access &right,
                                              const Access &third) {
        using Left = typename Class::Left;
        if constexpr (Class::sees_nulls) {
            const Nullable<Left> first = {left.read<Left>(i), left.is_null(i)};
            Nullable<typename Class::Result> result;
            if constexpr (Class::operands == 1) {
                result = Class::look(context, first);
            } else if constexpr (Class::operands == 2) {
                using Right = typename Class::Right;
                result = Class::look(context, first, Nullable<Right>{right.read<Right>(i), right.is_null(i)});
            } else {
                using Right = typename Class::Right;
                using Third = typename Class::Third;
                result = Class::look(context, first, Nullable<Right>{right.read<Right>(i), right.is_null(i)},
                                     Nullable<Third>{third.read<Third>(i), third.is_null(i)});
            }
            nulls |= (result.is_null ? 1U : 0U) << i;
            return result.value;
        } else {
            typename Class::Result result{};
            bool is_fine = false;
            if constexpr (Class::operands == 1) {
                is_fine = Class::call(context, left.read<Left>(i), &result);
            } else if constexpr (Class::operands == 3) {
                is_fine = Class::call(context, left.read<Left>(i), right.read<typename Class::Right>(i),
                                      third.read<typename Class::Third>(i), &result);
            } else {
                is_fine =
                    Class::call(context, left.read<Left>(i), right.read<typename Class::Right>(i), &result);
            }
            failed |= (is_fine ? 0U : 1U) << i;
            return result;
        }
    }
};

// Computes a step that is no source, of the `active` rows. Returns those in which it failed. It is one
// function for all kernels of a file, since it has the code of all operations.
inline __device__ __noinline__ std::uint32_t run_step(const StepRoom &room, const Instruction &step,
                                                      std::uint32_t active) {
    StepContext context = {};
    context.width = step.width;
    context.detail = step.detail;
    if (step.operation == Operation::to_float) {
        context.power = static_cast<Int128>(power_of_ten(static_cast<std::int32_t>(step.detail)));
    } else if (step.operation == Operation::shift_zone || step.operation == Operation::unshift_zone) {
        context.zone = room.zones[step.detail];
    } else if (step.operation == Operation::in_list) {
        context.list = room.constants + step.list_first;
        context.list_count = step.list_count;
    } else if (step.operation == Operation::look_up) {
        context.list = room.constants + step.detail + 1;
        context.list_count = static_cast<std::uint32_t>(room.constants[step.detail].low);
    }
    const bool is_guarded = step.guard.source != Source::none;
    const std::uint32_t guarded = is_guarded ? true_rows(access(room, step.guard)) : all_rows;
    StepRunner runner = {room, step, context, active & guarded};
    const ValueType operand = step.operation == Operation::choose ? step.type : step.left.type;
    with_operation(step.operation, operand, runner);
    *room.slots.nulls_at(step.to) = static_cast<std::uint8_t>(runner.nulls | (all_rows & ~guarded));
    return runner.failed;
}

// Reads columns of a table through the numbers of its rows.
__device__ inline void read_picked(const ColumnView &column, std::uint64_t first, std::uint32_t active,
                                   Values *values) {
    *values = {};
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        if (column.rows == nullptr) {
            values->nulls |= 1U << i;
        } else if ((active >> i & 1) != 0) {
            read_row({column.type, column.values, column.nulls}, column.rows[first + i * 32], i, values);
        }
    }
}

// Reads a column's values in rows `first + i * 32` that are active; of others they are 0.
inline __device__ __noinline__ void read_column(const ColumnView &column, std::uint64_t first,
                                                std::uint32_t active, Values *values) {
    if (column.reading == Reading::picked) {
        read_picked(column, first, active, values);
        return;
    }
    std::uint64_t low[rows_a_thread] = {};
    std::uint64_t high[rows_a_thread] = {};
    std::uint32_t nulls = 0;
    const bool is_wide = column.type == ValueType::int128;
    if (column.nulls != nullptr) {
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            if ((active >> i & 1) != 0) {
                const std::uint64_t row = first + i * 32;
                nulls |= static_cast<std::uint32_t>(column.nulls[row / 64] >> (row % 64) & 1) << i;
            }
        }
    }
    if (column.reading == Reading::array) {
        const std::uint32_t words = is_wide ? 2 : 1;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            if ((active >> i & 1) != 0) {
                low[i] = column.values[(first + i * 32) * words];
                high[i] = is_wide ? column.values[(first + i * 32) * 2 + 1] : 0;
            }
        }
    } else if (column.reading == Reading::constant) {
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            low[i] = column.offset;
            high[i] = is_wide ? static_cast<std::uint64_t>(static_cast<std::int64_t>(low[i]) >> 63) : 0;
        }
    } else if (column.reading == Reading::row) {
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            low[i] = column.offset + first + i * 32;
        }
    } else {
        device::CodesView{column.codes, column.bits}.read(first, active, low);
        if (column.has_dictionary) {
            // A code that the dictionary hasn't got is damage, or NULL's.
#pragma unroll
            for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                const bool is_there = (active >> i & 1) != 0 && low[i] < column.entries;
                low[i] = is_there ? packed_at(column.dictionary, low[i], column.entry_bits) : 0;
            }
        }
        if (column.reading != Reading::map && column.reading != Reading::code) {
#pragma unroll
            for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                low[i] += column.offset;
            }
        }
        switch (column.reading) {
            case Reading::flag:
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    low[i] = low[i] != 0 ? 1 : 0;
                }
                break;
            case Reading::float32:
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    low[i] = bits_of_float(float_of_value(low[i]));
                }
                break;
            case Reading::float64:
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    low[i] = bits_of_float(double_of_value(low[i]));
                }
                break;
            case Reading::decimal:
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    const UInt128 factor = static_cast<UInt128>(column.factor.high) << 64 | column.factor.low;
                    const UInt128 number =
                        static_cast<UInt128>(static_cast<Int128>(static_cast<std::int64_t>(low[i]))) * factor;
                    low[i] = static_cast<std::uint64_t>(number);
                    high[i] = static_cast<std::uint64_t>(number >> 64);
                }
                break;
            case Reading::map:
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    const std::uint64_t code = low[i];
                    const bool is_there = (active >> i & 1) != 0 && code < column.places;
                    const bool is_null =
                        !is_there || (column.value_nulls != nullptr &&
                                      (column.value_nulls[code / 64] >> (code % 64) & 1) != 0);
                    nulls |= (is_null ? 1U : 0U) << i;
                    low[i] = is_there ? column.values[is_wide ? 2 * code : code] : 0;
                    high[i] = is_there && is_wide ? column.values[2 * code + 1] : 0;
                }
                break;
            default:
                if (is_wide) {
#pragma unroll
                    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                        high[i] = static_cast<std::uint64_t>(static_cast<std::int64_t>(low[i]) >> 63);
                    }
                }
        }
    }
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        // What isn't 0 is true.
        values->low[i] = column.type == ValueType::boolean ? (low[i] != 0 ? 1 : 0) : low[i];
        values->high[i] = high[i];
    }
    values->nulls = nulls;
}

// What a thread computes with.
class Rows {
  public:
    __device__ Rows(const ProgramView &program, const SourceView &source, const SlotRoom &slots)
        : program_(program), source_(source), room_{slots, program.constants, program.zones} {}

    // Goes on to the rows `first + i * 32`.
    __device__ void take(std::uint64_t first, std::uint32_t active) {
        first_ = first;
        active_ = active;
    }
    // Computes the first `count` stages. All lanes of a warp call it together.
    __device__ void run(std::uint32_t count) {
        for (std::uint32_t stage = 0; stage < count; ++stage) {
            if (stage > 0 && __ballot_sync(UINT32_MAX, active_ != 0) == 0) {
                return;
            }
            run(program_.stages[stage]);
        }
    }
    __device__ void run_all() { run(program_.stage_count); }

    __device__ std::uint64_t row(std::uint32_t i) const { return first_ + i * 32; }
    __device__ std::uint32_t active() const { return active_; }
    __device__ void keep(std::uint32_t rows) { active_ &= rows; }
    __device__ bool has_failed() const { return has_failed_; }

    __device__ void load(Operand operand, Values *values) const {
        if (operand.source == Source::column) {
            read_column(source_.columns[operand.number], first_, active_, values);
            return;
        }
        if (operand.source != Source::slot && operand.source != Source::constant) {
            *values = {};
            values->nulls = all_rows;
            return;
        }
        const Access from = access(operand);
        const bool is_wide = operand.type == ValueType::int128;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            values->low[i] = from.at[i * from.step];
            values->high[i] = is_wide ? from.at[i * from.step + from.second] : 0;
        }
        values->nulls = from.nulls;
    }
    // Of what isn't read from a column.
    __device__ Access access(Operand operand) const {
        return on_device::access(room_, operand);
    }
    // The rows for which a truth value is true.
    __device__ std::uint32_t trues(Operand operand) const {
        Values truth;
        load(operand, &truth);
        std::uint32_t rows = 0;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            rows |= (truth.low[i] != 0 ? 1U : 0U) << i;
        }
        return rows & ~truth.nulls;
    }

    // Slots of the sink's own.
    __device__ void put(std::uint32_t slot, std::uint32_t i, std::uint64_t word) {
        room_.slots.at(slot)[i * room_.slots.stride] = word;
    }
    __device__ std::uint64_t get(std::uint32_t slot, std::uint32_t i) const {
        return room_.slots.at(slot)[i * room_.slots.stride];
    }

  private:
    // Computes the steps of a stage. Rows that pass its filter stay active.
    __device__ void run(const Stage &stage) {
        for (std::uint32_t i = stage.first; i < stage.first + stage.count; ++i) {
            const Instruction &step = program_.instructions[i];
            switch (step.task) {
                case Task::read: {
                    Values values;
                    read_column(source_.columns[step.left.number], first_, active_, &values);
                    store(room_.slots, step.to, step.type, values);
                    break;
                }
                case Task::compute:
                    has_failed_ |= run_step(room_, step, active_) != 0;
                    break;
                case Task::probe:
                    probe_rows(room_, program_, step, active_);
                    break;
                case Task::gather:
                    gather_rows(room_, program_, step, active_);
                    break;
            }
        }
        if (stage.filter.source != Source::none) {
            active_ &= passing(stage);
        }
    }
    __device__ std::uint32_t passing(const Stage &stage) const {
        if (stage.passing == Passing::is_true) {
            return trues(stage.filter);
        }
        Values values;
        load(stage.filter, &values);
        return stage.passing == Passing::is_null ? values.nulls : ~values.nulls;
    }

    const ProgramView &program_;
    const SourceView &source_;
    StepRoom room_;
    std::uint64_t first_ = 0;
    std::uint32_t active_ = 0;
    bool has_failed_ = false;
};

// The lots of rows that fall to a warp, all lanes of which call the same functions together.
class WarpRows {
  public:
    __device__ explicit WarpRows(const SourceView &source)
        : words_(source.selected, source.selected == nullptr ? 0 : source.words, 1),
          rows_(source.selected == nullptr ? source.rows : 0),
          is_selected_(source.selected != nullptr),
          next_(static_cast<std::uint64_t>(blockIdx.x * blockDim.x + threadIdx.x) / 32 *
                device::rows_a_warp) {}

    // Goes on to the next lot; `first` becomes its first row, and `bits` have those that count, 32 rows each.
    __device__ bool next(std::uint64_t *first, std::uint32_t *bits) {
        if (is_selected_) {
            return words_.next(first, bits);
        }
        if (next_ >= rows_) {
            return false;
        }
        *first = next_;
        const std::uint64_t rest = rows_ - next_;
#pragma unroll
        for (std::uint32_t i = 0; i < device::words_a_warp; ++i) {
            bits[i] = rest >= (i + 1) * 32 ? UINT32_MAX : rest <= i * 32 ? 0 : (1U << (rest - i * 32)) - 1;
        }
        next_ += static_cast<std::uint64_t>(gridDim.x) * blockDim.x / 32 * device::rows_a_warp;
        return true;
    }

  private:
    device::WarpWords words_;
    std::uint64_t rows_;
    bool is_selected_;
    std::uint64_t next_;
};

// A block's slots at the start of its shared memory, or of all blocks in `scratch`.
__device__ inline SlotRoom make_slot_room(std::uint64_t *shared, std::uint64_t *scratch,
                                          std::uint32_t slots) {
    const std::uint32_t stride = scratch != nullptr ? gridDim.x * blockDim.x : blockDim.x;
    std::uint64_t *values = scratch != nullptr ? scratch : shared;
    return {
        values,
        reinterpret_cast<std::uint8_t *>(values + static_cast<std::size_t>(slots) * rows_a_thread * stride),
        stride, scratch != nullptr ? blockIdx.x * blockDim.x + threadIdx.x : threadIdx.x};
}

}  // namespace gpu_engine::query::on_device
