#include "plan/query/left_out.h"

#include "compat.h"
#include "expressions.h"
#include "memory.h"

namespace pg_gpu::plan::query {

namespace {

// What leaves the wanted rows.
struct Wanted {
    const EnginePlan *other;
    List *equalities;  // of keys and the other side's expressions
    Relids tables;     // of the keys
    double part;       // of the rows
};

}  // namespace

// ---- which keys -------------------------------------------------------------------------------------------

// May rows of a side be left out that equal none of the other side's?
static bool drops_unmatched(JoinType type, bool is_probed) {
    switch (type) {
        case JOIN_INNER:
        case JOIN_SEMI:
            return true;
        case JOIN_RIGHT:
            return is_probed;
        case JOIN_LEFT:
        case JOIN_ANTI:
            return !is_probed;
        default:
            return false;
    }
}

// The expression that a column of the groups is, if it is a key whose groups are rows that the equality takes
// to be equal, too; nullptr: it isn't.
static Node *find_key(const TableAggregate &groups, const Var *column, const OpExpr *equality) {
    const TargetEntry *entry = get_tle_by_resno(groups.columns, column->varattno);
    if (entry == nullptr || entry->ressortgroupref == 0)
        return nullptr;
    ListCell *cell;
    foreach (cell, groups.clauses) {
        const auto *clause = lfirst_node(SortGroupClause, cell);
        if (clause->tleSortGroupRef == entry->ressortgroupref)
            return exprCollation(reinterpret_cast<const Node *>(entry->expr)) == equality->inputcollid &&
                           equality_ops_are_compatible(equality->opno, clause->eqop)
                       ? below_grouping(groups.root, reinterpret_cast<Node *>(entry->expr))
                       : nullptr;
    }
    return nullptr;
}

// An expression of the same type with the key in place of the column. nullptr: it is of more than the column.
static Node *over_key(const TableAggregate &groups, Node *expression, const OpExpr *equality) {
    if (IsA(expression, Var))
        return find_key(groups, reinterpret_cast<const Var *>(expression), equality);
    if (!IsA(expression, RelabelType))
        return nullptr;
    auto *relabel = static_cast<RelabelType *>(copyObjectImpl(expression));
    relabel->arg =
        reinterpret_cast<Expr *>(over_key(groups, reinterpret_cast<Node *>(relabel->arg), equality));
    return relabel->arg == nullptr ? nullptr : reinterpret_cast<Node *>(relabel);
}

// The statement or subquery of the rows that are left out.
static PlannerInfo *root_of(const EnginePlan &side) {
    return side.groups != nullptr ? side.groups->root : side.root;
}

static void add_equality(const EnginePlan &side, Node *key, OpExpr *equality, Wanted *wanted) {
    linitial(equality->args) = key;
    wanted->equalities = lappend(wanted->equalities, equality);
    wanted->tables = bms_add_members(wanted->tables, pull_varnos(root_of(side), key));
}

// Adds a clause that compares rows of the side with the other's, and of groups a key; others are left to the
// join.
static void read_clause(const EnginePlan &side, const RestrictInfo *clause, Wanted *wanted) {
    const auto is_of = [](const Relids tables, const EnginePlan &plan) {
        return !bms_is_empty(tables) && bms_is_subset(tables, plan.relation->relids);
    };
    if (!OidIsValid(clause->hashjoinoperator) || !IsA(clause->clause, OpExpr))
        return;
    const bool is_first = is_of(clause->left_relids, side) && is_of(clause->right_relids, *wanted->other);
    if (!is_first && !(is_of(clause->right_relids, side) && is_of(clause->left_relids, *wanted->other)))
        return;
    auto *equality = static_cast<OpExpr *>(copyObjectImpl(clause->clause));
    if (!is_first)
        CommuteOpExpr(equality);
    auto *key = static_cast<Node *>(linitial(equality->args));
    if (side.groups != nullptr)
        key = over_key(*side.groups, key, equality);
    if (key != nullptr)
        add_equality(side, key, equality, wanted);
}

static double count_values(PlannerInfo *root, const List *equalities, int side, double rows) {
    List *values = NIL;
    ListCell *cell;
    foreach (cell, equalities)
        values = lappend(values, list_nth(lfirst_node(OpExpr, cell)->args, side));
    return estimate_num_groups(root, values, rows, nullptr, nullptr);
}

// ---- plans ------------------------------------------------------------------------------------------------

static EnginePlan *copy_plan(const EnginePlan &plan) {
    auto *copy = allocate<EnginePlan>(1);
    *copy = plan;
    return copy;
}

static const EnginePlan *leave_wanted_rows(const EnginePlan &rows, const Wanted &wanted);

static const EnginePlan *leave_wanted(const EnginePlan &groups, const Wanted &wanted) {
    EnginePlan *plan = copy_plan(groups);
    plan->probed = leave_wanted_rows(*groups.probed, wanted);
    plan->tables = plan->probed->tables;
    plan->all_groups = plan->probed->all_groups + 1;
    plan->all_windows = plan->probed->all_windows;
    plan->expected_rows = Max(groups.expected_rows * wanted.part, 1.0);
    plan->operators = operators_of_groups(*plan, wanted.part);
    return plan;
}

// Over what is grouped. False: not all of them are keys.
static bool read_over_keys(const EnginePlan &groups, const Wanted &wanted, Wanted *below) {
    *below = wanted;
    below->equalities = NIL;
    below->tables = nullptr;
    ListCell *cell;
    foreach (cell, wanted.equalities) {
        auto *equality = static_cast<OpExpr *>(copyObjectImpl(lfirst(cell)));
        Node *key = over_key(*groups.groups, static_cast<Node *>(linitial(equality->args)), equality);
        if (key == nullptr)
            return false;
        add_equality(groups, key, equality, below);
    }
    return true;
}

static EnginePlan *join_with_wanted(const EnginePlan &rows, const Wanted &wanted) {
    auto *plan = allocate_zeroed<EnginePlan>(1);
    plan->root = rows.root;
    plan->relation = rows.relation;
    plan->type = JOIN_SEMI;
    plan->probed = &rows;
    plan->build = wanted.other;
    plan->equalities = wanted.equalities;
    return plan;
}

// Rows are left out on the side of a join that has the keys, before they are joined or grouped, where that is
// the same.
static const EnginePlan *leave_wanted_rows(const EnginePlan &rows, const Wanted &wanted) {
    check_stack_depth();
    Wanted below;
    if (rows.groups != nullptr && read_over_keys(rows, wanted, &below))
        return leave_wanted(rows, below);
    const bool is_join = rows.build != nullptr && rows.equalities == NIL;
    const auto is_below = [&](const EnginePlan *side, std::initializer_list<JoinType> types) {
        return is_join && bms_is_subset(wanted.tables, side->relation->relids) &&
               std::find(types.begin(), types.end(), rows.type) != types.end();
    };
    EnginePlan *plan = copy_plan(rows);
    if (is_below(rows.probed, {JOIN_INNER, JOIN_LEFT, JOIN_SEMI, JOIN_ANTI}))
        plan->probed = leave_wanted_rows(*rows.probed, wanted);
    else if (is_below(rows.build, {JOIN_INNER, JOIN_RIGHT}))
        plan->build = leave_wanted_rows(*rows.build, wanted);
    else
        plan = join_with_wanted(rows, wanted);
    plan->expected_rows = Max(rows.expected_rows * wanted.part, 1.0);
    plan->tables = plan->probed->tables + plan->build->tables;
    plan->all_groups = plan->probed->all_groups + plan->build->all_groups;
    plan->all_windows = plan->probed->all_windows + plan->build->all_windows;
    plan->operators = operators_of_join(*plan);
    return plan;
}

static const EnginePlan *leave_wanted_of(const EnginePlan &side, const EnginePlan &other,
                                         const EnginePlan &join) {
    // More would be left out than it costs to look for them.
    constexpr double greatest_part = 0.5;
    Wanted wanted = {&other, NIL, nullptr, 1};
    ListCell *cell;
    foreach (cell, join.clauses) {
        const auto *clause = lfirst_node(RestrictInfo, cell);
        if (!(IS_OUTER_JOIN(join.type) && RINFO_IS_PUSHED_DOWN(clause, join.relation->relids)))
            read_clause(side, clause, &wanted);
    }
    if (wanted.equalities == NIL)
        return nullptr;
    const EnginePlan &input = side.groups != nullptr ? *side.probed : side;
    const double all = count_values(root_of(side), wanted.equalities, 0, input.expected_rows);
    wanted.part = count_values(other.root, wanted.equalities, 1, other.expected_rows) / all;
    return wanted.part > greatest_part ? nullptr
           : side.groups != nullptr    ? leave_wanted(side, wanted)
                                       : leave_wanted_rows(side, wanted);
}

// Only where the side can't be the probed one instead.
static bool is_built(JoinType type, bool is_probed) {
    return !is_probed && (type == JOIN_SEMI || type == JOIN_ANTI);
}

const EnginePlan *leave_out_unmatched(const EnginePlan &join, bool is_probed) {
    const EnginePlan &side = is_probed ? *join.probed : *join.build;
    if (!drops_unmatched(join.type, is_probed) || join.root->qual_security_level > 0 ||
        (side.groups == nullptr && !is_built(join.type, is_probed)))
        return nullptr;
    const auto operators = [](const EnginePlan &plan) {
        return plan.operators + plan.expected_rows * kBuildOperators;
    };
    const EnginePlan *best = nullptr;
    // Semi joins and anti joins of the other side leave rows out, too, but mustn't.
    for (const EnginePlan *other = is_probed ? join.build : join.probed; other != nullptr;
         other = other->type == JOIN_SEMI || other->type == JOIN_ANTI ? other->probed : nullptr) {
        const EnginePlan *plan = leave_wanted_of(side, *other, join);
        if (plan != nullptr && operators(*plan) < operators(best != nullptr ? *best : side))
            best = plan;
    }
    return best;
}

}  // namespace pg_gpu::plan::query
