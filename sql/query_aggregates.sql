-- Aggregates of one table by GpuQuery: each statement is run with the node and without it, and the answers,
-- or the kinds of errors, are held against each other.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
SET synchronous_commit = on;

CREATE TABLE agg (id int4, small int2, num int4, big int8, price numeric(10,2), any_scale numeric, f4 float4, f8 float8, flag bool, day date, at timestamp,
                  at_zone timestamptz, word text, code char(3), c_word text COLLATE "C", key uuid, span interval) WITH (autovacuum_enabled = off);
INSERT INTO agg
SELECT i, i % 11, CASE WHEN i % 7 <> 0 THEN (i * 7919) % 100003 - 50000 END, CASE WHEN i % 13 <> 0 THEN i::int8 * 10000000019 - 5000000000000 END,
       CASE WHEN i % 17 <> 0 THEN (i % 1000) * 1.37 - 300 END, CASE i % 5 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 WHEN 2 THEN -2 WHEN 3 THEN 100.125 END,
       CASE i % 6 WHEN 0 THEN 'NaN'::float4 WHEN 1 THEN '-0' WHEN 2 THEN 0 WHEN 3 THEN 'Infinity' WHEN 4 THEN i END, CASE i % 4 WHEN 0 THEN '-Infinity'::float8 WHEN 1 THEN i / 8.0 END,
       CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, date '2026-01-01' + i % 90, timestamp '2026-01-01' + i % 500 * interval '37 minutes',
       timestamptz '2026-01-01 00:00+00' + i % 300 * interval '1 hour', CASE WHEN i % 19 <> 0 THEN 'word ' || i % 23 END, chr(97 + i % 4), chr(65 + i % 26) || i % 3,
       md5((i % 50)::text)::uuid, i % 30 * interval '1 day'
FROM generate_series(1, 6000) AS i;
INSERT INTO agg (id) SELECT NULL FROM generate_series(1, 20);
CREATE INDEX agg_i ON agg USING gpu_column (id, small, num, big, price, any_scale, f4, f8, flag, day, at, at_zone, word, code, c_word, key, span);
VACUUM ANALYZE agg;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- Everything at once.
SELECT * FROM compare_all($list$
SELECT count(*), count(num), count(word), count(1), count(NULL) FROM agg
SELECT sum(small), avg(small), min(small), max(small), sum(num), avg(num), min(num), max(num) FROM agg
SELECT sum(big), avg(big), min(big), max(big), sum(id), avg(id) FROM agg
SELECT sum(price), avg(price), min(price), max(price), sum(any_scale), avg(any_scale) FROM agg
SELECT min(f4), max(f4), min(f8), max(f8) FROM agg WHERE f4 <> 0
SELECT min(day), max(day), min(at), max(at), min(at_zone), max(at_zone), min(span), max(span) FROM agg
SELECT min(word), max(word), min(c_word), max(c_word), min(code), max(code) FROM agg
SELECT bool_and(flag), bool_or(flag), every(flag), bool_and(id > 0), bool_or(num > 49990) FROM agg
SELECT min(word COLLATE "C"), max(lower(word)), count(lower(word)), min(length(word)), sum(length(word)) FROM agg
SELECT max(DISTINCT num), min(DISTINCT word) FROM agg
SELECT variance(num), stddev(num), var_pop(num), var_samp(small), stddev_pop(small), stddev_samp(num - small) FROM agg
SELECT variance(num), stddev_pop(num), avg(num), sum(num) FROM agg WHERE abs(id) = 1
SELECT variance(num), stddev_pop(num), stddev(small) FROM agg WHERE id IS NULL
SELECT variance(big), stddev(big), var_pop(big), var_samp(price), stddev_pop(price), stddev_samp(any_scale), var_pop(any_scale) FROM agg
SELECT word, variance(big), var_pop(price), stddev(any_scale), stddev_pop(any_scale), sum(any_scale), avg(price), stddev(any_scale) FILTER (WHERE flag) FROM agg GROUP BY word
SELECT var_pop(big - id), stddev(big + num), var_samp(num::int8 * small), variance(price * 2 - 1), var_pop(round(any_scale)), stddev(length(word)::int8) FROM agg
SELECT small, variance(big), var_pop(price), stddev(any_scale), variance(big) FILTER (WHERE id < 0) FROM agg WHERE id < 40 OR id IS NULL GROUP BY small
-- Far from 0, alike, at the ends; and too far apart.
SELECT variance(9223372036854700000 + num), var_pop(-9223372036854700000 + num), stddev(9223372036854775807 - id), var_pop(4611686018427387904 + id * 0) FROM agg
SELECT variance(price + 12345678901234567890123456.78), var_pop(any_scale - 99999999999999999999), stddev_pop(small + 1e20) FROM agg
SELECT var_pop(big * CASE WHEN flag THEN 1000000 ELSE -1000000 END) FROM agg WHERE big < 9000000000000
SELECT var_pop(CASE WHEN flag THEN 9223372036854775807 ELSE -9223372036854775808 END) FROM agg
SELECT var_pop(CASE WHEN small = 1 THEN 1e25 WHEN small > 1 THEN 0 END) FROM agg
SELECT word, variance(num), stddev(small) FILTER (WHERE flag), avg(num), var_pop(2000000000 + small) FROM agg GROUP BY word
SELECT bit_and(small), bit_or(small), bit_xor(small), bit_and(num), bit_or(num), bit_xor(num), bit_and(big), bit_or(big), bit_xor(big) FROM agg
SELECT word, bit_and(id), bit_or(num), bit_xor(big), bit_and(-1 - small), bit_xor(num - id), bit_or(length(word)) FILTER (WHERE flag) FROM agg GROUP BY word
SELECT id, bit_and(num), bit_or(num), bit_xor(num) FROM agg GROUP BY id
SELECT bit_and(num), bit_or(num), bit_xor(num) FROM agg WHERE id < 0
SELECT id, bit_xor(small) FROM agg WHERE small IS NOT NULL GROUP BY id ORDER BY bit_xor(small) DESC, id LIMIT 7

-- Groups.
SELECT small, count(*), sum(num), avg(price), max(word) FROM agg GROUP BY small
SELECT word, count(*), sum(big) FROM agg GROUP BY word
SELECT small, flag, word, count(*), sum(num), avg(big) FROM agg GROUP BY 1, 2, 3
SELECT id, sum(num), min(word) FROM agg GROUP BY id
SELECT day, code, count(*) FROM agg GROUP BY day, code
SELECT key, min(at) FROM agg GROUP BY key
SELECT big, count(*) FROM agg GROUP BY big
SELECT f4 = 0, f4::text IN ('0', '-0'), count(*) FROM agg GROUP BY f4
SELECT any_scale + 0.000, count(*) FROM agg GROUP BY any_scale + 0.000
SELECT round(any_scale, 3), c FROM (SELECT any_scale, count(*) AS c FROM agg GROUP BY any_scale) AS s
SELECT word FROM agg GROUP BY word
SELECT count(*) FROM agg GROUP BY flag
SELECT date_trunc('month', day), extract(week FROM at), count(*) FROM agg GROUP BY 1, 2
SELECT date_trunc('day', at_zone), sum(num) FROM agg GROUP BY 1
SELECT CASE WHEN small > 5 THEN 'many' WHEN small IS NULL THEN 'none' ELSE 'few' END, count(*) FROM agg GROUP BY 1
SELECT coalesce(word, 'nothing'), count(*), avg(num) FROM agg GROUP BY 1
SELECT upper(left(word, 6)), small % 3, count(*) FROM agg GROUP BY 1, 2
SELECT small + length(word), count(*), sum(num) FROM agg GROUP BY 1
SELECT small + small % 2, count(*), sum(num) FROM agg GROUP BY 1
SELECT num + small, count(*) FROM agg GROUP BY 1
SELECT num + small, big - num, count(*) FROM agg GROUP BY 1, 2
-- A group's key is shown as one of its rows has it, not as others do that are equal.
SELECT any_scale, small, count(*) FROM agg WHERE id % 5 = 1 GROUP BY any_scale, small
SELECT any_scale, f4, id % 10, count(*) FROM agg WHERE id < 500 GROUP BY 1, 2, 3
SELECT max(any_scale) FROM agg WHERE id % 10 = 6

-- What is computed from keys and aggregates; HAVING; ORDER BY and LIMIT above.
SELECT small + 1, upper(word), sum(num) * 2 + count(*), avg(num) IS NULL FROM agg GROUP BY small, word
SELECT small, sum(num) FROM agg GROUP BY small HAVING sum(num) > 0
SELECT small FROM agg GROUP BY small HAVING count(*) FILTER (WHERE flag) > 600 AND small <> 3
SELECT 1 FROM agg HAVING count(*) > 5
SELECT 1 FROM agg HAVING count(*) < 5
SELECT word, sum(num) AS s FROM agg GROUP BY word ORDER BY s DESC NULLS LAST, 1 LIMIT 5 OFFSET 2
SELECT sum(n), max(s) FROM (SELECT word, count(*) AS n, sum(num) AS s FROM agg GROUP BY word) AS t WHERE n > 100
SELECT small, count(*) > (SELECT 100), (SELECT max(id) FROM agg) FROM agg GROUP BY small

-- The first groups in an order: ties, NULLs, sums beyond int8, and what keeps all groups.
SELECT id, count(*) FROM agg GROUP BY id ORDER BY count(*) DESC, id LIMIT 4 OFFSET 1
SELECT small, sum(id) FROM agg WHERE id IS NOT NULL GROUP BY small ORDER BY sum(id), small LIMIT 3
SELECT key, sum(id) AS s FROM agg WHERE id > 0 GROUP BY key ORDER BY s DESC, key LIMIT 5
SELECT word, sum(big) AS s FROM agg WHERE big IS NOT NULL GROUP BY word ORDER BY s DESC, 1 LIMIT 2
SELECT id, sum(big) AS s FROM agg WHERE id < 9 GROUP BY id ORDER BY s DESC, 1 LIMIT 4
SELECT id, sum(9000000000000000000 - small % 2) AS s FROM agg GROUP BY id, small % 3 ORDER BY s, 1 LIMIT 3
SELECT code, max(day) FROM agg GROUP BY code ORDER BY max(day) DESC, code FETCH FIRST 2 ROWS WITH TIES
SELECT num, count(*) AS c FROM agg GROUP BY num ORDER BY c FETCH FIRST 1 ROW WITH TIES
SELECT code, sum(price) AS s FROM agg GROUP BY code ORDER BY s LIMIT 2
SELECT small, count(*) AS c FROM agg GROUP BY small HAVING count(*) < 600 ORDER BY c DESC, small LIMIT 2
SELECT DISTINCT count(*) FROM agg GROUP BY id, num ORDER BY 1 DESC LIMIT 2
SELECT small, count(*) AS c, rank() OVER (ORDER BY small) FROM agg GROUP BY small ORDER BY c DESC, 1 LIMIT 2
SELECT small, count(*) AS c FROM agg GROUP BY small ORDER BY c DESC, 1 LIMIT 0
SELECT small, count(*) AS c FROM agg GROUP BY small ORDER BY c DESC, 1 LIMIT (SELECT 2)
$list$);

-- A float's minimum and maximum may be -0 or 0, which are equal.
CREATE TABLE agg_zero AS SELECT (g % 6)::int AS k, CASE g % 2 WHEN 0 THEN '-0'::float8 ELSE '0' END AS f FROM generate_series(1, 60) AS g;
CREATE INDEX ON agg_zero USING gpu_column (k, f);
VACUUM ANALYZE agg_zero;
SELECT * FROM compare_all($list$
SELECT k, max(f) + 0.0::float8 FROM agg_zero GROUP BY k ORDER BY max(f) DESC, k DESC LIMIT 1
SELECT k FROM agg_zero GROUP BY k ORDER BY min(f), k LIMIT 2
$list$);
DROP TABLE agg_zero;

-- FILTER.
SELECT * FROM compare_all($list$
SELECT count(*) FILTER (WHERE flag), sum(num) FILTER (WHERE small > 3), avg(big) FILTER (WHERE word LIKE '%1%'), min(word) FILTER (WHERE num > 0 AND flag) FROM agg
SELECT small, count(*) FILTER (WHERE flag IS NOT TRUE), sum(num) FILTER (WHERE false), max(day) FILTER (WHERE id IS NULL) FROM agg GROUP BY small

-- DISTINCT.
SELECT count(DISTINCT small), count(DISTINCT num), count(DISTINCT big), count(DISTINCT word), count(DISTINCT flag), count(DISTINCT any_scale), count(DISTINCT f4), count(DISTINCT code) FROM agg
SELECT small, count(DISTINCT word), count(*), count(word), sum(DISTINCT num), avg(DISTINCT num), min(DISTINCT num), max(DISTINCT word) FROM agg GROUP BY small
SELECT word, sum(DISTINCT small), avg(DISTINCT small), sum(DISTINCT big), avg(DISTINCT big), sum(big), avg(num) FROM agg GROUP BY word
SELECT small, sum(DISTINCT price), avg(DISTINCT price), count(DISTINCT price), sum(price) FROM agg GROUP BY small
SELECT sum(DISTINCT price) FILTER (WHERE num > 0), count(DISTINCT price) FILTER (WHERE flag), avg(DISTINCT price * 2) FROM agg
SELECT sum(DISTINCT any_scale) FROM agg
SELECT small, flag, sum(DISTINCT any_scale) FROM agg GROUP BY small, flag
SELECT small, flag, count(DISTINCT num) FILTER (WHERE big > 0), count(DISTINCT num) FILTER (WHERE NOT flag), count(DISTINCT num) FROM agg WHERE num < 20000 AND word LIKE '%1%' GROUP BY small, flag
SELECT count(DISTINCT num + small), sum(DISTINCT num - small), count(DISTINCT length(word)), count(DISTINCT CASE WHEN word > 'word 3' THEN word END) FROM agg WHERE small < 5
SELECT num + small AS k, count(DISTINCT big % 7), sum(DISTINCT big % 7) FROM agg GROUP BY 1
-- Which of the equal 1.5 and 1.50 a group shows is not determined.
SELECT trim_scale(any_scale), count(DISTINCT f8), count(DISTINCT any_scale) FROM agg GROUP BY any_scale
SELECT word, count(DISTINCT num) AS c FROM agg GROUP BY word ORDER BY c DESC, word LIMIT 4
SELECT word, count(DISTINCT num) AS c FROM agg GROUP BY word ORDER BY count(*) DESC, word LIMIT 4
SELECT word, count(DISTINCT num) AS c FROM agg GROUP BY word HAVING count(DISTINCT num) > 200 AND sum(DISTINCT small) > 3
SELECT count(DISTINCT num), sum(DISTINCT num), avg(DISTINCT price) FROM agg WHERE num > 1000000
SELECT small, count(DISTINCT num), sum(DISTINCT num) FROM agg WHERE num IS NULL GROUP BY small
SELECT count(DISTINCT 1), count(DISTINCT NULL::int), sum(DISTINCT 3) FROM agg
SELECT count(DISTINCT id), count(DISTINCT id) FILTER (WHERE num > 100) FROM agg
$list$);
\getenv source PG_ABS_SRCDIR
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :plan_of
\set ECHO all
-- From 16 on PostgreSQL sorts by the argument of DISTINCT, too.
SELECT regexp_replace(plan, 'small, num$', 'small') AS plan FROM pg_temp.plan_of('SELECT small, count(DISTINCT num) FROM agg GROUP BY small ORDER BY 2 DESC LIMIT 3');
SELECT * FROM compare_all($list$
SELECT count(DISTINCT (small, num)) FROM agg
SELECT count(DISTINCT num ORDER BY num) FROM agg
SELECT sum(DISTINCT f8), avg(DISTINCT f8), var_pop(DISTINCT small) FROM agg WHERE f8 > 0
SELECT small, count(DISTINCT id / (small - 4)) FROM agg GROUP BY small
SELECT sum(DISTINCT big * 1000000) FROM agg
$list$);
-- Many groups and many values in little memory.
SET work_mem = '256kB';
SET hash_mem_multiplier = 1;
SELECT * FROM compare_all($list$
SELECT id, count(DISTINCT num), sum(DISTINCT big) FROM agg GROUP BY id
SELECT count(DISTINCT id), sum(DISTINCT id), count(DISTINCT num), small FROM agg GROUP BY small
SELECT count(DISTINCT id), avg(DISTINCT big) FROM agg
$list$);
RESET work_mem;
RESET hash_mem_multiplier;

-- Sums of floats are exact, and rounded once. These are exact in PostgreSQL, too.
CREATE TABLE agg_float (k int, f4 float4, f8 float8, many float8, wide float8) WITH (autovacuum_enabled = off);
INSERT INTO agg_float SELECT i % 7, CASE WHEN i % 5 <> 0 THEN (i % 200 - 100) / 8.0 END, CASE WHEN i % 3 <> 0 THEN (i % 1000) * 0.25 - 77 END, i / 64.0, CASE WHEN i % 2 = 0 THEN 1e18 ELSE 0.5 END
FROM generate_series(1, 40000) AS i;
CREATE INDEX agg_float_i ON agg_float USING gpu_column (k, f4, f8, many, wide);
VACUUM ANALYZE agg_float;
SELECT * FROM compare_all($list$
SELECT sum(f4), sum(f8), sum(many), avg(f4), avg(f8), avg(many), count(f4), min(f8), max(many) FROM agg_float
SELECT k, sum(f4), sum(f8), sum(many), avg(f4), avg(f8), avg(many) FROM agg_float GROUP BY k
SELECT k, sum(f8) FILTER (WHERE f4 > 0), avg(f4 * 2), sum(f8::float4), sum(abs(f8)) FROM agg_float WHERE many < 400 GROUP BY k HAVING sum(many) > 10
SELECT f8, sum(many), count(*) FROM agg_float GROUP BY f8 ORDER BY sum(many) DESC, f8 LIMIT 5
SELECT sum(f4), avg(f8) FROM agg_float WHERE k > 10
SELECT sum(wide) FROM agg_float WHERE wide < 1
$list$);
-- What can't be exact in 128 bits, or isn't finite, is left to PostgreSQL.
INSERT INTO agg_float VALUES (1, 'NaN', 'Infinity', '-Infinity', 1), (2, '-Infinity', 'NaN', 'Infinity', 1), (3, 3e38, 1.7e308, 1e-300, 1), (3, 3e38, 1.7e308, 1e-300, 1);
VACUUM agg_float;
SELECT * FROM compare_all($list$
SELECT k, sum(f4), avg(f4) FROM agg_float WHERE k < 3 GROUP BY k
SELECT k, sum(f8), avg(f8) FROM agg_float WHERE k < 3 GROUP BY k
SELECT sum(many) FROM agg_float WHERE k < 3
SELECT sum(f4) FROM agg_float WHERE k = 3 AND f4 > 1e38
SELECT sum(f8) FROM agg_float WHERE k = 3 AND f8 > 1e307
SELECT avg(f8) FROM agg_float WHERE k = 3 AND f8 > 1e307
SELECT sum(many) FROM agg_float WHERE k = 3 AND many < 1e-200
SELECT sum(many), avg(many) FROM agg_float WHERE k = 3
$list$);
-- One rounding only: PostgreSQL's sum in the rows' order would lose each 1.
CREATE TABLE agg_round AS SELECT CASE i WHEN 1 THEN 2::float8 ^ 53 WHEN 1002 THEN -(2::float8 ^ 53) ELSE 1 END AS f FROM generate_series(1, 1002) AS i;
CREATE INDEX ON agg_round USING gpu_column (f);
VACUUM ANALYZE agg_round;
SELECT sum(f), avg(f) * 1002 AS average FROM agg_round;
-- Nothing but -0 adds up to 0.
CREATE TABLE agg_minus AS SELECT '-0'::float8 AS f FROM generate_series(1, 3);
CREATE INDEX ON agg_minus USING gpu_column (f);
SELECT * FROM compare('SELECT sum(f) FROM agg_minus');
DROP TABLE agg_float, agg_round, agg_minus;

-- Grouping sets.
SELECT * FROM compare_all($list$
SELECT small, flag, count(*), sum(num), grouping(small), grouping(small, flag) FROM agg GROUP BY ROLLUP (small, flag)
SELECT small, word, day, avg(price), grouping(day, small, word) FROM agg GROUP BY CUBE (small, word), day
SELECT small, flag, count(DISTINCT num), min(word) FROM agg GROUP BY GROUPING SETS ((small), (flag), (small), ()) HAVING count(*) > 100 OR grouping(small, flag) = 3
SELECT small, flag, count(*) FROM agg GROUP BY DISTINCT GROUPING SETS ((small), (flag), (small), ())
-- Sets of which no group can pass HAVING aren't computed, unless that might raise an error. A set's groups go when the last one is given.
SELECT small, flag, count(*), grouping(small, flag) FROM agg GROUP BY CUBE (small, flag) HAVING grouping(small) = 0 AND count(*) > 10
SELECT small, flag, count(*) FROM agg GROUP BY CUBE (small, flag) HAVING small IS NOT NULL AND grouping(flag) <> 0
SELECT small + 1, small, count(*) FROM agg GROUP BY GROUPING SETS ((small + 1), (small)) HAVING small + 1 IS NOT NULL AND grouping(small) = 1
SELECT small, flag, count(*) FROM agg GROUP BY CUBE (small, flag) HAVING grouping(small) = 5
SELECT small, flag, count(*) FROM agg GROUP BY CUBE (small, flag) HAVING 10 / grouping(small) > 1
SELECT x, s.* FROM generate_series(1, 3) AS x, LATERAL (SELECT small, flag, count(*) FROM agg WHERE id % 3 = x - 1 GROUP BY ROLLUP (small, flag)) AS s
SELECT x, (SELECT string_agg(c::text, ',' ORDER BY c) FROM (SELECT count(*) AS c FROM agg GROUP BY CUBE (flag, small)) AS s WHERE c > x) FROM generate_series(1, 2) AS x
SELECT num % 10 AS m, num % 10 + 1 AS n, sum(num % 10), coalesce((num % 10)::text, 'all') FROM agg GROUP BY ROLLUP (num % 10)
SELECT small + 1 AS a, small, sum(small), small + 2 FROM agg GROUP BY GROUPING SETS ((small + 1, small), (small + 1), (small))
SELECT word, key, count(*), sum(DISTINCT any_scale) FROM agg GROUP BY ROLLUP (word, key)
SELECT word, day, sum(10 / small) FILTER (WHERE small > 0) FROM agg GROUP BY CUBE (word, day)
SELECT small, count(*) AS c, rank() OVER (PARTITION BY grouping(small) ORDER BY count(*) DESC) FROM agg GROUP BY ROLLUP (small) ORDER BY grouping(small), c DESC, 1 LIMIT 5
SELECT small::text::xid AS x, count(*) FROM agg GROUP BY GROUPING SETS ((small::text::xid), ())
SELECT small, sum(num), avg(f8) FROM agg WHERE num > 0 AND id < 0 GROUP BY ROLLUP (small)
SELECT count(*), sum(num) FROM agg GROUP BY GROUPING SETS ((), ())
SELECT small, sum(10 / (small - 4)) FROM agg GROUP BY ROLLUP (small)
SELECT small, string_agg(word, ',' ORDER BY word) FROM agg WHERE id < 50 GROUP BY ROLLUP (small)
SELECT s, c FROM (SELECT small AS s, count(*) AS c FROM agg GROUP BY ROLLUP (small)) AS q WHERE s IS NULL OR s = 3
SELECT v.n, (SELECT max(c) FROM (SELECT count(*) AS c FROM agg WHERE small < v.n GROUP BY ROLLUP (small)) AS q) FROM (VALUES (3), (5), (1)) AS v (n)
$list$);
SELECT * FROM pg_temp.plan_of($$SELECT small, flag, grouping(small), sum(num) FROM agg GROUP BY ROLLUP (small, flag) HAVING grouping(flag) = 1 ORDER BY 1$$);

-- WHERE.
SELECT * FROM compare_all($list$
SELECT count(*), sum(num) FROM agg WHERE num > 1000 AND small = 4
SELECT count(*), sum(num) FROM agg WHERE num > 1000 OR small = 4 OR word IS NULL
SELECT count(*), sum(num) FROM agg WHERE NOT (num > 1000 AND small = 4)
SELECT count(*), sum(num) FROM agg WHERE (small = 4) IS NOT TRUE AND (flag OR num > 5) IS NOT FALSE
SELECT count(*), sum(num) FROM agg WHERE (flag AND num > 5) IS UNKNOWN OR (flag OR num > 5) IS NOT UNKNOWN
SELECT small, sum(num) FROM agg WHERE word LIKE 'word 1%' AND length(word) > 5 GROUP BY small
SELECT count(*) FROM agg WHERE word IN ('word 1', 'word 7') AND code = ANY ('{a,b}') AND day BETWEEN '2026-01-05' AND '2026-02-01'
SELECT count(*), max(num) FROM agg WHERE num < small * 100
SELECT count(*), max(num) FROM agg WHERE num + small <> big % 1000 AND num IS NOT NULL
SELECT count(*) FROM agg WHERE at < at_zone AT TIME ZONE 'UTC'
SELECT count(*) FROM agg WHERE day IS NOT DISTINCT FROM date '2026-01-07'
SELECT count(*) FROM agg WHERE small IS DISTINCT FROM 3
SELECT count(*), sum(small) FROM agg WHERE id < 0
SELECT small, count(*) FROM agg WHERE id < 0 GROUP BY small
$list$);
-- From PostgreSQL 16 on such grouping columns are dropped, but there is no group of no rows.
SELECT same FROM compare('SELECT small, count(*) FROM agg WHERE small = 4711 GROUP BY small');
SELECT same FROM compare('SELECT small, count(*) FROM agg WHERE small = 4 GROUP BY small');
SELECT * FROM compare_all($list$
SELECT count(*), sum(small) FROM agg WHERE NULL::bool
SELECT sum(num) FROM agg WHERE at_zone < now() AND day <= current_date
SELECT sum(num) FROM agg WHERE flag
SELECT sum(num) FROM agg WHERE NOT flag AND price > 5.5
SELECT min(f8), max(f8), count(f8) FROM agg WHERE f4 = 'NaN' OR f8 = '-Infinity'

-- Arithmetic.
SELECT sum(num * small), sum(num - small), min(num + 1), max(-num), avg(num::int8 * small), sum(id % 7), sum(id / 3) FROM agg
SELECT small, sum(big - num), sum((num + small)::int8 * 3) FROM agg GROUP BY small
SELECT sum(price * 2), avg(price + 0.005), sum(any_scale::int4) FROM agg
SELECT sum(CASE WHEN flag THEN 1 ELSE 0 END), sum(CASE WHEN word = 'word 1' THEN 5 END) FROM agg
-- Errors are PostgreSQL's.
SELECT sum(num * id * 1000) FROM agg
SELECT sum(num / (small - 3)) FROM agg
SELECT sum(num / (small - 3)) FROM agg WHERE small <> 3
SELECT sum(10 / small) FROM agg
SELECT sum(10 / small) FROM agg WHERE small > 0
SELECT sum(10 / small) FILTER (WHERE small > 0) FROM agg
SELECT sum(10 / small) FILTER (WHERE small > 0), count(*) FROM agg
SELECT sum((word || 'x')::int4) FROM agg
SELECT count(*) FROM agg WHERE 10 / small > 1
SELECT count(*) FROM agg WHERE small > 0 AND 10 / small > 1
SELECT count(*) FROM agg WHERE 10 / (small + 1) > 1 AND 10 / (small + 2) > 1 AND substr(word, 6)::int4 > 3
SELECT count(*), sum(num) FROM agg WHERE small = 0 OR 10 / small > 1 OR flag
SELECT small <> 0 AND flag AND 10 / small > 1, count(*) FROM agg GROUP BY 1
SELECT bool_or(small = 0 OR flag OR 10 / small > 1), every(flag) FROM agg
SELECT (10 / small), count(*) FROM agg GROUP BY 1
SELECT sum(small::int2 * 32767::int2) FROM agg
-- What has no column fails only where a row needs it, too.
SELECT sum(num + small + 1 / (SELECT 0)) FROM agg WHERE abs(small) > 100
SELECT max(1 / (SELECT 0)) FILTER (WHERE abs(small) > 100) FROM agg
SELECT count(*), sum(num) FROM agg WHERE abs(small) > 100 AND num + small > 10 / (SELECT 0)
$list$);
-- PostgreSQL 16 and later have no such grouping column left.
SELECT same FROM compare('SELECT 1 / (SELECT 0), count(*) FROM agg WHERE abs(small) > 100 GROUP BY 1');
SELECT * FROM compare_all($list$
SELECT sum(CASE WHEN code > 'a' THEN 1 / (SELECT 0) END) FROM agg WHERE code = 'a'
SELECT count(*) FROM agg WHERE abs(small) > 100 OR num + small > 10 / (SELECT 0)

-- Not these, or not yet.
SELECT sum(f8), avg(f4) FROM agg WHERE f8 > 0 AND f4 > 0
SELECT count(DISTINCT small) FROM agg
SELECT stddev(f8), variance(DISTINCT num) FROM agg WHERE f8 > 0
SELECT array_agg(small ORDER BY small) FROM agg
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY num) FROM agg
SELECT small, word, count(*) FROM agg GROUP BY GROUPING SETS ((small), (word))
SELECT count(*) FROM agg WHERE ctid > '(0,1)'
SELECT count(*) FROM agg WHERE random() < 2
SELECT sum(pg_column_size(word)) FROM agg
SELECT count(*), generate_series(1, 2) FROM agg
SELECT count(agg) FROM agg
SELECT count(*) FROM agg TABLESAMPLE SYSTEM (100)
SELECT count(a.id) FROM agg AS a JOIN agg AS b ON a.id = b.id AND b.id < 50
SELECT (SELECT count(a.id) FROM (VALUES (1)) AS v) FROM agg AS a WHERE a.id < 3
$list$);

-- Rows that aren't in runs, deleted rows, one's own changes.
INSERT INTO agg SELECT * FROM agg WHERE id <= 50;
UPDATE agg SET num = num + 1, word = 'new word' WHERE id BETWEEN 100 AND 150;
DELETE FROM agg WHERE id BETWEEN 1000 AND 3000;
SELECT * FROM compare('SELECT word, count(*), sum(num), min(price), max(c_word) FROM agg GROUP BY word');
BEGIN;
INSERT INTO agg (id, small, word, num) VALUES (-1, 99, 'mine', -2147483648), (-2, 98, 'mine', 2147483647);
SELECT * FROM compare('SELECT small, word, min(num), max(num), sum(num), count(*) FROM agg WHERE id < 200 GROUP BY 1, 2');
SAVEPOINT s;
DELETE FROM agg WHERE small = 99;
SELECT * FROM compare_all($list$
SELECT small, count(DISTINCT num), sum(DISTINCT num), count(DISTINCT word), avg(DISTINCT price) FROM agg WHERE id < 200 GROUP BY small
SELECT count(DISTINCT id), count(DISTINCT id % 7) FROM agg
SELECT small, word, min(num), max(num), sum(num), count(*) FROM agg WHERE id < 200 GROUP BY 1, 2
$list$);
ROLLBACK TO s;
SELECT * FROM compare('SELECT small, word, min(num), max(num), sum(num), count(*) FROM agg WHERE id < 200 GROUP BY 1, 2');
ROLLBACK;
-- Nothing of an aborted transaction's rows is evaluated.
BEGIN;
INSERT INTO agg (id, small, word) SELECT i, -1, 'not a number' FROM generate_series(-100, -1) AS i;
ROLLBACK;
SELECT * FROM compare('SELECT sum(10 / (small + 1)), max(substr(word, 6)::int4) FROM agg WHERE word LIKE ''word%''');
SELECT * FROM gpu.merge('agg_i') LIMIT 0;
SELECT * FROM compare('SELECT sum(10 / (small + 1)), max(substr(word, 6)::int4) FROM agg WHERE word LIKE ''word%''');
VACUUM agg;
SELECT * FROM compare('SELECT word, day, count(*), sum(num), min(price), max(c_word), avg(big) FROM agg GROUP BY word, day');

-- Privileges, a security barrier and row security: as of the plan that is replaced. Who peeks at a hidden row raises an error.
CREATE FUNCTION peek(int2) RETURNS bool IMMUTABLE COST 0.0001 LANGUAGE plpgsql AS $$
BEGIN
    IF $1 = 7 THEN
        RAISE EXCEPTION 'a hidden row was seen';
    END IF;
    RETURN $1 > 3;
END $$;
CREATE VIEW agg_seen WITH (security_barrier) AS SELECT * FROM agg WHERE small <> 7;
SELECT * FROM compare_all($list$
SELECT count(*), sum(num) FROM agg WHERE peek(small)
SELECT count(*), sum(num) FROM agg_seen WHERE peek(small)
SELECT count(*) FILTER (WHERE peek(small)), sum(num) FROM agg_seen
SELECT peek(small), sum(num) FROM agg_seen GROUP BY 1
SELECT small, sum(num) FROM agg_seen WHERE small > 5 GROUP BY small
$list$);
CREATE ROLE agg_reader;
GRANT SELECT (id, small, num) ON agg TO agg_reader;
CREATE POLICY agg_hides ON agg USING (small <> 7);
ALTER TABLE agg ENABLE ROW LEVEL SECURITY;
SET ROLE agg_reader;
SELECT * FROM compare_all($list$
SELECT count(*), sum(num) FROM agg WHERE peek(small)
SELECT peek(small), count(*), sum(num) FROM agg GROUP BY 1
SELECT small, count(*), sum(num) FROM agg WHERE id > 100 GROUP BY small
SELECT max(word) FROM agg
$list$);
RESET ROLE;
ALTER TABLE agg DISABLE ROW LEVEL SECURITY;
BEGIN;
REVOKE EXECUTE ON FUNCTION sum(int4), peek(int2) FROM PUBLIC;
SET LOCAL ROLE agg_reader;
SELECT * FROM compare_all($list$
SELECT sum(num) FROM agg
SELECT peek(small), count(*) FROM agg WHERE small <> 7 GROUP BY 1
SELECT max(num) FROM agg
$list$);
ROLLBACK;
DROP VIEW agg_seen;
DROP POLICY agg_hides ON agg;
REVOKE SELECT (id, small, num) ON agg FROM agg_reader;
DROP ROLE agg_reader;
DROP FUNCTION peek;

-- Parameters: of prepared statements, of subplans, with rescans.
PREPARE by_parameter (int, text) AS SELECT word || $2 AS w, sum(num + $1), count(*) FILTER (WHERE small > $1) FROM agg WHERE small <> $1 OR word = $2 GROUP BY word || $2 HAVING count(*) > $1;
SET plan_cache_mode = force_generic_plan;
CREATE TEMPORARY TABLE given AS EXECUTE by_parameter(4, 'word 1');
SET pg_gpu.enable_query = off;
DEALLOCATE by_parameter;
PREPARE by_parameter (int, text) AS SELECT word || $2 AS w, sum(num + $1), count(*) FILTER (WHERE small > $1) FROM agg WHERE small <> $1 OR word = $2 GROUP BY word || $2 HAVING count(*) > $1;
CREATE TEMPORARY TABLE expected AS EXECUTE by_parameter(4, 'word 1');
RESET pg_gpu.enable_query;
(TABLE given EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE given);
SELECT count(*) > 0 AS any FROM given;
RESET plan_cache_mode;
DEALLOCATE by_parameter;
SELECT * FROM compare_all($list$
SELECT g, (SELECT sum(num) FROM agg WHERE small = g), (SELECT max(word) FROM agg WHERE id < g * 10) FROM generate_series(-1, 12) AS g
SELECT g, s.* FROM generate_series(1, 5) AS g, LATERAL (SELECT word, count(*) + g AS n FROM agg WHERE small >= g GROUP BY word) AS s
SELECT g, s.* FROM generate_series(1, 4) AS g, LATERAL (SELECT small, sum(10 / small) FILTER (WHERE small > 0) FROM agg GROUP BY small HAVING count(*) > g * 100) AS s
SELECT count(*) FROM agg WHERE num > (SELECT avg(num) FROM agg) AND word = (SELECT max(word) FROM agg WHERE small = 2)
$list$);

-- Plans.
SELECT * FROM pg_temp.plan_of($$SELECT small, sum(num) FROM agg WHERE word LIKE '%1' GROUP BY small HAVING count(*) > 2$$);
-- Little memory.
SET work_mem = '64kB';
SELECT * FROM compare_all($list$
SELECT id, word, count(*), sum(num), max(small) FROM agg GROUP BY id, word
SELECT id, f4, count(*), count(num) FROM agg WHERE id < 2000 GROUP BY id, f4
SELECT g, (SELECT sum(c) FROM (SELECT id, count(*) AS c FROM agg WHERE small <> g GROUP BY id) AS s) FROM generate_series(1, 3) AS g
SELECT g, s.id, s.c FROM generate_series(1, 2) AS g, LATERAL (SELECT id, count(*) AS c FROM agg WHERE word <> 'x' GROUP BY id) AS s
SELECT max(id::text || 'long enough to take more memory than there is'), count(*) FROM agg WHERE id > 0
$list$);
BEGIN;
DECLARE backwards SCROLL CURSOR FOR SELECT id, big, sum(num), sum(small), sum(id), sum(big), min(num) FROM agg GROUP BY id, big HAVING id < 4 ORDER BY id;
FETCH ALL backwards;
FETCH BACKWARD 2 backwards;
COMMIT;
RESET work_mem;

-- Empty and tiny tables, and indexes that can't answer.
CREATE TABLE agg_empty (a int, b text, c numeric);
CREATE INDEX agg_empty_i ON agg_empty USING gpu_column (a, b, c);
SELECT * FROM compare_all($list$
SELECT count(*), sum(a), avg(a), min(b), max(b), sum(c), avg(c) FROM agg_empty
SELECT b, count(*) FROM agg_empty GROUP BY b
$list$);
INSERT INTO agg_empty VALUES (NULL, NULL, NULL);
SELECT * FROM compare_all($list$
SELECT count(*), sum(a), avg(a), min(b), max(b), sum(c), avg(c) FROM agg_empty
SELECT a, b, c, count(*), count(a) FROM agg_empty GROUP BY a, b, c
$list$);
INSERT INTO agg_empty VALUES (1, 'x', 'NaN'), (2147483647, 'y', 12345678901234567890123456789012345678.9), (-2147483648, '', 'Infinity');
SELECT * FROM compare_all($list$
SELECT count(*), sum(a), avg(a), min(b), max(b), sum(c), avg(c), min(c), max(c) FROM agg_empty
SELECT sum(c) FROM agg_empty WHERE a = 2147483647
SELECT a + 1, count(*) FROM agg_empty GROUP BY 1
SELECT c, count(*), min(a) FROM agg_empty GROUP BY c
$list$);
DROP INDEX agg_empty_i;
SELECT * FROM compare('SELECT count(*), sum(a) FROM agg_empty');
INSERT INTO agg_empty SELECT i, substr('xyz', i % 3 + 1, 1), i FROM generate_series(1, 5000) AS i;
VACUUM ANALYZE agg_empty;
CREATE INDEX agg_empty_part ON agg_empty USING gpu_column (a, c) WHERE b = 'x';
SELECT * FROM compare_all($list$
SELECT count(*), sum(a) FROM agg_empty
SELECT count(*), sum(a) FROM agg_empty WHERE b = 'x'
SELECT count(*), sum(a) FROM agg_empty WHERE b = 'x' AND a > 0
SELECT count(b), sum(a) FROM agg_empty WHERE b = 'x'
$list$);

-- A cached plan doesn't outlive its index.
PREPARE cached AS SELECT small, count(*) FROM agg GROUP BY small ORDER BY small LIMIT 2;
SET plan_cache_mode = force_generic_plan;
EXECUTE cached;
DROP INDEX agg_i;
EXECUTE cached;
RESET plan_cache_mode;
DEALLOCATE cached;
DROP TABLE agg, agg_empty;
DROP FUNCTION answer_of, who_answers, compare, compare_all;
