// An estimate of how many rows `@@@` leaves. It looks at no row and no statistics: making words of a table's
// most common values would take milliseconds, each time that a statement is planned.
#include "text/bm25.h"
#include "text/match.h"

PG_GPU_FUNCTION(pg_gpu_match_selectivity);

namespace pg_gpu::text {

// A word's share of the documents where nothing is known of it.
static constexpr double kWordShare = 0.01;

static double estimate(const QueryNode *node) {
    check_stack_depth();
    double none = 1;  // has a document of none of the children
    double all = 1;
    for (int i = 0; i < node->child_count; i++) {
        const double share = estimate(node->children[i]);
        none *= 1 - share;
        all *= share;
    }
    switch (node->kind) {
        case QueryNode::Kind::Or:
            return 1 - none;
        case QueryNode::Kind::Not:
            return none;
        case QueryNode::Kind::And:
        case QueryNode::Kind::Phrase:
            return all;
        case QueryNode::Kind::Term:
            break;
    }
    return kWordShare;
}

}  // namespace pg_gpu::text

using namespace pg_gpu;

// An operator's restriction estimator gets the planner's state, the operator, its arguments, and the
// relation.
Datum pg_gpu_match_selectivity(PG_FUNCTION_ARGS) {
    auto *root = static_cast<PlannerInfo *>(static_cast<void *>(PG_GETARG_POINTER(0)));
    auto *arguments = static_cast<List *>(static_cast<void *>(PG_GETARG_POINTER(2)));
    if (list_length(arguments) != 2)
        PG_RETURN_FLOAT8(text::kWordShare);
    Node *query = estimate_expression_value(root, static_cast<Node *>(lsecond(arguments)));
    if (!IsA(query, Const))
        PG_RETURN_FLOAT8(text::kWordShare);
    if (castNode(Const, query)->constisnull)
        PG_RETURN_FLOAT8(0);
    const Datum value = castNode(Const, query)->constvalue;
    const Oid type = exprType(query);
    if (type == TEXTOID)
        PG_RETURN_FLOAT8(text::kWordShare);
    const text::Query parsed =
        type == TSQUERYOID
            ? text::parse_query(DatumGetTSQuery(value))
            : text::parse_bm25_query(reinterpret_cast<text::Bm25Query *>(PG_DETOAST_DATUM(value)));
    PG_RETURN_FLOAT8(parsed.root == nullptr ? 0 : text::estimate(parsed.root));
}
