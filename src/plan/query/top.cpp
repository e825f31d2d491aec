#include "plan/query/top.h"

#include "plan/query/aggregate_failure.h"
#include "plan/query/aggregate_top.h"

namespace pg_gpu::plan::query {

static int number_in_row(const List *row, const Node *expression) {
    for (int i = 0; i < list_length(row); i++)
        if (equal(list_nth(row, i), expression))
            return i;
    return -1;
}

TopRows find_top_rows(const TableAggregate &table, const List *row) {
    const Query *parse = table.root->parse;
    const int64 count = wanted_rows(parse);
    // What comes between the groups and the limit must not take rows away, make several of one, or raise an
    // error about a row that is left out.
    if (count == 0 || parse->limitOption != LIMIT_OPTION_COUNT || parse->groupClause == NIL ||
        parse->sortClause == NIL || table.having != NIL || parse->distinctClause != NIL ||
        parse->hasWindowFuncs || parse->hasTargetSRFs ||
        may_fail_of_groups(table.output->reltarget->exprs, row))
        return {NIL, 0};
    List *order = NIL;
    ListCell *cell;
    foreach (cell, parse->sortClause) {
        auto *clause = lfirst_node(SortGroupClause, cell);
        const Node *expression = get_sortgroupclause_expr(clause, table.columns);
        const int number = number_in_row(row, expression);
        bool descends;
        if (number < 0 || !is_own_order(clause->sortop, exprType(expression), &descends))
            return {NIL, 0};
        order = lappend_int(lappend_int(lappend_int(order, number), descends ? 1 : 0),
                            clause->nulls_first ? 1 : 0);
    }
    return {order, count};
}

// Is the order of what was accumulated that of the results?
static bool is_in_order(const Result &result) {
    switch (result.kind) {
        case ResultKind::Value:
            return result.argument.kind != Kind::Group;
        case ResultKind::Integer:
        case ResultKind::Sum:
        case ResultKind::FloatSum:
            return true;
        default:
            return false;
    }
}

uint32 make_sort_keys(const CompiledQuery &compiled, const List *order, engine::SortKey **keys) {
    const auto count = static_cast<uint32>(list_length(order) / 3);
    *keys = allocate_zeroed<engine::SortKey>(size_t{count} + 1);
    for (uint32 i = 0; i < count; i++) {
        const auto item = [&](int place) { return list_nth_int(order, static_cast<int>(3 * i) + place); };
        const Result &result = compiled.results[item(0)];
        if (!is_in_order(result))
            return 0;
        (*keys)[i].column = result.value;
        (*keys)[i].descends = item(1) != 0 ? 1 : 0;
        (*keys)[i].nulls_first = item(2) != 0 ? 1 : 0;
    }
    return count;
}

}  // namespace pg_gpu::plan::query
