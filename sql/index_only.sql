-- Index-only answers follow the transaction's own view of the heap.
-- Count scans have a test of their own.
\getenv source PG_ABS_SRCDIR
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :plan_of
\set ECHO all
SET pg_gpu.enable_count_scan = off;
CREATE TABLE only_test (k int4, id int);
INSERT INTO only_test SELECT i % 100, i FROM generate_series(1, 1000) AS i;
CREATE INDEX only_test_k ON only_test USING gpu_kary (k);
INSERT INTO only_test SELECT i % 100, i FROM generate_series(1001, 2000) AS i;
INSERT INTO only_test VALUES (NULL, 2001), (NULL, 2002);
VACUUM ANALYZE only_test;
SET enable_seqscan = off;
SET enable_bitmapscan = off;

EXPLAIN (COSTS OFF) SELECT count(*) FROM only_test WHERE k BETWEEN 10 AND 12;
SELECT count(*), sum(k) FROM only_test WHERE k BETWEEN 10 AND 12;
BEGIN;
DELETE FROM only_test WHERE k = 11;
SELECT count(*), sum(k) FROM only_test WHERE k BETWEEN 10 AND 12;
SAVEPOINT a;
INSERT INTO only_test VALUES (12, 3001), (12, 3002);
UPDATE only_test SET k = 10 WHERE k = 13 AND id < 1000;
SELECT count(*), sum(k) FROM only_test WHERE k BETWEEN 10 AND 13;
ROLLBACK TO a;
SELECT count(*), sum(k) FROM only_test WHERE k BETWEEN 10 AND 13;
ROLLBACK;
SELECT count(*), sum(k) FROM only_test WHERE k BETWEEN 10 AND 13;

-- A statement doesn't see what it writes itself.
WITH gone AS (DELETE FROM only_test WHERE k = 20 RETURNING k)
SELECT (SELECT count(*) FROM gone) AS gone, (SELECT count(*) FROM only_test WHERE k = 20) AS still_seen;
SELECT count(*) FROM only_test WHERE k = 20;

-- Deleted, vacuumed, and the heap's slots given to other keys.
DELETE FROM only_test WHERE k BETWEEN 30 AND 39;
VACUUM only_test;
SELECT count(*) FROM only_test WHERE k BETWEEN 30 AND 39;
INSERT INTO only_test SELECT 500 + i % 10, 4000 + i FROM generate_series(1, 200) AS i;
SELECT count(*) FROM only_test WHERE k BETWEEN 30 AND 39;
SELECT count(*), sum(k) FROM only_test WHERE k >= 500;
VACUUM only_test;
SELECT count(*) FROM only_test WHERE k BETWEEN 30 AND 39;
SELECT count(*), sum(k) FROM only_test WHERE k >= 500;
SELECT count(*), count(k), sum(k) FROM only_test;

-- Heap-only updates: the index's entry leads to a chain.
CREATE TABLE only_chain (k int8, n int) WITH (fillfactor = 50);
CREATE INDEX only_chain_k ON only_chain USING gpu_kary (k);
INSERT INTO only_chain SELECT i, 0 FROM generate_series(1, 300) AS i;
UPDATE only_chain SET n = n + 1;
UPDATE only_chain SET n = n + 1 WHERE k % 2 = 0;
SELECT k, n FROM only_chain WHERE k IN (10, 11);
SELECT count(*) FROM only_chain WHERE k BETWEEN 1 AND 300;
VACUUM only_chain;
SELECT k, n FROM only_chain WHERE k IN (10, 11);
SELECT count(*) FROM only_chain WHERE k BETWEEN 1 AND 300;
DELETE FROM only_chain WHERE k > 200;
VACUUM only_chain;
SELECT count(*), max(k) FROM only_chain WHERE k BETWEEN 1 AND 300;

-- A partial index answers alone when the query implies its predicate.
CREATE INDEX only_partial ON only_test USING gpu_kary (k) WHERE id > 1500;
DROP INDEX only_test_k;
EXPLAIN (COSTS OFF) SELECT count(*) FROM only_test WHERE k = 7 AND id > 1500;
SELECT count(*) FROM only_test WHERE k = 7 AND id > 1500;
EXPLAIN (COSTS OFF) SELECT count(*) FROM only_test WHERE k = 7 AND id > 1600;
SELECT count(*) FROM only_test WHERE k = 7 AND id > 1600;
-- One that the query doesn't imply isn't used.
SELECT * FROM pg_temp.plan_of($$SELECT count(*) FROM only_test WHERE k = 7 AND id > 1400$$);
SELECT count(*) FROM only_test WHERE k = 7 AND id > 1400;

-- The index returns its key and nothing else; an expression's value isn't a column's.
CREATE INDEX only_expression ON only_chain USING gpu_kary ((k + 1));
EXPLAIN (COSTS OFF) SELECT k + 1 FROM only_chain WHERE k + 1 = 11;
SELECT k + 1 FROM only_chain WHERE k + 1 = 11;
DROP TABLE only_test, only_chain;
