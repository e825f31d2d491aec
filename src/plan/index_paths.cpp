#include "plan/index_paths.h"

namespace pg_gpu::plan {

List *find_index_paths(PlannerInfo *root, const RelOptInfo *relation, List *indexes, List *conditions) {
    auto *alone = makeNode(RelOptInfo);
    *alone = *relation;
    alone->indexlist = indexes;
    alone->pathlist = NIL;
    alone->partial_pathlist = NIL;
    alone->joininfo = NIL;
    alone->has_eclass_joins = false;
    alone->consider_parallel = false;
    alone->baserestrictinfo = conditions;
    create_index_paths(root, alone);
    // The scan's own checks of rows are taken from here when it becomes a plan.
    alone->baserestrictinfo = relation->baserestrictinfo;
    return alone->pathlist;
}

}  // namespace pg_gpu::plan
