#include "plan/query/aggregate_keys.h"

#include "compat.h"
#include "plan/query/aggregate_bounds.h"
#include "plan/query/aggregate_float_steps.h"
#include "plan/query/aggregate_numeric_steps.h"
#include "plan/query/aggregate_ranged.h"
#include "plan/query/aggregate_values.h"

namespace pg_gpu::plan {

using gpu_engine::AggregateOperation;
using gpu_engine::no_aggregate_step;

static void add_key(Compiler *compiler, uint16 step, bool may_be_null) {
    if (is_refused(compiler))
        return;
    gpu_engine::AggregateProgram *program = &compiler->compiled->program;
    if (program->key_count == gpu_engine::max_aggregate_keys) {
        refuse(compiler, "there are too many grouping columns");
        return;
    }
    gpu_engine::AggregateKey *key = &program->key[program->key_count++];
    *key = {};
    key->step = step;
    key->may_be_null = may_be_null;
}

// Is equality that of numbers?
static bool is_plain_equality(Oid type, Oid operator_oid) {
    return lookup_type_cache(getBaseType(type), TYPECACHE_EQ_OPR)->eq_opr == operator_oid;
}

bool has_one_image(Oid type, Oid equality, Oid collation) {
    const Oid base = getBaseType(type);
    const TypeCacheEntry *entry = lookup_type_cache(base, TYPECACHE_EQ_OPR | TYPECACHE_BTREE_OPFAMILY);
    if (entry->eq_opr != equality || !OidIsValid(entry->btree_opf) || base == BPCHAROID)
        return false;
    constexpr int16 equal_image = 4;  // BTEQUALIMAGE_PROC
    const Oid procedure =
        get_opfamily_proc(entry->btree_opf, entry->btree_opintype, entry->btree_opintype, equal_image);
    return OidIsValid(procedure) &&
           DatumGetBool(OidFunctionCall1Coll(procedure, collation, ObjectIdGetDatum(entry->btree_opintype)));
}

Identity identity_of_number(Compiler *compiler, uint16 step) {
    return {step,
            may_be_any_number(compiler->compiled->program, step)
                ? add_step(compiler, AggregateOperation::is_null, 0, step, 0)
                : no_aggregate_step,
            UINT16_MAX, no_aggregate_step};
}

Identity identity_of_float(Compiler *compiler, const column::ColumnType &type, Expr *expression) {
    const uint16 step = compile_one_zero(compiler, type, compile_number(compiler, expression));
    return {step, add_step(compiler, AggregateOperation::is_null, 0, step, 0), UINT16_MAX, no_aggregate_step};
}

Identity compile_identity(Compiler *compiler, Expr *expression, Oid equality) {
    Node *node = reinterpret_cast<Node *>(expression);
    const column::ColumnType type = column::describe_type(exprType(node), exprCollation(node));
    if (is_table_oid(expression) && is_plain_equality(OIDOID, equality))
        return {add_table_step(compiler), no_aggregate_step, UINT16_MAX, no_aggregate_step};
    // Equal floats may differ in their bits.
    if (type.is_integer && type.is_ordered && !is_float(type) && is_plain_equality(exprType(node), equality))
        return identity_of_number(compiler, compile_number(compiler, expression));
    // Of several columns nobody knows before it is computed whether equal results show as many digits.
    if (is_numeric(expression) && is_over_scaled(*compiler, expression) &&
        is_plain_equality(exprType(node), equality) && find_ranged(expression) == nullptr) {
        const NumericSteps steps = compile_numeric(compiler, expression);
        Identity identity = identity_of_number(compiler, steps.number);
        identity.scale = steps.scale;
        return identity;
    }
    if (!is_hashable(equality, exprType(node))) {
        refuse(compiler, "a grouping column's type can't be hashed", expression);
        return {0, no_aggregate_step, UINT16_MAX, no_aggregate_step};
    }
    uint16 input = UINT16_MAX;
    if (!has_codes(*compiler, expression) && is_group_choice(expression, equality)) {
        const uint16 step = compile_group_choice(compiler, expression, equality, &input);
        return {step, no_aggregate_step, input, no_aggregate_step};
    }
    input = add_source(compiler, SourceKind::Group, expression, equality);
    return {add_input_step(compiler, input), no_aggregate_step, input, no_aggregate_step};
}

void compile_key(Compiler *compiler, Expr *expression, Oid equality, KeyResult *key) {
    const Oid type = exprType(reinterpret_cast<Node *>(expression));
    *key = {};
    key->key = static_cast<uint16>(compiler->compiled->program.key_count);
    key->type = column::describe_type(type, exprCollation(reinterpret_cast<Node *>(expression)));
    const Identity identity = compile_identity(compiler, expression, equality);
    key->input = identity.input;
    key->has_null = identity.null_step != no_aggregate_step;
    add_key(compiler, identity.step, !key->has_null);
    if (key->has_null)
        add_key(compiler, identity.null_step, false);
    key->is_numeric = identity.scale != no_aggregate_step;
    key->scale = identity.scale;
    key->has_variants = (identity.input != UINT16_MAX || key->is_numeric) &&
                        !has_one_image(type, equality, key->type.collation);
    compiler->compiled->has_place = compiler->compiled->has_place || key->has_variants;
}

}  // namespace pg_gpu::plan
