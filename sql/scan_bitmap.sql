-- Bitmaps: alone, combined with AND and OR, with other access methods, lossy.
CREATE TABLE bitmap_test (a int4, b int8, c int4, filler text);
INSERT INTO bitmap_test SELECT i % 100, (i * 7) % 300, i, repeat('x', 200) FROM generate_series(1, 3000) AS i;
CREATE INDEX bitmap_test_a ON bitmap_test USING gpu_kary (a);
CREATE INDEX bitmap_test_b ON bitmap_test USING gpu_kary (b DESC);
CREATE INDEX bitmap_test_c ON bitmap_test USING btree (c);
INSERT INTO bitmap_test SELECT i % 100, (i * 7) % 300, i, repeat('x', 200) FROM generate_series(3001, 6000) AS i;
INSERT INTO bitmap_test SELECT NULL, NULL, i, repeat('x', 200) FROM generate_series(6001, 6010) AS i;
VACUUM ANALYZE bitmap_test;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;

EXPLAIN (COSTS OFF) SELECT count(*) FROM bitmap_test WHERE a = 5 OR b = 10;
SELECT count(*), sum(c) FROM bitmap_test WHERE a = 5 OR b = 10;
EXPLAIN (COSTS OFF) SELECT count(*) FROM bitmap_test WHERE a BETWEEN 5 AND 9 AND b BETWEEN 30 AND 40;
SELECT count(*), sum(c) FROM bitmap_test WHERE a BETWEEN 5 AND 9 AND b BETWEEN 30 AND 40;
EXPLAIN (COSTS OFF) SELECT count(*) FROM bitmap_test WHERE a = 5 OR c = 17 OR b IS NULL;
SELECT count(*), sum(c) FROM bitmap_test WHERE a = 5 OR c = 17 OR b IS NULL;
SELECT count(*), sum(c) FROM bitmap_test WHERE a = ANY ('{5,6,NULL}') OR a > 98;
EXPLAIN (COSTS OFF) SELECT count(*) FROM bitmap_test WHERE a = 5 OR a < 2;
SELECT count(*), sum(c) FROM bitmap_test WHERE a = 5 OR a = 6;

-- A bitmap too large for work_mem forgets rows and remembers pages.
SET work_mem = '64kB';
SELECT count(*), sum(c) FROM bitmap_test WHERE a < 50;
SELECT count(*), sum(c) FROM bitmap_test WHERE b < 150 OR a < 20;
RESET work_mem;

-- The bitmap is right for the statement's snapshot, deletions included.
BEGIN;
DELETE FROM bitmap_test WHERE a = 5 AND c % 2 = 1;
UPDATE bitmap_test SET a = 5 WHERE c = 1;
SELECT count(*), sum(c) FROM bitmap_test WHERE a = 5 OR b = 10;
ROLLBACK;
SELECT count(*), sum(c) FROM bitmap_test WHERE a = 5 OR b = 10;
DROP TABLE bitmap_test;
