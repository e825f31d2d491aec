#include "plan/advise/hypothetical.h"

#include "compat.h"
#include "column/gpu_column.h"

namespace pg_gpu::plan {

bool is_proposed(const IndexOptInfo *index) {
    return index->hypothetical && get_rel_relkind(index->indexoid) == RELKIND_RELATION;
}

// ---- the index --------------------------------------------------------------------------------------------

static Expr *make_column(const RelOptInfo *table, Oid oid, AttrNumber column) {
    Oid type;
    int32 modifier;
    Oid collation;
    get_atttypetypmodcoll(oid, column, &type, &modifier, &collation);
    return reinterpret_cast<Expr *>(
        makeVar(static_cast<int>(table->relid), column, type, modifier, collation, 0));
}

static void add_columns(IndexOptInfo *index, const Proposal &proposal) {
    const auto count = static_cast<size_t>(proposal.count);
    index->ncolumns = index->nkeycolumns = proposal.count;
    index->indexkeys = allocate<int>(count);
    index->indexcollations = allocate<Oid>(count);
    index->opfamily = allocate<Oid>(count);
    index->opcintype = allocate<Oid>(count);
    // No column can be returned: what isn't counted or aggregated is read from the table.
    index->canreturn = allocate_zeroed<bool>(count);
    index->opclassoptions = allocate_zeroed<bytea *>(count);
    for (int i = 0; i < proposal.count; i++) {
        Expr *column = make_column(index->rel, proposal.table, proposal.columns[i]);
        index->indexkeys[i] = proposal.columns[i];
        index->indexcollations[i] = exprCollation(reinterpret_cast<Node *>(column));
        index->opfamily[i] = get_opclass_family(proposal.classes[i]);
        index->opcintype[i] = get_opclass_input_type(proposal.classes[i]);
        index->indextlist = lappend(index->indextlist,
                                    makeTargetEntry(column, static_cast<AttrNumber>(i + 1), nullptr, false));
    }
}

// Counts keys or values in their full width, and half of a TID's, which lie packed: no less than what is
// built.
double expect_pages(const Proposal &proposal, double rows) {
    double bytes = sizeof(ItemPointerData) / 2.0;
    for (int i = 0; i < proposal.count; i++)
        bytes += Max(get_attavgwidth(proposal.table, proposal.columns[i]),
                     Min(get_typlen(get_atttype(proposal.table, proposal.columns[i])), 8));
    return ceil(rows * bytes / static_cast<double>(storage::kContentBytes)) + 1;
}

IndexOptInfo *make_hypothetical(const Proposal &proposal, RelOptInfo *table) {
    const IndexAmRoutine *routine = GetIndexAmRoutineByAmId(proposal.method, false);
    auto *index = makeNode(IndexOptInfo);
    index->indexoid = proposal.table;
    index->rel = table;
    index->relam = proposal.method;
    index->hypothetical = true;
    index->immediate = true;
    index->tuples = table->tuples;
    index->pages = static_cast<BlockNumber>(expect_pages(proposal, table->tuples));
    index->tree_height = -1;
    index->amcanorderbyop = routine->amcanorderbyop;
    index->amoptionalkey = routine->amoptionalkey;
    index->amsearcharray = routine->amsearcharray;
    index->amsearchnulls = routine->amsearchnulls;
    index->amhasgettuple = routine->amgettuple != nullptr;
    index->amhasgetbitmap = routine->amgetbitmap != nullptr;
    index->amcostestimate = reinterpret_cast<decltype(index->amcostestimate)>(
        reinterpret_cast<void (*)()>(routine->amcostestimate));
    add_columns(index, proposal);
    return index;
}

}  // namespace pg_gpu::plan
