-- Joins answered by GpuQuery: each statement is run with the node and without it, and the answers, or the kinds of errors, are held
-- against each other.
SET max_parallel_workers_per_gather = 0;
SET pg_gpu.path = host;
SET timezone = 'UTC';
-- From PostgreSQL 16 on what aggregates take may be sorted with the groups.
DO $$ BEGIN PERFORM set_config(name, 'off', false) FROM pg_settings WHERE name = 'enable_presorted_aggregate'; END $$;

-- A table of facts, and others that it is joined with: by integers with a dictionary and without one, int8 and int2 beside int4, text, dates, and
-- numerics.
CREATE TABLE jfact (id int, item int, shop int8, wide int, day date, tag text, price numeric(8,2), amount int, note text) WITH (autovacuum_enabled = off);
CREATE TABLE item (k int PRIMARY KEY, name text, kind int, weight numeric, f8 float8, code char(4)) WITH (autovacuum_enabled = off);
CREATE TABLE kind (k int2 PRIMARY KEY, label text COLLATE "C", color text) WITH (autovacuum_enabled = off);
CREATE TABLE shop (k int PRIMARY KEY, town text, region int, opened date) WITH (autovacuum_enabled = off);
CREATE TABLE days (k date PRIMARY KEY, year int, month int, name text) WITH (autovacuum_enabled = off);
CREATE TABLE tags (k text PRIMARY KEY, grade numeric(6,3)) WITH (autovacuum_enabled = off);
CREATE TABLE wides (k int PRIMARY KEY, half int, word text) WITH (autovacuum_enabled = off);
CREATE TABLE loose_item (k int, name text) WITH (autovacuum_enabled = off);
CREATE TABLE nothing (k int PRIMARY KEY, name text) WITH (autovacuum_enabled = off);
INSERT INTO item SELECT i, CASE WHEN i % 9 <> 0 THEN 'item ' || i % 23 END, CASE WHEN i % 7 <> 0 THEN i % 12 END, CASE i % 4 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 ELSE i END, i / 8.0, chr(65 + i % 5) FROM generate_series(1, 300) AS i;
INSERT INTO kind SELECT i, 'kind ' || i, CASE i % 3 WHEN 0 THEN 'red' WHEN 1 THEN 'green' END FROM generate_series(0, 8) AS i;
INSERT INTO shop SELECT i, 'town ' || i % 11, i % 4, date '2020-01-01' + i FROM generate_series(1, 60) AS i;
INSERT INTO days SELECT d, extract(year FROM d), extract(month FROM d), to_char(d, 'Dy') FROM generate_series(date '2025-11-01', date '2026-03-31', '1 day') AS d;
INSERT INTO tags SELECT 'tag ' || i, i / 7.0 FROM generate_series(1, 20) AS i;
INSERT INTO wides SELECT i * 3, i / 2, 'word ' || i % 10 FROM generate_series(1, 40000) AS i;
INSERT INTO loose_item SELECT i % 50, 'loose ' || i FROM generate_series(1, 100) AS i;
INSERT INTO jfact
SELECT i, CASE WHEN i % 17 <> 0 THEN (i * 7) % 330 END, CASE WHEN i % 19 <> 0 THEN (i * 13) % 70 END, (i * 7919) % 130000, date '2025-12-01' + i % 100,
       CASE WHEN i % 5 <> 0 THEN 'tag ' || i % 25 END, (i % 1000) * 1.25, i % 500 - 100, 'note ' || i % 31
FROM generate_series(1, 20000) AS i;
CREATE INDEX jfact_i ON jfact USING gpu_column (id, item, shop, wide, day, tag, price, amount, note);
VACUUM ANALYZE jfact;
ANALYZE item, kind, shop, days, tags, wides, loose_item, nothing;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :compare
\i :plan_of
\set ECHO all

-- How it is shown.
EXPLAIN (COSTS OFF) SELECT kind.label, count(*) FROM jfact, item, kind WHERE jfact.item = item.k AND item.kind = kind.k AND item.weight > 2 GROUP BY kind.label;

-- From here on PostgreSQL's joins are so dear that the node is there wherever it can be.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_nestloop = off;
-- Whether the node joins. Where it doesn't, PostgreSQL joins its groups or rows of the tables, as one disabled join costs no less than another
-- before 18, and since then what it costs otherwise.
CREATE FUNCTION compare_joined(query text, OUT joined bool, OUT rows int, OUT same text) LANGUAGE sql AS $$
    SELECT (SELECT bool_or(plan ~ 'Joined By') FROM pg_temp.plan_of(query)), c.rows, c.same FROM compare(query) AS c $$;

-- Inner joins: groups, arguments and conditions of either side.
SELECT * FROM compare_all($list$
SELECT count(*) FROM jfact JOIN item ON jfact.item = item.k
SELECT i.name, count(*), sum(f.amount), avg(f.price), min(f.note), max(i.weight) FROM jfact f JOIN item i ON f.item = i.k GROUP BY i.name
SELECT i.kind, f.note, sum(i.kind), sum(i.weight), count(i.name), count(DISTINCT i.name), sum(DISTINCT i.kind) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1, 2
SELECT s.town, sum(f.amount) FROM jfact f JOIN shop s ON f.shop = s.k WHERE s.region IN (1, 2) AND f.amount > 50 GROUP BY s.town
SELECT d.year, d.month, count(*) FROM jfact f JOIN days d ON f.day = d.k GROUP BY 1, 2
SELECT d.name, extract(week FROM d.k), count(*) FROM jfact f JOIN days d ON f.day = d.k WHERE d.k > '2026-01-10' GROUP BY 1, 2
SELECT t.grade, count(*), avg(t.grade), min(t.grade) FROM jfact f JOIN tags t ON f.tag = t.k GROUP BY 1
SELECT w.word, count(*), sum(w.half), max(w.half), sum(w.half + f.amount) FROM jfact f JOIN wides w ON f.wide = w.k GROUP BY 1
SELECT w.half / 100, count(*) FROM jfact f JOIN wides w ON f.wide = w.k WHERE w.half % 3 = 1 GROUP BY 1
SELECT f.wide + w.half, count(*) FROM jfact f JOIN wides w ON f.wide = w.k WHERE f.id < 400 GROUP BY 1
SELECT i.name || f.item, i.k, count(*) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1, 2
SELECT i.f8, sum(i.f8), avg(i.f8), variance(i.kind) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1
SELECT i.code, i.code = 'A', count(*) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1
-- Equal numerics that are shown with different scales.
SELECT round(weight, 2), c FROM (SELECT i.weight, count(*) AS c FROM jfact f JOIN item i ON f.item = i.k GROUP BY i.weight) AS s
SELECT i.weight, count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE i.k % 4 = 1 GROUP BY i.weight
SELECT i.weight, f.item % 4, count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE i.k < 20 GROUP BY i.weight, f.item % 4

-- Several tables, one by another, and one that is joined twice.
SELECT i.name, s.town, d.month, count(*), sum(f.amount) FROM jfact f, item i, shop s, days d WHERE f.item = i.k AND f.shop = s.k AND f.day = d.k AND s.region = 1 GROUP BY 1, 2, 3
SELECT k.label, k.color, count(*), sum(f.amount) FROM jfact f JOIN item i ON f.item = i.k JOIN kind k ON i.kind = k.k GROUP BY 1, 2
SELECT k.color, d.year, t.grade > 1, count(*) FROM jfact f, item i, kind k, days d, tags t WHERE f.item = i.k AND i.kind = k.k AND f.day = d.k AND f.tag = t.k AND k.color IS NOT NULL GROUP BY 1, 2, 3
SELECT a.kind, b.kind, count(*) FROM jfact f JOIN item a ON f.item = a.k JOIN item b ON f.amount = b.k GROUP BY 1, 2
SELECT a.name, count(*) FROM jfact f JOIN item a ON f.item = a.k JOIN item b ON a.kind = b.k WHERE b.weight > 3 GROUP BY 1
SELECT a.name, b.name, count(*) FROM jfact f JOIN item a ON f.item = a.k JOIN item b ON f.item = b.k GROUP BY 1, 2
-- Conditions across tables.
SELECT count(*), sum(f.amount) FROM jfact f JOIN item i ON f.item = i.k WHERE i.kind < f.amount % 12
SELECT i.kind, count(*) FROM jfact f JOIN item i ON f.item = i.k JOIN shop s ON f.shop = s.k WHERE i.kind > s.region AND (i.kind = 5 OR s.region = 2) GROUP BY 1
SELECT i.kind, sum(f.amount * i.kind - s.region) FROM jfact f JOIN item i ON f.item = i.k JOIN shop s ON f.shop = s.k WHERE i.kind <> s.region OR f.amount IS NULL GROUP BY 1
SELECT count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE i.name > f.note
SELECT i.k FROM jfact f JOIN item i ON f.item = i.k AND f.amount = i.kind GROUP BY i.k
-- What is computed of groups; HAVING; ORDER BY and LIMIT; DISTINCT; grouping sets.
SELECT upper(i.name), count(*) * 2 FROM jfact f JOIN item i ON f.item = i.k GROUP BY i.name HAVING sum(f.amount) > 1000 ORDER BY 2 DESC, 1 LIMIT 5
SELECT s.town, sum(f.amount) AS a FROM jfact f JOIN shop s ON f.shop = s.k GROUP BY 1 ORDER BY a DESC, 1 LIMIT 3
SELECT DISTINCT i.name, f.note FROM jfact f JOIN item i ON f.item = i.k WHERE i.kind = 3
$list$);
SELECT same FROM compare('SELECT i.kind, s.region, count(*) FROM jfact f JOIN item i ON f.item = i.k JOIN shop s ON f.shop = s.k GROUP BY ROLLUP (i.kind, s.region)');
SELECT * FROM compare_all($list$
SELECT count(*) FILTER (WHERE i.name LIKE '%1%'), sum(f.amount) FILTER (WHERE s.region = 1) FROM jfact f JOIN item i ON f.item = i.k JOIN shop s ON f.shop = s.k
SELECT * FROM (SELECT i.kind AS a, count(*) AS n FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1) AS s JOIN kind ON s.a = kind.k
-- No rows.
SELECT n.name, count(*) FROM jfact f JOIN nothing n ON f.item = n.k GROUP BY 1
SELECT count(*), sum(f.amount) FROM jfact f JOIN nothing n ON f.item = n.k
SELECT count(*), max(i.name) FROM jfact f JOIN item i ON f.item = i.k WHERE i.k > 305
SELECT count(*), max(i.name) FROM jfact f JOIN item i ON f.item = i.k WHERE f.id < 0

-- Outer joins.
SELECT i.name, count(*), count(i.k), sum(i.kind) FROM jfact f LEFT JOIN item i ON f.item = i.k GROUP BY 1
SELECT coalesce(i.name, 'none'), coalesce(i.kind, f.item), count(*) FROM jfact f LEFT JOIN item i ON f.item = i.k GROUP BY 1, 2
SELECT i.name, count(*) FROM jfact f LEFT JOIN item i ON f.item = i.k AND i.kind = 3 GROUP BY 1
SELECT k.label, i.kind, count(*) FROM jfact f LEFT JOIN item i ON f.item = i.k LEFT JOIN kind k ON i.kind = k.k GROUP BY 1, 2
SELECT k.label, i.kind, count(*) FROM jfact f LEFT JOIN (item i LEFT JOIN kind k ON i.kind = k.k) ON f.item = i.k GROUP BY 1, 2
SELECT k.label, i.kind, count(*) FROM jfact f LEFT JOIN (item i JOIN kind k ON i.kind = k.k) ON f.item = i.k GROUP BY 1, 2
SELECT s.town, i.kind, count(*) FROM jfact f LEFT JOIN item i ON f.item = i.k JOIN shop s ON f.shop = s.k GROUP BY 1, 2
SELECT s.town, count(*) FROM jfact f LEFT JOIN shop s ON f.shop = s.k WHERE s.region = 2 OR s.k IS NULL GROUP BY 1
SELECT i.kind, count(*) FROM jfact f LEFT JOIN item i ON f.item = i.k WHERE i.kind IS DISTINCT FROM 4 GROUP BY 1
$list$);
SELECT * FROM compare_joined('SELECT i.kind, count(*) FROM jfact f LEFT JOIN item i ON f.item = i.k AND f.amount > 0 GROUP BY 1');
SELECT * FROM compare_all($list$
SELECT w.word, count(*) FROM jfact f LEFT JOIN wides w ON f.wide = w.k GROUP BY 1
SELECT coalesce(w.half, f.wide) % 50, count(*) FROM jfact f LEFT JOIN wides w ON f.wide = w.k GROUP BY 1
SELECT i.name, count(f.id) FROM item i LEFT JOIN jfact f ON f.item = i.k GROUP BY 1
SELECT i.name, count(*) FROM jfact f FULL JOIN item i ON f.item = i.k GROUP BY 1
SELECT n.name, count(*) FROM jfact f LEFT JOIN nothing n ON f.item = n.k GROUP BY 1
-- What is computed below an outer join stays NULL above it.
SELECT x.name, count(*) FROM jfact f LEFT JOIN (SELECT k, coalesce(name, 'unnamed') AS name FROM item) AS x ON f.item = x.k GROUP BY 1
SELECT x.one, count(*) FROM jfact f LEFT JOIN (SELECT k, 1 AS one FROM item) AS x ON f.item = x.k GROUP BY 1

-- Semi and anti joins.
SELECT f.note, count(*), sum(f.amount) FROM jfact f WHERE f.item IN (SELECT k FROM item WHERE kind = 2) GROUP BY 1
SELECT f.note, count(*) FROM jfact f WHERE f.item IN (SELECT kind FROM item) GROUP BY 1
SELECT count(*) FROM jfact f WHERE f.item IN (SELECT k FROM loose_item)
SELECT count(*) FROM jfact f WHERE EXISTS (SELECT FROM loose_item l WHERE l.k = f.item AND l.name <> 'loose 7')
SELECT count(*) FROM jfact f WHERE EXISTS (SELECT FROM loose_item l WHERE l.k = f.item AND f.amount > 10)
SELECT count(*) FROM jfact f WHERE EXISTS (SELECT FROM loose_item l WHERE l.k = f.item AND length(l.name) > f.amount)
SELECT count(*), sum(f.amount) FROM jfact f WHERE NOT EXISTS (SELECT FROM loose_item l WHERE l.k = f.item)
SELECT f.note, count(*) FROM jfact f WHERE NOT EXISTS (SELECT FROM item i WHERE i.k = f.item AND i.kind > 3) GROUP BY 1
SELECT f.note, count(*), max(i.name) FROM jfact f LEFT JOIN item i ON f.item = i.k WHERE i.k IS NULL GROUP BY 1
SELECT count(*) FROM jfact f WHERE f.item NOT IN (SELECT k FROM item)
SELECT count(*) FROM jfact f WHERE f.item NOT IN (SELECT kind FROM item)
SELECT i.kind, count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE f.shop IN (SELECT k FROM shop WHERE region = 3) AND NOT EXISTS (SELECT FROM tags t WHERE t.k = f.tag) GROUP BY 1
SELECT count(*) FROM jfact f WHERE f.tag IN (SELECT k FROM tags) AND f.wide IN (SELECT k FROM wides)
SELECT count(*) FROM jfact f WHERE f.item IN (SELECT i.k FROM item i JOIN kind k ON i.kind = k.k WHERE k.color = 'red')
$list$);

-- By keys that aren't unique and by other conditions PostgreSQL joins groups (aggregate_join_states). Volatile functions, locked rows, and what isn't
-- known of rows alone, are left to its own plan.
SELECT * FROM compare_joined('SELECT l.name, count(*) FROM jfact f JOIN loose_item l ON f.item = l.k GROUP BY 1');
SELECT * FROM compare_all($list$
SELECT count(*) FROM jfact f JOIN item i ON f.item < i.k
SELECT count(*) FROM jfact f CROSS JOIN kind
SELECT count(*) FROM jfact f JOIN item i ON f.item + 1 = i.k
SELECT count(*) FROM jfact f JOIN item i ON f.item = i.k AND random() >= 0
SELECT count(*) FROM (SELECT 1 FROM jfact f JOIN item i ON f.item = i.k WHERE i.k = 5 FOR UPDATE) AS s
SELECT i.ctid IS NULL, count(*) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1
$list$);
SELECT * FROM compare_joined('SELECT i.name, count(*) FROM jfact f JOIN (SELECT k, max(name) AS name FROM item GROUP BY k) AS i ON f.item = i.k GROUP BY 1');
-- Keys that are constant.
SELECT * FROM compare_all($list$
SELECT i.name, count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE i.k = 7 GROUP BY 1
SELECT i.name, count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE f.item = 7 AND i.kind > 1 GROUP BY 1
SELECT i.name, s.town, count(*) FROM jfact f, item i, shop s WHERE f.item = i.k AND f.shop = s.k AND i.k = 77 AND s.k = 23 GROUP BY 1, 2
$list$);
SELECT rows, same FROM compare('SELECT k.label, i.kind, count(*) FROM jfact f JOIN item i ON f.item = i.k JOIN kind k ON i.kind = k.k WHERE k.k = 3 GROUP BY 1, 2');
SELECT * FROM compare('SELECT a.name, b.kind, count(*) FROM jfact f JOIN item a ON f.item = a.k JOIN item b ON b.k = f.item WHERE f.item = 70 GROUP BY 1, 2');
SELECT same FROM compare('SELECT i.name, count(*) FROM jfact f LEFT JOIN item i ON f.item = i.k WHERE f.item = 7 GROUP BY 1');
SELECT * FROM compare_all($list$
SELECT i.name, count(*) FROM jfact f LEFT JOIN item i ON f.item = i.k JOIN kind k ON i.kind = k.k WHERE k.k = 2 GROUP BY 1
SELECT count(*) FROM jfact f WHERE EXISTS (SELECT FROM loose_item l WHERE l.k = f.item AND l.k = 7)
SELECT i.name, count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE i.k = (SELECT 77) GROUP BY 1

-- Errors: only of rows that are joined.
SELECT 100 / (i.k - 300), count(*) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1
SELECT 100 / (i.k - 300), count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE i.name IS NOT NULL AND i.k <> 300 GROUP BY 1
SELECT sum(100 / (i.k - 1)) FROM jfact f JOIN item i ON f.item = i.k WHERE i.kind > 1
SELECT sum(100 / (s.region - 1)) FROM jfact f JOIN item i ON f.item = i.k JOIN shop s ON f.shop = s.k WHERE s.region <> i.kind AND s.region > 1
SELECT sum(f.amount * i.k * 2000000) FROM jfact f JOIN item i ON f.item = i.k
$list$);

-- Little memory, for rows, maps and groups.
SET work_mem = '64kB';
SELECT * FROM compare('SELECT i.name, count(*) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1');
SELECT * FROM compare_joined('SELECT w.word, count(*) FROM jfact f JOIN wides w ON f.wide = w.k GROUP BY 1');
SELECT * FROM compare_all($list$
SELECT i.k, f.id % 1000, count(*) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1, 2
SELECT i.weight, f.id % 1000, count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE i.k % 4 = 1 GROUP BY 1, 2
$list$);
-- More rows than the planner expects.
SET work_mem = '600kB';
SELECT * FROM compare('SELECT w.word, count(*) FROM jfact f JOIN wides w ON f.wide = w.k WHERE w.half % 1000 >= 0 AND w.half % 999 >= 0 GROUP BY 1');
RESET work_mem;

-- Prepared statements, and plans that run again with other values.
SET plan_cache_mode = force_generic_plan;
PREPARE of_kind (int, int) AS SELECT i.name, count(*), sum(f.amount) FROM jfact f JOIN item i ON f.item = i.k WHERE i.kind = $1 AND f.amount > $2 GROUP BY 1 ORDER BY 1 LIMIT 2;
EXECUTE of_kind (3, 10);
EXECUTE of_kind (4, 100);
EXECUTE of_kind (NULL, 100);
RESET plan_cache_mode;
SELECT * FROM compare_all($list$
SELECT k.k, s.* FROM kind k, LATERAL (SELECT count(*), sum(f.amount) FROM jfact f JOIN item i ON f.item = i.k WHERE i.kind = k.k) AS s
SELECT k.k, s.* FROM kind k, LATERAL (SELECT count(*), sum(f.amount) FROM jfact f JOIN item i ON f.item = i.k WHERE f.amount = k.k) AS s
SELECT k.k, (SELECT count(*) FROM jfact f JOIN item i ON f.item = i.k HAVING count(*) > k.k * 3000) FROM kind k
SELECT i.name, count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE i.kind = (SELECT max(k) FROM kind) GROUP BY 1
SELECT i.name, count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE i.kind NOT IN (SELECT k FROM kind WHERE color IS NULL) GROUP BY 1
WITH s AS MATERIALIZED (SELECT i.name, count(*) AS n FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1) SELECT * FROM s AS a JOIN s AS b USING (name)
$list$);
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT i.kind, count(*) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1 ORDER BY 1;
FETCH 2 FROM c;
FETCH ABSOLUTE 1 FROM c;
COMMIT;

-- Changes, in the table and in those that it is joined with, of this transaction and of others before it.
BEGIN;
UPDATE item SET name = 'changed', kind = 1 WHERE k % 10 = 3;
DELETE FROM item WHERE k % 10 = 4;
INSERT INTO jfact SELECT i, i % 400, i % 70, i % 1000, date '2026-01-01' + i % 10, 'tag ' || i % 30, i, i, 'note' FROM generate_series(1, 500) AS i;
UPDATE jfact SET item = 12 WHERE id % 100 = 1;
DELETE FROM jfact WHERE id % 100 = 2;
SELECT * FROM compare_all($list$
SELECT i.name, count(*), sum(f.amount) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1
SELECT i.name, w.word, count(*) FROM jfact f LEFT JOIN item i ON f.item = i.k LEFT JOIN wides w ON f.wide = w.k GROUP BY 1, 2
SELECT i.weight, count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE i.k % 4 = 1 GROUP BY 1
$list$);
SAVEPOINT s;
DELETE FROM item;
SELECT * FROM compare('SELECT count(*) FROM jfact f JOIN item i ON f.item = i.k');
ROLLBACK TO s;
SELECT * FROM compare('SELECT count(*) FROM jfact f WHERE NOT EXISTS (SELECT FROM item i WHERE f.item = i.k)');
ROLLBACK;
INSERT INTO jfact SELECT i, i % 400, i % 70, i * 100, date '2026-01-01' + i % 10, 'tag ' || i % 30, i, i, 'note' FROM generate_series(1, 2000) AS i;
UPDATE jfact SET amount = amount + 1 WHERE id % 50 = 7;
SELECT * FROM compare_all($list$
SELECT i.name, count(*), sum(f.amount) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1
SELECT w.word, t.grade, count(*), sum(f.amount) FROM jfact f JOIN wides w ON f.wide = w.k JOIN tags t ON f.tag = t.k GROUP BY 1, 2
$list$);
VACUUM jfact;
SELECT * FROM compare('SELECT w.word, t.grade, count(*), sum(f.amount) FROM jfact f JOIN wides w ON f.wide = w.k JOIN tags t ON f.tag = t.k GROUP BY 1, 2');

-- Joined tables of other kinds: partitions, one with a gpu_column index of its own, a view, a materialized view.
CREATE TABLE parted (k int, name text, PRIMARY KEY (k)) PARTITION BY RANGE (k);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (100) TO (1000);
INSERT INTO parted SELECT k, name FROM item;
CREATE VIEW some_items AS SELECT k, name || '!' AS name FROM item WHERE kind < 6;
CREATE INDEX shop_columns ON shop USING gpu_column (k, region, town);
ANALYZE parted;
SELECT same FROM compare('SELECT p.name, count(*) FROM jfact f JOIN parted p ON f.item = p.k GROUP BY 1');
SELECT * FROM compare_all($list$
SELECT v.name, count(*) FROM jfact f JOIN some_items v ON f.item = v.k GROUP BY 1
SELECT s.town, count(*) FROM jfact f JOIN shop s ON f.shop = s.k WHERE s.region = 1 GROUP BY 1
$list$);

-- A joined table that is large enough is read by its own gpu_column index, as groups of its columns, whatever the statement's own order, limit and
-- distinct values.
CREATE TABLE large (k int PRIMARY KEY, name text, n numeric, f float8, odd text COLLATE "C", extra int) WITH (autovacuum_enabled = off);
INSERT INTO large SELECT i, CASE WHEN i % 9 <> 0 THEN 'large ' || i % 23 END, CASE i % 4 WHEN 0 THEN 1.5 WHEN 1 THEN 1.50 END, CASE i % 5 WHEN 0 THEN '-0' WHEN 1 THEN '0' ELSE 'NaN' END::float8, i, i % 3 FROM generate_series(1, 30000) AS i;
CREATE INDEX large_i ON large USING gpu_column (k, name, n, f, odd, extra);
VACUUM ANALYZE large;
SELECT * FROM pg_temp.plan_of($$SELECT l.name, count(DISTINCT f.amount) AS c FROM jfact f JOIN large l ON f.wide = l.k WHERE l.extra = 1 GROUP BY 1 ORDER BY c DESC, 1 LIMIT 3$$);
SELECT * FROM compare_all($list$
SELECT l.name, count(DISTINCT f.amount) AS c FROM jfact f JOIN large l ON f.wide = l.k WHERE l.extra = 1 GROUP BY 1 ORDER BY c DESC, 1 LIMIT 3
SELECT l.name, count(*), sum(f.amount) FROM jfact f JOIN large l ON f.wide = l.k GROUP BY 1
SELECT sum(l.n), count(DISTINCT l.f), count(*) FROM jfact f JOIN large l ON f.wide = l.k WHERE l.k % 7 < 3
SELECT l.n::text, l.f::text, l.odd, count(*) FROM jfact f JOIN large l ON f.wide = l.k GROUP BY 1, 2, 3
SELECT l.name, count(l.k), count(*) FROM jfact f LEFT JOIN large l ON f.wide = l.k AND l.extra <> 2 GROUP BY 1 ORDER BY 1 LIMIT 5
SELECT count(*), sum(amount) FROM jfact WHERE wide IN (SELECT k FROM large WHERE extra = 2)
$list$);
-- A nested loop would take seconds.
RESET enable_hashjoin;
SELECT * FROM compare('SELECT count(*), sum(amount) FROM jfact WHERE NOT EXISTS (SELECT 1 FROM large WHERE large.extra = jfact.item % 3 AND large.extra = 2)');
SET enable_hashjoin = off;
SELECT * FROM compare_all($list$
SELECT count(*) FROM jfact WHERE item IN (SELECT extra FROM large WHERE name IS NULL)
SELECT DISTINCT l.name FROM jfact f JOIN large l ON f.wide = l.k WHERE l.name > 'large 2' ORDER BY 1 DESC LIMIT 4
$list$);
BEGIN;
UPDATE large SET name = 'changed' WHERE k % 11 = 0;
DELETE FROM large WHERE k % 13 = 0;
INSERT INTO large VALUES (-1, 'new', 1, 2, 'x', 1);
SELECT * FROM compare('SELECT l.name, count(*), sum(f.amount) FROM jfact f JOIN large l ON f.wide = l.k GROUP BY 1');
ROLLBACK;
SELECT * FROM compare('SELECT l.name, count(*), sum(f.amount) FROM jfact f JOIN large l ON f.wide = l.k GROUP BY 1');
DROP TABLE large;

-- The table with the index may have partitions or children, too, which a node reads together.
CREATE TABLE pfact (id int, item int, shop int8, day date, amount int) PARTITION BY RANGE (day);
CREATE TABLE pfact_1 PARTITION OF pfact FOR VALUES FROM ('2025-12-01') TO ('2026-01-01');
CREATE TABLE pfact_2 (gone int, amount int, day date, shop int8, item int, id int);
ALTER TABLE pfact_2 DROP COLUMN gone;
ALTER TABLE pfact ATTACH PARTITION pfact_2 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE pfact_3 PARTITION OF pfact FOR VALUES FROM ('2026-02-01') TO ('2027-01-01');
INSERT INTO pfact SELECT id, item, shop, day, amount FROM jfact WHERE day IS NOT NULL;
CREATE INDEX ON pfact USING gpu_column (id, item, shop, day, amount);
VACUUM ANALYZE pfact;
RESET enable_hashjoin;
EXPLAIN (COSTS OFF) SELECT i.name, count(*) FROM pfact f JOIN item i ON f.item = i.k GROUP BY 1;
SET enable_hashjoin = off;
SELECT * FROM compare_all($list$
SELECT i.name, count(*), sum(f.amount) FROM pfact f JOIN item i ON f.item = i.k GROUP BY 1
SELECT i.kind, s.town, d.month, count(*), count(DISTINCT f.amount) FROM pfact f JOIN item i ON f.item = i.k LEFT JOIN shop s ON f.shop = s.k JOIN days d ON f.day = d.k WHERE i.kind > s.region OR s.region IS NULL GROUP BY 1, 2, 3
SELECT k.label, count(*) FROM pfact f JOIN item i ON f.item = i.k JOIN kind k ON i.kind = k.k WHERE f.day > '2026-01-05' AND NOT EXISTS (SELECT FROM loose_item l WHERE l.k = f.item) GROUP BY 1
SELECT i.kind, count(*) FROM pfact f JOIN item i ON f.item = i.k WHERE f.day = '2026-01-05' GROUP BY 1
SELECT DISTINCT i.kind, f.day FROM pfact f JOIN item i ON f.item = i.k WHERE i.k < 30
$list$);
-- A node for each set, but not on PostgreSQL 18.
SELECT same FROM compare('SELECT i.kind, s.region, count(*) FROM pfact f JOIN item i ON f.item = i.k JOIN shop s ON f.shop = s.k GROUP BY CUBE (i.kind, s.region)');
SELECT rows, same FROM compare('SELECT i.name, a.day, count(*) FROM pfact a JOIN item i ON a.item = i.k WHERE a.day = (SELECT date ''2026-02-03'') GROUP BY 1, 2');
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT * FROM compare('SELECT f.day, i.kind, count(*) FROM pfact f JOIN item i ON f.item = i.k GROUP BY 1, 2');
RESET enable_partitionwise_join;
RESET enable_partitionwise_aggregate;
CREATE TABLE child_fact () INHERITS (jfact);
INSERT INTO child_fact SELECT * FROM ONLY jfact WHERE id % 7 = 0;
SELECT * FROM compare('SELECT i.name, count(*) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1');
CREATE INDEX ON child_fact USING gpu_column (id, item, shop, wide, day, tag, price, amount, note);
SELECT * FROM compare_all($list$
SELECT i.name, count(*) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1
SELECT i.name, count(*) FROM ONLY jfact f JOIN item i ON f.item = i.k GROUP BY 1
$list$);
DROP TABLE child_fact, pfact;

-- Row security and barriers: what a hidden row has must not be told, by errors either.
CREATE ROLE join_reader;
GRANT SELECT ON jfact, item, shop, kind TO join_reader;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY small_items ON item USING (kind < 3);
SET ROLE join_reader;
SELECT * FROM compare_all($list$
SELECT i.name, count(*) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1
SELECT i.name, count(*) FROM jfact f LEFT JOIN item i ON f.item = i.k GROUP BY 1
SELECT count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE 1 / (i.kind - 5) < 5
$list$);
RESET ROLE;
DROP POLICY small_items ON item;
ALTER TABLE item DISABLE ROW LEVEL SECURITY;
ALTER TABLE jfact ENABLE ROW LEVEL SECURITY;
CREATE POLICY small_facts ON jfact USING (amount < 100);
SET ROLE join_reader;
SELECT * FROM compare_all($list$
SELECT i.name, count(*) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1
SELECT 1 / (i.kind - 5), count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE f.amount > 50 GROUP BY 1
SELECT count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE f.amount / (i.kind - 5) < 5
$list$);
RESET ROLE;
DROP POLICY small_facts ON jfact;
ALTER TABLE jfact DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON item FROM join_reader;
SET ROLE join_reader;
SELECT i.name, count(*) FROM jfact f JOIN item i ON f.item = i.k GROUP BY 1;
RESET ROLE;

-- A plan goes with the index that makes the key unique, and what may be unique at the end of a transaction only doesn't count.
PREPARE by_town AS SELECT sum(s.region), count(*) FROM jfact f JOIN shop s ON f.shop = s.k;
EXECUTE by_town;
ALTER TABLE shop DROP CONSTRAINT shop_pkey;
INSERT INTO shop SELECT k, town, region, opened FROM shop;
EXECUTE by_town;
SELECT * FROM compare_joined('SELECT s.town, count(*) FROM jfact f JOIN shop s ON f.shop = s.k GROUP BY 1');
DELETE FROM shop WHERE ctid <> (SELECT min(ctid) FROM shop AS other WHERE other.k = shop.k);
ALTER TABLE shop ADD UNIQUE (k) DEFERRABLE;
SELECT * FROM compare_joined('SELECT s.town, count(*) FROM jfact f JOIN shop s ON f.shop = s.k GROUP BY 1');
CREATE UNIQUE INDEX ON shop (k) WHERE region > 0;
SELECT * FROM compare_joined('SELECT s.town, count(*) FROM jfact f JOIN shop s ON f.shop = s.k GROUP BY 1');

-- Why not.
SET pg_gpu.enable_query = off;
SELECT reason FROM gpu.explain_why('SELECT count(*) FROM jfact f JOIN item i ON f.item = i.k');
RESET pg_gpu.enable_query;
SELECT reason FROM gpu.explain_why('SELECT count(*) FROM jfact f JOIN item i ON f.item = i.k');
SELECT reason FROM gpu.explain_why('SELECT count(*) FROM item i JOIN kind k ON i.kind = k.k');
SELECT reason FROM gpu.explain_why('SELECT count(*) FROM jfact f FULL JOIN item i ON f.item = i.k');
SELECT reason FROM gpu.explain_why('SELECT count(*) FROM item i LEFT JOIN jfact f ON f.item = i.k');
SELECT reason FROM gpu.explain_why('SELECT count(*) FROM jfact f LEFT JOIN (item i JOIN kind k ON i.kind = k.k) ON f.item = i.k');
SELECT reason FROM gpu.explain_why('SELECT count(*) FROM jfact f JOIN item i ON f.item = i.k WHERE random() > 0.5 + i.k');

DROP TABLE jfact, item, kind, shop, days, tags, wides, loose_item, nothing, parted CASCADE;
DROP ROLE join_reader;
DROP FUNCTION compare_joined, compare, compare_all, who_answers, answer_of;
