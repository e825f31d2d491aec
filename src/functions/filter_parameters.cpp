#include "functions/filter_parameters.h"

#include "compat.h"
#include "memory.h"

namespace pg_gpu::functions {

FilterParameters read_parameters(FunctionCallInfo fcinfo, int first) {
    FilterParameters parameters = {};
    if (PG_NARGS() > first)
        parameters.count = extract_variadic_args(fcinfo, first, false, &parameters.values, &parameters.types,
                                                 &parameters.nulls);
    // VARIADIC NULL has -1.
    parameters.count = Max(parameters.count, 0);
    parameters.is_literal = allocate<bool>(parameters.count + 1);
    for (int i = 0; i < parameters.count; i++)
        parameters.is_literal[i] = parameters.types[i] == UNKNOWNOID;
    return parameters;
}

// ---- numbers ----------------------------------------------------------------------------------------------

namespace {

struct References {
    ParseState *state;
    int values;
    int highest;
};

}  // namespace

static bool look_at_reference(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (!IsA(node, ParamRef))
        return walk_raw_expression(node, look_at_reference, context);
    auto *references = static_cast<References *>(context);
    const auto *reference = reinterpret_cast<ParamRef *>(node);
    if (reference->number < 1 || reference->number > references->values)
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_PARAMETER),
                        errmsg("there is no value for parameter $%d of the filter", reference->number),
                        errdetail_plural("The call has %d value after the filter.",
                                         "The call has %d values after the filter.", references->values,
                                         references->values),
                        errhint("Give the values as further arguments, that of $1 first."),
                        parser_errposition(references->state, reference->location)));
    references->highest = Max(references->highest, reference->number);
    return false;
}

void require_parameters(ParseState *state, Node *filter, const FilterParameters &parameters) {
    References references = {state, parameters.count, 0};
    look_at_reference(filter, &references);
    if (references.highest < parameters.count)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("the filter has no parameter $%d", references.highest + 1),
                        errdetail_plural("The call has %d value after the filter.",
                                         "The call has %d values after the filter.", parameters.count,
                                         parameters.count),
                        errhint("Refer to each value by its number in the filter, to the first as $1.")));
}

// ---- types and values -------------------------------------------------------------------------------------

// Uses the parser's own resolution, as PREPARE does; it writes into types, which it never needs to enlarge.
void set_up_parameters(ParseState *state, FilterParameters *parameters) {
    setup_parse_variable_parameters(state, &parameters->types, &parameters->count);
}

static void describe_parameter(void *number) {
    errcontext("value of parameter $%d of the filter", *static_cast<const int *>(number));
}

static Datum value_of_literal(const char *literal, Oid type, int number) {
    ErrorContextCallback callback = {error_context_stack, describe_parameter, &number};
    error_context_stack = &callback;
    Oid function;
    Oid element;
    getTypeInputInfo(type, &function, &element);
    const Datum value = OidInputFunctionCall(function, const_cast<char *>(literal), element, -1);
    error_context_stack = callback.previous;
    return value;
}

static Node *replace_parameter(Node *node, void *context) {
    if (node == nullptr || !IsA(node, Param))
        return node == nullptr ? nullptr : mutate_expression(node, replace_parameter, context);
    const auto *values = static_cast<const FilterParameters *>(context);
    const auto *parameter = reinterpret_cast<Param *>(node);
    const int at = parameter->paramid - 1;
    int16 length;
    bool by_value;
    get_typlenbyval(parameter->paramtype, &length, &by_value);
    return reinterpret_cast<Node *>(makeConst(parameter->paramtype, -1, parameter->paramcollid, length,
                                              values->nulls[at] ? Datum{0} : values->values[at],
                                              values->nulls[at], by_value));
}

Node *replace_parameters(ParseState *state, Node *expression, FilterParameters *parameters) {
    if (parameters->count == 0)
        return expression;
    // Were they all of one type wherever they occur?
    Query *query = makeNode(Query);
    query->jointree = makeFromExpr(NIL, expression);
    check_variable_parameters(state, query);
    for (int i = 0; i < parameters->count; i++)
        if (parameters->is_literal[i] && !parameters->nulls[i])
            parameters->values[i] =
                value_of_literal(DatumGetCString(parameters->values[i]), parameters->types[i], i + 1);
    return replace_parameter(expression, parameters);
}

}  // namespace pg_gpu::functions
