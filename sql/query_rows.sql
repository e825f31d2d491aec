-- GpuQuery gives rows: the first ones in an order, of one table and of joined ones, and all rows of joins, below whatever PostgreSQL computes of them. Each
-- statement is run with the node and without it, and the answers are held against each other. Orders are total, or only what is sorted by is selected.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';

CREATE TABLE srt (id int4, small int2, num int4, big int8, price numeric(10,2), any_scale numeric, f4 float4, f8 float8, flag bool, day date, at timestamp,
                  word text, code char(3), c_word text COLLATE "C", key uuid, span interval, other text) WITH (autovacuum_enabled = off);
INSERT INTO srt
SELECT i, i % 11, CASE WHEN i % 7 <> 0 THEN (i * 7919) % 100003 - 50000 END, CASE WHEN i % 13 <> 0 THEN i::int8 * 10000000019 - 5000000000000 END,
       CASE WHEN i % 17 <> 0 THEN (i % 1000) * 1.37 - 300 END, CASE i % 5 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 WHEN 2 THEN -2 WHEN 3 THEN 7.125 END,
       CASE i % 6 WHEN 0 THEN 'NaN'::float4 WHEN 1 THEN '-0' WHEN 2 THEN 0 WHEN 3 THEN 'Infinity' WHEN 4 THEN i END,
       CASE i % 4 WHEN 0 THEN '-0'::float8 WHEN 1 THEN i / 8.0 WHEN 2 THEN 0 END, CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END, date '2026-01-01' + i % 90,
       timestamp '2026-01-01' + i * interval '37 minutes', CASE WHEN i % 19 <> 0 THEN 'word ' || i % 23 END, chr(97 + i % 4), chr(65 + i % 26) || i % 3,
       md5((i % 50)::text)::uuid, i % 30 * interval '1 day', 'other ' || i
FROM generate_series(1, 6000) AS i;
INSERT INTO srt (id) SELECT NULL FROM generate_series(1, 20);
CREATE INDEX srt_i ON srt USING gpu_column (id, small, num, big, price, any_scale, f4, f8, flag, day, at, word, code, c_word, key, span);
VACUUM ANALYZE srt;
-- Deliveries go from one place to another; people order them, more than once or never; goods have prices at several times; and some come back.
CREATE TABLE delivery (id int4, person int4, good int8, origin int2, target int2, day date, moment timestamp, weight numeric(8,2), price numeric, ratio float8, note text, code char(4), express bool) WITH (autovacuum_enabled = off);
CREATE TABLE person (id int4, boss int4, name text, town int2, born date, credit numeric(10,3), kind char(4)) WITH (autovacuum_enabled = off);
CREATE TABLE place (id int2, region text, population int4, note text) WITH (autovacuum_enabled = off);
CREATE TABLE good (id int8, since date, until date, price numeric, name text COLLATE "C", parent int8) WITH (autovacuum_enabled = off);
CREATE TABLE returned (delivery int4, day date, reason text, share float8) WITH (autovacuum_enabled = off);
CREATE TABLE nothing (id int4, name text, amount numeric, day date) WITH (autovacuum_enabled = off);
INSERT INTO delivery
SELECT i, CASE WHEN i % 13 > 0 THEN i * 7 % 900 END, CASE WHEN i % 17 > 0 THEN i * 11 % 260 END, i % 40, CASE WHEN i % 19 > 0 THEN i * 3 % 45 END, date '2024-01-01' + i % 366, timestamp '2024-01-01' + i * interval '97 minutes',
       i % 700 / 8.0, CASE i % 3 WHEN 0 THEN i % 50 WHEN 1 THEN (i % 50)::numeric(6,1) ELSE (i % 50 / 4.0)::numeric(6,2) END, CASE WHEN i % 23 > 0 THEN i % 300 / 4.0 END,
       (ARRAY['fast', 'late', '', 'lost', NULL])[1 + i % 5], (ARRAY['a', 'b', 'c'])[1 + i % 3], i % 4 = 0
FROM generate_series(1, 6000) AS i;
INSERT INTO person
SELECT i, CASE WHEN i % 10 > 0 THEN i / 10 END, CASE WHEN i % 29 > 0 THEN 'name ' || i % 211 END, i % 50, date '1950-01-01' + i * 20, CASE WHEN i % 7 > 0 THEN i * 1.125 - 400 END, (ARRAY['a', 'b', 'd'])[1 + i % 3]
FROM generate_series(0, 999) AS i;
INSERT INTO person SELECT id, boss, name || ' again', town, born, credit, kind FROM person WHERE id % 9 = 0;
INSERT INTO place SELECT i, CASE WHEN i % 8 > 0 THEN 'region ' || i % 6 END, i * i * 1000, CASE WHEN i % 5 > 0 THEN (ARRAY['fast', 'late', '', 'other'])[1 + i % 4] END FROM generate_series(0, 47) AS i;
INSERT INTO place VALUES (NULL, 'nowhere', NULL, NULL), (7, 'second', 7, 'fast');
INSERT INTO good SELECT i % 280, date '2024-01-01' + j * 120, date '2024-01-01' + j * 120 + 119, i * 1.5 + j, 'good ' || i % 97, CASE WHEN i % 4 > 0 THEN i / 4 END FROM generate_series(0, 279) AS i, generate_series(0, 3) AS j;
INSERT INTO good (id, name) VALUES (NULL, 'lost'), (NULL, NULL);
INSERT INTO returned SELECT i * 5 % 7000, date '2024-01-03' + i % 366, 'reason ' || i % 9, i % 9 / 8.0 FROM generate_series(1, 2500) AS i;
CREATE INDEX delivery_i ON delivery USING gpu_column (id, person, good, origin, target, day, moment, weight, price, ratio, note, code, express);
CREATE INDEX person_i ON person USING gpu_column (id, boss, name, town, born, credit, kind);
CREATE INDEX place_i ON place USING gpu_column (id, region, population, note);
CREATE INDEX good_i ON good USING gpu_column (id, since, until, price, name, parent);
CREATE INDEX returned_i ON returned USING gpu_column (delivery, day, reason, share);
CREATE INDEX nothing_i ON nothing USING gpu_column (id, name, amount, day);
VACUUM ANALYZE delivery, person, place, good, returned, nothing;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set rows_of :source '/test/regress/rows_of.sql'
\set compare_rows :source '/test/regress/compare_rows.sql'
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :compare
\i :rows_of
\i :compare_rows
\i :plan_of
\set ECHO all

-- Keys of all types, up and down.
SELECT * FROM compare_all($list$
SELECT id FROM srt ORDER BY id LIMIT 7
SELECT id FROM srt WHERE id IS NOT NULL ORDER BY id DESC LIMIT 7
SELECT id FROM srt ORDER BY id DESC LIMIT 30
SELECT id FROM srt ORDER BY id NULLS FIRST LIMIT 25
SELECT id FROM srt ORDER BY id DESC NULLS LAST LIMIT 25
SELECT id, small, num, big, price, any_scale, f4, f8, flag, day, at, word, code, c_word, key FROM srt ORDER BY num, id LIMIT 10
SELECT id, small, num, big, price, any_scale, f4, f8, flag, day, at, word, code, c_word, key FROM srt ORDER BY num DESC, id LIMIT 900
SELECT small, num, id FROM srt ORDER BY small DESC NULLS LAST, num NULLS FIRST, id DESC LIMIT 200
SELECT big, id FROM srt ORDER BY big DESC NULLS LAST, id LIMIT 20
SELECT price, id FROM srt ORDER BY price, id LIMIT 50
SELECT any_scale, id FROM srt ORDER BY any_scale, id LIMIT 3000
SELECT any_scale, id FROM srt ORDER BY any_scale DESC NULLS LAST, id LIMIT 3000
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
SELECT id FROM srt ORDER BY word, c_word COLLATE "C", id LIMIT 100
-- Keys that aren't selected, and ones without which the order is only that of some.
SELECT word FROM srt ORDER BY big, num LIMIT 5
SELECT word FROM srt ORDER BY word LIMIT 400
SELECT small, flag FROM srt ORDER BY small, flag LIMIT 333
SELECT small FROM srt ORDER BY small, small DESC, 1, 2 * 3 LIMIT 40
SELECT 1 FROM srt ORDER BY num LIMIT 3
-- Expressions.
SELECT id, num + small FROM srt ORDER BY num + small DESC, id LIMIT 1000
SELECT -id, big FROM srt ORDER BY -id, big LIMIT 10
SELECT id FROM srt ORDER BY abs(num) DESC NULLS LAST, id LIMIT 20
SELECT id FROM srt ORDER BY upper(right(word, 2)), date_trunc('month', day) DESC, id LIMIT 200
SELECT id, at FROM srt ORDER BY date_trunc('day', at) DESC NULLS LAST, id LIMIT 60
SELECT id FROM srt ORDER BY num > 0, id LIMIT 60
SELECT id FROM srt ORDER BY coalesce(word, 'zzz') DESC, id LIMIT 400
SELECT id, upper(word), (SELECT count(*) FROM srt AS s WHERE s.id < t.id) FROM srt AS t ORDER BY num NULLS FIRST, id LIMIT 3
SELECT id, price * 1.0, repeat(word, 2), format('%s %s', day, flag) FROM srt ORDER BY price * 1.0 DESC, id LIMIT 30
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
SELECT id FROM srt ORDER BY num, id LIMIT (SELECT 0)
SELECT id FROM srt ORDER BY num, id LIMIT (SELECT 9223372036854775807) OFFSET 1
SELECT id FROM srt ORDER BY num, id LIMIT (random() * 0)::int + 2
SELECT num FROM srt ORDER BY num NULLS FIRST FETCH FIRST 3 ROWS WITH TIES
-- As a part of others: subqueries, joins, parameters, rescans.
SELECT sum(num) FROM (SELECT num FROM srt ORDER BY num DESC NULLS LAST LIMIT 10) AS s
SELECT x, first FROM generate_series(0, 4) AS x, LATERAL (SELECT id AS first FROM srt WHERE small = x ORDER BY num NULLS LAST, id LIMIT 2) AS s ORDER BY 1, 2
SELECT x, first FROM generate_series(0, 4) AS x, LATERAL (SELECT id AS first FROM srt ORDER BY abs(num - x * 10000), id LIMIT 3) AS s ORDER BY 1, 2
SELECT x, (SELECT id FROM srt WHERE num > x ORDER BY num, id LIMIT 1) FROM generate_series(-50000, 60000, 25000) AS x ORDER BY 1
SELECT x, first FROM generate_series(0, 4) AS x, LATERAL (SELECT id AS first FROM srt ORDER BY abs(num - x * 10000), id LIMIT x) AS s ORDER BY 1, 2
SELECT x, first FROM generate_series(0, 2) AS x, LATERAL (SELECT id AS first FROM srt ORDER BY num, id LIMIT CASE WHEN x = 1 THEN NULL ELSE x END) AS s WHERE first < 100 ORDER BY 1, 2
(SELECT id FROM srt ORDER BY num, id LIMIT 2) UNION ALL (SELECT id FROM srt ORDER BY big, id LIMIT 2)
WITH first AS MATERIALIZED (SELECT id, num FROM srt ORDER BY num, id LIMIT 20) SELECT * FROM first WHERE id % 2 = 0
SELECT id, num, rank() OVER (ORDER BY id) FROM (SELECT id, num FROM srt ORDER BY num, id LIMIT 5) AS s ORDER BY id
-- What may fail is evaluated for rows that pass the conditions only.
SELECT id FROM srt ORDER BY num / small LIMIT 5
SELECT id FROM srt WHERE small <> 0 ORDER BY num / small, id LIMIT 5
SELECT id FROM srt WHERE small > 3 ORDER BY 10 / (small - 3), id LIMIT 5
-- Left to others: columns that no index has, of the system, whole rows, intervals, sets, other orders.
SELECT other FROM srt ORDER BY id LIMIT 5
SELECT ctid FROM srt ORDER BY id LIMIT 5
SELECT srt FROM srt ORDER BY id LIMIT 1
SELECT id, generate_series(1, 2) FROM srt ORDER BY id LIMIT 5
SELECT id FROM srt ORDER BY word USING ~>~, id LIMIT 30
$list$, 'compare_rows');

-- Rows of joins.
SELECT * FROM compare_all($list$
SELECT d.id, p.name, d.weight * p.credit FROM delivery d JOIN person p ON d.person = p.id WHERE d.id < 300
SELECT d.*, p.* FROM delivery d JOIN person p ON d.person = p.id WHERE p.town < 3
SELECT d.id, p.id, p.name, p.credit FROM delivery d LEFT JOIN person p ON d.person = p.id AND p.town < 9
SELECT d.id, p.id, p.name, d.ratio, d.price FROM delivery d FULL JOIN person p ON d.person = p.id AND d.day > p.born + 20000
SELECT p.id, d.note FROM delivery d RIGHT JOIN person p ON d.person = p.id AND d.express WHERE p.kind = 'a'
SELECT d.id, d.note FROM delivery d WHERE EXISTS (SELECT FROM person p WHERE p.id = d.person AND p.town = 7)
SELECT d.id, d.code FROM delivery d WHERE NOT EXISTS (SELECT FROM person p WHERE p.id = d.person)
SELECT d.id, o.region, t.region, g.name, p.name FROM delivery d JOIN place o ON d.origin = o.id LEFT JOIN place t ON d.target = t.id JOIN good g ON d.good = g.id AND d.day BETWEEN g.since AND g.until JOIN person p ON p.id = d.person WHERE d.weight < 20
SELECT p.name, b.name FROM person p LEFT JOIN person b ON p.boss = b.id WHERE p.town < 10
SELECT 1 FROM delivery d JOIN person p ON d.person = p.id WHERE d.id < 200
SELECT d.id, n.name FROM delivery d LEFT JOIN nothing n ON n.id = d.id WHERE d.id < 20
SELECT d.id, n.name FROM delivery d JOIN nothing n ON n.id = d.id
SELECT d.id, v.x FROM delivery d JOIN (VALUES (1, 'one'), (2, 'two'), (NULL, 'none')) AS v (n, x) ON v.n = d.id
-- Below sorts, windows, limits, sets and other statements.
SELECT d.id, p.name FROM delivery d JOIN person p ON d.person = p.id ORDER BY d.weight DESC, p.name COLLATE "C", d.id, p.id
SELECT d.id, p.credit, rank() OVER (PARTITION BY p.town ORDER BY p.credit DESC, d.id) FROM delivery d JOIN person p ON d.person = p.id
SELECT d.id, count(*) OVER () FROM delivery d JOIN person p ON d.person = p.id WHERE p.town = 3
WITH w AS MATERIALIZED (SELECT d.id, p.town FROM delivery d JOIN person p ON d.person = p.id) SELECT town, id FROM w WHERE id % 7 = 0
SELECT d.id FROM delivery d JOIN person p ON d.person = p.id WHERE p.town = 1 UNION ALL SELECT r.delivery FROM returned r JOIN delivery e ON e.id = r.delivery AND e.day = r.day
SELECT DISTINCT ON (p.town) p.town, d.id FROM delivery d JOIN person p ON d.person = p.id ORDER BY p.town, d.weight DESC, d.id
SELECT x, (SELECT max(e.id) FROM (SELECT d.id FROM delivery d JOIN person p ON d.person = p.id AND p.town = x OFFSET 0) AS e) FROM generate_series(1, 4) AS x
-- First rows of joins.
SELECT d.id, p.id, p.name, d.weight FROM delivery d JOIN person p ON d.person = p.id ORDER BY d.weight DESC, d.id, p.name, p.id LIMIT 20
SELECT d.id, p.name FROM delivery d LEFT JOIN person p ON d.person = p.id ORDER BY p.name COLLATE "C" NULLS FIRST, d.id, p.id LIMIT 500 OFFSET 100
SELECT d.id, coalesce(p.credit, -1) + d.weight FROM delivery d LEFT JOIN person p ON d.person = p.id ORDER BY coalesce(p.credit, -1) + d.weight DESC, d.id, p.id LIMIT 50
SELECT d.note, o.note, d.id, o.region FROM delivery d JOIN place o ON d.origin = o.id ORDER BY o.note DESC NULLS LAST, d.note, d.id, o.region LIMIT 50
SELECT g.name, g.price, d.id FROM delivery d JOIN good g ON d.good = g.id AND d.day BETWEEN g.since AND g.until WHERE d.express ORDER BY g.price - d.price DESC NULLS LAST, d.id, g.name LIMIT 30
SELECT p.id FROM person p WHERE NOT EXISTS (SELECT FROM delivery d WHERE d.person = p.id) ORDER BY p.credit, p.id DESC, p.name LIMIT 15
SELECT d.id FROM delivery d JOIN nothing n ON n.id = d.id ORDER BY d.id LIMIT 5
-- Left to others: outer joins' expressions, rows that are locked.
SELECT d.id, s.c FROM delivery d LEFT JOIN (SELECT id, coalesce(name, 'none') AS c FROM person) AS s ON s.id = d.person WHERE d.id < 50
$list$, 'compare_rows');

-- Other statements that take rows, parameters of plans, cursors.
CREATE TABLE taken (id int4, name text);
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_nestloop = off; SET enable_seqscan = off;
SELECT * FROM pg_temp.plan_of('INSERT INTO taken SELECT d.id, p.name FROM delivery d JOIN person p ON d.person = p.id WHERE p.town = 5');
INSERT INTO taken SELECT d.id, p.name FROM delivery d JOIN person p ON d.person = p.id WHERE p.town = 5;
SELECT count(*), count(name), sum(id) FROM taken;
SELECT * FROM pg_temp.plan_of('SELECT d.id, p.name FROM delivery d JOIN person p ON d.person = p.id WHERE p.town = 5 FOR UPDATE OF d');
SELECT * FROM pg_temp.plan_of('SELECT id, upper(word) FROM srt WHERE small > 3 ORDER BY num DESC, upper(word) NULLS FIRST, id LIMIT 5');
SELECT * FROM pg_temp.plan_of('SELECT d.id, p.name || d.note FROM delivery d LEFT JOIN person p ON d.person = p.id ORDER BY d.weight + p.credit DESC, d.id, p.name COLLATE "C", p.id LIMIT 5');
PREPARE first_of (int, int8) AS SELECT id, num FROM srt WHERE small = $1 ORDER BY num DESC NULLS LAST, id LIMIT $2;
SET plan_cache_mode = force_generic_plan;
SELECT * FROM pg_temp.plan_of('EXECUTE first_of (3, 2)');
EXECUTE first_of (3, 2);
EXECUTE first_of (4, 3);
EXECUTE first_of (NULL, 3);
EXECUTE first_of (3, 0);
EXECUTE first_of (3, -1);
CREATE TEMP TABLE all_of AS EXECUTE first_of (3, NULL);
SELECT count(*), count(DISTINCT id) FROM all_of;
DROP TABLE all_of;
RESET plan_cache_mode;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, num FROM srt ORDER BY num, id LIMIT 5;
FETCH 2 c;
FETCH ALL c;
FETCH BACKWARD 3 c;
DECLARE d CURSOR WITH HOLD FOR SELECT id FROM srt ORDER BY num DESC NULLS LAST, id LIMIT 3;
COMMIT;
FETCH ALL d;
CLOSE d;
BEGIN;
DECLARE c CURSOR FOR SELECT id, num FROM srt ORDER BY num, id LIMIT 4;
FETCH 1 c;
UPDATE srt SET small = 0 WHERE CURRENT OF c;
ROLLBACK;
RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_nestloop; RESET enable_seqscan;

-- Own changes, and rows on pages that aren't all-visible.
BEGIN;
UPDATE srt SET num = num + 1000000, word = 'changed ' || id WHERE id % 500 = 1;
DELETE FROM srt WHERE num BETWEEN 49000 AND 50002;
INSERT INTO srt (id, num, word) VALUES (-1, 2000000, 'new'), (-2, -2000000, 'new');
DELETE FROM person WHERE id % 4 = 0;
SELECT * FROM compare_all($list$
SELECT id, num, word FROM srt ORDER BY num DESC NULLS LAST, id LIMIT 100
SELECT id, num, word FROM srt ORDER BY num, id LIMIT 100
SELECT d.id, p.name FROM delivery d JOIN person p ON d.person = p.id WHERE d.id < 500
$list$, 'compare_rows');
ROLLBACK;

-- Rows that row security hides: what may fail isn't evaluated for them.
CREATE ROLE regress_row_reader;
GRANT SELECT ON srt TO regress_row_reader;
CREATE POLICY large ON srt USING (small > 3);
ALTER TABLE srt ENABLE ROW LEVEL SECURITY;
SET ROLE regress_row_reader;
SELECT * FROM compare_all($list$
SELECT id, num FROM srt ORDER BY num, id LIMIT 5
SELECT id, num FROM srt WHERE num < 0 ORDER BY num DESC, id LIMIT 5
SELECT id FROM srt ORDER BY 1 / (small - 3), id LIMIT 5
$list$, 'compare_rows');
RESET ROLE;
ALTER TABLE srt DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON srt FROM regress_row_reader;
DROP POLICY large ON srt;
DROP ROLE regress_row_reader;
DROP TABLE srt, delivery, person, place, good, returned, nothing, taken;
DROP FUNCTION compare_rows, rows_of, answer_of, who_answers, compare, compare_all;
