-- Aggregates of distinct values that the engine lacks, as string_agg(DISTINCT x, ','): a subquery has each value once, which GpuQuery groups, and PostgreSQL
-- computes the aggregate of these. Each statement is run with the node and without it.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET timezone = 'UTC';

CREATE TABLE sold (id int4, shop int4, kind text, way text, day date, number int2, big int8, price numeric(9,2), any_scale numeric, weight float8, cash money, is_late bool, key uuid, other text) WITH (autovacuum_enabled = off);
INSERT INTO sold
SELECT i, CASE WHEN i % 7 > 0 THEN i % 12 END, CASE WHEN i % 13 > 0 THEN 'kind ' || i % 17 END, (ARRAY['cash', 'card', NULL, 'coin'])[1 + i % 4], date '2026-01-01' + i % 40,
       i % 5, i * 1000000007::int8, (i % 900) / 8.0, CASE i % 5 WHEN 0 THEN 1.5 WHEN 1 THEN 2 WHEN 2 THEN 2.5 WHEN 3 THEN 'NaN' END, i / 3.0, (i % 40)::text::money, i % 3 = 0, md5((i % 6)::text)::uuid, 'other ' || i
FROM generate_series(1, 8000) AS i;
CREATE INDEX sold_i ON sold USING gpu_column (id, shop, kind, way, day, number, big, price, any_scale, weight, cash, is_late, key);
VACUUM ANALYZE sold;
CREATE TABLE shop (id int4 PRIMARY KEY, city text);
INSERT INTO shop SELECT i, 'city ' || i % 4 FROM generate_series(0, 11) AS i;
ANALYZE shop;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set plan_of :source '/test/regress/plan_of.sql'
\set ECHO none
\i :compare
\i :plan_of
\set ECHO all

SELECT * FROM pg_temp.plan_of('SELECT string_agg(DISTINCT way, '','') FROM sold');
SELECT * FROM pg_temp.plan_of('SELECT shop, count(*), array_agg(DISTINCT way ORDER BY way DESC) FROM sold WHERE number > 1 GROUP BY shop HAVING sum(number) > 3 ORDER BY shop');

SELECT * FROM compare_all($list$
SELECT string_agg(DISTINCT way, ',') FROM sold
SELECT string_agg(DISTINCT way, ',' ORDER BY way DESC) FROM sold
SELECT array_to_string(array_agg(DISTINCT number ORDER BY number), ',') FROM sold
SELECT array_agg(DISTINCT way ORDER BY way NULLS FIRST) FROM sold
SELECT array_agg(DISTINCT way) FROM sold WHERE id < 0
SELECT string_agg(DISTINCT way, kind) FROM sold WHERE shop = 3
SELECT string_agg(DISTINCT way, kind ORDER BY way, kind DESC) FROM sold WHERE shop = 3
SELECT json_agg(DISTINCT number), jsonb_agg(DISTINCT key), json_agg(DISTINCT day ORDER BY day DESC) FROM sold
SELECT shop, string_agg(DISTINCT kind, ',') FROM sold GROUP BY shop
SELECT shop, string_agg(DISTINCT kind, ',') FROM sold GROUP BY shop HAVING count(DISTINCT kind) > 5 ORDER BY shop DESC LIMIT 3
SELECT shop % 3, upper(way), array_agg(DISTINCT number ORDER BY number DESC) FROM sold GROUP BY 1, 2
SELECT shop + 1, string_agg(DISTINCT kind || '!', ',') FROM sold GROUP BY shop
SELECT string_agg(DISTINCT to_char(day, 'YYYY-MM'), ',') FROM sold
SELECT array_agg(DISTINCT extract(month FROM day)) FROM sold
SELECT array_agg(DISTINCT (number, is_late)) FROM sold
SELECT stddev(DISTINCT number), var_pop(DISTINCT price), bit_xor(DISTINCT number), avg(DISTINCT weight) FROM sold
SELECT sum(DISTINCT any_scale), string_agg(DISTINCT any_scale::text, ',') FROM sold
-- Beside aggregates that are made of parts.
SELECT shop, count(*), count(kind), count(DISTINCT kind), string_agg(DISTINCT way, ',') FROM sold GROUP BY shop
SELECT count(*), count(shop), string_agg(DISTINCT way, ',') FROM sold WHERE id < 0
SELECT shop, sum(number), sum(id), sum(big), sum(price), sum(cash), array_agg(DISTINCT way) FROM sold GROUP BY shop
SELECT shop, avg(number), avg(id), avg(big), avg(price), avg(number + id), array_agg(DISTINCT way) FROM sold GROUP BY shop
SELECT avg(number), avg(price), sum(big), min(price), array_agg(DISTINCT way) FROM sold WHERE id < 0
SELECT shop, min(id), max(kind), min(price), max(day), bool_and(is_late), bool_or(is_late), every(number > 0), bit_and(number), bit_or(number), array_agg(DISTINCT way) FROM sold GROUP BY shop
SELECT shop, sum(any_scale), avg(any_scale), max(any_scale), array_agg(DISTINCT way) FROM sold GROUP BY shop
SELECT shop, sum(price) / count(*), round(avg(price), 2), array_agg(DISTINCT way) FROM sold GROUP BY shop HAVING avg(price) > 56
SELECT shop, sum(number) FILTER (WHERE is_late), count(*) FILTER (WHERE way = 'coin'), avg(price) FILTER (WHERE id < 0), array_agg(DISTINCT kind) FILTER (WHERE way = 'card') FROM sold GROUP BY shop
SELECT string_agg(DISTINCT way, ',') FILTER (WHERE shop > 5), string_agg(DISTINCT way, ',') FILTER (WHERE shop = -1) FROM sold
-- Errors of rows that a filter leaves out don't appear, and others do.
SELECT array_agg(DISTINCT 10 / number) FILTER (WHERE number > 0) FROM sold
SELECT array_agg(DISTINCT 10 / number) FROM sold
SELECT array_agg(DISTINCT 10 / number) FROM sold WHERE number > 0
SELECT array_agg(DISTINCT way), 10 / min(number) FROM sold
-- Grouping sets, windows, sets, DISTINCT, subqueries, joins, sub-selects.
SELECT shop, way, count(*), array_agg(DISTINCT number), GROUPING(shop, way) FROM sold GROUP BY GROUPING SETS ((shop), (way), ())
SELECT shop, way, sum(price), array_agg(DISTINCT number) FROM sold GROUP BY ROLLUP (shop, way)
SELECT shop, array_agg(DISTINCT way), rank() OVER (ORDER BY count(*) DESC, shop) FROM sold GROUP BY shop
SELECT DISTINCT array_agg(DISTINCT way) FROM sold GROUP BY shop
SELECT unnest(array_agg(DISTINCT way)), count(*) FROM sold
SELECT (SELECT string_agg(DISTINCT way, ',') FROM sold WHERE shop = s.id) FROM shop s
SELECT s.city, l.ways FROM shop s, LATERAL (SELECT array_agg(DISTINCT way) AS ways FROM sold WHERE shop = s.id AND number = length(s.city) - 5) AS l
SELECT city, string_agg(DISTINCT way, ','), count(*) FROM sold JOIN shop s ON s.id = shop GROUP BY city
SELECT s.id, city, string_agg(DISTINCT way, ','), count(*) FROM sold JOIN shop s ON s.id = shop GROUP BY s.id
SELECT * FROM (SELECT shop, string_agg(DISTINCT way, ',') AS ways FROM sold GROUP BY shop) AS g JOIN shop s ON s.id = g.shop
WITH few AS (SELECT * FROM sold WHERE shop < 3) SELECT shop, array_agg(DISTINCT kind) FROM few GROUP BY shop
WITH few AS MATERIALIZED (SELECT shop, kind FROM sold WHERE shop < 3) SELECT shop, array_agg(DISTINCT kind) FROM few WHERE shop IN (SELECT min(shop) FROM few) GROUP BY shop
SELECT array_agg(DISTINCT way) FROM sold WHERE shop IN (SELECT id FROM shop WHERE city = 'city 1')
SELECT array_agg(DISTINCT way) FROM sold WHERE id = (SELECT max(id) FROM sold s WHERE s.shop = sold.shop)
SELECT array_agg(DISTINCT way) FROM sold UNION ALL SELECT array_agg(DISTINCT kind) FROM sold
SELECT s.id, (SELECT array_agg(DISTINCT s.id + number) FROM sold WHERE number < 3) FROM shop s
SELECT s.id, (SELECT array_agg(DISTINCT s.id) FROM sold WHERE number < 3) FROM shop s
-- What can't be made of parts, and what there is no need for.
SELECT shop, sum(weight), array_agg(DISTINCT way) FROM sold GROUP BY shop
SELECT shop, array_agg(id ORDER BY id), array_agg(DISTINCT way) FROM sold GROUP BY shop
SELECT shop, array_agg(DISTINCT way) || (SELECT city FROM shop WHERE id = 1) FROM sold GROUP BY shop
SELECT array_agg(DISTINCT other) FROM sold
SELECT array_agg(DISTINCT 1) FROM sold
SELECT array_agg(DISTINCT way), count(*) FROM sold LIMIT (SELECT 1)
SELECT count(DISTINCT way), sum(DISTINCT number), max(DISTINCT kind) FROM sold
$list$);
PREPARE ways (int, text) AS SELECT string_agg(DISTINCT way || $2, ',') FROM sold WHERE shop = $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE ways (3, '!');
EXECUTE ways (NULL, '!');
EXECUTE ways (3, NULL);
RESET plan_cache_mode;
DEALLOCATE ways;
-- Row security and privileges are those of the tables.
CREATE ROLE regress_sold;
GRANT SELECT (shop, way) ON sold TO regress_sold;
SET ROLE regress_sold;
SELECT string_agg(DISTINCT way, ',') FROM sold WHERE shop > 3;
SELECT string_agg(DISTINCT kind, ',') FROM sold WHERE shop > 3;
RESET ROLE;
ALTER TABLE sold ENABLE ROW LEVEL SECURITY;
CREATE POLICY low ON sold TO regress_sold USING (way <> 'coin');
SET ROLE regress_sold;
SELECT string_agg(DISTINCT way, ',') FROM sold WHERE shop > 3;
RESET ROLE;
REVOKE ALL ON sold FROM regress_sold;
DROP TABLE sold, shop;
DROP ROLE regress_sold;
DROP FUNCTION compare_all, compare, who_answers, answer_of;
