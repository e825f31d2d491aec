-- Numerics that are NaN or infinite, in the node GpuQuery: each statement is run with the node and without it, and the answers are held against
-- each other as text.
SET pg_gpu.path = host;
SET pg_gpu.min_mirror_entries = 0;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE odd (id int4, part int4, few int4, price numeric(12,2), loose numeric, other numeric, plain numeric(10,2), big numeric) WITH (autovacuum_enabled = off);
-- Of every special number with every other one, and with numbers above 0, below, and 0.
INSERT INTO odd SELECT row_number() OVER (), row_number() OVER () % 7, row_number() OVER () % 3, CASE WHEN a = '-Infinity' OR a = 'Infinity' THEN 'NaN' ELSE a END, a, b, 2.50, CASE WHEN a = 0 THEN 'NaN' ELSE 123456789012345678901.5 END
FROM unnest('{NaN,Infinity,-Infinity,0,1.5,-2,0.000,NULL,1.5}'::numeric[]) AS a, unnest('{NaN,Infinity,-Infinity,0.0,3,-0.25,NULL}'::numeric[]) AS b;
INSERT INTO odd SELECT i, i % 7, i % 3, i * 0.25, i % 50 * 1.5, i % 20 - 9.5, i % 4 * 1.25, i FROM generate_series(100, 2000) AS i;
CREATE TABLE fine (part int4 PRIMARY KEY, rate numeric, name text);
INSERT INTO fine VALUES (0, 1.5, 'a'), (1, 'NaN', 'b'), (2, 'Infinity', 'c'), (3, NULL, 'd'), (4, 0, 'e');
CREATE INDEX odd_i ON odd USING gpu_column (id, part, few, price, loose, other, plain, big);
VACUUM ANALYZE odd, fine;

\getenv source PG_ABS_SRCDIR
\set compare :source '/test/regress/compare.sql'
\set ECHO none
\i :compare
\set ECHO all

CREATE TEMP TABLE list AS SELECT $list$
-- Sums and the like, by groups that have none, one or several kinds.
SELECT sum(price), avg(price), min(price), max(price), count(price), count(DISTINCT price) FROM odd
SELECT part, sum(price), avg(price), min(price), max(price), sum(loose), avg(loose), min(loose), max(loose), count(DISTINCT loose) FROM odd GROUP BY part
SELECT id, sum(loose), avg(loose), min(loose), max(loose), stddev(loose), var_pop(loose), variance(price) FROM odd GROUP BY id
SELECT id / 4, sum(loose), avg(loose), min(loose), max(loose), stddev(loose), var_pop(loose), variance(price), sum(other) FILTER (WHERE few > 0) FROM odd GROUP BY 1
SELECT sum(loose) FILTER (WHERE loose <> 'NaN'), sum(loose) FILTER (WHERE loose > '-Infinity' AND loose < 'Infinity'), avg(loose) FILTER (WHERE loose < 'NaN' AND loose > '-Infinity') FROM odd
SELECT sum(DISTINCT price), avg(DISTINCT price), count(DISTINCT price) FROM odd
SELECT part, percentile_disc(0.5) WITHIN GROUP (ORDER BY price), percentile_cont(0.3) WITHIN GROUP (ORDER BY price), mode() WITHIN GROUP (ORDER BY price) FROM odd GROUP BY part
SELECT sum(big), avg(big), max(big), min(big) FROM odd
-- Groups, orders and conditions.
SELECT price, count(*) FROM odd GROUP BY price
SELECT price, loose > 1, count(*), sum(other) FROM odd WHERE part > 1 GROUP BY 1, 2
SELECT price FROM odd GROUP BY price HAVING sum(price) > 5 ORDER BY price DESC LIMIT 10
SELECT part, sum(loose) FROM odd GROUP BY part HAVING sum(loose) = 'NaN' OR sum(loose) > 1000 ORDER BY 2 DESC, 1 LIMIT 3
SELECT part, avg(loose) FROM odd WHERE loose <> 'NaN' AND loose <> '-Infinity' GROUP BY part HAVING avg(loose) > 50
SELECT count(*) FROM odd WHERE loose > other
SELECT count(*) FILTER (WHERE loose = other), count(*) FILTER (WHERE loose <> other), count(*) FILTER (WHERE loose < other), count(*) FILTER (WHERE loose <= other), count(*) FILTER (WHERE loose > plain), count(*) FILTER (WHERE plain >= other), count(*) FILTER (WHERE loose IS DISTINCT FROM other) FROM odd
SELECT count(*) FILTER (WHERE loose + 0 = 'NaN'), count(*) FILTER (WHERE loose + 0 < 'Infinity'), count(*) FILTER (WHERE '-Infinity' >= loose + 0), count(*) FILTER (WHERE plain + 0 < 'NaN'), count(*) FILTER (WHERE few < 'NaN'::numeric), count(*) FILTER (WHERE few = 'Infinity'::numeric) FROM odd
SELECT count(*) FILTER (WHERE loose + 0 IN (1.5, 'NaN', 3)), count(*) FILTER (WHERE loose + 0 NOT IN (1.50, '-Infinity', 20, 1000)), count(*) FILTER (WHERE plain + 0 IN (1.25, 'NaN')), count(*) FILTER (WHERE loose + 0 IN (10, 100, 1000, 2000)) FROM odd
SELECT count(*) FROM odd WHERE price IN (SELECT rate * 2 FROM fine)
SELECT count(DISTINCT (price, part)) FROM odd
-- Arithmetic of each with each.
SELECT id, sum(loose + other), sum(loose - other), sum(loose * other), sum(-loose), sum(abs(loose)), sum(sign(loose)), sum(+loose) FROM odd GROUP BY id
SELECT id, sum(loose / other) FROM odd WHERE other <> 0 GROUP BY id
SELECT id, sum(loose / other), min(loose / other) FROM odd WHERE other > 0 OR other < 0 GROUP BY id
SELECT id, sum(CASE WHEN other <> 0 THEN round(loose / other, 2) END), sum(loose * plain), sum(loose * few), sum(few - loose) FROM odd GROUP BY id
SELECT id, sum(round(loose)), sum(round(loose, 1)), sum(trunc(loose)), sum(ceil(loose)), sum(floor(loose)), sum(price::numeric(14,1)) FROM odd GROUP BY id
SELECT sum(loose / other) FROM odd
SELECT sum(loose::numeric(10,1)) FROM odd
SELECT sum(loose % other), sum(loose % nullif(other, 0)) FROM odd WHERE loose < 1000 AND other > -1000 AND loose > -1000 AND other < 1000
SELECT sum(loose % other) FROM odd WHERE other <> 0
SELECT id, max(loose::float8), min(loose::float4), count(DISTINCT price::float8) FROM odd GROUP BY id
SELECT sum(loose::int4) FROM odd
SELECT sum(loose::int8) FROM odd WHERE loose > -100 AND loose < 100
SELECT width_bucket(loose, 0, 10, 4), count(*) FROM odd WHERE loose < 10000 AND loose > -10000 GROUP BY 1
SELECT sum(width_bucket(loose, 0, 10, 4)) FROM odd
-- Choices.
SELECT id, sum(CASE WHEN loose = 'NaN' THEN 0 ELSE loose END), sum(coalesce(loose, other, 'Infinity')), sum(nullif(loose, 'NaN')), sum(nullif(loose, other)), sum(nullif(plain, loose)) FROM odd GROUP BY id
SELECT id, sum(greatest(loose, other)), sum(least(loose, other)), sum(greatest(loose, plain)), sum(least(plain, other, few)), sum(greatest(loose, 'NaN'::numeric + price)) FROM odd GROUP BY id
SELECT sum(CASE few WHEN 1 THEN price WHEN 2 THEN plain ELSE 'Infinity' END), sum(CASE WHEN few = 1 THEN 'NaN'::numeric ELSE 1 END) FROM odd
SELECT CASE WHEN few = 1 THEN 'NaN'::numeric WHEN few = 2 THEN NULL ELSE plain END, count(*) FROM odd GROUP BY 1
-- Rows, and what stands above groups.
SELECT * FROM (SELECT id, price, loose, other FROM odd ORDER BY loose DESC, id LIMIT 40) AS s
SELECT * FROM (SELECT id, loose + other AS both FROM odd ORDER BY 2, id LIMIT 100) AS s
SELECT sum(s), max(s), count(*) FROM (SELECT part, sum(loose) AS s FROM odd GROUP BY part) AS g
SELECT g.s, count(*) FROM (SELECT id / 4, max(loose) AS s FROM odd GROUP BY 1) AS g GROUP BY 1
SELECT sum(m), count(*) FROM (SELECT price, max(other) AS m FROM odd WHERE few = 1 GROUP BY price) AS g WHERE price > 3
-- Joins by numerics that may be NaN, and inputs that have some.
SELECT o.part, count(*), sum(o.price), sum(p.loose) FROM odd AS o JOIN odd AS p ON o.price = p.loose GROUP BY 1
SELECT name, count(*), sum(price), sum(price * rate), sum(rate) FROM odd JOIN fine USING (part) GROUP BY name
SELECT name, count(*), min(rate) FROM odd JOIN fine ON loose = rate GROUP BY name
SELECT rate, count(*) FROM odd LEFT JOIN fine ON plain > rate GROUP BY rate
SELECT count(*) FROM odd WHERE EXISTS (SELECT FROM fine WHERE rate = odd.loose)
-- Regressions of them are those of floats.
SELECT corr(loose::float8, plain::float8), regr_count(loose::float8, plain::float8) FROM odd
$list$ AS queries;
SELECT c.who, c.rows, c.same, c.query FROM list, compare_all(queries) AS c;

-- Rows of the tail, and several runs, of which some have none that is special.
INSERT INTO odd SELECT i, i % 7, i % 3, i, 'NaN', i, i, i FROM generate_series(5001, 5003) AS i;
INSERT INTO odd VALUES (5004, 1, 1, NULL, '-Infinity', 'Infinity', 1, 1);
SELECT c.who, c.rows, c.same, c.query FROM list, compare_all(queries) AS c WHERE c.who NOT IN ('node', 'other plan') OR c.same <> 'same';
DELETE FROM odd WHERE id < 64;
VACUUM odd;
SELECT c.who, c.rows, c.same, c.query FROM list, compare_all(queries) AS c WHERE c.who NOT IN ('node', 'other plan') OR c.same <> 'same';

-- Nothing but special ones, and partitions that have some and none.
CREATE TABLE kinds (id int4, v numeric) PARTITION BY RANGE (id);
CREATE TABLE kinds_1 PARTITION OF kinds FOR VALUES FROM (0) TO (100);
CREATE TABLE kinds_2 PARTITION OF kinds FOR VALUES FROM (100) TO (200);
INSERT INTO kinds SELECT i, CASE WHEN i < 100 THEN 'NaN' ELSE i * 0.5 END FROM generate_series(1, 199) AS i;
CREATE INDEX ON kinds USING gpu_column (id, v);
VACUUM ANALYZE kinds;
SELECT * FROM compare_all($list$
SELECT sum(v), min(v), max(v), count(DISTINCT v) FROM kinds
SELECT id / 50, sum(v), avg(v), min(v), max(v) FROM kinds GROUP BY 1
SELECT v, count(*) FROM kinds_1 GROUP BY v
SELECT sum(v + 1), sum(v * v) FROM kinds_1
$list$);
DROP TABLE odd, fine, kinds;
DROP FUNCTION answer_of, who_answers, compare, compare_all;
