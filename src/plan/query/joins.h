// Joins: what the engine computes of the rows of each node of a query's tree (tree.h), below the aggregate.
#pragma once

#include <optional>

#include "plan/query/expression.h"
#include "plan/query/tree.h"

namespace pg_gpu::plan::query {

struct CompiledGroups;

struct CompiledNode {
    // Of the node's rows: which of them pass, and what the join above compares. Those of the root are the
    // aggregate's steps.
    NodeSteps rows;
    uint16 filter;  // no_step: all
    uint16 *keys;
    uint32 key_count;
    // Of a join: which pairs of rows with equal keys match.
    NodeSteps pairs;
    uint16 match;  // no_step: all
    // Of a join: how many of the two sides' keys are to be equal, and which of the others bound the build
    // side's (engine::Node).
    uint32 equal_keys;
    std::optional<uint32> at_most;
    std::optional<uint32> at_least;
    // Of groups (nested_groups.h), which take the conditions of the node below along.
    const CompiledGroups *groups;
};

// Conditions that are all to hold, each needed in rows of which those before it are true: a step, or no_step
// where there are none.
uint16 compile_conditions(Compiler *compiler, const List *conditions);

// By node of the tree. The compiler says why it can't be done.
CompiledNode *compile_joins(Compiler *compiler, const QueryTree &tree);

}  // namespace pg_gpu::plan::query
