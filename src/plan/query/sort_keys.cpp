#include "plan/query/sort_keys.h"

#include "compat.h"
#include "gpu_engine/top_rows.h"
#include "plan/query/aggregate_bounds.h"
#include "plan/query/aggregate_numeric_steps.h"

namespace pg_gpu::plan {

using gpu_engine::AccumulatorKind;
using gpu_engine::AggregateKey;
using gpu_engine::AggregateOperation;
using gpu_engine::AggregateProgram;

// ---- compiling --------------------------------------------------------------------------------------------

// -0 and 0 are equal, and their numbers are neighbours: -0 becomes 0.
static uint16 without_minus_zero(Compiler *compiler, const column::ColumnType &type, uint16 step) {
    const Datum minus_zero =
        type.code == column::IntegerCode::Float4 ? Float4GetDatum(-0.0F) : Float8GetDatum(-0.0);
    const int64 number = number_of_code(type, column::encode_integer(type, minus_zero));
    const uint16 is_minus_zero = add_step(compiler, AggregateOperation::equal, 0, step,
                                          add_step(compiler, AggregateOperation::constant, 0, 0, 0, number));
    return add_step(compiler, AggregateOperation::add, sizeof(int64), step, is_minus_zero);
}

static void compile_sort_key(Compiler *compiler, Expr *expression, Oid order, SortKey *key) {
    CompiledAggregate *compiled = compiler->compiled;
    auto *node = reinterpret_cast<Node *>(expression);
    const Oid type_oid = exprType(node);
    const column::ColumnType type = column::describe_type(type_oid, exprCollation(node));
    Oid family;
    Oid operand;
    if (!find_ordering(order, &family, &operand, &key->descending)) {
        refuse(compiler, "rows aren't sorted by an order of a type's", expression);
        return;
    }
    if (type.is_integer && type.is_ordered &&
        family == lookup_type_cache(getBaseType(type_oid), TYPECACHE_BTREE_OPFAMILY)->btree_opf) {
        key->step = compile_number(compiler, expression);
        if (is_refused(compiler))
            return;
        compiled->sorts_by_inputs = compiled->sorts_by_inputs &&
                                    compiled->program.step[key->step].operation == AggregateOperation::input;
        if (is_float(type))
            key->step = without_minus_zero(compiler, type, key->step);
        return;
    }
    // The integers of all numerics have as many digits behind the point.
    if (is_numeric(expression) && is_over_scaled(*compiler, expression) &&
        family == lookup_type_cache(NUMERICOID, TYPECACHE_BTREE_OPFAMILY)->btree_opf) {
        key->step = compile_numeric(compiler, expression).number;
        compiled->sorts_by_inputs = compiled->sorts_by_inputs && !is_refused(compiler) &&
                                    compiled->program.step[key->step].operation == AggregateOperation::input;
        return;
    }
    const uint16 input =
        add_source(compiler, SourceKind::Order, expression,
                   get_opfamily_member(family, operand, operand, BTLessStrategyNumber), exprCollation(node));
    key->step = add_input_step(compiler, input);
}

void compile_sort_keys(Compiler *compiler, const AggregateQuery &query) {
    CompiledAggregate *compiled = compiler->compiled;
    AggregateProgram *program = &compiled->program;
    const int count = list_length(query.keys);
    if (count > static_cast<int>(gpu_engine::max_aggregate_keys)) {
        refuse(compiler, "there are too many sort keys");
        return;
    }
    compiled->result = allocate_zeroed<AggregateResult>(1);  // there are none
    compiled->sorts_by_inputs = true;
    for (int i = 0; i < count && !is_refused(compiler); i++) {
        SortKey *key = &compiled->sort_key[i];
        *key = {0, false, list_nth_int(query.nulls_first, i) != 0};
        compile_sort_key(compiler, static_cast<Expr *>(list_nth(query.keys, i)),
                         list_nth_oid(query.key_operators, i), key);
        program->key[i] = {};
        program->key[i].step = key->step;
    }
    compiled->sort_key_count = static_cast<uint32>(count);
    program->key_count = static_cast<uint32>(count);
    program->accumulator[0] = {AccumulatorKind::least, 0,
                               add_step(compiler, AggregateOperation::place, 0, 0, 0),
                               gpu_engine::no_aggregate_step, 0};
    program->accumulator_count = 1;
    program->value_words = 1;
}

// ---- layout -----------------------------------------------------------------------------------------------

// From the first word's highest bit on, since rows are compared word by word.
static bool add_key(AggregateProgram *program, uint32 *free_bits, const AggregateKey &key) {
    if (program->key_count == gpu_engine::max_aggregate_keys)
        return false;
    if (key.bits > *free_bits) {
        program->key_words++;
        *free_bits = 64;
    }
    *free_bits -= key.bits;
    AggregateKey *added = &program->key[program->key_count++];
    *added = key;
    added->word = static_cast<uint8>(program->key_words - 1);
    added->shift = static_cast<uint8>(key.bits == 0 ? 0 : *free_bits);
    return true;
}

// What stands for NULL where numbers take all codes: a key of its own, in front of theirs.
static bool add_null_key(AggregateProgram *program, uint32 *free_bits, const SortKey &sort) {
    if (program->step_count == gpu_engine::max_aggregate_steps)
        return false;
    program->step[program->step_count] = {AggregateOperation::is_null, 0, sort.step, 0, 0, 0};
    AggregateKey key = {};
    key.step = static_cast<uint16>(program->step_count++);
    key.bits = 1;
    key.order = sort.nulls_first ? gpu_engine::key_descends : 0;
    return add_key(program, free_bits, key);
}

const char *lay_out_sort_keys(const InputBuilder &builder, CompiledAggregate *compiled) {
    static const char *const too_many = "there are too many sort keys";
    AggregateProgram *program = &compiled->program;
    NumberBounds bounds[gpu_engine::max_aggregate_steps];
    find_bounds(builder, *program, bounds);
    program->key_count = 0;
    program->key_words = 1;
    uint32 free_bits = 64;
    for (uint32 i = 0; i < compiled->sort_key_count; i++) {
        const SortKey &sort = compiled->sort_key[i];
        const NumberBounds &numbers = bounds[sort.step];
        const bool any = numbers.least <= numbers.greatest;
        const uint64 range =
            any ? static_cast<uint64>(numbers.greatest) - static_cast<uint64>(numbers.least) : 0;
        AggregateKey key = {};
        key.step = sort.step;
        key.least = any ? numbers.least : 0;
        key.may_be_null = !is_never_null(builder, sort.step);
        key.order =
            static_cast<uint16>((sort.descending ? gpu_engine::key_descends : 0) |
                                (sort.nulls_first == sort.descending ? gpu_engine::key_null_is_greatest : 0));
        if (key.may_be_null && range == PG_UINT64_MAX) {
            if (!add_null_key(program, &free_bits, sort))
                return too_many;
            key.may_be_null = false;
        }
        key.bits = static_cast<uint8>(column::bits_for_range(range + (key.may_be_null ? 1 : 0)));
        if (!add_key(program, &free_bits, key))
            return too_many;
    }
    return nullptr;
}

}  // namespace pg_gpu::plan
