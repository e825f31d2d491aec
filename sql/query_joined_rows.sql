-- Rows of joins by the nodes GpuQuery (the first ones in an order) and GpuQuery (all of them): each statement is run with the node and without it, and
-- the answers, or the kinds of errors, are held against each other.
SET pg_gpu.path = host;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
SET synchronous_commit = on;

CREATE TABLE rfact (id int, item int, shop int8, day date, tag text, price numeric(8,2), amount int, other text) WITH (autovacuum_enabled = off);
CREATE TABLE ritem (k int PRIMARY KEY, name text, kind int, weight numeric, f8 float8) WITH (autovacuum_enabled = off);
CREATE TABLE rkind (k int2 PRIMARY KEY, label text COLLATE "C", color text) WITH (autovacuum_enabled = off);
CREATE TABLE rshop (k int PRIMARY KEY, town text, region int) WITH (autovacuum_enabled = off);
CREATE TABLE rtags (k text PRIMARY KEY, grade numeric(6,3)) WITH (autovacuum_enabled = off);
CREATE TABLE rloose (k int, name text) WITH (autovacuum_enabled = off);
CREATE TABLE rnothing (k int PRIMARY KEY, name text) WITH (autovacuum_enabled = off);
INSERT INTO ritem SELECT i, CASE WHEN i % 9 <> 0 THEN 'item ' || i % 23 END, CASE WHEN i % 7 <> 0 THEN i % 12 END, CASE i % 4 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 ELSE i END, i / 8.0 FROM generate_series(1, 300) AS i;
INSERT INTO rkind SELECT i, 'kind ' || i, CASE i % 3 WHEN 0 THEN 'red' WHEN 1 THEN 'green' END FROM generate_series(0, 8) AS i;
INSERT INTO rshop SELECT i, 'town ' || i % 11, i % 4 FROM generate_series(1, 60) AS i;
INSERT INTO rtags SELECT 'tag ' || i, i / 7.0 FROM generate_series(1, 20) AS i;
INSERT INTO rloose SELECT i % 50, 'loose ' || i FROM generate_series(1, 100) AS i;
INSERT INTO rloose VALUES (NULL, 'nothing');
INSERT INTO rfact
SELECT i, CASE WHEN i % 17 <> 0 THEN (i * 7) % 330 END, CASE WHEN i % 19 <> 0 THEN (i * 13) % 70 END, date '2025-12-01' + i % 100,
       CASE WHEN i % 5 <> 0 THEN 'tag ' || i % 25 END, (i % 1000) * 1.25, i % 500 - 100, 'other ' || i
FROM generate_series(1, 8000) AS i;
CREATE INDEX rfact_i ON rfact USING gpu_column (id, item, shop, day, tag, price, amount);
VACUUM ANALYZE rfact;
ANALYZE ritem, rkind, rshop, rtags, rloose, rnothing;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set rows_of :source '/test/regress/rows_of.sql'
\set ECHO none
\i :compare
\i :rows_of
\set ECHO all
-- PostgreSQL's joins are so dear with the nodes that these are there wherever they can be. Without an order rows are sorted here.
CREATE FUNCTION compare_rows(query text, OUT who text, OUT rows int, OUT same text) LANGUAGE plpgsql AS $$
DECLARE
    by_node text[];
    without text[];
    is_sorted bool := query ~ 'ORDER BY';
BEGIN
    SET LOCAL enable_hashjoin = off;
    SET LOCAL enable_mergejoin = off;
    SET LOCAL enable_nestloop = off;
    who := who_answers(query);
    by_node := CASE WHEN is_sorted THEN rows_of(query) ELSE answer_of(query) END;
    SET LOCAL pg_gpu.enable_query = off;
    SET LOCAL enable_hashjoin = on;
    SET LOCAL enable_mergejoin = on;
    SET LOCAL enable_nestloop = on;
    without := CASE WHEN is_sorted THEN rows_of(query) ELSE answer_of(query) END;
    SET LOCAL pg_gpu.enable_query = on;
    rows := cardinality(by_node);
    same := CASE WHEN by_node = without THEN 'same' ELSE format('with the node %s, without %s', by_node[:5], without[:5]) END;
END $$;

-- How they are shown.
EXPLAIN (COSTS OFF) SELECT f.other, i.name, k.label FROM rfact f JOIN ritem i ON f.item = i.k JOIN rkind k ON i.kind = k.k WHERE f.amount > 300 ORDER BY k.label DESC, i.name, f.id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT f.other, upper(i.name) FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.weight > 298 AND f.price < 100;

-- The first rows: keys of either side, of all kinds of joins, chains, and a table twice.
SELECT * FROM compare_all($list$
SELECT f.id, f.other, i.name FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY i.name, f.id LIMIT 50
SELECT f.id, i.* FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY i.name DESC NULLS LAST, i.kind NULLS FIRST, f.amount, f.id DESC LIMIT 200
SELECT f.*, i.weight + 0.000 FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY i.weight DESC, i.f8, f.id LIMIT 100 OFFSET 13
SELECT f.other, f.price FROM rfact f JOIN rshop s ON f.shop = s.k WHERE s.region IN (1, 2) AND f.amount > 50 ORDER BY f.price DESC, f.id LIMIT 20
SELECT f.id, t.grade FROM rfact f JOIN rtags t ON f.tag = t.k ORDER BY t.grade + f.amount DESC, f.id LIMIT 20
SELECT f.id, k.label, i.name FROM rfact f JOIN ritem i ON f.item = i.k JOIN rkind k ON i.kind = k.k ORDER BY k.label, f.day DESC, f.id LIMIT 300
SELECT f.id, i.name, s.town FROM rfact f LEFT JOIN ritem i ON f.item = i.k LEFT JOIN rshop s ON f.shop = s.k ORDER BY i.name NULLS FIRST, s.town DESC, f.id LIMIT 900
SELECT f.id, i.name FROM rfact f LEFT JOIN ritem i ON f.item = i.k WHERE i.k IS NULL OR i.kind = 3 ORDER BY f.amount, f.id LIMIT 30
SELECT f.id, f.other FROM rfact f WHERE f.item IN (SELECT k FROM ritem WHERE kind = 5) ORDER BY f.price, f.id LIMIT 30
SELECT f.id, f.other FROM rfact f WHERE EXISTS (SELECT FROM rloose l WHERE l.k = f.item) ORDER BY f.amount DESC, f.id LIMIT 30
SELECT f.id, f.other FROM rfact f WHERE NOT EXISTS (SELECT FROM rloose l WHERE l.k = f.item) ORDER BY f.amount DESC, f.id LIMIT 30
SELECT f.id, f.other FROM rfact f WHERE f.shop NOT IN (SELECT k FROM rshop WHERE region = 3) ORDER BY f.amount DESC, f.id LIMIT 30
SELECT a.name, b.town, f.id FROM rfact f JOIN ritem a ON f.item = a.k JOIN rshop b ON f.item = b.k ORDER BY b.town, a.name, f.id LIMIT 40
SELECT f.id, n.name FROM rfact f LEFT JOIN rnothing n ON f.item = n.k ORDER BY n.name, f.id DESC LIMIT 4
SELECT f.id, n.name FROM rfact f JOIN rnothing n ON f.item = n.k ORDER BY n.name, f.id DESC LIMIT 4
SELECT i.kind FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY i.kind FETCH FIRST 3 ROWS WITH TIES
SELECT f.id, (SELECT count(*) FROM rloose l WHERE l.k = i.kind), random() < 2 FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY i.kind DESC, f.id LIMIT 5
SELECT x, l.* FROM generate_series(0, 6) AS x, LATERAL (SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = x ORDER BY f.price DESC, f.id LIMIT 2) AS l
SELECT x, l.* FROM generate_series(0, 6) AS x, LATERAL (SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k WHERE f.amount > x * 60 ORDER BY i.name, f.id LIMIT x) AS l
-- Several rows of a joined table, or no equality: PostgreSQL's own plan.
SELECT f.id, l.name FROM rfact f JOIN rloose l ON f.item = l.k ORDER BY f.id, l.name LIMIT 5
SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k AND f.amount < i.kind ORDER BY f.id LIMIT 5
SELECT f.id, i.name FROM rfact f FULL JOIN ritem i ON f.item = i.k ORDER BY f.id, i.name LIMIT 5
SELECT f.id, i.name FROM rfact f LEFT JOIN ritem i ON f.item = i.k AND f.amount > 3 ORDER BY f.id LIMIT 5

-- All rows.
SELECT f.id, f.other, i.name FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.name = 'item 3' AND f.price > 700
SELECT f.*, i.*, k.* FROM rfact f JOIN ritem i ON f.item = i.k JOIN rkind k ON i.kind = k.k WHERE k.color = 'red' AND f.amount = 7
SELECT f.id, upper(i.name) || f.other FROM rfact f LEFT JOIN ritem i ON f.item = i.k WHERE f.amount = 8
SELECT f.id FROM rfact f LEFT JOIN ritem i ON f.item = i.k WHERE i.k IS NULL
SELECT f.other FROM rfact f WHERE f.item IN (SELECT k FROM ritem WHERE kind = 5)
SELECT f.other FROM rfact f WHERE NOT EXISTS (SELECT FROM rloose l WHERE l.k = f.item)
SELECT 1 FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = 2
SELECT f.id, n.name FROM rfact f JOIN rnothing n ON f.item = n.k
SELECT i.name, f.other FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = 2 ORDER BY i.name, f.id
SELECT f.id, rank() OVER (PARTITION BY i.name ORDER BY f.price DESC), i.name FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = 2 ORDER BY i.name, 2, f.id
SELECT generate_series(1, i.kind), f.id FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind < 3
SELECT DISTINCT ON (i.name) i.name, f.id FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = 2 ORDER BY i.name, f.id
SELECT x, l.* FROM generate_series(0, 6) AS x LEFT JOIN LATERAL (SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = x AND f.price < 10 OFFSET 0) AS l ON true
WITH j AS MATERIALIZED (SELECT f.id, i.kind FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = 4) SELECT kind, count(*), sum(id) FROM j GROUP BY kind
(SELECT f.id FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = 4) EXCEPT (SELECT f.id FROM rfact f JOIN rshop s ON f.shop = s.k WHERE s.region = 1)
-- Not with groups, columns of the system, whole rows, or locks.
SELECT count(*) FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = 2
SELECT f.tableoid::regclass, f.id FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = 2
SELECT i, f.id FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = 2
$list$, 'compare_rows');
SELECT node, reason FROM gpu.explain_why('SELECT i, f.id FROM rfact f JOIN ritem i ON f.item = i.k');
SELECT node, reason FROM gpu.explain_why('SELECT f.id FROM rfact f JOIN ritem i ON f.item = i.k FOR UPDATE OF f');
SELECT node, reason FROM gpu.explain_why('SELECT f.id FROM rfact f JOIN rloose i ON f.item = i.k ORDER BY f.id LIMIT 3');
CREATE TABLE rparted (id int, item int) PARTITION BY RANGE (id);
CREATE TABLE rparted_1 PARTITION OF rparted FOR VALUES FROM (0) TO (100);
CREATE TABLE rparted_2 PARTITION OF rparted FOR VALUES FROM (100) TO (200);
CREATE INDEX ON rparted USING gpu_column (id, item);
SELECT node, reason FROM gpu.explain_why('SELECT f.id, i.name FROM rparted f JOIN ritem i ON f.item = i.k ORDER BY f.id LIMIT 3') WHERE node = 'GpuQuery';
DROP TABLE rparted;
SELECT node, reason FROM gpu.explain_why('SELECT f.id FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY f.other LIMIT 3');
SET pg_gpu.enable_query = off;
SELECT node, reason FROM gpu.explain_why('SELECT f.id FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY f.id LIMIT 3');
RESET pg_gpu.enable_query;

-- Cursors, which go back where rows are in an order; prepared statements; rescans.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
BEGIN;
DECLARE c CURSOR FOR SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY i.name, f.id LIMIT 5;
FETCH 3 c;
FETCH BACKWARD 2 c;
FETCH ALL c;
FETCH BACKWARD ALL c;
DECLARE d SCROLL CURSOR FOR SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k WHERE f.id < 200 AND i.kind = 3;
FETCH ALL d;
FETCH BACKWARD 2 d;
DECLARE e CURSOR WITH HOLD FOR SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k WHERE f.id < 200 AND i.kind = 4 ORDER BY f.id DESC LIMIT 3;
COMMIT;
FETCH ALL e;
CLOSE e;
PREPARE joined (int, int8) AS SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = $1 ORDER BY f.price DESC, f.id LIMIT $2;
PREPARE all_joined (int) AS SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = $1 AND f.id < 300 ORDER BY f.id;
SET plan_cache_mode = force_generic_plan;
EXECUTE joined (3, 2);
EXECUTE joined (4, 3);
EXECUTE joined (NULL, 3);
EXECUTE all_joined (1);
EXECUTE all_joined (NULL);
RESET plan_cache_mode;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;

-- Own changes of all tables, and rows on pages that aren't all-visible.
BEGIN;
UPDATE rfact SET amount = amount + 1000 WHERE id % 500 = 1;
UPDATE ritem SET kind = 99 WHERE k % 50 = 1;
DELETE FROM ritem WHERE k % 50 = 2;
INSERT INTO rfact (id, item, amount, other) VALUES (-1, 100, 5000, 'new'), (-2, 7777, 5000, 'new'), (-3, NULL, 5000, 'new');
INSERT INTO ritem VALUES (7777, 'new item', 99, 0, 0);
SELECT * FROM compare_all($list$
SELECT f.id, f.other, i.name, i.kind FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY f.amount DESC, f.id LIMIT 30
SELECT f.id, f.other, i.name, i.kind FROM rfact f LEFT JOIN ritem i ON f.item = i.k ORDER BY f.amount DESC, f.id LIMIT 30
SELECT f.id, f.other, i.name, i.kind FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = 99
$list$, 'compare_rows');
SAVEPOINT s;
DELETE FROM rfact WHERE item % 50 = 1;
SELECT * FROM compare_rows('SELECT f.id, f.other, i.name, i.kind FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = 99');
ROLLBACK TO s;
SELECT * FROM compare_rows('SELECT f.id, f.other, i.name, i.kind FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = 99');
ROLLBACK;
DELETE FROM rfact WHERE id % 3 = 0;
UPDATE ritem SET name = 'changed' WHERE k % 20 = 3;
SELECT * FROM compare_all($list$
SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY i.name, f.id LIMIT 60
SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.name = 'changed'
$list$, 'compare_rows');

-- Rows of joined tables that are kept from one statement to the next, in a table with an index of its own.
CREATE INDEX ritem_i ON ritem USING gpu_column (k, name, kind, weight, f8);
VACUUM ANALYZE ritem, rfact;
SELECT * FROM compare_all($list$
SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY i.name, f.id LIMIT 60
SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY i.name, f.id LIMIT 60
$list$, 'compare_rows');
UPDATE ritem SET name = 'again' WHERE k % 20 = 4;
SELECT * FROM compare_all($list$
SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY i.name, f.id LIMIT 60
SELECT f.id, i.name FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.name = 'again'

-- Errors: what may fail is evaluated for rows that pass the conditions only.
SELECT f.id FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY f.amount / (i.kind - 2), f.id LIMIT 5
SELECT f.id FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind > 2 ORDER BY f.amount / (i.kind - 2), f.id LIMIT 5
$list$, 'compare_rows');
-- No memory for the rows of the join, nor for those of a joined table.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT * FROM compare_all($list$
SELECT f.id, s.town FROM rfact f JOIN rshop s ON f.shop = s.k ORDER BY s.town, f.id LIMIT 5000
SELECT f.id, s.town FROM rfact f JOIN rshop s ON f.shop = s.k
$list$, 'compare_rows');
RESET work_mem;
RESET hash_mem_multiplier;

-- Rows that row security or a barrier hides, in either table.
CREATE ROLE regress_rows_reader;
GRANT SELECT ON rfact, ritem TO regress_rows_reader;
CREATE POLICY light ON ritem USING (kind < 6);
CREATE POLICY large ON rfact USING (amount > 100);
ALTER TABLE ritem ENABLE ROW LEVEL SECURITY;
ALTER TABLE rfact ENABLE ROW LEVEL SECURITY;
SET ROLE regress_rows_reader;
SELECT * FROM compare_all($list$
SELECT f.id, i.name, i.kind FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY i.kind DESC, f.id LIMIT 10
SELECT f.id, i.name, i.kind FROM rfact f LEFT JOIN ritem i ON f.item = i.k ORDER BY i.kind DESC, f.id LIMIT 10
SELECT f.id, i.name, i.kind FROM rfact f JOIN ritem i ON f.item = i.k WHERE 1 / (i.kind - 7) < 0 ORDER BY i.kind DESC, f.id LIMIT 10
SELECT f.id, i.name, i.kind FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.name = 'item 4'
$list$, 'compare_rows');
RESET ROLE;
REVOKE SELECT ON ritem FROM regress_rows_reader;
SET ROLE regress_rows_reader;
SELECT * FROM compare_all($list$
SELECT f.id, i.name, i.kind FROM rfact f JOIN ritem i ON f.item = i.k ORDER BY i.kind DESC, f.id LIMIT 10
SELECT f.id, i.name, i.kind FROM rfact f JOIN ritem i ON f.item = i.k WHERE i.kind = 3
$list$, 'compare_rows');
RESET ROLE;
DROP POLICY light ON ritem;
DROP POLICY large ON rfact;
REVOKE SELECT ON rfact FROM regress_rows_reader;
DROP ROLE regress_rows_reader;
DROP TABLE rfact, ritem, rkind, rshop, rtags, rloose, rnothing;
DROP FUNCTION compare_rows, rows_of, answer_of, who_answers, compare, compare_all;
