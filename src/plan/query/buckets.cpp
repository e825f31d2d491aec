// width_bucket() between constant bounds that ascend.
#include "compat.h"
#include "plan/query/expression.h"

namespace pg_gpu::plan::query {

static const Const *constant_at(const List *arguments, int number) {
    const auto *node = static_cast<const Node *>(list_nth(arguments, number));
    return IsA(node, Const) && !reinterpret_cast<const Const *>(node)->constisnull
               ? reinterpret_cast<const Const *>(node)
               : nullptr;
}

static uint16 choose_step(Compiler *compiler, uint16 condition, uint16 one, uint16 other) {
    return add_step(compiler->program, make_step(Operation::choose, ValueType::int64, condition, one, other));
}

static uint16 integer_step(Compiler *compiler, int64 number) {
    return constant_step(compiler->program, number, ValueType::int64);
}

// The bucket: `inside` is a number from 0 on, where the value lies between the bounds.
static Value make_bucket(Compiler *compiler, uint16 is_below, uint16 is_above, uint16 inside, int32 count) {
    const engine::Step next = make_step(Operation::add, ValueType::int64, inside, integer_step(compiler, 1));
    const uint16 outside = choose_step(compiler, is_above, integer_step(compiler, int64{count} + 1),
                                       add_guarded(compiler, next, true));
    Value bucket = make_value(choose_step(compiler, is_below, integer_step(compiler, 0), outside),
                              Kind::Integer, ValueType::int64, static_cast<double>(count) + 1);
    bucket.width = 4;
    return bucket;
}

// NULL where the value is, and for that neither below nor above.
static Value or_null(Compiler *compiler, const Value &value, Value bucket) {
    const uint16 null = add_step(compiler->program, make_step(Operation::null, ValueType::int64));
    bucket.step = choose_step(compiler, logic(compiler, Operation::is_null, value.step), null, bucket.step);
    return bucket;
}

static uint16 is_between(Compiler *compiler, uint16 is_below, uint16 is_above) {
    return logic(compiler, Operation::logical_not,
                 logic(compiler, Operation::logical_or, is_below, is_above));
}

// Operands are floats of 8 bytes, which each operation rounds as the compiler's code does.
static Value bucket_of_float(Compiler *compiler, const Value &value, float8 low, float8 high, int32 count) {
    if (!(low < high) || std::isinf(high - low) || std::isinf(low) || std::isinf(high))
        return refuse_value(compiler, "bounds of buckets don't ascend");
    const auto real = [&](float8 number) { return constant_step(compiler->program, number); };
    const uint16 is_below = logic(compiler, Operation::less, value.step, real(low));
    const uint16 is_above = logic(compiler, Operation::less_or_equal, real(high), value.step);
    // NaN is an error.
    const uint16 is_odd = logic(compiler, Operation::equal, value.step, real(get_float8_nan()));
    const Guarded odd = begin_guarded(compiler, is_odd);
    const uint16 failing = add_guarded(
        compiler,
        make_step(Operation::divide, ValueType::int64, integer_step(compiler, 1), integer_step(compiler, 0)),
        true);
    end_guarded(odd);
    const Guarded guarded = begin_guarded(compiler, is_between(compiler, is_below, is_above));
    const auto compute = [&](Operation operation, uint16 one, uint16 other) {
        return add_guarded(compiler, make_step(operation, ValueType::float64, one, other), true);
    };
    const uint16 quotient =
        compute(Operation::divide, compute(Operation::subtract, value.step, real(low)), real(high - low));
    const uint16 place = compute(Operation::multiply, real(count), quotient);
    engine::Step whole = make_step(Operation::float_to_integer, ValueType::int64,
                                   compute(Operation::truncate, place, no_step));
    // The quotient may be rounded to 1.
    const uint16 inside = add_step(
        compiler->program, make_step(Operation::lesser, ValueType::int64, add_guarded(compiler, whole, true),
                                     integer_step(compiler, int64{count} - 1)));
    end_guarded(guarded);
    Value bucket = make_bucket(compiler, is_below, is_above, inside, count);
    bucket.step = choose_step(compiler, is_odd, failing, bucket.step);
    return or_null(compiler, value, bucket);
}

static Value bucket_of_decimal(Compiler *compiler, Value value, const Const *const *bounds, int32 count) {
    // PostgreSQL rounds the quotient to 16 digits at least, which makes no other integer of it.
    constexpr double max_span = 1e14;
    Int128 bound[2];
    int scale = value.scale;
    uint8 scales[2];
    for (int i = 0; i < 2; i++) {
        uint64 words[2];
        if (!column::read_wide(DatumGetNumeric(bounds[i]->constvalue), words, &scales[i]))
            return refuse_value(compiler, "a constant isn't finite, or has too many digits", bounds[i]);
        bound[i] = column::wide_of_words(words[0], words[1]);
        scale = Max(scale, int{scales[i]});
    }
    for (int i = 0; i < 2; i++)
        if (!column::multiply_by_power(&bound[i], scale - scales[i]))
            return refuse_value(compiler, "numerics have too many digits");
    const auto span = static_cast<double>(bound[1] - bound[0]);
    if (!(span > 0) || span * count > max_span)
        return refuse_value(compiler, "bounds of buckets don't ascend");
    value = rescale(compiler, value, scale);
    if (is_refused(compiler))
        return {};
    const ValueType type = value.type;
    const auto number = [&](Int128 constant) { return constant_step(compiler->program, constant, type); };
    const uint16 is_below = logic(compiler, Operation::less, value.step, number(bound[0]));
    const uint16 is_above = logic(compiler, Operation::less_or_equal, number(bound[1]), value.step);
    const Guarded guarded = begin_guarded(compiler, is_between(compiler, is_below, is_above));
    const auto compute = [&](Operation operation, uint16 one, uint16 other) {
        engine::Step step = make_step(operation, type, one, other);
        step.width = type == ValueType::int128 ? 16 : 8;
        return add_guarded(compiler, step, true);
    };
    const uint16 less = compute(Operation::subtract, value.step, number(bound[0]));
    const uint16 place = compute(Operation::divide_floor, compute(Operation::multiply, less, number(count)),
                                 number(bound[1] - bound[0]));
    Value inside = make_value(place, Kind::Integer, type, kMaxInt64);
    inside = widen_to(compiler, inside, ValueType::int64);
    end_guarded(guarded);
    return or_null(compiler, value, make_bucket(compiler, is_below, is_above, inside.step, count));
}

bool compile_bucket_call(Compiler *compiler, Oid function, const List *arguments, Value *value) {
    const bool is_float = function == F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4;
    if (!is_float && function != F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4)
        return false;
    const Value operand = compile(compiler, static_cast<const Expr *>(linitial(arguments)));
    const Const *bounds[] = {constant_at(arguments, 1), constant_at(arguments, 2)};
    const Const *buckets = constant_at(arguments, 3);
    if (is_refused(compiler))
        return true;
    const int32 count = buckets == nullptr ? 0 : DatumGetInt32(buckets->constvalue);
    if (count <= 0 || count == PG_INT32_MAX || bounds[0] == nullptr || bounds[1] == nullptr ||
        operand.is_null)
        *value = refuse_value(compiler, "bounds of buckets aren't constants");
    else if (is_float)
        *value = bucket_of_float(compiler, operand, DatumGetFloat8(bounds[0]->constvalue),
                                 DatumGetFloat8(bounds[1]->constvalue), count);
    else
        *value = bucket_of_decimal(compiler, require_finite(compiler, operand), bounds, count);
    return true;
}

}  // namespace pg_gpu::plan::query
