// Window functions: what the engine has for each row of those in its frame. A query with them gives rows
// (given_rows.h), whose columns the windows are sorted by.
#pragma once

#include "plan/query/aggregates.h"

namespace pg_gpu::plan::query {

// One of a query's windows, which all have functions: so many of its aggregates, one window's behind the
// other's. `frame_first` and `frame_last` are as the engine has them. `order` is what its rows are sorted by,
// as top.h has it; the first ones tell its partitions apart.
struct Window {
    int64 frame_first;
    int64 frame_last;
    int partition_keys;
    int functions;
    // Of a frame by values: numbers of the row's expressions.
    int frame_key;
    int frame_from;
    int frame_to;
    List *order;
};
inline bool has_frame_by_values(const Window &window) {
    return window.frame_first == engine::values_first || window.frame_last == engine::values_last;
}
// As lists of integers, a list a window.
List *add_window(List *windows, const Window &window);
Window window_of(const List *windows, int number);

// What all of them are sorted by.
List *order_of_windows(const List *windows);

// Compiles the WindowFuncs among `parts`, after its keys.
void compile_windows(Compiler *compiler, const QueryParts &parts, CompiledQuery *compiled);

// Has numbers of values ordered as the windows are; false, with the compiler's refusal: the engine doesn't
// know the order.
bool order_windows(Compiler *compiler, const CompiledQuery &compiled, const List *windows);

}  // namespace pg_gpu::plan::query
