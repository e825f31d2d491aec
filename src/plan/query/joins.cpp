#include "plan/query/joins.h"

#include "compat.h"
#include "plan/query/accumulators.h"
#include "plan/query/nested_groups.h"

namespace pg_gpu::plan::query {

uint16 compile_conditions(Compiler *compiler, const List *conditions) {
    const uint16 outer = compiler->guard;
    const bool was_condition = compiler->is_condition;
    compiler->is_condition = true;
    uint16 all = no_step;
    ListCell *cell;
    foreach (cell, conditions) {
        const uint16 step = compile_truth(compiler, static_cast<const Expr *>(lfirst(cell)));
        if (is_refused(compiler))
            break;
        all = both(compiler, all, step);
        compiler->guard = all;
    }
    compiler->is_condition = was_condition;
    compiler->guard = outer;
    return all;
}

// ---- keys -------------------------------------------------------------------------------------------------

namespace {

// A condition of a join that compares the two sides.
struct SideComparison {
    Comparison comparison;
    List *sides;  // of the probed side, and of the build side
};

}  // namespace

static bool find_tables(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, Var)) {
        auto **tables = static_cast<Bitmapset **>(context);
        *tables = bms_add_member(*tables, reinterpret_cast<const Var *>(node)->varno - 1);
    }
    return walk_expression(node, find_tables, context);
}

static bool is_of(const Node *expression, const Bitmapset *side) {
    Bitmapset *tables = nullptr;
    find_tables(const_cast<Node *>(expression), &tables);
    return tables != nullptr && bms_is_subset(tables, side);
}

static bool read_comparison(const Expr *condition, const Bitmapset *probed, const Bitmapset *build,
                            SideComparison *result) {
    if (!IsA(condition, OpExpr))
        return false;
    const auto *clause = reinterpret_cast<const OpExpr *>(condition);
    if (list_length(clause->args) != 2 || strategy_of(clause->opno) == 0)
        return false;
    auto *left = static_cast<Node *>(linitial(clause->args));
    auto *right = static_cast<Node *>(lsecond(clause->args));
    const bool is_turned = is_of(left, build) && is_of(right, probed);
    if (!is_turned && !(is_of(left, probed) && is_of(right, build)))
        return false;
    const Oid operator_oid = is_turned ? get_commutator(clause->opno) : clause->opno;
    *result = {{OidIsValid(operator_oid) ? strategy_of(operator_oid) : 0, operator_oid, clause->inputcollid},
               is_turned ? list_make2(right, left) : list_make2(left, right)};
    return result->comparison.strategy != 0;
}

// Another side's value, whose step isn't one of the program.
static Value stand_in(Compiler *compiler, Value value) {
    value.step = add_step(compiler->program, make_step(Operation::null, value.type));
    return value;
}

namespace {

// The two sides of a join while its keys are compiled.
struct Sides {
    Compiler *compiler;
    NodeSteps steps[2];  // of the probed side, and of the build side
    uint16 *keys[2];
    uint32 count;
};

}  // namespace

// Continues with the steps of a side; what `work` returns.
template <typename Work>
static bool with_side(Sides *sides, int side, Work work) {
    Program *program = sides->compiler->program;
    const NodeSteps before = begin_node_steps(program, sides->steps[side]);
    const bool result = work();
    sides->steps[side] = begin_node_steps(program, before);
    return result;
}

// Have values the order of the engine's numbers?
static bool may_be_bound(const Value &value) {
    switch (value.kind) {
        case Kind::Integer:
        case Kind::Decimal:
        case Kind::Date:
        case Kind::Timestamp:
            return value.type == ValueType::int64;
        case Kind::Float:
            return value.type == ValueType::float64;
        default:
            return false;
    }
}

// Makes what is compared a key of both sides. False: it can't be one, and is left to the filter.
static bool add_key(Sides *sides, const SideComparison &pair) {
    Compiler *compiler = sides->compiler;
    const bool is_equality = pair.comparison.strategy == BTEqualStrategyNumber;
    Value values[2];
    Value made[2];
    for (int side = 0; side < 2; side++)
        with_side(sides, side, [&] {
            values[side] = compile(compiler, static_cast<const Expr *>(list_nth(pair.sides, side)));
            return true;
        });
    for (int side = 0; side < 2 && !is_refused(compiler); side++)
        with_side(sides, side, [&] {
            Value both_sides[2] = {values[0], values[1]};
            both_sides[1 - side] = stand_in(compiler, values[1 - side]);
            make_comparable(compiler, pair.comparison, pair.sides, &both_sides[0], &both_sides[1]);
            made[side] = both_sides[side];
            return true;
        });
    const bool is_key = !is_refused(compiler) && made[0].type == made[1].type && !values[0].is_null &&
                        !values[1].is_null && sides->count < engine::max_keys &&
                        (is_equality || (may_be_bound(made[0]) && may_be_bound(made[1])));
    compiler->refusal = {};
    if (!is_key)
        return false;
    for (int side = 0; side < 2; side++)
        sides->keys[side][sides->count] = made[side].step;
    sides->count++;
    return true;
}

// The bound that a comparison, which stays in the filter, gives the build side's rows, if it has none yet.
static std::optional<uint32> *bound_of(int strategy, CompiledNode *join) {
    switch (strategy) {
        case BTGreaterStrategyNumber:
        case BTGreaterEqualStrategyNumber:
            return join->at_most ? nullptr : &join->at_most;
        case BTLessStrategyNumber:
        case BTLessEqualStrategyNumber:
            return join->at_least ? nullptr : &join->at_least;
        default:
            return nullptr;
    }
}

static void add_bounds(Sides *sides, const List *conditions, const Bitmapset *probed, const Bitmapset *build,
                       CompiledNode *join) {
    ListCell *cell;
    foreach (cell, conditions) {
        SideComparison pair;
        if (!read_comparison(static_cast<const Expr *>(lfirst(cell)), probed, build, &pair))
            continue;
        std::optional<uint32> *bound = bound_of(pair.comparison.strategy, join);
        if (bound != nullptr && add_key(sides, pair))
            *bound = sides->count - 1;
    }
}

// NULL on the build side equals nothing, and nothing of it is put into a hash table.
static void add_unmatched_key(Sides *sides) {
    Program *program = sides->compiler->program;
    for (int side = 0; side < 2; side++)
        with_side(sides, side, [&] {
            sides->keys[side][0] = side == 0
                                       ? constant_step(program, 0, ValueType::int64)
                                       : add_step(program, make_step(Operation::null, ValueType::int64));
            return true;
        });
    sides->count = 1;
}

// ---- nodes ------------------------------------------------------------------------------------------------

static void begin_rows(Compiler *compiler, const TreeNode &node, CompiledNode *compiled) {
    const NodeSteps before = begin_node_steps(compiler->program);
    compiled->filter = compile_conditions(compiler, node.conditions);
    compiled->rows = begin_node_steps(compiler->program, before);
}

static void drop_unused(Program *program, NodeSteps *steps, uint16 *filter, uint16 *keys, uint32 key_count) {
    auto **kept = allocate<uint16 *>(size_t{key_count} + 1);
    for (uint32 i = 0; i < key_count; i++)
        kept[i] = &keys[i];
    kept[key_count] = filter;
    const NodeSteps before = begin_node_steps(program, *steps);
    drop_unused_steps(program, kept, key_count + 1);
    *steps = begin_node_steps(program, before);
    pfree(kept);
}

static void compile_join(Compiler *compiler, const QueryTree &tree, int number, CompiledNode *nodes) {
    const TreeNode &join = tree.nodes[number];
    CompiledNode *own = &nodes[number];
    CompiledNode *below[2] = {&nodes[join.probed], &nodes[join.build]};
    const Bitmapset *probed = tables_of(tree, join.probed);
    const Bitmapset *build = tables_of(tree, join.build);
    Sides sides = {compiler, {below[0]->rows, below[1]->rows}, {nullptr, nullptr}, 0};
    const auto room = static_cast<size_t>(list_length(join.pairs)) + 1;
    for (int side = 0; side < 2; side++)
        sides.keys[side] = allocate_zeroed<uint16>(room);
    List *others = NIL;
    ListCell *cell;
    if (join.kind == TreeKind::Append)
        add_unmatched_key(&sides);
    foreach (cell, join.pairs) {
        auto *condition = static_cast<Expr *>(lfirst(cell));
        SideComparison pair;
        if (!read_comparison(condition, probed, build, &pair) ||
            pair.comparison.strategy != BTEqualStrategyNumber || !add_key(&sides, pair))
            others = lappend(others, condition);
    }
    own->equal_keys = sides.count;
    add_bounds(&sides, others, probed, build, own);
    for (int side = 0; side < 2; side++) {
        below[side]->keys = sides.keys[side];
        below[side]->key_count = sides.count;
        below[side]->rows = sides.steps[side];
        drop_unused(compiler->program, &below[side]->rows, &below[side]->filter, sides.keys[side],
                    sides.count);
    }
    const NodeSteps before = begin_node_steps(compiler->program);
    own->match = compile_conditions(compiler, others);
    own->pairs = begin_node_steps(compiler->program, before);
    if (!is_refused(compiler))
        drop_unused(compiler->program, &own->pairs, &own->match, nullptr, 0);
}

// By node: are its rows taken by groups, the query's own too, or a member's columns, with its conditions?
static bool *find_grouped(const QueryTree &tree) {
    auto *is_grouped = allocate_zeroed<bool>(static_cast<size_t>(tree.count));
    is_grouped[tree.count - 1] = true;
    for (int i = 0; i < tree.count; i++)
        if (has_own_columns(tree.nodes[i]))
            is_grouped[tree.nodes[i].probed] = true;
    return is_grouped;
}

CompiledNode *compile_joins(Compiler *compiler, const QueryTree &tree) {
    auto *nodes = allocate_zeroed<CompiledNode>(static_cast<size_t>(tree.count));
    auto **nested = allocate<const CompiledGroups *>(static_cast<size_t>(tree.groups_count) + 1);
    compiler->table_count = tree.table_count;
    compiler->nested = nested;
    const bool *is_grouped = find_grouped(tree);
    const bool may_have_tables = compiler->has_tables;
    compiler->has_tables = false;
    for (int i = 0; i < tree.count && !is_refused(compiler); i++) {
        nodes[i].filter = nodes[i].match = no_step;
        if (is_join(tree.nodes[i]))
            compile_join(compiler, tree, i, nodes);
        if (has_own_columns(tree.nodes[i]))
            nodes[i].groups = nested[tree.nodes[i].table - tree.table_count] =
                compile_nested(compiler, tree, i);
        if (!is_grouped[i] && !is_refused(compiler))
            begin_rows(compiler, tree.nodes[i], &nodes[i]);
    }
    compiler->has_tables = may_have_tables;
    return nodes;
}

}  // namespace pg_gpu::plan::query
