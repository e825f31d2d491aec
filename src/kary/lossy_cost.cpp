#include "kary/lossy_cost.h"

#include <cmath>

#include "compat.h"
#include "kary/kary.h"
#include "kary/row_test.h"

namespace pg_gpu::kary {

// Returns the operator of a condition, and in *right what stands on its right; InvalidOid for IS [NOT] NULL.
static Oid operator_of(const Expr *clause, const Node **right) {
    *right = nullptr;
    if (IsA(clause, OpExpr)) {
        const auto *comparison = reinterpret_cast<const OpExpr *>(clause);
        *right = static_cast<const Node *>(lsecond(comparison->args));
        return comparison->opno;
    }
    if (!IsA(clause, ScalarArrayOpExpr))
        return InvalidOid;
    const auto *comparison = reinterpret_cast<const ScalarArrayOpExpr *>(clause);
    *right = static_cast<const Node *>(lsecond(comparison->args));
    return comparison->opno;
}

static bool is_constant(const Node *node) {
    return IsA(node, Const) && !reinterpret_cast<const Const *>(node)->constisnull;
}

static Oid column_type(const IndexOptInfo *index, int column) {
    return exprType(
        reinterpret_cast<Node *>(static_cast<TargetEntry *>(list_nth(index->indextlist, column))->expr));
}

// Makes a condition column LIKE 'prefix%', its special characters escaped.
static Expr *make_prefix_clause(const Expr *clause, Oid type, const LikePrefix &prefix) {
    const bool is_array = IsA(clause, ScalarArrayOpExpr);
    List *arguments = is_array ? reinterpret_cast<const ScalarArrayOpExpr *>(clause)->args
                               : reinterpret_cast<const OpExpr *>(clause)->args;
    const Oid collation = is_array ? reinterpret_cast<const ScalarArrayOpExpr *>(clause)->inputcollid
                                   : reinterpret_cast<const OpExpr *>(clause)->inputcollid;
    // The prefix must not end in the middle of a character.
    const int length = pg_mbcliplen(prefix.bytes, static_cast<int>(prefix.length), kPrefixBytes);
    StringInfoData pattern;
    initStringInfo(&pattern);
    for (int i = 0; i < length; i++) {
        if (prefix.bytes[i] == '%' || prefix.bytes[i] == '_' || prefix.bytes[i] == '\\')
            appendStringInfoChar(&pattern, '\\');
        appendStringInfoChar(&pattern, prefix.bytes[i]);
    }
    appendStringInfoChar(&pattern, '%');
    auto *constant =
        makeConst(TEXTOID, -1, collation, -1,
                  PointerGetDatum(cstring_to_text_with_len(pattern.data, pattern.len)), false, false);
    return make_opclause(type == BPCHAROID ? OID_BPCHAR_LIKE_OP : OID_TEXT_LIKE_OP, BOOLOID, false,
                         static_cast<Expr *>(linitial(arguments)), reinterpret_cast<Expr *>(constant),
                         InvalidOid, collation);
}

// Returns a condition on a column encoded by its first bytes: nullptr when it leaves all entries.
static Node *found_for_text(const IndexOptInfo *index, int column, RestrictInfo *qual) {
    const Node *right;
    const Oid operator_oid = operator_of(qual->clause, &right);
    const int strategy =
        OidIsValid(operator_oid) ? get_op_opfamily_strategy(operator_oid, index->opfamily[column]) : 0;
    if ((strategy != kLike && strategy != kStartsWith) || !IsA(qual->clause, OpExpr) || !is_constant(right))
        return reinterpret_cast<Node *>(qual);
    const Oid type = index->opcintype[column];
    const LikePrefix prefix = text_pattern_prefix(type, static_cast<StrategyNumber>(strategy),
                                                  reinterpret_cast<const Const *>(right)->constvalue);
    if (prefix.is_whole)
        return reinterpret_cast<Node *>(qual);
    return prefix.length > 0 ? reinterpret_cast<Node *>(make_prefix_clause(qual->clause, type, prefix))
                             : nullptr;
}

static Node *found_for_hash(const IndexOptInfo *index, int column, RestrictInfo *qual) {
    const Node *right;
    const Oid operator_oid = operator_of(qual->clause, &right);
    const bool all =
        OidIsValid(operator_oid) && !is_hashed_equality(column_type(index, column), get_opcode(operator_oid));
    return all ? nullptr : reinterpret_cast<Node *>(qual);
}

List *found_quals(const IndexOptInfo *index, int column, List *quals) {
    const Encoding encoding = column_code(index->opcintype[column], index->opfamily[column]).encoding;
    // What rounding adds to a range is left out.
    if (!is_lossy(encoding) || encoding == Encoding::Rounded)
        return quals;
    List *found = NIL;
    ListCell *cell;
    foreach (cell, quals) {
        auto *qual = lfirst_node(RestrictInfo, cell);
        Node *clause = encoding == Encoding::Hash ? found_for_hash(index, column, qual)
                                                  : found_for_text(index, column, qual);
        if (clause != nullptr)
            found = lappend(found, clause);
    }
    return found;
}

namespace {

// Constants as long as a key, by their first bytes, each once.
struct LongConstants {
    static constexpr int kMax = 100;
    int count;
    LikePrefix prefixes[kMax];
};

}  // namespace

static void note_constant(LongConstants *constants, Oid type, Datum value) {
    const LikePrefix prefix = text_prefix(type, value);
    if (prefix.is_whole || constants->count == LongConstants::kMax)
        return;
    for (int i = 0; i < constants->count; i++)
        if (memcmp(constants->prefixes[i].bytes, prefix.bytes, kPrefixBytes) == 0)
            return;
    constants->prefixes[constants->count++] = prefix;
}

static void note_constants(LongConstants *constants, Oid type, const Expr *clause, const Const *right) {
    if (!IsA(clause, ScalarArrayOpExpr)) {
        note_constant(constants, type, right->constvalue);
        return;
    }
    ArrayType *array = DatumGetArrayTypeP(right->constvalue);
    Datum *values;
    bool *nulls;
    int count;
    deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT, &values, &nulls, &count);
    for (int i = 0; i < count; i++)
        if (!nulls[i])
            note_constant(constants, type, values[i]);
}

Selectivity shared_key_selectivity(PlannerInfo *root, const IndexPath *path) {
    const IndexOptInfo *index = path->indexinfo;
    // Such a column fills the key, so it is the only one.
    const Oid type = index->opcintype[0];
    if (column_code(type, index->opfamily[0]).encoding != Encoding::Prefix)
        return 0;
    Selectivity selectivity = 0;
    auto *constants = allocate<LongConstants>(1);
    List *quals = get_quals_from_indexclauses(path->indexclauses);
    ListCell *cell;
    foreach (cell, quals) {
        const Expr *clause = lfirst_node(RestrictInfo, cell)->clause;
        const Node *right;
        const Oid operator_oid = operator_of(clause, &right);
        if (!OidIsValid(operator_oid) || !is_constant(right))
            continue;
        const int strategy = get_op_opfamily_strategy(operator_oid, index->opfamily[0]);
        if (strategy == kLike || strategy == kStartsWith)
            continue;
        constants->count = 0;
        note_constants(constants, type, clause, reinterpret_cast<const Const *>(right));
        for (int i = 0; i < constants->count; i++)
            selectivity += clause_selectivity(
                root, reinterpret_cast<Node *>(make_prefix_clause(clause, type, constants->prefixes[i])),
                static_cast<int>(index->rel->relid), JOIN_INNER, nullptr);
    }
    pfree(constants);
    return selectivity;
}

double array_length(PlannerInfo *root, const ScalarArrayOpExpr *array) {
    auto *elements = static_cast<Node *>(lsecond(array->args));
    return array_length_of(root, elements);
}

bool has_lossy_conditions(const IndexPath *path) {
    ListCell *cell;
    foreach (cell, path->indexclauses) {
        const auto *clause = lfirst_node(IndexClause, cell);
        if (is_lossy(encoding_of(path->indexinfo->opcintype[clause->indexcol])) &&
            !IsA(clause->rinfo->clause, NullTest))
            return true;
    }
    return false;
}

// Says whether the scan looks a lossy column's value up in an array.
static bool is_looked_up(PlannerInfo *root, const IndexOptInfo *index, int column, const Expr *clause) {
    if (!is_lossy(encoding_of(index->opcintype[column])) || !IsA(clause, ScalarArrayOpExpr))
        return false;
    const auto *array = reinterpret_cast<const ScalarArrayOpExpr *>(clause);
    return array_length(root, array) >= kLongArray &&
           get_op_opfamily_strategy(array->opno, index->opfamily[column]) == BTEqualStrategyNumber;
}

// Calls visit(column, qual) for the conditions on lossy columns.
template <typename Visit>
static void for_each_lossy_qual(const IndexPath *path, Visit visit) {
    ListCell *cell;
    foreach (cell, path->indexclauses) {
        const auto *clause = lfirst_node(IndexClause, cell);
        if (!is_lossy(encoding_of(path->indexinfo->opcintype[clause->indexcol])))
            continue;
        ListCell *qual_cell;
        foreach (qual_cell, clause->indexquals)
            visit(clause->indexcol, lfirst_node(RestrictInfo, qual_cell));
    }
}

bool checks_rows(PlannerInfo *root, const IndexPath *path) {
    bool checks = false;
    for_each_lossy_qual(path, [&](int column, const RestrictInfo *qual) {
        checks = checks || is_looked_up(root, path->indexinfo, column, qual->clause);
    });
    return checks;
}

Cost recheck_cost(PlannerInfo *root, const IndexPath *path, double rows) {
    Cost total = 0;
    for_each_lossy_qual(path, [&](int column, RestrictInfo *qual) {
        if (is_looked_up(root, path->indexinfo, column, qual->clause)) {
            // Looking a row up takes a hash and a comparison.
            total += rows * 2 * cpu_operator_cost;
            return;
        }
        QualCost cost;
        cost_qual_eval_node(&cost, reinterpret_cast<Node *>(qual), root);
        total += cost.startup + rows * cost.per_tuple;
    });
    return total;
}

Cost table_order_cost(const IndexOptInfo *index, Selectivity selectivity) {
    const RelOptInfo *table = index->rel;
    const double pages = Max(table->pages, 1);
    const double rows = clamp_row_est(selectivity * table->tuples);
    double random;
    double sequential;
    get_tablespace_page_costs(table->reltablespace, &random, &sequential);
    // The more of the pages are read, the more reading is like a sequential read. The planner's cost of
    // bitmap heap scans has the same formula.
    const double fetched = Min(2 * pages * rows / (2 * pages + rows), pages);
    const Cost in_order = fetched * (random - (random - sequential) * sqrt(fetched / pages));
    const Cost together = random + (ceil(selectivity * pages) - 1) * sequential;
    return Max(in_order - together, 0);
}

}  // namespace pg_gpu::kary
