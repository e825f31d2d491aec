#include "plan/query/explain.h"

#include "compat.h"

namespace pg_gpu::plan {

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

}  // namespace pg_gpu::plan
