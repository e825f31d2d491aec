// Which class means a step's operation on operands of a type.
#pragma once

#include "common/query/decimals.h"
#include "common/query/float_decimals.h"
#include "common/query/float_functions.h"
#include "common/query/moments.h"
#include "common/query/truth.h"

namespace gpu_engine::query {

template <template <typename> typename Class, typename Visit>
GPU_ENGINE_BOTH bool with_integer(ValueType type, Visit &visit) {
    return type == ValueType::int128 ? visit(Class<Int128>{}) : visit(Class<std::int64_t>{});
}
template <template <typename> typename Class, typename Visit>
GPU_ENGINE_BOTH bool with_number(ValueType type, Visit &visit) {
    return type == ValueType::float64 ? visit(Class<double>{}) : with_integer<Class>(type, visit);
}
template <template <typename> typename Class, typename Visit>
GPU_ENGINE_BOTH bool with_any(ValueType type, Visit &visit) {
    return type == ValueType::boolean ? visit(Class<Truth>{}) : with_number<Class>(type, visit);
}

template <typename Type>
using Greater = Extreme<Type, true>;
template <typename Type>
using Lesser = Extreme<Type, false>;
template <typename Type>
using DivideNearest = DivideRounded<Type, Rounding::nearest>;
template <typename Type>
using DivideUp = DivideRounded<Type, Rounding::up>;
template <typename Type>
using DivideDown = DivideRounded<Type, Rounding::down>;

// Returns visit(Class{}) for the class of a step that is no source (column, constant, null). `operand` is the
// type of its operand `left`, or for `choose` its own.
template <typename Visit>
GPU_ENGINE_BOTH bool with_operation(Operation operation, ValueType operand, Visit &&visit) {
    switch (operation) {
        case Operation::add:
            return with_number<Add>(operand, visit);
        case Operation::subtract:
            return with_number<Subtract>(operand, visit);
        case Operation::multiply:
            return with_number<Multiply>(operand, visit);
        case Operation::divide:
            return with_number<Divide>(operand, visit);
        case Operation::modulo:
            return with_integer<Modulo>(operand, visit);
        case Operation::negate:
            return with_number<Negate>(operand, visit);
        case Operation::absolute:
            return with_number<Absolute>(operand, visit);
        case Operation::sign:
            return with_number<Sign>(operand, visit);
        case Operation::greater:
            return with_any<Greater>(operand, visit);
        case Operation::lesser:
            return with_any<Lesser>(operand, visit);
        case Operation::divide_round:
            return with_integer<DivideNearest>(operand, visit);
        case Operation::divide_ceiling:
            return with_integer<DivideUp>(operand, visit);
        case Operation::divide_floor:
            return with_integer<DivideDown>(operand, visit);
        case Operation::quotient_digits:
            return visit(QuotientDigits{});
        case Operation::quotient:
            return visit(Quotient{});
        case Operation::round_even:
            return visit(RoundFloat<FloatRounding::even>{});
        case Operation::ceiling:
            return visit(RoundFloat<FloatRounding::up>{});
        case Operation::floor:
            return visit(RoundFloat<FloatRounding::down>{});
        case Operation::truncate:
            return visit(RoundFloat<FloatRounding::zero>{});
        case Operation::square_root:
            return visit(SquareRoot{});
        case Operation::product_rest:
            return visit(ProductRest{});
        case Operation::float_function:
            return visit(CallFloatFunction{});
        case Operation::float_function_of_two:
            return visit(CallFloatFunctionOfTwo{});
        case Operation::bit_and:
            return visit(Bits<Operation::bit_and>{});
        case Operation::bit_or:
            return visit(Bits<Operation::bit_or>{});
        case Operation::bit_xor:
            return visit(Bits<Operation::bit_xor>{});
        case Operation::bit_not:
            return visit(BitNot{});
        case Operation::shift_left:
            return visit(Bits<Operation::shift_left>{});
        case Operation::shift_right:
            return visit(Bits<Operation::shift_right>{});
        case Operation::widen:
            return operand == ValueType::boolean ? visit(Widen<Truth>{}) : visit(Widen<std::int64_t>{});
        case Operation::narrow:
            return operand == ValueType::boolean ? visit(Narrow<Truth>{})
                                                 : with_integer<Narrow>(operand, visit);
        case Operation::to_float:
            return with_integer<ToFloat>(operand, visit);
        case Operation::float_to_float:
            return visit(FloatToFloat{});
        case Operation::float_to_integer:
            return visit(FloatToInteger{});
        case Operation::to_boolean:
            return visit(ToBoolean{});
        case Operation::is_negative:
            return visit(IsNegative{});
        case Operation::float_to_decimal:
            return visit(FloatToDecimal{});
        case Operation::float_scale:
            return visit(FloatScale{});
        case Operation::equal:
            return with_any<Equal>(operand, visit);
        case Operation::not_equal:
            return with_any<NotEqual>(operand, visit);
        case Operation::less:
            return with_any<Less>(operand, visit);
        case Operation::less_or_equal:
            return with_any<LessOrEqual>(operand, visit);
        case Operation::logical_and:
            return visit(Join<0>{});
        case Operation::logical_or:
            return visit(Join<1>{});
        case Operation::logical_not:
            return visit(Not{});
        case Operation::is_null:
            return with_any<IsNull>(operand, visit);
        case Operation::is_true:
            return visit(IsTruth<1>{});
        case Operation::is_false:
            return visit(IsTruth<0>{});
        case Operation::is_distinct:
            return with_any<IsDistinct>(operand, visit);
        case Operation::in_list:
            return with_any<InList>(operand, visit);
        case Operation::choose:
            return with_any<Choose>(operand, visit);
        case Operation::coalesce:
            return with_any<Coalesce>(operand, visit);
        case Operation::null_if_equal:
            return with_any<NullIfEqual>(operand, visit);
        case Operation::look_up:
            return visit(LookUp{});
        case Operation::date_of_timestamp:
            return visit(DateOfTimestamp{});
        case Operation::timestamp_of_date:
            return visit(TimestampOfDate{});
        case Operation::truncate_days:
            return visit(TruncateDays{});
        case Operation::truncate_timestamp:
            return visit(TruncateTimestamp{});
        case Operation::field_of_date:
            return visit(FieldOfDate{});
        case Operation::field_of_timestamp:
            return visit(FieldOfTimestamp{});
        case Operation::shift_zone:
            return visit(ShiftZone{});
        case Operation::unshift_zone:
            return visit(UnshiftZone{});
        case Operation::months_added:
            return visit(MonthsAdded{});
        case Operation::column:
        case Operation::constant:
        case Operation::null:
            break;
    }
    return false;
}

}  // namespace gpu_engine::query
