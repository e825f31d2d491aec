#include "plan/query/aggregate_choices.h"

#include "compat.h"

namespace pg_gpu::plan {

using gpu_engine::AggregateOperation;
using gpu_engine::no_aggregate_step;

static uint16 join_truths(Compiler *compiler, uint16 first, uint16 other) {
    return first == no_aggregate_step ? other
           : other == no_aggregate_step
               ? first
               : add_step(compiler, AggregateOperation::logical_and, 0, first, other);
}

Branch begin_branch(Compiler *compiler, uint16 where) {
    const Branch branch = {compiler, compiler->compiled->program.input_count, compiler->chosen_where};
    compiler->chosen_where = join_truths(compiler, branch.outer_where, where);
    return branch;
}

void end_branch(const Branch &branch, bool is_guarded) {
    CompiledAggregate *compiled = branch.compiler->compiled;
    branch.compiler->chosen_where = branch.outer_where;
    for (uint32 i = branch.inputs; i < compiled->program.input_count && is_guarded; i++)
        compiled->has_unsafe_branch = compiled->has_unsafe_branch || compiled->input[i].may_fail;
}

// ---- CASE -------------------------------------------------------------------------------------------------

// Puts what a CASE compares in place of the node that stands for it: the expression itself, which is compiled
// once for all that compare with it. Another CASE, and casts of arrays, have such nodes of their own.
static Node *with_compared(Node *node, void *compared) {
    if (node == nullptr)
        return nullptr;
    if (IsA(node, CaseTestExpr))
        return static_cast<Node *>(compared);
    if ((IsA(node, CaseExpr) && reinterpret_cast<CaseExpr *>(node)->arg != nullptr) ||
        IsA(node, ArrayCoerceExpr))
        return node;
    return mutate_expression(node, with_compared, compared);
}

static bool is_null_constant(const Expr *expression) {
    return expression == nullptr ||
           (IsA(expression, Const) && reinterpret_cast<const Const *>(expression)->constisnull);
}

int list_choices(Compiler *compiler, const CaseExpr *expression, Choice *choices) {
    int count = 0;
    uint16 none_before = no_aggregate_step;
    for (int i = 0; i < list_length(expression->args) && !is_refused(compiler); i++) {
        const auto *when = list_nth_node(CaseWhen, expression->args, i);
        auto *condition = reinterpret_cast<Node *>(when->expr);
        if (expression->arg != nullptr)
            condition = with_compared(condition, expression->arg);
        const Branch branch = begin_branch(compiler, none_before);
        const uint16 truth = add_step(compiler, AggregateOperation::is_true, 0,
                                      compile_truth(compiler, reinterpret_cast<Expr *>(condition)), 0);
        end_branch(branch, i > 0);
        // The last condition is evaluated though it chooses nothing: it may fail.
        const bool is_last = i == list_length(expression->args) - 1;
        if (!is_null_constant(when->result) || (is_last && is_null_constant(expression->defresult)))
            choices[count++] = {join_truths(compiler, none_before, truth), when->result};
        none_before = join_truths(compiler, none_before, negate(compiler, truth));
    }
    if (!is_null_constant(expression->defresult))
        choices[count++] = {none_before, expression->defresult};
    return count;
}

uint16 compile_case(Compiler *compiler, const CaseExpr *expression, CompileResult compile) {
    auto *choices = allocate<Choice>(static_cast<size_t>(max_choices(expression)));
    const int count = list_choices(compiler, expression, choices);
    uint16 result = 0;
    for (int i = 0; i < count && !is_refused(compiler); i++) {
        const Branch branch = begin_branch(compiler, choices[i].where);
        const uint16 chosen = add_step(compiler, AggregateOperation::only_where, 0, choices[i].where,
                                       compile(compiler, choices[i].result));
        end_branch(branch);
        result = i == 0 ? chosen : add_step(compiler, AggregateOperation::or_else, 0, result, chosen);
    }
    return count == 0 ? add_step(compiler, AggregateOperation::null, 0, 0, 0) : result;
}

// ---- COALESCE ---------------------------------------------------------------------------------------------

uint16 compile_coalesce(Compiler *compiler, const CoalesceExpr *expression, CompileResult compile) {
    uint16 result = compile(compiler, static_cast<Expr *>(linitial(expression->args)));
    for (int i = 1; i < list_length(expression->args) && !is_refused(compiler); i++) {
        const Branch branch = begin_branch(compiler, no_aggregate_step);
        const uint16 other = compile(compiler, static_cast<Expr *>(list_nth(expression->args, i)));
        end_branch(branch);
        result = add_step(compiler, AggregateOperation::or_else, 0, result, other);
    }
    return result;
}

}  // namespace pg_gpu::plan
