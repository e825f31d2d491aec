#include "plan/query/query.h"

#include "compat.h"
#include "expressions.h"
#include "plan/query/subqueries.h"

namespace pg_gpu::plan {

List *pack_query(const AggregateQuery &query) {
    return lappend(list_make5(query.indexes, query.conditions, query.keys, query.key_operators,
                              list_make3(query.aggregates, query.having, query.windows)),
                   makeBoolean(query.has_barrier));
}

AggregateQuery unpack_query(List *packed) {
    const auto list = [packed](int i) { return static_cast<List *>(list_nth(packed, i)); };
    List *of_groups = list(4);
    return {list(0),
            list(1),
            list(2),
            list(3),
            static_cast<List *>(linitial(of_groups)),
            boolVal(list_nth(packed, 5)),
            static_cast<List *>(lsecond(of_groups)),
            static_cast<List *>(lthird(of_groups))};
}

// ---- expressions over an index ----------------------------------------------------------------------------

bool is_table_oid(const void *expression) {
    const auto *node = without_relabels(static_cast<const Node *>(expression));
    return IsA(node, Var) && reinterpret_cast<const Var *>(node)->varattno == TableOidAttributeNumber;
}

namespace {

struct Columns {
    ReadTables tables;
    int scope;
    Refusal *refusal;
};

// A column of a table's index; 0: there is none. A union's are those of its members.
struct ColumnPlace {
    List *tables;
    AttrNumber column;
};

}  // namespace

// The column with this attribute; 0: there is none.
static AttrNumber column_of_table(const ReadTable &table, AttrNumber attribute) {
    if (table.index != nullptr) {
        for (int i = 0; i < table.index->nkeycolumns; i++)
            if (table.index->indexkeys[i] == attribute)
                return static_cast<AttrNumber>(i + 1);
        return 0;
    }
    // A parent's columns have the numbers of its attributes.
    if (table.members != nullptr)
        return attribute;
    const List *columns = table.rows->pathtarget->exprs;
    for (int i = 0; i < list_length(columns); i++)
        if (list_nth_node(Var, columns, i)->varattno == attribute)
            return static_cast<AttrNumber>(i + 1);
    return 0;
}

static ColumnPlace place_of(const Columns &columns, const Var *var) {
    const ReadTables &all = columns.tables;
    const auto is_of = [&](const auto &read) {
        return read.scope == columns.scope && var->varno == static_cast<int>(read.relation->relid);
    };
    if (var->varattno <= 0 || var->varlevelsup != 0)
        return {};
    for (int i = 0; i < all.count; i++)
        if (is_of(all.tables[i]))
            return {list_make1_int(i + 1), column_of_table(all.tables[i], var->varattno)};
    ColumnPlace place = {};
    for (int i = 0; i < all.groups_count; i++)
        if (is_of(all.groups[i]))
            place = {lappend_int(place.tables, all.count + i + 1), var->varattno};
    return place;
}

// Of a union's members all but one are NULL.
static Node *column_at(const ColumnPlace &place, const Var *var) {
    List *members = NIL;
    ListCell *table;
    foreach (table, place.tables)
        members = lappend(members, makeVar(lfirst_int(table), place.column, var->vartype, var->vartypmod,
                                           var->varcollid, 0));
    if (list_length(members) == 1)
        return static_cast<Node *>(linitial(members));
    auto *first = makeNode(CoalesceExpr);
    first->coalescetype = var->vartype;
    first->coalescecollid = var->varcollid;
    first->args = members;
    first->location = -1;
    return reinterpret_cast<Node *>(first);
}

static Node *replace_columns(Node *node, void *context) {
    auto *columns = static_cast<Columns *>(context);
    if (node == nullptr)
        return nullptr;
    switch (nodeTag(node)) {
        case T_Var: {
            const auto *var = reinterpret_cast<const Var *>(node);
            const ColumnPlace place = is_table_oid(node) && columns->tables.count == 1 &&
                                              columns->tables.groups_count == 0 && var->varlevelsup == 0
                                          ? ColumnPlace{list_make1_int(1), TableOidAttributeNumber}
                                          : place_of(*columns, var);
            if (place.column == 0) {
                refuse(columns->refusal, "the index doesn't have a column", node);
                return node;
            }
            return column_at(place, var);
        }
        case T_SubPlan:
            if (auto *test = test_of_subquery(reinterpret_cast<const SubPlan *>(node)); test != nullptr) {
                ListCell *value = list_head(test->args);
                lfirst(value) = replace_columns(static_cast<Node *>(lfirst(value)), context);
                return reinterpret_cast<Node *>(test);
            }
            [[fallthrough]];
        case T_AlternativeSubPlan:
        case T_SubLink:
        case T_PlaceHolderVar:
        case T_GroupingFunc:
        case T_WindowFunc:
        case T_CurrentOfExpr:
            refuse(columns->refusal, "there is a subquery, or another expression that isn't of a row alone");
            return node;
        default:
            return mutate_expression(node, replace_columns, context);
    }
}

// Functions whose result depends on how a value is stored, which an index does otherwise.
static bool depends_on_storage(Oid function, void *) {
    return function == F_PG_COLUMN_SIZE || function == F_PG_COLUMN_COMPRESSION;
}

static bool has_storage_function(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (check_functions_in_node(node, depends_on_storage, context))
        return true;
    return walk_expression(node, has_storage_function, context);
}

// What is found out about a node takes a look at all below it.
static constexpr int kMaxDepth = 192;

static bool is_deeper(Node *node, void *context) {
    auto *depth = static_cast<int *>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, List))
        return walk_expression(node, is_deeper, context);
    if (*depth == 0)
        return true;
    --*depth;
    const bool found = walk_expression(node, is_deeper, context);
    ++*depth;
    return found;
}

static Node *over_columns(Node *expression, Columns columns) {
    Refusal *refusal = columns.refusal;
    CHECK_FOR_INTERRUPTS();
    int depth = kMaxDepth;
    if (is_deeper(expression, &depth))
        refuse(refusal, "an expression is nested too deeply");
    if (contain_volatile_functions(expression))
        refuse(refusal, "an expression is volatile", expression);
    if (has_storage_function(expression, nullptr))
        refuse(refusal, "an expression asks how a value is stored", expression);
    if (refusal->reason != nullptr)
        return nullptr;
    Node *replaced = replace_columns(expression, &columns);
    if (refusal->reason != nullptr)
        return nullptr;
    fix_opfuncids(replaced);
    return replaced;
}

Node *over_index(Node *expression, const IndexOptInfo *index, Refusal *refusal) {
    const ReadTable table = {0, nullptr, index->rel, index, nullptr, nullptr};
    return over_columns(expression, {{&table, 1, nullptr, 0}, 0, refusal});
}

Node *over_tables(Node *expression, const ReadTables &tables, int scope, Refusal *refusal) {
    return over_columns(expression, {tables, scope, refusal});
}

bool has_all_columns(const IndexOptInfo *index, Node *expression) {
    Bitmapset *columns = nullptr;
    pull_varattnos(expression, index->rel->relid, &columns);
    for (int i = 0; i < index->nkeycolumns; i++)
        columns = bms_del_member(columns, index->indexkeys[i] - FirstLowInvalidHeapAttributeNumber);
    columns = bms_del_member(columns, TableOidAttributeNumber - FirstLowInvalidHeapAttributeNumber);
    return bms_is_empty(columns);
}

}  // namespace pg_gpu::plan
