// Rows as numbers: ROW(a, b) of an aggregate's distinct values.
#include "plan/query/expression.h"

namespace pg_gpu::plan::query {

// No absolute value of a field's is greater; 0: that isn't known.
static double bound_of(const Value &value) {
    constexpr double any_integer = 9223372036854775808.0;
    // Of values that are numbered there are fewer, even where the server leaves room between its numbers.
    constexpr double any_number = 2305843009213693952.0;
    switch (value.kind) {
        case Kind::Boolean:
            return 1;
        case Kind::Integer:
        case Kind::Decimal:
        case Kind::Extended:
            // With a margin for what doubles can't tell.
            return value.type == ValueType::int64 ? Min(ceil(value.limit * (1 + 1e-9)) + 1, any_integer)
                                                  : ceil(value.limit * (1 + 1e-9)) + 1;
        case Kind::Date:
        case Kind::Timestamp:
            return any_integer;
        case Kind::Group:
            return value.numbering != no_numbering ? any_number : any_integer;
        default:
            return 0;
    }
}

static uint16 wide_step(Compiler *compiler, Operation operation, uint16 one, uint16 other) {
    engine::Step step = make_step(operation, ValueType::int128, one, other);
    step.width = sizeof(Int128);
    return add_step(compiler->program, step);
}

// To record_eq NULLs are equal, so that NULL is one more number.
static uint16 field_step(Compiler *compiler, const Value &field, Int128 of_null) {
    const uint16 wide = field.type == ValueType::int128
                            ? field.step
                            : wide_step(compiler, Operation::widen, field.step, no_step);
    return wide_step(compiler, Operation::coalesce, wide,
                     constant_step(compiler->program, of_null, ValueType::int128));
}

Value compile_row_number(Compiler *compiler, const RowExpr *row) {
    if (row->row_typeid != RECORDOID)
        return refuse_value(compiler, "a row is of a type of its own", row);
    uint16 all = constant_step(compiler->program, 0, ValueType::int128);
    double limit = 0;
    ListCell *cell;
    foreach (cell, row->args) {
        // Without an order rows aren't compared, which is an error.
        const Oid type = getBaseType(exprType(static_cast<const Node *>(lfirst(cell))));
        if (!OidIsValid(lookup_type_cache(type, TYPECACHE_CMP_PROC)->cmp_proc))
            return refuse_value(compiler, "a row has a value that can't be compared", row);
        const Value field = compile(compiler, static_cast<const Expr *>(lfirst(cell)));
        if (is_refused(compiler))
            return {};
        if (field.is_null)
            continue;
        const double bound = bound_of(field);
        if (bound == 0)
            return refuse_value(compiler, "a row has a value that isn't a number to the engine", row);
        const double radix = 2 * bound + 3;
        limit = limit * radix + bound + 1;
        if (limit >= kMaxInt128)
            return refuse_value(compiler, "a row has too many values to be a number", row);
        const uint16 step = field_step(compiler, field, static_cast<Int128>(bound) + 1);
        const uint16 times =
            constant_step(compiler->program, 2 * static_cast<Int128>(bound) + 3, ValueType::int128);
        all = wide_step(compiler, Operation::add, wide_step(compiler, Operation::multiply, all, times), step);
    }
    return make_value(all, Kind::Decimal, ValueType::int128, limit);
}

}  // namespace pg_gpu::plan::query
