// Casts of texts within an expression that is evaluated for all entries of a dictionary, as `value::int` is
// of a table of names and values. Most entries may be of other rows, and no number at all. So their texts are
// looked at before PostgreSQL is asked, which raises an error.
#pragma once

#include "executor/executor.h"

namespace pg_gpu::plan::query {

struct TextCast {
    ExprState *text;
    Oid type;       // that it is cast to
    int max_whole;  // numeric: how many digits before the point its precision has room for
};
inline constexpr int kAnyDigits = INT_MAX;

struct TextCasts {
    TextCast *casts;  // inner ones come first
    int count;
};

// Are there casts that are known here? The expression has no function that isn't strict, so that all of it is
// evaluated.
bool has_text_casts(Node *expression);

// Makes them ready in the current memory context.
TextCasts begin_text_casts(Expr *expression);

// Does none of them raise an error for the row of *context? True is certain; false is said of rare forms,
// too. Allocates in the context's memory.
bool are_readable(const TextCasts &casts, ExprContext *context);

}  // namespace pg_gpu::plan::query
