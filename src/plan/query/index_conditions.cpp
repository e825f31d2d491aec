#include "plan/query/index_conditions.h"

#include "compat.h"
#include "expressions.h"
#include "plan/query/failure.h"
#include "plan/query/query.h"

namespace pg_gpu::plan {

// A column of the index.
static bool read_column(Node *node, int *column) {
    node = without_relabels(node);
    if (node == nullptr || !IsA(node, Var) || is_table_oid(node))
        return false;
    *column = reinterpret_cast<Var *>(node)->varattno - 1;
    return true;
}

static bool read_comparison(Oid operator_oid, Oid collation, Node *left, Node *right,
                            const IndexColumns &columns, IndexCondition *read) {
    *read = {};
    if (!read_column(left, &read->column) || contain_var_clause(right) ||
        !op_in_opfamily(operator_oid, columns.families[read->column]) ||
        (OidIsValid(columns.collations[read->column]) && collation != columns.collations[read->column]))
        return false;
    read->operator_oid = operator_oid;
    read->collation = collation;
    read->argument = reinterpret_cast<Expr *>(right);
    return true;
}

bool read_index_condition(Node *condition, const IndexColumns &columns, IndexCondition *read) {
    if (IsA(condition, NullTest)) {
        const auto *test = reinterpret_cast<const NullTest *>(condition);
        *read = {};
        read->is_null = test->nulltesttype == IS_NULL;
        return !test->argisrow && read_column(reinterpret_cast<Node *>(test->arg), &read->column);
    }
    if (IsA(condition, OpExpr) && list_length(reinterpret_cast<OpExpr *>(condition)->args) == 2) {
        const auto *comparison = reinterpret_cast<const OpExpr *>(condition);
        auto *left = static_cast<Node *>(linitial(comparison->args));
        auto *right = static_cast<Node *>(lsecond(comparison->args));
        if (read_comparison(comparison->opno, comparison->inputcollid, left, right, columns, read))
            return true;
        const Oid commutator = get_commutator(comparison->opno);
        return OidIsValid(commutator) &&
               read_comparison(commutator, comparison->inputcollid, right, left, columns, read);
    }
    if (IsA(condition, ScalarArrayOpExpr)) {
        const auto *any = reinterpret_cast<const ScalarArrayOpExpr *>(condition);
        if (!any->useOr ||
            !read_comparison(any->opno, any->inputcollid, static_cast<Node *>(linitial(any->args)),
                             static_cast<Node *>(lsecond(any->args)), columns, read))
            return false;
        read->is_array = true;
        return true;
    }
    return false;
}

bool make_scan_key(ExprContext *context, const IndexColumns &columns, const IndexCondition &condition,
                   ScanKeyData *key) {
    *key = {};
    key->sk_attno = static_cast<AttrNumber>(condition.column + 1);
    if (condition.argument == nullptr) {
        key->sk_flags = SK_ISNULL | (condition.is_null ? SK_SEARCHNULL : SK_SEARCHNOTNULL);
        return true;
    }
    int strategy;
    Oid left;
    get_op_opfamily_properties(condition.operator_oid, columns.families[condition.column], false, &strategy,
                               &left, &key->sk_subtype);
    key->sk_strategy = static_cast<StrategyNumber>(strategy);
    key->sk_collation = condition.collation;
    fmgr_info(get_opcode(condition.operator_oid), &key->sk_func);
    Const argument;
    if (!evaluate_without_columns(condition.argument, context, &argument))
        return false;
    key->sk_argument = argument.constvalue;
    key->sk_flags = (argument.constisnull ? SK_ISNULL : 0) | (condition.is_array ? SK_SEARCHARRAY : 0);
    return true;
}

}  // namespace pg_gpu::plan
