-- Partitioned tables: an index for each partition, order over all of them.
CREATE TABLE part_test (k int8, id int) PARTITION BY RANGE (k);
CREATE TABLE part_low PARTITION OF part_test FOR VALUES FROM (MINVALUE) TO (0);
CREATE TABLE part_mid PARTITION OF part_test FOR VALUES FROM (0) TO (1000);
INSERT INTO part_test SELECT i - 500, i FROM generate_series(1, 1000) AS i;
CREATE INDEX part_test_k ON part_test USING gpu_kary (k DESC) WITH (fanout = 8);
CREATE TABLE part_high PARTITION OF part_test FOR VALUES FROM (1000) TO (MAXVALUE);
CREATE TABLE part_rest (id int, k int8);
CREATE INDEX part_rest_index ON part_rest USING gpu_kary (k DESC);
ALTER TABLE part_test ATTACH PARTITION part_rest DEFAULT;
SELECT relname, relkind, reloptions FROM pg_class
WHERE relname LIKE 'part\_%' AND relkind IN ('i', 'I') ORDER BY relname COLLATE "C";
INSERT INTO part_test SELECT i, i FROM generate_series(501, 1500) AS i;
INSERT INTO part_test VALUES (NULL, 0);
VACUUM ANALYZE part_test;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT id FROM part_test WHERE k = 700;
SELECT id FROM part_test WHERE k = 700;
EXPLAIN (COSTS OFF) SELECT k FROM part_test ORDER BY k DESC LIMIT 3;
SELECT k FROM part_test ORDER BY k DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT k FROM part_test WHERE k BETWEEN -2 AND 1 ORDER BY k;
SELECT k FROM part_test WHERE k BETWEEN -2 AND 1 ORDER BY k;
SELECT count(*), sum(id) FROM part_test WHERE k > 400;
SELECT count(*), sum(id) FROM part_test WHERE k = ANY ('{-499,0,1500,2000,NULL}');
SELECT id FROM part_test WHERE k IS NULL;
-- A row moves to another partition.
UPDATE part_test SET k = k + 1000 WHERE k = 5;
SELECT tableoid::regclass, id FROM part_test WHERE k IN (5, 1005) ORDER BY id;
ALTER TABLE part_test DETACH PARTITION part_mid;
SELECT count(*) FROM part_test WHERE k BETWEEN -10 AND 10;
EXPLAIN (COSTS OFF) SELECT k FROM part_mid WHERE k = 10;
SELECT k FROM part_mid WHERE k = 10;

-- Functions work on a partition's index and refuse the parent's, which stores nothing.
SELECT gpu.count('part_low_k_idx', NULL::int8[], ARRAY[-490::int8]);
SELECT gpu.count('part_test_k', ARRAY[1::int8], ARRAY[2::int8]);
SELECT * FROM gpu.lookup('part_test_k', ARRAY[1::int8]);
SELECT * FROM gpu.runs('part_test_k');
SELECT * FROM gpu.merge('part_test_k');
SELECT * FROM gpu.verify('part_test_k');
REINDEX INDEX part_test_k;
SELECT gpu.count('part_low_k_idx', NULL::int8[], ARRAY[-490::int8]);
DROP TABLE part_test, part_mid;
