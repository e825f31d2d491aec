#include "plan/query/aggregate_top.h"

#include <algorithm>

#include "compat.h"
#include "plan/query/aggregate_numeric.h"

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

int64 wanted_rows(const Query *query) {
    const int64 count = constant_number(query->limitCount);
    const int64 offset = query->limitOffset == nullptr ? 0 : constant_number(query->limitOffset);
    return count < 0 || offset < 0 || count > kMaxTop || offset > kMaxTop ? 0 : count + offset;
}

bool is_own_order(Oid operator_oid, Oid type, bool *descending) {
    Oid family;
    Oid operand;
    return find_ordering(operator_oid, &family, &operand, descending) &&
           family == lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
}

TopGroups find_top(const Query *parse, List *columns, const List *having, const List *aggregates) {
    const int64 count = wanted_rows(parse);
    // What comes between the groups and the limit must not take rows away, or make several of one.
    if (count == 0 || parse->groupClause == NIL || parse->sortClause == NIL || having != NIL ||
        parse->distinctClause != NIL || parse->hasWindowFuncs || parse->hasTargetSRFs)
        return kAllGroups;
    auto *clause = linitial_node(SortGroupClause, parse->sortClause);
    Node *expression = get_sortgroupclause_expr(clause, columns);
    bool descending;
    if (!is_own_order(clause->sortop, exprType(expression), &descending))
        return kAllGroups;
    for (int i = 0; i < list_length(aggregates); i++)
        if (equal(list_nth(aggregates, i), expression))
            return {i, static_cast<int>(count), descending};
    return kAllGroups;
}

// ---- execution --------------------------------------------------------------------------------------------

// Only by results that are never NULL: those of all of a group's rows.
gpu_engine::AggregateTop order_of_groups(const AggregateQuery &query, const CompiledAggregate &compiled) {
    gpu_engine::AggregateTop top = {};
    if (query.top.aggregate < 0)
        return top;
    const AggregateResult &result = compiled.result[query.top.aggregate];
    const bool is_never_null = result.count == compiled.program.accumulator[0].word;
    bool is_ordered = is_never_null;
    uint32 word = result.value;
    switch (result.kind) {
        case ResultKind::Count:
            is_ordered = true;
            word = result.count;
            break;
        case ResultKind::SumOfIntegers:
        case ResultKind::SumOfLong:
        case ResultKind::SumOfNumeric:
            top.is_wide = 1;
            break;
        case ResultKind::Extreme:
        case ResultKind::Bits:
            // -0 and 0 are equal, but their numbers differ.
            is_ordered = is_never_null && !is_float(result.type);
            break;
        default:
            is_ordered = false;
    }
    top.word = compiled.program.key_words + word;
    top.descending = query.top.descending ? 1 : 0;
    top.count = is_ordered ? static_cast<uint64>(query.top.count) : 0;
    return top;
}

static int64 rank_of(const GroupTable &groups, uint64 group, const gpu_engine::AggregateTop &top) {
    const uint32 word = top.word - groups.key_words;
    return rank_in_order(top, groups.value(group, word),
                         top.is_wide != 0 ? groups.value(group, word + 1) : 0);
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

void keep_top(const gpu_engine::AggregateTop &top, GroupTable *groups) {
    if (top.count == 0 || groups->groups <= top.count)
        return;
    auto *ranks = allocate<int64>(groups->groups);
    for (uint64 group = 0; group < groups->groups; group++)
        ranks[group] = rank_of(*groups, group, top);
    auto *sorted = allocate<int64>(groups->groups);
    memcpy(sorted, ranks, groups->groups * sizeof(int64));
    int64 *last = sorted + top.count - 1;
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
