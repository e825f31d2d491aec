// amvalidate and amproperty. An opclass is sound when its operators are those of btree's default opclass for
// the same types, under btree's numbers, or, of points, those that boxes of codes can answer. One for a type
// that is converted to points has functions for that, and operators with the numbers of R-trees.
#include "grid/converted.h"
#include "grid/grid.h"
#include "keys/keys.h"

namespace pg_gpu::grid {

struct PointOperator {
    int strategy;
    Oid right;
    Oid function;
};

static constexpr PointOperator point_operators[] = {
    {kContainedInBox, BOXOID, F_ON_PB},
    {kContainedInCircle, CIRCLEOID, F_PT_CONTAINED_CIRCLE},
    {kSamePoint, POINTOID, F_POINT_EQ},
    {kDistance, POINTOID, F_POINT_DISTANCE},
};

static void validate_point_operator(Validation *state, const FormData_pg_amop *member) {
    const char *name = format_operator(member->amopopr);
    const bool orders = member->amoppurpose == AMOP_ORDER;
    for (const PointOperator &candidate : point_operators) {
        if (candidate.strategy != member->amopstrategy)
            continue;
        if (member->amoplefttype != POINTOID || member->amoprighttype != candidate.right ||
            get_opcode(member->amopopr) != candidate.function)
            break;
        if (orders != (member->amopstrategy == kDistance))
            complain(state, "contains operator %s for the wrong purpose", name);
        if (orders && !opfamily_can_sort_type(member->amopsortfamily, get_op_rettype(member->amopopr)))
            complain(state, "contains ordering operator %s with a wrong sort family", name);
        return;
    }
    complain_of_strategy(state, member);
}

static void validate_converted_operator(Validation *state, const FormData_pg_amop *member) {
    const bool is_distance = member->amopstrategy >= kConvertedDistance;
    const char *name = format_operator(member->amopopr);
    if (member->amopstrategy <= kConvertedStrategies ||
        (!is_distance && member->amopstrategy > kConvertedStrategies + RTOverAboveStrategyNumber) ||
        is_distance != (member->amoppurpose == AMOP_ORDER))
        complain_of_strategy(state, member);
    if (!check_amop_signature(member->amopopr, is_distance ? FLOAT8OID : BOOLOID, member->amoplefttype,
                              member->amoprighttype) ||
        (is_distance && !opfamily_can_sort_type(member->amopsortfamily, FLOAT8OID)))
        complain(state, "contains operator %s with a wrong signature", name);
}

static bool has_function(CatCList *functions, Oid type, int number, Oid result) {
    for (int i = 0; i < functions->n_members; i++) {
        const auto *member =
            reinterpret_cast<const FormData_pg_amproc *>(GETSTRUCT(&functions->members[i]->tuple));
        if (member->amproclefttype == type && member->amprocrighttype == type && member->amprocnum == number)
            return check_amproc_signature(member->amproc, result, true, 1, 1, type) &&
                   func_strict(member->amproc) && func_volatile(member->amproc) == PROVOLATILE_IMMUTABLE;
    }
    return false;
}

static void check_converted(Validation *state, Oid type, CatCList *operators, CatCList *functions) {
    if (!has_function(functions, type, kPointFunction, POINTOID) ||
        !has_function(functions, type, kBoxFunction, BOXOID))
        complain(state,
                 "lacks an immutable and strict function that makes a point or a box of type %s, which has "
                 "no codes",
                 format_type_be(type));
    for (int i = 0; i < operators->n_members; i++)
        validate_converted_operator(state, member_at(operators, i));
}

static void check_opclass(Validation *state, Oid type, CatCList *operators, CatCList *functions) {
    if (is_converted(type))
        return check_converted(state, type, operators, functions);
    if (functions->n_members > 0)
        complain(state, "contains support functions, which type %s does not need", format_type_be(type));
    for (int i = 0; i < operators->n_members; i++) {
        const FormData_pg_amop *member = member_at(operators, i);
        if (type == POINTOID) {
            validate_point_operator(state, member);
            continue;
        }
        validate_search_operator(state, member);
        if (encoding_of(member->amoplefttype) != encoding_of(type))
            complain(state, "contains operator %s for a type with other keys",
                     format_operator(member->amopopr));
        validate_exact_operator(state, member);
    }
    if (type != POINTOID)
        validate_exact_groups(state, operators, functions, type);
}

bool validate(Oid opclass) {
    return validate_opclass(opclass, "gpu_grid", check_opclass, Functions::Some);
}

bool property(Oid index, int column, IndexAMProperty requested, const char *, bool *result, bool *is_null) {
    if (column == 0 || requested != AMPROP_DISTANCE_ORDERABLE)
        return false;
    Relation relation = index_open(index, AccessShareLock);
    const Oid type = relation->rd_opcintype[column - 1];
    *result = type == POINTOID || is_converted(type);
    *is_null = false;
    index_close(relation, AccessShareLock);
    return true;
}

}  // namespace pg_gpu::grid
