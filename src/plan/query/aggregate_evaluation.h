// Maps from a part's codes to what an expression gives for them: room for these, and the evaluation.
#pragma once

#include "column/scan/like_pattern.h"
#include "compat.h"
#include "plan/query/aggregate_inputs.h"
#include "plan/query/aggregate_ranges.h"

namespace pg_gpu::plan {

// Room for so many bytes; nullptr when there is none.
void *take_room(InputBuilder *builder, uint64 bytes);

// The same, cleared.
void *take_memory(InputBuilder *builder, uint64 bytes);

inline void note_number(InputBuilder *builder, uint32 input, int64 number) {
    builder->least[input] = Min(builder->least[input], number);
    builder->greatest[input] = Max(builder->greatest[input], number);
}

// Of numbers; none where the least is above the greatest.
struct InputBounds {
    int64 least;
    int64 greatest;
};

inline void note_bounds(InputBuilder *builder, uint32 input, const InputBounds &bounds) {
    builder->least[input] = Min(builder->least[input], bounds.least);
    builder->greatest[input] = Max(builder->greatest[input], bounds.greatest);
}

inline void set_bit(uint64 *bits, uint64 place) {
    bits[place / 64] |= UINT64CONST(1) << (place % 64);
}

inline void set_null(gpu_engine::AggregateInput *input, uint64 code) {
    set_bit(const_cast<uint64 *>(input->nulls), code);
}

// Sets what a NULL of the column gives.
inline void set_of_column_null(gpu_engine::AggregateInput *input, int64 number, bool is_null) {
    input->column_null_is_null = is_null;
    input->of_column_null = is_null ? 0 : number;
}

// The column has no codes in this part, and its ranges stand for them.
bool is_ranged(const InputSource &source, const column::AggregatePart &part);

RangeRequest range_request_of(const InputBuilder *builder, const InputSource &source,
                              const column::AggregatePart &part);

// Ranges, all of whose numbers are 0, with room for NULLs, in this memory context.
bool make_ranges(InputBuilder *builder, const InputSource &source, const column::AggregatePart &part,
                 MemoryContext room, gpu_engine::AggregateInput *input);

// A map of the kind, all of whose values are 0, with room for NULLs, in the current memory context. `bytes`
// of a value mean nothing of bits.
bool make_map(InputBuilder *builder, const column::AggregatePart &part, bool is_joined,
              gpu_engine::AggregateInputKind kind, uint32 bytes, gpu_engine::AggregateInput *input);

// The codes that selected rows have; nullptr when the maker has a problem. *any_null: NULL, too.
uint8 *mark_selected(InputBuilder *builder, const InputSource &source, const column::AggregatePart &part,
                     bool *any_null);

// Codes for which an expression is to be evaluated; nullptr: all of a dictionary. *any_null: the column's
// NULL, too.
const uint8 *find_wanted(InputBuilder *builder, const InputSource &source, const column::AggregatePart &part,
                         bool *any_null);

// Calls visit(code, datum) for values that stand for a part's codes, or for its ranges by their numbers.
template <typename Visit>
void visit_values(const InputBuilder *builder, const InputSource &source, const column::AggregatePart &part,
                  const gpu_engine::AggregateInput &input, const uint8 *marks, Visit visit) {
    const column::ColumnType &type = builder->parts->format->types[source.column];
    if (!is_ranged(source, part)) {
        column::visit_entries(part, type, source.column, marks, visit);
        return;
    }
    const auto *starts = static_cast<const uint64 *>(input.values);
    column::ValueBuffer buffer = {nullptr, 0};
    for (uint64 i = 0; i < input.places; i++)
        visit(i, column::value_of_code(part, type, source.column,
                                       column::base_of_codes(part, source.column) + starts[i], &buffer));
}

// Do a map's entries say all about results as soon as they are taken? Ranks are known in the end only, and
// numerics have scales elsewhere.
bool can_repeat(const InputSource &source);

// For results that can't be.
inline void repeat_nothing(uint64, uint64) {}

// An expression that is LIKE of a value whose bytes tell what that gives.
struct LikeOfValue {
    const column::LikePattern *pattern;  // nullptr: it isn't
    Expr *value;
    bool is_entry;  // of the part's dictionary
};
LikeOfValue find_like(const InputBuilder *builder, const InputSource &source,
                      const column::AggregatePart &part);

// What it is of a value that isn't NULL; leaves memory behind.
inline Datum evaluate_like(const LikeOfValue &like, Datum value) {
    const struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
    return BoolGetDatum(column::is_like(*like.pattern, {VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)}));
}

// Calls take(code, value, is_null) for the results of a part's codes, or repeat(code, earlier) where an
// earlier code has the same one (can_repeat), and take_null(value, is_null) for that of the column's NULL.
// Values are good during the call only.
template <typename Take, typename Repeat, typename TakeNull>
bool evaluate_codes(InputBuilder *builder, const InputSource &source, const column::AggregatePart &part,
                    const gpu_engine::AggregateInput &input, Take take, Repeat repeat, TakeNull take_null) {
    constexpr uint32 values_per_reset = 1024;
    JoinedEvaluation joined = {};
    if (source.is_joined &&
        !begin_joined_evaluation(builder->matches, static_cast<int>(&part - builder->parts->part), source,
                                 &joined, &builder->problem))
        return false;
    if (!can_repeat(source))
        joined.codes = nullptr;
    bool any_null;
    const uint8 *marks = find_wanted(builder, source, part, &any_null);
    if (builder->problem != nullptr)
        return false;
    // Privileges are those of the whole expression.
    ExprState *state = ExecInitExpr(source.expression, nullptr);
    const LikeOfValue like = find_like(builder, source, part);
    ExprState *value = like.pattern == nullptr ? nullptr : ExecInitExpr(like.value, nullptr);
    TupleTableSlot *row = builder->row;
    builder->context->ecxt_scantuple = row;
    const auto look = [&](bool *is_null) {
        MemoryContext caller = MemoryContextSwitchTo(builder->context->ecxt_per_tuple_memory);
        Datum result = ExecEvalExpr(value == nullptr ? state : value, builder->context, is_null);
        if (value != nullptr && !*is_null)
            result = evaluate_like(like, result);
        MemoryContextSwitchTo(caller);
        return result;
    };
    uint32 count = 0;
    const auto take_result = [&](uint64 code) {
        bool is_null;
        const Datum result = look(&is_null);
        take(code, result, is_null);
        if (++count % values_per_reset == 0) {
            ResetExprContext(builder->context);
            CHECK_FOR_INTERRUPTS();
        }
    };
    if (source.is_joined)
        visit_joined(joined, marks, take_result, repeat);
    else if (like.is_entry)
        column::visit_strings(part, source.column, marks, [&](uint64 code, const column::Bytes &bytes) {
            take(code, BoolGetDatum(column::is_like(*like.pattern, bytes)), false);
        });
    else
        visit_values(builder, source, part, input, marks, [&](uint64 code, Datum value) {
            row->tts_values[source.column] = value;
            row->tts_isnull[source.column] = false;
            take_result(code);
        });
    row->tts_values[source.column] = Datum{0};
    row->tts_isnull[source.column] = true;
    if (any_null) {
        bool is_null = true;
        const bool counts = !source.is_joined || put_joined_columns(joined, kNullCode);
        const Datum result = counts ? look(&is_null) : Datum{0};
        take_null(result, is_null);
    }
    ResetExprContext(builder->context);
    return builder->problem == nullptr;
}

}  // namespace pg_gpu::plan
