-- All rows of a table in an order, which windows and DISTINCT ON take: the engine sorts them. Each statement is run with the node and without it, and the answers
-- are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;
SET parallel_setup_cost = 0;

CREATE TABLE reading (id int4, device int4, at timestamptz, value float8, price numeric(8,2), name text, note text COLLATE "C", short char(5), span interval) WITH (autovacuum_enabled = off);
INSERT INTO reading
SELECT i, CASE WHEN i % 17 > 0 THEN i % 40 END, timestamptz '2025-01-01 00:00 UTC' + i * 7919 % 100003 * interval '1 minute', CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN -i ELSE i / 8.0 END,
       CASE WHEN i % 11 > 0 THEN i * 31 % 1009 / 4.0 END, CASE WHEN i % 7 > 0 THEN 'Name ' || i % 45 ELSE 'name ' || i % 13 END, 'note ' || i % 30, 's' || i % 12, i % 50 * interval '1 hour'
FROM generate_series(1, 6000) AS i;
CREATE INDEX reading_i ON reading USING gpu_column (id, device, at, value, price, name, note, short);
VACUUM ANALYZE reading;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (device) device, at, value FROM reading ORDER BY device, at DESC;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT device, id, row_number() OVER (PARTITION BY device ORDER BY price DESC, id) AS n FROM reading) AS r WHERE n <= 2;
SELECT * FROM compare_all($list$
SELECT DISTINCT ON (device) device, at, value FROM reading ORDER BY device, at DESC, id
SELECT DISTINCT ON (device) device, id, price FROM reading ORDER BY device NULLS FIRST, price DESC NULLS LAST, id DESC
SELECT DISTINCT ON (device) * FROM (SELECT device, value, id FROM reading WHERE id % 3 = 0) AS r ORDER BY device DESC, value, id
SELECT DISTINCT ON (name) name, id FROM reading ORDER BY name, id
SELECT DISTINCT ON (note, short) note, short, id, at FROM reading ORDER BY note DESC, short, id
SELECT DISTINCT ON (device % 5) device % 5, id FROM reading ORDER BY device % 5, price, id
SELECT DISTINCT ON (date_trunc('day', at)) date_trunc('day', at), id FROM reading ORDER BY 1, id
SELECT device, count(*) FROM (SELECT DISTINCT ON (device, short) device, short, id FROM reading ORDER BY device, short, at DESC, id) AS r GROUP BY 1
SELECT DISTINCT ON (device) device, id FROM reading WHERE device BETWEEN 3 AND 9 ORDER BY device, id LIMIT 4
SELECT device, id, row_number() OVER (PARTITION BY device ORDER BY price DESC, id) FROM reading
SELECT * FROM (SELECT device, id, row_number() OVER (PARTITION BY device ORDER BY at DESC, id) AS n FROM reading) AS r WHERE n <= 2
SELECT device, max(gap) FROM (SELECT device, at - lag(at) OVER (PARTITION BY device ORDER BY at, id) AS gap FROM reading) AS r GROUP BY 1
SELECT id, sum(id) OVER (ORDER BY id), first_value(price) OVER (ORDER BY id) FROM reading WHERE device = 4
SELECT id, avg(price) OVER (PARTITION BY short ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM reading
SELECT id, rank() OVER (ORDER BY value), count(*) OVER (PARTITION BY device) FROM reading
SELECT id, percent_rank() OVER (PARTITION BY name ORDER BY note, id) FROM reading
SELECT count(*), sum(s) FROM (SELECT sum(is_new) OVER (PARTITION BY device ORDER BY at, id) AS s FROM (SELECT device, id, at, CASE WHEN at - lag(at) OVER (PARTITION BY device ORDER BY at, id) < interval '2 hours' THEN 0 ELSE 1 END AS is_new FROM reading) AS a) AS b
$list$);
-- PostgreSQL's own: what the index doesn't have, values the engine has no order of, locked rows.
SELECT * FROM compare_all($list$
SELECT DISTINCT ON (device) device, span FROM reading ORDER BY device, at, id
SELECT count(*) FROM (SELECT id, row_number() OVER (PARTITION BY device ORDER BY at) FROM reading TABLESAMPLE SYSTEM (100)) AS r
$list$);
-- Rows of the transaction; a cursor.
BEGIN;
UPDATE reading SET price = 5000 WHERE id % 500 = 0;
DELETE FROM reading WHERE device = 3;
SELECT * FROM compare('SELECT DISTINCT ON (device) device, id, price FROM reading ORDER BY device, price DESC, id');
DECLARE rows CURSOR FOR SELECT DISTINCT ON (device) device, id FROM reading ORDER BY device, id;
FETCH 2 FROM rows;
ROLLBACK;

-- Of partitions, some without the index, and of children of a table that has rows itself.
CREATE TABLE divided (LIKE reading) PARTITION BY LIST (short);
CREATE TABLE divided_1 PARTITION OF divided FOR VALUES IN ('s1', 's2', 's3', 's4', 's5', 's6', 's7');
CREATE TABLE divided_2 (span interval, note text COLLATE "C", id int4, device int4, at timestamptz, value float8, price numeric(8,2), name text, short char(5)) WITH (autovacuum_enabled = off);
ALTER TABLE divided ATTACH PARTITION divided_2 DEFAULT;
INSERT INTO divided SELECT * FROM reading;
CREATE INDEX divided_i ON divided USING gpu_column (id, device, at, value, price, name, note, short);
CREATE TABLE heir (LIKE reading) WITH (autovacuum_enabled = off);
CREATE TABLE heir_1 () INHERITS (heir);
INSERT INTO heir SELECT * FROM reading WHERE id % 3 > 0;
INSERT INTO heir_1 SELECT * FROM reading WHERE id % 3 = 0;
CREATE INDEX heir_i ON heir USING gpu_column (id, device, at, value, price, name, note, short);
CREATE INDEX heir_1_i ON heir_1 USING gpu_column (id, device, at, value, price, name, note, short);
VACUUM ANALYZE divided, heir, heir_1;
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (device) device, at, value FROM divided ORDER BY device, at DESC;
SELECT members, c.who, c.rows, c.same, c.query FROM unnest('{divided,heir}'::text[]) AS members, compare_all(replace($list$
SELECT DISTINCT ON (device) device, at, value FROM some ORDER BY device, at DESC, id
SELECT DISTINCT ON (device % 5) device % 5, id + 1, upper(name) FROM some WHERE short > 's3' ORDER BY device % 5, price, id
SELECT DISTINCT ON (name) name, id FROM some ORDER BY name, id LIMIT 7
SELECT device, count(*) FROM (SELECT DISTINCT ON (device, short) device, short, id FROM some ORDER BY device, short, at DESC, id) AS r GROUP BY 1
SELECT device, id, row_number() OVER (PARTITION BY device ORDER BY price DESC, id) FROM some
SELECT * FROM (SELECT device, id, row_number() OVER (PARTITION BY device ORDER BY at DESC, id) AS n FROM some) AS r WHERE n <= 2
SELECT device, max(gap), avg(step) FROM (SELECT device, at - lag(at) OVER (PARTITION BY device ORDER BY at, id) AS gap, price - lag(price) OVER (PARTITION BY device ORDER BY at, id) AS step FROM some) AS r GROUP BY 1
SELECT id, avg(price) OVER (PARTITION BY short ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW), device * 2 FROM some ORDER BY 2, 1 LIMIT 50
SELECT DISTINCT device, first_value(at) OVER (PARTITION BY device ORDER BY at) FROM some
SELECT q, count(*), min(value) FROM (SELECT value, ntile(4) OVER (ORDER BY value, id) AS q FROM some WHERE device < 9) AS r GROUP BY 1
SELECT DISTINCT ON (device) device, id FROM some WHERE short = 'none' ORDER BY device, id
$list$, 'some', members)) AS c;
-- Rows of the transaction, also of one partition alone.
BEGIN;
UPDATE divided SET price = 5000, short = 's1' WHERE id % 500 = 0;
SELECT * FROM compare($$SELECT DISTINCT ON (device) device, id, price FROM divided WHERE short = 's1' ORDER BY device, price DESC, id$$);
SELECT * FROM compare($$SELECT DISTINCT ON (device) device, id, price FROM divided ORDER BY device, price DESC, id$$);
ROLLBACK;

DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP TABLE reading, divided, heir, heir_1;
