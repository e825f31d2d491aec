// Comparisons, truth values and choices.
#pragma once

#include "common/query/numbers.h"

namespace gpu_engine::query {

template <typename Type>
struct Comparison {
    using Left = Type;
    using Right = Type;
    using Result = Truth;
    static constexpr int operands = 2;
    static constexpr bool sees_nulls = false;
};
template <typename Type>
struct Equal : Comparison<Type> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, Type left, Type right, Truth *result) {
        *result = is_equal(left, right) ? 1 : 0;
        return true;
    }
};
template <typename Type>
struct NotEqual : Comparison<Type> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, Type left, Type right, Truth *result) {
        *result = is_equal(left, right) ? 0 : 1;
        return true;
    }
};
template <typename Type>
struct Less : Comparison<Type> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, Type left, Type right, Truth *result) {
        *result = is_less(left, right) ? 1 : 0;
        return true;
    }
};
template <typename Type>
struct LessOrEqual : Comparison<Type> {
    GPU_ENGINE_BOTH static bool call(const StepContext &, Type left, Type right, Truth *result) {
        *result = is_less(right, left) ? 0 : 1;
        return true;
    }
};

template <int count, typename LeftType, typename RightType, typename ResultType>
struct SeesNulls {
    using Left = LeftType;
    using Right = RightType;
    using Result = ResultType;
    static constexpr int operands = count;
    static constexpr bool sees_nulls = true;
};

// An operand that is `decisive` decides, whatever the other one is.
template <Truth decisive>
struct Join : SeesNulls<2, Truth, Truth, Truth> {
    GPU_ENGINE_BOTH static Nullable<Truth> look(const StepContext &, Nullable<Truth> left,
                                                Nullable<Truth> right) {
        const bool is_decided =
            (!left.is_null && left.value == decisive) || (!right.is_null && right.value == decisive);
        return {is_decided ? decisive : static_cast<Truth>(1 - decisive),
                !is_decided && (left.is_null || right.is_null)};
    }
};
struct Not : SeesNulls<1, Truth, Nothing, Truth> {
    GPU_ENGINE_BOTH static Nullable<Truth> look(const StepContext &, Nullable<Truth> value) {
        return {static_cast<Truth>(1 - value.value), value.is_null};
    }
};
template <typename Type>
struct IsNull : SeesNulls<1, Type, Nothing, Truth> {
    GPU_ENGINE_BOTH static Nullable<Truth> look(const StepContext &, Nullable<Type> value) {
        return {static_cast<Truth>(value.is_null ? 1 : 0), false};
    }
};
template <Truth wanted>
struct IsTruth : SeesNulls<1, Truth, Nothing, Truth> {
    GPU_ENGINE_BOTH static Nullable<Truth> look(const StepContext &, Nullable<Truth> value) {
        return {static_cast<Truth>(!value.is_null && value.value == wanted), false};
    }
};
template <typename Type>
struct IsDistinct : SeesNulls<2, Type, Type, Truth> {
    GPU_ENGINE_BOTH static Nullable<Truth> look(const StepContext &, Nullable<Type> left,
                                                Nullable<Type> right) {
        const bool is_same =
            left.is_null || right.is_null ? left.is_null && right.is_null : is_equal(left.value, right.value);
        return {static_cast<Truth>(is_same ? 0 : 1), false};
    }
};

// ---- choices ----------------------------------------------------------------------------------------------

template <typename Type>
struct Choose : SeesNulls<3, Truth, Type, Type> {
    using Third = Type;
    GPU_ENGINE_BOTH static Nullable<Type> look(const StepContext &, Nullable<Truth> truth, Nullable<Type> one,
                                               Nullable<Type> other) {
        const bool is_true = !truth.is_null && truth.value != 0;
        return {is_true ? one.value : other.value, is_true ? one.is_null : other.is_null};
    }
};
template <typename Type>
struct Coalesce : SeesNulls<2, Type, Type, Type> {
    GPU_ENGINE_BOTH static Nullable<Type> look(const StepContext &, Nullable<Type> left,
                                               Nullable<Type> right) {
        return {left.is_null ? right.value : left.value, left.is_null && right.is_null};
    }
};
template <typename Type>
struct NullIfEqual : SeesNulls<2, Type, Type, Type> {
    GPU_ENGINE_BOTH static Nullable<Type> look(const StepContext &, Nullable<Type> left,
                                               Nullable<Type> right) {
        return {left.value, left.is_null || (!right.is_null && is_equal(left.value, right.value))};
    }
};
// The greater one of two, or the lesser one, that isn't NULL.
template <typename Type, bool is_greater>
struct Extreme : SeesNulls<2, Type, Type, Type> {
    GPU_ENGINE_BOTH static Nullable<Type> look(const StepContext &, Nullable<Type> left,
                                               Nullable<Type> right) {
        const bool takes_right =
            is_greater ? is_less(left.value, right.value) : is_less(right.value, left.value);
        const bool is_right = left.is_null || (!right.is_null && takes_right);
        return {is_right ? right.value : left.value, left.is_null && right.is_null};
    }
};

// Does an operation give NULL although no operand is NULL?
template <typename Class>
inline constexpr bool makes_nulls = false;
template <typename Type>
inline constexpr bool makes_nulls<NullIfEqual<Type>> = true;

// Is a value among the step's constants, which ascend?
template <typename Type>
struct InList : SeesNulls<1, Type, Nothing, Truth> {
    GPU_ENGINE_BOTH static Type at(const StepContext &context, std::uint32_t i) {
        const std::uint64_t words[2] = {context.list[i].low, context.list[i].high};
        return Words<Type>::read(words);
    }
    GPU_ENGINE_BOTH static Nullable<Truth> look(const StepContext &context, Nullable<Type> value) {
        std::uint32_t first = 0;
        for (std::uint32_t count = context.list_count; count > 0;) {
            const std::uint32_t half = count / 2;
            const bool is_above = is_less(at(context, first + half), value.value);
            first += is_above ? half + 1 : 0;
            count = is_above ? count - half - 1 : half;
        }
        const bool is_in = first < context.list_count && is_equal(at(context, first), value.value);
        return {static_cast<Truth>(is_in ? 1 : 0), value.is_null || (!is_in && context.detail != 0)};
    }
};

template <typename Type>
inline constexpr bool makes_nulls<InList<Type>> = true;

// What a table has for a value. Tables often have an entry for each value, so that the place is known.
struct LookUp : OfOne<std::int64_t> {
    GPU_ENGINE_BOTH static std::int64_t at(const StepContext &context, std::uint32_t i) {
        return static_cast<std::int64_t>(context.list[i].low);
    }
    GPU_ENGINE_BOTH static bool call(const StepContext &context, std::int64_t value, std::int64_t *result) {
        *result = 0;
        if (context.list_count == 0) {
            return false;
        }
        const std::uint64_t place = static_cast<std::uint64_t>(value) - context.list[0].low;
        std::uint32_t first = place < context.list_count ? static_cast<std::uint32_t>(place) : 0;
        if (at(context, first) != value) {
            first = 0;
            for (std::uint32_t count = context.list_count; count > 1;) {
                const std::uint32_t half = count / 2;
                first += at(context, first + half) <= value ? half : 0;
                count -= half;
            }
        }
        *result = static_cast<std::int64_t>(context.list[first].high);
        return at(context, first) == value;
    }
};

}  // namespace gpu_engine::query
