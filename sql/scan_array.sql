-- Arrays: the access method takes the whole array, whatever is in it.
-- Keys 0..999 three times each, five NULLs; a run, sealed tails and a tail.
-- Count scans have a test of their own.
SET pg_gpu.enable_count_scan = off;
CREATE TABLE array_test (k int4, id int);
INSERT INTO array_test SELECT (i * 7919) % 1000, i FROM generate_series(1, 1000) AS i;
CREATE INDEX array_test_k ON array_test USING gpu_kary (k);
INSERT INTO array_test SELECT (i * 7919) % 1000, i FROM generate_series(1001, 3000) AS i;
INSERT INTO array_test SELECT NULL, i FROM generate_series(3001, 3005) AS i;
VACUUM ANALYZE array_test;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;

EXPLAIN (COSTS OFF) SELECT k, id FROM array_test WHERE k = ANY ('{500,3,999}');
SELECT k, count(id), sum(id) FROM array_test WHERE k = ANY ('{500,3,999}') GROUP BY k ORDER BY k;
-- Duplicates and NULLs add nothing.
SELECT count(id), sum(id) FROM array_test WHERE k = ANY ('{500,3,999}');
SELECT count(id), sum(id) FROM array_test WHERE k = ANY ('{3,500,NULL,999,3,3,500,NULL}');
SELECT count(id), sum(id) FROM array_test WHERE k IN (500, 3, 999, 3);
SELECT count(id) FROM array_test WHERE k = ANY ('{}'::int4[]);
SELECT count(id) FROM array_test WHERE k = ANY ('{NULL}'::int4[]);
SELECT count(id) FROM array_test WHERE k = ANY ('{-1,1000,NULL}');
SELECT count(id) FROM array_test WHERE k = ANY ((SELECT NULL::int4[])::int4[]);
-- Two dimensions are as good as one.
SELECT count(id), sum(id) FROM array_test WHERE k = ANY ('{{500,3},{999,3}}');

-- Index order, whichever order the array has.
EXPLAIN (COSTS OFF) SELECT k FROM array_test WHERE k = ANY ('{7,2,5,2,NULL}') ORDER BY k;
SELECT k FROM array_test WHERE k = ANY ('{7,2,5,2,NULL}') ORDER BY k;
EXPLAIN (COSTS OFF) SELECT k FROM array_test WHERE k = ANY ('{7,2,5,2,NULL}') ORDER BY k DESC;
SELECT k FROM array_test WHERE k = ANY ('{7,2,5,2,NULL}') ORDER BY k DESC;
SELECT k FROM array_test WHERE k = ANY ('{7,2,5,2,NULL}') ORDER BY k LIMIT 4;
SELECT k FROM array_test WHERE k = ANY ('{7,2,5,2,NULL}') ORDER BY k DESC LIMIT 4;

-- Elements of other types, beyond the column's own as well.
EXPLAIN (COSTS OFF) SELECT count(id) FROM array_test WHERE k = ANY ('{3,4294967299,-9223372036854775808,5}'::int8[]);
SELECT count(id), sum(id) FROM array_test WHERE k = ANY ('{3,4294967299,-9223372036854775808,5}'::int8[]);
EXPLAIN (COSTS OFF) SELECT count(id) FROM array_test WHERE k = ANY ('{3,5,32767}'::int2[]);
SELECT count(id), sum(id) FROM array_test WHERE k = ANY ('{3,5,32767}'::int2[]);

-- Other operators: the widest element decides.
EXPLAIN (COSTS OFF) SELECT count(id) FROM array_test WHERE k < ANY ('{5,20,NULL,1}');
SELECT count(id) FROM array_test WHERE k < ANY ('{5,20,NULL,1}');
SELECT count(id) FROM array_test WHERE k <= ANY ('{5,20,NULL,1}');
SELECT count(id) FROM array_test WHERE k > ANY ('{990,995,NULL}');
SELECT count(id) FROM array_test WHERE k >= ANY ('{990,995,NULL}');
SELECT count(id) FROM array_test WHERE k < ANY ('{9223372036854775807,NULL}'::int8[]);
SELECT count(id) FROM array_test WHERE k > ANY ('{9223372036854775807,NULL}'::int8[]);
SELECT count(id) FROM array_test WHERE k >= ANY ('{}'::int2[]);
SELECT count(id) FROM array_test WHERE k < ANY ('{NULL}'::int4[]);

-- Several conditions in one scan.
EXPLAIN (COSTS OFF) SELECT count(id) FROM array_test WHERE k = ANY ('{1,3,5,7}') AND k = ANY ('{3,4,5,6}'::int8[]);
SELECT k, count(id) FROM array_test WHERE k = ANY ('{1,3,5,7}') AND k = ANY ('{3,4,5,6}'::int8[]) GROUP BY k ORDER BY k;
SELECT k, count(id) FROM array_test WHERE k = ANY ('{1,3,5,7}') AND k > 4 GROUP BY k ORDER BY k;
SELECT k, count(id) FROM array_test WHERE k = ANY ('{1,3,5,7}') AND k < ANY ('{2,6}') GROUP BY k ORDER BY k;
SELECT k, count(id) FROM array_test WHERE k = ANY ('{1,3,5,7}') AND k = 3 GROUP BY k ORDER BY k;
SELECT count(id) FROM array_test WHERE k = ANY ('{1,3}') AND k = ANY ('{2,4}');
SELECT count(id) FROM array_test WHERE k = ANY ('{1,3}') AND k = ANY ('{3,NULL}') AND k = ANY ('{5,3}');
SELECT count(id) FROM array_test WHERE k = ANY ('{1,3}') AND k IS NOT NULL;
SELECT count(id) FROM array_test WHERE k = ANY ('{1,3}') AND k IS NULL;
SELECT count(id) FROM array_test WHERE k > ANY ('{10,20}') AND k < ANY ('{15,12}');

-- ALL isn't for indexes; it still answers.
SELECT count(id) FROM array_test WHERE k < ALL ('{5,20,1}');

-- An array longer than any page, in no order; the even ones of the table's keys are in it.
SELECT count(id), count(DISTINCT k), min(k), max(k)
FROM array_test WHERE k = ANY ((SELECT array_agg((i * 7919) % 4000 * 2 ORDER BY i) FROM generate_series(1, 4000) AS i)::int4[]);

-- Arrays that only execution knows.
PREPARE array_any (int8[]) AS SELECT count(id), sum(id) FROM array_test WHERE k = ANY ($1);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE array_any('{3,5}');
EXECUTE array_any('{3,5}');
EXECUTE array_any('{}');
EXECUTE array_any(NULL);
EXECUTE array_any('{NULL,3}');
DEALLOCATE array_any;
RESET plan_cache_mode;

-- Index-only.
SET enable_indexonlyscan = on;
EXPLAIN (COSTS OFF) SELECT count(*) FROM array_test WHERE k = ANY ('{500,3,999,3,NULL}');
SELECT count(*), sum(k) FROM array_test WHERE k = ANY ('{500,3,999,3,NULL}');
SELECT k FROM array_test WHERE k = ANY ('{7,2,5,2,NULL}') ORDER BY k DESC;
SELECT count(*) FROM array_test WHERE k < ANY ('{5,20,NULL,1}');
SELECT count(*) FROM array_test WHERE k = ANY ('{1,3,5,7}') AND k = ANY ('{3,4,5,6}');

-- Bitmap.
SET enable_indexscan = off;
SET enable_bitmapscan = on;
EXPLAIN (COSTS OFF) SELECT count(id) FROM array_test WHERE k = ANY ('{500,3,999,3,NULL}');
SELECT count(id), sum(id) FROM array_test WHERE k = ANY ('{500,3,999,3,NULL}');
SELECT count(id) FROM array_test WHERE k < ANY ('{5,20,NULL,1}');
SELECT count(id) FROM array_test WHERE k = ANY ('{1,3,5,7}') AND k = ANY ('{3,4,5,6}');
SELECT count(id) FROM array_test WHERE k = ANY ('{}'::int4[]);
DROP TABLE array_test;

-- int8, descending.
RESET enable_indexscan;
SET enable_bitmapscan = off;
CREATE TABLE array_test (k int8);
CREATE INDEX array_test_k ON array_test USING gpu_kary (k DESC);
INSERT INTO array_test SELECT i % 500 FROM generate_series(1, 1500) AS i;
INSERT INTO array_test VALUES (9223372036854775807), (-9223372036854775808), (NULL);
EXPLAIN (COSTS OFF) SELECT k FROM array_test WHERE k = ANY ('{9223372036854775807,1,-9223372036854775808,2,1}') ORDER BY k;
SELECT k FROM array_test WHERE k = ANY ('{9223372036854775807,1,-9223372036854775808,2,1}') ORDER BY k;
SELECT k FROM array_test WHERE k = ANY ('{9223372036854775807,1,-9223372036854775808,2,1}') ORDER BY k DESC;
SELECT k FROM array_test WHERE k = ANY ('{1,2}'::int2[]) ORDER BY k DESC;
SELECT k FROM array_test WHERE k = ANY ('{2147483647,1}'::int4[]) ORDER BY k;
SELECT count(*) FROM array_test WHERE k >= ANY ('{498,499}') ;
DROP TABLE array_test;
