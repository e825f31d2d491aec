// amvalidate: an opclass is sound when its operators are btree's integer operators under btree's numbers.
#include "kary/kary.h"

namespace pg_gpu::kary {

static void complain(bool *sound, const char *family, const char *problem) {
    *sound = false;
    ereport(INFO, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
                   errmsg("operator family \"%s\" of access method gpu_kary %s", family, problem)));
}

bool validate(Oid opclass) {
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
    const char *family_name = NameStr(reinterpret_cast<Form_pg_opfamily>(GETSTRUCT(family_tuple))->opfname);
    bool sound = true;

    if (type != INT4OID && type != INT8OID)
        complain(&sound, family_name, "contains an operator class for a type that cannot be a key");
    if (has_storage_type)
        complain(&sound, family_name, "contains an operator class with a storage type");

    CatCList *operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
    CatCList *functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(family));
    if (functions->n_members > 0)
        complain(&sound, family_name, "contains support functions, but there are none");

    uint32 strategies_of_type = 0;
    for (int i = 0; i < operators->n_members; i++) {
        auto *member = reinterpret_cast<Form_pg_amop>(GETSTRUCT(&operators->members[i]->tuple));
        const bool known = member->amopstrategy >= 1 && member->amopstrategy <= BTMaxStrategyNumber;
        if (!known) {
            complain(&sound, family_name, "contains an operator with an unknown strategy number");
            continue;
        }
        if (member->amoppurpose != AMOP_SEARCH || OidIsValid(member->amopsortfamily))
            complain(&sound, family_name, "contains an ordering operator");
        if (!check_amop_signature(member->amopopr, BOOLOID, member->amoplefttype, member->amoprighttype))
            complain(&sound, family_name, "contains an operator with a wrong signature");
        // Keys are compared as integers, so only operators that do the same may be answered from them.
        if (get_op_opfamily_strategy(member->amopopr, INTEGER_BTREE_FAM_OID) != member->amopstrategy)
            complain(&sound, family_name, "contains an operator that does not order integers as btree does");
        if (member->amoplefttype == type && member->amoprighttype == type)
            strategies_of_type |= 1U << member->amopstrategy;
    }
    if (strategies_of_type != 0x3e)
        complain(&sound, family_name, "lacks an operator for the operator class's own type");

    ReleaseCatCacheList(functions);
    ReleaseCatCacheList(operators);
    ReleaseSysCache(family_tuple);
    ReleaseSysCache(class_tuple);
    return sound;
}

}  // namespace pg_gpu::kary
