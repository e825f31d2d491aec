#include "plan/query/aggregate_whole.h"

#include "memory.h"
#include "plan/query/aggregate_members.h"

namespace pg_gpu::plan {

// All of them are open at the same time, one inside the other.
static constexpr int kMaxMembers = 256;

const char *refuse_whole(const List *members) {
    if (members == NIL)
        return "no partition or child may have rows";
    if (list_length(members) > kMaxMembers)
        return "there are too many partitions or children";
    ListCell *cell;
    foreach (cell, members)
        if (!has_column_index(static_cast<const RelOptInfo *>(lfirst(cell))))
            return "a partition or child has no gpu_column index";
    return nullptr;
}

// Do the indexes have columns of the same types, in the same order?
static bool has_same_columns(const IndexOptInfo *a, const IndexOptInfo *b) {
    if (a->nkeycolumns != b->nkeycolumns)
        return false;
    for (int i = 0; i < a->nkeycolumns; i++)
        if (a->opcintype[i] != b->opcintype[i] || a->opfamily[i] != b->opfamily[i] ||
            a->indexcollations[i] != b->indexcollations[i])
            return false;
    return true;
}

static bool is_same_query(const AggregateQuery &a, const AggregateQuery &b) {
    return equal(a.conditions, b.conditions) && equal(a.keys, b.keys) &&
           equal(a.key_operators, b.key_operators) && equal(a.aggregates, b.aggregates) &&
           equal(a.joins, b.joins);
}

namespace {

// What is asked of each member alike, once the first one's index is known.
struct Common {
    const IndexOptInfo *index;
    AggregateQuery query;
    int row_length;
};

}  // namespace

// An index of the member that answers what is asked of the others; nullptr when there is none.
static const IndexOptInfo *choose_index(const TableAggregate &member, Common *common) {
    ListCell *cell;
    foreach (cell, indexed_table(member)->indexlist) {
        const auto *index = lfirst_node(IndexOptInfo, cell);
        AggregateQuery query;
        List *row;
        Refusal refusal = {};
        if (!is_column_index(index) || (index->indpred != NIL && !index->predOK) ||
            (common->index != nullptr && !has_same_columns(common->index, index)) ||
            !make_query(member, index, &query, &row, &refusal))
            continue;
        if (common->index == nullptr)
            *common = {index, query, list_length(row)};
        if (is_same_query(common->query, query) && list_length(row) == common->row_length)
            return index;
    }
    return nullptr;
}

bool consider_whole(const TableAggregate &table, const char **refused) {
    const int count = list_length(table.members);
    auto *sources = allocate<AggregateSource>(static_cast<size_t>(count));
    Common common = {};
    for (int i = 0; i < count; i++) {
        CHECK_FOR_INTERRUPTS();
        auto *member = static_cast<RelOptInfo *>(list_nth(table.members, i));
        const IndexOptInfo *index = choose_index(aggregate_of_member(table, member), &common);
        if (index == nullptr) {
            *refused = "a partition or child has no index that answers, or none like the others'";
            return false;
        }
        sources[i] = make_source(member, index);
    }
    Refusal refusal = {};
    List *row = row_of(table, &refusal);
    if (refusal.reason != nullptr || list_length(row) != common.row_length) {
        *refused = "an expression is another one for partitions or children";
        return false;
    }
    const bool is_offered = consider_sources(table, sources, count, common.query, row);
    pfree(sources);
    return is_offered;
}

}  // namespace pg_gpu::plan
