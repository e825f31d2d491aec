// amvalidate: an opclass is sound when it has `tsvector @@ tsquery` and `tsvector <=> gpu.bm25_query`, under
// their numbers, and nothing else.
#include "text/operators.h"
#include "text/text.h"

namespace pg_gpu::text {

struct Validation {
    const char *family;
    bool sound;
};

static void complain(Validation *state, const char *problem) {
    state->sound = false;
    ereport(INFO, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
                   errmsg("operator family \"%s\" of access method gpu_text %s", state->family, problem)));
}

static bool is_match_operator(const FormData_pg_amop *member) {
    return member->amopstrategy == kMatchStrategy && member->amoppurpose == AMOP_SEARCH &&
           member->amoprighttype == TSQUERYOID && get_opcode(member->amopopr) == F_TS_MATCH_VQ &&
           check_amop_signature(member->amopopr, BOOLOID, TSVECTOROID, TSQUERYOID);
}

static bool is_distance_operator(const FormData_pg_amop *member) {
    return member->amopstrategy == kDistanceStrategy && member->amoppurpose == AMOP_ORDER &&
           opfamily_can_sort_type(member->amopsortfamily, FLOAT4OID) &&
           check_amop_signature(member->amopopr, FLOAT4OID, TSVECTOROID, member->amoprighttype);
}

bool validate(Oid opclass) {
    HeapTuple class_tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
    if (!HeapTupleIsValid(class_tuple))
        ereport(ERROR,
                (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("operator class %u does not exist", opclass)));
    const FormData_pg_opclass class_form = *reinterpret_cast<Form_pg_opclass>(GETSTRUCT(class_tuple));
    ReleaseSysCache(class_tuple);
    HeapTuple family_tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(class_form.opcfamily));
    if (!HeapTupleIsValid(family_tuple))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                        errmsg("operator family %u does not exist", class_form.opcfamily)));
    Validation state = {NameStr(reinterpret_cast<Form_pg_opfamily>(GETSTRUCT(family_tuple))->opfname), true};

    if (class_form.opcintype != TSVECTOROID || OidIsValid(class_form.opckeytype))
        complain(&state, "contains an operator class for another type than tsvector, or with a storage type");
    CatCList *functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(class_form.opcfamily));
    if (functions->n_members > 0)
        complain(&state, "contains support functions, but there are none");
    ReleaseCatCacheList(functions);

    CatCList *operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(class_form.opcfamily));
    bool has_match = false;
    for (int i = 0; i < operators->n_members; i++) {
        const auto *member = reinterpret_cast<Form_pg_amop>(GETSTRUCT(&operators->members[i]->tuple));
        const bool is_match = is_match_operator(member);
        has_match = has_match || is_match;
        if (!is_match && !is_distance_operator(member))
            complain(&state, psprintf("contains operator %s, which strategy number %d is not for",
                                      format_operator(member->amopopr), member->amopstrategy));
    }
    ReleaseCatCacheList(operators);
    if (!has_match)
        complain(&state, "lacks the operator @@(tsvector,tsquery)");
    ReleaseSysCache(family_tuple);
    return state.sound;
}

}  // namespace pg_gpu::text
