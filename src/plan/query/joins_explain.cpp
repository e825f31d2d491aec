#include "plan/query/joins_explain.h"

#include "compat.h"
#include "plan/query/top.h"
#include "plan/query/windows.h"

namespace pg_gpu::plan::query {

static const char *name_of(const List *names, int table) {
    return strVal(linitial(static_cast<const List *>(list_nth(names, table))));
}

// An index's columns have the names that its table's have.
static RangeTblEntry *make_entry(Oid index, List *names) {
    auto *entry = makeNode(RangeTblEntry);
    entry->rtekind = OidIsValid(index) ? RTE_RELATION : RTE_VALUES;
    entry->relid = index;
    entry->relkind = RELKIND_INDEX;
    entry->rellockmode = AccessShareLock;
    entry->eref = makeAlias(strVal(linitial(names)), list_copy_tail(names, 1));
    return entry;
}

static List *deparse_context_of(const AggregateQuery &query, const List *names) {
    auto *statement = makeNode(PlannedStmt);
    List *tables = NIL;
    for (int i = 0; i < list_length(names); i++) {
        // Behind the tables come groups.
        const Oid index = i < list_length(query.indexes) ? list_nth_oid(query.indexes, i) : InvalidOid;
        statement->rtable =
            lappend(statement->rtable, make_entry(index, static_cast<List *>(list_nth(names, i))));
        tables = lappend(tables, const_cast<char *>(name_of(names, i)));
    }
    return deparse_context_for_plan_tree(statement, tables);
}

static const char *words_of_join(const TreeNode &node) {
    switch (node.join) {
        case JOIN_LEFT:
            return "LEFT JOIN";
        case JOIN_RIGHT:
            return "RIGHT JOIN";
        case JOIN_FULL:
            return "FULL JOIN";
        case JOIN_SEMI:
            return "SEMI JOIN";
        case JOIN_ANTI:
            return "ANTI JOIN";
        default:
            return node.pairs == NIL ? "CROSS JOIN" : "JOIN";
    }
}

static void append_tables(StringInfo words, const QueryTree &tree, int node, const List *names) {
    const Bitmapset *tables = tables_of(tree, node);
    const char *separator = "";
    for (int i = bms_next_member(tables, -1); i >= 0; i = bms_next_member(tables, i)) {
        // Members of a union have its name.
        if (i > tree.table_count && bms_is_member(i - 1, tables) &&
            strcmp(name_of(names, i), name_of(names, i - 1)) == 0)
            continue;
        appendStringInfo(words, "%s%s", separator, quote_identifier(name_of(names, i)));
        separator = ", ";
    }
}

// What gives a parameter its value is looked for in the plan around it, which isn't known here: from
// PostgreSQL 17 on that would crash. A statement's own parameters are shown by their numbers alone.
static Node *with_plain_parameters(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (!IsA(node, Param))
        return mutate_expression(node, with_plain_parameters, context);
    auto *parameter = static_cast<Param *>(copyObjectImpl(node));
    parameter->paramkind = PARAM_EXTERN;
    return reinterpret_cast<Node *>(parameter);
}

static const char *words_of(Node *expression, List *context) {
    return deparse_expression(with_plain_parameters(expression, nullptr), context, true, false);
}

static void append_conditions(StringInfo words, const char *before, List *conditions, List *context) {
    if (conditions != NIL)
        appendStringInfo(words, " %s %s", before,
                         words_of(reinterpret_cast<Node *>(make_ands_explicit(conditions)), context));
}

static bool is_of_node(const QueryTree &tree, const void *expression, int node) {
    Relids tables = pull_varnos(nullptr, static_cast<Node *>(const_cast<void *>(expression)));
    const Bitmapset *own = tables_of(tree, node);
    int table = -1;
    while ((table = bms_next_member(tables, table)) >= 0)
        if (!bms_is_member(table - 1, own))
            return false;
    return !bms_is_empty(tables);
}

// Conditions with the probed side's expression first, whichever way PostgreSQL's planner has turned them.
static List *with_probed_first(const QueryTree &tree, const TreeNode &join) {
    List *conditions = NIL;
    ListCell *cell;
    foreach (cell, join.pairs) {
        auto *condition = static_cast<Node *>(copyObjectImpl(lfirst(cell)));
        auto *operation = reinterpret_cast<OpExpr *>(condition);
        if (IsA(condition, OpExpr) && list_length(operation->args) == 2 &&
            OidIsValid(get_commutator(operation->opno)) &&
            is_of_node(tree, linitial(operation->args), join.build) &&
            is_of_node(tree, lsecond(operation->args), join.probed))
            CommuteOpExpr(operation);
        conditions = lappend(conditions, condition);
    }
    return conditions;
}

static void append_join(StringInfo words, const QueryTree &tree, int number, const List *names,
                        List *context) {
    const TreeNode &node = tree.nodes[number];
    append_tables(words, tree, node.probed, names);
    appendStringInfo(words, " %s ", words_of_join(node));
    append_tables(words, tree, node.build, names);
    append_conditions(words, "ON", with_probed_first(tree, node), context);
    append_conditions(words, "WHERE", node.conditions, context);
}

static void append_groups(StringInfo words, const QueryTree &tree, int number, const List *names,
                          List *context) {
    const TreeNode &node = tree.nodes[number];
    appendStringInfo(words, "%s IS ", quote_identifier(name_of(names, node.table)));
    append_tables(words, tree, node.probed, names);
    const char *separator = " GROUP BY ";
    ListCell *cell;
    foreach (cell, node.keys) {
        appendStringInfo(words, "%s%s", separator, words_of(static_cast<Node *>(lfirst(cell)), context));
        separator = ", ";
    }
    append_conditions(words, "WHERE", node.conditions, context);
}

static void append_order(StringInfo words, const TreeNode &node, const List *order, int first, int end,
                         List *context) {
    const char *separator = first == 0 ? "PARTITION BY " : "ORDER BY ";
    for (int i = first; i < end; i++) {
        const OrderItem item = order_item(order, i);
        appendStringInfo(words, "%s%s%s", separator,
                         words_of(static_cast<Node *>(list_nth(node.keys, item.result)), context),
                         item.descends ? " DESC" : "");
        separator = ", ";
    }
}

static void append_windows(StringInfo words, const QueryTree &tree, int number, const List *names,
                           List *context) {
    const TreeNode &node = tree.nodes[number];
    appendStringInfo(words, "%s IS ", quote_identifier(name_of(names, node.table)));
    append_tables(words, tree, node.probed, names);
    for (int i = 0; i < list_length(node.windows); i++) {
        const Window window = window_of(node.windows, i);
        const int keys = window.partition_keys;
        const int items = count_items(window.order);
        appendStringInfoString(words, i == 0 ? " WINDOW (" : ", (");
        append_order(words, node, window.order, 0, keys, context);
        if (keys > 0 && keys < items)
            appendStringInfoChar(words, ' ');
        append_order(words, node, window.order, keys, items, context);
        appendStringInfoChar(words, ')');
    }
    append_conditions(words, "WHERE", node.conditions, context);
}

static void append_members(StringInfo words, const QueryTree &tree, int number, const List *names) {
    const TreeNode &node = tree.nodes[number];
    if (node.kind == TreeKind::Rows) {
        append_tables(words, tree, node.probed, names);
        return;
    }
    append_members(words, tree, node.probed, names);
    appendStringInfoString(words, " UNION ALL ");
    append_members(words, tree, node.build, names);
}

static void append_union(StringInfo words, const QueryTree &tree, int number, const List *names,
                         List *context) {
    const Bitmapset *members = tables_of(tree, number);
    appendStringInfo(words, "%s IS ", quote_identifier(name_of(names, bms_next_member(members, -1))));
    append_members(words, tree, number, names);
    append_conditions(words, "WHERE", tree.nodes[number].conditions, context);
}

static bool is_part_of_union(const QueryTree &tree, int number) {
    for (int i = number + 1; i < tree.count; i++)
        if (tree.nodes[i].kind == TreeKind::Append &&
            (tree.nodes[i].probed == number || tree.nodes[i].build == number))
            return true;
    return false;
}

// Shows properties of one name, which formats other than text have as a list.
static void explain_list(const char *name, const char *names, List *words, ExplainState *explain) {
    if (explain->format != EXPLAIN_FORMAT_TEXT) {
        ExplainPropertyList(names, words, explain);
        return;
    }
    ListCell *cell;
    foreach (cell, words)
        ExplainPropertyText(name, static_cast<const char *>(lfirst(cell)), explain);
}

void explain_joins(const QueryTree &tree, const AggregateQuery &query, const List *names,
                   ExplainState *explain) {
    if (tree.count == 1)
        return;
    List *context = deparse_context_of(query, names);
    List *joins = NIL;
    List *groups = NIL;
    for (int i = 0; i < tree.count; i++) {
        if (tree.nodes[i].kind == TreeKind::Table || is_part_of_union(tree, i))
            continue;
        StringInfoData words;
        initStringInfo(&words);
        if (tree.nodes[i].kind == TreeKind::Join) {
            append_join(&words, tree, i, names, context);
            joins = lappend(joins, words.data);
        } else {
            switch (tree.nodes[i].kind) {
                case TreeKind::Groups:
                    append_groups(&words, tree, i, names, context);
                    break;
                case TreeKind::Windows:
                    append_windows(&words, tree, i, names, context);
                    break;
                default:
                    append_union(&words, tree, i, names, context);
            }
            groups = lappend(groups, words.data);
        }
    }
    explain_list("Join", "Joins", joins, explain);
    if (groups != NIL)
        explain_list("Subquery", "Subqueries", groups, explain);
}

}  // namespace pg_gpu::plan::query
