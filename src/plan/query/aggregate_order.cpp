#include "plan/query/aggregate_order.h"

#include "plan/query/aggregate_top.h"
#include "sort.h"

namespace pg_gpu::plan {

// ---- planning ---------------------------------------------------------------------------------------------

// The number of the grouping key that the pathkey is about; -1: none.
static int key_of_pathkey(const TableAggregate &table, const PathKey *pathkey, Oid *type) {
    const List *keys = get_sortgrouplist_exprs(table.clauses, table.columns);
    for (int i = 0; i < list_length(keys); i++) {
        const EquivalenceMember *member =
            find_ec_member_matching_expr(pathkey->pk_eclass, static_cast<Expr *>(list_nth(keys, i)), nullptr);
        if (member == nullptr)
            continue;
        *type = member->em_datatype;
        return i;
    }
    return -1;
}

List *choose_order(const TableAggregate &table, List **pathkeys) {
    PlannerInfo *root = table.root;
    *pathkeys = NIL;
    if (table.split != AGGSPLIT_SIMPLE || table.set != NIL || table.is_part || table.workers > 0 ||
        IS_OTHER_REL(table.output))
        return NIL;
    List *wanted = root->window_pathkeys != NIL ? root->window_pathkeys : root->sort_pathkeys;
    List *keys = NIL;
    List *operators = NIL;
    List *collations = NIL;
    List *nulls_first = NIL;
    ListCell *cell;
    foreach (cell, wanted) {
        const auto *pathkey = lfirst_node(PathKey, cell);
        Oid type;
        const int key = key_of_pathkey(table, pathkey, &type);
        const Oid operator_oid = key < 0 ? InvalidOid : operator_of_pathkey(pathkey, type);
        if (!OidIsValid(operator_oid))
            return NIL;
        keys = lappend_int(keys, key);
        operators = lappend_oid(operators, operator_oid);
        collations = lappend_oid(collations, pathkey->pk_eclass->ec_collation);
        nulls_first = lappend_int(nulls_first, pathkey->pk_nulls_first ? 1 : 0);
    }
    *pathkeys = wanted;
    return wanted == NIL ? NIL : list_make4(keys, operators, collations, nulls_first);
}

int count_order_keys(const List *order) {
    return order == NIL ? 0 : list_length(static_cast<const List *>(linitial(order)));
}

OrderKey order_key(const List *order, int number) {
    const auto list = [order](int i) { return static_cast<const List *>(list_nth(order, i)); };
    return {list_nth_int(list(0), number), list_nth_oid(list(1), number), list_nth_oid(list(2), number),
            list_nth_int(list(3), number) != 0};
}

// ---- by codes ---------------------------------------------------------------------------------------------

static constexpr uint64 kGroupsBetweenChecks = 65536;

// Tells of each of the key's common values whether a group has it. False: a group has another one.
static bool mark_used(const AggregateOutput &output, int key, bool *is_used) {
    const uint32 count = count_common_values(output, key);
    for (uint64 group = 0; group < output.groups.groups; group++) {
        if (group % kGroupsBetweenChecks == 0)
            CHECK_FOR_INTERRUPTS();
        uint64 code;
        if (!read_code(output, group, output.compiled->key[key], &code))
            continue;
        if (code >= count)
            return false;
        is_used[code] = true;
    }
    return true;
}

// The ranks of a key's common values, those that sort alike having the same one; nullptr: memory has no room.
// A value that no group has isn't compared, because it may be one of rows that the snapshot doesn't see.
static uint32 *rank_values(const AggregateOutput &output, const OrderKey &order, size_t memory) {
    const KeyResult &result = output.compiled->key[order.key];
    const CommonValues &common = output.common[result.input];
    const size_t bytes = size_t{common.count} * (sizeof(uint32) + sizeof(bool));
    if (bytes > memory)
        return nullptr;
    memory -= bytes;
    auto *is_used = allocate_zeroed<bool>(size_t{common.count} + 1);
    auto *ranks = allocate_zeroed<uint32>(size_t{common.count} + 1);
    if (!mark_used(output, order.key, is_used))
        return nullptr;
    RankedValues *ranked = begin_ranked(result.type, CurrentMemoryContext);
    for (uint32 number = 0; number < common.count; number++)
        if (is_used[number] && !add_ranked(ranked, common.values[number], &ranks[number], &memory))
            return nullptr;
    finish_ranked(ranked, order.operator_oid, order.collation, true);
    return ranks;
}

// Appends a key to what groups are sorted by, of which `used` bits are taken. False: 64 bits have no room, or
// the key's codes aren't in the order's.
static bool add_order_key(const AggregateOutput &output, const OrderKey &order, size_t memory,
                          GroupPlace *place, int *used) {
    const KeyResult &result = output.compiled->key[order.key];
    const gpu_engine::AggregateKey &key = output.compiled->program.key[result.key];
    const uint64 may_be_null = result.has_null || key.may_be_null ? 1 : 0;
    bool descending = false;
    const uint32 *ranks = nullptr;
    uint64 greatest;
    if (result.input != UINT16_MAX) {
        ranks = rank_values(output, order, memory);
        if (ranks == nullptr)
            return false;
        greatest = Max(output.common[result.input].count, 1U) - 1U;
    } else {
        if (!is_own_order(order.operator_oid, result.type.type, &descending))
            return false;
        greatest = key.bits == 0 ? 0 : UINT64_MAX >> (64 - key.bits);
    }
    if (greatest > UINT64_MAX - may_be_null)
        return false;
    const uint64 last = greatest + may_be_null;
    const int bits = last == 0 ? 0 : pg_leftmost_one_pos64(last) + 1;
    if (*used + bits > 64)
        return false;
    *used += bits;
    const uint64 of_null = order.nulls_first ? 0 : last;
    const uint64 least = order.nulls_first ? may_be_null : 0;
    for (uint64 group = 0; group < output.groups.groups; group++) {
        if (group % kGroupsBetweenChecks == 0)
            CHECK_FOR_INTERRUPTS();
        uint64 code;
        const bool is_value = read_code(output, group, result, &code);
        const uint64 number = !is_value          ? of_null
                              : ranks != nullptr ? least + ranks[code]
                                                 : least + (descending ? greatest - code : code);
        place[group].code = (bits == 64 ? 0 : place[group].code << bits) | number;
    }
    return true;
}

bool order_by_codes(const AggregateQuery &query, const AggregateOutput &output, size_t memory,
                    OrderedGroups *ordered) {
    const gpu_engine::GroupTable &groups = output.groups;
    const uint64 bytes =
        groups.groups * ((groups.key_words + groups.value_words) * sizeof(uint64) + sizeof(GroupPlace));
    if (bytes > memory)
        return false;
    auto *place = allocate<GroupPlace>(groups.groups + 1);
    for (uint64 group = 0; group < groups.groups; group++)
        place[group] = {0, group};
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "GpuAggregate ranks", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    int used = 0;
    bool is_ordered = true;
    for (int i = 0; i < count_order_keys(query.order) && is_ordered; i++)
        is_ordered = add_order_key(output, order_key(query.order, i), memory - bytes, place, &used);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    if (is_ordered)
        *ordered = {place, 0, nullptr};
    else
        pfree(place);
    return is_ordered;
}

// Often only the first groups are wanted, so more are put in order as they are asked for.
static void order_more(OrderedGroups *ordered, uint64 groups) {
    constexpr uint64 first = 4096;
    constexpr uint64 growth = 8;
    const auto before = [](const GroupPlace &a, const GroupPlace &b) { return a.code < b.code; };
    const uint64 end = Min(Max(ordered->sorted * growth, first), groups);
    GroupPlace *from = ordered->place + ordered->sorted;
    if (end < groups)
        select_interruptibly(from, ordered->place + end, ordered->place + groups, before);
    sort_interruptibly(from, ordered->place + end, before);
    ordered->sorted = end;
}

uint64 group_at(OrderedGroups *ordered, uint64 place, uint64 groups) {
    if (place >= ordered->sorted)
        order_more(ordered, groups);
    return ordered->place[place].group;
}

// ---- by rows ----------------------------------------------------------------------------------------------

Tuplesortstate *begin_row_sort(const AggregateQuery &query, TupleDesc row) {
    const int count = count_order_keys(query.order);
    const auto room = static_cast<size_t>(count);
    auto *columns = allocate<AttrNumber>(room);
    auto *operators = allocate<Oid>(room);
    auto *collations = allocate<Oid>(room);
    auto *nulls_first = allocate<bool>(room);
    for (int i = 0; i < count; i++) {
        const OrderKey key = order_key(query.order, i);
        columns[i] = static_cast<AttrNumber>(key.key + 1);
        operators[i] = key.operator_oid;
        collations[i] = key.collation;
        nulls_first[i] = key.nulls_first;
    }
    return tuplesort_begin_heap(row, count, columns, operators, collations, nulls_first, work_mem, nullptr,
                                TUPLESORT_RANDOMACCESS);
}

}  // namespace pg_gpu::plan
