// Numberings whose numbers the server process gives: those of strings in its code spaces
// (column/query/string_space.h). The session reads no dictionary for them, and of the strings that leave the
// engine only these.
#pragma once

#include "plan/query/aggregates.h"
#include "plan/query/columns.h"

namespace pg_gpu::plan::query {

// Finds which numberings may be the server's: of columns' own strings, which are equal as their bytes are,
// and in no other order than theirs.
void find_numbers_by_space(const TableViews &views, Program *program);

// Makes a column of a run a member of its numbering's code space, if its dictionary has entries.
void make_space_column(const ViewColumns &columns, int run, uint16 numbering, engine::RunColumn *made);

// Has the session's own strings numbered: constants and those of its own rows. Returns false where the server
// doesn't number strings of these runs.
bool number_by_spaces(const TableViews &views, Program *program, const ScanColumns *scans);

// Makes the session number all strings instead.
void forget_spaces(Program *program);

// Reads the strings that records have; in the program's memory context. Returns false without an answer.
bool read_space_values(const CompiledQuery &compiled, const RecordLayout &layout,
                       column::QueryResult *records);

}  // namespace pg_gpu::plan::query
