#include "plan/query/conditional.h"

#include "compat.h"
#include "plan/query/numbering.h"

namespace pg_gpu::plan::query {

static uint16 choose_step(Compiler *compiler, ValueType type, uint16 condition, uint16 one, uint16 other) {
    return add_step(compiler->program, make_step(Operation::choose, type, condition, one, other));
}

// One value where the condition is true, else the other.
static Value choose(Compiler *compiler, uint16 condition, Value one, Value other) {
    if (!bring_together(compiler, &one, &other))
        return {};
    Value value = one.is_null ? other : one;
    // A condition may fail though it chooses one NULL or another, so its step must stay. Numbers of values
    // need to know that there are none.
    value.is_null = one.is_null && other.is_null && value.kind == Kind::Group;
    value.width = Max(one.width, other.width);
    value.limit = Max(one.limit, other.limit);
    value.may_be_minus_0 = one.may_be_minus_0 || other.may_be_minus_0;
    value.real = no_step;
    if (value.kind == Kind::Interval)
        choose_fields(compiler, condition, one, other, &value);
    if (!one.is_null && !other.is_null && is_numeric(value) &&
        (one.shown != other.shown || one.shown == kShownByRow)) {
        value.shown = kShownByRow;
        value.shown_step = choose_step(compiler, ValueType::int64, condition, shown_step_of(compiler, one),
                                       shown_step_of(compiler, other));
    }
    value.step = choose_step(compiler, value.type, condition, one.step, other.step);
    return value;
}

namespace {

// The branches of a CASE from one on.
struct Branches {
    const CaseExpr *expression;
    int next;
};

}  // namespace

static Value compile_branches(Compiler *compiler, Branches branches) {
    check_stack_depth();
    if (branches.next == list_length(branches.expression->args)) {
        const Expr *other = branches.expression->defresult;
        return other == nullptr ? null_value(compiler, branches.expression->casetype)
                                : compile(compiler, other);
    }
    const auto *when = list_nth_node(CaseWhen, branches.expression->args, branches.next);
    const uint16 condition = compile_truth(compiler, when->expr);
    if (is_refused(compiler))
        return {};
    Guarded guarded = begin_guarded(compiler, condition);
    const Value one = compile(compiler, when->result);
    end_guarded(guarded);
    if (is_refused(compiler))
        return {};
    guarded = begin_guarded(
        compiler, logic(compiler, Operation::logical_not, logic(compiler, Operation::is_true, condition)));
    const Value other = compile_branches(compiler, {branches.expression, branches.next + 1});
    end_guarded(guarded);
    return is_refused(compiler) ? Value{} : choose(compiler, condition, one, other);
}

// What is tested in place of the expressions that stand for it; those of a CASE within stand for another.
static Node *put_tested(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (IsA(node, CaseTestExpr))
        return static_cast<Node *>(context);
    if (IsA(node, CaseExpr) && reinterpret_cast<CaseExpr *>(node)->arg != nullptr)
        return node;
    return mutate_expression(node, put_tested, context);
}

// Values that are only known by their dictionary are compared there, so each comparison needs the column.
static Value compile_case_of_map(Compiler *compiler, const CaseExpr *expression) {
    auto *searched = makeNode(CaseExpr);
    *searched = *expression;
    searched->arg = nullptr;
    searched->args =
        reinterpret_cast<List *>(put_tested(reinterpret_cast<Node *>(expression->args), expression->arg));
    fix_opfuncids(reinterpret_cast<Node *>(searched));
    return compile_branches(compiler, {searched, 0});
}

Value compile_case(Compiler *compiler, const CaseExpr *expression) {
    if (expression->arg != nullptr &&
        kind_of_type(exprType(reinterpret_cast<const Node *>(expression->arg))) == Kind::Group)
        return compile_case_of_map(compiler, expression);
    const Value *outer = compiler->case_value;
    Value tested;
    if (expression->arg != nullptr) {
        tested = compile(compiler, expression->arg);
        if (is_refused(compiler))
            return {};
        compiler->case_value = &tested;
    }
    const Value value = compile_branches(compiler, {expression, 0});
    compiler->case_value = outer;
    return value;
}

Value compile_coalesce(Compiler *compiler, const List *arguments, int first) {
    check_stack_depth();
    const Value one = compile(compiler, static_cast<const Expr *>(list_nth(arguments, first)));
    if (is_refused(compiler) || first + 1 == list_length(arguments))
        return one;
    const uint16 is_missing = logic(compiler, Operation::is_null, one.step);
    const Guarded guarded = begin_guarded(compiler, is_missing);
    const Value other = compile_coalesce(compiler, arguments, first + 1);
    end_guarded(guarded);
    return is_refused(compiler) ? Value{} : choose(compiler, is_missing, other, one);
}

// The lesser or the greater one of two: of equal ones, which may show different digits, the first.
static Value choose_extreme(Compiler *compiler, bool is_less, const Value &one, const Value &other) {
    Value value = one;
    value.step = add_step(compiler->program, make_step(is_less ? Operation::lesser : Operation::greater,
                                                       one.type, one.step, other.step));
    value.width = Max(one.width, other.width);
    value.limit = Max(one.limit, other.limit);
    value.may_be_minus_0 = one.may_be_minus_0 || other.may_be_minus_0;
    value.real = no_step;
    const bool is_interval = value.kind == Kind::Interval;
    if (!is_interval && (!is_numeric(value) || (one.shown == other.shown && one.shown != kShownByRow)))
        return value;
    const uint16 is_better = is_less ? logic(compiler, Operation::less, other.step, one.step)
                                     : logic(compiler, Operation::less, one.step, other.step);
    const uint16 is_other =
        logic(compiler, Operation::logical_or, is_better, logic(compiler, Operation::is_null, one.step));
    const uint16 is_there =
        logic(compiler, Operation::logical_not, logic(compiler, Operation::is_null, other.step));
    const uint16 is_taken = logic(compiler, Operation::logical_and, is_other, is_there);
    if (is_interval) {
        choose_fields(compiler, is_taken, other, one, &value);
        return value;
    }
    value.shown = kShownByRow;
    value.shown_step = choose_step(compiler, ValueType::int64, is_taken, shown_step_of(compiler, other),
                                   shown_step_of(compiler, one));
    return value;
}

Value compile_extreme(Compiler *compiler, const MinMaxExpr *expression) {
    Value all = {};
    ListCell *cell;
    foreach (cell, expression->args) {
        Value next = compile(compiler, static_cast<const Expr *>(lfirst(cell)));
        if (is_refused(compiler))
            return {};
        if (cell == list_head(expression->args)) {
            all = next;
            continue;
        }
        if (!bring_together(compiler, &all, &next))
            return {};
        if (all.kind == Kind::Group && (!order_numbers(compiler, &all, expression->inputcollid) ||
                                        !order_numbers(compiler, &next, expression->inputcollid)))
            return {};
        const bool is_less = expression->op == IS_LEAST;
        all = all.is_null ? next : next.is_null ? all : choose_extreme(compiler, is_less, all, next);
    }
    return all;
}

}  // namespace pg_gpu::plan::query
