-- ORDER BY with LIMIT over one table by GpuQuery: each statement is run with the node and without it, and the answers, or the kinds of errors, are
-- held against each other. Where rows are equal by all sort keys only these are selected.
SET pg_gpu.path = host;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
SET synchronous_commit = on;

CREATE TABLE srt (id int4, small int2, num int4, big int8, price numeric(10,2), any_scale numeric, f4 float4, f8 float8, flag bool, day date, at timestamp,
                  word text, code char(3), c_word text COLLATE "C", key uuid, span interval, other text) WITH (autovacuum_enabled = off);
INSERT INTO srt
SELECT i, i % 11, CASE WHEN i % 7 <> 0 THEN (i * 7919) % 100003 - 50000 END, CASE WHEN i % 13 <> 0 THEN i::int8 * 10000000019 - 5000000000000 END,
       CASE WHEN i % 17 <> 0 THEN (i % 1000) * 1.37 - 300 END, CASE i % 5 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 WHEN 2 THEN -2 WHEN 3 THEN 'NaN' END,
       CASE i % 6 WHEN 0 THEN 'NaN'::float4 WHEN 1 THEN '-0' WHEN 2 THEN 0 WHEN 3 THEN 'Infinity' WHEN 4 THEN i END,
       CASE i % 4 WHEN 0 THEN '-0'::float8 WHEN 1 THEN i / 8.0 WHEN 2 THEN 0 END, CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, date '2026-01-01' + i % 90,
       timestamp '2026-01-01' + i * interval '37 minutes', CASE WHEN i % 19 <> 0 THEN 'word ' || i % 23 END, chr(97 + i % 4), chr(65 + i % 26) || i % 3,
       md5((i % 50)::text)::uuid, i % 30 * interval '1 day', 'other ' || i
FROM generate_series(1, 6000) AS i;
INSERT INTO srt (id) SELECT NULL FROM generate_series(1, 20);
CREATE INDEX srt_i ON srt USING gpu_column (id, small, num, big, price, any_scale, f4, f8, flag, day, at, word, code, c_word, key, span);
VACUUM ANALYZE srt;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set rows_of :source '/test/regress/rows_of.sql'
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :compare
\i :rows_of
\i :plan_of
\set ECHO all
CREATE FUNCTION compare_rows(query text, OUT who text, OUT rows int, OUT same text) LANGUAGE plpgsql AS $$
DECLARE
    by_node text[];
    without text[];
BEGIN
    who := who_answers(query);
    by_node := rows_of(query);
    SET LOCAL pg_gpu.enable_query = off;
    without := rows_of(query);
    SET LOCAL pg_gpu.enable_query = on;
    rows := cardinality(by_node);
    same := CASE WHEN by_node = without THEN 'same' ELSE format('with the node %s, without %s', by_node[:5], without[:5]) END;
END $$;

-- Keys of all types, up and down.
SELECT * FROM compare_all($list$
SELECT id, other FROM srt ORDER BY id LIMIT 7
SELECT id, other FROM srt WHERE id IS NOT NULL ORDER BY id DESC LIMIT 7
SELECT id FROM srt ORDER BY id DESC LIMIT 30
SELECT id FROM srt ORDER BY id NULLS FIRST LIMIT 25
SELECT id FROM srt ORDER BY id DESC NULLS LAST LIMIT 25
SELECT * FROM srt ORDER BY num, id LIMIT 10
SELECT * FROM srt ORDER BY num DESC, id LIMIT 900
SELECT small, num, id FROM srt ORDER BY small DESC NULLS LAST, num NULLS FIRST, id DESC LIMIT 200
SELECT big, id FROM srt ORDER BY big DESC NULLS LAST, id LIMIT 20
SELECT price, id FROM srt ORDER BY price, id LIMIT 50
SELECT any_scale + 0.000, id FROM srt ORDER BY any_scale, id LIMIT 3000
SELECT any_scale + 0.000, id FROM srt ORDER BY any_scale DESC NULLS LAST, id LIMIT 3000
SELECT f4, id FROM srt ORDER BY f4, id LIMIT 3000
SELECT f4, id FROM srt ORDER BY f4 DESC, id DESC LIMIT 3000
SELECT f8, id FROM srt ORDER BY f8, id DESC NULLS LAST LIMIT 3100
SELECT f8, id FROM srt WHERE f8 >= 0 ORDER BY f8 DESC, id LIMIT 3500
SELECT flag, id FROM srt ORDER BY flag, id LIMIT 2100
SELECT flag, id FROM srt ORDER BY flag DESC, id DESC LIMIT 2100
SELECT day, at FROM srt ORDER BY day DESC, at DESC LIMIT 100
SELECT at FROM srt WHERE at IS NOT NULL ORDER BY at DESC LIMIT 10
SELECT word, id FROM srt ORDER BY word, id LIMIT 500
SELECT word, id FROM srt ORDER BY word DESC NULLS LAST, id LIMIT 500
SELECT word, id FROM srt ORDER BY word COLLATE "C" DESC, id LIMIT 700
SELECT code, id FROM srt ORDER BY code, id DESC NULLS LAST LIMIT 1000
SELECT c_word, id FROM srt ORDER BY c_word DESC NULLS LAST, id LIMIT 300
SELECT key, id FROM srt ORDER BY key DESC, id LIMIT 200
SELECT span, id FROM srt ORDER BY span, id LIMIT 300
SELECT id FROM srt ORDER BY word USING ~>~, id LIMIT 30
-- Keys that aren't selected, and ones without which the order is only that of some.
SELECT other FROM srt ORDER BY big, num LIMIT 5
SELECT word FROM srt ORDER BY word LIMIT 400
SELECT small, flag FROM srt ORDER BY small, flag LIMIT 333
SELECT small FROM srt ORDER BY small, small DESC, 1, 2 * 3 LIMIT 40
-- Expressions.
SELECT id, num + small FROM srt ORDER BY num + small DESC, id LIMIT 1000
SELECT -id, big FROM srt ORDER BY -id, big LIMIT 10
SELECT id FROM srt ORDER BY big * small NULLS FIRST, id LIMIT 600
SELECT id FROM srt ORDER BY big * small DESC NULLS LAST, id LIMIT 600
SELECT id FROM srt ORDER BY abs(num) DESC NULLS LAST, id LIMIT 20
SELECT id FROM srt ORDER BY upper(right(word, 2)), date_trunc('month', day) DESC, id LIMIT 200
SELECT id, at FROM srt ORDER BY date_trunc('day', at) DESC NULLS LAST, id LIMIT 60
SELECT id FROM srt ORDER BY num > 0, id LIMIT 60
SELECT id FROM srt ORDER BY coalesce(word, 'zzz') DESC, id LIMIT 400
SELECT id, upper(other), (SELECT count(*) FROM srt AS s WHERE s.id < t.id) FROM srt AS t ORDER BY num NULLS FIRST, id LIMIT 3
SELECT t, id FROM srt AS t ORDER BY num DESC NULLS LAST, id LIMIT 3
-- Conditions.
SELECT id, num FROM srt WHERE small = 3 AND word LIKE '%1%' ORDER BY num DESC NULLS LAST LIMIT 10
SELECT id, num FROM srt WHERE small = 3 AND small + num > 100 ORDER BY small, num, id LIMIT 10
SELECT id FROM srt WHERE num IS NULL OR flag ORDER BY id DESC NULLS LAST LIMIT 10
SELECT id FROM srt WHERE id < 4 ORDER BY id LIMIT 10
SELECT id FROM srt WHERE id < 0 ORDER BY id LIMIT 10
SELECT id FROM srt WHERE id IN (5, 900, 77, 10000) ORDER BY num DESC LIMIT 3

-- LIMIT and OFFSET.
SELECT id FROM srt ORDER BY num DESC NULLS LAST, id LIMIT 5 OFFSET 3
SELECT id FROM srt ORDER BY num, id OFFSET 5990 LIMIT 100
SELECT id FROM srt ORDER BY num, id OFFSET 100000 LIMIT 100
SELECT id FROM srt ORDER BY num LIMIT 0
SELECT id FROM srt ORDER BY num, id LIMIT NULL
SELECT id FROM srt ORDER BY num, id OFFSET 6000
SELECT id FROM srt ORDER BY num, id LIMIT (SELECT 3) OFFSET (SELECT 1)
SELECT id FROM srt ORDER BY num, id LIMIT (SELECT NULL::int8)
SELECT id FROM srt ORDER BY num, id LIMIT (SELECT -1)
SELECT id FROM srt ORDER BY num, id LIMIT 2 OFFSET (SELECT -1)
SELECT id FROM srt ORDER BY num, id LIMIT 2 OFFSET (SELECT NULL::int)
SELECT id FROM srt ORDER BY num, id LIMIT (SELECT 9223372036854775807) OFFSET 1
SELECT num FROM srt ORDER BY num NULLS FIRST FETCH FIRST 3 ROWS WITH TIES
SELECT small FROM srt ORDER BY small OFFSET 5 FETCH FIRST 2 ROWS WITH TIES
SELECT f8 + 0 FROM srt WHERE f8 <= 0 ORDER BY f8 FETCH FIRST 2 ROWS WITH TIES
SELECT any_scale + 0.000 FROM srt ORDER BY any_scale OFFSET 1200 FETCH FIRST 3 ROWS WITH TIES
SELECT span FROM srt ORDER BY span DESC NULLS LAST FETCH FIRST ROW WITH TIES

-- As a part of others: subqueries, joins, parameters, rescans.
SELECT sum(num) FROM (SELECT num FROM srt ORDER BY num DESC NULLS LAST LIMIT 10) AS s
SELECT x, first FROM generate_series(0, 4) AS x, LATERAL (SELECT id AS first FROM srt WHERE small = x ORDER BY num NULLS LAST, id LIMIT 2) AS s
SELECT x, first FROM generate_series(0, 4) AS x, LATERAL (SELECT id AS first FROM srt ORDER BY abs(num - x * 10000), id LIMIT x) AS s
SELECT x, first FROM generate_series(0, 2) AS x, LATERAL (SELECT id AS first FROM srt ORDER BY num, id LIMIT CASE WHEN x = 1 THEN NULL ELSE x END) AS s WHERE first < 100
SELECT x, (SELECT id FROM srt WHERE num > x ORDER BY num, id LIMIT 1) FROM generate_series(-50000, 60000, 25000) AS x
(SELECT id FROM srt ORDER BY num, id LIMIT 2) UNION ALL (SELECT id FROM srt ORDER BY big, id LIMIT 2)
WITH first AS MATERIALIZED (SELECT id, num FROM srt ORDER BY num, id LIMIT 20) SELECT * FROM first WHERE id % 2 = 0
SELECT id, num, rank() OVER (ORDER BY id) FROM (SELECT id, num FROM srt ORDER BY num, id LIMIT 5) AS s
$list$, 'compare_rows');
PREPARE first_of (int, int8) AS SELECT id, num FROM srt WHERE small = $1 ORDER BY num DESC NULLS LAST, id LIMIT $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE first_of (3, 2);
EXECUTE first_of (4, 3);
EXECUTE first_of (NULL, 3);
EXECUTE first_of (3, 0);
EXECUTE first_of (3, -1);
SELECT count(*) FROM srt WHERE small = 3;
CREATE TEMP TABLE all_of AS EXECUTE first_of (3, NULL);
SELECT count(*), count(DISTINCT id) FROM all_of;
RESET plan_cache_mode;
DROP TABLE all_of;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, num FROM srt ORDER BY num, id LIMIT 5;
FETCH 2 c;
FETCH ALL c;
FETCH BACKWARD 3 c;
DECLARE d CURSOR WITH HOLD FOR SELECT id FROM srt ORDER BY num DESC NULLS LAST, id LIMIT 3;
COMMIT;
FETCH ALL d;
CLOSE d;

-- Cursors that nobody has told to go back do so where the plan can, as PostgreSQL's own sort.
BEGIN;
DECLARE c CURSOR FOR SELECT id, num FROM srt ORDER BY num, id LIMIT 4 OFFSET 1;
FETCH 2 c;
FETCH BACKWARD 1 c;
FETCH BACKWARD 5 c;
FETCH ALL c;
FETCH BACKWARD 2 c;
FETCH 1 c;
FETCH ABSOLUTE 2 c;
DECLARE d CURSOR FOR SELECT small FROM srt ORDER BY small, num FETCH FIRST 2 ROWS WITH TIES;
MOVE FORWARD ALL d;
FETCH BACKWARD ALL d;
DECLARE e CURSOR FOR SELECT id, num FROM srt ORDER BY num, id LIMIT (SELECT NULL::int8);
FETCH 2 e;
FETCH BACKWARD 1 e;
COMMIT;

-- A cursor over an ordered plan is for reading alone, as over PostgreSQL's own sort.
BEGIN;
DECLARE c CURSOR FOR SELECT id, num FROM srt ORDER BY num, id LIMIT 4;
FETCH 1 c;
UPDATE srt SET small = 0 WHERE CURRENT OF c;
ROLLBACK;

-- Own changes, and rows on pages that aren't all-visible.
BEGIN;
UPDATE srt SET num = num + 1000000 WHERE id % 500 = 1;
UPDATE srt SET other = 'changed' WHERE id % 500 = 2;
DELETE FROM srt WHERE num BETWEEN 49000 AND 50002;
INSERT INTO srt (id, num, other) VALUES (-1, 2000000, 'new'), (-2, -2000000, 'new');
SELECT * FROM compare_all($list$
SELECT id, num, other FROM srt ORDER BY num DESC NULLS LAST, id LIMIT 100
SELECT id, num, other FROM srt ORDER BY num, id LIMIT 100
$list$, 'compare_rows');
SAVEPOINT s;
DELETE FROM srt WHERE num < -40000;
SELECT * FROM compare_rows('SELECT id, num, other FROM srt ORDER BY num, id LIMIT 100');
ROLLBACK TO s;
SELECT * FROM compare_rows('SELECT id, num, other FROM srt ORDER BY num, id FETCH FIRST 4 ROWS WITH TIES');
ROLLBACK;
DELETE FROM srt WHERE id % 3 = 0;
UPDATE srt SET num = num - 7 WHERE id % 100 = 1;
SELECT * FROM compare_all($list$
SELECT id, num FROM srt ORDER BY num, id LIMIT 60
SELECT id, num FROM srt ORDER BY num DESC NULLS LAST, id LIMIT 60
SELECT id, other FROM srt WHERE small < 5 ORDER BY word DESC, id LIMIT 60
$list$, 'compare_rows');
VACUUM srt;
SELECT * FROM compare_rows('SELECT id, num FROM srt ORDER BY num, id LIMIT 60');
INSERT INTO srt (id, num) SELECT 10000 + i, i * 7 % 1000 FROM generate_series(1, 3000) AS i;
SELECT * FROM compare_all($list$
SELECT id, num FROM srt ORDER BY num, id LIMIT 60 OFFSET 2500

-- Errors: what may fail is evaluated for rows that pass the conditions only.
SELECT id FROM srt ORDER BY num / small LIMIT 5
SELECT id FROM srt WHERE small <> 0 ORDER BY num / small, id LIMIT 5
SELECT id FROM srt WHERE small > 3 ORDER BY 10 / (small - 3), id LIMIT 5
SELECT id FROM srt ORDER BY big * 10000000000 LIMIT 5
-- More rows than the node takes, and more than memory has room for.
SELECT id FROM srt ORDER BY num, id LIMIT 2000000
$list$, 'compare_rows');
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT * FROM compare_all($list$
SELECT id, num FROM srt ORDER BY num, id LIMIT 5000
SELECT id, num FROM srt ORDER BY num, id LIMIT 10
$list$, 'compare_rows');
RESET work_mem;
RESET hash_mem_multiplier;

-- What the plan is, and why there is none.
SELECT * FROM pg_temp.plan_of($$SELECT id, upper(other) FROM srt WHERE small > 3 ORDER BY num DESC, upper(word) NULLS FIRST, id LIMIT 5$$);
CREATE FUNCTION sort_reasons(query text) RETURNS SETOF text LANGUAGE sql AS
$$ SELECT format('%s: %s', candidate, reason) FROM gpu.explain_why(query) WHERE node = 'GpuQuery' $$;
SELECT * FROM sort_reasons('SELECT id FROM srt ORDER BY num LIMIT 5');
SELECT * FROM sort_reasons('SELECT id FROM srt ORDER BY num');
SELECT * FROM sort_reasons('SELECT id FROM srt LIMIT 5');
SELECT * FROM sort_reasons('SELECT id FROM srt WHERE num = 5 ORDER BY num LIMIT 5');
SELECT * FROM sort_reasons('SELECT num FROM srt ORDER BY other LIMIT 5');
SELECT * FROM sort_reasons('SELECT num FROM srt WHERE other > ''z'' ORDER BY num LIMIT 5');
SELECT * FROM sort_reasons('SELECT num FROM srt ORDER BY random() LIMIT 5');
SELECT * FROM sort_reasons('SELECT num FROM srt ORDER BY num, word || code LIMIT 5');
SELECT * FROM sort_reasons('SELECT num FROM srt ORDER BY num LIMIT (random() * 5)::int');
SELECT * FROM sort_reasons('SELECT ctid FROM srt ORDER BY num LIMIT 5');
SELECT * FROM sort_reasons('SELECT generate_series(1, 2) FROM srt ORDER BY num LIMIT 5');
SELECT * FROM sort_reasons('SELECT id FROM srt ORDER BY num LIMIT 5 FOR UPDATE');
SELECT * FROM sort_reasons('SELECT id FROM srt TABLESAMPLE SYSTEM (50) ORDER BY num LIMIT 5');
SELECT * FROM sort_reasons('SELECT a.id FROM srt AS a JOIN srt AS b ON a.num = b.id ORDER BY a.num LIMIT 5');
SELECT * FROM sort_reasons('SELECT num, count(*) FROM srt GROUP BY num ORDER BY num LIMIT 5');
SELECT * FROM sort_reasons('SELECT id, rank() OVER (ORDER BY num) FROM srt ORDER BY num LIMIT 5');
SELECT * FROM sort_reasons('SELECT v FROM (VALUES (1), (2)) AS x (v) ORDER BY v LIMIT 5');
SET pg_gpu.enable_query = off;
SELECT * FROM sort_reasons('SELECT id FROM srt ORDER BY num LIMIT 5');
RESET pg_gpu.enable_query;
BEGIN;
CREATE TABLE srt_bare (id int4, num int4);
CREATE TABLE srt_bare_child () INHERITS (srt_bare);
SELECT * FROM sort_reasons('SELECT id FROM srt_bare ORDER BY num LIMIT 5');
ROLLBACK;
-- Partitions and children: the first rows of all of them. Columns lie elsewhere in some, and one is partitioned again.
CREATE TABLE srp (id int4, kind int4, num int4, price numeric(8,2), word text, other text) PARTITION BY LIST (kind);
CREATE TABLE srp_0 PARTITION OF srp FOR VALUES IN (0) WITH (autovacuum_enabled = off);
CREATE TABLE srp_1 (other text, word text, gone int4, id int4, kind int4, price numeric(8,2), num int4) WITH (autovacuum_enabled = off);
ALTER TABLE srp_1 DROP COLUMN gone;
ALTER TABLE srp ATTACH PARTITION srp_1 FOR VALUES IN (1);
CREATE TABLE srp_2 PARTITION OF srp FOR VALUES IN (2, 3) PARTITION BY RANGE (id);
CREATE TABLE srp_2a PARTITION OF srp_2 FOR VALUES FROM (MINVALUE) TO (1500) WITH (autovacuum_enabled = off);
CREATE TABLE srp_2b PARTITION OF srp_2 FOR VALUES FROM (1500) TO (MAXVALUE) WITH (autovacuum_enabled = off);
CREATE TABLE srp_rest PARTITION OF srp DEFAULT WITH (autovacuum_enabled = off);
INSERT INTO srp
SELECT i, CASE WHEN i % 6 < 5 THEN i % 6 END, CASE WHEN i % 7 <> 0 THEN (i * 7919) % 1009 END, (i % 1000) * 1.37, 'word ' || i % 23, 'other ' || i
FROM generate_series(1, 4000) AS i;
CREATE INDEX srp_i ON srp USING gpu_column (id, kind, num, price, word);
VACUUM ANALYZE srp;
SET enable_bitmapscan = off;
SELECT * FROM compare_all($list$
SELECT id, other FROM srp ORDER BY id LIMIT 10
SELECT * FROM srp ORDER BY num DESC, id LIMIT 300 OFFSET 150
SELECT * FROM srp ORDER BY num DESC NULLS LAST, id DESC LIMIT 3000
SELECT other FROM srp WHERE price > 700 ORDER BY word COLLATE "C" DESC, id LIMIT 100
SELECT srp FROM srp ORDER BY price DESC, id LIMIT 10
-- By expressions that aren't selected.
SELECT other FROM srp ORDER BY num % 7, id DESC LIMIT 50
SELECT other, num + 1 FROM srp ORDER BY upper(word), num + 1 NULLS FIRST, id LIMIT 50
$list$, 'compare_rows');
-- Partitions that are left, one of them or several. In 18 the Append of one disabled scan doesn't count as disabled, so PostgreSQL's sort is.
SET enable_sort = off;
SELECT * FROM compare_all($list$
SELECT other FROM srp WHERE kind = 1 ORDER BY num, id LIMIT 20
SELECT other FROM srp WHERE kind IN (1, 2) ORDER BY num, id LIMIT 20
SELECT other FROM srp WHERE kind = 2 AND id > 2000 ORDER BY num, id LIMIT 20
$list$, 'compare_rows');
RESET enable_sort;
SELECT * FROM compare_all($list$
SELECT other FROM srp_2 ORDER BY num, id LIMIT 20
SELECT * FROM generate_series(0, 5) AS k, LATERAL (SELECT id, other FROM srp WHERE kind = k ORDER BY num DESC, id LIMIT 3) AS l
SELECT * FROM generate_series(0, 9, 3) AS k, LATERAL (SELECT id, other FROM srp WHERE id > 100 * k ORDER BY num DESC, id LIMIT k) AS l
-- All rows that are equal to the last one, none, and all.
SELECT num FROM srp ORDER BY num FETCH FIRST 10 ROWS WITH TIES
SELECT id FROM srp ORDER BY id LIMIT 0
SELECT id FROM srp ORDER BY id LIMIT ALL
SELECT id, other FROM srp ORDER BY num, id LIMIT (SELECT 7) OFFSET (SELECT 2)
SELECT other FROM srp ORDER BY num % 7, id DESC LIMIT ALL
-- Left to PostgreSQL: columns of the system, and rows that are locked.
SELECT tableoid::regclass, id FROM srp ORDER BY num, id LIMIT 5
$list$, 'compare_rows');
SELECT * FROM sort_reasons('SELECT id FROM srp ORDER BY num, id LIMIT 5 FOR UPDATE');
-- Rows that aren't visible to all yet.
BEGIN;
UPDATE srp SET num = -id WHERE id % 50 = 0;
DELETE FROM srp WHERE id % 50 = 1;
SELECT * FROM compare_rows('SELECT id, num, other FROM srp ORDER BY num, id LIMIT 100');
ROLLBACK;
-- Children, of which one has no index, and one none of the rows.
CREATE TABLE srt_child () INHERITS (srt) WITH (autovacuum_enabled = off);
CREATE TABLE srt_other (more int4) INHERITS (srt_child) WITH (autovacuum_enabled = off);
CREATE TABLE srt_empty () INHERITS (srt) WITH (autovacuum_enabled = off);
CREATE INDEX ON srt_other USING gpu_column (id, num, word);
INSERT INTO srt_child (id, num, word, other) SELECT i, i % 777, 'child ' || i % 5, 'other ' || i FROM generate_series(7001, 7600) AS i;
INSERT INTO srt_other (id, num, word, other, more) SELECT i, i % 555, 'other ' || i % 5, 'other ' || i, i FROM generate_series(8001, 9000) AS i;
VACUUM ANALYZE srt, srt_child, srt_other, srt_empty;
SELECT * FROM compare_all($list$
SELECT id, num, other FROM srt ORDER BY num, id LIMIT 50
SELECT id, word, other FROM srt WHERE id > 5900 ORDER BY word DESC, id LIMIT 500
SELECT other FROM srt WHERE id > 5900 ORDER BY num % 7, upper(word), id LIMIT 500
SELECT num + 1, id FROM srt ORDER BY num + 1 DESC, id LIMIT 500
SELECT other FROM srt WHERE id > 5900 ORDER BY num % 7, upper(word), id LIMIT ALL
SELECT id, num, other FROM ONLY srt ORDER BY num, id LIMIT 50
SELECT id, num, other FROM srt_child ORDER BY num, id LIMIT 50
$list$, 'compare_rows');
-- Cursors go back here, too, also where a child's rows are sorted by PostgreSQL.
RESET enable_seqscan;
SELECT * FROM pg_temp.plan_of('SELECT id, num FROM srt ORDER BY num, id LIMIT 4 OFFSET 1');
SELECT * FROM pg_temp.plan_of('SELECT id, num FROM srt ORDER BY num, id LIMIT (SELECT 4)');
SELECT * FROM compare_all($list$
SELECT id, num FROM srt ORDER BY num, id LIMIT 4 OFFSET 1
SELECT num FROM srt ORDER BY num OFFSET 1 FETCH FIRST 4 ROWS WITH TIES
SELECT id, num FROM srt ORDER BY num, id LIMIT (SELECT 4)
$list$, 'compare_rows');
BEGIN;
DECLARE c CURSOR FOR SELECT id, num FROM srt ORDER BY num, id LIMIT 4 OFFSET 1;
FETCH 2 c;
FETCH BACKWARD 1 c;
FETCH BACKWARD 5 c;
FETCH ALL c;
FETCH BACKWARD 2 c;
FETCH ABSOLUTE 2 c;
COMMIT;
SET enable_seqscan = off;
RESET enable_bitmapscan;
DROP TABLE srt_child, srt_other, srt_empty;
DROP TABLE srp;

-- Rows that row security or a barrier hides: what may fail isn't evaluated for them.
CREATE ROLE regress_sort_reader;
GRANT SELECT ON srt TO regress_sort_reader;
CREATE POLICY large ON srt USING (small > 3);
ALTER TABLE srt ENABLE ROW LEVEL SECURITY;
SET ROLE regress_sort_reader;
SELECT * FROM compare_all($list$
SELECT id, num FROM srt ORDER BY num, id LIMIT 5
SELECT id, num FROM srt WHERE num < 0 ORDER BY num DESC, id LIMIT 5
SELECT id FROM srt ORDER BY 1 / (small - 3), id LIMIT 5
$list$, 'compare_rows');
RESET ROLE;
ALTER TABLE srt DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON srt FROM regress_sort_reader;
SET ROLE regress_sort_reader;
SELECT * FROM compare_rows('SELECT id, num FROM srt ORDER BY num, id LIMIT 5');
RESET ROLE;
DROP POLICY large ON srt;
DROP ROLE regress_sort_reader;

-- LIMIT changes from one execution to the next where the node has no room, so that PostgreSQL's own sort answers.
CREATE TABLE srt_one (x int4 PRIMARY KEY);
INSERT INTO srt_one VALUES (1);
ANALYZE srt_one;
CREATE TABLE srt_words (id int4, word text) WITH (autovacuum_enabled = off);
INSERT INTO srt_words SELECT i, md5(i::text) FROM generate_series(1, 20000) AS i;
CREATE INDEX srt_words_i ON srt_words USING gpu_column (word, id);
VACUUM ANALYZE srt_words;
SET work_mem = '64kB';
SELECT n, (SELECT count(id) FROM srt_one LEFT JOIN (SELECT id FROM srt_words ORDER BY word, id LIMIT n) AS s ON true) AS rows FROM generate_series(1, 4) AS n;
SELECT n, (SELECT count(id) FROM srt_one LEFT JOIN (SELECT id FROM srt_words ORDER BY word, id LIMIT n) AS s ON true) AS rows
    FROM (VALUES (3), (NULL), (1), (1), (2)) AS v (n);
RESET work_mem;
SELECT n, (SELECT count(id) FROM srt_one LEFT JOIN (SELECT id FROM srt_words ORDER BY word, id LIMIT n) AS s ON true) AS rows
    FROM (VALUES (3), (NULL), (1), (1), (2)) AS v (n);
-- A subquery with effects isn't evaluated for no row.
CREATE SEQUENCE srt_numbers;
SELECT id FROM srt WHERE small > 100 AND num + small > (SELECT nextval('srt_numbers')) ORDER BY num, id LIMIT 3;
SELECT sum(num), count(*) FROM srt WHERE small > 100 AND num + small > (SELECT nextval('srt_numbers'));
SELECT count(*) FROM srt WHERE small > 100 AND num NOT IN (SELECT nextval('srt_numbers'));
SELECT is_called FROM srt_numbers;
SELECT reason FROM gpu.explain_why('SELECT id FROM srt WHERE num > (SELECT nextval(''srt_numbers'')) ORDER BY num LIMIT 3');
SELECT reason FROM gpu.explain_why('SELECT sum(num) FROM srt WHERE num > (SELECT nextval(''srt_numbers''))');
DROP SEQUENCE srt_numbers;
DROP TABLE srt_one, srt_words;

-- A partial index, and one on an expression's column only.
CREATE INDEX srt_part ON srt USING gpu_column (num, id) WHERE small > 8;
DROP INDEX srt_i;
SELECT * FROM compare_all($list$
SELECT id, num FROM srt WHERE small > 8 ORDER BY num DESC, id LIMIT 5
SELECT id, num FROM srt WHERE small > 9 ORDER BY num DESC, id LIMIT 5
SELECT id, num FROM srt ORDER BY num DESC, id LIMIT 5
$list$, 'compare_rows');
DROP TABLE srt;
DROP FUNCTION compare_rows, rows_of, sort_reasons, answer_of, who_answers, compare, compare_all;
