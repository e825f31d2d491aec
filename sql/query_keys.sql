-- Grouping columns of all numbers that 64 bits hold, of several words together, and of results of arithmetic. Each statement is run
-- with the node GpuQuery and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
SET synchronous_commit = on;

CREATE TABLE keys (id int4, a int8, b int8, c int8, d int8, at timestamp, zoned timestamptz, sure int8 NOT NULL, near int4, small int2, word text) WITH (autovacuum_enabled = off);
-- Numbers from end to end, which hardly repeat.
INSERT INTO keys
SELECT i, CASE i % 50 WHEN 0 THEN -9223372036854775808 WHEN 1 THEN 9223372036854775807 WHEN 2 THEN NULL WHEN 3 THEN -9223372036854775807 ELSE (i - 10000)::int8 * 461168601842738 END,
       CASE i % 50 WHEN 7 THEN -9223372036854775808 WHEN 8 THEN 9223372036854775807 WHEN 9 THEN 9223372036854775806 ELSE (i - 10000)::int8 * 461168601842739 END,
       CASE WHEN i % 3 <> 0 THEN (i * 7919 % 20011 - 10000)::int8 * 461168601842739 END, i::int8 * 461168601842739,
       CASE i % 40 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN NULL WHEN 3 THEN '4713-01-01 00:00:00 BC' ELSE timestamp '2000-01-01' + i * interval '3 days 0.000001' END,
       CASE i % 40 WHEN 5 THEN 'infinity' WHEN 6 THEN '-infinity' ELSE timestamptz '2000-01-01 00:00+00' + i * interval '3 days 0.000001' END,
       CASE i % 2 WHEN 0 THEN -9223372036854775808 ELSE 9223372036854775807 END, i % 100 - 50, i % 7 - 3, 'word ' || i % 11
FROM generate_series(1, 19900) AS i;
INSERT INTO keys SELECT * FROM keys WHERE id % 40 = 0;
INSERT INTO keys (id, sure) SELECT NULL, 0 FROM generate_series(1, 20);
CREATE INDEX keys_i ON keys USING gpu_column (id, a, b, c, d, at, zoned, sure, near, small, word);
VACUUM ANALYZE keys;
SELECT column_name, encoding, bits FROM gpu.columns('keys_i') WHERE column_name IN ('a', 'b', 'at', 'zoned', 'sure');

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- All numbers, and NULL or not.
SELECT * FROM compare_all($list$
SELECT a, count(*), sum(id) FROM keys GROUP BY a
SELECT b, count(*), sum(id) FROM keys GROUP BY b
SELECT sure, count(*), sum(id) FROM keys GROUP BY sure
SELECT at, count(*), sum(id) FROM keys GROUP BY at
SELECT zoned, count(*), sum(id) FROM keys GROUP BY zoned
SELECT count(DISTINCT a), count(DISTINCT at), sum(DISTINCT b), count(DISTINCT sure) FROM keys
SELECT near, count(DISTINCT a), count(DISTINCT at), sum(DISTINCT a) FROM keys GROUP BY near
-- Together.
SELECT a, b, count(*), min(id) FROM keys GROUP BY a, b
SELECT a, b, c, d, at, zoned, sure, near, count(*), min(id) FROM keys GROUP BY a, b, c, d, at, zoned, sure, near
SELECT word, at, small, a, count(*), max(c) FROM keys GROUP BY word, at, small, a
SELECT a, at, count(*) FROM keys WHERE near < 0 GROUP BY a, at HAVING count(*) > 1 ORDER BY 3 DESC, 1, 2 LIMIT 5
SELECT a, at, count(*), GROUPING(a, at) FROM keys GROUP BY ROLLUP (a, at)
$list$);
SET work_mem = '64kB';
SET hash_mem_multiplier = 8;
SELECT * FROM compare('SELECT a, b, at, count(*), min(id) FROM keys GROUP BY a, b, at');
RESET work_mem;
RESET hash_mem_multiplier;
-- Arithmetic: of few results, and of as many as there can be.
SELECT * FROM compare_all($list$
SELECT near + small, count(*) FROM keys GROUP BY 1
SELECT near - small, near * small, (near + 100) / (small + 10), near % (small + 4), - (near + small), count(*) FROM keys GROUP BY 1, 2, 3, 4, 5
SELECT (near + 2147483597)::int8 + small, (near - 2147483598)::int8 * 2147483647, count(*) FROM keys GROUP BY 1, 2
SELECT a % c, c % (small + 4), count(*) FROM keys WHERE c <> 0 OR c IS NULL GROUP BY 1, 2
SELECT a / 3 + b / 3, a / 2 - b / 2, d / 2 + near, small + near, count(*) FROM keys GROUP BY 1, 2, 3, 4
SELECT near + 2147483600 - small, count(*) FROM keys GROUP BY 1
SELECT (near + small)::int2, (d % 1000 - near)::int4, near > small, count(*) FROM keys GROUP BY 1, 2, 3
$list$);
-- Rows come, and take the numbers that were left; rows that nobody sees have theirs.
BEGIN;
INSERT INTO keys (id, a, sure) VALUES (-1, 1, 1), (-2, 9223372036854775806, 2), (-3, NULL, 3), (-4, -9223372036854775806, 4);
SELECT * FROM compare('SELECT a, count(*), sum(id) FROM keys GROUP BY a');
DELETE FROM keys WHERE a = -9223372036854775808 AND id > 10000;
SELECT * FROM compare('SELECT a, count(*), sum(id) FROM keys GROUP BY a');
COMMIT;
SELECT * FROM compare('SELECT a, count(*), sum(id) FROM keys GROUP BY a');
-- A column with every number near both ends, and NULL.
CREATE TABLE ends (n int8) WITH (autovacuum_enabled = off);
INSERT INTO ends SELECT -9223372036854775808 + i FROM generate_series(0, 9) AS i UNION ALL SELECT 9223372036854775807 - i FROM generate_series(0, 9) AS i UNION ALL SELECT NULL;
CREATE INDEX ends_i ON ends USING gpu_column (n);
VACUUM ANALYZE ends;
SELECT * FROM compare_all($list$
SELECT n, count(*) FROM ends GROUP BY n
-- Expressions over a column, too.
SELECT CASE small WHEN 1 THEN 9223372036854775807 WHEN 2 THEN -9223372036854775808 WHEN 3 THEN NULL ELSE small END, count(*) FROM keys GROUP BY 1
$list$);
-- Arrays and rows can be hashed where their elements can.
CREATE TYPE priced AS (price money, n int4);
CREATE TABLE nested (a money[], r priced, n int4, i int4[]) WITH (autovacuum_enabled = off);
INSERT INTO nested SELECT ARRAY[(i % 5)::money], ROW(i % 7, 1)::priced, i, ARRAY[i % 3, NULL] FROM generate_series(1, 1000) AS i;
CREATE INDEX nested_i ON nested USING gpu_column (a, r, n, i);
VACUUM ANALYZE nested;
SELECT * FROM compare_all($list$
SELECT a, count(DISTINCT n) FROM nested GROUP BY a
SELECT r, count(DISTINCT n) FROM nested GROUP BY r
SELECT count(DISTINCT a), n % 3 FROM nested GROUP BY 2
SELECT i, count(DISTINCT n) FROM nested GROUP BY i
$list$);
DROP TABLE nested;
DROP TYPE priced;
DROP TABLE keys, ends;
DROP FUNCTION answer_of, who_answers, compare, compare_all;
