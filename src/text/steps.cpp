#include "text/steps.h"

#include <algorithm>

namespace pg_gpu::text {

using gpu_engine::TextStep;
using gpu_engine::TextStepKind;

static void add_step(QuerySteps *steps, TextStepKind kind, int term = 0) {
    if (steps->count == gpu_engine::max_text_steps) {
        steps->too_many = true;
        return;
    }
    steps->steps[steps->count++] = {kind, static_cast<uint32>(term)};
}

namespace {

struct Child {
    const QueryNode *node;
    uint32 depth;
};

}  // namespace

// Returns how many values the steps of a subtree have on the stack at the same time, when the deepest child's
// come first.
static uint32 depth_of(const QueryNode *node) {
    check_stack_depth();
    uint32 depth = 1;
    uint32 deepest = 0;
    for (int i = 0; i < node->child_count; i++) {
        const uint32 child = depth_of(node->children[i]);
        depth = Max(depth, i == 0 ? child : Min(child, deepest) + 1);
        deepest = Max(deepest, child);
    }
    return Max(depth, deepest);
}

// NOT goes down to the terms, where `negated` turns `has` into `lacks` and AND into OR. What positions decide
// matches more than the tree does, also under a NOT.
static void add_node(const QueryNode *node, bool negated, bool in_phrase, QuerySteps *steps) {
    check_stack_depth();
    switch (node->kind) {
        case QueryNode::Kind::Term:
            steps->exact = steps->exact && !node->weighted;
            if (negated && node->weighted)
                add_step(steps, TextStepKind::every);
            else
                add_step(steps, negated ? TextStepKind::lacks : TextStepKind::has, node->term);
            return;
        case QueryNode::Kind::Not:
            // In a phrase, `!a` is about a position and not about the document.
            if (in_phrase)
                add_step(steps, TextStepKind::every);
            else
                add_node(node->children[0], !negated, false, steps);
            return;
        case QueryNode::Kind::Phrase:
            steps->exact = false;
            if (negated) {
                add_step(steps, TextStepKind::every);
                return;
            }
            in_phrase = true;
            break;
        default:
            break;
    }
    auto *children = allocate<Child>(node->child_count);
    for (int i = 0; i < node->child_count; i++)
        children[i] = {node->children[i], depth_of(node->children[i])};
    std::stable_sort(children, children + node->child_count,
                     [](const Child &a, const Child &b) { return a.depth > b.depth; });
    const bool joins_all = (node->kind == QueryNode::Kind::Or) == negated;
    for (int i = 0; i < node->child_count && !steps->too_many; i++) {
        add_node(children[i].node, negated, in_phrase, steps);
        if (i > 0)
            add_step(steps, joins_all ? TextStepKind::both : TextStepKind::either);
    }
    pfree(children);
}

QuerySteps make_steps(const Query &query) {
    QuerySteps steps = {allocate<TextStep>(gpu_engine::max_text_steps), 0, true, false};
    add_node(query.root, false, false, &steps);
    uint32 depth = 0;
    for (uint32 i = 0; i < steps.count; i++) {
        const TextStepKind kind = steps.steps[i].kind;
        depth += kind == TextStepKind::both || kind == TextStepKind::either ? -1 : 1;
        steps.too_many = steps.too_many || depth > gpu_engine::max_text_depth;
    }
    return steps;
}

}  // namespace pg_gpu::text
