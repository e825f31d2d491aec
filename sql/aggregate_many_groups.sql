-- More groups than 22 bits number, which a session keeps dense where at least half as many rows come. Each statement is run with the
-- node GpuAggregate and without it, and the answers are held against each other.
SET pg_gpu.path = paged;
SET max_parallel_workers_per_gather = 0;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
-- A group takes some words, and all groups a part of the memory.
SET work_mem = '1GB';
SET hash_mem_multiplier = 2;
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Every other integer, in no order, one of them often, and NULL. The last row is the greatest key that 23 bits hold beside NULL.
CREATE UNLOGGED TABLE many (k int4, x int4) WITH (autovacuum_enabled = off);
INSERT INTO many
SELECT CASE WHEN i % 100000 = 0 THEN NULL WHEN i % 1000 = 0 THEN 14 ELSE 2 * (i::int8 * 7919 % 4194301) END, i
FROM generate_series(1, 4200000) AS i;
INSERT INTO many VALUES (8388606, 0);
CREATE INDEX many_i ON many USING gpu_column (k, x);
VACUUM ANALYZE many;
SELECT column_name, encoding, bits FROM gpu.columns('many_i') WHERE column_name = 'k';

-- All groups are there, and few have rows: first and last ones, NULL, and one that has several rows.
SELECT * FROM compare_all($list$
SELECT k, count(*), sum(x), min(x), max(x) FROM many WHERE x % 4000 < 2 OR x < 3 GROUP BY k
SELECT k, count(x) FROM many WHERE x < 0 GROUP BY k
-- All have rows, and all reach the executor.
SELECT count(*), sum(k), sum(n), sum(s), sum(hashint8(s) * k::int8) FROM (SELECT k, count(*) AS n, sum(x) AS s FROM many GROUP BY k OFFSET 0) AS q
$list$);
-- A key out of reach of so many bits comes after the table was indexed, and rows go.
INSERT INTO many VALUES (-5, 1), (2147483647, 2), (0, 3), (NULL, 4);
DELETE FROM many WHERE x BETWEEN 1000 AND 1010;
SELECT * FROM compare('SELECT k, count(*), sum(x) FROM many WHERE x < 2000 OR x % 100000 = 0 GROUP BY k');

DROP TABLE many;
DROP FUNCTION compare, compare_all, who_answers, answer_of;
