-- First rows in an order, and rows that pass conditions, of which the index lacks columns: the engine finds the rows, and GpuQuery reads them in the table.
-- Each statement is run with the node and without it, and the answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';

CREATE TABLE late (gone int4, id int4, device int4, kind text, value numeric, payload text, twice int4 GENERATED ALWAYS AS (id * 2) STORED, long_text text, tags int4[], at interval) WITH (autovacuum_enabled = off, fillfactor = 80);
ALTER TABLE late DROP COLUMN gone;
ALTER TABLE late ALTER COLUMN long_text SET STORAGE EXTERNAL;
INSERT INTO late (id, device, kind, value, payload, long_text, tags, at)
SELECT i, CASE WHEN i % 11 > 0 THEN i * 7 % 400 END, CASE WHEN i % 13 > 0 THEN 'kind ' || i % 37 END, CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN i / 8.0 WHEN 2 THEN 'NaN' ELSE i % 90 END,
       'payload ' || i, CASE WHEN i % 500 = 0 THEN repeat('long ' || i, 500) END, ARRAY[i % 3, i], i % 9 * interval '1 day'
FROM generate_series(1, 9000) AS i;
CREATE INDEX late_i ON late USING gpu_column (id, device, kind, value, at);
ALTER TABLE late ADD COLUMN later text DEFAULT 'default';
VACUUM ANALYZE late;
CREATE TABLE late_seen (id int4 PRIMARY KEY, payload text);
INSERT INTO late_seen SELECT id, payload FROM late WHERE id % 7 = 0;

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

SELECT * FROM pg_temp.plan_of('SELECT * FROM late WHERE kind LIKE ''%7'' ORDER BY device, id LIMIT 5');
SELECT * FROM pg_temp.plan_of('SELECT * FROM late WHERE kind LIKE ''%7'' ORDER BY device, id LIMIT 5 OFFSET 2', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, VERBOSE') WHERE plan ~ 'Output|Rows|Columns|Heap';
SELECT * FROM pg_temp.plan_of('SELECT * FROM late WHERE kind LIKE ''%7'' AND id + device = 99');

SELECT * FROM compare_all($list$
-- All columns, expressions, system columns, whole rows.
SELECT * FROM late WHERE kind LIKE '%7' ORDER BY device, id LIMIT 10
SELECT * FROM late ORDER BY device DESC NULLS LAST, id DESC LIMIT 300 OFFSET 20
SELECT id, payload FROM late ORDER BY id LIMIT 7
SELECT payload FROM late ORDER BY id DESC LIMIT 7
SELECT payload, twice, later, tags[2], upper(payload) || id FROM late ORDER BY value DESC NULLS LAST, id LIMIT 40
SELECT ctid, tableoid::regclass, xmin IS NOT NULL, cmin, id FROM late ORDER BY device, id LIMIT 10
SELECT ctid FROM late ORDER BY id LIMIT 10
SELECT late FROM late ORDER BY device, id LIMIT 10
SELECT (late).payload, late.* FROM late ORDER BY device, id LIMIT 10
SELECT row_to_json(l) FROM late l ORDER BY device, id LIMIT 10
SELECT id, length(long_text), md5(long_text) FROM late WHERE id > 1000 AND id < 8000 ORDER BY id DESC LIMIT 2000
SELECT pg_column_size(payload) FROM late ORDER BY id LIMIT 3
SELECT payload, at FROM late WHERE device = 5 ORDER BY id LIMIT 30
SELECT payload, value FROM late WHERE id < 60 ORDER BY value, id LIMIT 60
-- Keys that are expressions, and keys that the index lacks.
SELECT payload FROM late ORDER BY upper(kind), -id LIMIT 10
SELECT payload, upper(kind) FROM late ORDER BY upper(kind) DESC, id LIMIT 10
SELECT payload FROM late ORDER BY id % 7, device, id LIMIT 10
SELECT payload FROM late ORDER BY payload LIMIT 10
SELECT payload FROM late WHERE payload LIKE '%77' ORDER BY id LIMIT 10
SELECT payload FROM late ORDER BY 10 / (id - 5) LIMIT 10
SELECT 10 / (id - 5), payload FROM late ORDER BY id LIMIT 10
-- None, few and many.
SELECT * FROM late WHERE id < 0 ORDER BY id LIMIT 10
SELECT * FROM late ORDER BY id LIMIT 0
SELECT * FROM late ORDER BY id LIMIT NULL OFFSET 8990
SELECT * FROM late ORDER BY id LIMIT (SELECT 3) OFFSET (SELECT 2)
SELECT id, payload FROM late ORDER BY device, id LIMIT 8999
SELECT id, payload FROM late ORDER BY device, id LIMIT 20000 OFFSET 8995
-- Rows in no order.
SELECT * FROM late WHERE device = 77
SELECT * FROM late WHERE device = 77 AND kind LIKE 'kind 1%'
SELECT id, payload FROM late WHERE id + device = 99
SELECT ctid, payload FROM late WHERE id < 60 AND value IS NULL
SELECT late FROM late WHERE device = 3
SELECT payload FROM late WHERE device = 3 AND payload LIKE '%7%'
SELECT tags, count(*) FROM late WHERE device = 4 GROUP BY tags
SELECT l.payload, s.payload FROM late l JOIN late_seen s USING (id) WHERE l.device = 9
-- As a part of others.
SELECT count(*), max(payload) FROM (SELECT payload FROM late ORDER BY device DESC, id LIMIT 10) AS s
SELECT x, s.* FROM generate_series(1, 4) AS x, LATERAL (SELECT id, payload FROM late WHERE device = x ORDER BY id DESC LIMIT 2) AS s
SELECT x, s.* FROM generate_series(0, 3) AS x, LATERAL (SELECT id, payload FROM late ORDER BY abs(id - x * 1000), id LIMIT x) AS s
SELECT x, (SELECT payload FROM late WHERE id > x ORDER BY id LIMIT 1) FROM generate_series(0, 9000, 3000) AS x
(SELECT payload FROM late ORDER BY id LIMIT 2) UNION ALL (SELECT payload FROM late ORDER BY device DESC, id LIMIT 2)
WITH first AS MATERIALIZED (SELECT * FROM late ORDER BY device, id LIMIT 20) SELECT a.payload, b.payload FROM first a JOIN first b ON a.id = b.twice / 2
SELECT s.id, t.payload FROM (SELECT id, payload FROM late ORDER BY device, id LIMIT 20) AS s LEFT JOIN late_seen t USING (id) ORDER BY s.id
SELECT id, payload, rank() OVER (ORDER BY device, id) FROM late WHERE device < 3
SELECT DISTINCT ON (device) device, payload FROM late WHERE device < 20 ORDER BY device, id
-- Of windows, whose functions are numbers.
SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY device ORDER BY id DESC) AS n FROM late) AS l WHERE n <= 2
SELECT id, payload, n, share FROM (SELECT id, payload, rank() OVER (PARTITION BY kind ORDER BY value, id) AS n, cume_dist() OVER (PARTITION BY kind ORDER BY value, id) AS share FROM late WHERE id % 3 = 0) AS l WHERE n < 4
SELECT payload, kind, n, lagged FROM (SELECT payload, kind, ntile(4) OVER (ORDER BY id) AS n, lag(id, 2, 0) OVER (PARTITION BY device ORDER BY id) AS lagged, row_number() OVER (PARTITION BY device, kind ORDER BY id) AS m, id FROM late) AS l WHERE m = 1 ORDER BY payload
SELECT count(*), max(payload), sum(n) FROM (SELECT payload, count(*) OVER (PARTITION BY device) AS n, row_number() OVER (PARTITION BY device ORDER BY id) AS m FROM late) AS l WHERE m = 3
SELECT DISTINCT ON (kind) * FROM late ORDER BY kind, value DESC NULLS LAST, id
SELECT DISTINCT ON (device) late FROM late ORDER BY device, id
SELECT DISTINCT ON (device) device, tags[1], ctid FROM late WHERE kind LIKE '%7' ORDER BY device, id LIMIT 20
SELECT * FROM (SELECT payload, lag(kind) OVER (ORDER BY id) AS before, row_number() OVER (PARTITION BY device ORDER BY id) AS n FROM late) AS l WHERE n = 1
$list$, 'compare_rows');

-- Those that PostgreSQL alone finds.
CREATE FUNCTION reasons(query text) RETURNS SETOF text LANGUAGE sql AS
$$ SELECT format('%s: %s', candidate, reason) FROM gpu.explain_why(query) WHERE node = 'GpuQuery' $$;
SELECT * FROM reasons('SELECT payload FROM late ORDER BY id LIMIT 5 FOR UPDATE');
SELECT * FROM reasons('SELECT payload FROM late ORDER BY id FETCH FIRST 5 ROWS WITH TIES');
SELECT * FROM reasons('SELECT payload FROM late TABLESAMPLE SYSTEM (50) ORDER BY id LIMIT 5');
SELECT * FROM reasons('SELECT payload FROM late ORDER BY payload LIMIT 5');
SELECT * FROM reasons('SELECT id FROM late WHERE payload > ''z'' ORDER BY id LIMIT 5');
SELECT * FROM reasons('SELECT id FROM late WHERE ctid > ''(1,1)'' ORDER BY id LIMIT 5');
SELECT * FROM reasons('SELECT payload FROM late ORDER BY ctid LIMIT 5');
SELECT * FROM reasons('SELECT payload, rank() OVER (ORDER BY device) FROM late');
-- Where more rows than the table has pages are read in no order of theirs, reading all of it costs less.
SELECT * FROM reasons('SELECT payload FROM late ORDER BY id LIMIT 8000');

-- Rows that the transaction has changed itself, in HOT chains and out of them, and those that it has not seen.
BEGIN;
UPDATE late SET payload = 'hot' WHERE id % 300 = 1;
UPDATE late SET payload = 'hot twice' WHERE id % 600 = 1;
UPDATE late SET device = 1000, payload = 'moved' WHERE id % 500 = 2;
DELETE FROM late WHERE device > 398 AND device < 1000;
INSERT INTO late (id, device, kind, payload) VALUES (-1, 2000, 'kind 7', 'new'), (-2, -2000, NULL, 'new');
SELECT * FROM compare_all($list$
SELECT id, device, payload, ctid FROM late ORDER BY device DESC NULLS LAST, id LIMIT 100
SELECT id, device, payload, ctid FROM late ORDER BY device, id LIMIT 100
SELECT * FROM late ORDER BY id LIMIT 1300
SELECT * FROM late WHERE device = 1000
SELECT * FROM late WHERE id % 300 = 1 AND device < 50
$list$, 'compare_rows');
SAVEPOINT s;
UPDATE late SET payload = 'undone' WHERE id < 50;
DELETE FROM late WHERE device < 3;
SELECT * FROM compare_rows('SELECT id, device, payload FROM late ORDER BY device, id LIMIT 100');
ROLLBACK TO s;
SELECT * FROM compare_rows('SELECT id, device, payload FROM late ORDER BY device, id LIMIT 100');
ROLLBACK;
SELECT * FROM compare_rows('SELECT id, device, payload, ctid FROM late ORDER BY device, id LIMIT 100');
UPDATE late SET payload = 'changed' WHERE id % 50 = 3;
UPDATE late SET device = device + 1 WHERE id % 70 = 4;
DELETE FROM late WHERE id % 9 = 5;
INSERT INTO late (id, device, payload) SELECT 10000 + i, i % 500, 'inserted' FROM generate_series(1, 3000) AS i;
SELECT * FROM compare_all($list$
SELECT id, device, payload, ctid FROM late ORDER BY device, id LIMIT 200
SELECT id, device, payload, ctid FROM late ORDER BY device DESC NULLS LAST, id LIMIT 200
SELECT * FROM late WHERE device = 9
$list$, 'compare_rows');
VACUUM late;
UPDATE late SET payload = 'after' WHERE id % 50 = 3;
SELECT * FROM compare_all($list$
SELECT id, device, payload, ctid FROM late ORDER BY device, id LIMIT 200
SELECT id, device, payload, ctid FROM late WHERE id > 10000 ORDER BY device DESC NULLS LAST, id LIMIT 200
SELECT * FROM late WHERE device = 9
$list$, 'compare_rows');
-- Runs that the session reads itself are beside those of the server process.
SET pg_gpu.min_mirror_entries = 5000;
SELECT * FROM compare_all($list$
SELECT id, device, payload, ctid FROM late ORDER BY device, id LIMIT 200
SELECT id, device, payload, ctid FROM late WHERE id > 10000 ORDER BY device DESC NULLS LAST, id LIMIT 200
SELECT * FROM late WHERE device = 9
$list$, 'compare_rows');
RESET pg_gpu.min_mirror_entries;

-- A cursor gives what its snapshot sees, and may be read after others have changed the rows. INSERT may read the table that it adds to.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT id, payload FROM late WHERE id < 60 ORDER BY id DESC LIMIT 4;
DECLARE h CURSOR WITH HOLD FOR SELECT id, payload FROM late ORDER BY id LIMIT 3;
FETCH 1 FROM c;
UPDATE late SET payload = 'later', id = id + 1 WHERE id < 100;
DELETE FROM late WHERE id < 50;
FETCH ALL FROM c;
INSERT INTO late (id, payload) SELECT -id, payload || ' again' FROM late ORDER BY device, id LIMIT 5;
SELECT id, payload FROM late WHERE id < 0 ORDER BY id;
ROLLBACK;
PREPARE first_of (int, int8) AS SELECT id, payload FROM late WHERE device = $1 ORDER BY id LIMIT $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE first_of (3, 2);
EXECUTE first_of (4, 3);
EXECUTE first_of (NULL, 3);
EXECUTE first_of (3, 0);
RESET plan_cache_mode;
DEALLOCATE first_of;
-- Without the server process PostgreSQL's own plan gives the rows.
SET pg_gpu.path = paged;
SELECT id, payload FROM late ORDER BY device, id LIMIT 2;
SET pg_gpu.path = host;

-- Row security, security barriers and privileges on columns.
CREATE ROLE regress_late;
GRANT SELECT (id, device, kind, payload) ON late TO regress_late;
ALTER TABLE late ENABLE ROW LEVEL SECURITY;
CREATE POLICY low ON late TO regress_late USING (device < 40 AND kind <> 'kind 3');
CREATE VIEW late_view WITH (security_barrier) AS SELECT id, device, payload FROM late WHERE device < 20;
SELECT * FROM compare_rows('SELECT * FROM late_view WHERE device > 4 ORDER BY device DESC, id LIMIT 30');
SET ROLE regress_late;
SELECT * FROM compare_rows('SELECT id, device, payload FROM late ORDER BY device DESC, id LIMIT 30');
SELECT id, device, payload FROM late ORDER BY device DESC, id LIMIT 3;
SELECT id, value FROM late ORDER BY device DESC, id LIMIT 3;
SELECT * FROM late ORDER BY device DESC, id LIMIT 3;
RESET ROLE;
REVOKE ALL ON late FROM regress_late;
DROP VIEW late_view;
DROP POLICY low ON late;
DROP ROLE regress_late;
ALTER TABLE late DISABLE ROW LEVEL SECURITY;

-- Partial indexes, and tables with children, whose rows aren't read so.
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP INDEX late_i;
CREATE INDEX late_i ON late USING gpu_column (device, id) WHERE kind IS NOT NULL;
VACUUM ANALYZE late;
SELECT * FROM compare_all($list$
SELECT * FROM late WHERE kind IS NOT NULL ORDER BY device, id LIMIT 50
SELECT * FROM late ORDER BY device, id LIMIT 50
$list$, 'compare_rows');
CREATE TABLE late_child () INHERITS (late);
INSERT INTO late_child (id, device, kind, payload) SELECT id, device, kind, 'child' FROM late WHERE id < 1000;
CREATE INDEX ON late_child USING gpu_column (device, id) WHERE kind IS NOT NULL;
VACUUM ANALYZE late_child;
SELECT * FROM compare_all($list$
SELECT tableoid::regclass, * FROM late WHERE kind IS NOT NULL ORDER BY device, id LIMIT 50
SELECT * FROM ONLY late WHERE kind IS NOT NULL ORDER BY device, id LIMIT 50
SELECT tableoid::regclass, * FROM late_child WHERE kind IS NOT NULL ORDER BY device, id LIMIT 50
$list$, 'compare_rows');
DROP TABLE late, late_child, late_seen;
DROP FUNCTION compare_rows, compare_all, compare, who_answers, answer_of, rows_of, reasons;
