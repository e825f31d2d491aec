#include "plan/query/aggregate_explain.h"

#include "compat.h"
#include "expressions.h"
#include "memory.h"
#include "plan/query/aggregate_compile.h"
#include "plan/query/join_query.h"

namespace pg_gpu::plan {

PlanState *lowest_of(PlanState *child) {
    while (outerPlanState(child) != nullptr && !IsA(child, BitmapHeapScanState))
        child = outerPlanState(child);
    return child;
}

void explain_joins(const AggregateQuery &query, ExplainState *explain) {
    List *conditions = NIL;
    for (int i = 0; i < list_length(query.joins); i++) {
        const JoinedTable table = unpack_joined_table(query.joins, i);
        const char *type = table.type == JOIN_LEFT   ? "left "
                           : table.type == JOIN_SEMI ? "semi "
                           : table.type == JOIN_ANTI ? "anti "
                                                     : "";
        conditions = lappend(conditions, psprintf("%s%s", type, table.condition));
    }
    if (conditions != NIL)
        ExplainPropertyList("Joined By", conditions, explain);
}

void explain_indexes(const AggregateQuery &query, ExplainState *explain) {
    List *names = NIL;
    ListCell *cell;
    foreach (cell, query.indexes)
        if (OidIsValid(lfirst_oid(cell)))
            names = lappend(names, get_rel_name(lfirst_oid(cell)));
    if (list_length(names) == 1)
        ExplainPropertyText("Index", static_cast<const char *>(linitial(names)), explain);
    else
        ExplainPropertyList("Indexes", names, explain);
}

char *words_of_sort_key(const SortedBy &sorted, const CustomScanState *node, List *ancestors,
                        const ExplainState *explain) {
    List *context = set_deparse_context_plan(explain->deparse_cxt, node->ss.ps.plan, ancestors);
    const bool prefixes = explained_tables(explain) > 1 || explain->verbose;
    Oid family;
    Oid operand;
    bool descends;
    find_ordering(sorted.operator_oid, &family, &operand, &descends);
    const char *nulls = sorted.nulls_first == descends ? ""
                        : sorted.nulls_first           ? " NULLS FIRST"
                                                       : " NULLS LAST";
    const bool is_own = sorted.collation == get_typcollation(exprType(sorted.expression));
    const char *collate =
        OidIsValid(sorted.collation) && !is_own
            ? psprintf(" COLLATE %s", quote_identifier(get_collation_name(sorted.collation)))
            : "";
    return psprintf("%s%s%s%s", deparse_expression(sorted.expression, context, prefixes, true), collate,
                    descends ? " DESC" : "", nulls);
}

// ---- expressions as the statement has them ----------------------------------------------------------------

namespace {

// What columns of the index and of joined rows are called in the statement.
struct Naming {
    const AggregateQuery *query;
    const List *plans;  // of joined tables, behind the replaced one
    Index number;       // the index's table, in the statement's range table; 0: it isn't read at all
    Oid table;
    Oid heap;  // the table of the first index: the same one, or a partition of it
    List *attributes;
    List *context;
    bool is_lost;  // a column that can't be found
};

}  // namespace

// The table that a plan reads: a parent, where it reads all of its children.
static Index table_of_plan(const Plan *scan) {
    switch (nodeTag(scan)) {
        case T_Append: {
            const int parent = bms_next_member(reinterpret_cast<const Append *>(scan)->apprelids, -1);
            return parent > 0 ? static_cast<Index>(parent) : 0;
        }
        case T_SeqScan:
        case T_CustomScan:
            return reinterpret_cast<const Scan *>(scan)->scanrelid;
        default:
            return 0;
    }
}

// What a plan of a joined table gives in a column, if that is a column of the table; nullptr otherwise.
static Node *column_of_plan(const Plan *plan, int column) {
    while (IsA(plan, Append) && reinterpret_cast<const Append *>(plan)->appendplans != NIL)
        plan = static_cast<const Plan *>(linitial(reinterpret_cast<const Append *>(plan)->appendplans));
    if (column >= list_length(plan->targetlist))
        return nullptr;
    Expr *given = list_nth_node(TargetEntry, plan->targetlist, column)->expr;
    if (IsA(given, Var) && reinterpret_cast<Var *>(given)->varno == INDEX_VAR && IsA(plan, IndexOnlyScan)) {
        const List *columns = reinterpret_cast<const IndexOnlyScan *>(plan)->indextlist;
        given = list_nth_node(TargetEntry, columns, reinterpret_cast<Var *>(given)->varattno - 1)->expr;
    }
    const bool is_column = IsA(given, Var) && !IS_SPECIAL_VARNO(reinterpret_cast<Var *>(given)->varno);
    return is_column ? static_cast<Node *>(copyObjectImpl(given)) : nullptr;
}

static Node *statements_column(Naming *naming, const Var *var) {
    if (is_table_oid(var))
        return reinterpret_cast<Node *>(makeVar(static_cast<int>(naming->number), var->varattno, var->vartype,
                                                var->vartypmod, var->varcollid, 0));
    const int column = var->varattno - 1;
    const int joined = table_of_column(naming->query->joins, column);
    if (joined >= 0) {
        const JoinedTable table = unpack_joined_table(naming->query->joins, joined);
        return column_of_plan(static_cast<const Plan *>(list_nth(naming->plans, joined + 1)),
                              column - table.first);
    }
    const char *name =
        get_attname(naming->heap, static_cast<AttrNumber>(list_nth_int(naming->attributes, column)), false);
    const AttrNumber attribute = get_attnum(naming->table, name);
    if (attribute == InvalidAttrNumber)
        return nullptr;
    return reinterpret_cast<Node *>(makeVar(static_cast<int>(naming->number), attribute, var->vartype,
                                            var->vartypmod, var->varcollid, 0));
}

static Node *with_statements_columns(Node *node, void *context) {
    auto *naming = static_cast<Naming *>(context);
    if (node == nullptr || !IsA(node, Var))
        return node == nullptr ? nullptr : mutate_expression(node, with_statements_columns, context);
    Node *column = statements_column(naming, reinterpret_cast<const Var *>(node));
    naming->is_lost = naming->is_lost || column == nullptr;
    return column;
}

static char *words_of(Naming *naming, const void *expression) {
    naming->is_lost = false;
    Node *named = with_statements_columns(static_cast<Node *>(const_cast<void *>(expression)), naming);
    return naming->is_lost ? pstrdup("an expression of joined rows")
                           : deparse_expression(named, naming->context, true, false);
}

// ---- how what is computed ---------------------------------------------------------------------------------

namespace {

// Words, each of them once.
struct Computed {
    Naming *naming;
    const CompiledAggregate *compiled;
    List *by_entry;
    List *by_range;
    List *by_row;
};

}  // namespace

static List *add_words(Naming *naming, List *words, const void *expression) {
    char *more = words_of(naming, expression);
    ListCell *cell;
    foreach (cell, words)
        if (strcmp(static_cast<const char *>(lfirst(cell)), more) == 0)
            return words;
    return lappend(words, more);
}

// Of columns alone nothing is computed.
static bool is_computed(const Expr *expression) {
    return expression != nullptr && !IsA(without_relabels(expression), Var) &&
           contain_var_clause(reinterpret_cast<Node *>(const_cast<Expr *>(expression)));
}

static void add_inputs(Computed *computed) {
    for (uint32 i = 0; i < computed->compiled->program.input_count; i++) {
        const InputSource &source = computed->compiled->input[i];
        if (!is_computed(source.expression))
            continue;
        List **words = source.ranged == nullptr ? &computed->by_entry : &computed->by_range;
        *words = add_words(computed->naming, *words, source.expression);
    }
}

// A part of the statement that isn't an input as a whole is computed row by row from several.
static void add_part(Computed *computed, const Expr *expression) {
    if (!is_computed(expression))
        return;
    for (uint32 i = 0; i < computed->compiled->program.input_count; i++)
        if (equal(computed->compiled->input[i].expression, expression))
            return;
    computed->by_row = add_words(computed->naming, computed->by_row, expression);
}

static void add_parts(Computed *computed, const AggregateQuery &query) {
    ListCell *cell;
    foreach (cell, query.conditions)
        if (!list_member_ptr(computed->compiled->index_conditions, lfirst(cell)))
            add_part(computed, static_cast<const Expr *>(lfirst(cell)));
    foreach (cell, query.keys)
        add_part(computed, static_cast<const Expr *>(lfirst(cell)));
    foreach (cell, query.aggregates) {
        const auto *aggregate = lfirst_node(Aggref, cell);
        ListCell *argument;
        foreach (argument, aggregate->args)
            add_part(computed, lfirst_node(TargetEntry, argument)->expr);
        foreach (argument, make_ands_implicit(aggregate->aggfilter))
            if (!computed->compiled->has_common_filter ||
                !list_member(computed->compiled->index_conditions, lfirst(argument)))
                add_part(computed, static_cast<const Expr *>(lfirst(argument)));
    }
}

static void explain_computed(Naming *naming, const CompiledAggregate &compiled, ExplainState *explain) {
    Computed computed = {naming, &compiled, NIL, NIL, NIL};
    add_inputs(&computed);
    add_parts(&computed, *naming->query);
    if (compiled.index_conditions != NIL)
        ExplainPropertyText("Index Cond", words_of(naming, make_ands_explicit(compiled.index_conditions)),
                            explain);
    if (computed.by_entry != NIL)
        ExplainPropertyList("Computed by Entry", computed.by_entry, explain);
    if (computed.by_range != NIL)
        ExplainPropertyList("Computed by Range", computed.by_range, explain);
    if (computed.by_row != NIL)
        ExplainPropertyList("Computed by Row", computed.by_row, explain);
}

// As the planner compiles: without values of parameters.
static void explain_query(const AggregateQuery &query, Relation first, Naming *naming,
                          ExplainState *explain) {
    const column::Format *format = column::make_format(first);
    column::IndexSummary summary = column::summarise_columns(first, *format);
    for (int i = 1; i < list_length(query.indexes); i++) {
        Relation other = index_open(list_nth_oid(query.indexes, i), AccessShareLock);
        narrow_summary(&summary, column::summarise_columns(other, *column::make_format(other)),
                       format->columns);
        index_close(other, NoLock);
    }
    const IndexColumns columns =
        describe_columns(format, first->rd_opfamily, first->rd_indcollation, summary, query.joins);
    auto *compiled = allocate<CompiledAggregate>(1);
    if (compile_aggregate(query, columns, nullptr, compiled) == nullptr)
        explain_computed(naming, *compiled, explain);
}

void explain_expressions(const AggregateQuery &query, const CustomScanState *node, const Plan *scan,
                         List *ancestors, ExplainState *explain) {
    const Index number = explain->verbose ? table_of_plan(scan) : 0;
    if (number == 0)
        return;
    auto *plan = castNode(CustomScan, node->ss.ps.plan);
    Relation first = index_open(linitial_oid(query.indexes), AccessShareLock);
    Naming naming = {&query,
                     plan->custom_plans,
                     number,
                     rt_fetch(number, explain->rtable)->relid,
                     first->rd_index->indrelid,
                     NIL,
                     set_deparse_context_plan(explain->deparse_cxt, &plan->scan.plan, ancestors),
                     false};
    for (int i = 0; i < first->rd_index->indnatts; i++)
        naming.attributes = lappend_int(naming.attributes, first->rd_index->indkey.values[i]);
    explain_query(query, first, &naming, explain);
    index_close(first, NoLock);
}

}  // namespace pg_gpu::plan
