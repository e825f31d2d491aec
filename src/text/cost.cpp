// Cost estimates are PostgreSQL's own for any index, and what ranking takes. The server is never asked for
// them.

#include "text/text.h"
#include "storage/storage.h"

namespace pg_gpu::text {

// The part of the documents whose postings a ranking is taken to go through: two lexemes of medium frequency.
static constexpr double kRankedShare = 0.05;

// The processor's work on a dictionary page and a lexeme's list heads in each run, in operator costs.
static constexpr double kLookupOperators = 200;

// A query that wants no column, as count(*) does, could be an index-only scan for PostgreSQL, whatever can be
// returned. It is made a plain one, which reads the rows, before it is a path.
static Cost without_index_only(IndexPath *path) {
    if (path->path.pathtype != T_IndexOnlyScan)
        return 0;
    path->path.pathtype = T_IndexScan;
    // cost_index has settled what it takes for heap pages.
    return path->indexinfo->rel->pages * random_page_cost;
}

void estimate_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
                   Selectivity *selectivity, double *correlation, double *pages) {
    IndexOptInfo *index = path->indexinfo;
    GenericCosts costs = {};
    genericcostestimate(root, path, loop_count, &costs);

    // The planner has several paths of each index. It keeps the height of other access methods' trees here.
    if (index->tree_height < 0)
        index->tree_height = storage::summary_for_planner(index, [](Relation) { return run_kind(); }).runs;

    const double conditions = list_length(path->indexclauses) + list_length(path->indexorderbys);
    const double lookups =
        Max(conditions, 1.0) * Max(index->tree_height, 1) * kLookupOperators * cpu_operator_cost;
    costs.indexStartupCost += lookups;
    costs.indexTotalCost += lookups + without_index_only(path);
    if (path->indexorderbys != NIL) {
        // All is ranked before the first row comes.
        const double ranking = kRankedShare * Max(index->tuples, 1.0) * 2 * cpu_operator_cost;
        costs.indexStartupCost += ranking;
        costs.indexTotalCost += ranking;
    }
    *startup = costs.indexStartupCost;
    *total = costs.indexTotalCost;
    *selectivity = costs.indexSelectivity;
    *correlation = 0;
    *pages = costs.numIndexPages;
}

}  // namespace pg_gpu::text
