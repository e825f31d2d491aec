// amvalidate: an opclass is sound when it has `tsvector @@ tsquery` and `tsvector <=> gpu.bm25_query`, or for
// text, jsonb and text[] `@@@`, `<@>` and `gpu.@@?` with gpu.bm25_query, under their numbers, and nothing
// else.
#include "keys/keys.h"
#include "text/operators.h"
#include "text/text.h"

namespace pg_gpu::text {

static bool is_match_operator(const FormData_pg_amop *member, Oid type) {
    if (member->amopstrategy != kMatchStrategy || member->amoppurpose != AMOP_SEARCH)
        return false;
    if (type == TSVECTOROID)
        return member->amoprighttype == TSQUERYOID && get_opcode(member->amopopr) == F_TS_MATCH_VQ &&
               check_amop_signature(member->amopopr, BOOLOID, TSVECTOROID, TSQUERYOID);
    return check_amop_signature(member->amopopr, BOOLOID, member->amoplefttype, member->amoprighttype);
}

static bool is_distance_operator(const FormData_pg_amop *member) {
    return member->amopstrategy == kDistanceStrategy && member->amoppurpose == AMOP_ORDER &&
           opfamily_can_sort_type(member->amopsortfamily, FLOAT4OID) &&
           check_amop_signature(member->amopopr, FLOAT4OID, member->amoplefttype, member->amoprighttype);
}

static bool is_may_match_operator(const FormData_pg_amop *member, Oid type) {
    return type != TSVECTOROID && member->amopstrategy == kMayMatchStrategy &&
           member->amoppurpose == AMOP_SEARCH &&
           check_amop_signature(member->amopopr, BOOLOID, member->amoplefttype, member->amoprighttype);
}

static bool is_document(Oid type) {
    return type == TSVECTOROID || type == TEXTOID || type == JSONBOID || type == TEXTARRAYOID;
}

static void check_members(keys::Validation *state, Oid type, CatCList *operators, CatCList *) {
    if (!is_document(type))
        keys::complain(state,
                       "contains an operator class for another type than tsvector, text, jsonb and text[]");
    bool has_match = false;
    for (int i = 0; i < operators->n_members; i++) {
        const FormData_pg_amop *member = keys::member_at(operators, i);
        if (is_document(type) && member->amoplefttype != type && is_document(member->amoplefttype))
            continue;
        const bool is_match = is_match_operator(member, type);
        has_match = has_match || is_match;
        if (!is_match && !is_distance_operator(member) && !is_may_match_operator(member, type))
            keys::complain_of_strategy(state, member);
    }
    if (!has_match)
        keys::complain(state, "lacks the operator %s",
                       type == TSVECTOROID ? "@@(tsvector,tsquery)" : "@@@ with gpu.bm25_query");
}

bool validate(Oid opclass) {
    return keys::validate_opclass(opclass, "gpu_text", check_members);
}

}  // namespace pg_gpu::text
