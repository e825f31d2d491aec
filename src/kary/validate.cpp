// amvalidate and amproperty. An opclass is sound when its operators are those of btree's default opclass for
// the same types, under btree's numbers: keys are compared as integers, so nothing else may be answered from
// them. Of lossy opclasses, text has the operators that its first bytes can narrow down, numeric those of
// btree under other numbers, and every other type the equality of its hash opclass.
#include "kary/kary.h"
#include "kary/row_bounds.h"
#include "keys/keys.h"

namespace pg_gpu::kary {

// The functions behind the operators on text and bpchar, by strategy.
struct TextOperator {
    int strategy;
    Oid text_function;
    Oid bpchar_function;
};

static constexpr TextOperator text_operators[] = {
    {BTEqualStrategyNumber, F_TEXTEQ, F_BPCHAREQ},
    {kLossyLess, F_TEXT_LT, F_BPCHARLT},
    {kLossyLessEqual, F_TEXT_LE, F_BPCHARLE},
    {kLossyGreaterEqual, F_TEXT_GE, F_BPCHARGE},
    {kLossyGreater, F_TEXT_GT, F_BPCHARGT},
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

// Is it one of the operators that stand for comparisons of rows (strategies.h)?
static bool is_row_operator(const FormData_pg_amop *member) {
    return is_row_strategy(member->amopstrategy) && member->amoplefttype == ANYELEMENTOID &&
           member->amoprighttype == RECORDOID && is_row_function(get_opcode(member->amopopr));
}

static void validate_operator(Validation *state, const FormData_pg_amop *member, Encoding encoding) {
    const char *name = format_operator(member->amopopr);
    const int strategy = member->amopstrategy;
    validate_search_operator(state, member);
    if (is_row_operator(member) && !is_lossy(encoding))
        return;
    if (encoding != Encoding::Hash && encoding_of(member->amoplefttype) != encoding)
        complain(state, "contains operator %s for a type with other keys", name);
    switch (encoding) {
        case Encoding::Hash:
            if (strategy != BTEqualStrategyNumber || strategy_elsewhere(member->amopopr, member->amoplefttype,
                                                                        HASH_AM_OID) != HTEqualStrategyNumber)
                complain(state,
                         "contains operator %s with strategy number %d, which is not the equality of hash's "
                         "operator family, with number %d",
                         name, strategy, BTEqualStrategyNumber);
            break;
        case Encoding::Prefix:
            if (!is_text_operator(member))
                complain_of_strategy(state, member);
            break;
        case Encoding::Rounded:
            if (btree_strategy(member->amopstrategy) == InvalidStrategy ||
                strategy_elsewhere(member->amopopr, member->amoplefttype, BTREE_AM_OID) !=
                    btree_strategy(member->amopstrategy))
                complain_of_strategy(state, member);
            break;
        default:
            validate_exact_operator(state, member);
    }
}

// The opclass's own type has `=`, and with an exact encoding it has all operators. Only a class for any type
// has `=` in the family alone.
static void validate_groups(Validation *state, CatCList *operators, CatCList *functions, Oid type,
                            Encoding encoding) {
    if (!is_lossy(encoding))
        return validate_exact_groups(state, operators, functions, type);
    bool has_own = type == ANYELEMENTOID;
    ListCell *cell;
    foreach (cell, identify_opfamily_groups(operators, functions)) {
        const auto *group = static_cast<OpFamilyOpFuncGroup *>(lfirst(cell));
        has_own = has_own || (group->lefttype == type && group->righttype == type &&
                              ((group->operatorset >> BTEqualStrategyNumber) & 1));
    }
    if (!has_own)
        complain_of_missing_operators(state, type);
}

// As column_code, of a family whose operators are at hand.
static Encoding encoding_with(Oid type, CatCList *operators) {
    if (encoding_of(type) != Encoding::Prefix)
        return encoding_of(type);
    for (int i = 0; i < operators->n_members; i++)
        if (member_at(operators, i)->amopstrategy >= kLossyLess)
            return Encoding::Prefix;
    return Encoding::Hash;
}

static void check_opclass(Validation *state, Oid type, CatCList *operators, CatCList *functions) {
    const Encoding encoding = encoding_with(type, operators);
    for (int i = 0; i < operators->n_members; i++)
        validate_operator(state, member_at(operators, i), encoding);
    validate_groups(state, operators, functions, type, encoding);
}

bool validate(Oid opclass) {
    return validate_opclass(opclass, "gpu_kary", check_opclass);
}

// PostgreSQL takes every column for orderable; with one that isn't, the index has no order.
bool property(Oid index, int column, IndexAMProperty requested, const char *, bool *result, bool *is_null) {
    const bool is_direction = requested == AMPROP_ASC || requested == AMPROP_DESC ||
                              requested == AMPROP_NULLS_FIRST || requested == AMPROP_NULLS_LAST;
    if (column == 0 || (requested != AMPROP_ORDERABLE && !is_direction))
        return false;
    Relation relation = index_open(index, AccessShareLock);
    const bool unordered = has_lossy_columns(relation);
    index_close(relation, AccessShareLock);
    *result = false;
    *is_null = is_direction;
    return unordered;
}

}  // namespace pg_gpu::kary
