// The frames of windows: which rows of a partition a function looks at.
#pragma once

#include "plan/query/windows.h"

namespace pg_gpu::plan::query {

// Sets the window's frame. Where it is found by values, as RANGE with an offset is, the expressions for that
// are added to the row, of which `key` is what the window is sorted by. False: the engine doesn't have it.
bool read_frame(const WindowClause *clause, Node *key, List **row, Window *window);

// Gives the columns that a frame by values is found with one type; refuses where frames may go back.
void compile_frame(Compiler *compiler, const List *row, CompiledQuery *compiled, const Window &window);

// May a function look at each of the frame's rows, since they are few, or look at all rows before?
bool is_frame_searchable(const Window &window);

}  // namespace pg_gpu::plan::query
