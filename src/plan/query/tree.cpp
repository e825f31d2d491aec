#include "plan/query/tree.h"

#include "compat.h"
#include "memory.h"

namespace pg_gpu::plan::query {

Bitmapset *tables_of(const QueryTree &tree, int node) {
    check_stack_depth();
    const TreeNode &own = tree.nodes[node];
    return !is_join(own) ? bms_make_singleton(own.table)
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
        if (tree->nodes[i].kind != TreeKind::Join || tree->nodes[i].join != JOIN_ANTI)
            continue;
        Bitmapset *lost = tables_of(*tree, tree->nodes[i].build);
        replace_columns(&tree->nodes[i].conditions, lost);
        for (int above = i + 1; above < tree->count; above++) {
            TreeNode *node = &tree->nodes[above];
            for (List **list :
                 {&node->conditions, &node->pairs, &node->keys, &node->aggregates, &node->columns})
                replace_columns(list, lost);
        }
        for (List **list : lists)
            replace_columns(list, lost);
    }
}

// The lists of expressions that a node has.
static constexpr List *TreeNode::*kLists[] = {&TreeNode::conditions, &TreeNode::pairs,  &TreeNode::keys,
                                              &TreeNode::aggregates, &TreeNode::having, &TreeNode::columns};

// A node begins with what it is, followed by how many expressions it has of each list and how many operators
// and windows, then these. A window begins with how many integers it has.
List *pack_tree(const QueryTree &tree) {
    constexpr double max_rows = 1e9;
    List *packed = NIL;
    for (int i = 0; i < tree.count; i++) {
        const TreeNode &node = tree.nodes[i];
        for (const int number : {static_cast<int>(node.kind), node.table, static_cast<int>(node.join),
                                 node.probed, node.build, static_cast<int>(Min(node.rows, max_rows))})
            packed = lappend_int(packed, number);
        for (List *TreeNode::*list : kLists)
            packed = lappend_int(packed, list_length(node.*list));
        packed = lappend_int(packed, list_length(node.key_operators));
        packed = lappend_int(packed, list_length(node.windows));
        ListCell *cell;
        foreach (cell, node.key_operators)
            packed = lappend_int(packed, static_cast<int>(lfirst_oid(cell)));
        foreach (cell, node.windows) {
            const auto *window = static_cast<const List *>(lfirst(cell));
            packed = list_concat(lappend_int(packed, list_length(window)), window);
        }
    }
    return packed;
}

List *expressions_of(const QueryTree &tree) {
    List *expressions = NIL;
    for (int i = 0; i < tree.count; i++)
        for (List *TreeNode::*list : kLists)
            expressions = list_concat(expressions, tree.nodes[i].*list);
    return expressions;
}

static QueryTree tree_of_table(const AggregateQuery &query) {
    auto *node = allocate_zeroed<TreeNode>(1);
    node->conditions = query.conditions;
    return {node, 1, 1, 0};
}

QueryTree unpack_tree(const List *packed, const AggregateQuery &query) {
    if (packed == NIL)
        return tree_of_table(query);
    QueryTree tree = {};
    tree.nodes = allocate_zeroed<TreeNode>(static_cast<size_t>(list_length(packed)));
    int place = 0;
    int expression = 0;
    const auto next = [&] { return list_nth_int(packed, place++); };
    while (place < list_length(packed)) {
        TreeNode *node = &tree.nodes[tree.count++];
        node->kind = static_cast<TreeKind>(next());
        node->table = next();
        node->join = static_cast<JoinType>(next());
        node->probed = next();
        node->build = next();
        node->rows = next();
        for (List *TreeNode::*list : kLists)
            for (int left = next(); left > 0; left--)
                node->*list = lappend(node->*list, list_nth(query.conditions, expression++));
        const int operators = next();
        const int windows = next();
        for (int i = 0; i < operators; i++)
            node->key_operators = lappend_oid(node->key_operators, static_cast<Oid>(next()));
        for (int i = 0; i < windows; i++) {
            List *window = NIL;
            for (int left = next(); left > 0; left--)
                window = lappend_int(window, next());
            node->windows = lappend(node->windows, window);
        }
        tree.table_count += node->kind == TreeKind::Table ? 1 : 0;
        tree.groups_count += has_own_columns(*node) ? 1 : 0;
    }
    return tree;
}

}  // namespace pg_gpu::plan::query
