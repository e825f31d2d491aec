#include "host/query/steps.h"

#include "common/query/dispatch.h"

namespace gpu_engine::host {
namespace {

using query::Nullable;
using query::StepContext;

struct Computation {
    const StepContext &context;
    const StepOperands &operands;
    std::uint32_t count;
    const VectorRoom &room;
    bool *has_nulls;

    template <typename Class>
    bool operator()(Class) const {
        if constexpr (Class::sees_nulls) {
            look<Class>();
            return true;
        } else {
            return call<Class>();
        }
    }

    const std::uint8_t *nulls_of(int operand) const { return operands.operand[operand]->nulls; }

    // NULL is what an operand is, and what a guard keeps out. Returns nullptr where nothing is.
    const std::uint8_t *join_nulls(int operand_count) const {
        bool is_first = true;
        const auto add = [&](auto null_at) {
            for (std::uint32_t i = 0; i < count; ++i) {
                const std::uint8_t null = null_at(i);
                room.nulls[i] = is_first ? null : static_cast<std::uint8_t>(room.nulls[i] | null);
            }
            is_first = false;
        };
        for (int i = 0; i < operand_count; ++i) {
            if (const std::uint8_t *nulls = nulls_of(i); nulls != nullptr) {
                add([nulls](std::uint32_t row) { return nulls[row]; });
            }
        }
        if (operands.guard != nullptr) {
            const Truth *truth = operands.guard->as<Truth>();
            add([truth](std::uint32_t row) { return static_cast<std::uint8_t>(truth[row] ^ 1); });
            if (const std::uint8_t *nulls = operands.guard->nulls; nulls != nullptr) {
                add([nulls](std::uint32_t row) { return nulls[row]; });
            }
        }
        *has_nulls = !is_first;
        return is_first ? nullptr : room.nulls;
    }

    template <typename Class>
    bool call() const {
        using Left = typename Class::Left;
        using Result = typename Class::Result;
        const std::uint8_t *nulls = join_nulls(Class::operands);
        const StepContext own = context;
        const Left *left = operands.operand[0]->as<Left>();
        Result *results = room.as<Result>();
        const auto for_all = [&](auto one) {
            bool fails = false;
            if (nulls == nullptr) {
                for (std::uint32_t i = 0; i < count; ++i) {
                    fails |= !one(i);
                }
            } else {
                for (std::uint32_t i = 0; i < count; ++i) {
                    fails |= !one(i) & (nulls[i] == 0);
                }
            }
            return !fails;
        };
        if constexpr (Class::operands == 1) {
            return for_all([=](std::uint32_t i) { return Class::call(own, left[i], &results[i]); });
        } else {
            using Right = typename Class::Right;
            const Right *right = operands.operand[1]->as<Right>();
            if constexpr (Class::operands == 2) {
                return for_all(
                    [=](std::uint32_t i) { return Class::call(own, left[i], right[i], &results[i]); });
            } else {
                const auto *third = operands.operand[2]->as<typename Class::Third>();
                return for_all([=](std::uint32_t i) {
                    return Class::call(own, left[i], right[i], third[i], &results[i]);
                });
            }
        }
    }

    template <typename Class>
    void look() const {
        using Left = typename Class::Left;
        using Result = typename Class::Result;
        bool any_null = operands.guard != nullptr || (context.list_count > 0 && context.detail != 0);
        for (int i = 0; i < Class::operands; ++i) {
            any_null |= nulls_of(i) != nullptr;
        }
        const StepContext own = context;
        const Left *left = operands.operand[0]->as<Left>();
        Result *results = room.as<Result>();
        const auto for_all = [&](auto one) {
            if constexpr (!query::makes_nulls<Class>) {
                if (!any_null) {
                    for (std::uint32_t i = 0; i < count; ++i) {
                        results[i] = one(i).value;
                    }
                    return;
                }
            }
            std::uint8_t *nulls = room.nulls;
            std::uint8_t seen = 0;
            for (std::uint32_t i = 0; i < count; ++i) {
                const Nullable<Result> result = one(i);
                results[i] = result.value;
                nulls[i] = result.is_null ? 1 : 0;
                seen |= nulls[i];
            }
            *has_nulls = seen != 0;
        };
        const auto for_nulls = [&](auto one) {
            if (any_null) {
                for_all([&](std::uint32_t i) { return one(i, true); });
            } else {
                for_all([&](std::uint32_t i) { return one(i, false); });
            }
        };
        const std::uint8_t *left_nulls = nulls_of(0);
        if constexpr (Class::operands == 1) {
            for_nulls([=](std::uint32_t i, bool may_be_null) {
                return Class::look(own, Nullable<Left>{left[i], is_null(may_be_null, left_nulls, i)});
            });
        } else {
            using Right = typename Class::Right;
            const Right *right = operands.operand[1]->as<Right>();
            const std::uint8_t *right_nulls = nulls_of(1);
            if constexpr (Class::operands == 2) {
                for_nulls([=](std::uint32_t i, bool may_be_null) {
                    return Class::look(own, Nullable<Left>{left[i], is_null(may_be_null, left_nulls, i)},
                                       Nullable<Right>{right[i], is_null(may_be_null, right_nulls, i)});
                });
            } else {
                using Third = typename Class::Third;
                const Third *third = operands.operand[2]->as<Third>();
                const std::uint8_t *third_nulls = nulls_of(2);
                for_nulls([=](std::uint32_t i, bool may_be_null) {
                    return Class::look(own, Nullable<Left>{left[i], is_null(may_be_null, left_nulls, i)},
                                       Nullable<Right>{right[i], is_null(may_be_null, right_nulls, i)},
                                       Nullable<Third>{third[i], is_null(may_be_null, third_nulls, i)});
                });
            }
        }
        if (operands.guard != nullptr) {
            leave_guarded();
        }
    }
    static bool is_null(bool may_be_null, const std::uint8_t *nulls, std::uint32_t i) {
        return may_be_null && nulls != nullptr && nulls[i] != 0;
    }
    void leave_guarded() const {
        for (std::uint32_t i = 0; i < count; ++i) {
            const bool is_true = operands.guard->as<Truth>()[i] != 0 &&
                                 (operands.guard->nulls == nullptr || operands.guard->nulls[i] == 0);
            room.nulls[i] |= is_true ? 0 : 1;
        }
        *has_nulls = true;
    }
};

}  // namespace

bool compute_operation(query::Operation operation, ValueType operand, const StepContext &context,
                       const StepOperands &operands, std::uint32_t count, const VectorRoom &room,
                       bool *has_nulls) {
    *has_nulls = false;
    return query::with_operation(operation, operand, Computation{context, operands, count, room, has_nulls});
}

}  // namespace gpu_engine::host
