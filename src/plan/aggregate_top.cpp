#include "plan/aggregate_top.h"

#include <algorithm>

#include "plan/aggregate_numeric.h"

namespace pg_gpu::plan {

using gpu_engine::GroupTable;

// ---- planning ---------------------------------------------------------------------------------------------

// More rows than that are better sorted by PostgreSQL alone.
static constexpr int64 kMaxTop = 1000000;

// A constant's number; -1: it isn't one that is known, or is NULL, which means all rows.
static int64 constant_number(const Node *node) {
    if (node == nullptr || !IsA(node, Const) || reinterpret_cast<const Const *>(node)->constisnull)
        return -1;
    return DatumGetInt64(reinterpret_cast<const Const *>(node)->constvalue);
}

static int64 wanted_rows(const Query *query) {
    const int64 count = constant_number(query->limitCount);
    const int64 offset = query->limitOffset == nullptr ? 0 : constant_number(query->limitOffset);
    return count < 0 || offset < 0 || count > kMaxTop || offset > kMaxTop ? 0 : count + offset;
}

// Is it an operator of the type's own order? *descending tells which way.
static bool is_own_order(Oid operator_oid, Oid type, bool *descending) {
    Oid family;
    Oid operand;
    int16 strategy;
    if (!get_ordering_op_properties(operator_oid, &family, &operand, &strategy))
        return false;
    *descending = strategy == BTGreaterStrategyNumber;
    return family == lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
}

void find_top(PlannerInfo *root, const List *having, const List *aggregates, AggregateQuery *query) {
    const Query *parse = root->parse;
    query->top = {-1, 0, false};
    const int64 count = wanted_rows(parse);
    // What comes between the groups and the limit must not take rows away, or make several of one.
    if (count == 0 || parse->groupClause == NIL || parse->sortClause == NIL || having != NIL ||
        parse->distinctClause != NIL || parse->hasWindowFuncs || parse->hasTargetSRFs)
        return;
    auto *clause = linitial_node(SortGroupClause, parse->sortClause);
    Node *expression = get_sortgroupclause_expr(clause, root->processed_tlist);
    bool descending;
    if (!is_own_order(clause->sortop, exprType(expression), &descending))
        return;
    for (int i = 0; i < list_length(aggregates); i++)
        if (equal(list_nth(aggregates, i), expression))
            query->top = {i, static_cast<int>(count), descending};
}

// ---- execution --------------------------------------------------------------------------------------------

namespace {

// Where a group's number lies by which it is ordered.
struct Order {
    uint32 word;
    bool is_wide;
    bool descending;
};

}  // namespace

// Only of results that are never NULL: those of all of a group's rows.
static bool find_order(const AggregateQuery &query, const CompiledAggregate &compiled, Order *order) {
    const AggregateResult &result = compiled.result[query.top.aggregate];
    order->descending = query.top.descending;
    order->word = result.value;
    const uint8 rows = compiled.program.accumulator[0].word;
    switch (result.kind) {
        case ResultKind::Count:
            order->word = result.count;
            order->is_wide = false;
            return true;
        case ResultKind::SumOfIntegers:
        case ResultKind::SumOfLong:
        case ResultKind::SumOfNumeric:
            order->is_wide = true;
            return result.count == rows;
        case ResultKind::Extreme:
            order->is_wide = false;
            return result.count == rows;
        default:
            return false;
    }
}

// Greater ones come first. Numbers beyond int64 are all taken for the greatest, or the least.
static int64 rank_of(const GroupTable &groups, uint64 group, const Order &order) {
    auto number = static_cast<int64>(groups.value(group, order.word));
    if (order.is_wide) {
        const auto high = static_cast<int64>(groups.value(group, order.word + 1));
        if (high != (number < 0 ? -1 : 0))
            number = high < 0 ? PG_INT64_MIN : PG_INT64_MAX;
    }
    // ~number is -number - 1.
    return order.descending ? number : ~number;
}

static GroupTable copy_groups(const GroupTable &groups, const uint64 *chosen, uint64 count) {
    GroupTable copy = groups;
    const uint32 stride = groups.key_words + groups.value_words;
    auto *words = allocate<uint64>(count * stride + 1);
    copy.groups = count;
    copy.keys = words;
    copy.values = words + groups.key_words;
    copy.key_word_stride = 1;
    copy.value_word_stride = 1;
    copy.key_group_stride = stride;
    copy.value_group_stride = stride;
    for (uint64 i = 0; i < count; i++) {
        for (uint32 word = 0; word < groups.key_words; word++)
            *words++ = groups.key(chosen[i], word);
        for (uint32 word = 0; word < groups.value_words; word++)
            *words++ = groups.value(chosen[i], word);
    }
    return copy;
}

void keep_top(const AggregateQuery &query, const CompiledAggregate &compiled, GroupTable *groups) {
    Order order;
    if (query.top.aggregate < 0 || groups->groups <= static_cast<uint64>(query.top.count) ||
        !find_order(query, compiled, &order))
        return;
    auto *ranks = allocate<int64>(groups->groups);
    for (uint64 group = 0; group < groups->groups; group++)
        ranks[group] = rank_of(*groups, group, order);
    auto *sorted = allocate<int64>(groups->groups);
    memcpy(sorted, ranks, groups->groups * sizeof(int64));
    int64 *last = sorted + query.top.count - 1;
    std::nth_element(sorted, last, sorted + groups->groups, std::greater<>());
    uint64 count = 0;
    auto *chosen = reinterpret_cast<uint64 *>(sorted);
    const int64 bound = *last;
    for (uint64 group = 0; group < groups->groups; group++)
        if (ranks[group] >= bound)
            chosen[count++] = group;
    *groups = copy_groups(*groups, chosen, count);
    pfree(sorted);
    pfree(ranks);
}

}  // namespace pg_gpu::plan
