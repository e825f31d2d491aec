#include "host/query/program.h"

#include <algorithm>
#include <functional>

#include "common/query/truth.h"
#include "host/query/steps.h"

namespace gpu_engine::host {

using query::Operation;
using query::Step;

namespace {

bool fits_word(Int128 value) {
    return static_cast<std::int64_t>(value) == value;
}

// Operations of decimals of 128 bits that mean the same for 64 bits, where the results have room.
bool may_be_narrow(Operation operation) {
    return operation != Operation::quotient && operation != Operation::quotient_digits &&
           operation != Operation::in_list && operation != Operation::widen;
}

}  // namespace

Program::Program(MemoryBudget &budget, const query::Query &query, const query::Node &node, bool defers)
    : query_(query),
      steps_(query.steps + node.steps.first),
      passes_(query::passes_of(query, node)),
      is_deferred_(node.steps.count),
      contexts_(node.steps.count),
      vectors_(node.steps.count),
      registers_(node.steps.count) {
    if (defers) {
        defer_columns();
    }
    std::uint64_t bytes = 0;
    const auto for_needed = [&](auto visit) {
        for (const query::StepPass &pass : passes_) {
            for (const std::uint16_t step : pass.steps) {
                visit(step);
            }
        }
    };
    const auto bytes_for = [&](std::uint16_t step) {
        return std::uint64_t{query_tile_rows} * (bytes_of(steps_[step].type) + 1);
    };
    for_needed([&](std::uint16_t step) { bytes += bytes_for(step); });
    memory_ = Buffer<char>(budget, bytes);
    std::uint64_t at = 0;
    for_needed([&](std::uint16_t step) {
        char *values = memory_.data() + at;
        registers_[step] = {{values, reinterpret_cast<std::uint8_t *>(values) +
                                         std::uint64_t{query_tile_rows} * bytes_of(steps_[step].type)},
                            false,
                            false};
        at += bytes_for(step);
        contexts_[step] = query::context_of(query, steps_[step]);
        if (steps_[step].operation == Operation::constant || steps_[step].operation == Operation::null) {
            add_constant(step);
        }
    });
    for (Buffer<Int128> &wide : wide_) {
        wide = Buffer<Int128>(budget, query_tile_rows);
    }
    // The last one first: a step's values may be those of a step before it, which must be there until they
    // are gathered.
    for (query::StepPass &pass : passes_) {
        std::sort(pass.needed.begin(), pass.needed.end(), std::greater<>());
    }
}

void Program::defer_columns() {
    std::vector<bool> is_taken(is_deferred_.size());
    for (const query::StepPass &pass : passes_) {
        if (pass.condition != query::no_step) {
            is_taken[pass.condition] = true;
        }
        for (const std::uint16_t number : pass.steps) {
            const Step &step = steps_[number];
            const std::uint16_t taken[3] = {step.left, step.right, step.third};
            for (std::uint32_t i = 0; i < query::operands_of(step.operation); ++i) {
                is_taken[taken[i]] = true;
            }
            if (step.guard != query::no_step) {
                is_taken[step.guard] = true;
            }
        }
    }
    const auto is_plain = [&](std::uint16_t number) {
        return steps_[number].operation == Operation::column && !is_taken[number];
    };
    for (query::StepPass &pass : passes_) {
        for (const std::uint16_t number : pass.steps) {
            is_deferred_[number] = is_plain(number);
        }
        std::erase_if(pass.steps, is_plain);
    }
}

void Program::add_constant(std::uint16_t number) {
    const Step &step = steps_[number];
    Register &own = registers_[number];
    own.is_constant = true;
    query::Constant constant = {};
    if (step.operation == Operation::constant) {
        constant = query_.constants[step.left];
    }
    const std::uint64_t words[2] = {constant.low, constant.high};
    const bool is_narrow = step.type == ValueType::int128 && fits_word(query::Words<Int128>::read(words));
    vectors_[number] = {step.type, is_narrow, own.room.values, nullptr};
    with_stored(vectors_[number].stored(), [&]<typename Type>(Type) {
        std::fill_n(own.room.as<Type>(), query_tile_rows, query::Words<Type>::read(words));
    });
    if (step.operation == Operation::null) {
        std::fill_n(own.room.nulls, query_tile_rows, 1);
        vectors_[number].nulls = own.room.nulls;
    }
}

bool Program::compute(TileInput &input) {
    for (const query::StepPass &pass : passes_) {
        if (input.count() > 0 && !compute_steps(pass.steps, input)) {
            return false;
        }
        if (input.count() > 0 && pass.condition != query::no_step) {
            leave_passing(pass, input);
        }
    }
    return true;
}

bool Program::compute_steps(const std::vector<std::uint16_t> &steps, TileInput &input) {
    return std::all_of(steps.begin(), steps.end(),
                       [&](std::uint16_t step) { return compute_step(step, input); });
}

void Program::leave_passing(const query::StepPass &pass, TileInput &input) {
    const Vector &filter = vectors_[pass.condition];
    const Truth *truth = filter.as<Truth>();
    std::uint16_t positions[query_tile_rows];
    const std::uint32_t count = input.count();
    std::uint32_t passing = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        positions[passing] = static_cast<std::uint16_t>(i);
        passing += truth[i] & (filter.nulls == nullptr ? 1 : filter.nulls[i] ^ 1);
    }
    if (passing == count) {
        return;
    }
    input.keep(positions, passing);
    for (const std::uint16_t step : pass.needed) {
        Vector &vector = vectors_[step];
        if (!registers_[step].is_constant) {
            const VectorRoom &room = registers_[step].room;
            gather_vector(vector, positions, passing, room);
            vector.values = room.values;
            vector.nulls = vector.nulls != nullptr ? room.nulls : nullptr;
        }
    }
}

bool Program::compute_step(std::uint16_t number, TileInput &input) {
    const Step &step = steps_[number];
    Register &own = registers_[number];
    if (own.is_constant) {
        return true;
    }
    if (step.operation == Operation::column) {
        vectors_[number] = input.load(step.left, own.room);
        return true;
    }
    const Vector &left = vectors_[step.left];
    if (step.operation == Operation::widen && left.type == ValueType::int64 && step.guard == query::no_step) {
        vectors_[number] = {ValueType::int128, true, left.values, left.nulls};
        return true;
    }
    return compute_wide_or_narrow(number, input.count());
}

bool Program::compute_wide_or_narrow(std::uint16_t number, std::uint32_t count) {
    const Step &step = steps_[number];
    Register &own = registers_[number];
    const std::uint32_t operands = query::operands_of(step.operation);
    const std::uint16_t numbers[3] = {step.left, step.right, step.third};
    StepOperands taken = {};
    taken.guard = step.guard == query::no_step ? nullptr : &vectors_[step.guard];
    bool any_int128 = false;
    bool all_narrow = may_be_narrow(step.operation) && !own.is_wide;
    for (std::uint32_t i = 0; i < operands; ++i) {
        taken.operand[i] = &vectors_[numbers[i]];
        any_int128 |= taken.operand[i]->type == ValueType::int128;
        all_narrow &= taken.operand[i]->type != ValueType::int128 || taken.operand[i]->is_narrow;
    }
    const ValueType operand = taken.operand[step.operation == Operation::choose ? 1 : 0]->type;
    bool has_nulls = false;
    if (any_int128 && all_narrow) {
        query::StepContext context = contexts_[number];
        context.width = std::min<std::uint8_t>(context.width, 8);
        if (compute_operation(step.operation, ValueType::int64, context, taken, count, own.room,
                              &has_nulls)) {
            vectors_[number] = {step.type, step.type == ValueType::int128, own.room.values,
                                has_nulls ? own.room.nulls : nullptr};
            return true;
        }
        own.is_wide = true;
    }
    Vector wide[3];
    for (std::uint32_t i = 0; any_int128 && i < operands; ++i) {
        if (taken.operand[i]->is_narrow) {
            wide[i] = widened(*taken.operand[i], count, static_cast<int>(i));
            taken.operand[i] = &wide[i];
        }
    }
    const bool is_fine =
        compute_operation(step.operation, operand, contexts_[number], taken, count, own.room, &has_nulls);
    vectors_[number] = {step.type, false, own.room.values, has_nulls ? own.room.nulls : nullptr};
    return is_fine;
}

Vector Program::widened(const Vector &vector, std::uint32_t count, int place) {
    std::copy_n(vector.as<std::int64_t>(), count, wide_[place].data());
    return {ValueType::int128, false, wide_[place].data(), vector.nulls};
}

}  // namespace gpu_engine::host
