-- Joins with tables of which a row has several, or which are joined by several columns: a GpuQuery gives transition states of groups, which
-- PostgreSQL joins and finalizes. Each statement is run with the node and without it, and the answers, or the kinds of errors, are held against each other.
SET max_parallel_workers_per_gather = 0;
SET pg_gpu.path = host;
SET timezone = 'UTC';
SET enable_mergejoin = off;
CREATE TABLE many (id int, item int, shop int8, small int2, day date, tag text, price numeric(8,2), amount int, wide int8, f8 float8, gone text) WITH (autovacuum_enabled = off);
CREATE TABLE offer (item int, shop int, name text, kind int, weight numeric, day date, UNIQUE (item, shop, day)) WITH (autovacuum_enabled = off);
CREATE TABLE label (k text, word text COLLATE "C", n int, price numeric) WITH (autovacuum_enabled = off);
CREATE TABLE part (k int PRIMARY KEY, kind int, name text) WITH (autovacuum_enabled = off);
INSERT INTO part SELECT i, CASE WHEN i % 7 <> 0 THEN i % 6 END, 'part ' || i % 5 FROM generate_series(1, 40) AS i;
INSERT INTO offer SELECT i % 30, CASE WHEN i % 11 <> 0 THEN i % 8 END, CASE WHEN i % 5 <> 0 THEN 'offer ' || i % 9 END, i % 4, i / 3.0, date '2026-01-01' + i FROM generate_series(1, 400) AS i;
INSERT INTO offer VALUES (NULL, 1, 'none', 1, 1, '2026-01-01');
INSERT INTO label SELECT CASE WHEN i % 6 <> 0 THEN 'tag ' || i % 9 END, 'word ' || i % 4, i, i / 4.0 FROM generate_series(1, 50) AS i;
INSERT INTO many
SELECT i, CASE WHEN i % 17 <> 0 THEN i % 45 END, i % 10, i % 13, date '2026-01-01' + i % 60, CASE WHEN i % 7 <> 0 THEN 'tag ' || i % 14 END, (i % 1000) * 1.25, i % 500 - 100, i::int8 * 1000003, i % 9 / 4.0, 'x'
FROM generate_series(1, 40000) AS i;
CREATE INDEX many_i ON many USING gpu_column (id, item, shop, small, day, tag, price, amount, wide, f8);
VACUUM ANALYZE many;
ANALYZE offer, label, part;
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

EXPLAIN (COSTS OFF) SELECT l.word, count(*), sum(f.amount) FROM many f JOIN label l ON f.tag = l.k GROUP BY 1;

-- Several rows for one: of the index's table all aggregates that have transition states.
SELECT * FROM compare_all($list$
SELECT count(*) FROM many f JOIN label l ON f.tag = l.k
SELECT l.word, count(*), count(f.item), sum(f.amount), avg(f.amount), min(f.amount), max(f.tag) FROM many f JOIN label l ON f.tag = l.k GROUP BY 1
SELECT l.word, f.small % 3, sum(f.price), avg(f.price), sum(f.wide), avg(f.wide), variance(f.amount), stddev(f.price), bool_or(f.amount > 3), bit_and(f.amount) FROM many f JOIN label l ON f.tag = l.k GROUP BY 1, 2
SELECT f.day, count(*) FROM many f JOIN label l ON f.tag = l.k WHERE l.n > 10 AND f.amount > 0 GROUP BY 1
SELECT l.word, l.n % 3, sum(f.amount) FILTER (WHERE f.small > 4), count(*) FROM many f JOIN label l ON f.tag = l.k GROUP BY 1, 2 HAVING count(*) > 100
SELECT f.small + l.n % 5, f.tag || l.word, count(*) FROM many f JOIN label l ON f.tag = l.k GROUP BY 1, 2
SELECT count(*), sum(f.amount) FROM many f JOIN label l ON f.tag = l.k AND l.n > f.small
SELECT l.word, count(*) FROM many f JOIN label l ON f.small < l.n GROUP BY 1
SELECT l.word, sum(f.amount) AS a FROM many f JOIN label l ON f.tag = l.k GROUP BY 1 ORDER BY a DESC LIMIT 2
SELECT count(*), sum(f.amount) FROM many f JOIN label l ON f.tag = l.k WHERE f.id < 0
SELECT l.word, count(*), sum(f.amount) FROM many f JOIN label l ON f.tag = l.k WHERE f.id < 0 GROUP BY 1
SELECT a.word, b.word, count(*) FROM many f JOIN label a ON f.tag = a.k JOIN label b ON f.tag = b.k GROUP BY 1, 2
-- Several columns at once, of several types.
SELECT o.kind, count(*), sum(f.amount) FROM many f JOIN offer o ON f.item = o.item AND f.shop = o.shop AND f.day = o.day GROUP BY 1
SELECT o.name, f.tag, count(*) FROM many f JOIN offer o ON f.item = o.item AND f.shop = o.shop GROUP BY 1, 2
SELECT o.name, count(*) FROM many f JOIN offer o ON f.item + 1 = o.item AND f.shop = o.shop GROUP BY 1
SELECT o.weight, count(*), avg(f.price) FROM many f JOIN offer o ON f.item = o.item AND f.small = o.shop WHERE o.kind < 3 GROUP BY 1
-- Beside tables that are looked up, and through them.
SELECT p.name, l.word, count(*), sum(f.amount) FROM many f JOIN part p ON f.item = p.k JOIN label l ON f.tag = l.k WHERE p.kind > 1 GROUP BY 1, 2
SELECT p.name, o.name, count(*), sum(p.kind) FROM many f JOIN part p ON f.item = p.k JOIN offer o ON p.kind = o.kind AND f.shop = o.shop GROUP BY 1, 2
$list$);
EXPLAIN (COSTS OFF) SELECT p.name, o.name, count(*), sum(p.kind) FROM many f JOIN part p ON f.item = p.k JOIN offer o ON p.kind = o.kind AND f.shop = o.shop GROUP BY 1, 2;
SELECT * FROM compare_all($list$
SELECT o.name, p.name, count(*) FROM many f JOIN offer o ON f.item = o.item AND f.shop = o.shop JOIN part p ON o.kind = p.k GROUP BY 1, 2
-- Outer, semi and anti joins, whose conditions may be about both sides.
SELECT l.word, count(*), count(f.item), sum(f.amount) FROM many f LEFT JOIN label l ON f.tag = l.k GROUP BY 1
SELECT o.name, count(*), sum(f.amount) FROM many f LEFT JOIN offer o ON f.item = o.item AND f.shop = o.shop AND f.small > 4 GROUP BY 1
SELECT p.name, l.word, count(*) FROM many f LEFT JOIN part p ON f.item = p.k LEFT JOIN label l ON p.kind = l.n AND f.tag = l.k GROUP BY 1, 2
SELECT o.kind, p.name, count(*) FROM many f LEFT JOIN offer o ON f.item = o.item AND f.shop = o.shop LEFT JOIN part p ON o.kind = p.k WHERE o.item IS NULL OR p.kind > 1 GROUP BY 1, 2
SELECT f.small, count(*), sum(f.amount) FROM many f WHERE EXISTS (SELECT FROM offer o WHERE o.item = f.item AND o.shop = f.shop AND o.kind <> f.small) GROUP BY 1
SELECT count(*), sum(f.amount) FROM many f WHERE NOT EXISTS (SELECT FROM offer o WHERE o.item = f.item AND o.shop = f.shop)
SELECT f.small, count(*) FROM many f WHERE (f.item, f.shop) IN (SELECT item, shop FROM offer WHERE kind = 1) GROUP BY 1
SELECT f.small, count(*) FROM many f LEFT JOIN offer o ON f.item = o.item AND f.shop = o.shop WHERE o.item IS NULL GROUP BY 1
-- Numerics of a declared scale look alike when they are equal.
SELECT count(*), sum(f.amount) FROM many f JOIN label l ON f.price = l.price
SELECT f.price, f.price::text, scale(f.price), l.price::text, l.word, count(*), sum(f.price) FROM many f JOIN label l ON f.price = l.price GROUP BY 1, l.price, l.word
SELECT f.price::text || l.word, count(*) FROM many f JOIN label l ON f.tag = l.k GROUP BY 1
SELECT l.word, f.price * 2, count(*) FROM many f JOIN label l ON f.price * 2 = l.price GROUP BY 1, 2
-- What is joined needn't be a table.
SELECT v.b, count(*), sum(f.amount) FROM many f JOIN (VALUES (1, 'a'), (2, 'b'), (2, 'c')) AS v (a, b) ON f.item = v.a GROUP BY 1
SELECT s.n, count(*) FROM many f JOIN (SELECT item, count(*) AS n FROM offer GROUP BY 1) AS s ON f.item = s.item GROUP BY 1
SELECT g, sum(f.amount) FROM many f JOIN generate_series(1, 20, 3) AS g ON f.item = g GROUP BY 1
-- Not so: aggregates of the other table, of distinct values, sums of floats, groups that may look different, volatile conditions, the other side of an outer join, grouping sets.
SELECT sum(l.n) FROM many f JOIN label l ON f.tag = l.k
SELECT l.word, count(DISTINCT f.item) FROM many f JOIN label l ON f.tag = l.k GROUP BY 1
SELECT count(*) FROM many f JOIN label l ON f.f8 = l.price
SELECT count(*) FROM many f JOIN label l ON f.tag = l.k AND random() >= 0
SELECT l.word, random() < 0 AS r, count(*) FROM many f JOIN label l ON f.tag = l.k GROUP BY 1, 2
SELECT round(sum(f.f8)) FROM many f JOIN label l ON f.tag = l.k
SELECT l.word, count(f.item) FROM label l LEFT JOIN many f ON f.tag = l.k GROUP BY 1
SELECT x.word, count(*) FROM many f LEFT JOIN (SELECT k, coalesce(word, 'no') AS word FROM label) AS x ON f.tag = x.k GROUP BY 1
SELECT l.word, f.small, count(*) FROM many f JOIN label l ON f.tag = l.k GROUP BY ROLLUP (1, 2)
SELECT DISTINCT l.word, f.small FROM many f JOIN label l ON f.tag = l.k
SELECT l.word, count(*) FROM many f CROSS JOIN label l GROUP BY 1
SELECT l.word, count(f.gone) FROM many f JOIN label l ON f.tag = l.k GROUP BY 1
-- Errors, which only values of rows that are joined may raise.
SELECT 100 / (f.small - 5), count(*) FROM many f JOIN label l ON f.tag = l.k GROUP BY 1
SELECT 100 / (f.small - 11), count(*) FROM many f JOIN label l ON f.small = l.n AND l.n < 9 GROUP BY 1
SELECT l.word, sum(100 / (f.small - 11)) FROM many f JOIN label l ON f.small = l.n AND l.n < 9 GROUP BY 1
SELECT l.word, count(*) FILTER (WHERE 100 / (f.small - 11) > 0) FROM many f JOIN label l ON f.small = l.n AND l.n < 9 GROUP BY 1
SELECT l.word, sum(100 / (f.small - 5)) FROM many f JOIN label l ON f.tag = l.k WHERE f.small <> 5 GROUP BY 1
$list$);
-- Little memory, so that groups come in several passes.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT * FROM compare('SELECT l.word, f.day, count(*), sum(f.amount), avg(f.price), variance(f.amount) FROM many f JOIN label l ON f.small = l.n GROUP BY 1, 2');
RESET work_mem;
RESET hash_mem_multiplier;
-- Parameters, and plans that run again.
SET plan_cache_mode = force_generic_plan;
PREPARE of_labels (int, int) AS SELECT l.word, count(*), sum(f.amount) FROM many f JOIN label l ON f.tag = l.k WHERE f.amount > $1 AND l.n > $2 GROUP BY 1 ORDER BY 1;
EXECUTE of_labels (100, 20);
EXECUTE of_labels (300, 45);
EXECUTE of_labels (NULL, 45);
RESET plan_cache_mode;
SELECT * FROM compare_all($list$
SELECT o.n, s.* FROM generate_series(0, 3) AS o (n), LATERAL (SELECT count(*), sum(f.amount) FROM many f JOIN label l ON f.tag = l.k WHERE f.small = o.n) AS s
SELECT o.n, s.* FROM generate_series(0, 3) AS o (n), LATERAL (SELECT count(*), sum(f.amount) FROM many f JOIN label l ON f.tag = l.k AND l.n > f.small + o.n) AS s
$list$);
-- Changes.
BEGIN;
UPDATE label SET word = 'changed' WHERE n % 3 = 0;
DELETE FROM many WHERE id % 9 = 0;
UPDATE many SET tag = 'tag 3' WHERE id % 50 = 1;
INSERT INTO label SELECT k, word, n + 100, price FROM label WHERE n % 4 = 0;
SELECT * FROM compare('SELECT l.word, count(*), sum(f.amount) FROM many f JOIN label l ON f.tag = l.k GROUP BY 1');
ROLLBACK;
-- Partitions.
CREATE TABLE pmany (id int, item int, shop int8, tag text, amount int) PARTITION BY RANGE (id);
CREATE TABLE pmany_1 PARTITION OF pmany FOR VALUES FROM (0) TO (15000);
CREATE TABLE pmany_2 PARTITION OF pmany FOR VALUES FROM (15000) TO (100000);
INSERT INTO pmany SELECT id, item, shop, tag, amount FROM many;
CREATE INDEX ON pmany USING gpu_column (id, item, shop, tag, amount);
VACUUM ANALYZE pmany;
SELECT * FROM compare_all($list$
SELECT l.word, count(*), sum(f.amount), avg(f.amount) FROM pmany f JOIN label l ON f.tag = l.k GROUP BY 1
SELECT o.name, p.name, count(*) FROM pmany f JOIN offer o ON f.item = o.item AND f.shop = o.shop JOIN part p ON f.item = p.k GROUP BY 1, 2
$list$);
-- Row security: what is hidden isn't grouped.
CREATE ROLE states_reader;
GRANT SELECT ON many, label TO states_reader;
ALTER TABLE many ENABLE ROW LEVEL SECURITY;
ALTER TABLE label ENABLE ROW LEVEL SECURITY;
CREATE POLICY some_rows ON many USING (amount < 100);
CREATE POLICY some_labels ON label USING (n % 2 = 0);
SET ROLE states_reader;
SELECT * FROM compare_all($list$
SELECT l.word, count(*), sum(f.amount) FROM many f JOIN label l ON f.tag = l.k GROUP BY 1
SELECT l.word, count(*) FROM many f JOIN label l ON f.tag = l.k AND 1 / (l.n - 3) < f.small GROUP BY 1
$list$);
RESET ROLE;
-- Why not.
SELECT reason FROM gpu.explain_why('SELECT sum(l.n) FROM many f JOIN label l ON f.tag = l.k');
SELECT reason FROM gpu.explain_why('SELECT count(*) FROM many f JOIN label l ON f.f8 = l.price');
SELECT reason FROM gpu.explain_why('SELECT l.word, count(*) FROM many f CROSS JOIN label l GROUP BY 1');
SELECT reason FROM gpu.explain_why('SELECT l.word, count(DISTINCT f.item) FROM many f JOIN label l ON f.tag = l.k GROUP BY 1');
DROP TABLE many, offer, label, part, pmany;
DROP ROLE states_reader;
DROP FUNCTION compare, compare_all, who_answers, answer_of;
