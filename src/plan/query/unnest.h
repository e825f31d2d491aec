// Sub-selects that compute an aggregate for each row around them, as
//     SELECT … FROM part WHERE … AND x < (SELECT avg(y) FROM piece WHERE piece.k = part.k)
// become groups that are joined, which is the same where no group is empty of rows that count:
//     SELECT … FROM part, (SELECT k, avg(y) AS a FROM piece GROUP BY k) AS g WHERE … AND x < g.a AND g.k =
//     part.k
// (Kim: On Optimizing an SQL-like Nested Query, 1982). PostgreSQL asks such a sub-select anew for each row,
// which an index makes fast where rows are few. So both statements are planned, and the cheaper plan is
// taken. Other ways to write a statement are tried likewise.
#pragma once

namespace pg_gpu::plan::query {

void install_unnesting();

// Is a cursor's statement planned whose rows may be fetched backwards, if its plan can do that?
bool may_scan_backward();

}  // namespace pg_gpu::plan::query
