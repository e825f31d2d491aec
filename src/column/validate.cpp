// amvalidate: operators under btree's numbers are those of btree's default operator class for the type, or,
// as equality, hash's; `<>` is the negator of an equality; under the other numbers stand functions of two
// strings.
#include "column/column.h"
#include "column/operators.h"
#include "keys/keys.h"

namespace pg_gpu::column {

static bool is_equality(Oid operator_oid, Oid type) {
    return keys::strategy_elsewhere(operator_oid, type, BTREE_AM_OID) == BTEqualStrategyNumber ||
           keys::strategy_elsewhere(operator_oid, type, HASH_AM_OID) == HTEqualStrategyNumber;
}

static bool has_its_number(const FormData_pg_amop *member) {
    const StrategyNumber strategy = static_cast<StrategyNumber>(member->amopstrategy);
    if (strategy == BTEqualStrategyNumber)
        return is_equality(member->amopopr, member->amoplefttype);
    if (strategy == kNotEqualStrategy) {
        const Oid negator = get_negator(member->amopopr);
        return OidIsValid(negator) && is_equality(negator, member->amoplefttype);
    }
    if (strategy >= kFirstPatternStrategy)
        return strategy <= kMaxStrategies;
    return keys::strategy_elsewhere(member->amopopr, member->amoplefttype, BTREE_AM_OID) == strategy;
}

static void check_members(keys::Validation *state, Oid type, CatCList *operators, CatCList *) {
    if (type != ANYELEMENTOID && type != BOOLOID)
        keys::complain(state, "contains an operator class for another type than anyelement and boolean");
    for (int i = 0; i < operators->n_members; i++) {
        const FormData_pg_amop *member = keys::member_at(operators, i);
        keys::validate_search_operator(state, member);
        if (op_volatile(member->amopopr) == PROVOLATILE_VOLATILE || !op_strict(member->amopopr))
            keys::complain(state, "contains operator %s, which is volatile or not strict",
                           format_operator(member->amopopr));
        if (!has_its_number(member))
            keys::complain_of_strategy(state, member);
    }
}

bool validate(Oid opclass) {
    return keys::validate_opclass(opclass, "gpu_column", check_members);
}

}  // namespace pg_gpu::column
