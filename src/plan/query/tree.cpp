#include "plan/query/tree.h"

#include "compat.h"
#include "memory.h"

namespace pg_gpu::plan::query {

static constexpr int kNodeIntegers = 7;

Bitmapset *tables_of(const QueryTree &tree, int node) {
    check_stack_depth();
    const TreeNode &own = tree.nodes[node];
    return own.table != kNoTable ? bms_make_singleton(own.table)
                                 : bms_join(tables_of(tree, own.probed), tables_of(tree, own.build));
}

static Node *with_nulls(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (!IsA(node, Var))
        return mutate_expression(node, with_nulls, context);
    const auto *var = reinterpret_cast<const Var *>(node);
    return bms_is_member(var->varno - 1, static_cast<const Bitmapset *>(context))
               ? reinterpret_cast<Node *>(makeNullConst(var->vartype, var->vartypmod, var->varcollid))
               : node;
}

static void replace_columns(List **expressions, Bitmapset *tables) {
    *expressions = reinterpret_cast<List *>(with_nulls(reinterpret_cast<Node *>(*expressions), tables));
}

void replace_lost_columns(QueryTree *tree, std::initializer_list<List **> lists) {
    for (int i = 0; i < tree->count; i++) {
        if (tree->nodes[i].table != kNoTable || tree->nodes[i].join != JOIN_ANTI)
            continue;
        Bitmapset *lost = tables_of(*tree, tree->nodes[i].build);
        replace_columns(&tree->nodes[i].conditions, lost);
        for (int above = i + 1; above < tree->count; above++) {
            replace_columns(&tree->nodes[above].conditions, lost);
            replace_columns(&tree->nodes[above].pairs, lost);
        }
        for (List **list : lists)
            replace_columns(list, lost);
    }
}

List *pack_tree(const QueryTree &tree) {
    constexpr double max_rows = 1e9;
    List *packed = NIL;
    for (int i = 0; i < tree.count; i++) {
        const TreeNode &node = tree.nodes[i];
        const int numbers[kNodeIntegers] = {node.table,
                                            static_cast<int>(node.join),
                                            node.probed,
                                            node.build,
                                            static_cast<int>(Min(node.rows, max_rows)),
                                            list_length(node.conditions),
                                            list_length(node.pairs)};
        for (const int number : numbers)
            packed = lappend_int(packed, number);
    }
    return packed;
}

List *conditions_of(const QueryTree &tree) {
    List *conditions = NIL;
    for (int i = 0; i < tree.count; i++)
        conditions = list_concat(list_concat(conditions, tree.nodes[i].conditions), tree.nodes[i].pairs);
    return conditions;
}

// The next `count` conditions.
static List *take_conditions(const List *conditions, int count, int *next) {
    List *taken = NIL;
    for (; count > 0; count--)
        taken = lappend(taken, list_nth(conditions, (*next)++));
    return taken;
}

static QueryTree tree_of_table(const AggregateQuery &query) {
    auto *node = allocate_zeroed<TreeNode>(1);
    node->conditions = query.conditions;
    return {node, 1, 1};
}

QueryTree unpack_tree(const List *packed, const AggregateQuery &query) {
    if (packed == NIL)
        return tree_of_table(query);
    QueryTree tree = {nullptr, list_length(packed) / kNodeIntegers, list_length(query.indexes)};
    tree.nodes = allocate_zeroed<TreeNode>(static_cast<size_t>(tree.count));
    int next = 0;
    for (int i = 0; i < tree.count; i++) {
        const auto number = [&](int place) { return list_nth_int(packed, i * kNodeIntegers + place); };
        TreeNode *node = &tree.nodes[i];
        node->table = number(0);
        node->join = static_cast<JoinType>(number(1));
        node->probed = number(2);
        node->build = number(3);
        node->rows = number(4);
        node->conditions = take_conditions(query.conditions, number(5), &next);
        node->pairs = take_conditions(query.conditions, number(6), &next);
    }
    return tree;
}

}  // namespace pg_gpu::plan::query
