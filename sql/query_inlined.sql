-- WITH queries that are read several times: each statement is run with the node and without it, and the answers, or the kinds of errors, are held
-- against each other.
SET pg_gpu.path = host;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';
CREATE TABLE sale (id int, shop int, day date, city text, price numeric(8,2), amount int) WITH (autovacuum_enabled = off);
INSERT INTO sale
SELECT i, CASE WHEN i % 13 <> 0 THEN i % 50 END, CASE WHEN i % 17 <> 0 THEN date '2026-01-01' + i % 120 END, CASE WHEN i % 7 <> 0 THEN 'city ' || i % 20 END, (i % 700) / 4.0, i % 90
FROM generate_series(1, 20000) AS i;
CREATE INDEX sale_i ON sale USING gpu_column (id, shop, day, city, price, amount);
CREATE TABLE shop (shop int, name text);
INSERT INTO shop SELECT i, 'shop ' || i FROM generate_series(0, 60) AS i;
VACUUM ANALYZE sale, shop;
\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :compare
\i :plan_of
\set ECHO all

-- Rows, groups and further WITH queries of them, at any level.
SELECT * FROM compare_all($list$
WITH late AS (SELECT * FROM sale WHERE day >= '2026-03-01') SELECT 'few', count(*), sum(price) FROM late WHERE amount < 20 UNION ALL SELECT 'many', count(*), sum(price) FROM late WHERE amount >= 20
WITH late AS (SELECT * FROM sale WHERE day >= '2026-03-01') SELECT (SELECT count(*) FROM late), (SELECT sum(price) FROM late WHERE city = 'city 3'), (SELECT max(day) FROM late WHERE shop = 7)
WITH m AS (SELECT shop, extract(month FROM day) AS mon, sum(price) AS s FROM sale GROUP BY 1, 2) SELECT a.shop, a.mon, a.s, a.s - b.s FROM m AS a LEFT JOIN m AS b ON a.shop = b.shop AND b.mon = a.mon - 1
WITH r AS (SELECT shop, sum(price) AS s FROM sale GROUP BY shop) SELECT shop, s FROM r WHERE s = (SELECT max(s) FROM r)
WITH r AS (SELECT shop, sum(price) AS s FROM sale GROUP BY shop) SELECT shop.name, r.s FROM shop JOIN r USING (shop) WHERE r.s > (SELECT avg(s) FROM r) AND r.shop IN (SELECT shop FROM r WHERE s > 1000)
WITH a AS (SELECT shop, city, sum(amount) AS n FROM sale GROUP BY 1, 2), b AS (SELECT shop, max(n) AS n FROM a GROUP BY 1) SELECT a.shop, count(*), min(a.city) FROM a JOIN b ON a.shop = b.shop AND a.n = b.n GROUP BY 1
WITH a AS (SELECT shop, amount FROM sale WHERE id % 3 = 0), b AS (SELECT shop, sum(amount) AS n FROM a GROUP BY 1), c AS (SELECT count(*) AS n FROM b WHERE n > 100) SELECT (SELECT n FROM c) + 1, (SELECT n FROM c) + 2, (SELECT max(n) FROM b), (SELECT min(n) FROM b)
SELECT x.shop, x.n FROM (WITH q AS (SELECT shop, count(*) AS n FROM sale GROUP BY shop) SELECT q.shop, q.n FROM q JOIN q AS r ON q.n = r.n AND q.shop < r.shop) AS x
SELECT count(*) FROM shop WHERE shop IN (WITH q AS (SELECT shop, count(*) AS n FROM sale GROUP BY shop) SELECT q.shop FROM q WHERE n >= (SELECT max(n) FROM q))
WITH none AS (SELECT * FROM sale WHERE id < 0) SELECT (SELECT count(*) FROM none), (SELECT sum(price) FROM none), (SELECT count(*) FROM none WHERE shop IS NULL)
WITH q AS (SELECT DISTINCT city FROM sale) SELECT count(*) FROM q UNION ALL SELECT count(city) FROM q
WITH w AS (SELECT id, row_number() OVER (PARTITION BY shop ORDER BY id) AS n FROM sale) SELECT (SELECT count(*) FROM w WHERE n = 1), (SELECT sum(id) FROM w WHERE n = 2)
WITH l AS (SELECT * FROM sale ORDER BY id LIMIT 100) SELECT (SELECT sum(id) FROM l), (SELECT count(DISTINCT city) FROM l)
WITH q AS (SELECT shop, 100 / (amount - 1) AS part FROM sale WHERE id < 5) SELECT (SELECT count(*) FROM q), (SELECT sum(part) FROM q)
WITH q AS (SELECT shop, 100 / (amount - 5) AS part FROM sale WHERE id < 9) SELECT (SELECT count(part) FROM q), (SELECT sum(part) FROM q)
$list$);

-- Each place has a node of its own. What says that it is computed once is, as what has other values each time, and recursion.
SELECT * FROM pg_temp.plan_of($$WITH late AS (SELECT * FROM sale WHERE day >= '2026-03-01') SELECT count(*) FROM late WHERE amount < 20 UNION ALL SELECT count(*) FROM late WHERE amount >= 20$$);
SELECT * FROM pg_temp.plan_of($$WITH late AS MATERIALIZED (SELECT * FROM sale WHERE day >= '2026-03-01') SELECT count(*) FROM late WHERE amount < 20 UNION ALL SELECT count(*) FROM late WHERE amount >= 20$$) WHERE plan ~ 'CTE';
SELECT * FROM pg_temp.plan_of($$WITH late AS (SELECT *, random() AS r FROM sale) SELECT count(*) FROM late WHERE r < 0.5 UNION ALL SELECT count(*) FROM late WHERE r >= 0.5$$) WHERE plan ~ 'CTE';
WITH late AS (SELECT *, random() AS r FROM sale), half AS (SELECT count(*) AS n FROM late WHERE r < 0.5 UNION ALL SELECT count(*) FROM late WHERE r >= 0.5) SELECT sum(n) FROM half;
-- So is what may have other rows each time: samples, ties, what depends on the order of rows, and what reads such queries.
CREATE FUNCTION is_kept(query text) RETURNS boolean LANGUAGE sql AS $$ SELECT bool_or(plan ~ 'CTE Scan') FROM pg_temp.plan_of(query) $$;
SELECT q, is_kept(format('WITH a AS (%s), b AS (SELECT * FROM a) SELECT (SELECT count(*) FROM b) + (SELECT count(*) FROM b WHERE id < 9) + (SELECT sum(id) FROM b)', q))
FROM unnest(ARRAY[
    'SELECT id FROM sale',
    'SELECT shop AS id, count(*), sum(price), max(city), avg(amount), bool_and(id > 3), min(day) FROM sale GROUP BY shop',
    'SELECT id FROM sale TABLESAMPLE BERNOULLI (50)',
    'SELECT id, row_number() OVER (ORDER BY shop) FROM sale',
    'SELECT id FROM sale ORDER BY shop LIMIT 100',
    'SELECT id FROM sale OFFSET 3',
    'SELECT DISTINCT ON (shop) id FROM sale ORDER BY shop',
    'SELECT shop AS id, array_agg(city) FROM sale GROUP BY shop',
    'SELECT shop AS id, string_agg(city, '','') FROM sale GROUP BY shop',
    'SELECT shop AS id, sum(price::float8) FROM sale GROUP BY shop',
    'SELECT id FROM sale WHERE shop IN (SELECT shop FROM shop ORDER BY name LIMIT 3)',
    'SELECT id FROM (SELECT id FROM sale ORDER BY shop LIMIT 100) AS s']) AS q;
SELECT is_kept('WITH a AS (SELECT shop FROM shop ORDER BY name LIMIT 40) SELECT * FROM (WITH b AS (SELECT sale.* FROM sale JOIN a USING (shop)) SELECT (SELECT count(*) FROM b), (SELECT count(*) FROM b WHERE amount < 50), (SELECT sum(price) FROM b)) AS s') AS is_kept_below;
SELECT * FROM pg_temp.plan_of($$WITH q AS (SELECT * FROM shop) SELECT count(*) FROM q AS a JOIN q AS b USING (shop)$$) WHERE plan ~ 'CTE';
WITH RECURSIVE r AS (SELECT id, shop, 1 AS depth FROM sale WHERE id = 1 UNION ALL SELECT s.id, s.shop, depth + 1 FROM r JOIN sale AS s ON s.id = r.id * 2 WHERE depth < 8) SELECT (SELECT count(*) FROM r), (SELECT sum(shop) FROM r);

-- Own rows, a snapshot's, and parameters.
BEGIN;
INSERT INTO sale SELECT 100000 + i, 3, '2026-04-01', 'new', 1, 5 FROM generate_series(1, 50) AS i;
DELETE FROM sale WHERE id BETWEEN 100 AND 200;
SELECT * FROM compare_all($list$
WITH late AS (SELECT * FROM sale WHERE day >= '2026-03-01') SELECT count(*), sum(price) FROM late WHERE amount < 20 UNION ALL SELECT count(*), sum(price) FROM late WHERE amount >= 20
WITH r AS (SELECT city, sum(price) AS s FROM sale GROUP BY city) SELECT city, s FROM r WHERE s >= (SELECT avg(s) FROM r)
$list$);
ROLLBACK;
SET plan_cache_mode = force_generic_plan;
PREPARE since(date) AS WITH late AS (SELECT * FROM sale WHERE day >= $1) SELECT (SELECT count(*) FROM late WHERE amount < 20), (SELECT count(*) FROM late WHERE amount >= 20);
EXECUTE since('2026-02-01');
EXECUTE since('2026-04-01');
SET pg_gpu.enable_query = off;
DEALLOCATE since;
PREPARE since(date) AS WITH late AS (SELECT * FROM sale WHERE day >= $1) SELECT (SELECT count(*) FROM late WHERE amount < 20), (SELECT count(*) FROM late WHERE amount >= 20);
EXECUTE since('2026-02-01');
EXECUTE since('2026-04-01');
RESET pg_gpu.enable_query;
RESET plan_cache_mode;
DROP TABLE sale, shop;
DROP FUNCTION is_kept, compare, compare_all, answer_of, who_answers;
