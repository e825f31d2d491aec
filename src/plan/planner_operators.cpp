// Operators of which the planner alone makes conditions of indexes: `column #< ROW(...)`
// (plan/row_comparisons.cpp) and `document @@? query` (plan/search/more_paths.cpp). Both are true of every
// row, but an index returns the entries alone that meet what they stand for. So a statement that named one
// would have other rows with the index than without.
#include "access_methods.h"
#include "compat.h"

namespace pg_gpu::plan {

[[noreturn]] static void refuse_in_statement(Oid function) {
    Oid *types;
    int count;
    get_func_signature(function, &types, &count);
    const bool is_row = count == 2 && types[1] == RECORDOID;
    ereport(
        ERROR,
        (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
         errmsg("function %s and its operators are not for statements", format_procedure(function)),
         errdetail("The planner makes conditions of indexes of them."),
         is_row ? errhint("Compare rows, as in (a, b) < (1, 2).") : errhint("Search by the operator @@@.")));
}

}  // namespace pg_gpu::plan

using namespace pg_gpu;

PG_GPU_FUNCTION(pg_gpu_refusing_support);

// The support function of those operators' functions. The planner simplifies every call that a statement
// makes. It doesn't simplify `x OPERATOR(gpu.#<) ANY (array)`, but asks what the function costs, and names
// no call then. What the planner itself makes is not simplified and is a call.
Datum pg_gpu_refusing_support(PG_FUNCTION_ARGS) {
    auto *request = static_cast<Node *>(static_cast<void *>(PG_GETARG_POINTER(0)));
    if (IsA(request, SupportRequestSimplify))
        plan::refuse_in_statement(castNode(SupportRequestSimplify, request)->fcall->funcid);
    if (IsA(request, SupportRequestCost) && castNode(SupportRequestCost, request)->node == nullptr)
        plan::refuse_in_statement(castNode(SupportRequestCost, request)->funcid);
    PG_RETURN_POINTER(nullptr);
}
