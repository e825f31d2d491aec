#include "keys/validate.h"

namespace pg_gpu::keys {

static constexpr uint64 kAllStrategies = 0x3e;  // bits 1 to 5

void complain(Validation *state, const char *format, ...) {
    state->valid = false;
    char problem[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, sizeof(problem), format, arguments);
    va_end(arguments);
    ereport(INFO, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
                   errmsg_internal("operator family \"%s\" of access method %s %s", state->family,
                                   state->access_method, problem)));
}

void complain_of_missing_operators(Validation *state, Oid type) {
    complain(state, "lacks the operators for the operator class's own type %s", format_type_be(type));
}

void complain_of_strategy(Validation *state, const FormData_pg_amop *member) {
    complain(state, "contains operator %s, which strategy number %d is not for",
             format_operator(member->amopopr), member->amopstrategy);
}

int strategy_elsewhere(Oid operator_oid, Oid type, Oid access_method) {
    const Oid opclass = GetDefaultOpClass(type, access_method);
    return OidIsValid(opclass) ? get_op_opfamily_strategy(operator_oid, get_opclass_family(opclass)) : 0;
}

void validate_search_operator(Validation *state, const FormData_pg_amop *member) {
    const char *name = format_operator(member->amopopr);
    if (member->amoppurpose != AMOP_SEARCH || OidIsValid(member->amopsortfamily))
        complain(state, "contains ordering operator %s", name);
    if (!check_amop_signature(member->amopopr, BOOLOID, member->amoplefttype, member->amoprighttype))
        complain(state, "contains operator %s with a wrong signature", name);
}

void validate_exact_operator(Validation *state, const FormData_pg_amop *member) {
    if (strategy_elsewhere(member->amopopr, member->amoplefttype, BTREE_AM_OID) != member->amopstrategy)
        complain(state, "contains operator %s, which is not btree's with strategy number %d",
                 format_operator(member->amopopr), member->amopstrategy);
}

void validate_exact_groups(Validation *state, CatCList *operators, CatCList *functions, Oid type) {
    bool has_own = false;
    ListCell *cell;
    foreach (cell, identify_opfamily_groups(operators, functions)) {
        const auto *group = static_cast<OpFamilyOpFuncGroup *>(lfirst(cell));
        // What compares a column of any type is no btree operator.
        if (group->lefttype == ANYELEMENTOID)
            continue;
        if (group->operatorset != kAllStrategies)
            complain(state, "lacks an operator for types %s and %s", format_type_be(group->lefttype),
                     format_type_be(group->righttype));
        has_own = has_own || (group->lefttype == type && group->righttype == type);
    }
    if (!has_own)
        complain_of_missing_operators(state, type);
}

bool validate_opclass(Oid opclass, const char *access_method,
                      void (*check)(Validation *state, Oid type, CatCList *operators, CatCList *functions),
                      Functions may_have) {
    HeapTuple class_tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
    if (!HeapTupleIsValid(class_tuple))
        ereport(ERROR,
                (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("operator class %u does not exist", opclass)));
    auto *class_form = reinterpret_cast<Form_pg_opclass>(GETSTRUCT(class_tuple));
    const Oid family = class_form->opcfamily;
    const Oid type = class_form->opcintype;
    const bool has_storage_type = OidIsValid(class_form->opckeytype);
    HeapTuple family_tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(family));
    if (!HeapTupleIsValid(family_tuple))
        ereport(ERROR,
                (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("operator family %u does not exist", family)));
    Validation state = {access_method,
                        NameStr(reinterpret_cast<Form_pg_opfamily>(GETSTRUCT(family_tuple))->opfname), true};

    if (has_storage_type)
        complain(&state, "contains an operator class with a storage type");

    CatCList *operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
    CatCList *functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(family));
    if (may_have == Functions::None && functions->n_members > 0)
        complain(&state, "contains support functions, but there are none");
    check(&state, type, operators, functions);

    ReleaseCatCacheList(functions);
    ReleaseCatCacheList(operators);
    ReleaseSysCache(family_tuple);
    ReleaseSysCache(class_tuple);
    return state.valid;
}

void adjust_members(Oid family, Oid opclass, List *operators, List *) {
    // CREATE OPERATOR CLASS has just made the class, and perhaps the family.
    if (OidIsValid(opclass))
        CommandCounterIncrement();
    const Oid class_type = OidIsValid(opclass) ? get_opclass_input_type(opclass) : InvalidOid;
    HeapTuple family_tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(family));
    if (!HeapTupleIsValid(family_tuple))
        ereport(ERROR,
                (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("operator family %u does not exist", family)));
    const Oid method = reinterpret_cast<Form_pg_opfamily>(GETSTRUCT(family_tuple))->opfmethod;
    ReleaseSysCache(family_tuple);
    ListCell *cell;
    foreach (cell, operators) {
        auto *member = static_cast<OpFamilyMember *>(lfirst(cell));
        const Oid type = member->lefttype;
        Oid own_class = InvalidOid;
        if (type == member->righttype)
            own_class = type == class_type ? opclass : opclass_for_family_datatype(method, family, type);
        member->ref_is_hard = OidIsValid(own_class);
        member->ref_is_family = !OidIsValid(own_class);
        member->refobjid = OidIsValid(own_class) ? own_class : family;
    }
}

}  // namespace pg_gpu::keys
