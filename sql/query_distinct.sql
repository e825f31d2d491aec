-- SELECT DISTINCT of one table by GpuQuery: each statement is run with the node and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';

CREATE TABLE dis (id int4, small int2, num int4, big int8, any_scale numeric, f8 float8, flag bool, day date, at timestamp, word text, code char(3), other text)
    WITH (autovacuum_enabled = off);
INSERT INTO dis
SELECT i, i % 11, CASE WHEN i % 7 <> 0 THEN (i * 7919) % 1003 - 500 END, CASE WHEN i % 13 <> 0 THEN i % 100::int8 * 10000000019 END,
       CASE i % 5 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 WHEN 2 THEN -2 WHEN 3 THEN 100.125 END, CASE i % 4 WHEN 0 THEN '-0'::float8 WHEN 1 THEN 0 WHEN 2 THEN 'NaN' END,
       CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, date '2026-01-01' + i % 90, timestamp '2026-01-01' + i * interval '37 seconds',
       CASE WHEN i % 19 <> 0 THEN 'word ' || i % 23 END, chr(65 + i % 26) || i % 3, 'other ' || i % 4
FROM generate_series(1, 6000) AS i;
CREATE INDEX dis_i ON dis USING gpu_column (id, small, num, big, any_scale, f8, flag, day, at, word, code);
VACUUM ANALYZE dis;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :compare
\i :plan_of
\set ECHO all

SELECT * FROM compare_all($list$
SELECT DISTINCT small FROM dis
SELECT DISTINCT small, flag, word FROM dis
SELECT DISTINCT id, num FROM dis
SELECT DISTINCT big FROM dis WHERE small > 3 AND word LIKE '%1%'
SELECT DISTINCT code, day FROM dis WHERE flag
SELECT DISTINCT num + small, upper(word) FROM dis
SELECT DISTINCT date_trunc('day', at) FROM dis
SELECT DISTINCT small > 5, 7, 'constant' FROM dis
SELECT DISTINCT small FROM dis WHERE num > 100000
SELECT DISTINCT NULL::int, small FROM dis
-- Of values that are equal and differ in their bytes any row's may be shown.
SELECT x + 0.000 FROM (SELECT DISTINCT any_scale AS x FROM dis) AS s
SELECT x + 0.0 FROM (SELECT DISTINCT f8 AS x, small FROM dis) AS s
-- A column that a condition makes constant is one of the columns all the same.
SELECT DISTINCT small, word FROM dis WHERE small = 3
$list$);
SELECT rows, same FROM compare('SELECT DISTINCT small FROM dis WHERE small = 3');
SELECT rows, same FROM compare('SELECT DISTINCT 1 FROM dis');
SELECT * FROM compare_all($list$
SELECT DISTINCT 1 FROM dis WHERE id < 0
-- The same as groups.
SELECT small, flag FROM dis GROUP BY small, flag
SELECT upper(word) FROM dis GROUP BY word ORDER BY word LIMIT 3
$list$);

-- Distinct rows within an aggregate, of which NULLs are values like others.
SELECT * FROM compare_all($list$
SELECT count(DISTINCT (small, word)), count(DISTINCT (num, flag)), count(DISTINCT (word, code)), count(DISTINCT (any_scale, day)) FROM dis
SELECT small, count(DISTINCT (word, flag, num)), count(DISTINCT ROW(day)), count(DISTINCT (at, word)) FILTER (WHERE num > 0), count(DISTINCT (NULL::int, num)) FROM dis GROUP BY small
SELECT flag, count(DISTINCT (num + small, upper(word))), count(DISTINCT (CASE WHEN num > 0 THEN num END, small > 5)) FROM dis GROUP BY flag
SELECT count(DISTINCT (big, small)), count(DISTINCT (num, num)), count(DISTINCT (small, NULL::text)) FROM dis
SELECT count(DISTINCT (small, NULL)) FROM dis
$list$);

-- ORDER BY and LIMIT above.
SELECT DISTINCT small, flag FROM dis WHERE small < 3 ORDER BY small DESC, flag NULLS FIRST;
SELECT DISTINCT word FROM dis ORDER BY word DESC NULLS LAST LIMIT 3 OFFSET 1;
SELECT DISTINCT small * 2 AS twice FROM dis ORDER BY twice DESC FETCH FIRST 2 ROWS WITH TIES;
SELECT * FROM pg_temp.plan_of($$SELECT DISTINCT word FROM dis ORDER BY word LIMIT 3$$);

-- Inside others.
SELECT * FROM compare_all($list$
SELECT count(*), sum(small) FROM (SELECT DISTINCT small, flag FROM dis) AS s
SELECT x, (SELECT count(*) FROM (SELECT DISTINCT word FROM dis WHERE small = x) AS s) FROM generate_series(0, 3) AS x
SELECT DISTINCT small FROM dis UNION ALL SELECT DISTINCT num FROM dis WHERE num < 0
SELECT DISTINCT small FROM dis UNION SELECT num FROM dis WHERE num < 0
$list$);
-- Versions of PostgreSQL plan these differently.
SELECT rows, same FROM unnest(ARRAY[$$SELECT DISTINCT 7, 'constant', current_date > date '2000-01-01' FROM dis$$,
    $$SELECT * FROM (SELECT DISTINCT small FROM dis WHERE small > 4) AS s JOIN (VALUES (5), (6), (70)) AS v (x) ON x = small$$]) AS q, compare(q);
PREPARE distinct_of (int) AS SELECT DISTINCT flag, small FROM dis WHERE small < $1 ORDER BY 1, 2;
SET plan_cache_mode = force_generic_plan;
EXECUTE distinct_of (2);
EXECUTE distinct_of (1);
EXECUTE distinct_of (NULL);
RESET plan_cache_mode;

-- Own changes, and rows on pages that aren't all-visible.
BEGIN;
UPDATE dis SET small = 77 WHERE id % 100 = 1;
DELETE FROM dis WHERE small = 5;
INSERT INTO dis (small) VALUES (-9), (-9), (NULL), (NULL);
SELECT * FROM compare_all($list$
SELECT DISTINCT small FROM dis
SELECT DISTINCT small, num FROM dis
$list$);
ROLLBACK;

-- What is left to PostgreSQL, and why.
CREATE FUNCTION reasons(query text) RETURNS SETOF text LANGUAGE sql AS
$$ SELECT format('%s, %s: %s', node, candidate, reason) FROM gpu.explain_why(query) WHERE node = 'GpuQuery' $$;
SELECT * FROM reasons('SELECT DISTINCT small FROM dis');
SELECT * FROM reasons('SELECT DISTINCT ON (small) small, num FROM dis ORDER BY small, num');
SELECT * FROM reasons('SELECT DISTINCT other FROM dis');
SELECT * FROM reasons('SELECT count(DISTINCT (f8, small)) FROM dis');
SELECT * FROM reasons('SELECT count(DISTINCT (at, id, at)) FROM dis');
SELECT * FROM reasons('SELECT DISTINCT random() FROM dis');
SELECT * FROM reasons('SELECT DISTINCT generate_series(1, small) FROM dis');
SELECT * FROM reasons('SELECT DISTINCT a.small FROM dis AS a, dis AS b WHERE a.id = b.id');
SELECT * FROM reasons('SELECT DISTINCT count(*) FROM dis GROUP BY small');
SELECT * FROM reasons('SELECT DISTINCT small, rank() OVER (ORDER BY small) FROM dis');
SET pg_gpu.enable_query = off;
SELECT * FROM reasons('SELECT DISTINCT small FROM dis');
RESET pg_gpu.enable_query;
-- A volatile column makes each row another one, also where nothing of the table is in it.
CREATE SEQUENCE dis_numbers;
SELECT count(*) FROM (SELECT DISTINCT small, nextval('dis_numbers') FROM dis) AS d;
SELECT last_value FROM dis_numbers;
SELECT count(*) FROM (SELECT DISTINCT random() FROM dis) AS d;
DROP SEQUENCE dis_numbers;
CREATE TABLE dis_child () INHERITS (dis);
SELECT * FROM reasons('SELECT DISTINCT small FROM dis');
DROP TABLE dis CASCADE;
DROP FUNCTION compare, compare_all, answer_of, who_answers, reasons;
