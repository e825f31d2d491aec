#include "plan/query/top.h"

#include "plan/query/entries.h"
#include "plan/query/failure.h"
#include "plan/query/numbering.h"
#include "plan/query/wanted_rows.h"

namespace pg_gpu::plan::query {

int number_in_row(const List *row, const Node *expression) {
    for (int i = 0; i < list_length(row); i++)
        if (equal(list_nth(row, i), expression))
            return i;
    return -1;
}

List *add_order_item(List *order, int number, const SortGroupClause &clause, bool descends, Oid collation) {
    for (const int integer :
         {number, descends ? 1 : 0, clause.nulls_first ? 1 : 0, static_cast<int>(collation)})
        order = lappend_int(order, integer);
    return order;
}

// How many groups are wanted. Where that is all or isn't known, the engine sorts many of them nevertheless:
// PostgreSQL's sort sees that they come in order, and has little to do.
static int64 count_wanted(const Query *parse, double groups) {
    constexpr double many_groups = 500;
    const int64 count = wanted_rows(parse);
    return count > 0 || groups < many_groups ? count : kAllSorted;
}

TopRows find_top_rows(const TableAggregate &table, const List *row, double groups) {
    const Query *parse = table.root->parse;
    const int64 count = count_wanted(parse, groups);
    // What comes between the groups and the limit must not take rows away, make several of one, or raise an
    // error about a row that is left out.
    if (count == 0 || table.set != NIL || parse->limitOption != LIMIT_OPTION_COUNT ||
        parse->groupClause == NIL || parse->sortClause == NIL || parse->distinctClause != NIL ||
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
        order = add_order_item(order, number, *clause, descends, exprCollation(expression));
    }
    return {order, count};
}

static constexpr int kItemIntegers = 4;

OrderItem order_item(const List *order, int number) {
    const auto integer = [&](int place) { return list_nth_int(order, kItemIntegers * number + place); };
    return {integer(0), integer(1) != 0, integer(2) != 0, static_cast<Oid>(integer(3))};
}

List *skip_order_items(const List *order, int count) {
    return list_copy_tail(order, kItemIntegers * count);
}

int count_items(const List *order) {
    return list_length(order) / kItemIntegers;
}

static uint64 count_entries(const ViewColumns &columns, int column) {
    if (columns.input != nullptr)
        return columns.input->count;
    const column::ColumnView *view = columns.rows->view;
    uint64 entries = 0;
    for (int run = 0; run < view->run_count; run++)
        entries += view->runs[run].header.column[column].distinct;
    return entries;
}

static uint64 count_entries(const TableViews &views, const Program &program, uint16 numbering) {
    uint64 entries = 0;
    for (uint32 i = 0; i < program.source_count; i++) {
        const Source &source = program.sources[i];
        if (source.numbering != numbering)
            continue;
        for (int k = 0; k < views.count; k++)
            if (views.views[k].table == source.table)
                entries += count_entries(views.views[k], column_of_view(views.views[k], source.column));
    }
    return entries;
}

// Of numbers that are computed already.
static bool order_result(Compiler *compiler, const Result &result, Oid collation) {
    Value value = result.argument;
    return has_order(*compiler->program, value, collation) ||
           (value.numbering != no_numbering && order_numbers(compiler, &value, collation));
}

void order_keys(const Compiler &compiler, const TableViews &views, const CompiledQuery &compiled,
                const List *order) {
    // PostgreSQL sorts the groups in less time than it takes to sort more values, unless the server or a
    // dictionary has them in order.
    constexpr uint64 max_entries = 1 << 16;
    const Program &program = *compiled.program;
    Compiler own = compiler;
    for (int i = 0; i < count_items(order); i++) {
        const OrderItem item = order_item(order, i);
        const Result &result = compiled.results[item.result];
        if (result.kind != ResultKind::Value || result.argument.kind != Kind::Group)
            continue;
        const uint16 numbering = result.argument.numbering;
        if ((numbering != no_numbering && is_bytewise(program.numberings[numbering].type, item.collation)) ||
            count_entries(views, program, numbering) <= max_entries)
            order_result(&own, result, item.collation);
    }
}

// Is the order of what was accumulated that of the results?
static bool is_in_order(const Program &program, const Result &result, Oid collation) {
    switch (result.kind) {
        case ResultKind::Value:
            return result.argument.kind != Kind::Group || has_order(program, result.argument, collation);
        case ResultKind::Sum:
            return result.least_special == no_step;
        case ResultKind::Integer:
        case ResultKind::FloatSum:
            return true;
        default:
            return false;
    }
}

bool order_given(Compiler *compiler, const CompiledQuery &compiled, const List *order) {
    for (int i = 0; i < count_items(order); i++) {
        const OrderItem item = order_item(order, i);
        const Result &result = compiled.results[item.result];
        const bool is_known =
            result.kind != ResultKind::Value
                ? is_in_order(*compiler->program, result, item.collation)
                : result.argument.kind != Kind::Group || order_result(compiler, result, item.collation);
        if (!is_known) {
            refuse(&compiler->refusal, "values are compared whose order the engine doesn't know");
            return false;
        }
    }
    return true;
}

uint32 make_sort_keys(const CompiledQuery &compiled, const List *order, int unordered,
                      engine::SortKey **keys) {
    const auto count = static_cast<uint32>(count_items(order));
    *keys = allocate_zeroed<engine::SortKey>(size_t{count} + 1);
    for (uint32 i = 0; i < count; i++) {
        const OrderItem item = order_item(order, static_cast<int>(i));
        const Result &result = compiled.results[item.result];
        if (static_cast<int>(i) >= unordered && !is_in_order(*compiled.program, result, item.collation))
            return 0;
        (*keys)[i].column = result.value;
        (*keys)[i].descends = item.descends ? 1 : 0;
        (*keys)[i].nulls_first = item.nulls_first ? 1 : 0;
    }
    return count;
}

}  // namespace pg_gpu::plan::query
