-- Conditions with sub-selects that don't depend on rows around them, which PostgreSQL's plans look rows up in: each statement is run with the node
-- and without it, and the answers, or the kinds of errors, are held against each other.
SET pg_gpu.path = host;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
CREATE TABLE sfact (id int, item int, wide int8, small int2, tag text, caseless text, code char(4), price numeric(8,2), day date, f8 float8) WITH (autovacuum_enabled = off);
CREATE TABLE slist (k int, k8 int8, word varchar(20), name text, price numeric, day date, n int) WITH (autovacuum_enabled = off);
INSERT INTO slist SELECT i * 3, i, 'tag ' || i, 'word ' || i, i / 4.0, date '2026-01-01' + i, i % 5 FROM generate_series(1, 60) AS i;
INSERT INTO slist VALUES (NULL, NULL, NULL, NULL, NULL, NULL, 7);
INSERT INTO sfact
SELECT i, CASE WHEN i % 13 <> 0 THEN i % 200 END, i % 150, i % 90, CASE WHEN i % 7 <> 0 THEN 'tag ' || i % 80 END, 'x', chr(65 + i % 6), (i % 300) / 4.0, date '2026-01-01' + i % 90, i % 10
FROM generate_series(1, 20000) AS i;
CREATE INDEX sfact_i ON sfact USING gpu_column (id, item, wide, small, tag, code, price, day, f8);
VACUUM ANALYZE sfact;
ANALYZE slist;
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

-- NULL among what is looked for, among what is looked in, on both sides, and nothing to look in.
SELECT * FROM compare_all($list$
SELECT count(*), sum(id) FROM sfact WHERE item NOT IN (SELECT k FROM slist WHERE n < 4)
SELECT count(*), sum(id) FROM sfact WHERE item NOT IN (SELECT k FROM slist)
SELECT count(*), sum(id) FROM sfact WHERE item NOT IN (SELECT k FROM slist WHERE n = 9)
SELECT count(*), sum(id) FROM sfact WHERE item NOT IN (SELECT k FROM slist WHERE n = 7)
SELECT count(*), sum(id) FROM sfact WHERE (item NOT IN (SELECT k FROM slist)) IS NULL
SELECT count(*), sum(id) FROM sfact WHERE (item IN (SELECT k FROM slist WHERE n < 4)) IS NOT TRUE
SELECT item, count(*) FROM sfact WHERE id % 4 = 1 AND item NOT IN (SELECT k FROM slist WHERE n < 3) GROUP BY 1
-- Beside other conditions, below OR, in FILTER, as a group, as an argument, twice.
SELECT count(*) FROM sfact WHERE item IN (SELECT k FROM slist) OR day > '2026-03-01'
SELECT count(*) FROM sfact WHERE NOT (item IN (SELECT k FROM slist WHERE n > 1) AND tag NOT IN (SELECT name FROM slist WHERE n = 2))
SELECT tag, count(*) FILTER (WHERE item IN (SELECT k FROM slist)), sum(id) FILTER (WHERE item NOT IN (SELECT k FROM slist WHERE n = 1)) FROM sfact GROUP BY 1
SELECT item IN (SELECT k FROM slist) AS found, count(*) FROM sfact GROUP BY 1
SELECT count(CASE WHEN item IN (SELECT k FROM slist) THEN 1 END), bool_or(item IN (SELECT k FROM slist WHERE n = 2)) FROM sfact
SELECT count(*) FROM sfact WHERE item % 50 NOT IN (SELECT k FROM slist WHERE n < 4) OR item + 1 IN (SELECT k FROM slist)
-- Types: text beside varchar, dates, numerics, char(n); and those of two types, which aren't hashed alike.
SELECT count(*) FROM sfact WHERE tag NOT IN (SELECT word FROM slist WHERE n < 4)
SELECT count(*) FROM sfact WHERE day NOT IN (SELECT day FROM slist WHERE n < 4)
SELECT count(*) FROM sfact WHERE price NOT IN (SELECT price FROM slist WHERE n < 4)
SELECT count(*) FROM sfact WHERE code NOT IN (SELECT 'A  '::char(6) FROM slist)
SELECT count(*) FROM sfact WHERE f8 NOT IN (SELECT n FROM slist)
SELECT count(*) FROM sfact WHERE wide NOT IN (SELECT k8 FROM slist WHERE n < 4)
SELECT count(*) FROM sfact WHERE wide NOT IN (SELECT k FROM slist WHERE n < 4)
-- Not the node's: several columns, rows around them, no equality. Errors, also of what isn't looked for anywhere.
SELECT count(*) FROM sfact WHERE (item, wide) NOT IN (SELECT k, k8 FROM slist WHERE n < 4)
SELECT count(*) FROM sfact f WHERE item NOT IN (SELECT k FROM slist s WHERE s.n = f.id % 5 AND n < 4)
SELECT count(*) FROM sfact WHERE item > ALL (SELECT k FROM slist WHERE k < 9)
SELECT count(*) FROM sfact WHERE 100 / item NOT IN (SELECT k FROM slist WHERE n = 9)
SELECT count(*) FROM sfact WHERE 100 / (item - 5) NOT IN (SELECT k FROM slist WHERE n = 2)
SELECT count(*) FROM sfact WHERE 100 / (item - 5) NOT IN (SELECT k FROM slist WHERE n = 9)
SELECT count(*) FROM sfact WHERE item NOT IN (SELECT 1 / (k - 6) FROM slist WHERE n < 4)
$list$);
-- First rows, and rows that are made distinct.
SELECT same FROM compare('SELECT * FROM (SELECT id, item FROM sfact WHERE item NOT IN (SELECT k FROM slist WHERE n < 4) ORDER BY item DESC NULLS LAST, id LIMIT 7) AS s');
SELECT who_answers('SELECT id FROM sfact WHERE item NOT IN (SELECT k FROM slist WHERE n < 4) ORDER BY item DESC NULLS LAST, id LIMIT 7');
SELECT id FROM sfact WHERE item NOT IN (SELECT k FROM slist WHERE n < 4) ORDER BY item DESC NULLS LAST, id LIMIT 7;
SELECT * FROM compare('SELECT DISTINCT tag FROM sfact WHERE tag NOT IN (SELECT name FROM slist WHERE n < 4)');
-- Parameters that the sub-select's rows depend on, of the statement and of rows above it.
SET plan_cache_mode = force_generic_plan;
PREPARE not_in (int) AS SELECT count(*), sum(id) FROM sfact WHERE item NOT IN (SELECT k FROM slist WHERE n < $1);
EXECUTE not_in (4);
EXECUTE not_in (0);
EXECUTE not_in (9);
RESET plan_cache_mode;
SELECT * FROM compare_all($list$
SELECT o.n, s.* FROM generate_series(0, 8) AS o (n), LATERAL (SELECT count(*), sum(id) FROM sfact WHERE item NOT IN (SELECT k FROM slist WHERE slist.n < o.n)) AS s
SELECT o.n, s.* FROM generate_series(0, 8) AS o (n), LATERAL (SELECT f.id, q.c FROM (SELECT o.n AS c FROM sfact WHERE item < 3 LIMIT 2) AS q JOIN sfact f ON f.id = q.c) AS s
SELECT o.n, s.* FROM generate_series(0, 8) AS o (n), LATERAL (SELECT id FROM sfact WHERE item NOT IN (SELECT k FROM slist WHERE slist.n < o.n) ORDER BY id LIMIT 2) AS s
$list$);
SELECT who_answers('SELECT o.n, s.* FROM generate_series(0, 8) AS o (n), LATERAL (SELECT id FROM sfact WHERE item NOT IN (SELECT k FROM slist WHERE slist.n < o.n) ORDER BY id LIMIT 2) AS s');
-- Memory for the sub-select's rows; the planner expects few.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT * FROM compare('SELECT count(*) FROM sfact WHERE item NOT IN (SELECT (g * 7) % 300 + 100 FROM generate_series(1, 1000 * (SELECT 20)) AS g)');
RESET work_mem;
RESET hash_mem_multiplier;
-- Changes of this transaction, and partitions.
BEGIN;
DELETE FROM slist WHERE k IS NULL;
INSERT INTO slist (k, n) SELECT i, 3 FROM generate_series(1, 20) AS i;
SELECT * FROM compare('SELECT count(*), sum(id) FROM sfact WHERE item NOT IN (SELECT k FROM slist)');
ROLLBACK;
SELECT * FROM compare('SELECT count(*), sum(id) FROM sfact WHERE item NOT IN (SELECT k FROM slist)');
CREATE TABLE spart (id int, item int, day date) PARTITION BY RANGE (day);
CREATE TABLE spart_1 PARTITION OF spart FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE spart_2 PARTITION OF spart FOR VALUES FROM ('2026-02-01') TO ('2027-01-01');
INSERT INTO spart SELECT id, item, day FROM sfact;
CREATE INDEX ON spart USING gpu_column (id, item, day);
VACUUM ANALYZE spart;
SELECT * FROM compare('SELECT count(*), sum(id) FROM spart WHERE item NOT IN (SELECT k FROM slist WHERE n < 4)');
SELECT reason FROM gpu.explain_why('SELECT count(*) FROM sfact WHERE (item, wide) NOT IN (SELECT k, k8 FROM slist)');
DROP TABLE sfact, slist, spart;
DROP FUNCTION compare, compare_all, who_answers, answer_of;
