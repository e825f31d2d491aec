#include "plan/advise/statement.h"

namespace pg_gpu::plan {

static Way current_way = {};

Way set_way(const Way &way) {
    const Way before = current_way;
    current_way = way;
    return before;
}

const Query *statement_of(const PlannerInfo *root) {
    while (root->parent_root != nullptr)
        root = root->parent_root;
    return root->parse == current_way.query ? current_way.statement : root->parse;
}

}  // namespace pg_gpu::plan
