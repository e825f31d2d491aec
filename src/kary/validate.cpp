// amvalidate, amadjustmembers and amproperty. An opclass is sound when its operators are those of btree's
// default opclass for the same types, under btree's numbers: keys are compared as integers, so nothing else
// may be answered from them. Of lossy opclasses, text has the operators that its first bytes can narrow down,
// and every other type the equality of its hash opclass.
#include "kary/kary.h"

namespace pg_gpu::kary {

static constexpr uint64 kAllStrategies = 0x3e;  // bits 1 to 5

// The strategy number that an access method gives the operator where its default opclass is for this type; 0
// when it has none.
static int strategy_elsewhere(Oid operator_oid, Oid type, Oid access_method) {
    const Oid opclass = GetDefaultOpClass(type, access_method);
    return OidIsValid(opclass) ? get_op_opfamily_strategy(operator_oid, get_opclass_family(opclass)) : 0;
}

// The functions behind the operators on text and bpchar, by strategy.
struct TextOperator {
    int strategy;
    Oid text_function;
    Oid bpchar_function;
};

static constexpr TextOperator text_operators[] = {
    {BTEqualStrategyNumber, F_TEXTEQ, F_BPCHAREQ},
    {kTextLess, F_TEXT_LT, F_BPCHARLT},
    {kTextLessEqual, F_TEXT_LE, F_BPCHARLE},
    {kTextGreaterEqual, F_TEXT_GE, F_BPCHARGE},
    {kTextGreater, F_TEXT_GT, F_BPCHARGT},
    {kBytesLess, F_TEXT_PATTERN_LT, F_BPCHAR_PATTERN_LT},
    {kBytesLessEqual, F_TEXT_PATTERN_LE, F_BPCHAR_PATTERN_LE},
    {kBytesGreaterEqual, F_TEXT_PATTERN_GE, F_BPCHAR_PATTERN_GE},
    {kBytesGreater, F_TEXT_PATTERN_GT, F_BPCHAR_PATTERN_GT},
    {kLike, F_TEXTLIKE, F_BPCHARLIKE},
    {kStartsWith, F_STARTS_WITH, InvalidOid},
};

static bool is_text_operator(const FormData_pg_amop *member) {
    const Oid function = get_opcode(member->amopopr);
    for (const TextOperator &candidate : text_operators)
        if (candidate.strategy == member->amopstrategy)
            return function ==
                   (member->amoplefttype == TEXTOID ? candidate.text_function : candidate.bpchar_function);
    return false;
}

struct Validation {
    const char *family;
    bool sound;
};

static void complain(Validation *state, const char *problem) {
    state->sound = false;
    ereport(INFO, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
                   errmsg("operator family \"%s\" of access method gpu_kary %s", state->family, problem)));
}

static void validate_operator(Validation *state, const FormData_pg_amop *member, Encoding encoding) {
    const char *name = format_operator(member->amopopr);
    const int strategy = member->amopstrategy;
    if (member->amoppurpose != AMOP_SEARCH || OidIsValid(member->amopsortfamily))
        complain(state, psprintf("contains ordering operator %s", name));
    if (!check_amop_signature(member->amopopr, BOOLOID, member->amoplefttype, member->amoprighttype))
        complain(state, psprintf("contains operator %s with a wrong signature", name));
    if (encoding_of(member->amoplefttype) != encoding && encoding != Encoding::Hash)
        complain(state, psprintf("contains operator %s for a type with other keys", name));
    switch (encoding) {
        case Encoding::Hash:
            if (strategy != BTEqualStrategyNumber || strategy_elsewhere(member->amopopr, member->amoplefttype,
                                                                        HASH_AM_OID) != HTEqualStrategyNumber)
                complain(state,
                         psprintf("contains operator %s with strategy number %d, which is not the equality "
                                  "of hash's operator family, with number %d",
                                  name, strategy, BTEqualStrategyNumber));
            break;
        case Encoding::Prefix:
            if (!is_text_operator(member))
                complain(state, psprintf("contains operator %s, which strategy number %d is not for", name,
                                         strategy));
            break;
        default:
            if (strategy_elsewhere(member->amopopr, member->amoplefttype, BTREE_AM_OID) != strategy)
                complain(state, psprintf("contains operator %s, which is not btree's with strategy number %d",
                                         name, strategy));
    }
}

// Of an exact encoding each pair of types has all operators or none. The opclass's own type has `=`, and with
// an exact encoding all; only a class for any type has it in the family alone.
static void validate_groups(Validation *state, CatCList *operators, CatCList *functions, Oid type,
                            Encoding encoding) {
    bool has_own = type == ANYELEMENTOID;
    ListCell *cell;
    foreach (cell, identify_opfamily_groups(operators, functions)) {
        const auto *group = static_cast<OpFamilyOpFuncGroup *>(lfirst(cell));
        if (!is_lossy(encoding) && group->operatorset != kAllStrategies)
            complain(state, psprintf("lacks an operator for types %s and %s", format_type_be(group->lefttype),
                                     format_type_be(group->righttype)));
        has_own = has_own || (group->lefttype == type && group->righttype == type &&
                              ((group->operatorset >> BTEqualStrategyNumber) & 1));
    }
    if (!has_own)
        complain(state,
                 psprintf("lacks the operators for the operator class's own type %s", format_type_be(type)));
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
    Validation state = {NameStr(reinterpret_cast<Form_pg_opfamily>(GETSTRUCT(family_tuple))->opfname), true};

    if (has_storage_type)
        complain(&state, "contains an operator class with a storage type");

    CatCList *operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
    CatCList *functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(family));
    if (functions->n_members > 0)
        complain(&state, "contains support functions, but there are none");
    for (int i = 0; i < operators->n_members; i++)
        validate_operator(&state, reinterpret_cast<Form_pg_amop>(GETSTRUCT(&operators->members[i]->tuple)),
                          encoding_of(type));
    validate_groups(&state, operators, functions, type, encoding_of(type));

    ReleaseCatCacheList(functions);
    ReleaseCatCacheList(operators);
    ReleaseSysCache(family_tuple);
    ReleaseSysCache(class_tuple);
    return state.sound;
}

// As btree's: operators on one type are part of its opclass, those between types may come and go in the
// family.
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

// PostgreSQL takes every column for orderable; with one that isn't, the index has no order.
bool property(Oid index, int column, IndexAMProperty asked, const char *, bool *result, bool *is_null) {
    const bool is_direction = asked == AMPROP_ASC || asked == AMPROP_DESC || asked == AMPROP_NULLS_FIRST ||
                              asked == AMPROP_NULLS_LAST;
    if (column == 0 || (asked != AMPROP_ORDERABLE && !is_direction))
        return false;
    Relation relation = index_open(index, AccessShareLock);
    const bool unordered = has_lossy_columns(relation);
    index_close(relation, AccessShareLock);
    *result = false;
    *is_null = is_direction;
    return unordered;
}

}  // namespace pg_gpu::kary
