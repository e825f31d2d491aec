-- GpuQuery gives those rows of a table that pass its conditions, wherever a plan reads the table. Each statement is run with the node and without it, and the
-- answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';

CREATE TABLE passing (id int4, device int4, kind text, code char(3), value numeric, level float8, at timestamptz, day date, is_late bool, key uuid, payload text) WITH (autovacuum_enabled = off);
INSERT INTO passing
SELECT i, CASE WHEN i % 11 > 0 THEN i * 7 % 400 END, CASE WHEN i % 13 > 0 THEN 'kind ' || i % 37 END, chr(65 + i % 5), CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN i / 8.0 WHEN 2 THEN i % 50 ELSE (i % 90)::numeric(8,2) END,
       CASE i % 5 WHEN 0 THEN 'NaN'::float8 WHEN 1 THEN '-0' WHEN 2 THEN 0 WHEN 3 THEN i / 4.0 END, timestamptz '2026-03-01 00:00+00' + i * interval '13 minutes', date '2026-03-01' + i % 200, i % 6 = 0,
       md5((i % 900)::text)::uuid, repeat('payload ' || i, 3)
FROM generate_series(1, 9000) AS i;
CREATE TABLE gadget (id int4 PRIMARY KEY, name text, zone text) WITH (autovacuum_enabled = off);
INSERT INTO gadget SELECT i, 'gadget ' || i, 'zone ' || i % 9 FROM generate_series(0, 399) AS i;
CREATE INDEX passing_i ON passing USING gpu_column (id, device, kind, code, value, level, at, day, is_late, key);
VACUUM ANALYZE passing, gadget;

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

SELECT * FROM compare_all($list$
SELECT id FROM passing WHERE device = 77
SELECT * FROM (SELECT id, device, kind, code, value, level, at, day, is_late, key FROM passing) AS r WHERE device BETWEEN 3 AND 20
SELECT id, value, level FROM passing WHERE kind = 'kind 5' AND is_late
SELECT id, kind FROM passing WHERE kind LIKE '%7' AND day > '2026-07-01'
SELECT kind, at, at::date, extract(hour FROM at) FROM passing WHERE at >= '2026-04-01' AND at < '2026-04-03'
SELECT id, value * 2, upper(kind), level + 1 FROM passing WHERE key = md5('5')::uuid
SELECT id FROM passing WHERE kind IS NULL AND device IS NULL
SELECT id FROM passing WHERE value > 1000 OR device = 9
SELECT 1 FROM passing WHERE id < 50
SELECT id FROM passing WHERE id < 0
SELECT id FROM passing WHERE id = ANY ('{1,5,7,9000,9001,NULL}')
SELECT id, code, value FROM passing WHERE value = 12.50 ORDER BY id DESC
SELECT id FROM passing WHERE device = 5 ORDER BY kind, id
SELECT DISTINCT kind FROM passing WHERE device < 30
SELECT id, lag(id) OVER (ORDER BY at) FROM passing WHERE device = 7
SELECT kind, string_agg(code, ',' ORDER BY id) FROM passing WHERE device < 20 GROUP BY kind
SELECT array_agg(id ORDER BY id) FROM passing WHERE day = '2026-03-09'
SELECT r.id, d.name FROM passing r JOIN gadget d ON d.id = r.device WHERE r.kind = 'kind 3' AND r.code = 'B'
SELECT d.name, (SELECT array_agg(r.id ORDER BY r.id) FROM passing r WHERE r.kind = 'kind 3' AND r.device = d.id) FROM gadget d WHERE d.id < 20
SELECT d.id, r.id FROM gadget d CROSS JOIN LATERAL (SELECT id FROM passing WHERE kind = 'kind 9' AND device = d.id ORDER BY id LIMIT 1) AS r
SELECT id FROM passing WHERE id < 30 UNION SELECT id FROM gadget WHERE id < 40
SELECT id FROM passing WHERE device = 3 EXCEPT SELECT id FROM passing WHERE is_late
WITH late AS MATERIALIZED (SELECT id, device FROM passing WHERE is_late AND device < 40) SELECT a.id, b.id FROM late a JOIN late b ON a.device = b.device AND a.id < b.id
SELECT id FROM passing WHERE device = (SELECT max(id) FROM gadget WHERE zone = 'zone 3')
SELECT id, payload FROM passing WHERE device = 77
SELECT ctid, id FROM passing WHERE device = 77
SELECT passing FROM passing WHERE device = 77
SELECT 10 / (device - 5) FROM passing WHERE device BETWEEN 4 AND 6
$list$, 'compare_rows');

-- Plans: what PostgreSQL would have run stands by. Rows that are locked or changed are PostgreSQL's to find, and those that most rows are among.
SELECT * FROM pg_temp.plan_of('SELECT id FROM passing WHERE device = 77');
SELECT * FROM pg_temp.plan_of('SELECT id FROM passing WHERE device = 77 FOR UPDATE');
SELECT * FROM pg_temp.plan_of('UPDATE passing SET is_late = false WHERE device = 77');
SELECT * FROM pg_temp.plan_of('SELECT id FROM passing WHERE id > 10');

-- Parameters, cursors, and rows that the transaction has changed itself.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
PREPARE of_device (int) AS SELECT count(*), min(id) FROM (SELECT id FROM passing WHERE device = $1 OFFSET 0) AS r;
EXECUTE of_device(77);
EXECUTE of_device(NULL);
SET plan_cache_mode = force_generic_plan;
EXECUTE of_device(78);
EXECUTE of_device(79);
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM passing WHERE device = 77;
FETCH 2 FROM c;
UPDATE passing SET kind = 'new' WHERE device = 77 AND id < 4000;
DELETE FROM passing WHERE device = 77 AND id > 8000;
INSERT INTO passing (id, device, kind) VALUES (9001, 77, 'new');
SELECT count(*) FROM (SELECT id FROM passing WHERE kind = 'new' OFFSET 0) AS r;
SELECT id, kind FROM passing WHERE device = 77 AND kind = 'new' ORDER BY id;
FETCH ALL FROM c;
ROLLBACK;
SELECT count(*) FROM (SELECT id FROM passing WHERE kind = 'new' OFFSET 0) AS r;
DEALLOCATE of_device;
DROP TABLE passing, gadget;
DROP FUNCTION compare_rows, compare_all, compare, who_answers, answer_of, rows_of;
