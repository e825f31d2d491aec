-- Comparisons with constants, as plain, index-only and bitmap scans.
-- The index holds a run from CREATE INDEX, sealed tails and a tail: each of
-- -500..499 three times, five NULLs, and the type's limits once.
-- Count scans have a test of their own.
SET pg_gpu.enable_count_scan = off;
CREATE TABLE compare_test (k int4, id int);
INSERT INTO compare_test SELECT (i * 7919) % 1000 - 500, i FROM generate_series(1, 1000) AS i;
CREATE INDEX compare_test_k ON compare_test USING gpu_kary (k);
INSERT INTO compare_test SELECT (i * 7919) % 1000 - 500, i FROM generate_series(1001, 2900) AS i;
INSERT INTO compare_test SELECT (i * 7919) % 1000 - 500, i FROM generate_series(2901, 3000) AS i;
INSERT INTO compare_test SELECT NULL, i FROM generate_series(3001, 3005) AS i;
INSERT INTO compare_test VALUES (-2147483648, 3006), (2147483647, 3007);
VACUUM ANALYZE compare_test;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;

-- Plain index scans.
EXPLAIN (COSTS OFF) SELECT id FROM compare_test WHERE k = 7;
SELECT id FROM compare_test WHERE k = 7 ORDER BY id;
EXPLAIN (COSTS OFF) SELECT count(id) FROM compare_test WHERE k < -490;
SELECT count(id), min(id), max(id), sum(id) FROM compare_test WHERE k < -490;
SELECT count(id), min(id), max(id), sum(id) FROM compare_test WHERE k <= -490;
SELECT count(id), min(id), max(id), sum(id) FROM compare_test WHERE k >= 490;
SELECT count(id), min(id), max(id), sum(id) FROM compare_test WHERE k > 490;
EXPLAIN (COSTS OFF) SELECT count(id) FROM compare_test WHERE k BETWEEN -10 AND 9;
SELECT count(id), min(id), max(id), sum(id) FROM compare_test WHERE k BETWEEN -10 AND 9;
SELECT count(id) FROM compare_test WHERE k > -10 AND k < 10;
SELECT count(id) FROM compare_test WHERE 5 >= k AND 2 < k;

-- Nothing there.
SELECT count(id) FROM compare_test WHERE k = 500;
SELECT count(id) FROM compare_test WHERE k > 9 AND k < 10;
SELECT count(id) FROM compare_test WHERE k > 10 AND k < 5;
SELECT count(id) FROM compare_test WHERE k = 1 AND k = 2;

-- Redundant and contradicting bounds.
EXPLAIN (COSTS OFF) SELECT count(id) FROM compare_test WHERE k > 3 AND k >= 5 AND k < 9 AND k <= 7;
SELECT count(id) FROM compare_test WHERE k > 3 AND k >= 5 AND k < 9 AND k <= 7;
SELECT count(id) FROM compare_test WHERE k = 5 AND k > 3 AND k <= 5;
SELECT count(id) FROM compare_test WHERE k = 5 AND k > 5;
SELECT count(id) FROM compare_test WHERE k >= 5 AND k <= 5;

-- The type's limits.
SELECT id FROM compare_test WHERE k = -2147483648;
SELECT id FROM compare_test WHERE k = 2147483647;
SELECT id FROM compare_test WHERE k <= -2147483648;
SELECT id FROM compare_test WHERE k >= 2147483647;
SELECT count(id) FROM compare_test WHERE k < -2147483648;
SELECT count(id) FROM compare_test WHERE k > 2147483647;
SELECT count(id) FROM compare_test WHERE k > -2147483648 AND k < 2147483647;

-- NULLs: only IS NULL finds them.
EXPLAIN (COSTS OFF) SELECT id FROM compare_test WHERE k IS NULL;
SELECT id FROM compare_test WHERE k IS NULL ORDER BY id;
EXPLAIN (COSTS OFF) SELECT count(id) FROM compare_test WHERE k IS NOT NULL;
SELECT count(id) FROM compare_test WHERE k IS NOT NULL;
SELECT count(id) FROM compare_test WHERE k IS NOT NULL AND k < -498;
SELECT count(id) FROM compare_test WHERE k IS NULL AND k = 3;
SELECT count(id) FROM compare_test WHERE k = (SELECT NULL::int4);
SELECT count(id) FROM compare_test WHERE k > (SELECT NULL::int4);
SELECT count(id) FROM compare_test WHERE k > 5 AND k < (SELECT NULL::int8);

-- Constants of other integer types, also beyond the column's own.
EXPLAIN (COSTS OFF) SELECT id FROM compare_test WHERE k = 7::int2;
SELECT id FROM compare_test WHERE k = 7::int2 ORDER BY id;
EXPLAIN (COSTS OFF) SELECT id FROM compare_test WHERE k = 7::int8;
SELECT id FROM compare_test WHERE k = 7::int8 ORDER BY id;
SELECT count(id) FROM compare_test WHERE k = 2147483648;
SELECT count(id) FROM compare_test WHERE k = -9223372036854775808;
SELECT count(id) FROM compare_test WHERE k = 4294967303;
SELECT count(id) FROM compare_test WHERE k < 2147483648;
SELECT count(id) FROM compare_test WHERE k <= 9223372036854775807;
SELECT count(id) FROM compare_test WHERE k > 2147483648;
SELECT count(id) FROM compare_test WHERE k >= -2147483649;
SELECT count(id) FROM compare_test WHERE k > -9223372036854775808;
SELECT count(id) FROM compare_test WHERE k < -2147483649;
SELECT count(id) FROM compare_test WHERE k > 490::int2 AND k < 2147483648;
SELECT count(id) FROM compare_test WHERE k BETWEEN '-32768'::int2 AND 32767::int2;

-- Values that only execution knows.
PREPARE compare_int8 (int8) AS SELECT count(id), sum(id) FROM compare_test WHERE k = $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE compare_int8(7);
EXECUTE compare_int8(7);
EXECUTE compare_int8(4294967303);
EXECUTE compare_int8(NULL);
DEALLOCATE compare_int8;
RESET plan_cache_mode;

-- A condition that the index can't judge stays a filter.
EXPLAIN (COSTS OFF) SELECT id FROM compare_test WHERE k = 7 AND id > 2000;
SELECT id FROM compare_test WHERE k = 7 AND id > 2000;
EXPLAIN (COSTS OFF) SELECT count(id) FROM compare_test WHERE k > 400 AND k <> 450;
SELECT count(id) FROM compare_test WHERE k > 400 AND k <> 450;

-- Index-only scans.
SET enable_indexonlyscan = on;
EXPLAIN (COSTS OFF) SELECT k FROM compare_test WHERE k = 7;
SELECT k FROM compare_test WHERE k = 7;
EXPLAIN (COSTS OFF) SELECT count(*) FROM compare_test WHERE k BETWEEN -10 AND 9;
SELECT count(*), min(k), max(k), sum(k) FROM compare_test WHERE k BETWEEN -10 AND 9;
SELECT count(*), min(k), max(k), sum(k) FROM compare_test WHERE k < -490;
SELECT count(*), min(k), max(k), sum(k) FROM compare_test WHERE k >= 490;
SELECT k FROM compare_test WHERE k IS NULL;
SELECT count(*) FROM compare_test WHERE k IS NOT NULL;
SELECT k FROM compare_test WHERE k <= -2147483648;
SELECT k FROM compare_test WHERE k = 7::int2;
SELECT k FROM compare_test WHERE k > 498::int8;
EXPLAIN (COSTS OFF) SELECT count(*) FROM compare_test;
SELECT count(*), count(k) FROM compare_test;

-- Bitmap scans.
SET enable_indexscan = off;
SET enable_bitmapscan = on;
EXPLAIN (COSTS OFF) SELECT id FROM compare_test WHERE k = 7;
SELECT id FROM compare_test WHERE k = 7 ORDER BY id;
EXPLAIN (COSTS OFF) SELECT count(id) FROM compare_test WHERE k BETWEEN -10 AND 9;
SELECT count(id), min(id), max(id), sum(id) FROM compare_test WHERE k BETWEEN -10 AND 9;
SELECT count(id), min(id), max(id), sum(id) FROM compare_test WHERE k < -490;
SELECT count(id), min(id), max(id), sum(id) FROM compare_test WHERE k > 490;
EXPLAIN (COSTS OFF) SELECT id FROM compare_test WHERE k IS NULL;
SELECT id FROM compare_test WHERE k IS NULL ORDER BY id;
SELECT count(id) FROM compare_test WHERE k IS NOT NULL;
SELECT count(id) FROM compare_test WHERE k = 4294967303;
SELECT count(id) FROM compare_test WHERE k <= 9223372036854775807;
SELECT count(id) FROM compare_test WHERE k > 10 AND k < 5;
DROP TABLE compare_test;

-- The same keys as int8 in a descending index: NULLs come first there.
CREATE TABLE compare_test (k int8, id int);
INSERT INTO compare_test SELECT (i * 7919) % 1000 - 500, i FROM generate_series(1, 1000) AS i;
CREATE INDEX compare_test_k ON compare_test USING gpu_kary (k DESC);
INSERT INTO compare_test SELECT (i * 7919) % 1000 - 500, i FROM generate_series(1001, 3000) AS i;
INSERT INTO compare_test SELECT NULL, i FROM generate_series(3001, 3005) AS i;
INSERT INTO compare_test VALUES (-9223372036854775808, 3006), (9223372036854775807, 3007);
VACUUM ANALYZE compare_test;
RESET enable_indexscan;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM compare_test WHERE k = 7;
SELECT id FROM compare_test WHERE k = 7 ORDER BY id;
SELECT id FROM compare_test WHERE k = 7::int2 ORDER BY id;
SELECT id FROM compare_test WHERE k = 7::int4 ORDER BY id;
SELECT count(id), min(id), max(id), sum(id) FROM compare_test WHERE k < -490;
SELECT count(id), min(id), max(id), sum(id) FROM compare_test WHERE k <= -490;
SELECT count(id), min(id), max(id), sum(id) FROM compare_test WHERE k >= 490;
SELECT count(id), min(id), max(id), sum(id) FROM compare_test WHERE k > 490;
SELECT count(id), min(id), max(id), sum(id) FROM compare_test WHERE k BETWEEN -10 AND 9;
SELECT id FROM compare_test WHERE k IS NULL ORDER BY id;
SELECT count(id) FROM compare_test WHERE k IS NOT NULL;
SELECT id FROM compare_test WHERE k <= -9223372036854775808;
SELECT id FROM compare_test WHERE k >= 9223372036854775807;
SELECT count(id) FROM compare_test WHERE k < -9223372036854775808;
SELECT count(id) FROM compare_test WHERE k > 9223372036854775807;
SELECT count(id) FROM compare_test WHERE k > '-2147483648'::int4 AND k < 32767::int2;
SET enable_indexonlyscan = on;
EXPLAIN (COSTS OFF) SELECT k FROM compare_test WHERE k > 498;
SELECT k FROM compare_test WHERE k > 498;
SELECT count(*), count(k) FROM compare_test;
DROP TABLE compare_test;
