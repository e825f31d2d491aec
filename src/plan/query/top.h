// `GROUP BY … ORDER BY … LIMIT n`: groups that don't come first never leave the engine, which sorts them by
// the whole ORDER BY. Of those that it doesn't distinguish any may come first, as in PostgreSQL's own plan.
// Without LIMIT it sorts many groups, too, and PostgreSQL's sort above finds them in order.
#pragma once

#include "plan/query/aggregates.h"
#include "plan/query/columns.h"
#include "plan/query/groups.h"

namespace pg_gpu::plan::query {

// What the groups are sorted by: four integers of each expression, which are its number among those of the
// node's own tuples, whether it descends, whether NULLs come first, and its collation. NIL: they come in any
// order. `groups` is how many there are expected to be.
struct TopRows {
    List *order;
    int64 count;
};
// As such a count: all of them.
inline constexpr int64 kAllSorted = -1;
TopRows find_top_rows(const TableAggregate &table, const List *row, double groups);

// The expressions of such an order, one by one.
struct OrderItem {
    int result;
    bool descends;
    bool nulls_first;
    Oid collation;
};
// The place of an expression among a row's; -1: it isn't there.
int number_in_row(const List *row, const Node *expression);
int count_items(const List *order);
OrderItem order_item(const List *order, int number);
List *skip_order_items(const List *order, int count);
List *add_order_item(List *order, int number, const SortGroupClause &clause, bool descends, Oid collation);

// Has numbers of values ordered as the groups are to be, where that is worth it. Before numbers are given.
// Views are by table.
void order_keys(const Compiler &compiler, const TableViews &views, const CompiledQuery &compiled,
                const List *order);

// The same of rows that are given (given_rows.h), whose order nothing else makes; false, with the compiler's
// refusal: the engine doesn't know it.
bool order_given(Compiler *compiler, const CompiledQuery &compiled, const List *order);

// The same as the engine sorts by, in the current memory context; how many. 0: it doesn't know the order. The
// first `unordered` ones may be in any.
uint32 make_sort_keys(const CompiledQuery &compiled, const List *order, int unordered,
                      engine::SortKey **keys);

}  // namespace pg_gpu::plan::query
