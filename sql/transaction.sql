-- Storage that is rebuilt or thrown away inside transactions.
-- Count scans have a test of their own.
SET pg_gpu.enable_count_scan = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;

-- TRUNCATE in the transaction that made the table keeps the file and empties it.
BEGIN;
CREATE TABLE truncate_new (k int4);
CREATE INDEX truncate_new_k ON truncate_new USING gpu_kary (k);
INSERT INTO truncate_new SELECT i FROM generate_series(1, 3000) AS i;
SELECT count(*) FROM truncate_new WHERE k > 10;
TRUNCATE truncate_new;
SELECT count(*) FROM truncate_new WHERE k > 10;
INSERT INTO truncate_new SELECT i FROM generate_series(5, 14) AS i;
SELECT count(*) FROM truncate_new WHERE k > 10;
SAVEPOINT a;
INSERT INTO truncate_new SELECT i FROM generate_series(1, 3000) AS i;
TRUNCATE truncate_new;
INSERT INTO truncate_new VALUES (100);
SELECT k FROM truncate_new WHERE k > 10;
ROLLBACK TO a;
SELECT k FROM truncate_new WHERE k > 10;
COMMIT;
EXPLAIN (COSTS OFF) SELECT k FROM truncate_new WHERE k > 10;
SELECT k FROM truncate_new WHERE k > 10;
SELECT * FROM gpu.verify('truncate_new_k');

-- TRUNCATE of an older table, rolled back and committed.
INSERT INTO truncate_new SELECT i FROM generate_series(1, 2000) AS i;
BEGIN;
TRUNCATE truncate_new;
INSERT INTO truncate_new VALUES (12);
SELECT count(*) FROM truncate_new WHERE k > 10;
ROLLBACK;
SELECT count(*) FROM truncate_new WHERE k > 10;
TRUNCATE truncate_new;
SELECT count(*) FROM truncate_new WHERE k > 10;
INSERT INTO truncate_new VALUES (12);
SELECT k FROM truncate_new WHERE k > 10;
SELECT * FROM gpu.verify('truncate_new_k');
DROP TABLE truncate_new;

-- Temporary tables that empty themselves.
CREATE TEMP TABLE temp_rows (k int8) ON COMMIT DELETE ROWS;
CREATE INDEX temp_rows_k ON temp_rows USING gpu_kary (k);
BEGIN;
INSERT INTO temp_rows SELECT i FROM generate_series(1, 2500) AS i;
EXPLAIN (COSTS OFF) SELECT count(*) FROM temp_rows WHERE k <= 2000;
SELECT count(*) FROM temp_rows WHERE k <= 2000;
COMMIT;
SELECT count(*) FROM temp_rows WHERE k <= 2000;
BEGIN;
INSERT INTO temp_rows VALUES (5), (6);
SELECT k FROM temp_rows WHERE k > 5;
ROLLBACK;
BEGIN;
INSERT INTO temp_rows VALUES (7);
SELECT k FROM temp_rows WHERE k > 5;
COMMIT;
SELECT * FROM gpu.verify('temp_rows_k');
DROP TABLE temp_rows;
BEGIN;
CREATE TEMP TABLE temp_drop (k int4) ON COMMIT DROP;
CREATE INDEX temp_drop_k ON temp_drop USING gpu_kary (k);
INSERT INTO temp_drop SELECT i FROM generate_series(1, 2000) AS i;
SELECT count(*) FROM temp_drop WHERE k = 77;
SELECT gpu.count('temp_drop_k', ARRAY[1], ARRAY[100]);
COMMIT;

-- A temporary table that stays: sealed, vacuumed and merged like any other.
CREATE TEMP TABLE temp_stay (k int4, id int);
CREATE INDEX temp_stay_k ON temp_stay USING gpu_kary (k) WITH (fanout = 2);
INSERT INTO temp_stay SELECT i % 700, i FROM generate_series(1, 4000) AS i;
DELETE FROM temp_stay WHERE k < 100;
VACUUM temp_stay;
INSERT INTO temp_stay SELECT i % 50, i FROM generate_series(4001, 6800) AS i;
SELECT count(*), sum(id) FROM temp_stay WHERE k < 120;
SELECT count(*) > 0 AS merged FROM gpu.merge('temp_stay_k');
SELECT count(*) AS runs, sum(dead) AS dead FROM gpu.runs('temp_stay_k');
SELECT count(*), sum(id) FROM temp_stay WHERE k < 120;
SELECT gpu.count('temp_stay_k', NULL::int4[], ARRAY[119]);
SELECT * FROM gpu.verify('temp_stay_k');
DROP TABLE temp_stay;

-- Unlogged.
CREATE UNLOGGED TABLE unlogged_rows (k int4);
CREATE INDEX unlogged_rows_k ON unlogged_rows USING gpu_kary (k);
INSERT INTO unlogged_rows SELECT i FROM generate_series(1, 2000) AS i;
SELECT count(*) FROM unlogged_rows WHERE k > 500;
ALTER TABLE unlogged_rows SET LOGGED;
SELECT count(*) FROM unlogged_rows WHERE k > 500;
INSERT INTO unlogged_rows SELECT i FROM generate_series(1, 2000) AS i;
SELECT count(*) FROM unlogged_rows WHERE k > 500;
ALTER TABLE unlogged_rows SET UNLOGGED;
SELECT count(*) FROM unlogged_rows WHERE k > 500;
SELECT * FROM gpu.verify('unlogged_rows_k');
DROP TABLE unlogged_rows;

-- Savepoints: what was rolled back is never seen, not even after its heap slots are used again.
CREATE TABLE savepoint_test (k int4, id int);
CREATE INDEX savepoint_test_k ON savepoint_test USING gpu_kary (k);
BEGIN;
INSERT INTO savepoint_test SELECT 1, i FROM generate_series(1, 800) AS i;
SAVEPOINT a;
INSERT INTO savepoint_test SELECT 2, i FROM generate_series(801, 1600) AS i;
SAVEPOINT b;
DELETE FROM savepoint_test WHERE k = 1 AND id <= 300;
SELECT k, count(*) FROM savepoint_test WHERE k IN (1, 2) GROUP BY k ORDER BY k;
ROLLBACK TO b;
SELECT k, count(*) FROM savepoint_test WHERE k IN (1, 2) GROUP BY k ORDER BY k;
ROLLBACK TO a;
INSERT INTO savepoint_test SELECT 3, i FROM generate_series(1601, 1700) AS i;
COMMIT;
SELECT k, count(*), sum(id) FROM savepoint_test WHERE k IN (1, 2, 3) GROUP BY k ORDER BY k;
VACUUM savepoint_test;
INSERT INTO savepoint_test SELECT 4, i FROM generate_series(1701, 2500) AS i;
SELECT k, count(*), sum(id) FROM savepoint_test WHERE k IN (1, 2, 3, 4) GROUP BY k ORDER BY k;
SELECT * FROM gpu.verify('savepoint_test_k');

-- Statements that write into the range they read move each row once.
TRUNCATE savepoint_test;
INSERT INTO savepoint_test SELECT i, i FROM generate_series(1, 1000) AS i;
ANALYZE savepoint_test;
EXPLAIN (COSTS OFF) UPDATE savepoint_test SET k = k + 3 WHERE k > 0;
UPDATE savepoint_test SET k = k + 3 WHERE k > 0;
SELECT count(*), count(*) FILTER (WHERE k = id + 3) AS moved_once FROM savepoint_test WHERE k > 0;
INSERT INTO savepoint_test SELECT k + 1, id FROM savepoint_test WHERE k > 500;
SELECT count(*) FROM savepoint_test WHERE k > 0;
DELETE FROM savepoint_test WHERE k > 1002 RETURNING k;
-- The same from a function that reads slowly while it writes.
DO $$
DECLARE
  r record;
  seen int := 0;
BEGIN
  FOR r IN SELECT k, id FROM savepoint_test WHERE k BETWEEN 100 AND 160 ORDER BY k LOOP
    INSERT INTO savepoint_test SELECT r.k + 1, 0 FROM generate_series(1, 50);
    DELETE FROM savepoint_test WHERE id = r.id AND k = r.k;
    seen := seen + 1;
  END LOOP;
  RAISE NOTICE 'rows seen: %', seen;
END
$$;
SELECT count(*), min(k), max(k) FROM savepoint_test WHERE k BETWEEN 100 AND 161 AND id = 0;
SELECT * FROM gpu.verify('savepoint_test_k');

-- DDL rolled back.
BEGIN;
DROP INDEX savepoint_test_k;
ROLLBACK;
BEGIN;
CREATE INDEX savepoint_test_k2 ON savepoint_test USING gpu_kary (id);
INSERT INTO savepoint_test VALUES (-5, -5);
SELECT count(*) FROM savepoint_test WHERE id = -5;
ROLLBACK;
INSERT INTO savepoint_test VALUES (-6, -6);
EXPLAIN (COSTS OFF) SELECT id FROM savepoint_test WHERE k < 0;
SELECT id FROM savepoint_test WHERE k < 0;
BEGIN;
REINDEX INDEX savepoint_test_k;
INSERT INTO savepoint_test VALUES (-7, -7);
SELECT id FROM savepoint_test WHERE k < 0;
ROLLBACK;
SELECT id FROM savepoint_test WHERE k < 0;
INSERT INTO savepoint_test VALUES (-8, -8);
SELECT id FROM savepoint_test WHERE k < 0 ORDER BY k;
SELECT * FROM gpu.verify('savepoint_test_k');
DROP TABLE savepoint_test;

-- Merging within an INSERT leaves no memory behind until the end of the transaction.
BEGIN;
CREATE TABLE long_insert (k int4);
CREATE INDEX long_insert_k ON long_insert USING gpu_kary (k);
INSERT INTO long_insert SELECT i FROM generate_series(1, 100000) AS i;
SELECT count(*) < 20 AS merged FROM gpu.runs('long_insert_k');
SELECT count(*) AS left_behind FROM pg_backend_memory_contexts WHERE name = 'CurTransactionContext';
ROLLBACK;
