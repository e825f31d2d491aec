// Why a plan has our nodes or hasn't: what the planner's hooks tell gpu.explain_why. At other times they find
// out by one look that nobody asks.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// A part of the plan that could have become a node, and the relation whose rows it would have given.
struct Candidate {
    const char *node;
    PlannerInfo *root;
    const RelOptInfo *input;
    RelOptInfo *output;
    Oid index;  // InvalidOid: it doesn't come to a certain index
};

// Why something can't be done, in words, and the expression that this is about.
struct Refusal {
    const char *reason;  // nullptr: it can
    Node *expression;    // nullptr: the whole
};

// The first reason stays.
inline void refuse(Refusal *refusal, const char *reason, Node *expression = nullptr) {
    if (refusal->reason == nullptr)
        *refusal = {reason, expression};
}

// Expressions' Vars are of this relation, by this number.
struct ExpressionSource {
    Index number;
    Oid relation;
};

// To be called before a hook adds paths to the relation: what others cost.
void note_other_paths(PlannerInfo *root, const RelOptInfo *output);

void note_declined(const Candidate &candidate, const Refusal &refusal, const ExpressionSource &source);
void note_declined(const Candidate &candidate, const char *reason);

// To be called before add_path, which may free it.
void note_offered(const Candidate &candidate, const CustomPath *path);

// Notes the path that becomes part of the plan.
void note_chosen(PlannerInfo *root, const CustomPath *path);

}  // namespace pg_gpu::plan
