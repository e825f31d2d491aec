// amvalidate and amproperty. An opclass is sound when its operators are those of btree's default opclass for
// the same types, under btree's numbers, or, of points, those that boxes of codes can answer.
#include "grid/grid.h"
#include "keys/validate.h"

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
            complain(state,
                     "operator family \"%s\" of access method %s contains operator %s for the wrong purpose",
                     state->family, state->access_method, name);
        if (orders && !opfamily_can_sort_type(member->amopsortfamily, get_op_rettype(member->amopopr)))
            complain(state,
                     "operator family \"%s\" of access method %s contains ordering operator %s with a wrong "
                     "sort family",
                     state->family, state->access_method, name);
        return;
    }
    complain(state,
             "operator family \"%s\" of access method %s contains operator %s, which strategy number %d is "
             "not for",
             state->family, state->access_method, name, member->amopstrategy);
}

static void check_opclass(Validation *state, Oid type, CatCList *operators, CatCList *functions) {
    if (type != POINTOID && is_lossy(encoding_of(type)))
        complain(state,
                 "operator family \"%s\" of access method %s contains an operator class for type %s, which "
                 "has no codes",
                 state->family, state->access_method, format_type_be(type));
    for (int i = 0; i < operators->n_members; i++) {
        const FormData_pg_amop *member = member_at(operators, i);
        if (type == POINTOID) {
            validate_point_operator(state, member);
            continue;
        }
        validate_search_operator(state, member);
        if (encoding_of(member->amoplefttype) != encoding_of(type))
            complain(
                state,
                "operator family \"%s\" of access method %s contains operator %s for a type with other keys",
                state->family, state->access_method, format_operator(member->amopopr));
        validate_exact_operator(state, member);
    }
    if (type != POINTOID)
        validate_exact_groups(state, operators, functions, type);
}

bool validate(Oid opclass) {
    return validate_opclass(opclass, "gpu_grid", check_opclass);
}

bool property(Oid index, int column, IndexAMProperty asked, const char *, bool *result, bool *is_null) {
    if (column == 0 || asked != AMPROP_DISTANCE_ORDERABLE)
        return false;
    Relation relation = index_open(index, AccessShareLock);
    *result = relation->rd_opcintype[column - 1] == POINTOID;
    *is_null = false;
    index_close(relation, AccessShareLock);
    return true;
}

}  // namespace pg_gpu::grid
