// The values that a filter's $1, $2 … stand for.
#pragma once

#include "functions/parsing.h"

namespace pg_gpu::functions {

struct FilterParameters {
    int count;
    Datum *values;
    Oid *types;
    bool *nulls;
    // Bare literals: their values are C strings, of type unknown, until the filter tells their types.
    bool *is_literal;
};

// Reads the arguments of a function from `first` on, which is VARIADIC "any". There are none where the
// function has no such argument.
FilterParameters read_parameters(FunctionCallInfo fcinfo, int first);

// Raises an ERROR unless the parsed filter refers to $1 … as far as there are values and no further.
void require_parameters(ParseState *state, Node *filter, const FilterParameters &parameters);

// Makes the parameters' types known to expressions that are transformed with `state`. Types of bare literals
// are filled in.
void set_up_parameters(ParseState *state, FilterParameters *parameters);

// Returns the transformed expression with constants for parameters. Raises an ERROR when the type of one
// cannot be told, or a bare literal is no value of its type.
Node *replace_parameters(ParseState *state, Node *expression, FilterParameters *parameters);

}  // namespace pg_gpu::functions
