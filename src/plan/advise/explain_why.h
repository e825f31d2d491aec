// The reasons why a plan has our nodes or hasn't, which the planner's hooks report to gpu.explain_why. At
// other times they find out by one look that nobody wants them.
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
    // It stands below what the statement is about, so that only its use is worth a word.
    bool is_minor = false;
};

// The reason why something can't be done, in words, and the expression that it is about.
struct Refusal {
    const char *reason;  // nullptr: it can
    Node *expression;    // nullptr: the whole
};

// Notes a reason, of which the first one stays.
inline void refuse(Refusal *refusal, const char *reason, Node *expression = nullptr) {
    if (refusal->reason == nullptr)
        *refusal = {reason, expression};
}

// Expressions' Vars are of this relation, by this number.
struct ExpressionSource {
    Index number;
    Oid relation;
};

// Notes what other paths cost. A hook calls it before it adds paths to the relation.
void note_other_paths(PlannerInfo *root, const RelOptInfo *output);

void note_declined(const Candidate &candidate, const Refusal &refusal, const ExpressionSource &source);
void note_declined(const Candidate &candidate, const char *reason);

// Notes a path that is offered to the planner. It is called before add_path, which may free the path.
void note_offered(const Candidate &candidate, const CustomPath *path);

// Notes the path that becomes part of the plan.
void note_chosen(PlannerInfo *root, const CustomPath *path);

// What was noted of a statement so far. Where it is planned once more in another way, that is put aside, and
// taken back if the other plan isn't the one that is run.
struct PlanNotes {
    List *notes;
    List *others;
};
PlanNotes put_notes_aside(const Query *statement);
void take_notes_back(const Query *statement, const PlanNotes &notes);

}  // namespace pg_gpu::plan
