-- The server's own counters see the index, and ANALYZE feeds its costs.
CREATE TABLE statistics_test (k int4, id int);
INSERT INTO statistics_test SELECT i % 500, i FROM generate_series(1, 5000) AS i;
CREATE INDEX statistics_test_k ON statistics_test USING gpu_kary (k);
VACUUM ANALYZE statistics_test;
SELECT relpages > 0 AS has_pages, reltuples FROM pg_class WHERE oid = 'statistics_test_k'::regclass;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(id) FROM statistics_test WHERE k = 3;
SELECT count(*) FROM statistics_test WHERE k BETWEEN 250 AND 251;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = on;
SELECT count(id) FROM statistics_test WHERE k = 5;
SELECT pg_stat_force_next_flush();
SELECT idx_scan, idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'statistics_test_k';
SELECT idx_blks_read + idx_blks_hit > 0 AS counted FROM pg_statio_user_indexes WHERE indexrelname = 'statistics_test_k';

-- With nothing forced a point goes through the index and the whole table doesn't.
RESET ALL;
EXPLAIN (COSTS OFF) SELECT * FROM statistics_test WHERE k = 3 AND id = 3;
EXPLAIN (COSTS OFF) SELECT sum(id) FROM statistics_test WHERE k >= 0;
EXPLAIN (COSTS OFF) SELECT k FROM statistics_test ORDER BY k LIMIT 1;

-- VACUUM's count of tuples follows deletions.
DELETE FROM statistics_test WHERE k >= 100;
VACUUM statistics_test;
SELECT reltuples FROM pg_class WHERE oid = 'statistics_test_k'::regclass;
DROP TABLE statistics_test;
