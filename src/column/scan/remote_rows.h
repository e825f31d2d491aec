// Inside the folder: the steps of opening a view for the server.
#pragma once

#include "column/scan/mirror.h"

namespace pg_gpu::column {

// The runs of a view, whoever is going to look through them.
client::RunSet runs_of_view(const ColumnView &view);

// Makes the cost model's view of a request about the runs that the server would be asked about.
client::Request request_of(const client::RunSet &set, const Condition &condition,
                           const RemoteRequest &remote_request);
// Is any run large enough for a mirror?
bool is_any_worth_mirroring(const client::RunSet &set);

// Reads the local ones, and puts the others into the set.
void divide_runs(RemoteRows *rows, const client::RunSet &all, const bool *is_local);

// Opens a view with its runs' headers, and chooses a path for it; returns false when that is the paged one.
bool open_remote_view(Relation heap, Relation index, Snapshot snapshot, const Format *format,
                      const Condition &condition, const RemoteRequest &remote_request, RemoteRows *rows);
// Makes what requests about such a view need: tests, and what is known of blocks. Returns false, with the
// view closed, when something changed meanwhile, or the server doesn't answer what must be known.
bool prepare_remote_rows(RemoteRows *rows, const Condition &condition);

// Adds tests for the keys; returns false when the server doesn't answer what must be known for them.
bool add_tests(RemoteRows *rows, const Condition &condition, KeysToApply which);

}  // namespace pg_gpu::column
