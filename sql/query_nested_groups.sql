-- Subqueries whose rows are groups: what is around them is computed of these by the same GpuQuery. Each statement is run with the node and without it, and the
-- answers are held against each other.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE sale (id int4, shop int4, item int8, name text, place varchar(20) COLLATE "C", price numeric(8,2), loose numeric, day date, moment timestamptz, ratio float8, short float4, is_open bool)
    WITH (autovacuum_enabled = off);
INSERT INTO sale
SELECT i, CASE WHEN i % 13 > 0 THEN i * 7 % 400 END, i % 30, CASE WHEN i % 7 > 0 THEN 'name ' || i % 45 END, 'place ' || i % 12, CASE WHEN i % 11 > 0 THEN i * 7919 % 1009 / 4.0 END,
       CASE i % 3 WHEN 0 THEN i % 40 WHEN 1 THEN (i % 40)::numeric(6,1) ELSE (i % 40 / 4.0)::numeric(6,2) END, date '2025-01-01' + i % 200, timestamptz '2025-01-01 00:00 UTC' + i * interval '50 minutes',
       CASE WHEN i % 19 > 0 THEN i % 17 / 8.0 END, i % 5 / 4.0, i % 2 = 0
FROM generate_series(1, 4000) AS i;
CREATE INDEX sale_i ON sale USING gpu_column (id, shop, item, name, place, price, loose, day, moment, ratio, short, is_open);
CREATE TABLE shop (id int8, kind int4, name text, least numeric, opened date) WITH (autovacuum_enabled = off);
INSERT INTO shop SELECT CASE WHEN i % 31 > 0 THEN i END, i % 7, 'name ' || i % 60, i % 50 / 2.0, date '2025-01-01' + i % 250 FROM generate_series(0, 449) AS i;
CREATE INDEX shop_i ON shop USING gpu_column (id, kind, name, least, opened);
CREATE TABLE empty (id int4, name text, price numeric) WITH (autovacuum_enabled = off);
CREATE INDEX empty_i ON empty USING gpu_column (id, name, price);
CREATE TABLE plain (id int4, note text) WITH (autovacuum_enabled = off);
INSERT INTO plain SELECT i % 90, 'note ' || i % 4 FROM generate_series(1, 200) AS i;
VACUUM ANALYZE sale, shop, empty, plain;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all
EXPLAIN (COSTS OFF) SELECT n, count(*) FROM (SELECT shop, count(*) AS n FROM sale WHERE price > 10 GROUP BY 1 HAVING sum(price) > 50) AS s WHERE n % 2 = 0 GROUP BY 1;
CREATE FUNCTION plan_as_json(query text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan;
END $$;
SELECT plan #> '{0,Plan,Joins}' AS joins, plan #> '{0,Plan,Subqueries}' AS subqueries
FROM plan_as_json($$SELECT p.kind, sum(s.total) FROM shop p JOIN (SELECT shop, name, sum(price) AS total FROM sale GROUP BY 1, 2) AS s ON s.shop = p.id AND s.name <> p.name GROUP BY 1$$) AS plan;
DROP FUNCTION plan_as_json;
-- Groups of groups, and groups that are joined.
SELECT * FROM compare_all($list$
SELECT n, count(*) FROM (SELECT shop, count(*) AS n FROM sale GROUP BY 1) AS s GROUP BY 1
SELECT n, count(*) FROM (SELECT shop, count(price) AS n FROM sale GROUP BY 1) AS s GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3
SELECT avg(total), max(total), min(total), sum(total) FROM (SELECT shop, sum(price) AS total FROM sale GROUP BY 1) AS s
SELECT avg(total), max(total), min(total), sum(total) FROM (SELECT shop, sum(loose) AS total FROM sale GROUP BY 1) AS s
SELECT avg(a), max(a), sum(a * 2), count(a) FROM (SELECT shop, avg(price) AS a FROM sale GROUP BY 1) AS s
SELECT avg(a), max(a), count(DISTINCT a) FROM (SELECT item, shop % 5, avg(id) AS a FROM sale GROUP BY 1, 2) AS s
SELECT round(sum(a)::numeric, 6), count(a), max(a) FROM (SELECT shop, avg(ratio) AS a FROM sale GROUP BY 1) AS s
SELECT sum(a), max(a), min(b) FROM (SELECT item, sum(ratio) AS a, sum(short) AS b FROM sale GROUP BY 1) AS s
SELECT name, count(*), max(place) FROM (SELECT name, place, count(*) FROM sale GROUP BY 1, 2) AS s GROUP BY 1
SELECT first, count(*) FROM (SELECT shop, min(name) AS first FROM sale GROUP BY 1) AS s GROUP BY 1
SELECT first || '!', count(*) FROM (SELECT shop, min(place) AS first FROM sale GROUP BY 1) AS s GROUP BY 1
SELECT extract(month FROM last), count(*) FROM (SELECT shop, max(day) AS last FROM sale GROUP BY 1) AS s GROUP BY 1
SELECT date_trunc('day', last), count(*) FROM (SELECT item, shop % 3, max(moment) AS last FROM sale GROUP BY 1, 2) AS s GROUP BY 1
SELECT span, count(*) FROM (SELECT shop, max(day) - min(day) AS span FROM sale GROUP BY 1) AS s GROUP BY 1
SELECT max(span), avg(span) FROM (SELECT shop, max(moment) - min(moment) AS span FROM sale GROUP BY 1) AS s
SELECT is_big, count(*) FROM (SELECT shop, sum(price) > 1000 AS is_big FROM sale GROUP BY 1) AS s GROUP BY 1
SELECT CASE WHEN n < 5 THEN 'few' ELSE 'many' END, count(*) FROM (SELECT shop, count(*) AS n FROM sale GROUP BY 1) AS s GROUP BY 1
SELECT every_open, any_open, count(*) FROM (SELECT item, bool_and(is_open) AS every_open, bool_or(is_open) AS any_open FROM sale GROUP BY 1) AS s GROUP BY 1, 2
SELECT k, count(*), sum(n) FROM (SELECT shop % 7 AS k, count(*) AS n FROM sale GROUP BY shop) AS s GROUP BY 1
SELECT count(*), count(shop), count(DISTINCT shop) FROM (SELECT DISTINCT shop, item FROM sale) AS s
SELECT name, count(*) FROM (SELECT DISTINCT name, shop % 20 AS k FROM sale) AS s GROUP BY 1
SELECT count(*) FROM (SELECT shop FROM sale GROUP BY 1) AS s
SELECT count(*) FROM (SELECT shop, item, name FROM sale GROUP BY 1, 2, 3 HAVING count(*) > 1) AS s
SELECT count(*), sum(n) FROM (SELECT count(*) AS n FROM sale WHERE price > 100) AS s
SELECT count(*), sum(n) FROM (SELECT count(*) AS n, sum(price) FROM sale HAVING sum(price) > 1e9) AS s
SELECT count(*), sum(n) FROM (SELECT id, count(*) AS n FROM empty GROUP BY 1) AS s
SELECT count(*), sum(n) FROM (SELECT count(*) AS n, max(name) AS m FROM empty) AS s
SELECT o, count(*) FROM (SELECT n, count(*) AS o FROM (SELECT shop, count(*) AS n FROM sale GROUP BY 1) AS s GROUP BY 1) AS t GROUP BY 1
SELECT p.kind, count(*), sum(s.total) FROM shop p JOIN (SELECT shop, sum(price) AS total FROM sale GROUP BY 1) AS s ON s.shop = p.id GROUP BY 1
SELECT p.kind, count(*), sum(s.total), count(s.shop) FROM shop p LEFT JOIN (SELECT shop, sum(price) AS total FROM sale WHERE item < 5 GROUP BY 1) AS s ON s.shop = p.id GROUP BY 1
SELECT p.kind, count(*), sum(s.total), count(s.shop) FROM shop p FULL JOIN (SELECT shop, sum(price) AS total FROM sale WHERE item < 5 GROUP BY 1) AS s ON s.shop = p.id AND s.total > 20 GROUP BY 1
SELECT p.kind, count(*) FROM shop p JOIN (SELECT shop, avg(price) AS a FROM sale GROUP BY 1) AS s ON s.shop = p.id AND p.least * 5 > s.a GROUP BY 1
SELECT p.name, s.n, count(*) FROM shop p JOIN (SELECT name, count(*) AS n FROM sale GROUP BY 1) AS s ON s.name = p.name GROUP BY 1, 2
SELECT count(*) FROM (SELECT name, count(*) AS n FROM sale GROUP BY 1) AS s JOIN (SELECT place, count(*) AS n FROM sale GROUP BY 1) AS t ON s.n < t.n
SELECT s.shop % 3, count(*), sum(s.total - t.total) FROM (SELECT shop, sum(price) AS total FROM sale WHERE item < 15 GROUP BY 1) AS s JOIN (SELECT shop, sum(price) AS total FROM sale WHERE item > 11 GROUP BY 1) AS t ON s.shop = t.shop GROUP BY 1
SELECT count(*), sum(price) FROM sale WHERE shop IN (SELECT shop FROM sale GROUP BY 1 HAVING sum(price) > 1500)
SELECT count(*), sum(price) FROM sale a WHERE EXISTS (SELECT FROM (SELECT name, max(price) AS m FROM sale GROUP BY 1) AS s WHERE s.name = a.name AND s.m = a.price)
SELECT count(*) FROM shop p WHERE NOT EXISTS (SELECT FROM (SELECT shop, count(*) AS n FROM sale GROUP BY 1) AS s WHERE s.shop = p.id AND n > 9)
SELECT count(*) FROM sale a WHERE price > (SELECT avg(price) FROM sale b WHERE b.shop = a.shop)
SELECT count(*) FROM sale a, shop p WHERE a.shop = p.id AND a.price > (SELECT 1.5 * avg(price) FROM sale b WHERE b.name = p.name)
WITH s AS (SELECT shop, sum(price) AS total FROM sale GROUP BY 1) SELECT p.kind, sum(s.total) FROM s JOIN shop p ON p.id = s.shop WHERE s.total > 500 GROUP BY 1
WITH s AS (SELECT shop, sum(price) AS total FROM sale GROUP BY 1) SELECT count(*), sum(a.total + b.total) FROM s a JOIN s b ON a.shop = b.shop + 1
WITH s AS (SELECT shop, sum(price) AS total FROM sale GROUP BY 1) SELECT count(*) FROM s WHERE total > (SELECT avg(total) FROM s)
WITH s AS (SELECT shop, item, sum(price) AS total FROM sale GROUP BY 1, 2), t AS (SELECT shop, max(total) AS most FROM s GROUP BY 1) SELECT count(*), sum(most) FROM s JOIN t USING (shop) WHERE total = most
SELECT month, sum(total), avg(total) FROM (SELECT date_trunc('month', day) AS month, shop, sum(price) AS total FROM sale GROUP BY 1, 2) AS s GROUP BY 1 ORDER BY 1
SELECT p.kind, s.total FROM shop p JOIN (SELECT shop, sum(price) AS total, max(name) AS name FROM sale GROUP BY 1) AS s ON s.shop = p.id
SELECT p.kind, s.total, s.name FROM shop p JOIN (SELECT shop, sum(price) AS total, max(name) AS name FROM sale GROUP BY 1) AS s ON s.shop = p.id ORDER BY s.total DESC, s.shop LIMIT 5
SELECT r.note, count(*), sum(s.n) FROM plain r JOIN (SELECT shop, count(*) AS n FROM sale GROUP BY 1) AS s ON s.shop = r.id GROUP BY 1
$list$);
-- First groups in an order, and grouping sets of groups.
EXPLAIN (COSTS OFF) WITH s AS (SELECT shop, sum(price) AS total FROM sale GROUP BY 1) SELECT shop % 10, total FROM s ORDER BY total * 2 DESC NULLS LAST, shop LIMIT 5;
SELECT * FROM compare_all($list$
WITH s AS (SELECT shop, sum(price) AS total, min(name) AS name FROM sale GROUP BY 1) SELECT name, shop, total / 2 FROM s ORDER BY total DESC NULLS LAST, shop LIMIT 7
WITH s AS (SELECT shop, sum(loose) AS total, avg(ratio) AS a FROM sale GROUP BY 1) SELECT shop, total FROM s WHERE a > 0.5 ORDER BY total, shop NULLS FIRST OFFSET 3 LIMIT 4
SELECT * FROM (SELECT name, place, max(moment) AS last FROM sale GROUP BY 1, 2) AS s ORDER BY place COLLATE "C", last DESC LIMIT 6
SELECT p.kind, s.total FROM shop p JOIN (SELECT shop, sum(price) AS total FROM sale GROUP BY 1) AS s ON s.shop = p.id ORDER BY p.least * s.total DESC NULLS LAST, p.id LIMIT 5
SELECT * FROM (SELECT DISTINCT name, shop FROM sale) AS s ORDER BY name DESC NULLS LAST, shop LIMIT 5
SELECT shop FROM (SELECT shop, count(*) AS n FROM sale GROUP BY 1) AS s ORDER BY n DESC, shop LIMIT 0
SELECT n, m, count(*), grouping(n) FROM (SELECT shop, count(*) AS n, count(price) % 2 AS m FROM sale GROUP BY 1) AS s GROUP BY ROLLUP (1, 2)
SELECT DISTINCT n FROM (SELECT shop, count(*) AS n FROM sale GROUP BY 1) AS s ORDER BY 1 DESC LIMIT 2
SELECT percentile_disc(0.4) WITHIN GROUP (ORDER BY loose), percentile_disc(1) WITHIN GROUP (ORDER BY loose) FROM sale GROUP BY item % 4
$list$);
-- What isn't the engine's: PostgreSQL computes what is around the groups, or all of it.
SELECT * FROM compare_all($list$
SELECT n, count(*) FROM (SELECT shop, count(*) AS n FROM sale GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20) AS s GROUP BY 1
SELECT r, count(*) FROM (SELECT shop, rank() OVER (ORDER BY count(*)) AS r FROM sale GROUP BY 1) AS s GROUP BY 1
SELECT max(d)::numeric(10,3), count(*) FROM (SELECT shop, stddev(price) AS d FROM sale GROUP BY 1) AS s
SELECT n, count(*) FROM (SELECT shop, string_agg(name, ',' ORDER BY id) AS n FROM sale GROUP BY 1) AS s GROUP BY 1
SELECT n, count(*) FROM (SELECT shop, item % 3 AS k, count(*) AS n FROM sale GROUP BY ROLLUP (1, 2)) AS s GROUP BY 1
SELECT n, count(*) FROM (SELECT shop, count(*) AS n FROM sale GROUP BY 1 UNION ALL SELECT id::int4, 1 FROM shop) AS s GROUP BY 1
SELECT upper(name), count(*) FROM (SELECT name, place FROM sale GROUP BY 1, 2) AS s GROUP BY 1
SELECT k, count(*) FROM (SELECT loose AS k, count(*) AS n FROM sale GROUP BY 1) AS s GROUP BY 1
SELECT max(k), min(k) FROM (SELECT shop, max(loose) AS k FROM sale GROUP BY 1) AS s
SELECT note, count(*) FROM (SELECT note, id, count(*) AS n FROM plain GROUP BY 1, 2) AS s GROUP BY 1
SELECT count(*) FROM shop p, LATERAL (SELECT count(*) AS n FROM sale s WHERE s.shop = p.id) AS s WHERE n > 9
SELECT p.kind, count(*) FROM shop p JOIN (SELECT s.shop, r.note, count(*) AS n FROM sale s JOIN plain r ON r.id = s.shop GROUP BY 1, 2) AS t ON t.shop = p.id GROUP BY 1
SELECT count(*) FROM (SELECT shop, random() AS n FROM sale GROUP BY 1) AS s
$list$);
-- Errors are PostgreSQL's, where it raises one.
SELECT * FROM compare_all($list$
SELECT max(x) FROM (SELECT shop, 100 / (count(*) - 9) AS x FROM sale GROUP BY 1) AS s
SELECT max(x) FROM (SELECT shop, 100 / (count(*) - 9) AS x FROM sale GROUP BY 1 HAVING count(*) <> 9) AS s
SELECT count(*) FROM (SELECT shop, sum(ratio * 1e308) AS x FROM sale GROUP BY 1) AS s WHERE x > 1
SELECT count(*) FROM (SELECT shop, sum(ratio * 1e308) AS x, count(*) AS n FROM sale GROUP BY 1 HAVING count(*) > 1000) AS s WHERE x > 1
SELECT sum(x) FROM (SELECT shop, sum(9223372036854775000 + item) AS x FROM sale GROUP BY 1) AS s
SELECT sum(x::int8) FROM (SELECT item, sum(9223372036854775000 + item) AS x FROM sale GROUP BY 1) AS s
SELECT n / 0 FROM (SELECT shop, count(*) AS n FROM sale GROUP BY 1) AS s GROUP BY 1
$list$);
-- Sub-selects in a subquery, also those that depend on a row around it, and where PostgreSQL's plan answers after all, which a numeric with too many digits makes it do.
CREATE TABLE odd (id int4, k int4, price numeric) WITH (autovacuum_enabled = off);
INSERT INTO odd SELECT i, i % 20, CASE WHEN i % 100 = 0 THEN 1e40 ELSE i % 30 / 4.0 END FROM generate_series(1, 3000) AS i;
CREATE INDEX odd_i ON odd USING gpu_column (id, k, price);
VACUUM ANALYZE odd;
SELECT * FROM compare_all($list$
SELECT n, count(*) FROM (SELECT shop, count(*) AS n FROM sale WHERE item > (SELECT min(kind) FROM shop) GROUP BY 1) AS s GROUP BY 1
SELECT o.kind, (SELECT count(*) FROM (SELECT shop, count(*) AS n FROM sale WHERE item < (SELECT max(id) FROM shop p WHERE p.kind = o.kind AND p.id < 9) GROUP BY 1) AS s WHERE n > 3) FROM (SELECT DISTINCT kind FROM shop) AS o
SELECT n, count(*) FROM (SELECT k, count(*) AS n, max(price) AS m FROM odd WHERE id > (SELECT min(kind) FROM shop) GROUP BY 1) AS s WHERE m > 1 GROUP BY 1
SELECT n, count(*) FROM (SELECT o.k, count(*) AS n, max(o.price) AS m FROM odd o JOIN shop p ON p.id = o.id WHERE o.id > (SELECT min(kind) FROM shop) GROUP BY 1) AS s WHERE m > 1 GROUP BY 1
WITH w AS MATERIALIZED (SELECT id, note FROM plain WHERE id < 20) SELECT a.note, b.note, sum(o.price) FROM odd o JOIN w a ON a.id = o.k JOIN w b ON b.id = o.k + 1 GROUP BY 1, 2
WITH w AS MATERIALIZED (SELECT k, sum(price) AS total FROM odd GROUP BY 1) SELECT count(*), sum(a.total) FROM w a JOIN w b ON b.k = a.k + 1
$list$);
-- Rows of the own transaction, parameters, and partitions.
BEGIN;
INSERT INTO sale SELECT 5000 + i, 3, 1, 'name new', 'place 1', 5, 5, '2025-03-01', now(), 1, 1, true FROM generate_series(1, 50) AS i;
DELETE FROM sale WHERE id % 5 = 0;
SELECT * FROM compare('SELECT n, count(*) FROM (SELECT shop, count(*) AS n FROM sale GROUP BY 1) AS s GROUP BY 1');
SELECT * FROM compare('SELECT p.kind, s.name, count(*) FROM shop p JOIN (SELECT shop, max(name) AS name FROM sale GROUP BY 1) AS s ON s.shop = p.id GROUP BY 1, 2');
ROLLBACK;
SET plan_cache_mode = force_generic_plan;
PREPARE asked (numeric, int8, text) AS SELECT count(*), sum(total) FROM (SELECT shop, sum(price * $1) AS total FROM sale WHERE name <> $3 GROUP BY 1 HAVING count(*) > $2) AS s WHERE total > $1;
EXECUTE asked(1.5, 3, 'name 1');
EXECUTE asked(2, NULL, 'name 1');
EXECUTE asked(-1, 0, 'none');
RESET plan_cache_mode;
SELECT * FROM compare('SELECT k, (SELECT count(*) FROM (SELECT shop, count(*) AS n FROM sale WHERE item < k GROUP BY 1) AS s WHERE n > k) FROM generate_series(1, 4) AS k');
CREATE TABLE yearly (id int4, day date, price numeric(8,2)) PARTITION BY RANGE (day);
CREATE TABLE yearly_early PARTITION OF yearly FOR VALUES FROM (MINVALUE) TO ('2025-03-01');
CREATE TABLE yearly_late PARTITION OF yearly FOR VALUES FROM ('2025-03-01') TO (MAXVALUE);
INSERT INTO yearly SELECT shop, day, price FROM sale;
CREATE INDEX ON yearly USING gpu_column (id, day, price);
VACUUM ANALYZE yearly;
SELECT * FROM compare_all($list$
SELECT n, count(*) FROM (SELECT id, count(*) AS n FROM yearly GROUP BY 1) AS s GROUP BY 1
SELECT p.kind, sum(s.total) FROM shop p JOIN (SELECT id, sum(price) AS total FROM yearly WHERE day < '2025-02-01' GROUP BY 1) AS s ON s.id = p.id GROUP BY 1
$list$);
-- A view that is a security barrier keeps its rows from conditions around it.
CREATE VIEW barred WITH (security_barrier) AS SELECT shop, count(*) AS n FROM sale WHERE item < 20 GROUP BY 1;
SELECT * FROM compare('SELECT n, count(*) FROM barred GROUP BY 1');
SELECT * FROM compare('SELECT count(*) FROM barred WHERE 100 / n > 10');

DROP FUNCTION compare, compare_all, who_answers, answer_of;
DROP VIEW barred;
DROP TABLE sale, shop, empty, plain, odd, yearly;
