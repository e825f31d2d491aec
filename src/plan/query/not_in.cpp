#include "plan/query/not_in.h"

#include "compat.h"
#include "plan/query/in_sub_select.h"
#include "plan/query/inputs.h"
#include "plan/query/sub_selects.h"

namespace pg_gpu::plan::query {

// The sub-select of `NOT (x = ANY (…))`, or of `x <> ALL (…)`, as one of `x = ANY (…)`; nullptr: it is
// neither.
static SubLink *find_link(Node *condition) {
    const auto *negation = reinterpret_cast<const BoolExpr *>(condition);
    const bool is_negated = IsA(condition, BoolExpr) && negation->boolop == NOT_EXPR;
    auto *inner = is_negated ? static_cast<Node *>(linitial(negation->args)) : condition;
    if (!IsA(inner, SubLink))
        return nullptr;
    auto *link = static_cast<SubLink *>(copyObjectImpl(inner));
    if (link->subLinkType != (is_negated ? ANY_SUBLINK : ALL_SUBLINK) || !IsA(link->testexpr, OpExpr))
        return nullptr;
    link->subLinkType = ANY_SUBLINK;
    auto *equality = reinterpret_cast<OpExpr *>(link->testexpr);
    if (!is_negated) {
        equality->opno = get_negator(equality->opno);
        equality->opfuncid = get_opcode(equality->opno);
    }
    return OidIsValid(equality->opno) ? link : nullptr;
}

bool replace_not_in(Node *condition, List **conditions) {
    SubLink *link = find_link(condition);
    if (link == nullptr)
        return false;
    auto *subselect = castNode(Query, link->subselect);
    if (!is_of_tables(subselect) || !has_column_index(subselect) || may_query_fail(subselect) ||
        contain_volatile_functions(condition))
        return false;
    Node *known = is_known(link);
    Query *matches = known == nullptr ? nullptr : rows_that_match(link);
    if (matches == nullptr)
        return false;
    auto *exists = make_link(EXISTS_SUBLINK, matches);
    *conditions = lappend(*conditions, makeBoolExpr(NOT_EXPR, list_make1(exists), -1));
    *conditions = lappend(*conditions, known);
    return true;
}

}  // namespace pg_gpu::plan::query
