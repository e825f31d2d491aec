#include "plan/aggregate_query.h"

#include "compat.h"

namespace pg_gpu::plan {

List *pack_query(const AggregateQuery &query) {
    return lappend(list_make5(list_make1_oid(query.index), query.conditions, query.keys, query.key_operators,
                              query.aggregates),
                   list_make4(makeBoolean(query.has_barrier), makeInteger(query.top.aggregate),
                              makeInteger(query.top.count), makeBoolean(query.top.descending)));
}

AggregateQuery unpack_query(List *packed) {
    const auto list = [packed](int i) { return static_cast<List *>(list_nth(packed, i)); };
    List *rest = list(5);
    const TopGroups top = {intVal(list_nth(rest, 1)), intVal(list_nth(rest, 2)), boolVal(list_nth(rest, 3))};
    return {linitial_oid(list(0)), list(1), list(2), list(3), list(4), boolVal(linitial(rest)), top};
}

// ---- expressions over an index ----------------------------------------------------------------------------

namespace {

struct Columns {
    const IndexOptInfo *index;
    Refusal *refusal;
};

}  // namespace

// The index's column with this attribute of the table; 0 without one.
static AttrNumber column_of(const IndexOptInfo *index, AttrNumber attribute) {
    for (int i = 0; i < index->nkeycolumns; i++)
        if (index->indexkeys[i] == attribute)
            return static_cast<AttrNumber>(i + 1);
    return 0;
}

static Node *replace_columns(Node *node, void *context) {
    auto *columns = static_cast<Columns *>(context);
    if (node == nullptr)
        return nullptr;
    switch (nodeTag(node)) {
        case T_Var: {
            const auto *var = reinterpret_cast<const Var *>(node);
            const AttrNumber column = var->varattno > 0 && var->varlevelsup == 0 &&
                                              var->varno == static_cast<int>(columns->index->rel->relid)
                                          ? column_of(columns->index, var->varattno)
                                          : 0;
            if (column == 0) {
                refuse(columns->refusal, "the index doesn't have a column", node);
                return node;
            }
            return reinterpret_cast<Node *>(
                makeVar(1, column, var->vartype, var->vartypmod, var->varcollid, 0));
        }
        case T_SubPlan:
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
static bool tells_storage(Oid function, void *) {
    return function == F_PG_COLUMN_SIZE || function == F_PG_COLUMN_COMPRESSION;
}

static bool has_storage_function(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (check_functions_in_node(node, tells_storage, context))
        return true;
    return walk_expression(node, has_storage_function, context);
}

Node *over_index(Node *expression, const IndexOptInfo *index, Refusal *refusal) {
    if (contain_volatile_functions(expression))
        refuse(refusal, "an expression is volatile", expression);
    if (has_storage_function(expression, nullptr))
        refuse(refusal, "an expression asks how a value is stored", expression);
    if (refusal->reason != nullptr)
        return nullptr;
    Columns columns = {index, refusal};
    Node *replaced = replace_columns(expression, &columns);
    if (refusal->reason != nullptr)
        return nullptr;
    fix_opfuncids(replaced);
    return replaced;
}

}  // namespace pg_gpu::plan
