// EXPLAIN (ANALYZE) of PostgreSQL's own index scans over indexes of ours, from PostgreSQL 18 on.
#pragma once

namespace pg_gpu::plan {

// Shows with index scans, index-only scans and bitmap index scans what plan/usage.h shows with custom scans.
void register_scan_usage();

}  // namespace pg_gpu::plan
