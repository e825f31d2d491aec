-- GpuQuery joins the rows that a statement sees and may see: rows of this and of other transactions, tables that are small, have dropped columns, partial indexes or row
-- security, plans that are prepared, read by cursors or run again with other values.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE ticket (gone int4, id int4, visitor int4, venue int4, paid numeric(8,2), bought date, seat text, code text, also_gone text) WITH (autovacuum_enabled = off, fillfactor = 70);
CREATE TABLE visitor (id int4, name text, city int4, points int8) WITH (autovacuum_enabled = off, fillfactor = 70);
CREATE TABLE venue (label text, gone text, id int4, rank int2) WITH (autovacuum_enabled = off);
CREATE TABLE tiny (id int4, label text) WITH (autovacuum_enabled = off);
ALTER TABLE ticket DROP COLUMN gone;
INSERT INTO ticket SELECT i, CASE WHEN i % 12 > 0 THEN i * 7 % 2100 END, i % 90, i % 640 / 4.0, date '2025-01-01' + i % 200, 'seat ' || i % 60, md5(i::text), 'x' FROM generate_series(1, 20000) AS i;
INSERT INTO visitor SELECT i % 2000, CASE WHEN i % 15 > 0 THEN 'visitor ' || i % 330 END, i % 70, i * 3 FROM generate_series(1, 3000) AS i;
INSERT INTO venue SELECT 'venue ' || i % 31, 'x', i, i % 9 FROM generate_series(0, 99) AS i;
INSERT INTO tiny VALUES (1, 'one'), (1, 'one again'), (2, 'two'), (NULL, 'none');
ALTER TABLE ticket DROP COLUMN also_gone;
ALTER TABLE venue DROP COLUMN gone;
ALTER TABLE venue ADD COLUMN later int4 DEFAULT 5;
CREATE INDEX ticket_i ON ticket USING gpu_column (id, visitor, venue, paid, bought, seat, code);
CREATE INDEX visitor_i ON visitor USING gpu_column (points, city, name, id);
CREATE INDEX venue_i ON venue USING gpu_column (later, id, rank, label);
CREATE INDEX tiny_i ON tiny USING gpu_column (id, label);
VACUUM ANALYZE ticket, visitor, venue, tiny;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
CREATE TABLE statements (n int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO statements (query) VALUES
    ('SELECT count(*), sum(t.paid), sum(v.points), min(v.name) FROM ticket t JOIN visitor v ON t.visitor = v.id'),
    ('SELECT e.label, e.later, count(*), count(v.id), sum(t.paid) FROM ticket t JOIN venue e ON t.venue = e.id LEFT JOIN visitor v ON t.visitor = v.id AND v.city > 30 GROUP BY 1, 2'),
    ('SELECT v.city, count(*), count(t.id) FROM visitor v FULL JOIN ticket t ON t.visitor = v.id AND t.paid > 80 GROUP BY 1'),
    ('SELECT count(*), sum(v.points) FROM visitor v WHERE EXISTS (SELECT FROM ticket t WHERE t.visitor = v.id AND t.venue < 9)'),
    ('SELECT v.city, count(*) FROM visitor v WHERE NOT EXISTS (SELECT FROM ticket t JOIN venue e ON t.venue = e.id WHERE t.visitor = v.id AND e.rank > 2) GROUP BY 1'),
    ('SELECT count(*) FROM ticket WHERE visitor NOT IN (SELECT id FROM visitor WHERE city < 40)'),
    ('SELECT n.label, count(*), sum(t.paid) FROM ticket t JOIN tiny n ON t.venue = n.id GROUP BY 1'),
    ('SELECT a.seat, count(*), sum(a.paid - b.paid) FROM ticket a JOIN ticket b ON a.visitor = b.visitor AND a.id < b.id WHERE a.venue < 5 GROUP BY 1');
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;

-- Small tables beside large ones, where the session chooses how to answer.
SET pg_gpu.path = 'auto';
SELECT relname, pg_relation_size(oid) / current_setting('block_size')::int < 64 AS small FROM pg_class WHERE relname IN ('ticket_i', 'visitor_i', 'venue_i', 'tiny_i') ORDER BY 1;
SELECT n, c.rows, c.same FROM statements, compare(query) AS c ORDER BY n;
SET pg_gpu.path = host;
-- Runs that are too small for mirrors, of one table and of all.
SET pg_gpu.min_mirror_entries = 5000;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
SET pg_gpu.min_mirror_entries = 1000000;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
SET pg_gpu.min_mirror_entries = 0;

-- Rows of this transaction in either table, and what a savepoint takes back.
BEGIN;
INSERT INTO ticket SELECT i, i % 2500, i % 95, 1.5, '2026-01-01', 'new seat' FROM generate_series(30001, 30500) AS i;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
SAVEPOINT before;
INSERT INTO visitor SELECT i % 2500, 'newcomer', 7, NULL FROM generate_series(1, 400) AS i;
DELETE FROM visitor WHERE id % 10 = 3;
UPDATE ticket SET visitor = visitor + 1 WHERE id % 50 = 4;
UPDATE venue SET label = 'renamed', rank = rank WHERE id % 7 = 2;
DELETE FROM tiny WHERE id = 2;
INSERT INTO tiny VALUES (3, 'three'), (3, 'three again');
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
ROLLBACK TO before;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
DELETE FROM tiny;
DELETE FROM venue;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
ROLLBACK;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;

-- Cursors see what was there when they were opened.
BEGIN;
DECLARE earlier SCROLL CURSOR FOR SELECT e.rank, count(*), sum(t.paid) FROM ticket t JOIN venue e ON t.venue = e.id GROUP BY 1 ORDER BY 1;
FETCH 2 FROM earlier;
DELETE FROM venue WHERE rank > 1;
UPDATE ticket SET paid = 0 WHERE id % 3 = 0;
FETCH 1 FROM earlier;
FETCH BACKWARD 2 FROM earlier;
FETCH LAST FROM earlier;
SELECT e.rank, count(*), sum(t.paid) FROM ticket t JOIN venue e ON t.venue = e.id GROUP BY 1 ORDER BY 1;
ROLLBACK;

-- Changes that were committed: a tail, dead rows, several runs, before and after VACUUM.
INSERT INTO ticket SELECT i, i % 2500, i % 95, i / 16.0, '2026-01-01', 'later seat' FROM generate_series(40001, 41000) AS i;
DELETE FROM ticket WHERE id % 40 = 5;
UPDATE visitor SET points = points + 1, city = 69 - city WHERE id % 20 = 6;
DELETE FROM visitor WHERE id % 100 = 8;
INSERT INTO visitor VALUES (NULL, NULL, NULL, NULL), (5, 'fifth', 5, 5);
UPDATE venue SET later = id WHERE id < 10;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
VACUUM ticket;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
VACUUM visitor, venue;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
SELECT count(*) > 0 AS merged FROM gpu.merge('ticket_i');
SELECT count(*) > 0 AS merged FROM gpu.merge('visitor_i');
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;

-- Parameters, of plans for any values.
SET plan_cache_mode = force_generic_plan;
PREPARE of_city (int, numeric, text) AS
    SELECT e.rank, count(*), sum(t.paid) FROM ticket t JOIN visitor v ON t.visitor = v.id JOIN venue e ON t.venue = e.id WHERE v.city = $1 AND t.paid > $2 AND e.label <> $3 GROUP BY 1 ORDER BY 1;
EXECUTE of_city (12, 20, 'venue 3');
EXECUTE of_city (13, 150, '');
EXECUTE of_city (NULL, 1, 'x');
PREPARE joined_by (int) AS SELECT count(*), sum(v.points), count(e.id) FROM ticket t JOIN visitor v ON t.visitor = v.id + $1 LEFT JOIN venue e ON t.venue = e.id AND e.rank > $1;
EXECUTE joined_by (0);
EXECUTE joined_by (5);
EXECUTE joined_by (NULL);
SET plan_cache_mode = force_custom_plan;
EXECUTE of_city (12, 20, 'venue 3');
EXECUTE of_city (NULL, 1, 'x');
EXECUTE joined_by (5);
RESET plan_cache_mode;

-- Joins that run again for each outer row, with its values or without.
SELECT * FROM compare_all($list$
SELECT n.id, s.* FROM tiny n, LATERAL (SELECT count(*) AS c, sum(t.paid) AS p FROM ticket t JOIN visitor v ON t.visitor = v.id WHERE v.city = n.id) AS s
SELECT n.id, s.* FROM tiny n LEFT JOIN LATERAL (SELECT e.rank, count(*) AS c FROM ticket t JOIN venue e ON t.venue = e.id + n.id GROUP BY 1) AS s ON s.rank = n.id
SELECT n.id, s.* FROM tiny n, LATERAL (SELECT e.rank, count(*) AS c FROM ticket t JOIN venue e ON t.venue = e.id WHERE t.seat > n.label GROUP BY 1) AS s
SELECT n.label, (SELECT count(*) FROM ticket t JOIN visitor v ON t.visitor = v.id WHERE t.venue = n.id AND v.points > 300) FROM tiny n
SELECT n.label, (SELECT count(*) FROM ticket t JOIN venue e ON t.venue = e.id HAVING count(*) > n.id * 10000) FROM tiny n
SELECT e.id, (SELECT sum(t.paid) FROM ticket t JOIN tiny n ON t.venue = n.id WHERE t.id < e.id * 100) FROM venue e WHERE e.id < 12
SELECT count(*) FROM venue e WHERE e.rank < (SELECT count(*) FROM ticket t JOIN visitor v ON t.visitor = v.id WHERE t.venue = e.id AND v.city = e.rank)
SELECT count(*) FROM ticket t JOIN visitor v ON t.visitor = v.id WHERE v.city = (SELECT max(rank) FROM venue) AND t.paid > (SELECT min(id) FROM tiny)
SELECT count(*), sum(c) FROM (SELECT v.city, count(*) AS c FROM ticket t JOIN visitor v ON t.visitor = v.id GROUP BY 1) AS a JOIN venue e ON a.city = e.id
WITH s AS MATERIALIZED (SELECT e.rank, count(*) AS c FROM ticket t JOIN venue e ON t.venue = e.id GROUP BY 1) SELECT * FROM s a JOIN s b ON a.rank = b.rank + 1
SELECT e.rank, count(*) FROM ticket t JOIN venue e ON t.venue = e.id GROUP BY 1 UNION ALL SELECT v.city, count(*) FROM ticket t JOIN visitor v ON t.visitor = v.id GROUP BY 1
$list$);
-- In functions, and what a join's result is written into.
CREATE FUNCTION joined_of(city_of int) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM ticket t JOIN visitor v ON t.visitor = v.id WHERE v.city = city_of); END $$;
SELECT n, joined_of(n) = (SELECT count(*) FROM ticket t, visitor v WHERE t.visitor = v.id AND v.city = n) AS same FROM generate_series(1, 12) AS n ORDER BY n;
DROP FUNCTION joined_of;
BEGIN;
WITH s AS (SELECT v.city, count(*) AS c FROM ticket t JOIN visitor v ON t.visitor = v.id GROUP BY 1), w AS (INSERT INTO tiny SELECT city, c::text FROM s WHERE city < 3 RETURNING id, label) SELECT * FROM w ORDER BY 1;
UPDATE visitor v SET points = s.c FROM (SELECT t.visitor AS id, count(*) AS c FROM ticket t JOIN venue e ON t.venue = e.id WHERE e.rank = 3 GROUP BY 1) AS s WHERE s.id = v.id;
SELECT sum(points), count(*) FROM visitor;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
ROLLBACK;
-- Rows that are locked are PostgreSQL's.
SELECT count(*) FROM (SELECT t.id FROM ticket t JOIN tiny n ON t.venue = n.id FOR UPDATE OF t) AS s;

-- Only some rows of a table are in a partial index, and not all columns in another.
CREATE TABLE partly (id int4, label text, extra int4) WITH (autovacuum_enabled = off);
INSERT INTO partly SELECT i % 90, 'part ' || i % 8, i FROM generate_series(1, 2000) AS i;
CREATE INDEX partly_i ON partly USING gpu_column (id, label) WHERE extra > 1000;
VACUUM ANALYZE partly;
SELECT * FROM compare_all($list$
SELECT p.label, count(*) FROM ticket t JOIN partly p ON t.venue = p.id GROUP BY 1
SELECT p.label, count(*) FROM ticket t JOIN partly p ON t.venue = p.id WHERE p.extra > 1000 GROUP BY 1
SELECT p.label, sum(p.extra) FROM ticket t JOIN partly p ON t.venue = p.id WHERE p.extra > 1500 GROUP BY 1
SELECT count(*) FROM ticket t LEFT JOIN partly p ON t.venue = p.id AND p.extra > 1000
$list$);
CREATE INDEX partly_all ON partly USING gpu_column (id, extra);
SELECT * FROM compare_all($list$
SELECT p.label, count(*) FROM ticket t JOIN partly p ON t.venue = p.id GROUP BY 1
SELECT count(*), sum(p.extra) FROM ticket t JOIN partly p ON t.venue = p.id
$list$);
DROP TABLE partly;

-- Row security: what hidden rows have must not show, in errors either.
CREATE ROLE regress_join_reader;
GRANT SELECT ON ticket, visitor, venue, tiny, statements TO regress_join_reader;
ALTER TABLE visitor ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON visitor USING (city < 20);
SET ROLE regress_join_reader;
SELECT n, c.* FROM statements, compare(query) AS c ORDER BY n;
SELECT * FROM compare_all($list$
SELECT count(*), max(v.city) FROM ticket t JOIN visitor v ON t.visitor = v.id
SELECT count(*) FROM ticket t JOIN visitor v ON t.visitor = v.id WHERE 10 / (v.city - 30) < 5
SELECT sum(10 / (v.city - 30)) FROM ticket t JOIN visitor v ON t.visitor = v.id
SELECT count(*), count(v.id) FROM ticket t LEFT JOIN visitor v ON t.visitor = v.id AND 10 / (v.city - 30) < 5
SELECT count(*) FROM ticket t WHERE EXISTS (SELECT FROM visitor v WHERE t.visitor = v.id AND 10 / (v.city - 30) < t.paid)
SELECT count(*) FROM ticket t JOIN visitor v ON t.visitor = 60 / (v.city - 30)
$list$);
RESET ROLE;
DROP POLICY few ON visitor;
ALTER TABLE visitor DISABLE ROW LEVEL SECURITY;

-- Views keep what they hide, and privileges are those for each table and column.
CREATE VIEW guarded WITH (security_barrier) AS SELECT id, name, city FROM visitor WHERE city < 20;
CREATE VIEW open_to_all AS SELECT t.id, t.paid, v.name FROM ticket t JOIN visitor v ON t.visitor = v.id;
GRANT SELECT ON guarded, open_to_all TO regress_join_reader;
REVOKE SELECT ON visitor FROM regress_join_reader;
GRANT SELECT (id, city) ON visitor TO regress_join_reader;
SET ROLE regress_join_reader;
SELECT * FROM compare_all($list$
SELECT count(*) FROM ticket t JOIN guarded v ON t.visitor = v.id WHERE 10 / (v.city - 30) < 5
SELECT v.name, count(*) FROM ticket t JOIN guarded v ON t.visitor = v.id GROUP BY 1
SELECT name, count(*), sum(paid) FROM open_to_all GROUP BY 1
SELECT v.city, count(*) FROM ticket t JOIN visitor v ON t.visitor = v.id GROUP BY 1
$list$);
SELECT count(v.name) FROM ticket t JOIN visitor v ON t.visitor = v.id;
SELECT count(*) FROM ticket t JOIN visitor v ON t.visitor = v.id AND v.points > 5;
RESET ROLE;
REVOKE SELECT ON ticket FROM regress_join_reader;
SET ROLE regress_join_reader;
SELECT count(*) FROM visitor v JOIN ticket t ON t.visitor = v.id;
SELECT count(*) FROM visitor v WHERE EXISTS (SELECT FROM ticket t WHERE t.visitor = v.id);
SELECT count(*) FROM open_to_all;
RESET ROLE;
DROP VIEW guarded, open_to_all;

-- Serializable transactions note each table that they read.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM ticket t JOIN visitor v ON t.visitor = v.id WHERE v.city = 12;
SELECT DISTINCT c.relname FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE l.mode = 'SIReadLock' AND c.relname IN ('ticket', 'visitor') AND l.pid = pg_backend_pid() ORDER BY 1;
COMMIT;

-- Plans that stay, when a table's index or a column's type doesn't, or a table has rows no more.
PREPARE stays AS SELECT count(*), sum(v.points), min(e.label) FROM ticket t JOIN visitor v ON t.visitor = v.id JOIN venue e ON t.venue = e.id;
EXECUTE stays;
ALTER TABLE visitor ALTER points TYPE numeric(12,2);
EXECUTE stays;
DROP INDEX venue_i;
EXECUTE stays;
CREATE INDEX venue_i ON venue USING gpu_column (id, label);
EXECUTE stays;
TRUNCATE visitor;
EXECUTE stays;
INSERT INTO visitor VALUES (7, 'one', 1, 1), (7, 'other', 1, 2);
EXECUTE stays;

DROP TABLE ticket, visitor, venue, tiny, statements;
DROP ROLE regress_join_reader;
DROP FUNCTION compare, compare_all, who_answers, answer_of;
