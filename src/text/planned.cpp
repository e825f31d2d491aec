#include "text/planned.h"

#include <utility>

#include "access_methods.h"
#include "text/text.h"

namespace pg_gpu::text {

// ---- who may use statistics -------------------------------------------------------------------------------

// Returns the table that the statement names: privileges on partitions are those on their parent.
static RelOptInfo *named_table(const PlannerInfo *root, RelOptInfo *relation) {
    while (root->append_rel_array != nullptr) {
        const AppendRelInfo *appended = root->append_rel_array[relation->relid];
        if (appended == nullptr || planner_rt_fetch(appended->parent_relid, root)->rtekind != RTE_RELATION)
            break;
        relation = root->simple_rel_array[appended->parent_relid];
    }
    return relation;
}

static bool may_read_columns(Oid table, Oid user, Node *document, Index relation) {
    Bitmapset *columns = nullptr;
    pull_varattnos(document, relation, &columns);
    for (int column = bms_next_member(columns, -1); column >= 0; column = bms_next_member(columns, column)) {
        const auto attribute = static_cast<AttrNumber>(column + FirstLowInvalidHeapAttributeNumber);
        if (attribute == 0 || pg_attribute_aclcheck(table, attribute, user, ACL_SELECT) != ACLCHECK_OK)
            return false;
    }
    return true;
}

// The rules are PostgreSQL's for its own statistics (examine_simple_variable).
static bool may_use_statistics(const PlannerInfo *root, RelOptInfo *relation, Node *document) {
    const RelOptInfo *named = named_table(root, relation);
    const RangeTblEntry *entry = planner_rt_fetch(named->relid, root);
    if (entry->securityQuals != NIL || planner_rt_fetch(relation->relid, root)->securityQuals != NIL)
        return false;
    const Oid user = OidIsValid(named->userid) ? named->userid : GetUserId();
    return pg_class_aclcheck(entry->relid, user, ACL_SELECT) == ACLCHECK_OK ||
           (named == relation && may_read_columns(entry->relid, user, document, relation->relid));
}

// ---- the index --------------------------------------------------------------------------------------------

static RelOptInfo *table_of(const PlannerInfo *root, Node *document) {
    int number;
    if (!bms_get_singleton_member(pull_varnos(const_cast<PlannerInfo *>(root), document), &number) ||
        number >= root->simple_rel_array_size || contain_vars_of_level(document, 1))
        return nullptr;
    RelOptInfo *relation = root->simple_rel_array[number];
    return relation != nullptr && relation->rtekind == RTE_RELATION ? relation : nullptr;
}

Relation open_index_of(PlannerInfo *root, Node *document, const Bm25Query *query) {
    RelOptInfo *relation = table_of(root, document);
    if (relation == nullptr || !may_use_statistics(root, relation, document))
        return nullptr;
    Relation found = nullptr;
    ListCell *cell;
    foreach (cell, relation->indexlist) {
        auto *candidate = lfirst_node(IndexOptInfo, cell);
        if (find_access_method(candidate) != &gpu_text || candidate->hypothetical ||
            candidate->opcintype[0] == TSVECTOROID || !match_index_to_operand(document, 0, candidate))
            continue;
        Relation index = index_open(candidate->indexoid, NoLock);
        // One of all rows says more of them than one of some.
        const bool is_better = found == nullptr || candidate->indpred == NIL;
        const bool is_fit =
            query == nullptr || makes_same_words(source_of(index), source_of(query, candidate->opcintype[0]));
        Relation other = is_better && is_fit ? std::exchange(found, index) : index;
        if (other != nullptr)
            index_close(other, NoLock);
    }
    return found;
}

// ---- what a row costs -------------------------------------------------------------------------------------

// What a document takes by itself and for each of its words, in operators: 14 us with 3 words, 130 us with
// 50, an operator being 5 ns where a sequential scan of rows in shared buffers takes what PostgreSQL's costs
// say.
static constexpr double kOperatorsPerDocument = 500;
static constexpr double kOperatorsPerWord = 500;

double operators_per_document(PlannerInfo *root, Node *document) {
    Relation index = root == nullptr ? nullptr : open_index_of(root, document, nullptr);
    if (index == nullptr)
        return 0;
    int count;
    const storage::RunEntry *runs = storage::read_directory(index, run_kind(), &count);
    index_close(index, NoLock);
    double words = 0;
    double documents = 0;
    for (int i = 0; i < count; i++) {
        words += static_cast<double>(total_length(runs[i]));
        documents += static_cast<double>(runs[i].entries);
    }
    return documents > 0 ? kOperatorsPerDocument + kOperatorsPerWord * words / documents : 0;
}

}  // namespace pg_gpu::text
