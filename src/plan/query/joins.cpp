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

// A condition of a join that may be an equality of the two sides.
struct Equality {
    Expr *clause;
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

static bool read_equality(Expr *condition, const Bitmapset *probed, const Bitmapset *build,
                          Equality *equality) {
    if (!IsA(condition, OpExpr))
        return false;
    const auto *clause = reinterpret_cast<const OpExpr *>(condition);
    if (list_length(clause->args) != 2 || strategy_of(clause->opno) != BTEqualStrategyNumber)
        return false;
    auto *left = static_cast<Node *>(linitial(clause->args));
    auto *right = static_cast<Node *>(lsecond(clause->args));
    const bool is_turned = is_of(left, build) && is_of(right, probed);
    if (!is_turned && !(is_of(left, probed) && is_of(right, build)))
        return false;
    const Oid equal = is_turned ? get_commutator(clause->opno) : clause->opno;
    *equality = {condition,
                 {BTEqualStrategyNumber, equal, clause->inputcollid},
                 is_turned ? list_make2(right, left) : list_make2(left, right)};
    return OidIsValid(equal);
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

// Makes the equality a key. False: it can't be one, and is left to the filter.
static bool add_key(Sides *sides, const Equality &equality) {
    Compiler *compiler = sides->compiler;
    Value values[2];
    Value made[2];
    for (int side = 0; side < 2; side++)
        with_side(sides, side, [&] {
            values[side] = compile(compiler, static_cast<const Expr *>(list_nth(equality.sides, side)));
            return true;
        });
    for (int side = 0; side < 2 && !is_refused(compiler); side++)
        with_side(sides, side, [&] {
            Value both_sides[2] = {values[0], values[1]};
            both_sides[1 - side] = stand_in(compiler, values[1 - side]);
            make_comparable(compiler, equality.comparison, equality.sides, &both_sides[0], &both_sides[1]);
            made[side] = both_sides[side];
            return true;
        });
    const bool is_key = !is_refused(compiler) && made[0].type == made[1].type && !values[0].is_null &&
                        !values[1].is_null && sides->count < engine::max_keys;
    compiler->refusal = {};
    if (!is_key)
        return false;
    for (int side = 0; side < 2; side++)
        sides->keys[side][sides->count] = made[side].step;
    sides->count++;
    return true;
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
        auto *pair = static_cast<Expr *>(lfirst(cell));
        Equality equality;
        if (!read_equality(pair, probed, build, &equality) || !add_key(&sides, equality))
            others = lappend(others, pair);
    }
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
